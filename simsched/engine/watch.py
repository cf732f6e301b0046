"""Hooks that do not end: one thread of the process says on standard error which one it is.

It looks at the stacks of running threads every few seconds; hooks do not know and cost no more.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType

from simsched.files.units import PER_PS
from simsched.policy.contract.base import Policy
from simsched.policy.contract.class_checks import methods_of, told_name

LOOK_S = 5.0  #: between two looks; a hook that both find has not ended in between


@dataclass(eq=False)
class _Watched:
    """A thread in which the hooks of a policy are called."""

    cls: type[Policy]
    thread: int
    #: The call that was found last, kept so that no other one can be mistaken for it, and when.
    call: FrameType | None = None
    since_s: float = 0.0
    told: bool = False


_watched: list[_Watched] = []
_starting = threading.Lock()
_watcher: threading.Thread | None = None


@contextmanager
def watched(policy: Policy) -> Iterator[None]:
    """Let hooks of a policy that run for long inside be told once."""
    global _watcher
    if _watcher is None or not _watcher.is_alive():  # a process that was forked has no threads
        with _starting:
            _watcher = threading.Thread(target=_watch, name="simsched-watch", daemon=True)
            _watcher.start()
    one = _Watched(type(policy), threading.get_ident())
    _watched.append(one)
    try:
        yield
    finally:
        _watched.remove(one)


def _watch() -> None:
    """Look again and again."""
    while True:
        time.sleep(LOOK_S)
        frames = sys._current_frames()
        for one in tuple(_watched):  # others come and go
            _look(one, frames.get(one.thread))
        del frames


def _look(one: _Watched, frame: FrameType | None) -> None:
    """Find the hook that a thread is in; tell of one that was found before."""
    methods, call, last = methods_of(one.cls, Policy), None, None
    stack = []
    while frame is not None:
        stack.append(frame)
        frame = frame.f_back
    for each in reversed(stack):
        if call is None and each.f_code in methods:
            call = each
        if call is not None and each.f_code.co_filename == call.f_code.co_filename:
            last = each
    if call is None or call is not one.call:
        one.call, one.since_s = call, time.monotonic()
    elif last is not None and not one.told:
        duration_s = time.monotonic() - one.since_s
        one.told = True
        with suppress(OSError, ValueError):  # a terminal that was closed
            sys.stderr.write(
                f"simsched: policy {told_name(one.cls)}: {methods[call.f_code]} has been running "
                f"for more than {int(duration_s)} s{_simulated(call)}; now at "
                f"{last.f_code.co_filename}:{last.f_lineno}\n"
            )
            sys.stderr.flush()


def _simulated(call: FrameType) -> str:
    """Return at which simulated time a hook was called, nothing before a run."""
    names = call.f_code.co_varnames
    view = call.f_locals.get(names[1]) if len(names) > 1 else None
    live = getattr(view, "live", None)
    return "" if live is None else f", since {live.now_ps() * PER_PS:.9g} s of simulated time"
