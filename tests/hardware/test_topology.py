"""Reading the host's topology and what follows from it: distances, placement."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simsched.files.errors import HardwareError
from simsched.hardware.placement import block_nodes, blocks_on_nodes, place_blocks
from simsched.hardware.topology import (
    Topology,
    allowed_cores,
    distance_classes,
    parse_list,
    read_topology,
)

from .support import needs_linux, random_program


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="ascii")


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """Two sockets of two nodes with two cores of two threads; threads 8 to 15 are siblings."""
    for thread in range(16):
        core, folder = thread % 8, tmp_path / "cpu" / f"cpu{thread}"
        write(folder / "topology" / "thread_siblings_list", f"{core},{core + 8}")
        write(folder / "topology" / "physical_package_id", str(core // 4))
        socket = f"{core // 4 * 4}-{core // 4 * 4 + 3},{core // 4 * 4 + 8}-{core // 4 * 4 + 11}"
        for index, (level, kind, shared) in enumerate(
            [
                (1, "Data", f"{core},{core + 8}"),
                (1, "Instruction", f"{core},{core + 8}"),
                (2, "Unified", f"{core},{core + 8}"),
                (3, "Unified", socket),
            ]
        ):
            write(folder / "cache" / f"index{index}" / "level", str(level))
            write(folder / "cache" / f"index{index}" / "type", kind)
            write(folder / "cache" / f"index{index}" / "shared_cpu_list", shared)
    write(tmp_path / "cpu" / "online", "0-15")
    write(tmp_path / "cpu" / "cpufreq" / "other", "")
    for node in range(4):
        folder = tmp_path / "node" / f"node{node}"
        write(folder / "cpulist", f"{2 * node}-{2 * node + 1},{2 * node + 8}-{2 * node + 9}")
        distance = [10 if n == node else 12 if n // 2 == node // 2 else 21 for n in range(4)]
        write(folder / "distance", " ".join(map(str, distance)))
    write(tmp_path / "node" / "has_memory", "0-3")
    return tmp_path


def test_sites(system: Path) -> None:
    topology = read_topology(system)
    assert sorted(topology.sites) == list(range(16))
    assert topology.nodes == (0, 1, 2, 3)
    one, sibling, far = (topology.sites[thread] for thread in (1, 9, 14))
    assert one == sibling
    assert (one.core, one.l2, one.l3, one.node, one.socket) == (1, 1, 0, 0, 0)
    assert (far.core, far.l2, far.l3, far.node, far.socket) == (6, 6, 4, 3, 1)


def test_distance_classes(system: Path) -> None:
    topology = read_topology(system)
    classes = distance_classes(topology, [0, 8, 1, 2, 4])
    assert classes[0].tolist() == [0, 0, 1, 2, 3]
    assert np.array_equal(classes, classes.T)


def test_hosts_that_tell_nothing(tmp_path: Path) -> None:
    write(tmp_path / "cpu" / "cpu0" / "online", "1")
    write(tmp_path / "cpu" / "cpu1" / "online", "1")
    topology = read_topology(tmp_path)
    assert topology.nodes == (0,)
    assert topology.distance(0, 1) == 1


def test_other_content_is_refused(system: Path) -> None:
    write(system / "node" / "has_memory", "all of them")
    with pytest.raises(HardwareError, match="not understood"):
        read_topology(system)


@needs_linux
def test_this_host() -> None:
    topology = read_topology()
    assert set(allowed_cores()) <= set(topology.sites)
    assert set(allowed_cores()) == os.sched_getaffinity(0)
    assert len(topology.nodes) >= 1


def test_lists_of_the_kernel() -> None:
    assert parse_list("0-2,5,7-8") == [0, 1, 2, 5, 7, 8]
    assert parse_list("") == []


@pytest.mark.parametrize("text", ["0-", "-1", "2-1", "0-9999999999", "0,", "a", "0-1-2"])
def test_what_is_no_list(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (callers say what is accepted)
        parse_list(text)


def test_nodes_of_blocks() -> None:
    assert block_nodes("first_touch", 4, [0, 2]) is None
    interleaved, bound = block_nodes("interleave", 5, [0, 2]), block_nodes("bind", 5, [0, 2])
    assert interleaved is not None
    assert bound is not None
    assert interleaved.tolist() == [0, 2, 0, 2, 0]
    assert bound.tolist() == [0, 0, 0, 2, 2]


class Binding:
    """Notes what the system is asked for."""

    def __init__(self, error: OSError | None = None) -> None:
        self.calls: list[tuple[int, int, int, bool]] = []
        self.error = error

    def bind_pages(self, array: Any, first: int, last: int, node: int, strictly: bool) -> int:
        if self.error is not None:
            raise self.error
        self.calls.append((first, last, node, strictly))
        return 1

    def locate_pages(self, array: Any, offsets: Any) -> Any:
        return np.where(np.arange(len(offsets)) == 0, -1, 2)


def test_blocks_are_put_on_their_nodes() -> None:
    program = random_program(1)
    size, binding = program.workload.graph.block_bytes, Binding()
    about = place_blocks(program, "bind", [0, 2], binding)
    ends = np.cumsum(size)
    assert [call[:2] for call in binding.calls] == list(zip(ends - size, ends, strict=True))
    home = block_nodes("bind", len(size), [0, 2])
    assert home is not None
    assert [call[2] for call in binding.calls] == home.tolist()
    assert all(call[3] for call in binding.calls)
    assert about["applied"]
    assert about["pages"] == len(size)
    assert blocks_on_nodes(program, [0, 2], binding) == {"untouched": 1, "node2": len(size) - 1}


def test_one_node_needs_no_placement_and_says_so() -> None:
    binding = Binding()
    about = place_blocks(random_program(1), "interleave", [0], binding)
    assert about["reason"] == "the host has one memory node"
    assert not about["applied"]
    assert binding.calls == []


def test_first_touch_asks_for_nothing() -> None:
    binding = Binding()
    assert place_blocks(random_program(1), "first_touch", [0, 1], binding)["applied"]
    assert binding.calls == []


def test_refused_placements_name_the_block() -> None:
    binding = Binding(OSError(12, "no room"))
    with pytest.raises(HardwareError, match=r"placement interleave: block 0: .*no room"):
        place_blocks(random_program(1), "interleave", [0, 1], binding)


@needs_linux
def test_pages_can_be_bound_and_found() -> None:
    from simsched.hardware.native import _runtime

    page = os.sysconf("SC_PAGE_SIZE")
    array = np.zeros(64 * page, np.uint8)  # so large that its pages come fresh from the system
    node = read_topology().nodes[0]
    try:
        pages = _runtime.bind_pages(array, 0, array.nbytes, node, True)
    except OSError as error:
        pytest.skip(f"mbind: {error}")
    assert pages in {63, 64}  # the array need not begin with a page
    assert _runtime.bind_pages(array, 5, 5, node, True) == 0
    array[:] = 1
    found = _runtime.locate_pages(array, np.array([0, 10 * page]))
    assert found.tolist() == [node, node]
    with pytest.raises(OSError, match=r"nvalid"):
        _runtime.bind_pages(array, 0, array.nbytes, 1023, True)
    with pytest.raises(ValueError, match="offsets"):
        _runtime.locate_pages(array, np.array([array.nbytes]))


def test_topology_without_distances_has_one_class_of_remote_nodes(system: Path) -> None:
    known = read_topology(system)
    topology = Topology(known.sites, known.nodes, {})
    assert topology.distance(0, 2) == topology.distance(0, 4) == 2
