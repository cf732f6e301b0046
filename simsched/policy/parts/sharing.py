"""What tasks share: sharing graphs, groups that fit a cache, and orders that follow the sharing."""

from __future__ import annotations

import numpy as np
import scipy

from simsched.workload.graph import FloatArray, Int64Array, TaskGraph


def touched_bytes(graph: TaskGraph) -> scipy.sparse.csr_array:
    """Return how many bytes of each block each task touches; shape (n_tasks, n_blocks)."""
    task = np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))
    moved = (graph.read_bytes + graph.written_bytes).astype(np.float64)
    touched = scipy.sparse.csr_array(
        (moved, (task, graph.access_block)), shape=(graph.n_tasks, graph.n_blocks)
    )
    touched.data = np.minimum(touched.data, graph.block_bytes[touched.indices])
    return touched


def sharing_graph(graph: TaskGraph, most_sharers: int = 64) -> scipy.sparse.csr_array:
    """Return how many bytes each pair of tasks shares.

    Two tasks that touch a and b bytes of a block of s share ``a b / s`` of them. Readings:
    docs/sources/laws.md.
    """
    touched = touched_bytes(graph)
    by_block = touched.T.tocsr()
    sharers = np.diff(by_block.indptr)
    scale = np.zeros(graph.n_blocks)
    few = (sharers > 1) & (sharers <= most_sharers)
    scale[few] = 1.0 / np.maximum(graph.block_bytes[few], 1)
    shared = (touched * scale[None, :]) @ touched.T
    rows, columns, weights = [], [], []
    for block in np.flatnonzero(sharers > most_sharers).tolist():
        entries = slice(by_block.indptr[block], by_block.indptr[block + 1])
        tasks, held = by_block.indices[entries], by_block.data[entries]
        order = np.argsort(tasks)
        tasks, held = tasks[order], held[order]
        rows.append(tasks[:-1])
        columns.append(tasks[1:])
        weights.append(held[:-1] * held[1:] / graph.block_bytes[block])
    if rows:
        chain = scipy.sparse.csr_array(
            (np.concatenate(weights), (np.concatenate(rows), np.concatenate(columns))),
            shape=shared.shape,
        )
        shared = shared + chain + chain.T
    result = scipy.sparse.csr_array(shared)
    result.setdiag(0.0)
    result.eliminate_zeros()
    return result


def working_set_bytes(
    touched: scipy.sparse.csr_array, block_bytes: Int64Array, tasks: Int64Array
) -> float:
    """Return the bytes that a group of tasks touches."""
    total = np.asarray(touched[tasks].sum(axis=0)).ravel()
    return float(np.minimum(total, block_bytes).sum())


def bisect(shared: scipy.sparse.csr_array, weight: FloatArray) -> tuple[Int64Array, Int64Array]:
    """Return two groups of vertices of about equal weight with little sharing between them.

    Vertices are put in the order of the Fiedler vector and cut where half of the weight is reached.
    Components follow each other by their first vertex. Values are rounded and the sign is fixed, so
    that equal vertices keep the order of their numbers.
    """
    n_components, label = scipy.sparse.csgraph.connected_components(shared, directed=False)
    order = np.concatenate(
        [_spectral_order(shared, np.flatnonzero(label == c)) for c in range(n_components)]
    )
    reached = np.cumsum(weight[order])
    cut = int(np.searchsorted(reached, reached[-1] / 2, side="left")) + 1
    if cut > 1 and reached[-1] / 2 - reached[cut - 2] < reached[cut - 1] - reached[-1] / 2:
        cut -= 1
    cut = min(max(cut, 1), len(order) - 1)
    return np.sort(order[:cut]), np.sort(order[cut:])


def fitting_groups(
    graph: TaskGraph,
    shared: scipy.sparse.csr_array,
    touched: scipy.sparse.csr_array,
    tasks: Int64Array,
    weight: FloatArray,
    capacity_bytes: float,
    least_groups: int,
) -> list[Int64Array]:
    """Return groups of tasks whose working sets fit a cache.

    A group that does not fit is halved, a single task never.
    """
    done: list[Int64Array] = []
    todo = [tasks]
    while todo:
        group = todo.pop()
        if len(group) < 2 or working_set_bytes(touched, graph.block_bytes, group) <= capacity_bytes:
            done.append(group)
        else:
            todo += reversed(_halves(shared, group, weight))
    while len(done) < least_groups:
        loads = [float(weight[group].sum()) if len(group) > 1 else -1.0 for group in done]
        heaviest = int(np.argmax(loads))
        if loads[heaviest] < 0:
            break
        done[heaviest : heaviest + 1] = _halves(shared, done[heaviest], weight)
    return done


def maximum_spanning_order(shared: scipy.sparse.csr_array) -> list[int]:
    """Return the order in which Prim's algorithm reaches vertices along the largest weights.

    It starts at vertex 0. The next vertex is the one that shares most with a single one of those
    already placed, the lowest-numbered of equal ones.

    >>> maximum_spanning_order(scipy.sparse.csr_array([[0, 1, 5], [1, 0, 2], [5, 2, 0]]))
    [0, 2, 1]
    """
    n = shared.shape[0]
    held = np.zeros(n)
    order: list[int] = []
    for _ in range(n):
        vertex = int(np.argmax(held))
        order.append(vertex)
        entries = slice(shared.indptr[vertex], shared.indptr[vertex + 1])
        reached = shared.indices[entries]
        held[reached] = np.maximum(held[reached], shared.data[entries])
        held[order] = -1.0
    return order


def between_groups(
    shared: scipy.sparse.csr_array, groups: list[Int64Array]
) -> scipy.sparse.csr_array:
    """Return how much groups of vertices share with each other; shape (n_groups, n_groups)."""
    members = np.concatenate(groups)
    owner = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    shape = (len(groups), shared.shape[0])
    select = scipy.sparse.csr_array((np.ones(len(members)), (owner, members)), shape=shape)
    result = scipy.sparse.csr_array(select @ shared @ select.T)
    result.setdiag(0.0)
    return result


def _halves(
    shared: scipy.sparse.csr_array, group: Int64Array, weight: FloatArray
) -> list[Int64Array]:
    """Return the two halves of a group of at least two tasks."""
    first, second = bisect(
        scipy.sparse.csr_array(shared[group][:, group]), np.maximum(weight[group], 1e-300)
    )
    return [group[first], group[second]]


def _spectral_order(shared: scipy.sparse.csr_array, members: Int64Array) -> Int64Array:
    """Return the vertices of one component in the order of its Fiedler vector."""
    if len(members) < 3:
        return members
    import networkx as nx

    part = scipy.sparse.csr_array(shared[members][:, members])
    part.data = part.data / part.data.max()
    fiedler = nx.fiedler_vector(
        nx.from_scipy_sparse_array(part), method="tracemin_lu", normalized=False, seed=0
    )
    fiedler = np.round(fiedler / np.abs(fiedler).max(), 6)
    if fiedler[np.flatnonzero(fiedler)[0]] > 0:
        fiedler = -fiedler
    ordered: Int64Array = members[np.argsort(fiedler, kind="stable")]
    return ordered
