"""Cores of this host, their caches and memory nodes, as Linux describes them."""

from __future__ import annotations

import os


def allowed_cores() -> list[int]:
    """Return the hardware threads on which this process may run, ascending."""
    return sorted(os.sched_getaffinity(0))
