"""Threads with phases, barriers and critical sections.

With T threads and P phases, a thread is a row of tasks of a class of its own, ``thread0`` and so
on; a scheduler of threads sees one of them at a time.

* *Tasks.* A task per thread and phase, ``T P``, and with `critical_ops` another one after each of
  them, of class ``thread0.critical`` and so on.
* *Edges.* Within a thread from task to task. With `barriers` the first task of a phase waits for
  the last tasks of the phase before in all threads; otherwise only for its own. Critical sections
  of a phase follow each other in the order of the threads.
* *Operations.* `phase_ops` drawn within `spread`, and `critical_ops`.
* *Blocks.* One of `phase_bytes` for each of the last `stalling` threads, which reads it in every
  phase; others access no memory.

References
----------
Saez et al., *A comprehensive scheduler for asymmetric multicore systems*, EuroSys 2010; Hofmeyr et
al., *Load balancing on speed*, PPoPP 2010; Suleman et al., *Accelerating critical section execution
with asymmetric multi-core architectures*, ASPLOS 2009 (programs of this kind).
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from simsched.files.errors import ConfigurationError
from simsched.workload.builder import accesses, build_graph, check_size, edges
from simsched.workload.draws import stream
from simsched.workload.graph import Int64Array, Workload
from simsched.workload.registry import Bounds, Cost, Count, Fraction, Size, generator

CRITICAL = ".critical"  #: ends the names of classes of critical sections


@generator(
    "threads",
    small={"threads": 5, "phases": 3, "critical_ops": 1e5, "stalling": 2},
    random_if=lambda given: given["spread"] > 0.0,
)
def threads(
    seed: int,
    *,
    threads: Annotated[int, Bounds(1, 10_000)] = 24,
    phases: Count = 4,
    phase_ops: Cost = 1e6,
    spread: Fraction = 0.0,
    barriers: bool = True,
    critical_ops: Cost = 0.0,
    stalling: Annotated[int, Bounds(0, 10_000)] = 0,
    phase_bytes: Size = 2**20,
    iterations: Count = 1,
) -> Workload:
    """Threads of a few phases, with barriers, critical sections and stalls if wanted.

    Parameters
    ----------
    seed : int
        Seed of the costs.
    threads, phases : int
        How many threads, and phases of each.
    phase_ops : float
        Mean operations of a phase.
    spread : float
        Largest deviation of a phase from that, relative to it.
    barriers : bool
        Whether all threads wait for each other after each phase.
    critical_ops : float
        Operations of the critical section at the end of a phase; 0 for none.
    stalling : int
        Number of threads that read memory, the last ones.
    phase_bytes : int
        Bytes that these read in a phase.
    iterations : int
        How often the graph is repeated.
    """
    if stalling > threads:
        raise ConfigurationError(
            f"workload threads: stalling: found {stalling}, accepted at most {threads}, the threads"
        )
    steps = 2 if critical_ops > 0.0 else 1
    n = threads * phases * steps
    check_size("threads", tasks=n, data_bytes=stalling * phase_bytes)
    task = np.arange(n).reshape(phases, threads, steps)
    ops = np.full((phases, threads, steps), critical_ops)
    ops[:, :, 0] = phase_ops * (
        1.0 + spread * (2.0 * stream(seed, "costs").random((phases, threads)) - 1.0)
    )
    owner = np.broadcast_to(np.arange(threads)[None, :, None], task.shape)
    kind = owner + threads * np.arange(steps)
    names = [f"thread{t}" for t in range(threads)]
    reader = task[:, threads - stalling :, 0].ravel()
    block = np.tile(np.arange(stalling), phases)
    graph = build_graph(
        ops.ravel(),
        task_class=kind.ravel(),
        class_names=(*names, *(name + CRITICAL for name in names if steps == 2)),
        successors=edges(_pairs(task, barriers=barriers), n),
        accessed=accesses(reader, block, phase_bytes, 0, n),
        block_bytes=np.full(stalling, phase_bytes),
    )
    return Workload("threads", graph, iterations)


def _pairs(task: Int64Array, *, barriers: bool) -> list[tuple[Int64Array, Int64Array]]:
    """Return the edges among tasks by (phase, thread, step)."""
    phases, count, steps = task.shape
    pairs = [(task[:, :, :-1], task[:, :, 1:])]
    if steps == 2:
        pairs.append((task[:, :-1, 1], task[:, 1:, 1]))
    last, first = task[:-1, :, -1], task[1:, :, 0]
    if barriers:
        shape = (phases - 1, count, count)
        last = np.broadcast_to(last[:, :, None], shape)
        first = np.broadcast_to(first[:, None, :], shape)
    return [*pairs, (last, first)]
