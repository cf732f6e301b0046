"""One run: a machine, a workload and a policy on a backend.

The driver asks the policy for its decisions before the run and between iterations; backends only
execute plans and call fine hooks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from types import NoneType
from typing import Any, cast

import numpy as np

from simsched.engine.backend import Backend, IterationCounters, RestartableBackend
from simsched.engine.division import Account, account_of
from simsched.engine.fit import misfits, width
from simsched.engine.hooks import PolicyHooks
from simsched.engine.interface.plan import ResolvedPlan
from simsched.engine.interface.problem import Problem
from simsched.engine.plans import resolve_plan
from simsched.engine.replication import refuse_copied
from simsched.engine.setup import Setup, refuse_idle, set_up
from simsched.engine.stall import MAX_PROGRESS_LIMIT_S, PROGRESS_LIMIT_S
from simsched.engine.watch import watched
from simsched.engine.ways import LoadMeter
from simsched.files.errors import ConfigurationError, PolicyError, expect, unknown_name
from simsched.files.units import PER_PS
from simsched.machine.model import Machine
from simsched.names.parameters import Bounds, Parameter
from simsched.policy.contract.base import Counters, Plan, PlanView, Policy, own_name
from simsched.policy.contract.plan_checks import check_update
from simsched.policy.contract.records import said_of
from simsched.trace.run import Run
from simsched.trace.sink import EventSink, InformedSink
from simsched.workload.graph import TaskGraph, Workload

BACKENDS = ("native", "simpy")
_NUMBERS = (
    Parameter("workers", int, None, optional=True),
    Parameter("seed", int, 0, Bounds(0)),
    Parameter("progress_limit_s", float, None, Bounds(PER_PS, MAX_PROGRESS_LIMIT_S)),
)


def make_backend(
    name: str, problem: Problem, hooks: PolicyHooks, *, events: bool | EventSink
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


def native_engine(setup: Setup, hooks: PolicyHooks) -> RestartableBackend:
    """Return a native engine that keeps no events, one that has been used if there is one."""
    with suppress(IndexError):  # another thread may be faster
        engine = setup.engines.pop()
        engine.restart(setup.problem, hooks)
        return engine
    made = make_backend("native", setup.problem, hooks, events=False)
    return cast(RestartableBackend, made)


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
    for name, value, kind in (
        ("machine", machine, Machine),
        ("workload", workload, Workload),
        ("policy", policy, Policy),
    ):
        expect(f"simulate: {name}", value, kind, f"an object of {kind.__name__}")
    expect("simulate: events", events, (bool, EventSink), "true, false, or an EventSink")
    expect("simulate: progress", progress, (Callable, NoneType), "a function of two numbers")
    workers, seed, progress_limit_s = (
        parameter.checked(value, parameter.name)
        for parameter, value in zip(_NUMBERS, (workers, seed, progress_limit_s), strict=True)
    )
    if backend not in BACKENDS:
        raise ConfigurationError(unknown_name("backend", backend, BACKENDS))
    with said_of(f"policy {own_name(type(policy))}"), watched(policy):
        setup = set_up(
            machine,
            workload,
            policy,
            workers=workers,
            pinning=pinning,
            seed=seed,
            progress_limit_s=progress_limit_s,
        )
        return _run(setup, machine, policy, seed, backend, events, progress)


def _run(
    setup: Setup,
    machine: Machine,
    policy: Policy,
    seed: int,
    backend: str,
    events: bool | EventSink,
    progress: Callable[[int, int], None] | None,
) -> Run:
    """Carry out a run that can begin."""
    view, state = setup.view, setup.state
    prepared, threads = view.workload, view.worker_thread
    account = account_of(prepared, divides=policy.overrides("divide"))
    if not isinstance(events, bool) and isinstance(events, InformedSink):
        events.begin(prepared, threads)
    hooks = PolicyHooks(policy, view, state, account)
    engine: Backend
    if backend == "native" and events is False:
        engine = native_engine(setup, hooks)
    else:
        engine = make_backend(backend, setup.problem, hooks, events=events)
    found = Findings(setup, policy)
    if account is None:
        _iterate(engine, setup, policy, hooks, progress, found)
        summary = engine.summary()
    else:
        _divide(engine, setup, policy, hooks, account, progress, found)
        summary = account.complete(engine.summary())
    summary.decisions, summary.decision_ps = hooks.decisions, hooks.decision_ps + hooks.reading_ps
    trace = engine.trace()
    setup.settle(policy, seed)
    if setup.is_settled and backend == "native" and events is False:
        again = cast(RestartableBackend, engine)
        again.stop()
        setup.engines.append(again)
    program = setup.program
    return Run(
        machine,
        prepared,
        policy,
        backend,
        seed,
        threads,
        summary,
        trace,
        program,
        state,
        found.complete(),
        found.decisions.hexdigest(),
        tuple(hooks.pool_groups),
    )


class Findings:
    """What is found out about the policy's decisions while it makes them."""

    def __init__(self, setup: Setup, policy: Policy) -> None:
        self._setup, self._policy = setup, policy
        #: Why the run says little of the policy.
        self.misfits: tuple[str, ...] = ()
        #: Who has executed what when, and where the data were.
        self.decisions = hashlib.blake2b(digest_size=16)
        self._executing: set[int] = set()
        self._n_active = 0

    def take_plan(self, plan: Plan, resolved: ResolvedPlan, graph: TaskGraph) -> None:
        """Look at the first plan."""
        self.misfits = misfits(self._setup, self._policy, plan, resolved, graph)
        self._n_active = int(resolved.active.sum())

    def take(self, measured: IterationCounters) -> IterationCounters:
        """Take in what an iteration has measured; return it."""
        self.decisions.update(f"{measured.start_ps} {measured.end_ps};".encode())
        self.decisions.update(np.ascontiguousarray(measured.executed_by).data)
        self.decisions.update(np.ascontiguousarray(measured.block_home).data)
        if len(self._executing) < 2:
            self._executing |= {int(measured.executed_by.min()), int(measured.executed_by.max())}
        return measured

    def complete(self) -> tuple[str, ...]:
        """Return why the run says little of the policy, now that it is over."""
        view = self._setup.view
        alone = self._n_active > 1 and len(self._executing) == 1
        if self.misfits or not alone or width(view.workload.graph, 2) < 2:
            return self.misfits
        return (f"one of {view.n_workers} workers has executed all tasks",)


def _iterate(
    engine: Backend,
    setup: Setup,
    policy: Policy,
    hooks: PolicyHooks,
    progress: Callable[[int, int], None] | None,
    found: Findings,
) -> None:
    """Run all iterations, with the policy's changes in between."""
    view, state, problem = setup.view, setup.state, setup.problem
    workload, meter = view.workload, LoadMeter(view.machine, view.worker_thread)
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
            (plan, resolved), planned = setup.planned(policy, graph), graph
        if done == 0:
            found.take_plan(plan, resolved, graph)
        elif not graph.is_fixed:
            graph.validate()
        last = done == total - 1
        hooks.begin_iteration(plan, resolved, problem)
        executed = graph if graph is workload.init else workload.graph_of(number)
        engine.run_iteration(number, executed, resolved, last=last)
        measured = found.take(engine.counters())
        if progress is not None:
            progress(done + 1, total)
        if last or not policy.overrides("on_iteration"):
            continue
        # The update's plan is for the next graph; after the initialisation that is the iteration
        # graph.
        counters = _counters(measured, number, meter)
        changed = _update(engine, problem, policy, view, state, counters, workload.graph)
        if changed is not None:
            (plan, resolved), planned = changed, workload.graph


def _divide(
    engine: Backend,
    setup: Setup,
    policy: Policy,
    hooks: PolicyHooks,
    account: Account,
    progress: Callable[[int, int], None] | None,
    found: Findings,
) -> None:
    """Run iterations until the policy has given out all work."""
    view, state, problem = setup.view, setup.state, setup.problem
    total, number, given = account.division.units * account.invocations, 0, 0
    plan, resolved = setup.planned(policy, account.graph)
    found.take_plan(plan, resolved, account.graph)
    counters: Counters | None = None
    meter = LoadMeter(view.machine, view.worker_thread)
    while True:
        graph = account.give(policy.divide(view, state, account.begin(), counters))
        number, given = number + 1, given + int(account.units[-1].sum())
        hooks.begin_iteration(plan, resolved, problem)
        last = account.is_done
        engine.run_iteration(number, graph, resolved, last=last)
        measured = found.take(engine.counters())
        account.close(measured.start_ps)
        if progress is not None:
            progress(given, total)
        if last:
            return
        counters = _counters(measured, number, meter, account)
        if not policy.overrides("on_iteration"):
            continue
        changed = _update(engine, problem, policy, view, state, counters, account.graph)
        if changed is not None:
            plan, resolved = changed


def _counters(
    measured: IterationCounters, number: int, meter: LoadMeter, account: Account | None = None
) -> Counters:
    """Return an iteration's counters as the policy sees them."""
    parts: dict[str, Any] = {}
    if account is not None:
        parts = {"part_units": account.units[-1], "part_s": account.part_s}
    duration_s = (measured.end_ps - measured.start_ps) * PER_PS
    node_load, link_load = meter.read(measured.path_bytes, duration_s)
    return Counters(
        iteration=number,
        duration_s=duration_s,
        group_bytes=measured.group_bytes,
        group_missing_bytes=measured.group_missing_bytes,
        samples=measured.samples,
        block_home=measured.block_home,
        node_used_bytes=measured.node_used_bytes,
        executed_by=measured.executed_by,
        executed_ps=measured.executed_ps,
        node_load=node_load,
        link_load=link_load,
        **parts,
    )


def _update(
    engine: Backend,
    problem: Problem,
    policy: Policy,
    view: PlanView,
    state: Any,
    counters: Counters,
    graph: TaskGraph,
) -> tuple[Plan, ResolvedPlan] | None:
    """Let the policy change what it wants; return its new plan for a graph, None without one."""
    with said_of("on_iteration"):
        update = policy.on_iteration(view, state, counters)
        if update is None:
            return None
        check_update(update, problem.n_nodes, len(problem.block_bytes))
        if problem.copies_data and len(update.move_block):
            refuse_copied("move_block", "moves blocks between iterations")
        if problem.replica.size and (problem.replica[np.array(update.move_block, int)] >= 0).any():
            raise PolicyError("move_block: found a block with replicas, accepted others")
        plan = update.plan
        resolved = None
        if plan is not None:
            resolved = plan, resolve_plan(plan, graph, problem)
            refuse_idle(policy, plan)
        engine.migrate(
            int(update.overhead_ps),
            np.asarray(update.move_block, np.int32),
            np.asarray(update.move_node, np.int32),
            int(update.migrating_workers),
        )
    return resolved
