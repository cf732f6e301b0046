"""Programs in synchronous rounds over a random graph whose in-degrees follow a power law.

See :mod:`simsched.hardware.programs._vertices` for tasks, blocks, bytes and operations. Vertices
with many edges make their leaves long, hence the irregularity. Which tasks have nothing left to
change depends on the data, and the task graph does not: every round visits every edge.

The generators of the same names in :mod:`simsched.workload.generators.vertex_sweeps` draw their
accesses from distributions; here the edges exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from simsched.hardware.program import Program, program
from simsched.hardware.programs._common import Seed, exact, largest_error, refusal
from simsched.hardware.programs._vertices import (
    Edges,
    PulledGraph,
    VertexProgram,
    divide_vertices,
    pulled,
    random_edges,
)
from simsched.workload.draws import stream
from simsched.workload.family import Member
from simsched.workload.registry import Bounds, Count, Fraction
from simsched.workload.spawn_tree import SpawnTree

MAX_LABELS = 256
TOLERANCE = 1e-11  # of ranks

Vertices = Annotated[int, Bounds(2, 2**26)]
PartVertices = Annotated[int, Bounds(1, 2**26)]
Skew = Annotated[float, Bounds(0, 0.9)]
Rounds = Annotated[int, Bounds(1, 10**6)]
Degree = Annotated[float, Bounds(0, 1000)]
Labels = Annotated[int, Bounds(1, MAX_LABELS)]


@dataclass(frozen=True)
class Options:
    """What the rule of a program needs to know beside its graph."""

    vertices: int
    damping: float
    labels: int
    #: Number of rounds, 0 for as many as it takes.
    rounds: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class VertexRule(Member):
    """A program over vertices; its function in C is in ``native/programs/vertices.c``."""

    rule: Callable[[SpawnTree, Edges, Options], Program]
    #: Smallest number of edges that begin at a vertex.
    lowest_degree: int = 0
    #: Whether values flow along edges in one direction only.
    is_directed: bool = False
    small: Mapping[str, Any]


def vertex_program(
    kind: VertexRule,
    *,
    vertices: Vertices = 2**18,
    degree: Degree = 8.0,
    skew: Skew = 0.6,
    popular_run: Count = 1024,
    part_vertices: PartVertices = 2**12,
    damping: Fraction = 0.85,
    labels: Labels = 16,
    iterations: Rounds | None = None,
    seed: Seed = 0,
) -> Program:
    """Return a program that follows a rule on a random graph.

    Parameters
    ----------
    kind : VertexRule
        The rule.
    vertices : int
        Number of vertices.
    degree : float
        Half the mean number of neighbours.
    skew : float
        Exponent of the popularity of vertices, 0 to 0.9.
    popular_run : int
        Vertices of consecutive popularity that lie side by side.
    part_vertices : int
        Most vertices of a leaf.
    damping : float
        Probability of following an edge.
    labels : int
        Number of labels.
    iterations : int, optional
        Number of rounds.
    seed : int
        Seed of the graph.
    """
    tree = divide_vertices(kind.name, vertices, part_vertices)
    edges = random_edges(seed, vertices, degree, kind.lowest_degree, skew, popular_run)
    edges = edges if kind.is_directed else edges.both_ways()
    return kind.rule(tree, edges, Options(vertices, damping, labels, iterations or 0, seed))


def _pagerank(tree: SpawnTree, edges: Edges, options: Options) -> Program:
    vertices, damping = options.vertices, options.damping
    out_degree = np.bincount(edges.origin, minlength=vertices)
    constant = out_degree.astype(np.int32)
    made = VertexProgram("pagerank", "rank", tree, pulled(edges, vertices), constant, np.float64)

    def result_error(share: NDArray[np.float64]) -> float:
        wanted = _power_iteration(edges, out_degree, damping, options.rounds)
        return largest_error(share * out_degree, wanted, TOLERANCE)

    return made.program(
        options.rounds,
        result_error=result_error,
        constants=(1.0 / vertices, (1.0 - damping) / vertices, damping),
    )


def _power_iteration(
    edges: Edges, out_degree: NDArray[np.int64], damping: float, iterations: int
) -> NDArray[np.float64]:
    """Return the ranks by multiplying with the transition matrix."""
    vertices = len(out_degree)
    chance = 1.0 / out_degree[edges.origin]
    matrix = sparse.csr_array((chance, (edges.target, edges.origin)), shape=(vertices, vertices))
    ranks = np.full(vertices, 1.0 / vertices)
    for _ in range(iterations):
        ranks = (1.0 - damping) / vertices + damping * (matrix @ ranks)
    return ranks


def _label_propagation(tree: SpawnTree, edges: Edges, options: Options) -> Program:
    vertices, labels = options.vertices, options.labels
    first = stream(options.seed, "labels").integers(0, labels, vertices, dtype=np.int32)
    graph = pulled(edges, vertices)
    return VertexProgram("label_propagation", "vote", tree, graph, first, np.int32).program(
        options.rounds,
        result_error=lambda found: exact(found, _votes(edges, first, labels, options.rounds)),
        params=(labels,),
    )


def _votes(
    edges: Edges, first: NDArray[np.int32], labels: int, iterations: int
) -> NDArray[np.int64]:
    """Return the labels by counting all pairs of a vertex and a neighbour's label at once."""
    label, ballot = first.astype(np.int64), edges.target * labels
    for _ in range(iterations):
        votes = np.bincount(ballot + label[edges.origin], minlength=len(first) * labels)
        votes = votes.reshape(len(first), labels)
        label = np.where(votes.any(axis=1), votes.argmax(axis=1), label)
    return label


def _connected_components(tree: SpawnTree, edges: Edges, options: Options) -> Program:
    vertices = options.vertices
    graph = pulled(edges, vertices)
    needed = _rounds_needed(graph)
    rounds = options.rounds or needed + 1
    if rounds < needed:
        accepted = f"{needed} or more for this graph"
        raise refusal("connected_components", "iterations", rounds, accepted)
    first = np.arange(vertices, dtype=np.int32)
    return VertexProgram("connected_components", "spread", tree, graph, first, np.int32).program(
        rounds, result_error=lambda found: exact(found, _smallest_labels(edges, vertices))
    )


def _rounds_needed(graph: PulledGraph) -> int:
    """Return the number of rounds after which no label changes any more."""
    label = np.arange(len(graph.degree), dtype=np.int64)
    joined = np.flatnonzero(graph.degree)
    rounds = 0
    while len(joined):
        around = np.minimum.reduceat(label[graph.origin], graph.ptr[joined])
        smaller = np.minimum(label[joined], around)
        if np.array_equal(smaller, label[joined]):
            break
        label[joined] = smaller
        rounds += 1
    return rounds


def _smallest_labels(edges: Edges, vertices: int) -> NDArray[np.int64]:
    """Return the smallest vertex of each vertex's component."""
    ones = np.ones(len(edges.origin), dtype=np.int32)
    matrix = sparse.coo_array((ones, (edges.target, edges.origin)), shape=(vertices, vertices))
    count, component = csgraph.connected_components(matrix, directed=False)
    smallest = np.full(count, vertices, dtype=np.int64)
    np.minimum.at(smallest, component, np.arange(vertices))
    return smallest[component]


_ANY = "vertices degree skew popular_run part_vertices iterations seed"
_SMALL = {"vertices": 3000, "part_vertices": 200, "popular_run": 50}

_RULES = (
    VertexRule(
        name="pagerank",
        summary="PageRank by pulling, on a random graph.",
        takes=f"{_ANY} damping",
        defaults={"degree": 16.0, "iterations": 20},
        hints={"degree": Annotated[float, Bounds(1, 1000)]},
        texts={"degree": "Mean number of outgoing edges, at least 1."},
        small={**_SMALL, "iterations": 3},
        rule=_pagerank,
        lowest_degree=1,
        is_directed=True,
        notes="""
            Leaves are ``rank``. With damping d, V vertices and out-degrees ``o``, a round computes
            ``r[v] = (1 - d) / V + d * sum(r[u] / o[u])`` over all edges from u to v. Each vertex
            has at least one outgoing edge, so that the ranks add up to 1.
        """,
        references="""
            Page, Brin, Motwani and Winograd, *The PageRank citation ranking: bringing order to the
            Web*, Stanford InfoLab technical report 1999-66. Beamer, Asanović and Patterson, *The
            GAP benchmark suite*, arXiv:1508.03619, 2015 (pulling).
        """,
    ),
    VertexRule(
        name="label_propagation",
        summary="Label propagation: every vertex takes its neighbours' most frequent label.",
        takes=f"{_ANY} labels",
        defaults={"vertices": 2**17, "part_vertices": 2**11, "iterations": 40},
        texts={"seed": "Seed of the graph and the first labels."},
        small={**_SMALL, "labels": 5, "iterations": 3},
        rule=_label_propagation,
        notes="""
            Leaves are ``vote``. In a round every vertex takes the label that is most frequent among
            its neighbours, the smallest of these in a tie; a vertex without neighbours keeps its
            own. All vertices change at the same time. A pair joined by several edges votes once for
            each. The first labels are random. Each vertex also clears and compares one counter per
            label, work that is proportional to the number of vertices.
        """,
        references="""
            Raghavan, Albert and Kumara, *Near linear time algorithm to detect community structures
            in large-scale networks*, Physical Review E 76, 2007. Ugander and Backstrom, *Balanced
            label propagation for partitioning massive graphs*, WSDM 2013 (a fixed number of labels,
            drawn at random; without its balancing).
        """,
    ),
    VertexRule(
        name="connected_components",
        summary="Labels of connected components, by spreading the smallest.",
        takes=_ANY,
        defaults={"vertices": 2**19, "degree": 2.0, "skew": 0.5, "part_vertices": 2**13},
        texts={
            "iterations": "Number of rounds; as many as it takes, and one more that changes"
            " nothing, by default.",
        },
        small=_SMALL,
        rule=_connected_components,
        notes="""
            Leaves are ``spread``. The first label of a vertex is its number. In a round every
            vertex takes the smallest among its own and its neighbours' labels, all at the same
            time, until no label changes; then two vertices have the same label exactly if they are
            connected. A label advances by one edge per round, so the number of rounds is at most
            the longest of all shortest paths.
        """,
        references="""
            Shiloach and Vishkin, *An O(log n) parallel connectivity algorithm*, Journal of
            Algorithms 3, 1982 (without its hooking and jumping). Slota, Rajamanickam and Madduri,
            *BFS and coloring-based parallel algorithms for strongly connected components and
            related problems*, IPDPS 2014 (spreading of labels).
        """,
    ),
)

for _kind in _RULES:
    globals()[_kind.name] = program(small=_kind.small)(
        _kind.of(vertex_program, _kind, module=__name__)
    )
