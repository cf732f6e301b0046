"""A finished run: what was simulated, and what has come out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simsched.files.units import PER_PS, plural
from simsched.machine.model import IntArray, Machine
from simsched.names.specs import format_spec
from simsched.policy.contract.base import Policy
from simsched.policy.contract.plan import PoolGroup
from simsched.policy.contract.registry import spec_of
from simsched.trace.schema import Summary, Trace
from simsched.workload.division import divided
from simsched.workload.graph import TaskGraph, Workload


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """What a finished run consists of.

    Parameters
    ----------
    machine, workload, policy : Machine, Workload, Policy
        What was simulated; `workload` is the program as the policy's runtime ran it.
    backend : str
        Engine that ran it.
    seed : int
        Seed of all random streams.
    worker_thread : ndarray of int32, shape (n_workers,)
        Hardware thread of each worker.
    summary : Summary
        Counters.
    trace : Trace or None
        Events, if they were kept in memory.
    program : Workload
        The program as the policy was given it, with the machine's timings.
    state : object
        What the policy has known at the end: what its `start` has returned.
    misfits : tuple of str
        Why the run says little of the policy: it has nothing to decide here, or falls back.
    decisions : str
        Hash of which worker has executed which task in which iteration, of where blocks were, and
        of when iterations have begun and ended.
    pool_groups : sequence of tuple of PoolGroup
        Pools of each iteration, by the numbers that events name.
    """

    machine: Machine
    workload: Workload
    policy: Policy
    backend: str
    seed: int
    worker_thread: IntArray
    summary: Summary
    trace: Trace | None
    program: Workload
    state: Any = None
    misfits: tuple[str, ...] = ()
    decisions: str = ""
    pool_groups: Sequence[tuple[PoolGroup, ...]] = ()

    def graph_of(self, iteration: int) -> TaskGraph:
        """Return what an iteration of the run has executed, as its work was divided.

        Parameters
        ----------
        iteration : int
            Its number; 0 for the initialisation.

        Returns
        -------
        TaskGraph
            That of the program as the policy's runtime ran it.
        """
        workload, units = self.workload, self.summary.part_units
        if workload.division is not None and units.size:
            return divided(workload.graph, workload.division, units[iteration - 1])
        return workload.graph_of(iteration)

    def __repr__(self) -> str:
        summary, policy = self.summary, format_spec(*spec_of(self.policy))
        kept = "not kept" if self.trace is None else f"{len(self.trace):,} of them kept"
        iterations = int((summary.iteration > 0).sum())
        begun = "" if iterations == len(summary.iteration) else " after an initialisation"
        lines = (
            f"{self.workload.name} on {self.machine.name} under {policy}",
            f"makespan {self.makespan_s:.6g} s",
            f"{plural(summary.n_tasks, 'task')} in {plural(iterations, 'iteration')}{begun}",
            f"{plural(len(self.worker_thread), 'worker')}, engine {self.backend}, seed {self.seed}",
            f"{plural(summary.n_events, 'event')}, {kept}",
        )
        return "<Run " + "\n     ".join(lines) + ">"

    @property
    def makespan_s(self) -> float:
        """Simulated duration of the run in seconds."""
        return self.summary.makespan_ps * PER_PS
