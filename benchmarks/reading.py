"""Measures commands and readers of files: ``python -m benchmarks.reading [--only ROW] [--quick]``.

Commands count with all that a process does from start to end; of readers the call counts that makes
a workload of a file of 200,000 tasks and a million edges. Each is repeated in processes of its own,
the fastest counts. Tasks, edges and the sum of costs of a file are known; a mistake ends with exit
code 1, a missed budget is named.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from simsched.experiment.measure import peak_rss_bytes
from simsched.workload.importers import import_workload

TASKS, PREDECESSORS = 200_000, 5
SMALL_TASKS = 2_000
COSTS = 997  #: different costs of tasks, which repeat
MEANING = {"cost": "cost", "cost_unit": "ops", "edge_bytes": "bytes"}

Lines = Iterator[str]


def cost_ops(task: int) -> int:
    """Return the operations of a task."""
    return 1000 + task % COSTS


def before(task: int) -> range:
    """Return the predecessors of a task, of which the first ones have fewer."""
    return range(max(0, task - PREDECESSORS), task)


def expected(tasks: int) -> dict[str, float]:
    """Return what has to come out of a file of so many tasks."""
    whole, rest = divmod(tasks, COSTS)
    repeated = whole * (COSTS * (COSTS - 1) // 2) + rest * (rest - 1) // 2
    missing = PREDECESSORS * (PREDECESSORS + 1) // 2
    return {
        "tasks": tasks,
        "edges": PREDECESSORS * tasks - missing,
        "ops": 1000 * tasks + repeated,
    }


def _dot(tasks: int) -> Lines:
    yield "digraph large {\n"
    for task in range(tasks):
        yield f'  t{task} [cost="{cost_ops(task)}"];\n'
        yield from (f"  t{other} -> t{task} [bytes={task}];\n" for other in before(task))
    yield "}\n"


def _node_link(tasks: int) -> Lines:
    nodes = [{"id": f"t{task}", "cost": cost_ops(task)} for task in range(tasks)]
    edges = [
        {"source": f"t{other}", "target": f"t{task}", "bytes": task}
        for task in range(tasks)
        for other in before(task)
    ]
    yield json.dumps({"directed": True, "nodes": nodes, "edges": edges})


def _stg(tasks: int) -> Lines:
    yield f"{tasks}\n"
    for task in range(tasks):
        yield " ".join(map(str, (task, cost_ops(task), len(before(task)), *before(task)))) + "\n"


def _dax(tasks: int) -> Lines:
    yield '<adag name="large" version="3.6">\n'
    for task in range(tasks):
        yield f'<job id="t{task}" name="t" runtime="{cost_ops(task)}"/>\n'
    for task in range(1, tasks):
        parents = "".join(f'<parent ref="t{other}"/>' for other in before(task))
        yield f'<child ref="t{task}">{parents}</child>\n'
    yield "</adag>\n"


def _wfformat(tasks: int) -> Lines:
    entries: list[dict[str, Any]] = [
        {"name": f"t{task}", "runtime": cost_ops(task), "parents": [f"t{o}" for o in before(task)]}
        for task in range(tasks)
    ]
    yield json.dumps({"schemaVersion": "1.2", "workflow": {"tasks": entries}})


@dataclass(frozen=True)
class Reading:
    """One row: a command, or a file that is read.

    Parameters
    ----------
    name : str
        Unique.
    words : tuple of str
        Of the command; none for a file.
    write : callable, optional
        Yields the text of a file of some number of tasks.
    suffix : str
        Ending of its name.
    options : dict, optional
        What its attributes mean.
    cpu_s, peak_bytes : float, optional
        Budgets.
    """

    name: str
    words: tuple[str, ...] = ()
    write: Callable[[int], Lines] | None = None
    suffix: str = ""
    options: dict[str, Any] | None = None
    cpu_s: float | None = None
    peak_bytes: float | None = None


NOT_KEPT = "PYTHONDONTWRITEBYTECODE"  #: with it modules would be compiled every time
SPEED = {"reference_speed": 1e6}  #: a second in a file is a million operations
READINGS = (
    Reading("help", ("--help",), cpu_s=0.3),
    Reading("list-machines", ("list", "machines"), cpu_s=0.3),
    Reading("list-policies", ("list", "policies"), cpu_s=0.3),
    Reading("check-machine", ("check", "machines/knl_snc4_flat.yaml")),
    Reading("dot", (), _dot, ".dot", MEANING, cpu_s=6, peak_bytes=500e6),
    Reading("node-link", (), _node_link, ".json", MEANING, cpu_s=6, peak_bytes=500e6),
    Reading("stg", (), _stg, ".stg", {"cost_unit": "ops"}),
    Reading("dax", (), _dax, ".dax", SPEED, cpu_s=6, peak_bytes=500e6),
    Reading("wfformat", (), _wfformat, ".json", SPEED, cpu_s=6, peak_bytes=500e6),
)


def main(arguments: list[str] | None = None) -> int:
    """Print a line for each row; return 1 if an answer is wrong, 0 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reading", description=__doc__)
    parser.add_argument("--only", nargs="+", default=["*"], metavar="ROW")
    parser.add_argument("--quick", action="store_true", help="small files, one process each")
    parser.add_argument(
        "--repeat", type=int, default=3, metavar="N", help="processes, 3 by default"
    )
    parser.add_argument("--file", nargs=2, metavar=("ROW", "FILE"), help="read only this, here")
    options = parser.parse_args(arguments)
    if options.file is not None:
        row = next(row for row in READINGS if row.name == options.file[0])
        json.dump(read_file(row, Path(options.file[1])), sys.stdout)
        return 0
    tasks, repeat = (SMALL_TASKS, 1) if options.quick else (TASKS, options.repeat)
    mistakes: list[str] = []
    for row in READINGS:
        if any(fnmatch(row.name, name) for name in options.only):
            runs = measure(row, tasks, repeat)
            mistakes += mistakes_of(row, tasks, runs)
            print(line(row, runs, budgets=not options.quick), flush=True)
    for text in mistakes:
        print(f"WRONG: {text}")
    return 1 if mistakes else 0


def measure(row: Reading, tasks: int, repeat: int) -> list[dict[str, float]]:
    """Return what processes say of a row, or need for it."""
    if row.write is None:
        return [_command(row.words) for _ in range(repeat)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"large{row.suffix}"
        with file.open("w", encoding="utf-8") as stream:
            stream.writelines(row.write(tasks))
        words = [sys.executable, "-m", "benchmarks.reading", "--file", row.name, str(file)]
        done = [subprocess.run(words, stdout=subprocess.PIPE, check=True) for _ in range(repeat)]
    return [json.loads(run.stdout) for run in done]


def _command(words: tuple[str, ...]) -> dict[str, float]:
    """Return what a command of simsched needs; the first time Python may compile modules."""
    program = [sys.executable, "-m", "simsched", *words]
    environment = {key: text for key, text in os.environ.items() if key != NOT_KEPT}
    process = subprocess.Popen(program, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(words)}: ended with exit code {process.returncode}")
    peak_bytes = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return {"cpu_s": usage.ru_utime + usage.ru_stime, "peak_bytes": peak_bytes}


def read_file(row: Reading, file: Path) -> dict[str, float]:
    """Return what a file holds and what reading it needs in this process."""
    begin, options = time.process_time(), row.options or {}
    graph = import_workload(file, **options).graph
    return {
        "cpu_s": time.process_time() - begin,
        "peak_bytes": peak_rss_bytes(),
        "tasks": graph.n_tasks,
        "edges": graph.n_edges,
        "ops": float(graph.ops.sum()) / options.get("reference_speed", 1.0),
    }


def mistakes_of(row: Reading, tasks: int, runs: list[dict[str, float]]) -> list[str]:
    """Return in words what of a file is not as expected."""
    if row.write is None:
        return []
    return [
        f"{row.name}: found {run[key]:.17g} {key}, expected {value:.17g}"
        for run in runs
        for key, value in expected(tasks).items()
        if run[key] != value
    ]


def line(row: Reading, runs: list[dict[str, float]], *, budgets: bool) -> str:
    """Return the line of a row."""
    best = {key: min(run[key] for run in runs) for key in ("cpu_s", "peak_bytes")}
    limits = {"cpu_s": row.cpu_s, "peak_bytes": row.peak_bytes}
    missed = [key for key, most in limits.items() if most is not None and best[key] > most]
    text = f"{row.name:<14}  {best['cpu_s']:7.2f} s CPU  {best['peak_bytes'] / 1e6:6.0f} MB"
    return text + (f"  missed: {', '.join(missed)}" if missed and budgets else "")


if __name__ == "__main__":
    sys.exit(main())
