"""Pipelines: chunks of data that pass through stages one after the other.

With C chunks and S stages:

* *Tasks.* A main task spawns a task per chunk and stage, chunk by chunk: ``1 + C S`` tasks. All
  tasks of a stage run the same function.
* *Edges.* From each task to the next stage of its chunk, ``C (S - 1)``; along the chunks in the
  first stage with `serial_input` and in the last with `serial_output`, C - 1 each.
* *Operations.* A chunk costs `chunk_ops`, which the stages divide in proportion to `shares`; each
  task is drawn within `spread` of that.
* *Blocks.* None: the programs are bound by computation.

References
----------
Bienia, Kumar, Singh and Li, *The PARSEC benchmark suite: characterization and architectural
implications*, Princeton TR-811-08, 2008 (stages of dedup and ferret, the first and the last of
which are serial). Book of docs/sources, section 5.10 (the same programs; inputs and times of stages
are not stated).
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from simsched.files.errors import ConfigurationError
from simsched.workload.builder import adjacency, build_graph, check_size, edges
from simsched.workload.draws import draw_costs, stream
from simsched.workload.graph import FloatArray, Workload
from simsched.workload.registry import Bounds, Cost, Count, Fraction, generator


@generator(
    "stages",
    small={"chunks": 8, "shares": "1 6 3 1", "iterations": 2},
    random_if=lambda given: given["spread"] > 0.0,
)
def stages(
    seed: int,
    *,
    chunks: Annotated[int, Bounds(1, 10**8)] = 400,
    shares: str = "1 4 4 1",
    chunk_ops: Cost = 1e7,
    spread: Fraction = 0.05,
    serial_input: bool = True,
    serial_output: bool = True,
    iterations: Count = 1,
) -> Workload:
    """Pipeline: every chunk passes through all stages, a task for each.

    Parameters
    ----------
    seed : int
        Seed of the costs.
    chunks : int
        Number of chunks.
    shares : str
        A number per stage: the work of its tasks relative to each other.
    chunk_ops : float
        Operations of all stages of a chunk.
    spread : float
        Largest deviation of a task from its stage, relative to that.
    serial_input, serial_output : bool
        Whether the first and the last stage take the chunks one after the other.
    iterations : int
        How often the graph is repeated.
    """
    weights = _shares(shares)
    n_stages = len(weights)
    n_tasks = 1 + chunks * n_stages
    check_size("stages", tasks=n_tasks)
    task = 1 + np.arange(n_tasks - 1).reshape(chunks, n_stages)
    pairs = [(task[:, :-1], task[:, 1:])]
    pairs += [(task[:-1, 0], task[1:, 0])] if serial_input else []
    pairs += [(task[:-1, -1], task[1:, -1])] if serial_output and n_stages > 1 else []
    mean = np.tile(chunk_ops * weights / weights.sum(), chunks)
    drawn = draw_costs(stream(seed, "costs"), n_tasks - 1, 1.0, "uniform", spread)
    graph = build_graph(
        np.concatenate(([0.0], mean * drawn)),
        task_class=np.concatenate(([0], np.tile(1 + np.arange(n_stages), chunks))),
        class_names=("main", *(f"stage{i}" for i in range(n_stages))),
        children=adjacency(np.zeros(n_tasks - 1, int), task.ravel(), n_tasks),
        successors=edges(pairs, n_tasks),
    )
    return Workload("stages", graph, iterations)


def _shares(text: str) -> FloatArray:
    """Return the numbers of a text."""
    try:
        shares = np.array([float(word) for word in text.split()])
    except ValueError:
        shares = np.zeros(0)
    if not len(shares) or not np.isfinite(shares).all() or shares.min() < 0 or shares.sum() == 0:
        raise ConfigurationError(
            f"workload stages: shares: found {text!r}, accepted numbers of 0 or more, not all 0"
        )
    return shares
