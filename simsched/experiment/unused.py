"""What a run has not used, as its counters show: sources of alterations say it of their changes."""

from __future__ import annotations

from collections.abc import Callable

from simsched.trace.run import Run
from simsched.workload.graph import TaskGraph

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
