"""One HEFT schedule by SAGA's list scheduler; reads a program, prints the outcome.

Runs under any Python that has the package ``anrg.saga``; see benchmarks/small.py.
"""

import json
import sys
import time
from pathlib import Path

from saga import Network, TaskGraph
from saga.schedulers import HeftScheduler


def main(path: str, runs: int) -> None:
    """Print seconds per schedule, the fastest of some, and the makespan."""
    program = json.loads(Path(path).read_text(encoding="utf-8"))
    graph = TaskGraph.create(
        [(f"t{task:04}", cost) for task, cost in enumerate(program["ops"])],
        [(f"t{a:04}", f"t{b:04}", 0.0) for a, b in program["edges"]],
    )
    names = [f"w{worker:02}" for worker in range(len(program["ops_per_s"]))]
    near = [(a, b, float("inf")) for a in names for b in names if a < b]
    machine = Network.create(list(zip(names, program["ops_per_s"], strict=True)), near)
    seconds = []
    for _ in range(runs):
        begin = time.process_time()
        schedule = HeftScheduler().schedule(machine, graph)
        seconds.append(time.process_time() - begin)
    print(json.dumps({"cpu_s": min(seconds), "makespan_s": schedule.makespan}))


main(sys.argv[1], int(sys.argv[2]))
