"""How much memory this process needs."""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from pathlib import Path

_CLEAR = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")


def reset_peak_rss() -> None:
    """Make :func:`peak_rss_bytes` count from now on, where the system can do that (Linux)."""
    with suppress(OSError):
        _CLEAR.write_text("5")


def peak_rss_bytes() -> int:
    """Return the largest resident size of this process since the last reset.

    It includes the interpreter and its libraries. Where the system keeps no resettable mark it is
    the largest size since the process began.
    """
    with suppress(OSError, ValueError, IndexError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
