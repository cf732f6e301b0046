"""Critical sections on fast cores: ACS and BIS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simsched.policy import (
    SEVERAL_SPEEDS,
    HookView,
    Need,
    param,
    preset,
    register,
    seconds_to_ps,
)
from simsched.policy.parts.threads import Move, Queues, ThreadScheduler


@register("acs")
@dataclass(frozen=True, kw_only=True)
class CriticalSections(ThreadScheduler):
    """A thread that enters a critical section runs it on the fastest core.

    Parameters
    ----------
    least_waited_s : float
        Time in seconds that threads must have waited for critical sections so far, all together;
        after less, a section stays where it is.

    Notes
    -----
    ``acs`` moves every critical section, ``bis`` those for which threads have waited. Threads are
    not moved otherwise. Readings: docs/sources/aats.md.

    References
    ----------
    M. A. Suleman, O. Mutlu, M. K. Qureshi, Y. N. Patt, ASPLOS 2009 (ACS). J. A. Joao et al.,
    *Bottleneck identification and scheduling in multithreaded applications*, ASPLOS 2012 (BIS). Q.
    Chen, M. Guo, Springer 2017, section 5.3.6.
    """

    needs: ClassVar[tuple[Need, ...]] = (SEVERAL_SPEEDS,)

    least_waited_s: float = param(0.0, low=0.0, high=1e6)

    def queue_of(self, view: HookView, state: Queues, task: int) -> int:
        if state.is_critical[state.task_class[task]]:
            now_ps, since_ps = view.live.now_ps(), _waiting_since_ps(state)
            waiting_ps = sum(now_ps - since for since in since_ps.values())
            waited_ps = state.notes.get("waited", 0)
            began_ps = since_ps.pop(state.thread_of(task), now_ps)
            state.notes["waited"] = waited_ps + now_ps - began_ps
            if waited_ps + waiting_ps >= seconds_to_ps(self.least_waited_s):
                return state.groups.fastest_worker
        return super().queue_of(view, state, task)

    def on_finish(self, view: HookView, state: Queues, task: int, worker: int) -> None:
        """Note when a thread reaches its critical section."""
        super().on_finish(view, state, task, worker)
        if not state.is_used or state.is_critical[state.task_class[task]]:
            return
        graph, thread = view.workload.graph, state.thread_of(task)
        following = state.task_class[graph.succ[graph.succ_ptr[task] : graph.succ_ptr[task + 1]]]
        if (state.is_critical[following] & (state.thread[following] == thread)).any():
            _waiting_since_ps(state)[thread] = view.live.now_ps()

    def balance(self, view: HookView, state: Queues) -> list[Move]:
        return []


def _waiting_since_ps(state: Queues) -> dict[int, int]:
    """Return when threads that wait for their critical section have begun to."""
    since_ps: dict[int, int] = state.notes.setdefault("since", {})
    return since_ps


preset(
    "bis",
    CriticalSections,
    "Critical sections on the fastest core as soon as threads have waited for one.",
    least_waited_s=1e-6,
)
