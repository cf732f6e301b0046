"""TimeGraph: a real-time scheduler in the GPU driver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from simsched.files.errors import ConfigurationError
from simsched.policy import HookView, PlanView, param, preset, register, seconds_to_ps
from simsched.policy.parts.accelerator import exclusive_kernels
from simsched.policy.parts.accelerator_pool import PoolState, Release, ReorderingPolicy
from simsched.workload.graph import Workload

BOOK = "Q. Chen, M. Guo, 2017, section 8.2.1"


@dataclass
class Budget:
    """Reserved GPU time of one application."""

    left_ps: int  # what is left, e; negative after an overrun
    periods: int = 0  # replenishments so far


def replenished(left_ps: int, capacity_ps: int, cost_ps: int = 0, periods: int = 1) -> int:
    """Return the budget after replenishments.

    ``min(C, e + C)``, and ``min(x, e + C)`` for a kernel with x > C, which could never run
    otherwise. Repeated n times, that is ``min(max(C, x), e + n C)``.

    >>> replenished(-7, 5), replenished(-7, 5, periods=2), replenished(-7, 5, periods=9)
    (-2, 3, 5)
    """
    return min(max(capacity_ps, cost_ps), left_ps + periods * capacity_ps)


def periods_until(left_ps: int, capacity_ps: int, cost_ps: int | None = None) -> int:
    """Return the replenishments until a budget lets a kernel be submitted.

    >>> [periods_until(left_ps, 5) for left_ps in (1, 0, -4, -5)]
    [0, 1, 1, 2]
    >>> [periods_until(left_ps, 5, 12) for left_ps in (12, 7, 6, -5)]
    [0, 1, 2, 4]
    """
    if cost_ps is None:
        return 0 if left_ps > 0 else -left_ps // capacity_ps + 1
    return max(0, -((left_ps - cost_ps) // capacity_ps))


@dataclass
class TimeGraphState(PoolState):
    """What TimeGraph remembers."""

    arrived: int = -1  # task that has just become ready, -1 at the end of a task
    budgets: dict[int, Budget] = field(default_factory=dict)  # budget of each application
    #: when kernels that run began, and when those wake that sleep for their budget
    began_ps: dict[int, int] = field(default_factory=dict)
    wakes_ps: dict[int, int] = field(default_factory=dict)


@register("timegraph_prt")
@dataclass(frozen=True, kw_only=True)
class TimeGraph(ReorderingPolicy[TimeGraphState]):
    """Kernels are submitted one at a time by priority, or in runs of one task.

    Parameters
    ----------
    policy : {"prt", "ht"}
        Predictable response time or high throughput.
    reservation : {"none", "pe", "ae"}
        Posterior or a-priori enforcement of reserved GPU time, under `prt`.
    capacity_s, period_s : float
        Reserved GPU time C of each batch application and its period T, in seconds.
    decision_s : float
        Time of the interrupt and the decision with which a sleeping kernel is woken.
    prediction_s : float
        Time that the prediction of a cost takes; `ae` only.

    Notes
    -----
    `prt` wakes the kernel of the highest priority when one has ended; `ht` submits kernels of the
    application that runs unless a higher one sleeps. `pe` asks for a budget above 0, `ae` for the
    predicted cost (:func:`replenished`). Readings: docs/sources/accelerators.md.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, sections 8.2.1.1 and 8.2.1.2.
    """

    remembers = TimeGraphState

    policy: str = param("prt", choices=("prt", "ht"))
    reservation: str = param("none", choices=("none", "pe", "ae"))
    capacity_s: float = param(0.01, low=1e-9, high=1e3)
    period_s: float = param(0.1, low=1e-9, high=1e3)
    decision_s: float = param(20e-6, low=0.0, high=1.0, is_cost=True)
    prediction_s: float = param(50e-6, low=0.0, high=1.0, is_cost=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.policy == "ht" and self.reservation != "none":
            raise ConfigurationError(
                f"policy {self.name}: parameter reservation: found {self.reservation!r}, accepted "
                "'none' with policy 'ht': reservations apply under 'prt'"
            )

    def prepare(self, view: PlanView) -> Workload:
        return exclusive_kernels(view)

    def on_acquire(
        self,
        view: HookView,
        state: TimeGraphState,
        task: int,
        worker: int,
        group: int,
        instance: int,
    ) -> None:
        if state.now.is_kernel[task]:
            state.began_ps[task] = view.live.now_ps()

    def note_loss(self, state: TimeGraphState, task: int) -> None:
        state.wakes_ps.pop(task, None)
        state.began_ps.pop(task, None)

    def note_ready(self, view: HookView, state: TimeGraphState, task: int) -> None:
        """Note which task arrives; no budget has been for it so far."""
        state.arrived = task
        if state.now.is_kernel[task] and self._reserves(state, task):
            self._budget(view, state, task)

    def note_finish(self, view: HookView, state: TimeGraphState, task: int) -> None:
        """Take the time of a kernel off its application's budget."""
        state.arrived = -1
        state.wakes_ps.pop(task, None)
        if task not in state.began_ps:
            return
        used_ps = view.live.now_ps() - state.began_ps[task]
        if self._reserves(state, task):
            self._budget(view, state, task).left_ps -= used_ps
        del state.began_ps[task]

    def chosen(self, view: HookView, state: TimeGraphState) -> Iterator[Release]:
        """Yield what may be submitted now."""
        now_ps = view.live.now_ps()
        while state.waiting:
            if any(state.wakes_ps.get(task, 0) <= now_ps for task in state.issued):
                following = self._following(state)
                if following is None:
                    return
                yield Release(following)
                continue
            task = self._first(view, state, now_ps)
            if task is None:
                return
            sleep_ps = self._sleep_ps(view, state, task)
            is_sent_on = task == state.arrived and not sleep_ps
            decision_ps = 0 if is_sent_on else seconds_to_ps(self.decision_s)
            if sleep_ps > 0:
                state.wakes_ps[task] = now_ps + sleep_ps
            if self.reservation == "ae" and self._reserves(state, task):
                decision_ps += seconds_to_ps(self.prediction_s)
            yield Release(task, decision_ps, sleep_ps)

    def _first(self, view: HookView, state: TimeGraphState, now_ps: int) -> int | None:
        """Return the kernel to wake on an idle GPU: budget, then priority, then age."""
        application = state.now.application
        sleeping = {int(application[t]) for t in state.issued if state.wakes_ps.get(t, 0) > now_ps}

        def rank(task: int) -> tuple[int, bool]:
            return self._sleep_ps(view, state, task), not bool(state.now.is_critical[task])

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
        return self.reservation != "none" and not bool(state.now.is_critical[task])

    def _budget(self, view: HookView, state: TimeGraphState, task: int) -> Budget:
        """Return the budget of a task's application, replenished up to now."""
        application = int(state.now.application[task])
        capacity_ps = seconds_to_ps(self.capacity_s)
        budget = state.budgets.setdefault(application, Budget(capacity_ps))
        periods = view.live.now_ps() // seconds_to_ps(self.period_s)
        passed = periods - budget.periods
        if passed > 0:
            cost_ps = self._cost_ps(state, application)
            budget.left_ps = replenished(budget.left_ps, capacity_ps, cost_ps, passed)
            budget.periods = periods
        return budget

    def _cost_ps(self, state: TimeGraphState, application: int) -> int:
        """Return the predicted cost of the kernel that an application's budget is for, or 0.

        That is the one that runs, else the one that sleeps, else the first that waits. It counts
        until it has ended: only then is its time taken off the budget, which would lose what it
        has above C if it were replenished for no kernel before.
        """
        if self.reservation == "ae":
            for task in (*state.began_ps, *state.issued, *state.waiting):
                if state.now.application[task] == application:
                    return seconds_to_ps(state.seconds[task])
        return 0

    def _sleep_ps(self, view: HookView, state: TimeGraphState, task: int) -> int:
        """Return how long a kernel sleeps until its application's budget lets it be submitted."""
        if not self._reserves(state, task):
            return 0
        budget = self._budget(view, state, task)
        cost_ps = seconds_to_ps(state.seconds[task]) if self.reservation == "ae" else None
        missing = periods_until(budget.left_ps, seconds_to_ps(self.capacity_s), cost_ps)
        if not missing:
            return 0
        ends_ps = (budget.periods + missing) * seconds_to_ps(self.period_s)
        return ends_ps - view.live.now_ps()


preset("timegraph_ht", TimeGraph, f"High throughput: runs of one task ({BOOK}).", policy="ht")
preset("timegraph_pe", TimeGraph, f"Posterior enforcement ({BOOK}).", reservation="pe")
preset("timegraph_ae", TimeGraph, f"A-priori enforcement ({BOOK}).", reservation="ae")
