"""Text and picture of a machine."""

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from simsched.machine import list_machines, load_machine
from simsched.machine.caches import MemorySideCache
from simsched.machine.draw import _hubs, _link_ends, _ring, draw_machine
from simsched.machine.model import Link, RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.report.show import describe
from simsched.report.show.machine import ranges
from simsched.report.terminal import text as as_text


def _size(picture: Path) -> tuple[int, int]:
    """Return width and height of a PNG file."""
    header = picture.read_bytes()[:24]
    assert header[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", header[16:24])
    return width, height


def test_text_holds_numbers_with_their_sources() -> None:
    text = as_text(describe(load_machine("knl_snc4_flat")), width=160)
    for line in (
        "4 sockets, 4 NUMA domains, 64 cores, 256 hardware threads, 8 memory nodes",
        "bandwidth 96 GB/s  [bats: 384/4; copies: 97 with 64 threads]",
        "capacity 4 GiB  [bats: 4 GB]",
        "latency 145 ns  [chips: 143 ns in SNC4, with bats: HBM 1.1 times slower]",
        "load per byte on the controller 1.09  [derived: 20.8 GB/s local, 19.1 GB/s remote",
        "steal 300 ns, 500 ns, 1 us  [assumed: 0.3 to 1 us]",
        "to hbm, 1 hop (12 paths)",
        "shared by 2 cores  [bats: a tile has two cores]",
        "copies = measured: repository rdtscp/MicroBenchmarking-KNL: STREAM copy",
        "bandwidth by flows 16: 110 GB/s, 32: 102 GB/s, 64: 97 GB/s, 256: 93 GB/s  [copies]",
    ):
        assert line in text
    synthetic = as_text(describe(make_machine(costs=RuntimeCosts(push_ps=1))))
    assert "zero: spawn_child_first, spawn_parent_first, pop, steal_probe" in synthetic


@pytest.mark.parametrize("name", list_machines())
def test_every_source_of_a_value_is_printed(name: str) -> None:
    machine = load_machine(name)
    text = as_text(describe(machine), width=400)
    kept_back = ("os_distance",)  # it shows as the order of first touch only
    for key, source in machine.sources.items():
        if not key.endswith(kept_back) and not key.startswith("sources."):
            assert source in text, key


def test_lines_fit_the_width_and_markup_is_taken_literally() -> None:
    text = as_text(describe(load_machine("opteron48")), width=80)
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "[trace]" in text


def test_machines_without_sources_have_no_brackets() -> None:
    text = as_text(describe(make_machine(link_bandwidth_bytes_per_s=3e9)))
    assert "[" not in text
    assert "crossbar: 3 GB/s" in text
    assert "a core draws at most unbounded" in text


def test_memory_side_cache_is_shown() -> None:
    side = MemorySideCache(1 << 30, 4096, 30e9, 170_000, 270_000)
    text = as_text(describe(make_machine(memory_side_cache=side)))
    assert "direct-mapped cache in front, random mapping" in text
    assert "latency of a miss 270 ns" in text


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if number % 3 else [])
        for number, name in enumerate(list_machines())
    ],
)
def test_pictures_are_of_readable_size(name: str, tmp_path: Path) -> None:
    picture = tmp_path / "machine.png"
    draw_machine(load_machine(name), picture)
    width, height = _size(picture)
    assert 900 <= width <= 2500
    assert 600 <= height <= 2500


def test_memory_of_any_kind_is_drawn(tmp_path: Path) -> None:
    machine = make_machine(hbm_per_domain=True)
    nodes = tuple(replace(node, kind=f"K{number}") for number, node in enumerate(machine.nodes))
    picture = tmp_path / "machine.svg"
    draw_machine(replace(machine, nodes=nodes), picture)
    assert "K0: first byte" in picture.read_text(encoding="utf-8")


def test_bigger_machines_make_bigger_pictures(tmp_path: Path) -> None:
    sizes = []
    for domains in (1, 4, 9):
        picture = tmp_path / f"{domains}.png"
        draw_machine(make_machine(domains=domains, hbm_per_domain=True), picture)
        sizes.append(_size(picture)[1])
    assert sizes == sorted(set(sizes))


def test_links_are_told_apart_by_who_crosses_them() -> None:
    machine = load_machine("amd_4x_opteron8380")
    direct, shared = _link_ends(machine)
    assert [machine.links[link].name for link in shared] == ["probes"]
    assert sorted(set(direct.values())) == [(0, 1), (0, 2), (1, 3), (2, 3)]
    assert _ring(4, direct.values()) == [0, 1, 3, 2]
    crossbar = make_machine(domains=3, link_bandwidth_bytes_per_s=1e9)
    assert _link_ends(crossbar) == ({}, [0])


def test_a_listed_link_is_drawn_where_those_are_who_cross_it() -> None:
    # Four domains: a link that all paths to and from domain 3 cross, and one of domains 0 and 1.
    machine = make_machine(domains=4)
    rows = [list(row) for row in machine.paths]
    for other in range(3):
        rows[other][3] = replace(rows[other][3], links=(0,))
        rows[3][other] = replace(rows[3][other], links=(0,))
    rows[0][1] = replace(rows[0][1], links=(1, 1))
    rows[0][0] = replace(rows[0][0], links=(1,))
    links = (Link("card", 1e9), Link("cable", 1e9))
    machine = replace(machine, paths=tuple(map(tuple, rows)), links=links)
    direct, shared = _link_ends(machine)
    assert (direct, shared) == ({}, [0, 1])
    assert _hubs(machine, shared) == [({3}, {0, 1, 2, 3}), ({0}, {0, 1})]


def test_nodes_of_entries_that_end_in_a_number_have_it_apart(tmp_path: Path) -> None:
    text = Path("machines/toy_1fast_3slow.yaml").read_text(encoding="utf-8")
    file = tmp_path / "numbered.yaml"
    file.write_text(text.replace("\n  dram:\n", "\n  dram2:\n"), encoding="utf-8")
    machine = load_machine(file)
    assert [node.name for node in machine.nodes] == ["dram2_0"]
    assert "dram2 (DRAM): node 0, one in each domain" in as_text(describe(machine))


def test_runs_of_numbers_are_shortened() -> None:
    assert ranges([]) == ""
    assert ranges([0, 2, 3, 4, 7]) == "0, 2-4, 7"
