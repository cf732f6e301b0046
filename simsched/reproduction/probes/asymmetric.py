"""What AATS and the machines and programs of its study promise."""

from __future__ import annotations

from typing import Any

import numpy as np

from simsched.files.errors import ConfigurationError, unknown_name
from simsched.policy.algorithms.asymmetric.camp import speedups
from simsched.policy.algorithms.asymmetric.camp import utility_factor as factor_by_equation
from simsched.policy.contract.base import view_before
from simsched.policy.parts.core_groups import core_groups, n_candidates, preference
from simsched.reproduction.probes import chosen, machine_of, probe, workload_of


@probe("candidate_allocations")
def candidate_allocations(*, items: int, groups: int) -> float:
    """Return in how many ways algorithm 8 can cut a row of items into parts for groups of cores."""
    return float(n_candidates(items, groups))


@probe("preference_list")
def preference_list(*, group: int, groups: int) -> str:
    """Return the groups whose tasks a core takes, in order; they are counted from 1."""
    return ",".join(f"G{found + 1}" for found in preference(group - 1, groups))


@probe("core_speed_ratio")
def core_speed_ratio(*, machine: str) -> float:
    """Return the speed of the slowest core of a machine relative to the fastest."""
    speeds = [group.ops_per_s for group in machine_of(machine).core_groups]
    return min(speeds) / max(speeds)


@probe("shipped_machines")
def shipped_machines(*, names: list[str]) -> float:
    """Return how many different machines some names stand for."""
    return float(len({machine_of(name).name for name in names}))


@probe("function_time_s")
def function_time_s(
    *, machine: str, workload: str, which: str, parameters: dict[str, Any] | None = None
) -> float:
    """Return the time of a program's longest or shortest task on the fastest core of a machine.

    Parameters
    ----------
    which : {"longest", "shortest"}
        Which task; tasks that only spawn others do not count.
    """
    ends = {"longest": np.max, "shortest": np.min}
    end = chosen("which", which, ends)
    ops = workload_of(workload, parameters).graph.ops[0]
    fastest = max(group.ops_per_s for group in machine_of(machine).core_groups)
    return float(end(ops[ops > 0.0])) / fastest


@probe("tasks_of_functions")
def tasks_of_functions(*, workload: str, parameters: dict[str, Any] | None = None) -> list[float]:
    """Return how many tasks each function of a program has, without those that spawn others."""
    graph = workload_of(workload, parameters).graph
    leaves = np.diff(graph.child_ptr) == 0
    counts = np.bincount(graph.task_class[leaves])
    return [float(count) for count in counts if count]


@probe("utility_factor")
def utility_factor(*, speedup: float, threads: int, fast_cores: int) -> float:
    """Return what CAMP takes for the gain of an application from fast cores, by its equation."""
    return factor_by_equation(speedup, threads, fast_cores)


@probe("speedup_factor")
def speedup_factor(
    *, machine: str, workload: str, thread: str, parameters: dict[str, Any] | None = None
) -> float:
    """Return how much faster a thread runs on the fastest core of a machine than on the slowest.

    Parameters
    ----------
    thread : str
        Its class of tasks, the first of which is taken.
    """
    model, program = machine_of(machine), workload_of(workload, parameters)
    names = program.graph.class_names
    if thread not in names:
        raise ConfigurationError(unknown_name("thread", thread, names))
    view = view_before(model, program)
    factor, _ = speedups(view, core_groups(view))
    return float(factor[np.flatnonzero(program.graph.task_class == names.index(thread))[0]])
