"""Calibration of scheduling: costs with which the simulator charges what the runtime takes.

The runtime executes the program ``empty`` with one worker, so that a run lasts as long as its
scheduling; the costs are those with which the simulator takes as long for the same graph.
``docs/calibrating.md`` says which run gives which cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from simsched.files.units import PER_PS
from simsched.hardware.calibrate_host import Host
from simsched.hardware.calibrate_probes import Measured, best_time, median_time, stream_rate
from simsched.hardware.mode import Mode
from simsched.hardware.program import Program, make_program
from simsched.hardware.runtime import compiled_runtime, execute
from simsched.trace.schema import EventKind

CHILD_FIRST = Mode()
PARENT_FIRST = Mode(order="parent_first")
CENTRAL = Mode(order="parent_first", pools="central")
TASKS = 4095  # a complete tree
ITERATIONS = 10  # of a run
#: Pairs of threads per distance class of which the middle one counts.
PAIRS = 3


@dataclass(frozen=True)
class Check:
    """Seconds per task of a run of ``empty``, measured and as the costs say."""

    mode: str
    shape: str
    measured_s: float
    charged_s: float
    #: Whether a cost was derived from this run; the others are predictions.
    is_fitted: bool


def charges(mode: Mode, shape: str, tasks: int) -> dict[str, int]:
    """Return how often the simulator charges each cost for ``empty`` with one worker."""
    spawned = tasks - 1 if shape in {"loop", "tree"} else 0
    chained = tasks - 1 if shape == "chain" else 0
    pops = tasks
    if spawned and mode.order == "child_first":
        # The root, and continuations: of a task with k children, k - 1.
        parents = tasks // 2 if shape == "tree" else 1
        pops = 1 + spawned - parents
    found = {f"spawn_{mode.order}": spawned, "push": chained, "pop": pops}
    if mode.pools == "central":
        # The first task has no pusher in every shape but "independent", where none has.
        found["lock_hold"] = pops + spawned + chained
    return {name: count for name, count in found.items() if count}


def charged_s(mode: Mode, shape: str, tasks: int, costs: Mapping[str, float]) -> float:
    """Return the seconds that the simulator charges for ``empty`` with one worker."""
    return sum(count * costs[name] for name, count in charges(mode, shape, tasks).items())


Timer = Callable[[Mode, str], Measured]


def _empty(shape: str, tasks: int, iterations: int) -> Program:
    return make_program("empty", {"shape": shape, "tasks": tasks, "iterations": iterations})


def time_empty(thread: int, rounds: int) -> Timer:
    """Return a function that measures runs of ``empty`` on a thread, traced as all runs are."""

    def timed(mode: Mode, shape: str) -> Measured:
        # Several short runs: others, who take a core for milliseconds, seldom disturb all of them.
        times: list[float] = []
        for _ in range(rounds):
            run = execute(_empty(shape, TASKS, ITERATIONS), mode, cores=[thread])
            times += run.details["iteration_s"]
        return best_time(times, f"{shape} of {TASKS} empty tasks, {mode.order}, {mode.pools}")

    return timed


#: Runs from which costs follow, each with the one that it adds to those before.
FITTED = (
    (CHILD_FIRST, "independent", "pop"),
    (CHILD_FIRST, "chain", "push"),
    (CHILD_FIRST, "tree", "spawn_child_first"),
    (PARENT_FIRST, "tree", "spawn_parent_first"),
    (CENTRAL, "tree", "lock_hold"),
)
PREDICTED = (
    (CHILD_FIRST, "loop"),
    (PARENT_FIRST, "loop"),
    (CENTRAL, "loop"),
    (CENTRAL, "independent"),
)


def task_costs(timed: Timer) -> tuple[dict[str, Measured], tuple[Check, ...]]:
    """Derive the costs of a task's life from runs of ``empty``.

    Costs are by their names in a machine file and not below 0; checks say what they amount to in
    these runs and in others. `timed` measures the seconds of one iteration, by mode and shape.
    """
    costs: dict[str, Measured] = {}
    checks = []
    for mode, shape, name in FITTED:
        run = timed(mode, shape)
        known = {other: cost.value for other, cost in costs.items()}
        rest = run.value - charged_s(mode, shape, TASKS, {**known, name: 0.0})
        value = max(0.0, rest / charges(mode, shape, TASKS)[name])
        costs[name] = replace(run, value=value)
        checks.append((mode, shape, run, True))
    checks += [(mode, shape, timed(mode, shape), False) for mode, shape in PREDICTED]
    values = {name: cost.value for name, cost in costs.items()}
    return costs, tuple(
        Check(
            f"{mode.order}, {mode.pools}",
            shape,
            run.value / TASKS,
            charged_s(mode, shape, TASKS, values) / TASKS,
            fitted,
        )
        for mode, shape, run, fitted in checks
    )


def contended_lock(threads: Sequence[int], rounds: int) -> Measured:
    """Measure how long the lock of a central queue is held by each of two cores in turn.

    `threads` has one hardware thread of each core. The middle run counts, since how the two take
    turns is no disturbance.
    """
    times: list[float] = []
    for seed in range(rounds):
        program = _empty("tree", TASKS, ITERATIONS)
        run = execute(program, CENTRAL, cores=list(threads), seed=seed)
        times += run.details["iteration_s"]
    locks = charges(CENTRAL, "tree", TASKS)["lock_hold"]
    found = median_time(times, f"tree of {TASKS} empty tasks, 2 workers, central queue, per lock")
    return replace(found, value=found.value / locks)


def barrier_cost(threads: Sequence[int], rounds: int) -> Measured:
    """Measure the time from the end of an iteration to the start of the next, with all workers."""
    program = _empty("independent", len(threads), 100 * rounds)
    run = execute(program, CHILD_FIRST, cores=list(threads), trace=False)
    events = run.trace.events
    begin = events["time_ps"][events["kind"] == EventKind.ITERATION_START]
    end = events["time_ps"][events["kind"] == EventKind.ITERATION_END]
    workers = "1 worker" if len(threads) == 1 else f"{len(threads)} workers"
    gaps = np.maximum(begin[1:] - end[:-1], 1) * PER_PS
    return median_time(gaps, f"from one iteration to the next, {workers}")


def primitives(owner: int, thief: int, rounds: int) -> dict[str, Measured]:
    """Measure the steps of scheduling between two threads several times; see native/probes.h.

    Left out are those for which the threads never met as they had to, as on a core that they share.
    """
    runs = [compiled_runtime().measure_primitives(owner, thief, 30) for _ in range(rounds)]
    found = {}
    for name in runs[0]:
        times = [run[name] * 1e-9 for run in runs if np.isfinite(run[name])]
        if times:
            found[name] = best_time(times, f"{name} between threads {owner} and {thief}")
    return found


def pairs_by_distance(host: Host) -> dict[int, list[tuple[int, int]]]:
    """Return up to `PAIRS` pairs of threads per distance class as machines number them."""
    hops = host.hops()
    place = {t: (d, core) for d, dom in enumerate(host.domains) for core in dom.cores for t in core}
    found: dict[int, list[tuple[int, int]]] = {}
    for one, other in combinations(sorted(place), 2):
        (a, core), (b, other_core) = place[one], place[other]
        distance = 0 if core == other_core else 1 + hops[a][b]
        found.setdefault(distance, []).append((one, other))
    return {
        distance: [pairs[k] for k in sorted({0, len(pairs) // 2, len(pairs) - 1})][:PAIRS]
        for distance, pairs in sorted(found.items())
    }


def steal_costs(
    pairs: Mapping[int, Sequence[tuple[int, int]]], pop: Measured, rounds: int
) -> tuple[dict[str, dict[int, Measured]], dict[str, Measured]]:
    """Measure steals and failed probes per distance class.

    The first result has ``steal`` and ``steal_probe`` by distance class, as far as they could be
    measured; the second has the steps themselves, between the first two threads.
    """
    costs: dict[str, dict[int, Measured]] = {"steal": {}, "steal_probe": {}}
    steps: dict[str, Measured] = {}
    for distance, chosen in pairs.items():
        steals, probes = [], []
        for one, other in chosen:
            found = primitives(one, other, rounds)
            steps = steps or found
            if "steal" in found:
                more = max(0.0, found["steal"].value - found["take"].value)
                how = f"{found['steal'].how}, pop added, take subtracted"
                steals.append(replace(found["steal"], value=pop.value + more, how=how))
            if "probe" in found:
                probes.append(found["probe"])
        for name, values in (("steal", steals), ("steal_probe", probes)):
            if values:
                middle = sorted(values, key=lambda each: each.value)[len(values) // 2]
                costs[name][distance] = middle
    return costs, steps


def smt_throughput(core: Sequence[int], rounds: int, cached_bytes: int) -> tuple[Measured, ...]:
    """Measure the throughput of a core with 1, 2, ... busy threads, relative to one.

    The work is polynomials of elements that lie in the first-level cache: arithmetic that keeps the
    core busy. Programs that wait more gain more by a second thread.
    """
    rates = [
        stream_rate(core[: k + 1], "compute", cached_bytes // 2, rounds=rounds)
        for k in range(len(core))
    ]
    most = np.maximum.accumulate([rate.value / rates[0].value for rate in rates]).tolist()
    return tuple(replace(rate, value=value) for rate, value in zip(rates, most, strict=True))
