"""Changes of what a run has not used: they are simulated together, not one by one.

A source of alterations says of a change when the counters of a run show that it has no use for what
is changed. The engine has the last word: all these changes are made at once, and where any counter
of any worker, or any decision, is another one then, none of them counts as unused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from simsched.files.errors import SimschedError
from simsched.trace.run import Run
from simsched.trace.schema import Summary
from simsched.workload.graph import TaskGraph

if TYPE_CHECKING:
    from simsched.experiment.alterations import Alteration, Setting

#: Of costs: whether the counters of a run show that nobody has paid it.
_UNPAID: dict[str, Callable[[Run], bool]] = {
    "spawn_child_first_ps": lambda run: _paid_otherwise(run, "spawn_parent_first_ps"),
    "spawn_parent_first_ps": lambda run: _paid_otherwise(run, "spawn_child_first_ps"),
    "push_ps": lambda run: not any(len(graph.succ) for graph in _graphs(run)),
    "steal_ps": lambda run: not run.summary.steals.any() and not run.summary.exchanges,
    "steal_probe_ps": lambda run: (
        not run.summary.steals.any() and not run.summary.failed_probes.any()
    ),
    "barrier_ps": lambda run: len(run.summary.iteration) == 1,
    "context_switch_ps": lambda run: not (run.summary.duplicates or run.summary.kills),
    "page_migration_ps": lambda run: not run.summary.migrations,
    "page_fault_ps": lambda run: not run.summary.page_faults,
    "page_move_ps": lambda run: not run.summary.page_faults,
    "hotness_sample_ps": lambda run: not run.summary.migrations,
    "counter_read_ps": lambda run: not run.summary.decisions,
}


def unpaid(*names: str) -> Callable[[Run], bool]:
    """Return what tells of a run whether nobody seems to have paid some costs of the runtime."""
    return lambda run: all(_UNPAID.get(name, used)(run) for name in names)


def used(_: Run) -> bool:
    """Return that a run may have used whatever it is."""
    return False


def holds_nothing(run: Run, kind: str) -> bool:
    """Return whether no data have lain in memory of a kind."""
    own = [node.kind == kind for node in run.machine.nodes]
    return not run.summary.node_peak_bytes[own].any()


def serves_nothing(run: Run, level: int) -> bool:
    """Return whether a level of caches has answered no access."""
    return not run.summary.cache_hit_bytes[:, :, level].any()


def _graphs(run: Run) -> list[TaskGraph]:
    return [run.workload.graph, *filter(None, [run.workload.init])]


def _paid_otherwise(run: Run, name: str) -> bool:
    """Return whether another cost explains all that was paid for the creation of tasks."""
    created = sum(len(run.graph_of(number).child) for number in run.summary.iteration.tolist())
    paid_ps: int = getattr(run.machine.costs, name)
    return int(run.summary.worker_spawn_ps.sum()) == created * paid_ps


def unused_changes(
    run: Run,
    setting: Setting,
    changes: Sequence[Alteration],
    simulated: Callable[[Setting], Run],
) -> list[Alteration]:
    """Return changes that leave everything about a run as it is.

    Parameters
    ----------
    run : Run
        The unchanged run.
    setting : Setting
        What it has simulated.
    changes : sequence of Alteration
        All of them.
    simulated : callable
        Returns the run of a changed setting.
    """
    found = [each for each in changes if each.unused(run)]
    if len(found) < 2:
        return []
    try:
        together = simulated(reduce(lambda made, each: each.made(made), found, setting))
    except SimschedError:
        return []
    return found if _same(run, together) else []


def _same(run: Run, other: Run) -> bool:
    """Return whether two runs have the same decisions and the same counters."""
    return run.decisions == other.decisions and all(
        np.array_equal(getattr(run.summary, item.name), getattr(other.summary, item.name))
        for item in fields(Summary)
    )
