"""Whether a policy has something to decide: what it needs of program and machine, and what it has.

A policy names its needs in `Policy.needs`, and says beyond them what only it can know in
`Policy.fits`. What follows from its plan and its hooks is in :mod:`simsched.engine.fit`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.policy.contract.views import PlanView


@dataclass(frozen=True)
class Need:
    """What a policy cannot do without if it is to decide anything.

    Parameters
    ----------
    what : str
        In words, behind "needs".
    lacking : callable
        Takes a view; returns what is found instead, or nothing where the need is met.
    machine_kind : str
        What machines are called that meet it, where it is about machines.
    """

    what: str
    lacking: Callable[[PlanView], str]
    machine_kind: str = ""

    def reason(self, view: PlanView) -> str:
        """Return why a policy with this need does not fit.

        Parameters
        ----------
        view : PlanView
            The program and the machine.

        Returns
        -------
        str
            Empty where it fits.
        """
        found = self.lacking(view)
        return f"needs {self.what}: found {found}" if found else ""


def _speeds(view: PlanView) -> str:
    threads = _processors(view)
    groups = view.machine.thread_group[threads].tolist()
    cores = set(view.machine.thread_core[threads].tolist())
    changing = {core for change in view.machine.changes for core in change.cores}
    same = len({view.machine.core_groups[group].ops_per_s for group in groups}) == 1
    return f"{len(cores)} of one speed" if same and not changing & cores else ""


def _processors(view: PlanView) -> NDArray[np.integer[Any]]:
    """Return the hardware threads of the most frequent kind of processor, which is no device."""
    groups = view.machine.thread_group[view.worker_thread].tolist()
    kinds = [view.machine.core_groups[group].kind for group in groups]
    most = max(dict.fromkeys(kinds), key=kinds.count)
    return view.worker_thread[[kind == most for kind in kinds]]


def _domains(view: PlanView) -> str:
    domains = np.unique(view.machine.thread_domain[_processors(view)])
    return "" if len(domains) > 1 else "all workers in one"


def _memories(view: PlanView) -> str:
    kinds = {node.kind for node in view.machine.nodes if not node.has_driver}
    return "" if len(kinds) > 1 else f"{', '.join(kinds)} only"


def _devices(view: PlanView) -> str:
    groups = view.machine.thread_group[view.worker_thread]
    kinds = {view.machine.core_groups[group].kind for group in groups}
    return "" if len(kinds) > 1 else f"workers on {', '.join(kinds)} only"


def _tree(view: PlanView) -> str:
    return "" if len(view.workload.graph.child) else "none"


def _division(view: PlanView) -> str:
    return "" if view.workload.division is not None else "none"


def _applications(view: PlanView) -> str:
    return "" if view.workload.applications is not None else "one program"


SEVERAL_SPEEDS = Need("cores of different speeds", _speeds, "asymmetric")
SEVERAL_DOMAINS = Need("workers in several NUMA domains", _domains, "numa")
SEVERAL_MEMORIES = Need("memory of several kinds", _memories, "hybrid_memory")
DEVICE = Need("a device beside the processor", _devices, "accelerator")
SPAWN_TREE = Need("tasks that create others", _tree)
DIVISIBLE_WORK = Need("divisible work", _division)
SHARED_DEVICE = Need("applications that share a device", _applications, "accelerator")

#: What a machine may be, and `UNIFORM` without any of it.
MACHINE_NEEDS = (SEVERAL_DOMAINS, SEVERAL_MEMORIES, SEVERAL_SPEEDS, DEVICE)
UNIFORM = "uniform"
MACHINE_KINDS = (*(need.machine_kind for need in MACHINE_NEEDS), UNIFORM)
