"""Times small programs beside peers: ``python -m benchmarks.small [--python PATH ...]``.

Peers run under Pythons that have them, named by `--python`: the list scheduler of SAGA (package
``anrg.saga``) makes HEFT schedules of tasks with costs drawn at random on unequal cores, SimGrid's
binding (module ``simgrid``) simulates independent tasks in one queue. Both get the program as a
file and have to come to the makespan that simsched comes to. Of simsched calls of
:func:`simsched.simulate` count: with a program that is new, HEFT included, and with one that was
simulated before, whose plan is kept. A difference ends with exit code 1.
"""

from __future__ import annotations

import argparse
import copy
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import simsched
from benchmarks.instances import Instance, independent
from simsched.machine import load_machine
from simsched.policy.contract.registry import make_policy
from simsched.workload.builder import Adjacency, build_graph
from simsched.workload.graph import Workload
from simsched.workload.registry import generate_workload

PEERS = Path(__file__).resolve().parent / "small_peers"
TOLERANCE = 1e-9  #: clocks of picoseconds, of makespans of milliseconds


@dataclass(frozen=True)
class Row:
    """One program and the peer that is given it.

    Parameters
    ----------
    name : str
        Unique.
    instance : Instance
        What is simulated.
    peer, module, arguments : str, str, tuple of str
        Program in small_peers/, the module that it imports, and what follows the program's file.
    """

    name: str
    instance: Instance
    peer: str
    module: str
    arguments: tuple[str, ...] = ()


def scheduled(tiles: int) -> Instance:
    """Return a factorisation whose costs are drawn, so that no two orders tie, under HEFT."""
    drawn = generate_workload("cholesky", {"tiles": tiles, "costs": "bench"}).graph
    ops = np.random.default_rng(1).uniform(1e6, 3e6, drawn.n_tasks)
    workload = Workload("drawn", build_graph(ops, successors=Adjacency(drawn.succ_ptr, drawn.succ)))
    return Instance(load_machine("toy_1fast_3slow"), workload, make_policy("heft"))


def rows() -> tuple[Row, ...]:
    """Return what is measured."""
    return (
        Row("heft, 364 tasks, 4 cores", scheduled(12), "schedule.py", "saga", ("3",)),
        Row(
            "queue, 512 tasks, 64 cores",
            independent(512, workers=64),
            "queue_of_tasks.py",
            "simgrid",
        ),
    )


def program(instance: Instance) -> dict[str, Any]:
    """Return what peers are told: operations, edges, and speeds of cores."""
    graph, machine = instance.workload.graph, instance.machine
    before = np.repeat(np.arange(graph.n_tasks), np.diff(graph.succ_ptr))
    speeds = [machine.core_groups[group].ops_per_s for group in machine.core_group.tolist()]
    return {
        "ops": graph.ops[0].tolist(),
        "edges": np.stack([before, graph.succ], axis=1).tolist(),
        "ops_per_s": speeds,
    }


def simulated(instance: Instance, runs: int) -> tuple[float, float, float]:
    """Return CPU seconds with a new program and with a known one, the fastest, and the makespan."""
    new_s, again_s = [], []
    for _ in range(runs):
        fresh = instance._replace(workload=copy.deepcopy(instance.workload))
        begin = time.process_time()
        run = simsched.simulate(*fresh)
        between = time.process_time()
        simsched.simulate(*fresh)
        new_s.append(between - begin)
        again_s.append(time.process_time() - between)
    return min(new_s), min(again_s), run.makespan_s


def asked(row: Row, pythons: list[str]) -> dict[str, float] | None:
    """Return what the peer has come to under the first Python that has it, None without one."""
    for python in pythons:
        has_it = subprocess.run(
            [python, "-c", f"import {row.module}"], capture_output=True, check=False, cwd=PEERS
        )
        if has_it.returncode == 0:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "program.json"
                path.write_text(json.dumps(program(row.instance)), encoding="utf-8")
                command = [python, str(PEERS / row.peer), str(path), *row.arguments]
                done = subprocess.run(command, capture_output=True, check=True, text=True)
            answer: dict[str, float] = json.loads(done.stdout)
            return answer
    return None


def main(arguments: list[str] | None = None) -> int:
    """Print a line for each row; return 1 if a makespan differs, 0 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.small", description=__doc__)
    parser.add_argument(
        "--python", nargs="*", default=[sys.executable], metavar="PATH", help="this one by default"
    )
    parser.add_argument("--runs", type=int, default=200, metavar="N", help="200 by default")
    options = parser.parse_args(arguments)
    differing = 0
    for row in rows():
        new_s, again_s, makespan_s = simulated(row.instance, options.runs)
        peer = asked(row, options.python)
        line = f"{row.name:27} simsched {new_s * 1e3:6.3f} ms, again {again_s * 1e3:6.3f};"
        if peer is None:
            print(f"{line} no Python with {row.module}")
            continue
        ratios = f"x {peer['cpu_s'] / new_s:.0f}, {peer['cpu_s'] / again_s:.0f}"
        print(f"{line} {row.module} {peer['cpu_s'] * 1e3:8.3f} ms: {ratios}")
        if abs(peer["makespan_s"] / makespan_s - 1) > TOLERANCE:
            differing += 1
            print(f"DIFFERENT: makespans {makespan_s!r} and {peer['makespan_s']!r} s")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
