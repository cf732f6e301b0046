"""Random workloads for round trips, and where measured files of others may lie."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from simsched.files.errors import SimschedError
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import Workload

MEASURED = Path(__file__).resolve().parents[4] / "shared" / "data"


@pytest.fixture(scope="session")
def measured_data() -> Path:
    """Folder with real measurements; tests that need it are skipped where it is absent."""
    if not MEASURED.is_dir():
        pytest.skip(f"no measured data in {MEASURED}")
    return MEASURED


@contextmanager
def _accepted_or_refused(source) -> Iterator[None]:
    """Accept success and our own errors, if they name the source on one line."""
    message = source
    try:
        yield
    except SimschedError as error:
        message = str(error)
    assert source in message
    assert "\n" not in message


@pytest.fixture(scope="session")
def accepted_or_refused():
    """Context in which damaged input is either accepted or refused as it should be."""
    return _accepted_or_refused


def random_graph(rng, blocks, *, kinds=("cpu", "gpu"), n_tasks=None, parallel_edges=False):
    """A graph that uses every array: trees of tasks, and dataflow among those without a parent."""
    n = n_tasks or int(rng.integers(1, 30))
    parent = np.array(
        [int(rng.integers(-1, t)) if t and rng.random() < 0.6 else -1 for t in range(n)]
    )
    child = np.flatnonzero(parent >= 0)
    rng.shuffle(child)
    inner = np.isin(np.arange(n), parent)
    roots = np.flatnonzero((parent < 0) & ~inner)
    pairs = [(int(u), int(v)) for u in roots for v in roots if u < v and rng.random() < 0.5]
    rng.shuffle(pairs)
    if parallel_edges and pairs:
        pairs = [*pairs, pairs[0]]
    ops = rng.random((len(kinds), n)) * 1e9
    ops[1:, rng.random(n) < 0.3] = np.inf
    n_accesses = 0 if not len(blocks) else int(rng.integers(0, 3 * n))
    task = rng.integers(0, n, n_accesses)
    classes = ('"solve"', 'quo"te \\ back', "größe\nline")
    return build_graph(
        ops,
        join_ops=np.where(inner, rng.random((len(kinds), n)) * 1e-3, 0.0),
        kinds=kinds,
        task_class=rng.integers(0, 3, n),
        class_names=classes,
        children=adjacency(parent[child], child, n),
        successors=adjacency([u for u, _ in pairs], [v for _, v in pairs], n),
        accessed=accesses(
            task,
            rng.integers(0, max(len(blocks), 1), n_accesses),
            rng.integers(0, 2**50, n_accesses),
            rng.integers(0, 2**50, n_accesses),
            n,
            in_join=inner[task] & (rng.random(n_accesses) < 0.5),
        ),
        block_bytes=blocks,
        creation_ops=rng.random(n) * 100,
        arrival_ps=np.where(parent < 0, rng.integers(0, 2**55, n), 0),
        detached=(parent >= 0) & (rng.random(n) < 0.2),
    )


@pytest.fixture
def generate_workload():
    """Function from a seed to a valid workload with initialisation and parameters."""

    def make(seed, **options):
        rng = np.random.default_rng(seed)
        blocks = rng.integers(0, 2**60, int(rng.integers(0, 6)))
        workload = Workload(
            name='a "name" \\',
            graph=random_graph(rng, blocks, **options),
            iterations=int(rng.integers(1, 300)),
            init=random_graph(rng, blocks, kinds=("cpu",)) if seed % 2 else None,
            parameters={
                "generator": "random",
                "seed": seed,
                "note": 'x"y\\"z',
                "nested": [1, {"a": 2}],
            },
        )
        workload.validate()
        return workload

    return make


@pytest.fixture
def assert_same():
    """Function that compares two workloads array by array, bit by bit."""

    def compare_graphs(one, two):
        for name, value in vars(one).items():
            if name not in type(one).__dataclass_fields__:
                continue
            other = getattr(two, name)
            if isinstance(value, np.ndarray):
                assert value.dtype == other.dtype, name
                assert value.shape == other.shape, name
                assert value.tobytes() == other.tobytes(), name
            else:
                assert value == other, name

    def compare(one, two):
        assert (one.name, one.iterations, one.parameters) == (
            two.name,
            two.iterations,
            two.parameters,
        )
        compare_graphs(one.graph, two.graph)
        assert (one.init is None) == (two.init is None)
        if one.init is not None:
            compare_graphs(one.init, two.init)

    return compare
