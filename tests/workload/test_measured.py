"""Programs with measured durations: StarPU's Cholesky, LU and matrix product, one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simsched.engine.timings import timed
from simsched.files.errors import GraphError, ModelError
from simsched.machine import load_machine
from simsched.machine.model import CodeletTime, Machine
from simsched.machine.synthetic import make_machine
from simsched.workload.graph import TaskGraph
from simsched.workload.importers.networkx_graph import from_networkx, to_networkx
from simsched.workload.registry import generate_workload

Tile = tuple[int, int]
Created = list[tuple[str, int, list[Tile]]]  # class, priority, tiles with the own one last


def cholesky(tiles: int) -> Created:
    """StarPU's cholesky_implicit: updates of a step column by column."""
    made: Created = []
    for k in range(tiles):
        made.append(("potrf", 2 * tiles - 2 * k, [(k, k)]))
        for m in range(k + 1, tiles):
            made.append(("trsm", 2 * tiles - 2 * k - m, [(k, k), (m, k)]))
        for n in range(k + 1, tiles):
            made.append(("syrk", 2 * tiles - 2 * k - n, [(n, k), (n, n)]))
            for m in range(n + 1, tiles):
                made.append(("gemm", 2 * tiles - 2 * k - m - n, [(m, k), (n, k), (m, n)]))
    return made


def lu(tiles: int) -> Created:
    """StarPU's lu_implicit, of version 1.4."""
    made: Created = []
    for k in range(tiles):
        made.append(("getrf", 3 * tiles - 3 * k, [(k, k)]))
        for i in range(k + 1, tiles):
            made.append(("trsm_ll", 3 * tiles - (2 * k + i), [(k, k), (k, i)]))
            made.append(("trsm_ru", 3 * tiles - (2 * k + i), [(k, k), (i, k)]))
        for i in range(k + 1, tiles):
            for j in range(k + 1, tiles):
                made.append(("gemm", 3 * tiles - (k + i + j), [(i, k), (k, j), (i, j)]))
    return made


def edges_of(made: Created) -> list[tuple[int, int]]:
    """From the last writer of every tile that a task touches, in order of creation."""
    edges, writer = [], dict[Tile, int]()
    for task, (_, _, touched) in enumerate(made):
        edges += [(writer[tile], task) for tile in touched if tile in writer]
        writer[touched[-1]] = task
    return edges


def edges_in(graph: TaskGraph) -> list[tuple[int, int]]:
    counts = np.diff(graph.succ_ptr)
    source = np.repeat(np.arange(graph.n_tasks), counts).tolist()
    return list(zip(source, graph.succ.tolist(), strict=True))


@pytest.mark.parametrize("name", ["cholesky", "lu", "gemm"])
def test_programs_say_after_which_task_a_tile_is_not_written_again(name: str) -> None:
    sizes = {"tiles_x": 3, "tiles_y": 2} if name == "gemm" else {"tiles": 4}
    graph = generate_workload(name, {**sizes, "tile_size": 10, "costs": "measured"}).graph
    assert graph.access_final is not None
    written = np.flatnonzero(graph.written_bytes > 0).tolist()
    last = {int(graph.access_block[access]): access for access in written}
    assert np.flatnonzero(graph.access_final).tolist() == sorted(last.values())
    back = from_networkx(to_networkx(graph)).graph
    assert np.array_equal(back.access_final, graph.access_final)
    reads = np.flatnonzero(graph.written_bytes == 0)[:1]
    wrong = replace(graph, access_final=np.isin(np.arange(graph.n_accesses), reads))
    with pytest.raises(GraphError, match=f"access {reads[0]}: access_final: found true"):
        wrong.validate()
    assert generate_workload(name, {**sizes, "tile_size": 10}).graph.access_final is None


@pytest.mark.parametrize(
    ("name", "factorises"), [("cholesky", "potrf"), ("lu", "getrf"), ("gemm", None)]
)
def test_drivers_wait_for_kernels_that_factorise(name: str, factorises: str | None) -> None:
    sizes = {"tiles_x": 3, "tiles_y": 2} if name == "gemm" else {"tiles": 4}
    graph = generate_workload(name, {**sizes, "tile_size": 10, "costs": "measured"}).graph
    classes = np.array(graph.class_names)[graph.task_class]
    waits = np.zeros(graph.n_tasks, bool) if graph.synchronous is None else graph.synchronous
    assert np.array_equal(waits, classes == factorises)
    back = from_networkx(to_networkx(graph)).graph.synchronous
    assert np.array_equal(np.zeros_like(waits) if back is None else back, waits)
    assert generate_workload(name, {**sizes, "tile_size": 10}).graph.synchronous is None


@pytest.mark.parametrize("tiles", [1, 2, 3, 6])
@pytest.mark.parametrize("name", ["cholesky", "lu"])
def test_tasks_edges_accesses_and_priorities_one_by_one(name: str, tiles: int) -> None:
    made = {"cholesky": cholesky, "lu": lu}[name](tiles)
    workload = generate_workload(name, {"tiles": tiles, "tile_size": 10, "costs": "measured"})
    workload.validate()
    graph = workload.graph
    assert [graph.class_names[c] for c in graph.task_class] == [kind for kind, _, _ in made]
    assert graph.priority is not None
    assert graph.priority.tolist() == [priority for _, priority, _ in made]
    assert sorted(edges_in(graph)) == sorted(edges_of(made))
    blocks = {tile: None for _, _, touched in made for tile in touched}
    number = {
        tile: i * (i + 1) // 2 + j if name == "cholesky" else i * tiles + j
        for i, j in blocks
        for tile in [(i, j)]
    }
    for task, (_, _, touched) in enumerate(made):
        part = slice(graph.access_ptr[task], graph.access_ptr[task + 1])
        assert graph.access_block[part].tolist() == [number[tile] for tile in touched]
        assert graph.written_bytes[part].tolist() == [0] * (len(touched) - 1) + [800]
        assert graph.read_bytes[part].tolist() == [800] * len(touched)
    assert workload.init is None


@pytest.mark.parametrize("tiles", [1, 2, 5, 20])
def test_counts_of_lu(tiles: int) -> None:
    graph = generate_workload("lu", {"tiles": tiles, "tile_size": 2}).graph
    assert graph.n_tasks == tiles * (tiles + 1) * (2 * tiles + 1) // 6
    panels, earlier = tiles * (tiles - 1), tiles * (tiles - 1) * (2 * tiles - 1) // 6
    assert graph.n_edges == panels + 3 * earlier
    assert graph.n_blocks == tiles**2
    assert graph.block_bytes.tolist() == [32] * tiles**2
    # 2 n^3 / 3 multiplications and additions, up to lower orders.
    assert graph.ops.sum() == pytest.approx(2 * (2 * tiles) ** 3 / 3, rel=1e-12)


def test_a_matrix_product_has_panels_and_tiles() -> None:
    given = {"tiles_x": 3, "tiles_y": 2, "tile_size": 10, "depth": 50, "precision": "single"}
    graph = generate_workload("gemm", given).graph
    assert graph.n_tasks == 6
    assert graph.n_edges == 0
    assert graph.block_bytes.tolist() == [2000] * 5 + [400] * 6
    assert graph.ops[0].tolist() == [2.0 * 10 * 10 * 50] * 6
    assert graph.access_block.tolist()[:9] == [0, 2, 5, 1, 2, 6, 0, 3, 7]
    assert graph.read_bytes.tolist() == [2000, 2000, 0] * 6
    assert graph.written_bytes.tolist() == [0, 0, 400] * 6
    adding = generate_workload("gemm", {**given, "accumulate": True}).graph
    assert adding.read_bytes.tolist() == [2000, 2000, 400] * 6


def machine(timings: dict[str, dict[str, dict[int, float]]], **kinds: float) -> Machine:
    """A machine with timings in seconds and speeds of its processor kinds."""
    base = make_machine(domains=1, cores_per_domain=len(kinds))
    group = base.core_groups[0]
    return replace(
        base,
        core_groups=tuple(
            replace(group, name=kind, kind=kind, ops_per_s=speed) for kind, speed in kinds.items()
        ),
        core_group=np.arange(len(kinds), dtype=np.int32),
        timings={
            codelet: {
                kind: {size: CodeletTime(mean) for size, mean in sizes.items()}
                for kind, sizes in times.items()
            }
            for codelet, times in timings.items()
        },
    )


def chol_model(**changes: Any) -> dict[str, dict[str, dict[int, float]]]:
    """Timings of tiles of 10 x 10 single-precision elements."""
    times = {
        "chol_model_potrf": {"cpu": {400: 1.0}, "gpu": {400: 2.0}},
        "chol_model_trsm": {"cpu": {800: 3.0}, "gpu": {800: 0.5}},
        "chol_model_syrk": {"cpu": {800: 4.0}, "gpu": {800: 0.25}},
        "chol_model_gemm": {"cpu": {1200: 5.0, 9600: 6.0}, "gpu": {1200: 0.125}},
    }
    return {**times, **changes}


MEASURED = {"tiles": 3, "tile_size": 10, "element_bytes": 4, "costs": "measured"}


def test_durations_come_from_codelet_size_and_processor() -> None:
    workload = generate_workload("cholesky", MEASURED)
    graph = timed(machine(chol_model(), cpu=2e9, gpu=1e9), workload).graph
    assert graph.kinds == ("cpu", "gpu")
    by_class = {
        name: graph.ops[:, graph.task_class == i] for i, name in enumerate(graph.class_names)
    }
    assert set(by_class["potrf"][0]) == {2e9}
    assert set(by_class["potrf"][1]) == {2e9}
    assert set(by_class["gemm"][0]) == {1e10}
    assert set(by_class["gemm"][1]) == {0.125e9}
    graph.validate()


def test_programs_and_machines_without_measurements_stay_as_they_are() -> None:
    plain = generate_workload("cholesky", {"tiles": 3, "tile_size": 10})
    assert timed(machine(chol_model(), cpu=1e9, gpu=1e9), plain) is plain
    assert timed(make_machine(), plain) is plain
    with pytest.raises(ModelError, match="accepted only on machines with timings of them: synth"):
        timed(make_machine(), generate_workload("cholesky", MEASURED))


def test_what_was_not_measured_is_told() -> None:
    workload = generate_workload("cholesky", MEASURED)
    without = chol_model()
    del without["chol_model_syrk"]
    with pytest.raises(
        ModelError, match=r"class syrk: unknown timing of codelet .*chol_model_syrk"
    ):
        timed(machine(without, cpu=1e9, gpu=1e9), workload)
    larger = generate_workload("cholesky", {**MEASURED, "tile_size": 20})
    with pytest.raises(
        ModelError,
        match=r"class potrf: codelet chol_model_potrf on synthetic cpu: found no timing for 1600 "
        r"bytes of data, accepted: 400 bytes",
    ):
        timed(machine(chol_model(), cpu=1e9, gpu=1e9), larger)
    only_cpu = chol_model(chol_model_potrf={"cpu": {400: 1.0}})
    ops = timed(machine(only_cpu, cpu=1e9, gpu=1e9), workload).graph.ops
    assert np.isinf(ops[1, 0])
    assert ops[0, 0] == 1e9


@pytest.mark.parametrize("name", ["mirage", "sirocco", "idgraf", "attila", "hannibal"])
def test_shipped_machines_time_the_tiles_of_the_references(name: str) -> None:
    parameters = {"tiles": 4, "tile_size": 960, "element_bytes": 4, "costs": "measured"}
    graph = timed(load_machine(name), generate_workload("cholesky", parameters)).graph
    is_cuda = [kind.startswith("cuda") for kind in graph.kinds]
    assert np.isfinite(graph.ops[is_cuda]).all()
    assert np.isfinite(graph.ops[0]).all() == (name != "hannibal")  # no samples of its cores
    graph.validate()
    for given in ({"precision": "single"}, {"precision": "double"}):
        if name not in ("hannibal", "idgraf") or given["precision"] == "single":
            lu_graph = generate_workload("lu", {"tiles": 3, "costs": "measured", **given})
            timed(load_machine(name), lu_graph).graph.validate()
