"""Record what simsched computes, so that a change of the code can be held against it.

    python -m tools.digests record FILE [--only turn|random|experiments] [--policies A B] [--jobs 2]
    python -m tools.digests compare BEFORE AFTER

A line of the file is one run: its name, the hash of everything in its trace and counters, a hash of
which worker has started which tasks in which order, and the makespan. Runs are every registered
policy on small workloads and machines in turn and random instances, both on both backends, and the
smallest cell of every shipped experiment.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from simsched.api import load_experiment
from simsched.engine import conformance
from simsched.engine.run import simulate
from simsched.experiment.cell_run import run_cell
from simsched.experiment.study import Study
from simsched.files.errors import SimschedError
from simsched.machine import list_machines, load_machine
from simsched.policy import list_policies, make_policy
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.registry import list_workloads, make_small_workload
from tests.engine.instances import (
    HookPolicy,
    RandomPolicy,
    random_machine,
    random_workload,
)

ROOT = Path.cwd()
RUNS = 12  #: of each policy in turn that both backends accept
TRIED = 60  #: pairs of workload and machine that are tried for them
RANDOM = 600  #: random instances
LONG_S = 0.002  #: programs that take longer at the least are left out
EVERY_KIND = "knl_snc4_hybrid"  #: has all kinds of memory that a policy asks for
MEASURED = {"wall_s", "peak_rss_bytes", "simulated_per_wall_s"}  #: of the host, not of the run


def main() -> None:
    """Record or compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    record = commands.add_parser("record")
    record.add_argument("file", type=Path)
    record.add_argument("--only", choices=["turn", "random", "experiments"])
    record.add_argument("--policies", nargs="*")
    record.add_argument("--jobs", type=int, default=2)
    compare = commands.add_parser("compare")
    compare.add_argument("before", type=Path)
    compare.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.command == "compare":
        sys.exit(compared(lines_of(given.before), lines_of(given.after)))
    parts = list(work(given.only, given.policies))
    with ProcessPoolExecutor(given.jobs) as pool, given.file.open("w", encoding="utf-8") as file:
        for found in pool.map(done, parts):
            file.writelines(f"{line}\n" for line in found)
            file.flush()


def work(only: str | None, policies: list[str] | None) -> Iterator[tuple[str, Any]]:
    """Yield parts of the work, each with its kind."""
    if only in (None, "turn"):
        yield from (
            (("turn", info.name) for info in list_policies())
            if not policies
            else (("turn", name) for name in policies)
        )
    if only in (None, "random") and not policies:
        yield from (("random", first) for first in range(0, RANDOM, 20))
    if only in (None, "experiments") and not policies:
        yield from (("experiments", path) for path in sorted((ROOT / "experiments").glob("*.yaml")))


def done(part: tuple[str, Any]) -> list[str]:
    """Return the lines of one part of the work."""
    kind, what = part
    if kind == "turn":
        return in_turn(what)
    return at_random(what) if kind == "random" else of_experiment(what)


def in_turn(policy: str) -> list[str]:
    """Return lines of a policy on workloads and machines in turn; the first few it accepts."""
    machines, workloads = list_machines(), list_workloads()
    turn, lines, run = crc32(policy.encode()), [], 0
    for index in range(TRIED):
        other = machines[(turn + index // 2) % len(machines)]
        machine = load_machine(EVERY_KIND if (turn + index) % 2 else other)
        name = workloads[(turn + index) % len(workloads)].name
        workload, chosen = make_small_workload(name), make_policy(policy)
        if (
            conformance.least_seconds(machine, workload) > LONG_S
            or conformance.looks(machine, workload, chosen) > conformance.MAX_LOOKS
        ):
            continue
        workers = min(conformance.WORKERS, machine.n_threads)
        both = on_both(machine, workload, chosen, workers=workers)
        lines.append(f"turn {policy} {name} {machine.name} {both}")
        run += "refused" not in both
        if run == RUNS:
            break
    return lines


def at_random(first: int) -> list[str]:
    """Return lines of twenty random instances."""
    lines = []
    for seed in range(first, first + 20):
        policy = (HookPolicy if seed % 2 else RandomPolicy)(choice=seed)
        both = on_both(random_machine(seed * 7 + 1), random_workload(seed * 11 + 3), policy)
        lines.append(f"random {seed} {both}")
    return lines


def on_both(machine: Any, workload: Any, policy: Any, workers: int | None = None) -> str:
    """Return the digests of a run, and whether the backends agree."""
    outcomes = []
    for backend in ("simpy", "native"):
        try:
            bounded = conformance.bounded(policy)
            run = simulate(
                machine,
                workload,
                bounded,
                workers=workers,
                backend=backend,
                events=True,
                progress_limit_s=80.0,
            )
            outcomes.append(digests(run))
        except SimschedError as error:
            words = hashlib.sha256(str(error).encode()).hexdigest()[:16]
            outcomes.append(f"refused {words} - -")
        except Exception as error:
            outcomes.append(f"fault {type(error).__name__} - -")
    return outcomes[0] if outcomes[0] == outcomes[1] else " DIFFER ".join(outcomes)


def digests(run: Run) -> str:
    """Return hashes of everything and of the order of tasks, and the makespan."""
    assert run.trace is not None
    whole = hashlib.sha256()
    for name, column in sorted(run.trace.events.items()):
        whole.update(name.encode() + np.ascontiguousarray(column, np.int64).tobytes())
    for name, value in sorted(vars(run.summary).items()):
        whole.update(name.encode() + repr(np.asarray(value).tolist()).encode())
    events = run.trace.events
    start = np.asarray(events["kind"]) == int(EventKind.TASK_START)
    order = hashlib.sha256()
    for worker in range(len(run.worker_thread)):
        mine = start & (np.asarray(events["worker"]) == worker)
        order.update(np.ascontiguousarray(events["task"][mine], np.int64).tobytes() + b"|")
    return f"{whole.hexdigest()[:16]} {order.hexdigest()[:16]} {run.summary.makespan_ps}"


def of_experiment(path: Path) -> list[str]:
    """Return the line of an experiment's smallest cell: the one with the fewest tasks."""
    planned = Study.from_yaml(load_experiment(str(path)))
    sizes: dict[str, float] = {}
    for cell in planned.cells:
        content = cell.workload_source.content
        if content not in sizes:
            built = cell.workload_source.build()
            sizes[content] = built.graph.n_tasks * built.iterations
    cell = min(planned.cells, key=lambda cell: sizes[cell.workload_source.content])
    row = {k: v for k, v in run_cell(cell).items() if k not in MEASURED}
    text = json.dumps(row, sort_keys=True, default=lambda value: np.asarray(value).tolist())
    name = cell.label.replace(" ", "_")
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return [f"experiment {path.stem} {name} {digest} - {row['makespan_s']!r}"]


def lines_of(path: Path) -> dict[str, list[str]]:
    """Return what a file says of each run."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        words = line.split()
        length = {"turn": 4, "random": 2, "experiment": 3}[words[0]]
        found[" ".join(words[:length])] = words[length:]
    return found


def compared(before: dict[str, list[str]], after: dict[str, list[str]]) -> int:
    """Print what differs; return 1 if something does."""
    differing, coarse = 0, 0
    for name in sorted(before.keys() | after.keys()):
        first, second = before.get(name), after.get(name)
        if first == second or second is None or first is None:
            if first is None:
                print(f"only after: {name}")
            continue
        differing += 1
        same_order = first[1:2] == second[1:2]
        coarse += not same_order
        print(f"{name}: {'times' if same_order else 'order'}: {first} -> {second}")
    only = len(before.keys() - after.keys())
    print(f"{len(before)} runs before, {len(after)} after, {only} only before")
    print(f"{differing} differing, {coarse} of them in the order of tasks")
    return int(differing > 0)


if __name__ == "__main__":
    main()
