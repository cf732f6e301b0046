"""What all tests need from the process that runs them."""

from __future__ import annotations

import signal
import threading

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Let programs that tests start hear Ctrl-C: what a shell starts with `&` is deaf to it."""
    deaf = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if deaf and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
