"""TimeGraph: a real-time scheduler in the GPU driver."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from simsched.files.errors import ConfigurationError
from simsched.policy.algorithms.accelerator.accelerator import exclusive_kernels
from simsched.policy.algorithms.accelerator.accelerator_pool import (
    PoolState,
    Release,
    ReorderingPolicy,
)
from simsched.policy.contract.base import View, param
from simsched.policy.contract.registry import preset, register
from simsched.workload.graph import Workload

PS = 1e-12
MAX_SLEEP_S = 3990.0  #: a transfer is on its way for at most 4000 s, with its decision
BOOK = "Q. Chen, M. Guo, 2017, section 8.2.1"


@dataclass
class Budget:
    """Reserved GPU time of one application.

    Attributes
    ----------
    left_s : float
        What is left, e; negative after an overrun.
    periods : int
        Replenishments so far.
    """

    left_s: float
    periods: int = 0


def replenished(left_s: float, capacity_s: float, cost_s: float = 0.0, periods: int = 1) -> float:
    """Return the budget after replenishments.

    Parameters
    ----------
    left_s : float
        Budget before, e.
    capacity_s : float
        Reserved time per period, C.
    cost_s : float
        Predicted cost x of the kernel that the budget is for (a-priori enforcement); 0 where
        there is none and for posterior enforcement.
    periods : int
        How many replenishments, n, at least 1.

    Notes
    -----
    ``min(C, e + C)``, and ``min(x, e + C)`` for a kernel with x > C, which could never run
    otherwise. Repeated n times, that is ``min(max(C, x), e + n C)``.

    Examples
    --------
    >>> replenished(-7.0, 5.0), replenished(-7.0, 5.0, periods=2), replenished(-7.0, 5.0, periods=9)
    (-2.0, 3.0, 5.0)
    """
    return min(max(capacity_s, cost_s), left_s + periods * capacity_s)


def periods_until(left_s: float, capacity_s: float, cost_s: float | None = None) -> int:
    """Return the replenishments until a budget lets a kernel be submitted.

    Parameters
    ----------
    left_s, capacity_s : float
        Budget e and reserved time per period C.
    cost_s : float or None
        Cost x that the budget has to cover (``e >= x``); None where it has to be above 0.

    Examples
    --------
    >>> [periods_until(left_s, 5.0) for left_s in (1.0, 0.0, -4.0, -5.0)]
    [0, 1, 1, 2]
    >>> [periods_until(left_s, 5.0, 12.0) for left_s in (12.0, 7.0, 6.0, -5.0)]
    [0, 1, 2, 4]
    """
    if cost_s is None:
        return 0 if left_s > 0.0 else math.floor(-left_s / capacity_s) + 1
    return max(0, math.ceil((cost_s - left_s) / capacity_s))


@dataclass
class TimeGraphState(PoolState):
    """What TimeGraph remembers.

    Attributes
    ----------
    arrived : int
        Task that has just become ready, -1 at the end of a task.
    budgets : dict of int to Budget
        Budget of each application.
    began_ps, wakes_s : dict
        When kernels that run began, and when those wake that sleep for their budget.
    """

    arrived: int = -1
    budgets: dict[int, Budget] = field(default_factory=dict)
    began_ps: dict[int, int] = field(default_factory=dict)
    wakes_s: dict[int, float] = field(default_factory=dict)


@register("timegraph_prt")
@dataclass(frozen=True, kw_only=True)
class TimeGraph(ReorderingPolicy):
    """Kernels are submitted one at a time by priority, or in runs of one task.

    Parameters
    ----------
    policy : {"prt", "ht"}
        Predictable response time or high throughput.
    reservation : {"none", "pe", "ae"}
        Posterior or a-priori enforcement of reserved GPU time, under `prt`.
    capacity_s, period_s : float
        Reserved GPU time C of each batch application and its period T, in seconds.
    reserves_critical : bool
        Whether critical applications have a reservation too.
    decision_s : float
        Time of the interrupt and the decision with which a sleeping kernel is woken.
    prediction_s : float
        Time that the prediction of a cost takes; `ae` only.

    Notes
    -----
    * `prt`: a kernel that arrives is submitted at once if the GPU is idle, else it sleeps; at the
      end of a kernel the one of the highest priority is woken, after `decision_s`. The source has
      a decision at the boundary of two kernels; where nothing sleeps, nobody waits for it.
    * `ht`: a kernel that arrives is also submitted if the GPU executes kernels of the same
      application and no kernel of higher priority sleeps; at the end of a kernel another one is
      woken only if the GPU is idle.
    * `pe`: a kernel is submitted if its application's budget e is above 0; `ae`: if its predicted
      cost x is at most e. The GPU time of a kernel is taken off e when it has ended, as the driver
      learns of it by an interrupt. Until then, from its arrival on, e is replenished for its x
      (:func:`replenished`); an application without kernels has at most C. A kernel that sleeps for
      its budget is on its way to the device until then and for the decision that wakes it, one of
      an application at a time; if another one is running by then, it queues up behind it. Where a
      budget is so small that a kernel would sleep for more than 3990 s, the run ends with a
      message.

    The source gives no amount for decisions and no reservations: `decision_s` is the order of an
    interrupt, and a tenth of the GPU per batch application is reserved.

    References
    ----------
    Q. Chen, M. Guo, *Task Scheduling for Multi-core and Parallel Architectures*, Springer 2017,
    sections 8.2.1.1 and 8.2.1.2.
    """

    policy: str = param("prt", choices=("prt", "ht"))
    reservation: str = param("none", choices=("none", "pe", "ae"))
    capacity_s: float = param(0.01, low=1e-9, high=1e3)
    period_s: float = param(0.1, low=1e-9, high=1e3)
    reserves_critical: bool = param(default=False)
    decision_s: float = param(20e-6, low=0.0, high=1.0)
    prediction_s: float = param(50e-6, low=0.0, high=1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.policy == "ht" and self.reservation != "none":
            raise ConfigurationError(
                f"policy {self.name}: parameter reservation: found {self.reservation!r}, accepted "
                "'none' with policy 'ht': reservations apply under 'prt'"
            )

    def start(self, view: View) -> TimeGraphState:
        """Return the state of a run."""
        return TimeGraphState()

    def prepare(self, view: View) -> Workload:
        """Return the program with kernels that have the device to themselves."""
        return exclusive_kernels(view)

    def on_acquire(
        self, view: View, state: Any, task: int, worker: int, group: int, instance: int
    ) -> None:
        """Note when a kernel begins."""
        assert view.state is not None
        if state.now.is_kernel[task]:
            state.began_ps[task] = view.state.now_ps()

    def note_ready(self, view: View, state: TimeGraphState, task: int) -> None:
        """Note which task arrives; no budget has been for it so far."""
        state.arrived = task
        if state.now.is_kernel[task] and self._reserves(state, task):
            self._budget(view, state, task)

    def note_finish(self, view: View, state: TimeGraphState, task: int) -> None:
        """Take the time of a kernel off its application's budget."""
        assert view.state is not None
        state.arrived = -1
        state.wakes_s.pop(task, None)
        if task not in state.began_ps:
            return
        used_s = (view.state.now_ps() - state.began_ps[task]) * PS
        if self._reserves(state, task):
            self._budget(view, state, task).left_s -= used_s
        del state.began_ps[task]

    def chosen(self, view: View, state: TimeGraphState) -> Iterator[Release]:
        """Yield what may be submitted now."""
        assert view.state is not None
        now_s = view.state.now_ps() * PS
        while state.waiting:
            if any(state.wakes_s.get(task, 0.0) <= now_s for task in state.issued):
                following = self._following(state)
                if following is None:
                    return
                yield Release(following)
                continue
            task = self._first(view, state, now_s)
            if task is None:
                return
            sleep_s = self._sleep_s(view, state, task)
            decision_s = 0.0 if task == state.arrived and not sleep_s else self.decision_s
            if sleep_s > MAX_SLEEP_S:
                raise ConfigurationError(
                    f"policy {self.name}: parameters capacity_s and period_s: found "
                    f"{self.capacity_s!r} and {self.period_s!r}, with which task {task} sleeps "
                    f"{sleep_s:.4g} s for its budget, accepted at most {MAX_SLEEP_S:g} s"
                )
            if sleep_s > 0.0:
                state.wakes_s[task] = now_s + sleep_s
            if self.reservation == "ae" and self._reserves(state, task):
                decision_s += self.prediction_s
            yield Release(task, decision_s, sleep_s)

    def _first(self, view: View, state: TimeGraphState, now_s: float) -> int | None:
        """Return the kernel to wake on an idle GPU: budget, then priority, then age."""
        application = state.now.application
        sleeping = {int(application[t]) for t in state.issued if state.wakes_s.get(t, 0.0) > now_s}

        def rank(task: int) -> tuple[float, bool]:
            return self._sleep_s(view, state, task), not bool(state.now.is_critical[task])

        awake = [task for task in state.waiting if int(application[task]) not in sleeping]
        return min(awake, key=rank, default=None)

    def _following(self, state: TimeGraphState) -> int | None:
        """Return the kernel that arrives if it may follow those on the GPU before they end."""
        now, task = state.now, state.arrived
        if self.policy != "ht" or task not in state.waiting:
            return None
        running = {int(now.application[task]) for task in state.issued}
        highest = any(now.is_critical[task] for task in state.waiting)
        follows = {int(now.application[task])} == running and now.is_critical[task] == highest
        return task if follows else None

    def _reserves(self, state: TimeGraphState, task: int) -> bool:
        """Return whether a task belongs to an application with a reservation."""
        return self.reservation != "none" and (
            self.reserves_critical or not bool(state.now.is_critical[task])
        )

    def _budget(self, view: View, state: TimeGraphState, task: int) -> Budget:
        """Return the budget of a task's application, replenished up to now."""
        assert view.state is not None
        application = int(state.now.application[task])
        budget = state.budgets.setdefault(application, Budget(self.capacity_s))
        periods = int(view.state.now_ps() * PS / self.period_s)
        passed = periods - budget.periods
        if passed > 0:
            cost_s = self._cost_s(state, application)
            budget.left_s = replenished(budget.left_s, self.capacity_s, cost_s, passed)
            budget.periods = periods
        return budget

    def _cost_s(self, state: TimeGraphState, application: int) -> float:
        """Return the predicted cost of the kernel that an application's budget is for, or 0.

        That is the one that runs, else the one that sleeps, else the first that waits. It counts
        until it has ended: only then is its time taken off the budget, which would lose what it
        has above C if it were replenished for no kernel before.
        """
        if self.reservation == "ae":
            for task in (*state.began_ps, *state.issued, *state.waiting):
                if state.now.application[task] == application:
                    return float(state.seconds[task])
        return 0.0

    def _sleep_s(self, view: View, state: TimeGraphState, task: int) -> float:
        """Return how long a kernel sleeps until its application's budget lets it be submitted."""
        assert view.state is not None
        if not self._reserves(state, task):
            return 0.0
        budget = self._budget(view, state, task)
        cost_s = float(state.seconds[task]) if self.reservation == "ae" else None
        missing = periods_until(budget.left_s, self.capacity_s, cost_s)
        if not missing:
            return 0.0
        ends_s = (budget.periods + missing) * self.period_s
        return max(0.0, ends_s - view.state.now_ps() * PS)


preset("timegraph_ht", TimeGraph, f"High throughput: runs of one task ({BOOK}).", policy="ht")
preset("timegraph_pe", TimeGraph, f"Posterior enforcement ({BOOK}).", reservation="pe")
preset("timegraph_ae", TimeGraph, f"A-priori enforcement ({BOOK}).", reservation="ae")
