"""Signals that ask a program to end, all handled as Ctrl-C is.

A terminal sends SIGINT for Ctrl-C and SIGHUP when it is closed; ``kill``, ``timeout`` and batch
systems send SIGTERM.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self

#: Of which worker processes hear nothing: the process that has started them decides.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruptions:
    """A context in which every signal that asks to end raises KeyboardInterrupt, as Ctrl-C does.

    A signal that is ignored, as ``nohup`` has it for SIGHUP, or that somebody else handles, stays
    so. In another thread than the first, which alone may do this, nothing changes.
    """

    def __init__(self) -> None:
        self.heard: signal.Signals | None = None
        self._before: dict[int, Callable[[int, FrameType | None], Any] | int | None] = {}

    @property
    def exit_code(self) -> int:
        """How a program ends that was interrupted: 128 and the number of the last signal."""
        return 128 + (self.heard or signal.SIGINT)

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                before = signal.getsignal(number)
                if before in (signal.SIG_DFL, signal.default_int_handler):
                    self._before[number] = before
                    signal.signal(number, self._hear)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _hear(self, number: int, _frame: FrameType | None) -> NoReturn:
        self.heard = signal.Signals(number)
        raise KeyboardInterrupt
