"""A parallel loop whose independent iterations can be divided between processors and devices.

* *Tasks.* `chunks` equal chunks of consecutive iterations, the first ones one larger, for policies
  that do not divide the loop themselves; none depends on another.
* *Blocks.* One for the input and one for the output, ``units * input_bytes`` and ``units *
  output_bytes`` long (not there if nothing is read or written).
* *Operations.* With n iterations in a chunk: ``n * cpu_ops`` on processors and ``(n +
  saturation_units) * gpu_ops`` on devices (``smooth``), so that a device computes n iterations at
  ``n / (n + saturation_units)`` of its speed, half of it with `saturation_units`; or ``max(n,
  saturation_units) * gpu_ops`` (``hard``), full speed from `saturation_units` on.
* *Bytes.* A chunk reads and writes its part of the blocks, rounded down.

References
----------
Book of docs/sources, section 6.1 and Table 6.2 (the programs; Fig. 6.1: the speed of a GPU by the
size of its work).
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from simsched.workload.builder import accesses, build_graph, check_size
from simsched.workload.division import Division, divided
from simsched.workload.graph import Workload
from simsched.workload.registry import Bounds, Count, Size, SizeOrZero, generator

KINDS = ("cpu", "gpu")
#: Operations of an iteration; those of all iterations are finite then.
Operations = Annotated[float, Bounds(0, 1e18)]


@generator("divisible", small={"units": 3000, "chunks": 12, "cpu_ops": 4e4, "gpu_ops": 4e4})
def divisible(
    *,
    units: Size = 16384,
    chunks: Count = 16,
    cpu_ops: Operations = 1e5,
    gpu_ops: Operations = 1e5,
    saturation: Literal["smooth", "hard"] = "smooth",
    saturation_units: Annotated[float, Bounds(0, 2**50)] = 64.0,
    input_bytes: SizeOrZero = 16,
    output_bytes: SizeOrZero = 16,
    iterations: Count = 1,
) -> Workload:
    """Loop of independent iterations with costs on processors and GPUs, to be divided at run time.

    Parameters
    ----------
    units : int
        Iterations of the loop, W.
    chunks : int
        Chunks of the loop where the policy does not divide it.
    cpu_ops, gpu_ops : float
        Operations of an iteration on a core and on a device that is busy as a whole.
    saturation : {"smooth", "hard"}
        How the speed of a device grows with the number of iterations that it is given.
    saturation_units : float
        Iterations with which it reaches half of its speed (smooth) or all of it (hard).
    input_bytes, output_bytes : int
        Bytes that an iteration reads and writes.
    iterations : int
        How often the loop is executed, such as the iterations of a solver.
    """
    check_size("divisible", data_bytes=units * max(input_bytes, output_bytes))
    chunks = min(chunks, units)
    extra = saturation_units * gpu_ops if saturation == "smooth" else 0.0
    least = saturation_units if saturation == "hard" else 0.0
    pairs = [pair for pair in ((input_bytes, 0), (0, output_bytes)) if any(pair)]
    moved = np.array(pairs, np.float64).reshape(-1, 2)
    n_blocks = len(moved)
    tasks = np.arange(chunks)
    graph = build_graph(
        np.zeros((2, chunks)),
        kinds=KINDS,
        class_names=("chunk",),
        accessed=accesses(
            np.repeat(tasks, n_blocks), np.tile(np.arange(n_blocks), chunks), 0, 0, chunks
        ),
        block_bytes=moved.sum(axis=1).astype(np.int64) * units,
    )
    division = Division(
        units=units,
        part=tasks.astype(np.int32),
        fixed_ops=np.repeat([[0.0], [extra]], chunks, axis=1),
        unit_ops=np.repeat([[cpu_ops], [gpu_ops]], chunks, axis=1),
        unit_read_bytes=np.tile(moved[:, 0], chunks),
        unit_written_bytes=np.tile(moved[:, 1], chunks),
        least_units=np.repeat([[0.0], [least]], chunks, axis=1),
    )
    whole = divided(graph, division, division.equal_shares())
    return Workload("divisible", whole, iterations, division=division)
