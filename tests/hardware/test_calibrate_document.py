"""Machine files of calibrations: what was measured comes back, with its source."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simsched.hardware.calibrate_document import ASSUMED_COSTS, machine_document
from simsched.hardware.calibrate_host import Domain, Host, HostCache, HostNode
from simsched.hardware.calibrate_memory import Stream
from simsched.hardware.calibrate_report import measured_rows
from simsched.hardware.calibration import Calibration
from simsched.hardware.kernels import Kernel
from simsched.hardware.measurements import Measurement
from simsched.machine import Machine, load_machine
from simsched.machine.model import KernelTime
from simsched.machine.written import document_yaml
from simsched.report.check import check_file

from .calibrations import (
    COSTS,
    COUNTED,
    GB,
    calibration,
    host,
    measured,
    small,
    two_nodes,
    two_threads,
)


def written(path: Path, found: Calibration) -> Machine:
    """Return the machine of the calibration's file, which has no mistake and causes no warning."""
    file = path / "host.yaml"
    file.write_text(document_yaml(machine_document(found)), encoding="utf-8")
    assert check_file(str(file))[1] == []
    return load_machine(file)


def test_one_node(tmp_path: Path) -> None:
    machine = written(tmp_path, calibration(small()))
    assert (machine.n_cores, machine.n_threads, machine.n_domains) == (2, 2, 1)
    assert machine.core_groups[0].ops_per_s == 2.5e9
    node = machine.nodes[0]
    assert (node.name, node.capacity_bytes, node.page_bytes) == ("dram0", 4 * 2**30, 4096)
    assert node.bandwidth_bytes_per_s == 20 * GB
    assert node.bandwidth_curve == (10 * GB, 20 * GB)
    path = machine.paths[0][0]
    assert (path.latency_ps, path.core_cap_bytes_per_s) == (90_000, (10 * GB,))
    assert [c.capacity_bytes for c in machine.caches] == [32 * 2**10, 8 * 2**20]
    assert [c.latency_ps for c in machine.caches] == [1000, 3000]
    assert [c.bandwidth_bytes_per_s for c in machine.caches] == [60 * GB, 20 * GB]
    assert machine.caches[1].core_instance.tolist() == [0, 0]
    costs = machine.costs
    assert {f"{name}_ps": getattr(costs, f"{name}_ps") for name in COSTS} == {
        f"{name}_ps": round(value * 1e12) for name, value in COSTS.items()
    }
    assert costs.steal_ps == costs.steal_probe_ps == (40_000, 40_000)  # no two threads of a core


def test_two_nodes_have_paths_and_a_link(tmp_path: Path) -> None:
    machine = written(tmp_path, calibration(two_nodes()))
    assert (machine.n_cores, machine.n_domains, machine.n_sockets) == (4, 2, 2)
    assert [node.name for node in machine.nodes] == ["node0_at0", "node1_at1"]
    assert [[p.latency_ps for p in row] for row in machine.paths] == [
        [90_000, 150_000],
        [150_000, 90_000],
    ]
    assert machine.paths[0][1].core_cap_bytes_per_s == (4 * GB,)
    assert [link.bandwidth_bytes_per_s for link in machine.links] == [8 * GB, 8 * GB]
    assert len(machine.paths[0][1].links) == len(machine.paths[1][0].links) == 1
    assert machine.paths[0][0].links == ()
    assert machine.touch_order.tolist() == [[0, 1], [1, 0]]
    assert machine.domain_hops.tolist() == [[0, 1], [1, 0]]
    assert machine.costs.steal_ps == (40_000, 40_000, 60_000)


def test_hardware_threads_of_a_core(tmp_path: Path) -> None:
    machine = written(tmp_path, calibration(two_threads()))
    assert (machine.n_cores, machine.n_threads) == (2, 4)
    assert machine.core_groups[0].smt_throughput == (1.0, 1.25)
    assert machine.paths[0][0].core_cap_bytes_per_s == (10 * GB, 12 * GB)
    assert machine.costs.steal_ps == (20_000, 40_000)


def test_cores_with_different_numbers_of_threads(tmp_path: Path) -> None:
    domains = (Domain(0, 0, ((0, 2), (1,))),)
    machine = written(tmp_path, calibration(host(domains, (HostNode(0, 2**30, 0),))))
    assert {g.name: g.smt_throughput for g in machine.core_groups} == {
        "cpu_2t": (1.0, 1.25),
        "cpu_1t": (1.0,),
    }


def test_domains_of_a_socket_with_different_cores(tmp_path: Path) -> None:
    domains = (Domain(0, 0, ((0,), (1,))), Domain(1, 0, ((2,),)))
    nodes = (HostNode(0, 2**30, 0), HostNode(1, 2**30, 1))
    caches = (HostCache(1, 2**15, 1),)
    machine = written(tmp_path, calibration(host(domains, nodes, caches=caches)))
    assert machine.core_domain.tolist() == [0, 0, 1]
    assert "assumed" in str(machine.sources)


def test_a_node_without_cores_is_equally_far_from_all(tmp_path: Path) -> None:
    of = two_nodes()
    of = host(of.domains, (*of.nodes, HostNode(2, 2**30, None)))
    machine = written(tmp_path, calibration(of))
    assert [(node.name, node.domain) for node in machine.nodes][2] == ("node2", None)
    assert machine.nodes[2].bandwidth_bytes_per_s == 20 * GB


def test_distances_make_hops() -> None:
    domains = tuple(Domain(n, n // 2, ((n,),)) for n in range(4))
    nodes = tuple(HostNode(n, 2**30, n) for n in range(4))
    distance = {
        (a, b): 10 if a == b else 12 if a // 2 == b // 2 else 20 + (a < b)
        for a in range(4)
        for b in range(4)
    }
    hops = host(domains, nodes, distance=distance).hops()
    assert hops == [[0, 1, 2, 2], [1, 0, 2, 2], [2, 2, 0, 1], [2, 2, 1, 0]]
    for one_way in ((0, 3), (3, 0)):  # of both directions, the longer one
        hops = host(domains, nodes, distance={**distance, one_way: 40}).hops()
        assert hops == [[0, 1, 2, 3], [1, 0, 2, 2], [2, 2, 0, 1], [3, 2, 1, 0]]


def every_pair(value: object) -> list[list[object]]:
    """Return the [value, source] pairs of a document."""
    if isinstance(value, dict):
        return [pair for item in value.values() for pair in every_pair(item)]
    if isinstance(value, list) and len(value) == 2 and isinstance(value[1], str):
        return [value]
    if isinstance(value, list):
        return [pair for item in value for pair in every_pair(item)]
    return []


@pytest.mark.parametrize("of", [small(), two_nodes(), two_threads()])
def test_values_are_measured_but_for_those_that_say_why_not(of: Host) -> None:
    document = machine_document(calibration(of))
    assert {key: source["kind"] for key, source in document["sources"].items()} == {
        "probe": "measured",
        "system": "measured",
        "assumed": "assumed",
    }
    pairs = every_pair({key: value for key, value in document.items() if key != "sources"})
    assumed = [pair for pair in pairs if str(pair[1]).startswith("assumed")]
    allowed = len(ASSUMED_COSTS) + 1 + len(document.get("links", {}))  # ops_per_cycle; links' form
    assert len(assumed) == allowed
    assert all(len(str(pair[1])) > len("assumed: ") for pair in assumed)
    for pair in pairs:
        if str(pair[1]).startswith("probe"):
            assert "of 7" in str(pair[1])
            assert "spread 3.0%" in str(pair[1])


def test_sources_say_what_when_and_where() -> None:
    document = machine_document(calibration(small()))
    reference = document["sources"]["probe"]["reference"]
    assert "Example Processor: 9000, 2026-01-02 03:04 UTC, 12 s" in reference
    assert document["memory"]["dram"]["bandwidth"][1].startswith(
        "probe: triad of 2, 1.33 bytes moved for each counted, best of 7"
    )
    assert (
        "triad by 1, 2, ... cores, 1.33 bytes moved for each counted, best of 7"
        in (document["memory"]["dram"]["bandwidth_by_flows"][1])
    )
    latency = document["paths"]["domain0_to_node0"]["latency"]
    assert latency == [
        "90 ns",
        "probe: made up, best of 7, spread 3.0%; 180 ns while 1 core streams",
    ]


def test_bandwidth_between_measured_counts_is_linear(tmp_path: Path) -> None:
    domains = (Domain(0, 0, tuple((t,) for t in range(6))),)
    found = calibration(host(domains, (HostNode(0, 2**30, 0),)))
    kept = tuple(s for s in found.streams if s.n_threads in {1, 2, 6})
    machine = written(tmp_path, replace(found, streams=kept))
    assert np.allclose(machine.nodes[0].bandwidth_curve, [1e10 * n for n in range(1, 7)])
    assert "linear between" in machine.sources["memory.dram.bandwidth_by_flows"]


def test_a_core_can_draw_its_share_of_what_several_drew(tmp_path: Path) -> None:
    found = calibration(small())
    more = Stream(0, 0, "triad", 2, measured(24 * COUNTED * GB))
    streams = [more if (s.operation, s.n_threads) == ("triad", 2) else s for s in found.streams]
    machine = written(tmp_path, replace(found, streams=tuple(streams)))
    assert machine.paths[0][0].core_cap_bytes_per_s == (12 * GB,)
    assert "; per core" in machine.sources["path.0.dram0.core_cap"]
    less = Stream(0, 0, "triad", 2, measured(16 * COUNTED * GB))
    machine = written(
        tmp_path, replace(found, streams=tuple(less if s is more else s for s in streams))
    )
    assert machine.paths[0][0].core_cap_bytes_per_s == (10 * GB,)


@pytest.mark.parametrize("total", [33.085, 9.9999, 10.0, 10.001, 123.456])
def test_shares_of_cores_add_up_however_they_are_rounded(tmp_path: Path, total: float) -> None:
    domains = (Domain(0, 0, ((0,), (1,), (2,))),)
    found = calibration(host(domains, (HostNode(0, 2**30, 0),)))
    each = total * COUNTED * GB / 3
    streams = tuple(replace(s, rate=measured(each * s.n_threads)) for s in found.streams)
    written(tmp_path, replace(found, streams=streams))  # without a warning


def test_hosts_that_tell_little(tmp_path: Path) -> None:
    of = small(clock_hz=None, caches=(), distance={})
    machine = written(tmp_path, replace(calibration(of), caches=()))
    assert machine.core_groups[0].ops_per_s == 1e9
    assert machine.caches == ()


def test_one_core_steals_from_nobody(tmp_path: Path) -> None:
    of = host((Domain(0, 0, ((0,),)),), (HostNode(0, 2**30, 0),))
    found = replace(calibration(of), by_distance={"steal": {}, "steal_probe": {}})
    machine = written(tmp_path, found)
    assert machine.costs.steal_ps == (0,)
    assert machine.sources["costs.steal"].startswith("assumed: no two threads")


def test_what_moves_is_in_the_file_and_what_triad_counts_in_the_table(tmp_path: Path) -> None:
    found = calibration(small())
    streams = tuple(replace(s, rate=measured(15 * GB * s.n_threads)) for s in found.streams)
    found = replace(found, streams=streams)
    machine = written(tmp_path, found)
    # 15 GB/s by a core and 30 GB/s by two, times 4/3.
    assert machine.nodes[0].bandwidth_curve == (20 * GB, 40 * GB)
    assert machine.nodes[0].bandwidth_bytes_per_s == 40 * GB
    assert machine.paths[0][0].core_cap_bytes_per_s == (20 * GB,)
    rows = {row.name: row for row in measured_rows(found)}
    assert rows["triad node 0, threads 2"].text == "30 GB/s"
    assert found.stream(0, 0, "read")[1].value == 15 * GB
    assert found.stream(0, 0, "write")[1].value == 30 * GB


def with_kernels(path: Path, kernels: list[Kernel], n_runs: int) -> Machine:
    """Return the machine of a calibration's file with kernels, which causes no warning."""
    run = Measurement("0.parquet", "dot", {"n": 8}, "dot", "cilk_a", 1, 0, 0, 0.5, 1.0)
    document = machine_document(calibration(small()), kernels, [run] * n_runs)
    assert document["sources"]["kernels"]["kind"] == "measured"
    file = path / "host.yaml"
    file.write_text(document_yaml(document))
    assert check_file(str(file))[1] == []
    return load_machine(file)


def test_kernels_are_added(tmp_path: Path) -> None:
    time = KernelTime((4096,), (3.127e-10,))
    machine = with_kernels(tmp_path, [Kernel("dot.partial", time, 0.0123, 2)], 2)
    # With one size there is one time, for data of any size.
    assert machine.kernels == {"dot.partial": {"cpu": KernelTime((1,), (3.127e-10,))}}
    assert "\n  dot.partial:\n    cpu: [0.3127 ns, " in (tmp_path / "host.yaml").read_text()
    assert machine.sources["kernels.dot.partial.cpu"] == "kernels: 2 runs, simulated within 1.2%"
    assert machine.sources["sources.kernels"].endswith("of: dot[n=8]")


def test_kernels_of_several_sizes_are_tables(tmp_path: Path) -> None:
    # A size that no shorter text has exactly.
    time = KernelTime((3_145_729, 12_582_912), (6e-10, 1.234567e-9))
    machine = with_kernels(tmp_path, [Kernel("dot.partial", time, 0.02, 1)], 1)
    (found,) = machine.kernels["dot.partial"].values()
    assert found.data_bytes == time.data_bytes
    assert found.seconds == pytest.approx((6e-10, 1.23457e-9), rel=1e-12)  # six digits
    assert machine.sources["kernels.dot.partial.cpu"] == "kernels: 1 run, simulated within 2.0%"
