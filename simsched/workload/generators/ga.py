"""Genetic algorithm on islands: one generation as a spawn tree.

With I islands of P individuals of g bytes, and groups of at most `leaf_individuals`:

* *Tasks.* The root spawns a task per island, which divides its individuals in halves down to the
  groups, the leaves. With L leaves per island: ``1 + I (2 L - 1)`` tasks.
  With one group, the island is its own leaf.
* *Operations.* A leaf evaluates its individuals, each at a cost drawn around `fitness_ops`. The
  join of an island selects and breeds: ``breed_ops`` per individual.
* *Blocks.* One per group.
* *Bytes.* A leaf reads its block. The join of an island reads and writes all its blocks. The join
  of the root moves `migrants` individuals from every island to the next, within their first groups:
  ``migrants g`` bytes read and as many written per island, none with a single island.
* *Initialisation.* One independent task per block writes it.

References
----------
Whitley, Rana and Heckendorn, *The island model genetic algorithm: on separability, population size
and convergence*, Journal of Computing and Information Technology 7(1), 1999. Book of docs/sources,
section 3.8 (program ``GA``, an island model, CPU-bound; no size is stated).
"""

from __future__ import annotations

import numpy as np

from simsched.workload.builder import check_size, first_touch_loop
from simsched.workload.call_tree import CallTree
from simsched.workload.draws import Distribution, draw_costs, stream
from simsched.workload.graph import Workload
from simsched.workload.registry import Cost, Count, Fraction, Size, generator
from simsched.workload.spawn_tree import SpawnTree, divide_in_halves

_MIGRATE, _BREED, _DIVIDE, _EVALUATE = range(4)


@generator(
    "ga",
    small={"islands": 3, "individuals": 16, "leaf_individuals": 4, "iterations": 3},
    random_if=lambda given: given["fitness_costs"] != "constant",
)
def ga(
    seed: int,
    *,
    islands: Count = 16,
    individuals: Count = 256,
    genome_bytes: Size = 256,
    leaf_individuals: Count = 8,
    migrants: Count = 2,
    fitness_ops: Cost = 20_000.0,
    fitness_costs: Distribution = "uniform",
    spread: Fraction = 0.5,
    breed_ops: Cost = 500.0,
    init_ops_per_byte: Cost = 1.0,
    iterations: Count = 50,
) -> Workload:
    """Genetic algorithm on islands: generations of evaluation, breeding and migration.

    Parameters
    ----------
    seed : int
        Seed of the costs.
    islands : int
        Number of islands I.
    individuals : int
        Individuals P of each island.
    genome_bytes : int
        Bytes g of an individual.
    leaf_individuals : int
        Most individuals that a leaf evaluates.
    migrants : int
        Individuals that move to the next island, at most a first group of them.
    fitness_ops : float
        Mean operations of evaluating an individual.
    fitness_costs : {"constant", "uniform", "exponential", "lognormal"}
        Distribution of these.
    spread : float
        Half width (uniform) or standard deviation (lognormal) relative to the mean.
    breed_ops : float
        Operations of breeding an individual.
    init_ops_per_byte : float
        Operations of the initialisation.
    iterations : int
        Number of generations, which all cost the same.
    """
    tree = divide_in_halves.grow(individuals, leaf_individuals + 1)
    groups = len(tree.leaves)
    everybody = islands * individuals
    check_size("ga", tasks=1 + islands * tree.n_tasks, data_bytes=4 * everybody * genome_bytes)
    costs = draw_costs(stream(seed, "fitness"), everybody, fitness_ops, fitness_costs, spread)
    sizes = np.tile(np.diff(tree.bounds), islands) * genome_bytes
    calls = CallTree(("migrate", "breed", "divide", "evaluate"))
    root = calls.call(None, _MIGRATE)
    for number in range(islands):
        own = costs[number * individuals : (number + 1) * individuals]
        before = np.concatenate(([0.0], np.cumsum(own)))
        blocks = sizes[:groups].tolist(), number * groups
        _add_island(calls, root, tree, before, individuals * breed_ops, *blocks)
    if islands > 1:
        moved = min(migrants * genome_bytes, int(sizes[0]))
        for number in range(islands):
            following = (number + 1) % islands
            calls.access(root, number * groups, moved, 0, in_join=True)
            calls.access(root, following * groups, 0, moved, in_join=True)
    init = first_touch_loop(sizes, sizes * init_ops_per_byte)
    return Workload("ga", calls.graph(sizes), iterations, init)


def _add_island(
    calls: CallTree,
    root: int,
    tree: SpawnTree,
    before: np.ndarray,
    breed_ops: float,
    block_bytes: list[int],
    first_block: int,
) -> None:
    """Add the tasks of an island whose groups are the leaves of a tree, each with a block.

    `before` has the operations of the individuals before each.
    """
    parent = np.zeros(tree.n_tasks, dtype=np.int64)
    parent[tree.children.target] = np.repeat(np.arange(tree.n_tasks), np.diff(tree.children.ptr))
    begin, divided = calls.n_tasks, tree.n_tasks > 1
    blocks = list(enumerate(block_bytes, first_block))
    own = iter(blocks)
    for task, is_leaf in enumerate(tree.is_leaf):
        ops = float(before[tree.last[task]] - before[tree.first[task]]) if is_leaf else 0.0
        if task == 0:
            alone = 0.0 if divided else breed_ops
            me = calls.call(root, _BREED, ops + alone, breed_ops - alone)
        else:
            caller = begin + int(parent[task])
            me = calls.call(caller, _EVALUATE if is_leaf else _DIVIDE, ops)
        if is_leaf:
            block, size = next(own)
            calls.access(me, block, size, 0)
    for block, size in blocks:
        calls.access(begin, block, size, size, in_join=divided)
