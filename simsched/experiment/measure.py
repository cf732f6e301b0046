"""How much memory this process needs."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_CLEAR, _STATUS = "/proc/self/clear_refs", "/proc/self/status"
_MARK, _MOST = b"VmHWM:", 2**16  #: the line with the size, more than all lines are


@contextmanager
def _opened(path: str, flags: int) -> Iterator[int]:
    """Open a file of the system as a bare descriptor: runs may take less than a file object."""
    file = os.open(path, flags)
    try:
        yield file
    finally:
        os.close(file)


def reset_peak_rss() -> None:
    """Make :func:`peak_rss_bytes` count from now on, where the system can do that (Linux)."""
    with suppress(OSError), _opened(_CLEAR, os.O_WRONLY) as file:
        os.write(file, b"5")


def peak_rss_bytes() -> int:
    """Return the largest resident size of this process since the last reset.

    It includes the interpreter and its libraries. Where the system keeps no resettable mark it is
    the largest size since the process began.
    """
    with suppress(OSError, ValueError, IndexError), _opened(_STATUS, os.O_RDONLY) as file:
        return int(os.read(file, _MOST).partition(_MARK)[2].split(maxsplit=1)[0]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
