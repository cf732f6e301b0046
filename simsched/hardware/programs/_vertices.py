"""Programs that pull values along the edges of a graph, in synchronous rounds.

A spawn tree halves the vertices until a leaf has at most `part_vertices`; these leaves are the
parts. In a round, each leaf computes the new values of its vertices from the old values at the
other ends of their edges. With parts of at most s vertices:

* *Values.* Two copies, which swap roles after every round. Part p holds ``value[p, 0, :]`` and
  ``value[p, 1, :]`` side by side (s rounded up to 16 values each), so that it is one block, whose
  traffic is the same in every round.
* *Links.* For each part its vertices' numbers of edges, a constant per vertex, then the other end
  of every edge, as its place among the values: one block. An identical array, filled in beforehand,
  is copied by the initialisation, so that the tasks place the pages.
* *Bytes.* A leaf reads its links and writes its values. From each part it reads the lines of 64
  bytes that hold a value it needs, each line once: what a cache that keeps a line while the task
  needs it has to fetch.
* *Operations.* One per edge and one per vertex, in the leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simsched.hardware.program import Program
from simsched.hardware.programs._common import AccessList, ProgramData, refusal, untouched
from simsched.workload.builder import Accesses, build_graph, merge_accesses
from simsched.workload.draws import stream
from simsched.workload.graph import Int32Array, Int64Array, TaskGraph, Workload
from simsched.workload.spawn_tree import SpawnTree, divide_in_halves

LINE_BYTES = 64
MAX_PARTS = 4096


class Edges(NamedTuple):
    """Directed edges, along which values flow from `origin` to `target`."""

    origin: Int64Array
    target: Int64Array

    def both_ways(self) -> Edges:
        """Return the edges and their reverse."""
        return Edges(
            np.concatenate((self.origin, self.target)), np.concatenate((self.target, self.origin))
        )


@dataclass(frozen=True)
class PulledGraph:
    """The edges that lead to each vertex."""

    #: Edges to vertex v are entries ``ptr[v]`` to ``ptr[v + 1] - 1``; shape (n_vertices + 1,).
    ptr: Int64Array
    #: Where they come from; shape (n_edges,).
    origin: Int64Array

    @property
    def degree(self) -> Int64Array:
        """Number of edges to each vertex."""
        return np.diff(self.ptr)


def pulled(edges: Edges, vertices: int) -> PulledGraph:
    """Return the edges sorted by the vertex they lead to."""
    order = np.argsort(edges.target, kind="stable")
    ptr = np.zeros(vertices + 1, dtype=np.int64)
    np.cumsum(np.bincount(edges.target, minlength=vertices), out=ptr[1:])
    return PulledGraph(ptr, edges.origin[order])


def random_edges(
    seed: int, vertices: int, degree: float, lowest_degree: int, skew: float, popular_run: int
) -> Edges:
    """Return a random graph whose edges lead to popular vertices more often than to others.

    At each vertex `degree` edges begin in the mean, and `lowest_degree` at least; the excess is
    Poisson-distributed. The vertex of popularity rank k is a target with probability proportional
    to about k^-skew, from 0 (uniform) to less than 1; in-degrees follow a power law. Vertices of
    consecutive popularity lie side by side in runs of `popular_run`.
    """
    random = stream(seed, "edges")
    counts = lowest_degree + random.poisson(degree - lowest_degree, vertices)
    origin = np.repeat(np.arange(vertices, dtype=np.int64), counts)
    rank = (vertices * random.random(len(origin)) ** (1.0 / (1.0 - skew))).astype(np.int64)
    runs = -(-vertices // popular_run)
    begin = stream(seed, "runs").permutation(runs) * popular_run
    place: Int64Array = (begin[:, None] + np.arange(popular_run)).ravel()
    return Edges(origin, place[place < vertices][np.minimum(rank, vertices - 1)])


@dataclass(frozen=True)
class VertexProgram:
    """A program in synchronous rounds over the vertices of a graph."""

    name: str
    #: Class of the leaves, after ``divide`` and ``initialise``.
    leaf: str
    tree: SpawnTree
    graph: PulledGraph
    #: One constant per vertex; shape (n_vertices,).
    constant: Int32Array
    #: Of the values.
    dtype: type

    @property
    def parts(self) -> int:
        """Number of parts."""
        return len(self.tree.leaves)

    @property
    def sizes(self) -> Int64Array:
        """Number of vertices of each part."""
        return np.diff(self.tree.bounds)

    @property
    def stride(self) -> int:
        """Values of one copy of a part, with padding."""
        return int(-(-self.sizes.max() // 16) * 16)

    @property
    def place(self) -> Int64Array:
        """Where the first copy of each vertex's value lies."""
        start = 2 * self.stride * np.arange(self.parts, dtype=np.int64) - self.tree.bounds[:-1]
        return np.repeat(start, self.sizes) + np.arange(self.tree.bounds[-1], dtype=np.int64)

    @property
    def edges_before(self) -> Int64Array:
        """Edges that lead to vertices of earlier parts; shape (n_parts + 1,)."""
        return self.graph.ptr[self.tree.bounds]

    def program(
        self,
        iterations: int,
        *,
        result_error: Callable[[NDArray[Any]], float],
        params: tuple[int, ...] = (),
        constants: tuple[float, ...] = (),
    ) -> Program:
        """Return the program.

        `result_error` gets the values after the last round, by vertex; `params` follow the stride.
        """
        data = ProgramData(self.tree.n_tasks, self.tree.n_tasks)
        ends = np.cumsum(2 * self.sizes + np.diff(self.edges_before))
        given = self._links(ends)
        value = untouched((self.parts, 2, self.stride), self.dtype)
        given_blocks = data.add(given, 4 * ends)
        link_blocks = data.add(untouched(len(given), np.int32), 4 * ends)
        value_blocks = data.add(value, (np.arange(self.parts) + 1) * value[0].nbytes)
        blocks = data.block_bytes
        init_accesses = AccessList()
        leaves = self.tree.leaves
        init_accesses.add(leaves, given_blocks, read=blocks[given_blocks])
        init_accesses.add(leaves, link_blocks, written=blocks[link_blocks])
        init_accesses.add(leaves, value_blocks, written=blocks[value_blocks])
        init_ops = np.diff(ends, prepend=0) + 2 * self.stride
        init = self._graph(1, init_ops, init_accesses.grouped(self.tree.n_tasks), data.block_bytes)
        ops = self.sizes + np.diff(self.edges_before)
        accessed = self._pulls(link_blocks, value_blocks, 4 * np.diff(ends, prepend=0))
        graph = self._graph(2, ops, accessed, data.block_bytes)
        args = np.zeros((self.tree.n_tasks, 4), dtype=np.int64)
        args[leaves, 0] = self.sizes
        args[leaves, 1] = np.diff(self.edges_before)
        args[leaves, 2] = np.concatenate(([0], ends[:-1]))
        args[leaves, 3] = 2 * self.stride * np.arange(self.parts)
        return data.program(
            Workload(self.name, graph, iterations, init),
            args=args,
            init_args=args,
            functions=(frozenset({"initialise", self.leaf}), frozenset()),
            result_error=lambda: result_error(value.ravel()[self.place + self._last(iterations)]),
            params=(self.stride, *params),
            constants=constants,
        )

    def _last(self, iterations: int) -> int:
        """Return how far the copy that the last round writes lies behind the first."""
        return iterations % 2 * self.stride

    def _graph(
        self, leaf_class: int, leaf_ops: Int64Array, accessed: Accesses, blocks: Int64Array
    ) -> TaskGraph:
        """Return the spawn tree with leaves of a class."""
        ops = np.zeros(self.tree.n_tasks)
        ops[self.tree.leaves] = leaf_ops
        return build_graph(
            ops,
            task_class=np.where(self.tree.is_leaf, leaf_class, 0),
            class_names=("divide", "initialise", self.leaf),
            children=self.tree.children,
            accessed=accessed,
            block_bytes=blocks,
        )

    def _links(self, ends: Int64Array) -> Int32Array:
        links = np.empty(int(ends[-1]), dtype=np.int32)
        begin, edges, vertices = 0, self.edges_before, self.tree.bounds
        degree, origin_place = self.graph.degree, self.place[self.graph.origin]
        for part in range(self.parts):
            own = slice(vertices[part], vertices[part + 1])
            pieces = (
                degree[own],
                self.constant[own],
                origin_place[edges[part] : edges[part + 1]],
            )
            for piece in pieces:
                links[begin : begin + len(piece)] = piece
                begin += len(piece)
        return links

    def _pulls(
        self, link_blocks: Int64Array, value_blocks: Int64Array, link_bytes: Int64Array
    ) -> Accesses:
        """Return the accesses of the leaves: links, then every part they need values of."""
        per_line = LINE_BYTES // np.dtype(self.dtype).itemsize
        part_lines = 2 * self.stride // per_line
        line = self.place[self.graph.origin] // per_line
        own_line = self.place // per_line
        leaves, edges, vertices = self.tree.leaves, self.edges_before, self.tree.bounds
        lines = np.zeros((self.parts, self.parts), dtype=np.int64)
        touched = np.zeros(self.parts * part_lines, dtype=bool)
        for part in range(self.parts):
            touched[:] = False
            touched[line[edges[part] : edges[part + 1]]] = True
            touched[own_line[vertices[part] : vertices[part + 1]]] = True
            lines[part] = touched.reshape(self.parts, part_lines).sum(axis=1)
        reader, source = np.nonzero(lines)
        written = np.where(reader == source, self.sizes[reader] * np.dtype(self.dtype).itemsize, 0)
        return merge_accesses(
            np.concatenate((leaves, leaves[reader])),
            np.concatenate((link_blocks, value_blocks[source])),
            np.concatenate((link_bytes, lines[reader, source] * LINE_BYTES)),
            np.concatenate((np.zeros_like(link_bytes), written)),
            self.tree.n_tasks,
        )


def divide_vertices(program: str, vertices: int, part_vertices: int) -> SpawnTree:
    """Return the spawn tree that halves the vertices; more parts than can be paired are refused."""
    least = 2 * -(-vertices // MAX_PARTS) - 1
    if part_vertices < least:
        raise refusal(
            program, "part_vertices", part_vertices, f"{least} or more for {vertices} vertices"
        )
    return divide_in_halves.grow(vertices, max(part_vertices + 1, 2))
