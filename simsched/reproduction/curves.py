"""Curves of memory benchmarks: what others have measured, simulated and compared.

A table has the columns ``machine``, ``kernel``, ``placement``, ``threads``, and ``gb_per_s``,
``ns`` or ``ms``. A column ``used`` says which points the machine was made from (``yes``); the
others are predictions. Threads are bound to cores in their order, one on each as long as there are
cores. With a column ``load_gb_per_s`` the first thread chases, and the others draw so much
together. The kernel ``fib32`` is a tree of tasks that compute fib(32); its placement is a policy.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from simsched.engine.run import simulate
from simsched.files.errors import ConfigurationError, ModelError, SimschedError, unknown_name
from simsched.files.units import PER_PS
from simsched.machine import load_machine
from simsched.machine.model import Machine
from simsched.machine.model import Path as Way
from simsched.policy import make_policy
from simsched.reproduction.tables import read_table
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import accesses, build_graph
from simsched.workload.generators.fibonacci import calls
from simsched.workload.graph import Workload
from simsched.workload.registry import generate_workload

COLUMNS = ("machine", "kernel", "placement", "threads")
GB_PER_S, NS, MS, LOAD = "gb_per_s", "ns", "ms", "load_gb_per_s"
#: Arrays that each kernel reads, that it writes, and that it reads and writes, which count twice.
STREAMS = {
    "load": (1, 0, 0),
    "copy": (1, 1, 0),
    "scale": (1, 1, 0),
    "add": (2, 1, 0),
    "triad": (2, 1, 0),
    "update": (0, 0, 1),
    "daxpy": (1, 0, 1),
}
CHASE = "chase"
FIBONACCI = re.compile(r"fib(\d{1,2})")
#: Trees of more calls are simulated as one of this number, and take as much longer.
MOST_FIBONACCI = 25
FEWEST, MOST_WANTED = 2, 64
KERNELS = (*STREAMS, CHASE)
LOCAL, REMOTE, INTERLEAVED = "local", "remote", "interleaved"
LINE_BYTES = 64
WARM_UP_OPS = 10_000.0
LEAST_ARRAY_BYTES = 64_000_000  #: of each thread, and more than all caches hold
PART_OF_MEMORY = 16
PARTS = 4  #: of an array on each node, where pages are dealt out
USED = ("yes", "no", "")


@dataclass(frozen=True)
class Point:
    """A measured rate in GB/s or latency in ns, of some threads of a kernel."""

    machine: str
    kernel: str
    placement: str
    threads: int
    value: float
    unit: str
    #: Whether the machine was made from it.
    is_used: bool
    where: str
    #: What all threads but the first draw together in GB/s, while that one chases.
    load: float | None = None

    @property
    def curve(self) -> tuple[str, str, str]:
        """Which points are one curve."""
        return self.machine, self.kernel, self.placement


@dataclass(frozen=True)
class Compared:
    """A point, what the simulation says, and what the simplest model says of its own curve."""

    point: Point
    simulated: float | None
    #: ``min(n x one core, ceiling)``; None for latencies.
    yardstick: float | None = None
    problem: str = ""

    @property
    def error_percent(self) -> float | None:
        """How far the simulation is above the measurement."""
        return _error(self.simulated, self.point.value)

    @property
    def yardstick_error_percent(self) -> float | None:
        """The same of the simplest model."""
        return _error(self.yardstick, self.point.value)

    def document(self) -> dict[str, Any]:
        """Return the row as plain data; None stands for what is not known."""
        point = self.point
        return {
            "machine": point.machine,
            "kernel": point.kernel,
            "placement": point.placement,
            "threads": point.threads,
            "load_gb_per_s": point.load,
            "unit": point.unit,
            "measured": point.value,
            "simulated": self.simulated,
            "error_percent": self.error_percent,
            "yardstick": self.yardstick,
            "used": point.is_used,
            "problem": self.problem,
        }


def _error(value: float | None, measured: float) -> float | None:
    return None if value is None else 100.0 * (value / measured - 1.0)


def is_curve(head: Sequence[str]) -> bool:
    """Say whether a table with these columns has curves of memory benchmarks."""
    return "threads" in head and not {GB_PER_S, NS, MS}.isdisjoint(head)


def read_curves(path: Path) -> list[Point]:
    """Return the points of a table.

    Parameters
    ----------
    path : Path
        Comma-separated values, see above.

    Returns
    -------
    list of Point
        In the order of the file.

    Raises
    ------
    ConfigurationError
        It is no such table, or a value is none that is accepted.
    """
    return [_point(where, values) for where, values in read_table(path, COLUMNS)]


def _point(where: str, values: dict[str, str]) -> Point:
    given = [name for name in (GB_PER_S, NS, MS) if values.get(name)]
    if len(given) != 1:
        listed = " and ".join(given) or "none"
        raise ConfigurationError(
            f"{where}: found {listed}, accepted one of {GB_PER_S}, {NS} and {MS}"
        )
    (unit,) = given
    tree = FIBONACCI.fullmatch(values["kernel"])
    is_tree = tree is not None and FEWEST <= int(tree[1]) <= MOST_WANTED
    if values["kernel"] not in KERNELS and not is_tree:
        known = (*KERNELS, "fib32")
        raise ConfigurationError(f"{where}: {unknown_name('kernel', values['kernel'], known)}")
    if unit != (MS if is_tree else NS if values["kernel"] == CHASE else GB_PER_S):
        accepted = f"{MS} with trees of tasks, {NS} with {CHASE}, {GB_PER_S} with other kernels"
        raise ConfigurationError(
            f"{where}: {unit}: found with {values['kernel']}, accepted {accepted}"
        )
    used = values.get("used", "")
    if used not in USED:
        raise ConfigurationError(f"{where}: used: found {used!r}, accepted yes or no")
    threads = int(_number(where, "threads", values["threads"], whole=True))
    load = _number(where, LOAD, values[LOAD]) if values.get(LOAD) else None
    if load is not None and (values["kernel"] != CHASE or threads < 2):
        raise ConfigurationError(
            f"{where}: {LOAD}: found with {threads} threads of {values['kernel']}, accepted with "
            f"{CHASE} and two threads or more"
        )
    return Point(
        values["machine"],
        values["kernel"],
        values["placement"],
        threads,
        _number(where, unit, values.get(unit, "")),
        unit,
        used == "yes",
        where,
        load,
    )


def _number(where: str, column: str, text: str, *, whole: bool = False) -> float:
    """Return a number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 < value < 1e9 or (whole and value != int(value)):
        accepted = "a whole number above 0" if whole else "a number above 0"
        raise ConfigurationError(f"{where}: {column}: found {text!r}, accepted {accepted}")
    return value


def compare_curves(
    points: Sequence[Point], *, progress: Callable[[Point], None] | None = None
) -> Iterator[Compared]:
    """Yield each point with what the simulation of its benchmark says.

    Parameters
    ----------
    points : sequence of Point
        What was measured.
    progress : callable, optional
        Called with each point before it is simulated.

    Yields
    ------
    Compared
        In the order of the points. What cannot be simulated is the problem of its point.
    """
    machines: dict[str, Machine] = {}
    for point in points:
        if progress is not None:
            progress(point)
        try:
            if point.machine not in machines:
                machines[point.machine] = load_machine(point.machine)
            simulated = simulated_value(machines[point.machine], point)
        except SimschedError as error:
            yield Compared(point, None, None, str(error))
            continue
        yield Compared(point, simulated, _yardstick(point, points))


def simulated_value(machine: Machine, point: Point) -> float:
    """Return the rate in GB/s, latency in ns or time in ms that a machine's benchmark has.

    Parameters
    ----------
    machine : Machine
        On which it runs.
    point : Point
        Kernel, placement and threads.

    Returns
    -------
    float
        In the unit of the point.

    Raises
    ------
    ModelError
        The machine has not so many hardware threads, or no such placement.
    """
    if point.unit == MS:
        return _tree_ms(machine, point)
    bound = _one_thread_a_core(machine) if point.threads <= machine.n_cores else machine
    if point.kernel == CHASE:  # what first touch leaves in caches is not chased
        bound = replace(bound, caches=())
    if point.load is not None:
        bound = _throttled(bound, point.load * 1e9 / (point.threads - 1))
    placed = _placed(bound, point.placement)
    program, counted_bytes = _program(machine, point) if point.load is None else _loaded(point)
    policy = make_policy("openmp_static", {"placement": _rule(point.placement)})
    pinning = "compact" if point.threads <= machine.n_cores else "scatter"
    chases = point.kernel == CHASE
    run = simulate(placed, program, policy, workers=point.threads, pinning=pinning, events=chases)
    if chases:
        return _chase_ns(run, 0 if point.load is None else 1, machine, bound)
    summary = run.summary
    taken_s = float(summary.iteration_end_ps[-1] - summary.iteration_start_ps[-1]) * PER_PS
    return counted_bytes / taken_s / 1e9


def _tree_ms(machine: Machine, point: Point) -> float:
    """Return how long a tree of calls takes under a policy; a call is a task without operations."""
    wanted = int(point.kernel.removeprefix("fib"))
    n = min(wanted, MOST_FIBONACCI)
    program = generate_workload("fibonacci", {"n": n, "ops_per_call": 0.0})
    pinning = "compact" if point.threads <= machine.n_cores else "scatter"
    policy = make_policy(point.placement)
    run = simulate(machine, program, policy, workers=point.threads, pinning=pinning)
    return run.makespan_s * 1e3 * calls(wanted) / calls(n)


def _one_thread_a_core(machine: Machine) -> Machine:
    groups = tuple(replace(group, smt_throughput=(1.0,)) for group in machine.core_groups)
    return replace(
        machine, core_groups=groups, thread_core=np.arange(machine.n_cores, dtype=np.int32)
    )


def _throttled(machine: Machine, each: float) -> Machine:
    """Return a machine whose threads draw so many bytes/s each, and that is as loaded by it."""
    # Of a core or module by its busy threads, which do not slow each other down then.
    most = max(len(group.smt_throughput) * group.module_cores for group in machine.core_groups)
    cores = tuple(each * (busy + 1) for busy in range(most))

    def slow(path: Way) -> Way:
        return replace(path, core_cap_bytes_per_s=cores, write_core_cap_bytes_per_s=None)

    nodes = tuple(
        replace(
            node,
            bandwidth_bytes_per_s=node.ceiling_bytes_per_s or node.bandwidth_bytes_per_s,
            ceiling_bytes_per_s=None,
        )
        for node in machine.nodes
    )
    paths = tuple(tuple(slow(path) for path in row) for row in machine.paths)
    return replace(machine, nodes=nodes, paths=paths)


def _loaded(point: Point) -> tuple[Workload, int]:
    """Return a benchmark whose first thread computes and then chases, while others stream."""
    n = point.threads
    # Two tasks for each thread: the second one of the first thread reads a line.
    task = np.arange(1, 2 * n, dtype=np.int64)
    size = np.where(task == 1, LINE_BYTES, LEAST_ARRAY_BYTES)
    ops = np.zeros(2 * n)
    ops[0] = WARM_UP_OPS
    sizes = np.concatenate([[LINE_BYTES], size])
    graph = build_graph(
        ops, accessed=accesses(task, task, size, 0 * size, 2 * n), block_bytes=sizes
    )
    touched = accesses(task, task, 0 * size, np.ones_like(size), 2 * n)
    return Workload(CHASE, graph, init=build_graph(0 * ops, accessed=touched, block_bytes=sizes)), 0


def _chase_ns(run: Run, task: int, machine: Machine, throttled: Machine) -> float:
    """Return how long the line takes whose last bytes come as fast as on the machine itself."""
    assert run.trace is not None
    events = run.trace.events
    own = (events["task"] == task) & (events["iteration"] == events["iteration"].max())
    begin, end = (
        int(events["time_ps"][own & (events["kind"] == kind)][-1])
        for kind in (EventKind.TASK_START, EventKind.TASK_END)
    )
    rates = (each.paths[0][0].core_cap_bytes_per_s[0] for each in (machine, throttled))
    whole, slowed = (LINE_BYTES / rate * 1e9 for rate in rates)
    return (end - begin) * PER_PS * 1e9 + whole - slowed


def _rule(placement: str) -> str:
    return "interleave" if placement == INTERLEAVED else "first_touch"


def _placed(machine: Machine, placement: str) -> Machine:
    """Return a machine on which first touch takes the nodes of a placement first."""
    names = [node.name for node in machine.nodes]
    order = machine.touch_order.tolist()
    if placement in (LOCAL, INTERLEAVED):
        return machine
    if placement == REMOTE:
        if machine.n_domains < 2:
            raise ModelError(f"machine {machine.name}: found one domain, accepted several: remote")
        socket = machine.domain_socket.tolist()
        first = []
        for domain in range(machine.n_domains):
            others = [d for d in range(machine.n_domains) if socket[d] != socket[domain]]
            others = others or [d for d in range(machine.n_domains) if d != domain]
            first.append(machine.own_node(others[0]))
    elif placement in names:
        first = [names.index(placement)] * machine.n_domains
    else:
        known = [LOCAL, REMOTE, INTERLEAVED, *names]
        raise ModelError(f"machine {machine.name}: {unknown_name('placement', placement, known)}")
    rows = [[node, *(n for n in row if n != node)] for node, row in zip(first, order, strict=True)]
    return replace(machine, touch_order=np.array(rows, np.int32))


def _program(machine: Machine, point: Point) -> tuple[Workload, int]:
    """Return the benchmark with one task per thread, and the bytes that it counts."""
    n = point.threads
    if point.kernel == CHASE:
        reads, writes, updates, size = 1, 0, 0, LINE_BYTES
    else:
        reads, writes, updates = STREAMS[point.kernel]
        caches = [level.capacity_bytes for level in machine.caches]
        size = max(LEAST_ARRAY_BYTES, 2 * max(caches, default=0))
        size = min(size, _room_bytes(machine) // (n * (reads + writes + updates)))
    # Of interleaved arrays each thread begins with another part, as pages are dealt out.
    parts = PARTS * len(machine.nodes) if point.placement == INTERLEAVED else 1
    arrays, size = reads + writes + updates, max(1, size // parts)
    thread, part, array = (
        index.reshape(-1) for index in np.indices((point.threads, parts, arrays), dtype=np.int64)
    )
    block = (thread * arrays + array) * parts + (part + thread) % parts
    is_read = array < reads
    read = np.where(is_read, size, 0)
    written = np.where(is_read, 0, size)
    sizes = np.full(len(block), size, np.int64)
    graph = build_graph(
        np.zeros(n),
        accessed=accesses(thread, block, read, written, n),
        block_bytes=sizes,
    )
    counted = (reads + writes + 2 * updates) * size * parts * n
    touched = accesses(thread, block, 0, 1, n)
    init = build_graph(np.zeros(n), accessed=touched, block_bytes=sizes)
    return Workload(point.kernel, graph, init=init, iterations=2), counted


def _room_bytes(machine: Machine) -> int:
    """Return what arrays occupy at most: little of every memory, also where it is a cache."""
    sides = [node.memory_side_cache for node in machine.nodes]
    cached = [side.capacity_bytes for side in sides if side is not None]
    return min([node.capacity_bytes for node in machine.nodes] + cached) // PART_OF_MEMORY


def _yardstick(point: Point, points: Sequence[Point]) -> float | None:
    """Return what ``min(n x one core, ceiling)`` says, fitted to the point's own curve."""
    if point.unit != GB_PER_S:
        return None
    curve = [other for other in points if other.curve == point.curve and other.unit == GB_PER_S]
    fewest = min(curve, key=lambda other: other.threads)
    ceiling = max(other.value for other in curve)
    return min(point.threads * fewest.value / fewest.threads, ceiling)


def by_machine(rows: Sequence[Compared]) -> list[dict[str, Any]]:
    """Return for each machine how many points were used and predicted, and how large errors are.

    Parameters
    ----------
    rows : sequence of Compared
        Points that could be simulated, and others, which are left out.

    Returns
    -------
    list of dict
        Errors are absolute values in percent, over the points that were not used.
    """
    found = []
    for name in dict.fromkeys(row.point.machine for row in rows if not row.problem):
        own = [row for row in rows if row.point.machine == name and not row.problem]
        predicted = [row for row in own if not row.point.is_used]
        errors = [abs(e) for row in predicted if (e := row.error_percent) is not None]
        simple = [abs(e) for row in predicted if (e := row.yardstick_error_percent) is not None]
        found.append(
            {
                "machine": name,
                "used": len(own) - len(predicted),
                "predicted": len(predicted),
                "median_error_percent": statistics.median(errors) if errors else None,
                "p90_error_percent": float(np.percentile(errors, 90)) if errors else None,
                "yardstick_median_error_percent": statistics.median(simple) if simple else None,
            }
        )
    return found
