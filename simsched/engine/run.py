"""One run: a machine, a workload and a policy on a backend.

The driver asks the policy for its decisions before the run and between iterations; backends only
execute plans and call fine hooks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from simsched.engine.backend import (
    DUPLICATE,
    EXCHANGE,
    KILL,
    NOBODY,
    ORDER,
    PACE,
    PREEMPT,
    TRANSFER,
    WAKE,
    WHOLE_PACE,
    Backend,
    Decision,
    IterationCounters,
    ReadyAnswer,
)
from simsched.engine.division import Account, account_of
from simsched.engine.interface.plan import ResolvedPlan
from simsched.engine.interface.problem import Problem
from simsched.engine.moves import account_of_moves
from simsched.engine.plans import resolve_order, resolve_plan
from simsched.engine.replication import refuse_copied
from simsched.engine.setup import set_up
from simsched.engine.stall import MAX_PROGRESS_LIMIT_S, PROGRESS_LIMIT_S
from simsched.files.errors import ConfigurationError, PolicyError, unknown_name
from simsched.files.units import PER_PS, PS_PER_S
from simsched.machine.model import Machine
from simsched.policy.contract.base import (
    CHILD_FIRST,
    PARENT_FIRST,
    TAKES,
    AcquireOrder,
    Counters,
    EngineState,
    Exchange,
    Pace,
    Plan,
    PlanView,
    Policy,
    Pool,
    Preempt,
    Transfer,
    Update,
    Wake,
)
from simsched.policy.contract.executions import Duplicate, Kill
from simsched.trace.run import Run
from simsched.trace.sink import EventSink, InformedSink
from simsched.workload.graph import TaskGraph, Workload

BACKENDS = ("native", "simpy")
MAX_COUNT = 2**31 - 1  #: entries of a transfer
MAX_EXCHANGE_PS = 1000 * PS_PER_S  #: what an exchange costs
MAX_OVERHEAD_PS = 10**6 * PS_PER_S  #: of an update
MAX_TIME_PS = 2**62  #: of a wake, and delay of a transfer: the end of time
MAX_TAG = 2**63 - 1  #: of a wake, and its rank


class _PolicyHooks:
    """The policy's fine hooks as backends call them."""

    def __init__(self, policy: Policy, view: PlanView, state: Any, account: Account | None) -> None:
        self._policy, self._before, self._state = policy, view, state
        self._account = account
        self._finishes = policy.overrides("on_finish")
        self._resolve_order: Callable[[AcquireOrder], ResolvedPlan] | None = None
        self.wants_on_spawn = policy.overrides("on_spawn")
        self.wants_on_ready = policy.overrides("on_ready")
        self.wants_on_acquire = policy.overrides("on_acquire")
        self.wants_on_start = policy.overrides("on_start")
        self.wants_on_idle = policy.overrides("on_idle")
        self.wants_on_finish = self._finishes or account is not None
        self.wants_on_landing = policy.overrides("on_landing")
        self.wants_on_timer = policy.overrides("on_timer")
        self.wants_on_wake = policy.overrides("on_wake")
        self.decisions = 0
        self.decision_ps = 0

    def attach(self, state: EngineState) -> None:
        self._view = self._before.during(state)
        self._engine = state

    def begin_iteration(self, plan: Plan, resolved: ResolvedPlan, problem: Problem) -> None:
        """Receive the plan to whose pools acquire orders refer."""
        self._resolve_order = lambda decision: resolve_order(
            replace(plan, acquire=decision.acquire), resolved, problem
        )

    def on_spawn(self, parent: int, child: int, worker: int) -> int | None:
        order = self._policy.on_spawn(self._view, self._state, parent, child, worker)
        if order not in (None, CHILD_FIRST, PARENT_FIRST):
            raise PolicyError(
                f"on_spawn: task {child}: found {order!r}, "
                "accepted CHILD_FIRST, PARENT_FIRST or None"
            )
        return order

    def on_acquire(self, task: int, worker: int, group: int, instance: int) -> None:
        self._policy.on_acquire(self._view, self._state, task, worker, group, instance)

    def on_ready(self, task: int, worker: int) -> ReadyAnswer | None:
        answer = self._policy.on_ready(self._view, self._state, task, worker)
        if answer is None:
            return None
        if isinstance(answer, Pool):
            return answer.group, answer.instance, []
        group, instance, rest = NOBODY, 0, tuple(answer)
        if rest and isinstance(rest[0], Pool):
            group, instance, rest = rest[0].group, rest[0].instance, rest[1:]
        return group, instance, self._numbers(rest, "on_ready")

    def on_start(self, task: int, worker: int) -> list[Decision] | None:
        decisions = self._policy.on_start(self._view, self._state, task, worker)
        return self._numbers(decisions, "on_start") if decisions else None

    def on_idle(self, worker: int) -> Decision | None:
        decision = self._policy.on_idle(self._view, self._state, worker)
        return None if decision is None else self._numbers((decision,), "on_idle")[0]

    def on_finish(self, task: int, worker: int) -> list[Decision] | None:
        if self._account is not None:
            self._account.note_end(task, self._engine.now_ps())
        if not self._finishes:
            return None
        decisions = self._policy.on_finish(self._view, self._state, task, worker)
        return self._numbers(decisions, "on_finish") if decisions else None

    def on_landing(self, group: int, instance: int) -> list[Decision] | None:
        decisions = self._policy.on_landing(self._view, self._state, group, instance)
        return self._numbers(decisions, "on_landing") if decisions else None

    def on_timer(self) -> list[Decision]:
        return self._timed(self._policy.on_timer(self._view, self._state), "on_timer")

    def on_wake(self, tag: int) -> list[Decision]:
        return self._timed(self._policy.on_wake(self._view, self._state, tag) or (), "on_wake")

    def _timed(self, decisions: Sequence[object], hook: str) -> list[Decision]:
        """Return what a hook that is called at a time decides as backends take it."""
        if self._view.machine.copies_data and any(isinstance(d, Exchange) for d in decisions):
            refuse_copied(f"moves threads to other cores while they run ({hook}: Exchange)")
        found: list[Decision] = []
        for decision in decisions:
            if isinstance(decision, AcquireOrder):
                assert self._resolve_order is not None
                found.append((ORDER, self._resolve_order(decision)))
            else:
                found.append(self._number(decision, hook))
        return found

    def _numbers(self, decisions: Sequence[object], hook: str) -> list[Decision]:
        """Return decisions as backends take them."""
        return [self._number(decision, hook) for decision in decisions]

    def _number(self, decision: object, hook: str) -> Decision:
        """Return a decision as backends take it; count what it took to make it."""
        if isinstance(decision, Wake):
            return self._wake(decision, hook)
        found = _as_numbers(decision, hook)
        if isinstance(decision, Pace) and not 0 <= decision.worker < self._view.n_workers:
            raise PolicyError(
                f"{hook}: found a pace for worker {decision.worker}, "
                f"accepted 0 to {self._view.n_workers - 1}"
            )
        if isinstance(decision, Transfer) and decision.decision_ps > 0:
            self.decisions += 1
            self.decision_ps += decision.decision_ps
        return found

    def _wake(self, wake: Wake, hook: str) -> Decision:
        """Return a wake as backends take it."""
        at_ps, now_ps = _whole(wake.at_ps, hook, "a wake with an at_ps"), self._engine.now_ps()
        rank, tag = _whole(wake.rank, hook, "a rank"), _whole(wake.tag, hook, "a tag")
        wrong = ""
        if not self.wants_on_wake:
            wrong = "a wake, accepted none: there is no on_wake"
        elif not now_ps <= at_ps <= MAX_TIME_PS:
            wrong = f"a wake at {at_ps} ps, accepted {now_ps} (now) to {MAX_TIME_PS}"
        elif max(abs(rank), abs(tag)) > MAX_TAG:
            wrong = f"a wake with rank {rank} and tag {tag}, accepted -{MAX_TAG} to {MAX_TAG}"
        if wrong:
            name = self._policy.name or type(self._policy).__name__
            raise PolicyError(f"policy {name}: {hook}: found {wrong}")
        return WAKE, at_ps, rank, tag


TIMED = ("on_timer", "on_wake")  #: hooks that are called at a time
TOLD = "Transfers, Paces and Wakes"
ACCEPTED = {
    "on_ready": f"a Pool, then {TOLD}",
    "on_start": TOLD,
    "on_finish": TOLD,
    "on_landing": TOLD,
    "on_idle": "Preempt, Duplicate, Transfer or Wake",
    **dict.fromkeys(
        TIMED, "Preempt, Duplicate, Kill, Transfer, Exchange, Pace, AcquireOrder or Wake"
    ),
}  #: decisions of each hook


def _whole(value: object, hook: str, what: str) -> int:
    """Return a number of a decision that has to be an integer, such as picoseconds."""
    if isinstance(value, int | np.integer):
        return int(value)
    raise PolicyError(f"{hook}: found {what} of {value!r}, accepted an integer")


def _as_numbers(decision: object, hook: str) -> Decision:
    """Return a decision as backends take it; refuse numbers that never mean anything."""
    if isinstance(decision, Preempt) and hook in ("on_idle", *TIMED):
        return PREEMPT, decision.worker, NOBODY if decision.to is None else decision.to
    if isinstance(decision, Duplicate) and hook in ("on_idle", *TIMED):
        return DUPLICATE, decision.worker, decision.to
    if isinstance(decision, Exchange) and hook in TIMED:
        cost_ps = _whole(decision.cost_ps, hook, "an exchange with a cost_ps")
        if not 0 <= cost_ps <= MAX_EXCHANGE_PS:
            raise PolicyError(
                f"{hook}: found an exchange that costs {cost_ps} ps, "
                f"accepted 0 to {MAX_EXCHANGE_PS} ps"
            )
        return EXCHANGE, decision.worker, decision.other, cost_ps
    if isinstance(decision, Kill) and hook in TIMED:
        return KILL, decision.worker, NOBODY
    if isinstance(decision, Pace) and hook != "on_idle":
        billionths = round(decision.part * WHOLE_PACE) if 0.0 < decision.part <= 1.0 else 0
        if billionths < 1:
            raise PolicyError(f"{hook}: found a pace of {decision.part}, accepted 1e-9 to 1")
        return PACE, decision.worker, billionths
    if not isinstance(decision, Transfer):
        raise PolicyError(f"{hook}: found {decision!r}, accepted {ACCEPTED[hook]}")
    if decision.take not in TAKES:
        raise PolicyError(f"{hook}: transfer: {unknown_name('take', decision.take, TAKES)}")
    delay_ps = _whole(decision.delay_ps, hook, "a transfer with a delay_ps")
    least_ps = 1 if hook == "on_idle" else 0
    if decision.count < 1 or not least_ps <= delay_ps <= MAX_TIME_PS:
        raise PolicyError(
            f"{hook}: found a transfer of {decision.count} entries in {delay_ps} ps, "
            f"accepted 1 or more and {least_ps} to {MAX_TIME_PS} ps"
        )
    if not 0 <= _whole(decision.decision_ps, hook, "a transfer with a decision_ps") <= delay_ps:
        raise PolicyError(
            f"{hook}: found a transfer with decision_ps {decision.decision_ps}, "
            f"accepted 0 to its delay_ps, {delay_ps}"
        )
    pools = decision.group, decision.instance, decision.to_group, decision.to_instance
    end = TAKES.index(decision.take) if decision.task is None else len(TAKES)
    entry = NOBODY if decision.task is None else decision.task
    return TRANSFER, *pools, min(decision.count, MAX_COUNT), delay_ps, end, entry


def make_backend(
    name: str, problem: Problem, hooks: _PolicyHooks, *, events: bool | EventSink
) -> Backend:
    """Return a new backend by name."""
    if name == "native":
        from simsched.engine.native import NativeBackend

        native: Backend = NativeBackend(problem, hooks, events=events)
        return native
    if name == "simpy":
        from simsched.engine.reference.backend import SimpyBackend

        return SimpyBackend(problem, hooks, events=events)
    raise ConfigurationError(unknown_name("backend", name, BACKENDS))


def simulate(
    machine: Machine,
    workload: Workload,
    policy: Policy,
    *,
    workers: int | None = None,
    pinning: str = "scatter",
    seed: int = 0,
    backend: str = "native",
    events: bool | EventSink = False,
    progress: Callable[[int, int], None] | None = None,
    progress_limit_s: float = PROGRESS_LIMIT_S,
) -> Run:
    """Simulate one run.

    Parameters
    ----------
    machine, workload, policy : Machine, Workload, Policy
        What to simulate.
    workers : int, optional
        Number of workers; by default one per hardware thread.
    pinning : {"scatter", "compact"}
        See :meth:`Machine.place_workers`.
    seed : int
        Seed of all random streams, 0 or more.
    backend : {"native", "simpy"}
        Engine.
    events : bool or EventSink
        Whether to keep the event trace in memory, or what gets its events during the run, such as
        a file (`simsched.trace.parquet.event_file`).
    progress : callable, optional
        Called with (iterations done, iterations in total) after each iteration.
    progress_limit_s : float
        A run in which no task ends for so many simulated seconds, and none is still to arrive, is
        given up with an explanation of who waits for what; more than 0.

    Returns
    -------
    Run
        Makespan in picoseconds, counters, and the events if they were asked for.

    Raises
    ------
    SimschedError
        When the three do not fit together, or the run stalls.
    """
    if seed < 0:
        raise ConfigurationError(f"seed: found {seed}, accepted 0 or more")
    if backend not in BACKENDS:
        raise ConfigurationError(unknown_name("backend", backend, BACKENDS))
    if not PER_PS <= progress_limit_s <= MAX_PROGRESS_LIMIT_S:
        raise ConfigurationError(
            f"progress_limit_s: found {progress_limit_s}, "
            f"accepted {PER_PS:g} to {MAX_PROGRESS_LIMIT_S:g}"
        )
    setup = set_up(
        machine,
        workload,
        policy,
        workers=workers,
        pinning=pinning,
        seed=seed,
        progress_limit_s=progress_limit_s,
    )
    view, state, problem = setup.view, setup.state, setup.problem
    prepared, threads = view.workload, view.worker_thread
    account = account_of(prepared, divides=policy.overrides("divide"))
    if isinstance(events, InformedSink):
        events.begin(prepared, threads)
    hooks = _PolicyHooks(policy, view, state, account)
    moves = account_of_moves(prepared, len(threads), events)
    engine = make_backend(
        backend, problem, hooks, events=events if moves is None or events is True else moves
    )
    if account is None:
        _iterate(engine, problem, policy, view, state, hooks, progress)
        summary = engine.summary()
    else:
        _divide(engine, problem, policy, view, state, hooks, account, progress)
        summary = account.complete(engine.summary())
    summary = replace(summary, decisions=hooks.decisions, decision_ps=hooks.decision_ps)
    trace = engine.trace()
    if moves is not None:
        if trace is not None:
            moves.append(trace.events)
        summary = moves.complete(summary)
    program = setup.program
    return Run(machine, prepared, policy, backend, seed, threads, summary, trace, program, state)


def _iterate(
    engine: Backend,
    problem: Problem,
    policy: Policy,
    view: PlanView,
    state: Any,
    hooks: _PolicyHooks,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Run all iterations, with the policy's changes in between."""
    workload = view.workload
    graphs = [(0, workload.init)] if workload.init is not None else []
    total = len(graphs) + workload.iterations
    plan: Plan | None = None
    resolved: ResolvedPlan | None = None
    planned: TaskGraph | None = None
    for done in range(total):
        number, graph = (
            graphs[done] if done < len(graphs) else (done + 1 - len(graphs), workload.graph)
        )
        assert graph is not None
        if plan is None or resolved is None or planned is not graph:
            plan, planned = policy.plan(view, state, graph), graph
            resolved = resolve_plan(plan, graph, problem)
        if done > 0 and not graph.is_fixed:
            graph.validate()
        last = done == total - 1
        hooks.begin_iteration(plan, resolved, problem)
        engine.run_iteration(number, graph, resolved, last=last)
        if progress is not None:
            progress(done + 1, total)
        if last or not policy.overrides("on_iteration"):
            continue
        update = policy.on_iteration(view, state, _counters(engine.counters(), number))
        if update is None:
            continue
        # The update's plan is for the next graph; after the initialisation that is the iteration
        # graph.
        if update.plan is not None:
            plan, planned = update.plan, workload.graph
            resolved = resolve_plan(plan, workload.graph, problem)
        _migrate(engine, problem, update)


def _divide(
    engine: Backend,
    problem: Problem,
    policy: Policy,
    view: PlanView,
    state: Any,
    hooks: _PolicyHooks,
    account: Account,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Run iterations until the policy has given out all work."""
    total, number, given = account.division.units * account.invocations, 0, 0
    plan = policy.plan(view, state, account.graph)
    resolved = resolve_plan(plan, account.graph, problem)
    counters: Counters | None = None
    while True:
        graph = account.give(policy.divide(view, state, account.begin(), counters))
        number, given = number + 1, given + int(account.units[-1].sum())
        hooks.begin_iteration(plan, resolved, problem)
        last = account.is_done
        engine.run_iteration(number, graph, resolved, last=last)
        measured = engine.counters()
        account.close(measured.start_ps)
        if progress is not None:
            progress(given, total)
        if last:
            return
        counters = _counters(measured, number, account)
        if not policy.overrides("on_iteration"):
            continue
        update = policy.on_iteration(view, state, counters)
        if update is None:
            continue
        if update.plan is not None:
            plan, resolved = update.plan, resolve_plan(update.plan, account.graph, problem)
        _migrate(engine, problem, update)


def _counters(measured: IterationCounters, number: int, account: Account | None = None) -> Counters:
    """Return an iteration's counters as the policy sees them."""
    parts: dict[str, Any] = {}
    if account is not None:
        parts = {"part_units": account.units[-1], "part_s": account.part_s}
    return Counters(
        iteration=number,
        duration_s=(measured.end_ps - measured.start_ps) * PER_PS,
        group_bytes=measured.group_bytes,
        group_missing_bytes=measured.group_missing_bytes,
        samples=measured.samples,
        block_home=measured.block_home,
        node_used_bytes=measured.node_used_bytes,
        executed_by=measured.executed_by,
        executed_ps=measured.executed_ps,
        **parts,
    )


def _migrate(engine: Backend, problem: Problem, update: Update) -> None:
    blocks = np.asarray(update.move_block, np.int32)
    nodes = np.asarray(update.move_node, np.int32)
    if problem.copies_data and len(blocks):
        refuse_copied("moves blocks between iterations (update: move_block)")
    if len(blocks) != len(nodes):
        raise PolicyError(
            f"update: found {len(blocks)} blocks and {len(nodes)} nodes to move, "
            "accepted equal numbers"
        )
    for what, indices, limit in (
        ("block", blocks, len(problem.block_bytes)),
        ("node", nodes, problem.n_nodes),
    ):
        if indices.size and not (indices.min() >= 0 and indices.max() < limit):
            raise PolicyError(f"update: move_{what}: accepted 0 to {limit - 1}")
    if problem.replica.size and (problem.replica[blocks] >= 0).any():
        raise PolicyError("update: move_block: accepted blocks without replicas")
    moved, times = np.unique(blocks, return_counts=True)
    if len(moved) < len(blocks):
        raise PolicyError(
            f"update: move_block: found block {int(moved[times > 1][0])} more than once, "
            "accepted one move of a block"
        )
    overhead_ps = _whole(update.overhead_ps, "update", "an overhead_ps")
    if update.migrating_workers < 1 or not 0 <= overhead_ps < MAX_OVERHEAD_PS:
        raise PolicyError(
            f"update: found migrating_workers {update.migrating_workers} and overhead_ps "
            f"{overhead_ps}, accepted 1 or more and 0 to less than {MAX_OVERHEAD_PS}"
        )
    engine.migrate(overhead_ps, blocks, nodes, update.migrating_workers)
