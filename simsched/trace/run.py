"""A finished run: what was simulated, and what has come out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simsched.files.units import PER_PS
from simsched.machine.model import IntArray, Machine
from simsched.policy.contract.base import Policy
from simsched.trace.schema import Summary, Trace
from simsched.workload.graph import Workload


@dataclass(frozen=True, eq=False)
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

    @property
    def makespan_s(self) -> float:
        """Simulated duration of the run in seconds."""
        return self.summary.makespan_ps * PER_PS
