"""Independent tasks in one queue by SimGrid's Python binding; reads a program, prints the outcome.

Runs under any Python that has the module ``simgrid``, once per process, since an engine cannot be
made twice; see benchmarks/small.py.
"""

import json
import sys
import time
from collections import deque
from pathlib import Path

from simgrid import Actor, Engine, NetZone, this_actor


def work(queue: "deque[float]") -> None:
    """Execute what is in the queue until nothing is left."""
    while queue:
        this_actor.execute(queue.popleft())


def main(path: str) -> None:
    """Print seconds for the run and the makespan."""
    program = json.loads(Path(path).read_text(encoding="utf-8"))
    begin = time.process_time()
    engine = Engine(["small", "--log=root.threshold:error", "--cfg=surf/precision:1e-12"])
    zone = NetZone.create_full_zone("zone")
    speeds = program["ops_per_s"]
    hosts = [zone.create_host(f"w{number}", speed) for number, speed in enumerate(speeds)]
    zone.seal()
    queue = deque(program["ops"])
    for number, host in enumerate(hosts):
        Actor.create(f"a{number}", host, work, queue)
    engine.run()
    print(json.dumps({"cpu_s": time.process_time() - begin, "makespan_s": engine.clock}))


main(sys.argv[1])
