"""Signals that ask a program to end, all handled as Ctrl-C is.

A terminal sends SIGINT for Ctrl-C and SIGHUP when it is closed; ``kill``, ``timeout`` and batch
systems send SIGTERM.

Python raises KeyboardInterrupt wherever the program happens to be. Inside a library, compiled code
may drop it (looking an attribute up does), and clean-up code may raise another error instead.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

#: Of which worker processes hear nothing: the process that has started them decides.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

#: After which time a signal is repeated that a library has dropped.
REPEAT_S = 0.05


def is_interruption(error: BaseException | None) -> bool:
    """Return whether an exception is KeyboardInterrupt or was raised while one was handled."""
    seen: set[int] = set()  # chains that others make may be circles
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


class _Asked(KeyboardInterrupt):
    """What a signal raises; reports when nothing carries it any more."""

    #: Set later: libraries make copies of exceptions, without arguments here.
    dropped: Callable[[], None] | None = None

    def __del__(self) -> None:
        if self.dropped is not None:
            self.dropped()


class Interruptions:
    """A context in which every signal that asks to end raises KeyboardInterrupt, as Ctrl-C does.

    A signal that is ignored, as ``nohup`` has it for SIGHUP, or that somebody else handles, stays
    so. In another thread than the first, which alone may do this, nothing changes. A signal whose
    exception is dropped within the context is repeated.
    """

    def __init__(self) -> None:
        self.heard: signal.Signals | None = None
        self._over = False
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

    def __exit__(self, *error: object) -> None:
        self._over = True
        for number, before in self._before.items():
            signal.signal(number, before)

    def end(self) -> None:
        """Hear no more signals: what they ask for is being done."""
        self._over = True

    def _hear(self, number: int, _frame: FrameType | None) -> None:
        if self._over:
            return
        self.heard = signal.Signals(number)
        raise self._asked()

    def _asked(self) -> _Asked:
        # Not in a variable of the frame that raises: the two would keep each other.
        asked = _Asked()
        asked.dropped = self._repeat
        return asked

    def _repeat(self) -> None:
        # Later and by a thread: an exception would be dropped again while this one is deleted.
        if not self._over:
            later = threading.Timer(REPEAT_S, self._send)
            later.daemon = True
            later.start()

    def _send(self) -> None:
        if not self._over and self.heard is not None:
            os.kill(os.getpid(), self.heard)
