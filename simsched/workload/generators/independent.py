"""Independent tasks without blocks.

With ``costs: bench`` they have ``(0.5 + rnd()) * 1e6`` operations in the order of tasks
(:mod:`simsched.workload.bench`).
"""

from __future__ import annotations

from typing import Literal

from simsched.workload.bench import bench_costs
from simsched.workload.builder import build_graph, check_size
from simsched.workload.draws import draw_costs, stream
from simsched.workload.graph import Workload
from simsched.workload.registry import Cost, Count, Fraction, generator


@generator(
    "independent",
    small={"tasks": 40, "costs": "uniform", "iterations": 2},
    random_if=lambda given: given["costs"] != "constant",
)
def independent(
    seed: int,
    *,
    tasks: Count = 1000,
    costs: Literal["constant", "uniform", "exponential", "lognormal", "bench"] = "constant",
    mean_ops: Cost = 1e6,
    spread: Fraction = 0.5,
    iterations: Count = 1,
) -> Workload:
    """Independent tasks with equal or drawn costs.

    Parameters
    ----------
    seed : int
        Seed of the costs.
    tasks : int
        How many.
    costs : {"constant", "uniform", "exponential", "lognormal", "bench"}
        Distribution of the costs; ``bench`` gives those of the benchmark with known makespans.
    mean_ops : float
        Mean cost in operations; unused with ``bench``.
    spread : float
        Half width (uniform) or standard deviation (lognormal) relative to the mean.
    iterations : int
        How often the graph is repeated.
    """
    check_size("independent", tasks=tasks)
    if costs == "bench":
        ops = bench_costs(tasks)
    else:
        ops = draw_costs(stream(seed, "costs"), tasks, mean_ops, costs, spread)
    return Workload("independent", build_graph(ops), iterations)
