"""CAB: cache-aware bi-tier task stealing between and inside sockets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.machine.model import Machine
from simsched.policy.algorithms.work_stealing.random_stealing import stealing_plan
from simsched.policy.contract.base import (
    CHILD_FIRST,
    PARENT_FIRST,
    AcquireStep,
    Counters,
    Plan,
    PoolGroup,
    Update,
    View,
    param,
)
from simsched.policy.contract.registry import preset, register
from simsched.policy.parts.footprint import (
    INNER,
    ROOT,
    UPPER,
    Tiers,
    cut_at,
    cut_by_footprint,
    cut_by_level,
    estimated_footprint,
    exact_footprint,
    input_bytes,
    shared_cache_bytes,
)
from simsched.policy.parts.placement import PlacedPolicy
from simsched.policy.parts.spawn_cost import slower_spawns
from simsched.policy.parts.subgraphs import subtree_sums
from simsched.workload.graph import TaskGraph, Workload

WORKER, ABOVE, SUBTREE = 0, 1, 2  #: pool groups
GROUP_OF_TIER = {INNER: WORKER, UPPER: ABOVE, ROOT: SUBTREE}
EQUATION = -1  #: the boundary level follows from Eq. 3.4


def private_level(machine: Machine) -> int:
    """Return the outermost level of caches whose instances serve one core each, at least 0."""
    private = [
        level
        for level, cache in enumerate(machine.caches)
        if len(np.unique(cache.core_instance)) == machine.n_cores
    ]
    return private[-1] if private else 0


def root_degree(graph: TaskGraph) -> int:
    """Return how many children the first task without a parent has, at which the recursion begins.

    Parameters
    ----------
    graph : TaskGraph
        A spawn tree.
    """
    root = int(np.flatnonzero(graph.parent < 0)[0])
    return int(graph.child_ptr[root + 1] - graph.child_ptr[root])


def boundary_level(degree: int, n_sockets: int, data_bytes: int, cache_bytes: int) -> int:
    """Return the level of a full tree at which its subtrees fit and are enough for all sockets.

    Parameters
    ----------
    degree : int
        Children of each inner task, D.
    n_sockets : int
        Sockets M.
    data_bytes : int
        Size of the input, S_d.
    cache_bytes : int
        Shared cache of a socket, S_c; 0 when there is none to fit.

    Returns
    -------
    int
        Level of the roots of subtrees, the recursion's root having level 1; 0 for one socket or a
        tree that does not branch, which random stealing serves.

    Notes
    -----
    ``max(ceil(log_D M + 1), ceil(log_D(S_d / S_c) + 1))``, in integers: the lowest level L with
    ``D^(L - 1) >= M`` and ``S_d <= S_c D^(L - 1)``.

    References
    ----------
    Q. Chen, M. Guo, *Task Scheduling for Multi-core and Parallel Architectures*, Springer 2017, Eq.
    3.1-3.4.

    Examples
    --------
    Heat on 3072 x 2048 doubles in two copies, 96 MB, on four sockets with 6 MB each:

    >>> boundary_level(2, 4, 96 * 2**20, 6 * 2**20)
    5
    """
    if n_sockets < 2 or degree < 2:
        return 0
    level, subtrees = 1, 1
    while subtrees < n_sockets or (cache_bytes > 0 and data_bytes > cache_bytes * subtrees):
        level, subtrees = level + 1, subtrees * degree
    return level


@dataclass(eq=False)
class CabState:
    """What CAB remembers during a run.

    Parameters
    ----------
    tiers : Tiers, optional
        Cut of the graph that runs; None while it runs under random stealing.
    """

    tiers: Tiers | None = None


@register("cab")
@dataclass(frozen=True, kw_only=True)
class Cab(PlacedPolicy):
    """Cache-aware bi-tier stealing (CAB): sockets take subtrees that fit their shared cache.

    Parameters
    ----------
    boundary : {"level", "estimate", "profile"}
        What cuts the tree: one level of it (full trees, FTO), footprints estimated from the size of
        the input (GTO for programs that are not iterative), or footprints measured in iteration 1
        (GTO for iterative programs).
    boundary_level : int
        Level of the roots of subtrees; -1 for Eq. 3.4, 0 for random stealing (programs bound by
        computation).
    root_level : int
        Level of tasks without a parent: 1 if the tree begins with the recursion, 0 if its root is
        the program that starts the recursion.
    input_bytes : int
        Size of the input in bytes, as given on the command line; 0 for the size of all data that
        the program touches.
    soid : {"pmc", "exact"}
        Footprints after iteration 1: the bytes that missed the private caches, added up from the
        leaves to the top, or all data that a subtree involves, shared ones once.
    soid_scale : float
        Factor on these.
    cpu_bound_bytes_per_op : float
        A program that missed fewer bytes per executed operation in iteration 1, both as counted, is
        left to random stealing.
    accept_equal : bool
        Whether a footprint equal to the cache fits.
    every_socket : bool
        Whether large subtrees are divided until there are as many as sockets: in each round those
        with more than half the footprint of the largest.
    small_root : {"random_stealing", "one_socket"}
        What becomes of a program whose data fit one cache as a whole.
    heads_only : bool
        Whether only the first worker of a socket takes tasks between sockets.
    exclusive : bool
        Whether a socket works on one subtree at a time.
    subtree_affinity : {"none", "home_socket"}
        Whether the roots of subtrees enter the pool of the socket whose task creates them, or that
        of the socket that ran them in the iteration before, to which others leave the last one.
    spawn_s : float
        Time in seconds that each spawn takes longer, for finding out the tier of the child.
    profile_s : float
        Time in seconds that each task takes longer in a profiled iteration, for reading counters
        and keeping the result.

    Notes
    -----
    Tasks on the boundary or above it (*between sockets*) are spawned parent first into the pool of
    the creator's socket, oldest first; tasks below (*inside a socket*) child first into the
    creator's own pool. A worker looks at its own pool, then at those of its socket's other workers;
    if both are empty, the socket's first worker takes a task between sockets, of its own socket
    before others, unless the socket has a subtree unfinished (the busy state).

    A worker that returns the last child of a suspended task resumes it. So the program goes on, and
    spawns the tree of the next iteration, in the socket that ended last.

    Levels and sizes are known before anything runs, so the initialisation is divided between
    sockets, too; iteration 1 finds its subtrees there by their identifiers (child i of task S is
    S_i). Programs that are profiled have no tiers before iteration 2, and homes from iteration 3.

    Interpretations. The sockets are the NUMA domains that have workers. Tasks above the boundary do
    not make a socket busy: while the first worker runs one, nobody else can take another, and one
    that is suspended must not keep its socket from its own children. They have a pool of their own
    and come before roots of subtrees, which in a full tree is the order of one pool. Pools between
    sockets have one owner if `heads_only`, who needs no lock; otherwise every operation takes it,
    and several workers of a socket may run tasks above the boundary at the same time.
    Owners take the newest of their own tasks, thieves the oldest; victims are uniformly random.

    The book asks of any boundary that there be subtrees for all sockets, but its rule for
    footprints does not see to it: 8 MB make two subtrees for four sockets. `every_socket` does;
    without it the rule is used as printed.

    By the text a task between sockets enters the pool of the socket that creates it
    (`subtree_affinity` "none"). The counted misses of the book contradict that: subtrees then
    change their socket in most iterations and fetch their lines again, but only a quarter of the
    lines missed the shared caches, and that is what misses if subtrees return ("home_socket"). So
    what was measured had homes, and the default has.

    Programs without a spawn tree, or with a dependence from outside into a subtree, are left to
    random stealing, and so are one socket, and (`small_root`) programs that fit one cache. Without
    caches there are no footprints to fit. With `boundary` "level" the degree of the tree is that of
    its first root.

    A program is profiled under random stealing, parent first. Private caches are those that serve
    one core; their outermost level is counted. Below which density of misses a program counts as
    bound by computation is not published; by default only its footprint decides.

    Profiling is charged after iteration 1, ``profile_s`` per task over all workers; ``spawn_s`` is
    part of every creation. Neither has a published value.

    References
    ----------
    Q. Chen, M. Guo, *Task Scheduling for Multi-core and Parallel Architectures*, Springer 2017,
    sections 3.3-3.5, Eq. 3.1-3.6. Q. Chen, Z. Huang, M. Guo, J. Zhou, *CAB*, ICPP 2011.
    """

    boundary: str = param("level", choices=("level", "estimate", "profile"))
    boundary_level: int = param(EQUATION, low=EQUATION)
    root_level: int = param(1, low=0, high=1)
    input_bytes: int = param(0, low=0)
    soid: str = param("pmc", choices=("pmc", "exact"))
    soid_scale: float = param(1.0, low=0.0)
    cpu_bound_bytes_per_op: float = param(0.0, low=0.0)
    accept_equal: bool = param(True)
    every_socket: bool = param(True)
    small_root: str = param("random_stealing", choices=("random_stealing", "one_socket"))
    heads_only: bool = param(True)
    exclusive: bool = param(True)
    subtree_affinity: str = param("home_socket", choices=("none", "home_socket"))
    spawn_s: float = param(0.0, low=0.0, high=1e6)
    profile_s: float = param(0.0, low=0.0, high=1e6)

    def start(self, view: View) -> CabState:
        """Return an empty record."""
        return CabState()

    def prepare(self, view: View) -> Workload:
        """Return the program with what a spawn costs more."""
        return slower_spawns(view, self.spawn_s)

    def plan(self, view: View, state: CabState, graph: TaskGraph) -> Plan:
        """Return random stealing for what has no tiers (yet), otherwise the bi-tier plan."""
        if not self.is_profiled(view):
            return self._bi_tier(view, state, graph)
        if graph is view.workload.init:
            return stealing_plan()
        plan = stealing_plan("parent_first", local_take="oldest")
        return replace(plan, counter_group=np.arange(graph.n_tasks, dtype=np.int32))

    def on_iteration(self, view: View, state: CabState, counters: Counters) -> Update | None:
        """Return the plan after profiling, and where subtrees belong when they have a home."""
        graph, init = view.workload.graph, view.workload.init
        if self.is_profiled(view) and counters.iteration == 1:
            state.tiers = self._profiled(view, graph, counters)
            overhead_s = self.profile_s * graph.n_tasks / view.n_workers
            return Update(plan=self._plan(graph, state.tiers), overhead_s=overhead_s)
        if self.subtree_affinity == "none" or state.tiers is None:
            return None
        last_socket = view.worker_domain[counters.executed_by]
        if counters.iteration == 0:
            state.tiers = self.tiers(view, graph)
            if state.tiers is None or init is None:
                return None
            last_socket = same_places(graph, state.tiers.roots, init, last_socket)
        return Update(plan=self._plan(graph, state.tiers, last_socket))

    def is_profiled(self, view: View) -> bool:
        """Return whether iteration 1 is measured instead of cut, so that the next ones can be."""
        return self.boundary == "profile"

    def tiers(
        self, view: View, graph: TaskGraph, footprint: NDArray[Any] | None = None
    ) -> Tiers | None:
        """Return the cut of a graph, None where random stealing is left to run it.

        Parameters
        ----------
        view : View
            The run.
        graph : TaskGraph
            The graph.
        footprint : ndarray, shape (n_tasks,), optional
            Footprint of each task in bytes as profiled; exact by default. Estimated where nothing
            is profiled.
        """
        sockets = np.unique(view.worker_domain)
        cache = shared_cache_bytes(view.machine, sockets)
        fits_nowhere = self.boundary != "level" and cache == 0
        if len(graph.child) == 0 or len(sockets) < 2 or self.boundary_level == 0 or fits_nowhere:
            return None
        data = self.input_bytes or input_bytes(graph)
        if self.boundary == "level":
            found = self._cut_by_level(graph, len(sockets), data, cache)
        else:
            if not self.is_profiled(view):
                footprint = estimated_footprint(graph, data)
            elif footprint is None:
                footprint = exact_footprint(graph) * self.soid_scale
            found = self._cut_by_footprint(graph, footprint, len(sockets), cache)
        return found if found is not None and found.separable else None

    def _cut_by_level(
        self, graph: TaskGraph, n_sockets: int, data: int, cache: int
    ) -> Tiers | None:
        """Return the cut at the boundary level."""
        level = self.boundary_level
        if level == EQUATION:
            level = boundary_level(root_degree(graph), n_sockets, data, cache)
        return cut_by_level(graph, level, root_level=self.root_level) if level > 0 else None

    def _cut_by_footprint(
        self, graph: TaskGraph, footprint: NDArray[Any], n_sockets: int, cache: int
    ) -> Tiers | None:
        """Return the cut into subtrees that fit the cache."""
        found = cut_by_footprint(graph, footprint, cache, accept_equal=self.accept_equal)
        if not (found.of_task == UPPER).any():
            return None if self.small_root == "random_stealing" else found
        return _divided(graph, footprint, found, n_sockets) if self.every_socket else found

    def _profiled(self, view: View, graph: TaskGraph, counters: Counters) -> Tiers | None:
        """Return the cut that follows from what iteration 1 has measured."""
        if not view.machine.caches:
            return None
        own = counters.group_missing_bytes[:, private_level(view.machine)]
        # Retired instructions are counted like the misses: no information mode hides them.
        ops = graph.ops.min(axis=0) + graph.join_ops.min(axis=0)
        if own.sum() < self.cpu_bound_bytes_per_op * ops.sum():
            return None
        measured = subtree_sums(graph, own) if self.soid == "pmc" else exact_footprint(graph)
        return self.tiers(view, graph, measured * self.soid_scale)

    def _bi_tier(self, view: View, state: CabState, graph: TaskGraph) -> Plan:
        """Return the plan for a graph that is cut before it runs, and note the cut."""
        state.tiers = self.tiers(view, graph)
        return self._plan(graph, state.tiers)

    def _plan(
        self,
        graph: TaskGraph,
        tiers: Tiers | None,
        last_socket: NDArray[np.int32] | None = None,
    ) -> Plan:
        """Return the bi-tier plan.

        Parameters
        ----------
        graph : TaskGraph
            The graph.
        tiers : Tiers or None
            The cut.
        last_socket : ndarray of int32, shape (n_tasks,), optional
            Socket on which each task last ended; only roots of subtrees count.
        """
        if tiers is None:
            return stealing_plan()
        has_home = last_socket is not None
        instance_of = np.full(len(tiers.of_task), -1, np.int32)
        if last_socket is not None:
            instance_of[tiers.roots] = last_socket[tiers.roots]
        group_of = np.zeros(len(tiers.of_task), np.int8)
        for tier, group in GROUP_OF_TIER.items():
            group_of[tiers.of_task == tier] = group
        shared = has_home or not self.heads_only
        return Plan(
            acquire=self._search_order(has_home=has_home),
            pool_groups=(
                PoolGroup("worker"),
                PoolGroup("upper", scope="domain", locked=not self.heads_only),
                PoolGroup("subtree", scope="domain", locked=shared, marks_active=True),
            ),
            spawn_order=np.where(tiers.of_task == INNER, CHILD_FIRST, PARENT_FIRST).astype(
                np.uint8
            ),
            group_of=group_of,
            instance_of=instance_of,
            roots="last",
        )

    def _search_order(self, *, has_home: bool) -> tuple[AcquireStep, ...]:
        """Return where a free worker looks for work."""
        when = ("head_worker",) * self.heads_only + ("domain_inactive",) * self.exclusive
        return (
            AcquireStep("worker", "own", "newest"),
            AcquireStep("worker", "same_domain", "oldest"),
            AcquireStep("upper", "own", "oldest", when),
            AcquireStep("subtree", "own", "oldest", when),
            AcquireStep("upper", "other_domains", "oldest", when),
            AcquireStep("subtree", "other_domains", "oldest", when, least=2 if has_home else 1),
        )


def _divided(graph: TaskGraph, footprint: NDArray[Any], tiers: Tiers, n_sockets: int) -> Tiers:
    """Return tiers whose large subtrees are divided until there are enough for all sockets."""
    n_children = np.diff(graph.child_ptr)
    while len(tiers.roots) < n_sockets:
        divisible = tiers.roots[n_children[tiers.roots] > 0]
        if len(divisible) == 0:
            break
        large = divisible[footprint[divisible] > footprint[divisible].max() / 2]
        begins = np.isin(graph.parent, large)
        begins[np.setdiff1d(tiers.roots, large)] = True
        tiers = cut_at(graph, begins)
    return tiers


def same_places(
    graph: TaskGraph, roots: NDArray[np.int32], other: TaskGraph, socket: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return for each root the socket of the task with the same identifier in another graph.

    Parameters
    ----------
    graph : TaskGraph
        The graph of the roots.
    roots : ndarray of int32
        Tasks of it.
    other : TaskGraph
        Where they are looked for.
    socket : ndarray of int32, shape (other.n_tasks,)
        Sockets of its tasks.

    Returns
    -------
    ndarray of int32, shape (graph.n_tasks,)
        -1 for tasks that are no roots.

    Notes
    -----
    Child i of a task with the identifier S has the identifier S_i. Where the other tree ends
    earlier, the nearest ancestor counts.
    """
    tops, other_tops = (np.flatnonzero(tree.parent < 0).tolist() for tree in (graph, other))
    found = np.full(graph.n_tasks, -1, np.int32)
    for root in roots.tolist():
        path, task = [], root
        while (parent := int(graph.parent[task])) >= 0:
            siblings = graph.child[graph.child_ptr[parent] : graph.child_ptr[parent + 1]]
            path.append(int(np.flatnonzero(siblings == task)[0]))
            task = parent
        there = other_tops[min(tops.index(task), len(other_tops) - 1)]
        for number in reversed(path):
            first, end = other.child_ptr[there : there + 2].tolist()
            if first + number >= end:
                break
            there = int(other.child[first + number])
        found[root] = socket[there]
    return found


preset("cab_fto", Cab, "CAB for full trees: subtrees begin at one level.")
for _name, _summary in (
    ("cab_gto_profile", "footprints are measured in iteration 1."),
    ("cats", "cab_gto_profile under its earlier name."),
):
    preset(
        _name,
        Cab,
        f"CAB for any tree of an iterative program: {_summary}",
        boundary="profile",
        spawn_s=1e-7,
        profile_s=2e-7,
    )
preset(
    "cab_gto_compile",
    Cab,
    "CAB for any tree of a program that runs once: footprints follow from the size of the input.",
    boundary="estimate",
)
preset(
    "cab_multi_subtree",
    Cab,
    "CAB whose sockets may work on several subtrees at a time.",
    exclusive=False,
)
preset(
    "cab_all_steal",
    Cab,
    "CAB in which every worker may take tasks between sockets.",
    heads_only=False,
)
