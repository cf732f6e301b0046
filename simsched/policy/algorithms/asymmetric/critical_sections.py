"""Critical sections on fast cores: ACS and BIS."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.policy import HookView, param, preset, register
from simsched.policy.parts.threads import Move, Queues, ThreadScheduler


@register("acs")
@dataclass(frozen=True, kw_only=True)
class CriticalSections(ThreadScheduler):
    """A thread that enters a critical section runs it on the fastest core.

    Parameters
    ----------
    least_waiting : int
        Threads that must be waiting for the critical section; with fewer it stays where it is.

    Notes
    -----
    ``acs`` moves every critical section, ``bis`` those for which others wait, which stands for the
    cycles that threads wait. Threads are not moved otherwise. Readings: docs/sources/aats.md.

    References
    ----------
    M. A. Suleman, O. Mutlu, M. K. Qureshi, Y. N. Patt, ASPLOS 2009 (ACS). J. A. Joao et al.,
    *Bottleneck identification and scheduling in multithreaded applications*, ASPLOS 2012 (BIS). Q.
    Chen, M. Guo, Springer 2017, section 5.3.6.
    """

    least_waiting: int = param(0, low=0)

    def queue_of(self, view: HookView, state: Queues, task: int) -> int:
        if state.is_critical[state.task_class[task]]:
            waiting = state.notes.get("arrived", 0) - state.notes.get("left", 0) - 1
            if waiting >= self.least_waiting:
                return state.groups.fastest_worker
        return super().queue_of(view, state, task)

    def on_finish(self, view: HookView, state: Queues, task: int, worker: int) -> None:
        """Count threads that reach and leave their critical section."""
        super().on_finish(view, state, task, worker)
        if not state.is_used:
            return
        what = "left" if state.is_critical[state.task_class[task]] else "arrived"
        state.notes[what] = state.notes.get(what, 0) + 1

    def balance(self, view: HookView, state: Queues) -> list[Move]:
        return []


preset(
    "bis",
    CriticalSections,
    "Critical sections for which others wait, on the fastest core.",
    least_waiting=1,
)
