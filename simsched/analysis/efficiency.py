"""How well a run uses its workers, by the names of the POP project.

With u the time of each worker in tasks, T the makespan, and T' that of the same program on a
machine whose runtime and copies take no time:

* *parallel efficiency* mean(u) / T = load balance x serialisation x transfer,
* *load balance* mean(u) / max(u),
* *serialisation* max(u) / T': what is lost to dependencies and the order of tasks,
* *transfer* T' / T: what probes, steals, locks, creation, barriers and copies of data take.

Waiting for memory inside tasks counts as their time. How much longer tasks take for that is the
*work-time inflation*: their time over what it would be with all data in the nearest memory of its
kind and nobody else using it. Efficiencies without it mislead: a run may be efficient and spend
most of its time on waiting for memory.

POP: Performance Optimisation and Productivity centre of excellence, *Standard metrics for
performance analysis*; Olivier et al., *Characterizing and mitigating work time inflation in task
parallel programs*, SC 2012.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from simsched.analysis.waterfall import CACHE, COMPUTE, MEMORY, REMOTE, group_of
from simsched.machine.model import Link, Machine, RuntimeCosts
from simsched.trace.schema import Summary

#: Costs that are no transfer of tasks or data: launches of kernels, and work of the policy.
KEPT_COSTS = ("kernel_launch_ps", "hotness_sample_ps", "counter_read_ps", "device_chunk_bytes")
FREE_BYTES_PER_S = 1e15  #: of links of a machine on which copies take no time


@dataclass(frozen=True)
class Efficiencies:
    """Efficiencies of a run, shares of 1; see the module. Transfer is above 1 in rare cases.

    That is so where the schedule on the ideal machine is worse. Policies that only work where
    something takes time have no serialisation and transfer.
    """

    parallel: float
    load_balance: float
    serialisation: float | None
    transfer: float | None
    work_time_inflation: float


def ideal_machine(machine: Machine) -> Machine:
    """Return a machine whose runtime, and copies between workers, take no time.

    Accesses of tasks take as long as before.
    """
    kept = {name: getattr(machine.costs, name) for name in KEPT_COSTS}
    ideal = replace(machine, costs=RuntimeCosts(**kept))
    if not machine.copies_data:
        return ideal
    links = tuple(Link(link.name, FREE_BYTES_PER_S) for link in machine.links)
    return replace(ideal, links=links)


def efficiencies(
    summary: Summary, ideal_ps: int | None, seconds: Mapping[str, float]
) -> Efficiencies:
    """Return the efficiencies of a run.

    `ideal_ps` is the makespan on the ideal machine, None where the policy does not work there,
    `seconds` the parts of the run's makespan.
    """
    busy = summary.worker_busy_ps.astype(np.float64)
    longest, whole = float(busy.max()), float(summary.makespan_ps)
    undisturbed = sum(seconds.get(part, 0.0) for part in (COMPUTE, CACHE, MEMORY))
    more = seconds.get(REMOTE, 0.0)
    more += sum(time for part, time in seconds.items() if group_of(part).startswith("wait "))
    return Efficiencies(
        _ratio(float(busy.mean()), whole),
        _ratio(float(busy.mean()), longest),
        None if ideal_ps is None else _ratio(longest, float(ideal_ps)),
        None if ideal_ps is None else _ratio(float(ideal_ps), whole),
        _ratio(undisturbed + more, undisturbed),
    )


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else 1.0
