"""Memory benchmarks that are simulated and compared, against closed forms."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest

from simsched.files.errors import ConfigurationError, ModelError
from simsched.machine.synthetic import make_machine
from simsched.reproduction.curves import (
    Point,
    by_machine,
    compare_curves,
    is_curve,
    read_curves,
    simulated_value,
)

MEASURED = Path(__file__).resolve().parents[3] / "shared" / "data" / "measured"
CAP, NODE, LINK = 10e9, 25e9, 12e9
MACHINE = make_machine(
    domains=2,
    cores_per_domain=4,
    core_cap_bytes_per_s=CAP,
    dram_bandwidth_bytes_per_s=NODE,
    link_bandwidth_bytes_per_s=LINK,
    local_latency_ps=90_000,
    remote_latency_ps=140_000,
    smt_throughput=(1.0, 1.2),
)


def point(kernel: str, placement: str, threads: int, unit: str = "gb_per_s") -> Point:
    return Point("made", kernel, placement, threads, 1.0, unit, False, "here")


@pytest.mark.parametrize("kernel", ["load", "copy", "triad", "update"])
@pytest.mark.parametrize("threads", [1, 2, 3, 4])
def test_streams_get_what_cores_draw_up_to_what_the_node_sustains(
    kernel: str, threads: int
) -> None:
    expected = min(threads * CAP, NODE) / 1e9 * (2 if kernel == "update" else 1)
    found = simulated_value(MACHINE, point(kernel, "local", threads))
    assert found == pytest.approx(expected, rel=1e-4)


def test_threads_fill_the_cores_of_one_domain_first_and_then_their_siblings() -> None:
    assert simulated_value(MACHINE, point("load", "local", 8)) == pytest.approx(50.0, rel=1e-4)
    # Data on one node: four threads get 3 each over the link. They are the last at the barrier.
    shared = simulated_value(MACHINE, point("load", "dram0", 8))
    assert shared == pytest.approx(8 * 12.0 / 4, rel=1e-4)
    everyone = simulated_value(MACHINE, point("load", "local", 16))
    assert everyone == pytest.approx(50.0, rel=1e-4)


def test_remote_data_come_over_the_link() -> None:
    for threads in (1, 2, 4):
        expected = min(threads * CAP, LINK) / 1e9
        found = simulated_value(MACHINE, point("load", "remote", threads))
        assert found == pytest.approx(expected, rel=1e-4)


def test_written_lines_load_the_controller_as_the_machine_says() -> None:
    paths = tuple(
        tuple(replace(path, write_node_weight=2.5) for path in row) for row in MACHINE.paths
    )
    machine = replace(MACHINE, paths=paths)
    # Of a copy half of the bytes are written: 3.5 loads for two bytes.
    found = simulated_value(machine, point("copy", "local", 4))
    assert found == pytest.approx(25.0 * 2 / 3.5, rel=1e-4)


def test_a_chase_takes_the_latency_and_the_line() -> None:
    for placement, ns in (("local", 90.0), ("remote", 140.0)):
        found = simulated_value(MACHINE, point("chase", placement, 1, "ns"))
        line_ns = 64 / 10  # bytes over bytes per ns
        assert found == pytest.approx(ns + line_ns, abs=0.01)


def test_unknown_placements_and_too_many_threads_are_refused() -> None:
    with pytest.raises(ModelError, match="unknown placement 'dram2'; did you mean 'dram"):
        simulated_value(MACHINE, point("load", "dram2", 1))
    with pytest.raises(ModelError, match="workers: found 17, accepted 1 to 16"):
        simulated_value(MACHINE, point("load", "local", 17))


def test_a_table_is_read_with_places_of_what_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "curve.csv"
    head = "machine,kernel,placement,threads,gb_per_s,used\n"
    file.write_text(head + "xeon_6548y,load,local,1,19.1,yes\nxeon_6548y,load,local,2,38.2,\n")
    first, second = read_curves(file)
    assert (first.is_used, second.is_used, second.value, second.threads) == (True, False, 38.2, 2)
    assert is_curve(head.strip().split(","))
    for row, message in (
        ("m,lode,local,1,1,", "curve.csv:2: unknown kernel 'lode'; did you mean 'load'?"),
        ("m,load,local,1.5,1,", "curve.csv:2: threads: found '1.5', accepted a whole number"),
        ("m,load,local,1,fast,", "curve.csv:2: gb_per_s: found 'fast', accepted a number above 0"),
        ("m,load,local,1,1,maybe", "curve.csv:2: used: found 'maybe', accepted yes or no"),
        ("m,load,local,1", "curve.csv:2: found 4 values, accepted 6"),
    ):
        file.write_text(head + row + "\n")
        with pytest.raises(ConfigurationError) as caught:
            read_curves(file)
        assert message in str(caught.value)


def test_errors_are_counted_over_points_that_were_not_used() -> None:
    points = [
        Point("xeon_6548y", "load", "local", 1, 19.1, "gb_per_s", True, "a"),
        Point("xeon_6548y", "load", "local", 2, 38.2 / 1.1, "gb_per_s", False, "b"),
        Point("nowhere", "load", "local", 2, 1.0, "gb_per_s", False, "c"),
    ]
    rows = list(compare_curves(points))
    assert "nowhere" in rows[2].problem
    (line,) = by_machine(rows)
    assert (line["used"], line["predicted"]) == (1, 1)
    assert line["median_error_percent"] == pytest.approx(10.0, abs=0.1)


@pytest.mark.skipif(not MEASURED.is_dir(), reason="needs measurements of real machines")
def test_a_machine_from_four_points_predicts_its_curves() -> None:
    placements = {"local_single": "local", "remote_single": "remote", "mixed_single": "interleaved"}
    file = MEASURED / "xeon_6548y" / "upi_bandwidth_by_threads.csv"
    with file.open() as stream:
        rows = list(csv.DictReader(stream))
    points = [
        Point(
            "xeon_6548y",
            "load",
            placements[row["policy"]],
            int(row["threads"]),
            float(row["app_bandwidth_GBps"]),
            "gb_per_s",
            row["threads"] in ("1", "32") and row["policy"] != "mixed_single",
            "",
        )
        for row in rows
    ]
    (line,) = by_machine(list(compare_curves(points)))
    assert (line["used"], line["predicted"]) == (4, 92)
    assert line["median_error_percent"] < 4.0
    assert line["p90_error_percent"] < 10.0
    assert line["median_error_percent"] < line["yardstick_median_error_percent"]


@pytest.mark.parametrize("load", [0.5, 10.0, 20.0, 22.0])
def test_a_chase_under_load_takes_what_the_law_says(load: float) -> None:
    nodes = tuple(replace(node, latency_under_load=(0.3, 0.6)) for node in MACHINE.nodes)
    under = replace(point("chase", "local", 4, "ns"), load=load)
    share = load / 25.0
    expected = 90.0 * (1 + 0.3 * share / (1 - 0.6 * share)) + 64 / 10
    assert simulated_value(replace(MACHINE, nodes=nodes), under) == pytest.approx(
        expected, rel=0.02
    )
    assert simulated_value(MACHINE, under) == pytest.approx(96.4, rel=0.02)


def test_a_chase_beside_a_busy_thread_of_its_core_takes_no_longer() -> None:
    under = replace(point("chase", "local", 16, "ns"), load=2.0)
    assert simulated_value(MACHINE, under) == pytest.approx(90.0 + 64 / 10, rel=0.001)


def test_only_chases_are_under_load(tmp_path: Path) -> None:
    file = tmp_path / "curve.csv"
    head = "machine,kernel,placement,threads,load_gb_per_s,ns\n"
    file.write_text(head + "m,chase,local,4,10,100\n")
    assert read_curves(file)[0].load == 10.0
    for row in ("m,load,local,4,10,100", "m,chase,local,1,10,100"):
        unit = "gb_per_s" if "load" in row else "ns"
        file.write_text(head.replace(",ns", f",{unit}") + row + "\n")
        with pytest.raises(ConfigurationError, match="accepted with chase and two threads or more"):
            read_curves(file)


def test_a_tree_of_tasks_takes_what_the_runtime_charges() -> None:
    costs = replace(MACHINE.costs, spawn_child_first_ps=12_000, pop_ps=10_000)
    machine = replace(MACHINE, costs=costs)
    # 25 calls of fib(6): 24 spawns, and the root and 12 continuations are taken from the own deque.
    tree = point("fib6", "cilk", 1, "ms")
    assert simulated_value(machine, tree) == pytest.approx((24 * 12 + 13 * 10) * 1e-6, rel=1e-12)
    # 7,049,155 calls of fib(32) take as much longer as there are more of them than of fib(25).
    large, small = (simulated_value(machine, point(f"fib{n}", "cilk", 1, "ms")) for n in (32, 25))
    assert large / small == pytest.approx(7_049_155 / 242_785, rel=1e-12)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("m,fib32,cilk,4,,100", "ns: found with fib32, accepted ms with trees of tasks"),
        ("m,chase,local,4,100,90", "found ns and ms, accepted one of gb_per_s, ns and ms"),
        ("m,load,local,4,,", "found none, accepted one of gb_per_s, ns and ms"),
        ("m,fib99,cilk,4,100,", "unknown kernel 'fib99'"),
        ("m,load,local,4,100,", "ms: found with load, accepted ms with trees of tasks"),
        ("m,fib,cilk,4,100,", "unknown kernel 'fib'; did you mean 'fib32'?"),
    ],
)
def test_trees_have_times_and_others_rates(tmp_path: Path, row: str, message: str) -> None:
    file = tmp_path / "curve.csv"
    file.write_text(f"machine,kernel,placement,threads,ms,ns\n{row}\n")
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        read_curves(file)
