"""Label propagation with a fixed number of labels, on an undirected random graph.

See :mod:`simsched.hardware.programs._vertices` for tasks, blocks, bytes and operations; leaves are
``vote``. In a round every vertex takes the label that is most frequent among its neighbours, the
smallest of these in a tie; a vertex without neighbours keeps its own. All vertices change at the
same time. A pair joined by several edges votes once for each.

The first labels are random. Each vertex also clears and compares one counter per label, work that
is proportional to the number of vertices.

References
----------
Raghavan, Albert and Kumara, *Near linear time algorithm to detect community structures in
large-scale networks*, Physical Review E 76, 2007. Ugander and Backstrom, *Balanced label
propagation for partitioning massive graphs*, WSDM 2013 (a fixed number of labels, drawn at random;
without its balancing).
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from simsched.hardware.program import Program, program
from simsched.hardware.programs._common import Seed, checked
from simsched.hardware.programs._counted import exact
from simsched.hardware.programs._vertices import (
    Edges,
    PartVertices,
    Rounds,
    Skew,
    VertexProgram,
    Vertices,
    divide_vertices,
    pulled,
    random_edges,
)
from simsched.workload.draws import stream
from simsched.workload.registry import Bounds, Count

MAX_LABELS = 256


@program(
    "label_propagation",
    small={
        "vertices": 3000,
        "part_vertices": 200,
        "popular_run": 50,
        "labels": 5,
        "iterations": 3,
    },
)
@checked
def label_propagation(
    *,
    vertices: Vertices = 2**17,
    degree: Annotated[float, Bounds(0, 1000)] = 8.0,
    skew: Skew = 0.6,
    popular_run: Count = 1024,
    part_vertices: PartVertices = 2**11,
    labels: Annotated[int, Bounds(1, MAX_LABELS)] = 16,
    iterations: Rounds = 40,
    seed: Seed = 0,
) -> Program:
    """Label propagation: every vertex takes its neighbours' most frequent label.

    Parameters
    ----------
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
    labels : int
        Number of labels.
    iterations : int
        Number of rounds.
    seed : int
        Seed of the graph and the first labels.
    """
    tree = divide_vertices("label_propagation", vertices, part_vertices)
    edges = random_edges(seed, vertices, degree, 0, skew, popular_run).both_ways()
    first = stream(seed, "labels").integers(0, labels, vertices, dtype=np.int32)
    program = VertexProgram(
        "label_propagation",
        "vote",
        tree,
        pulled(edges, vertices),
        first,
        np.int32,
    )
    return program.program(
        iterations,
        result_error=lambda found: exact(found, _votes(edges, first, labels, iterations)),
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
