"""What Linux says of a host: written here, or not there at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from simsched.hardware.calibrate_host import HostCache, available_bytes, read_host

from .support import needs_linux

pytestmark = needs_linux


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="ascii")


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """Two sockets, a node each, of two cores of two threads: 0 and 4 are siblings; node 2 alone."""
    for thread in range(8):
        core, folder = thread % 4, tmp_path / "cpu" / f"cpu{thread}"
        siblings, socket = f"{core},{core + 4}", core // 2
        write(folder / "topology" / "thread_siblings_list", siblings)
        write(folder / "topology" / "physical_package_id", str(socket))
        shared = f"{2 * socket}-{2 * socket + 1},{2 * socket + 4}-{2 * socket + 5}"
        levels = [(1, "Data", "32K", siblings), (1, "Instruction", "64K", siblings)]
        levels.append((3, "Unified", "8192K", shared))
        for index, (level, kind, size, threads) in enumerate(levels):
            for name, text in (("level", level), ("type", kind), ("size", size)):
                write(folder / "cache" / f"index{index}" / name, str(text))
            if level > 1:
                write(folder / "cache" / f"index{index}" / "ways_of_associativity", "16")
            write(folder / "cache" / f"index{index}" / "shared_cpu_list", threads)
    write(tmp_path / "cpu" / "online", "0-7")
    for node, cpus in enumerate(["0-1,4-5", "2-3,6-7", ""]):
        write(tmp_path / "node" / f"node{node}" / "cpulist", cpus)
        write(tmp_path / "node" / f"node{node}" / "distance", " ".join(["10", "21", "28"]))
        write(tmp_path / "node" / f"node{node}" / "meminfo", f"Node {node} MemTotal: {node + 1} kB")
    write(tmp_path / "node" / "has_memory", "0-2")
    write(tmp_path / "cpuinfo", "processor : 0\ncpu MHz\t\t: 2600.5\ncpu MHz : 1")
    return tmp_path


def test_the_whole_host(system: Path) -> None:
    host = read_host(range(8), system, system / "cpuinfo")
    assert [(d.node, d.socket, d.cores) for d in host.domains] == [
        (0, 0, ((0, 4), (1, 5))),
        (1, 1, ((2, 6), (3, 7))),
    ]
    assert [(n.number, n.capacity_bytes, n.domain) for n in host.nodes] == [
        (0, 1024, 0),
        (1, 2048, 1),
        (2, 3072, None),
    ]
    assert host.clock_hz == 2600.5e6
    assert host.threads == [0, 1, 2, 3]
    assert host.caches == (HostCache(1, 2**15, 1), HostCache(3, 2**23, 2, ways=16))
    assert host.distance[0, 2] == 28


def test_only_the_threads_that_may_be_used(system: Path) -> None:
    host = read_host([5, 2, 3, 1], system, system / "no such file")
    assert [d.cores for d in host.domains] == [((1, 5),), ((2,), (3,))]
    assert host.clock_hz is None
    # One core of the first socket and two of the second: no number fits both but 1.
    assert host.caches[1] == HostCache(3, 2**23, 1, is_even=False, ways=16)


def test_hosts_that_tell_nothing(tmp_path: Path) -> None:
    write(tmp_path / "cpu" / "cpu0" / "online", "1")
    write(tmp_path / "meminfo", "MemTotal: 2048 kB\nMemAvailable: 1024 kB")
    host = read_host([0], tmp_path, tmp_path / "none", tmp_path / "meminfo")
    assert host.caches == ()
    assert host.nodes[0].capacity_bytes == 2 * 2**20
    assert host.hops() == [[0]]
    assert available_bytes(tmp_path / "meminfo") == 2**20
    assert available_bytes(tmp_path / "none") == 2**30
