"""All cases: what is simulated, what must come out, how fast it has to be.

Makespans were computed in double precision by independent programs (that of 10^4 flows by
simgrid/peer.cpp); a picosecond clock agrees with them to about 1e-8. Numbers of trace events follow
from docs/semantics.md where one worker's luck cannot change them (:func:`queue_events`,
:func:`flow_events`); others are recorded: they were counted once and must not change unnoticed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from benchmarks import instances
from benchmarks.instances import Build, with_workers

TOLERANCE = 1e-8


@dataclass(frozen=True)
class Size:
    """One size of a case, with the answers that belong to it.

    Parameters
    ----------
    value : int
        Argument of the case's builder.
    tasks : int
        Tasks that are executed, over all iterations.
    makespan_s : float, optional
        Expected makespan in seconds.
    events : int, optional
        Expected number of trace events.
    recorded : bool
        Whether `events` was recorded from a run instead of derived.
    tolerance : float
        Accepted relative error of the makespan.
    """

    value: int
    tasks: int
    makespan_s: float | None = None
    events: int | None = None
    recorded: bool = False
    tolerance: float = TOLERANCE


@dataclass(frozen=True)
class Budget:
    """A figure that a case is to reach, or (bytes) not to exceed.

    Parameters
    ----------
    figure : str
        Field of the result: `tasks_per_cpu_s`, `simulated_per_cpu_s`, `decisions_per_cpu_s`,
        `ratio_to_simpy`, `bytes_per_task` or `cpu_s`.
    limit : float
        At least this much; for `bytes_per_task` and `cpu_s` at most.
    """

    figure: str
    limit: float

    def is_met(self, value: float) -> bool:
        """Return whether a value is good enough."""
        at_most = self.figure in ("bytes_per_task", "cpu_s")
        return value <= self.limit if at_most else value >= self.limit


@dataclass(frozen=True)
class Case:
    """One row of the table.

    Parameters
    ----------
    name : str
        Unique.
    build : callable
        Makes machine, workload and policy for a size.
    workers : int
        Number of workers.
    full, small : Size
        The size that is reported; the size for quick runs and for comparing backends.
    warm : int
        Argument of `build` for a run before the clock starts, which loads all modules.
    budgets : tuple of Budget
        What it is to reach at full size.
    compare : bool
        Whether the small size also runs on the backend `simpy`.
    peer : str, optional
        Name and parameters of the same case in the comparison program, without the size.
    peer_size : int
        Size for the comparison program.
    trace : bool
        Whether the event trace is written to a Parquet file, as part of what is timed.
    once : bool
        Whether it takes so long that it is not repeated.
    """

    name: str
    build: Build
    workers: int
    full: Size
    small: Size
    warm: int
    budgets: tuple[Budget, ...] = ()
    compare: bool = False
    peer: str | None = None
    peer_size: int = 0
    trace: bool = False
    once: bool = False


def queue_events(tasks: int, workers: int) -> int:
    """Return the trace events of independent tasks in a central queue, at least one per worker.

    Each task is ready, taken, started and ended; each worker is woken by one of the first pushes
    and parks at the end; the iteration starts and ends.
    """
    return 4 * tasks + 2 * workers + 2


def flow_events(tasks: int, workers: int, first_touches: int) -> int:
    """Return the same for tasks of one access each to a block of its own.

    Besides there are the access, the end of its flow and, where the block has no home, first touch.
    """
    return queue_events(tasks, workers) + 2 * tasks + first_touches


def _independent(workers: int, tasks: int, makespan_s: float | None = None) -> Size:
    return Size(tasks, tasks, makespan_s, queue_events(tasks, workers))


def _flows(workers: int, tasks: int, makespan_s: float | None, remote: bool) -> Size:
    at_home = FLOWS_AT_HOME[tasks] if remote else tasks
    tolerance = CHAOTIC.get((workers, tasks), TOLERANCE) if remote else TOLERANCE
    events = flow_events(tasks, workers, at_home)
    return Size(tasks, tasks, makespan_s, events, tolerance=tolerance)


def _stencil(steps: int, makespan_s: float | None, iterations: int = 1) -> Size:
    events = RECORDED[f"stencil {steps}" + (f" x {iterations}" if iterations > 1 else "")]
    return Size(steps, iterations * steps * 64 * 64, makespan_s, events, recorded=True)


def _schedule(steps: int, policy: str) -> Size:
    events = RECORDED[f"{policy} {steps}"]
    return Size(steps, steps * 64 * 64, None, events, recorded=True)


def _cholesky(tiles: int, makespan_s: float) -> Size:
    tasks, events = tiles * (tiles + 1) * (tiles + 2) // 6, RECORDED[f"cholesky {tiles}"]
    return Size(tiles, tasks, makespan_s, events, recorded=True)


def _lu(tiles: int, policy: str) -> Size:
    tasks = tiles**2 + tiles * (tiles + 1) * (2 * tiles + 1) // 6  # the former write the matrix
    return Size(tiles, tasks, None, RECORDED[f"{policy} {tiles} tiles"], recorded=True)


def _tree(depth: int, workers: int) -> Size:
    events = RECORDED[f"tree {depth} {workers}"]
    return Size(depth, 2 ** (depth + 1) - 1, None, events, recorded=True)


def _long(seconds: int, period_ps: int, steals: int) -> Size:
    # One look at each multiple of the period before the end; pools of classes are nobody's own.
    events = queue_events(1, 1) + steals + (seconds * 10**12 - 1) // period_ps
    return Size(seconds, 1, float(seconds), events)


def _heat(iterations: int, policy: str) -> Size:
    events = RECORDED[f"{policy} {iterations}"]
    tasks = HEAT_INIT_TASKS + iterations * HEAT_TASKS
    return Size(iterations, tasks, None, events, recorded=True)


#: Trace events that were counted, by workload and size; of HEAT by policy and iterations.
RECORDED = {
    "stencil 3 x 1000": 49_282_000,
    "stencil 25": 409_730,
    "stencil 245": 4_014_210,
    "stencil 245 x 1000": 4_014_210_000,
    "stencil 2442": 40_009_858,
    "cholesky 84": 412_076,
    "cholesky 181": 4_023_312,
    "cilk_a 1": 300_135,
    "cilk_a 200": 31_813_747,
    "cilk_h 1": 300_469,
    "cilk_h 200": 31_805_493,
    "bats 1": 282_233,
    "bats 200": 31_894_563,
    "guide 3": 56_978,
    "guide 25": 463_946,
    "heft 3": 49_282,
    "heft 25": 409_730,
    "peft 3": 49_290,
    "peft 25": 409_738,
    "tree 13 64": 90_933,
    "tree 13 256": 92_800,
    "tree 13 1024": 97_420,
    "tree 16 64": 722_227,
    "tree 19 64": 5_768_580,
    "tree 19 256": 5_775_476,
    "tree 19 1024": 5_791_508,
    "tree 22 64": 46_139_863,
    "dm 12 tiles": 11_964,
    "dm 40 tiles": 371_764,
    "dmda 12 tiles": 11_964,
    "dmda 40 tiles": 371_764,
    "dmdas 12 tiles": 11_964,
    "dmdas 40 tiles": 371_764,
    "lws 12 tiles": 12_493,
    "lws 40 tiles": 382_934,
    "heteroprio 12 tiles": 11_982,
    "heteroprio 40 tiles": 377_416,
}
#: Policies of a runtime whose decisions are measured.
RUNTIMES = ("dm", "dmda", "dmdas", "lws", "heteroprio")
#: Flows that go to the worker's own controller, of the first N drawn for `remote_flows`.
FLOWS_AT_HOME = {10_000: 7_021, 100_000: 70_364, 200_000: 140_388, 1_000_000: 700_798}
#: 10^6 coupled flows on 256 workers amplify rounding: no engine that computes in doubles can come
#: closer (docs/performance.md). Their makespan was computed with 300 bits.
CHAOTIC = {(256, 1_000_000): 2e-5}

HEAT_INIT_TASKS = HEAT_TASKS = 16_383  #: of the initialisation, and of each iteration
_MILLION = 10**6
_SIMPY = Budget("ratio_to_simpy", 200)
_LIST_SCHEDULING = (Budget("tasks_per_cpu_s", 4e6), Budget("bytes_per_task", 100), _SIMPY)


def _speed(tasks_per_cpu_s: float) -> tuple[Budget, ...]:
    return (Budget("tasks_per_cpu_s", tasks_per_cpu_s), _SIMPY)


def _queue_cases() -> list[Case]:
    """Return independent tasks in one queue."""
    return [
        Case(
            f"independent-{workers}",
            with_workers(instances.independent, workers),
            workers,
            _independent(workers, _MILLION, makespan_s),
            _independent(workers, 100_000, small_makespan_s),
            1000,
            _speed(8e6),
            compare=True,
            peer=f"independent {workers}",
            peer_size=_MILLION,
        )
        for workers, makespan_s, small_makespan_s in (
            (64, 15.6351751944, 1.56468026382),
            (256, 3.90945761682, 0.39188943054),
        )
    ]


def _flow_cases() -> list[Case]:
    """Return tasks that are one memory flow each."""
    cases = [
        Case(
            f"{'remote' if remote else 'local'}-flows-{workers}",
            with_workers(instances.flows, workers, remote=remote),
            workers,
            _flows(workers, _MILLION, makespan_s, remote),
            _flows(workers, small, small_makespan_s, remote),
            1500,
            _speed(2.5e6 if remote else 5e6),
            compare=True,
            peer=f"{'remote' if remote else 'local'}_flows {workers}",
            peer_size=peer_size,
        )
        for remote, workers, makespan_s, small, small_makespan_s, peer_size in (
            (False, 256, 1.38977066063, 100_000, 0.139051310143, 100_000),
            (True, 256, 1.388695116789, 100_000, 0.138861209667, 20_000),
            (True, 1024, 1.38874358328, 10_000, 0.0140388148333, 10_000),
        )
    ]
    exact = Case(
        "remote-flows-256-2e5",
        with_workers(instances.flows, 256, remote=True),
        256,
        _flows(256, 200_000, 0.2779000979222, remote=True),
        _flows(256, 100_000, 0.138861209667, remote=True),
        1500,
    )
    return [*cases, exact]


def _graph_cases() -> list[Case]:
    """Return graphs under list scheduling, and policies with hooks."""
    return [
        Case(
            "stencil-64",
            with_workers(instances.stencil, 64),
            64,
            _stencil(245, 15.6902201059),
            _stencil(25, 1.60219877026),
            1,
            _LIST_SCHEDULING,
            compare=True,
            peer="stencil 64",
            peer_size=245,
        ),
        Case(
            "cholesky-181",
            with_workers(instances.cholesky, 64),
            64,
            _cholesky(181, 30.9181658611),
            _cholesky(84, 3.11509565715),
            8,
            _LIST_SCHEDULING,
            compare=True,
            peer="cholesky 64",
            peer_size=181,
        ),
        *(
            Case(
                name,
                with_workers(build, 64),
                64,
                _independent(64, 100_000, 1.56468026382),
                _independent(64, 10_000),
                1000,
                (Budget("decisions_per_cpu_s", decisions_per_s),),
                compare=True,
            )
            for name, build, decisions_per_s in (
                ("hooks-64", instances.hooked, 3e5),
                ("hooks-64-c", instances.hooked_in_c, 5e6),
            )
        ),
        Case(
            "guide-48",
            with_workers(instances.watched, 48),
            48,
            _schedule(25, "guide"),
            _schedule(3, "guide"),
            3,
            (Budget("tasks_per_cpu_s", 3e5),),
            compare=True,
        ),
    ]


def _schedule_cases() -> list[Case]:
    """Return schedules of 10^5 tasks that are made before the run, and executed."""
    return [
        Case(
            f"{policy}-64",
            partial(instances.scheduled, workers=64, policy=policy),
            64,
            _schedule(25, policy),
            _schedule(3, policy),
            1,
            (Budget("cpu_s", 2),),
            compare=True,
        )
        for policy in ("heft", "peft")
    ]


def _runtime_cases() -> list[Case]:
    """Return a factorisation under policies of a task runtime with queues of its own."""
    return [
        Case(
            f"{policy}-64",
            with_workers(instances.runtime, 64, policy=policy),
            64,
            _lu(40, policy),
            _lu(12, policy),
            4,
            (Budget("tasks_per_cpu_s", 5e5),),
            compare=True,
        )
        for policy in RUNTIMES
    ]


def _heat_cases() -> list[Case]:
    """Return HEAT on Knights Landing, with and without its event trace."""
    return [
        Case(
            f"heat-{name}{'-trace' if trace else ''}",
            partial(instances.heat, policy=policy),
            256,
            _heat(200, policy),
            _heat(1, policy),
            1,
            (Budget("simulated_per_cpu_s", 3),)
            if trace
            else (Budget("simulated_per_cpu_s", 10), _SIMPY),
            compare=not trace,
            trace=trace,
        )
        for name, policy, trace in (
            ("cilk", "cilk_a", False),
            ("cilk_h", "cilk_h", False),
            ("bats", "bats", False),
            ("cilk", "cilk_a", True),
            ("bats", "bats", True),
        )
    ]


def _growth_cases() -> list[Case]:
    """Return what the growth of cost with workers and tasks needs besides the others."""
    cases = [
        Case(
            name,
            with_workers(instances.independent, workers),
            workers,
            _independent(workers, tasks),
            _independent(workers, tasks // 10),
            2000,
        )
        for name, workers, tasks in (
            ("independent-1024", 1024, _MILLION),
            ("independent-64-1e5", 64, 100_000),
            ("independent-64-1e7", 64, 10 * _MILLION),
        )
    ]
    cases += [
        Case(
            f"stealing-{workers}",
            with_workers(instances.stealing, workers),
            workers,
            _tree(19, workers),
            _tree(16 if workers == 64 else 13, workers),
            10,
            (_SIMPY,) if workers == 64 else (),
            compare=workers == 64,
        )
        for workers in (64, 256, 1024)
    ]
    cases += [
        Case(
            f"stealing-64-{name}",
            with_workers(instances.stealing, 64),
            64,
            _tree(depth, 64),
            _tree(13, 64),
            10,
        )
        for name, depth in (("1e5", 16), ("1e7", 22))
    ]
    return cases


def _scale_cases() -> list[Case]:
    """Return a graph of 10^7 tasks, and 10^8 tasks in 100 iterations."""
    return [
        Case(
            "stencil-64-1e7",
            with_workers(instances.stencil, 64),
            64,
            _stencil(2442, None),
            _stencil(25, 1.60219877026),
            1,
            (Budget("bytes_per_task", 100),),
            once=True,
        ),
        Case(
            "stencil-64-1000x1e6",
            with_workers(instances.stencil, 64, iterations=1000),
            64,
            _stencil(245, 15690.2201059, 1000),
            _stencil(3, 192.983206995, 1000),
            1,
            once=True,
        ),
    ]


def _rest_cases() -> list[Case]:
    """One task of 5,000 s, during which the policy looks every 4 ms or 10 us."""
    return [
        Case(
            name=f"long-{policy}",
            build=partial(instances.long_task, policy=policy),
            workers=4,
            full=_long(5000, period_ps, steals),
            small=_long(10, period_ps, steals),
            warm=1,
            budgets=(Budget("cpu_s", 0.05),),
        )
        for policy, period_ps, steals in (("camp", 4 * 10**9, 0), ("aats_ts", 10**7, 1))
    ]


CASES: tuple[Case, ...] = (
    *_queue_cases(),
    *_flow_cases(),
    *_graph_cases(),
    *_schedule_cases(),
    *_runtime_cases(),
    *_heat_cases(),
    *_growth_cases(),
    *_scale_cases(),
    *_rest_cases(),
)


@dataclass(frozen=True)
class Growth:
    """Cases between which the cost of a task is to grow by no more than a factor.

    Parameters
    ----------
    what : str
        What grows.
    cases : tuple of str
        From the smallest to the largest; the first is what the others are compared with.
    limit : float
        The factor.
    """

    what: str
    cases: tuple[str, ...]
    limit: float


GROWTH = (
    Growth("workers, one queue", ("independent-64", "independent-256", "independent-1024"), 1.5),
    Growth("workers, stealing", ("stealing-64", "stealing-256", "stealing-1024"), 1.5),
    Growth("workers, coupled flows", ("remote-flows-256", "remote-flows-1024"), 1.5),
    Growth("tasks, one queue", ("independent-64-1e5", "independent-64", "independent-64-1e7"), 1.3),
    Growth("tasks, stealing", ("stealing-64-1e5", "stealing-64", "stealing-64-1e7"), 1.3),
    Growth("tasks, stencil", ("stencil-64", "stencil-64-1e7"), 1.3),
)
