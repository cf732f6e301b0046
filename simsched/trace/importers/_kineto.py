"""What PyTorch's profiler, Kineto, says of its tracks, in Chrome Trace Event JSON.

Kernels, copies and settings of memory have categories of their own; ``pid`` is their device and
``tid`` their stream, which ``args`` names, too. Threads of the host have operators (``cpu_op``) and
calls of the runtime (``cuda_runtime``, ``cuda_driver``); arrows ``ac2g`` lead from calls to what
they have launched. Calls that end in ``Synchronize`` wait for the device.

Not work are annotations and waits that are drawn over a stream's kernels, the slice of the process
``Spans`` that is the whole recording, and what the profiler itself has taken (process -1).
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

from simsched.trace.importers._slice_arrows import Step
from simsched.trace.importers._slices import Found, Slice, Thread

ON_STREAM = {"kernel", "gpu_memcpy", "gpu_memset"}
ON_THREAD = {"cpu_op", "cuda_runtime", "cuda_driver"}
DRAWN = {"gpu_user_annotation", "cuda_sync"}
NO_PROCESS: dict[str, object] = {"Trace": "Spans", "overhead": -1}  #: by category
WAITING = re.compile(r"(cuda|cu|hip)[A-Za-z]*Synchronize")


def is_work(event: dict[str, Any]) -> bool:
    """Say whether a slice is something that somebody did."""
    category = str(event.get("cat"))
    if category in NO_PROCESS:
        return event.get("pid") != NO_PROCESS[category]
    return category not in DRAWN


def note_track(found: Found, piece: Slice, event: dict[str, Any]) -> None:
    """Note what a slice says of its track, and whether it waits for devices."""
    category, args = str(event.get("cat")), event.get("args")
    if category in ON_STREAM and isinstance(args, dict) and "stream" in args:
        found.devices.add(piece.thread)
    elif category in ON_THREAD:
        found.ordered.add(piece.thread)
        if WAITING.fullmatch(piece.name):
            found.waiting.add(piece.event)


def launching(found: Found, steps: list[Step]) -> set[Thread]:
    """Return the threads from which arrows lead to tracks of devices."""
    launched: set[Hashable] = {s.key for s in steps if s.thread in found.devices and s.phase != "s"}
    return {
        step.thread
        for step in steps
        if step.phase == "s" and step.key in launched and step.thread not in found.devices
    }
