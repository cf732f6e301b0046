"""Tells whether something else on the host has disturbed a measurement."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from simsched.hardware.host import Load
from simsched.hardware.measurements import Measurement

#: Workers that nobody disturbs have their cores for at least this part of the time.
MIN_CPU_SHARE = 0.97
#: The speed probe may be so much slower than at its best in one run of ten.
MAX_SLOWER = 0.10
MAX_OVERHEAD = 0.02
#: Others may use so much of each core, and in all no more than of ten cores: half a core.
MAX_OTHERS = 0.05
MAX_STOLEN = 0.01
_COUNTED_CORES = 10

_WHEN = {"before": "before the first run", "during": "during the runs", "after": "afterwards"}


def disturbances(
    runs: Sequence[Measurement],
    *,
    loads: Mapping[str, Load],
    probes: Sequence[float],
    overhead: Mapping[str, Any] | None,
    threads: int,
    cores: int,
) -> list[str]:
    """Return what makes the runs less trustworthy, one sentence each.

    `loads` are those of the host `before`, `during` and `after`.
    """
    found = [*_load(loads, threads), *_cpu_shares(runs, cores), *_speed(probes)]
    if overhead is not None and overhead["overhead"] > MAX_OVERHEAD:
        found.append(
            f"tracing overhead: {overhead['overhead']:.1%} of tasks of {overhead['task_us']} us, "
            f"accepted {MAX_OVERHEAD:.0%}"
        )
    return found


def _load(loads: Mapping[str, Load], threads: int) -> list[str]:
    """Return what other programs and the hypervisor have taken."""
    found = []
    for when, load in loads.items():
        for who, used, accepted in (
            ("other programs used", load.others_cores, MAX_OTHERS),
            ("the hypervisor took", load.stolen_cores, MAX_STOLEN),
        ):
            if used > accepted * min(threads, _COUNTED_CORES):
                found.append(f"busy host: {who} {used:.2f} of {threads} cores {_WHEN[when]}")
    return found


def _cpu_shares(runs: Sequence[Measurement], cores: int) -> list[str]:
    """Return how many runs had to share their cores; workers beyond them share among themselves."""
    shares = [(run.cpu_share / min(1.0, cores / run.workers), run) for run in runs]
    low = [(share, run) for share, run in shares if share < MIN_CPU_SHARE]
    if not low:
        return []
    share, run = min(low, key=lambda each: each[0])
    return [
        f"busy host: in {len(low)} of {len(runs)} runs the workers had their cores for less than "
        f"{MIN_CPU_SHARE:.0%} of the time, at worst {share:.0%} "
        f"({run.label}, {run.policy}, workers {run.workers}, repetition {run.repetition})"
    ]


def _speed(probes: Sequence[float]) -> list[str]:
    """Return whether the speed of the cores has changed."""
    if not probes:
        return []
    ordered = sorted(probes)
    slow = ordered[math.ceil(0.9 * len(ordered)) - 1] / ordered[0] - 1.0
    if slow <= MAX_SLOWER:
        return []
    return [
        f"unsteady host: a fixed computation before each run took {slow:.0%} longer than at its "
        f"best in one run of ten, accepted {MAX_SLOWER:.0%}"
    ]
