"""Machines without directories: messages of cache coherence beside the data on links."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simsched.analysis.bounds import capability, traffic_bound_s
from simsched.engine.paths import make_paths
from simsched.engine.run import simulate
from simsched.files.errors import ConfigurationError
from simsched.machine import load_machine
from simsched.machine.model import Machine, RuntimeCosts
from simsched.machine.model import Path as MemoryPath
from simsched.policy.contract.base import AcquireStep, Placement, Plan, PlanView, Policy
from simsched.report.show import describe
from simsched.report.terminal import text as as_text
from simsched.workload.builder import accesses, build_graph
from simsched.workload.graph import TaskGraph, Workload

SQUARE = "amd_4x_opteron8380"
PACKETS = "snooping: {line: [64 B, v], request: [8 B, v], response: [4 B, v]}"
READ_BYTES = 64_000_000
COMPLETE = """\
extends: amd_4x_opteron8380
sources: {v: {kind: assumed, reference: every pair of sockets has a link}}
links:
  ht:
    connects: [[[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]], v]
    bandwidth: [3.73 GB/s, v]
    %s
paths:
  all: {latency: [100 ns, v], core_cap: [8 GB/s, v]}
"""


def _all_to_all_bytes_per_s(machine: Machine) -> float:
    """Return what all domains read together if each reads as much from every node."""
    load = np.zeros(len(machine.links))
    for row in machine.paths:
        for path in row:
            for link, bytes_per_byte in path.link_loads:
                load[link] += bytes_per_byte
    ways = [index for index, link in enumerate(machine.links) if ">" in link.name]
    assert np.ptp(load[ways]) == 0.0
    return machine.links[ways[0]].bandwidth_bytes_per_s * machine.n_domains**2 / load[ways[0]]


def test_four_nodes_reading_from_all_have_the_published_bandwidth(tmp_path: Path) -> None:
    # AMD, in ChannelPartner 242562: 14.9 GB/s in a square, 29.9 GB/s with a link between any two.
    assert _all_to_all_bytes_per_s(load_machine(SQUARE)) == pytest.approx(14.9e9, rel=0.005)
    complete = tmp_path / "complete.yaml"
    complete.write_text(COMPLETE % PACKETS)
    assert _all_to_all_bytes_per_s(load_machine(complete)) == pytest.approx(29.9e9, rel=0.005)


def test_messages_go_where_the_protocol_sends_them(tmp_path: Path) -> None:
    complete = tmp_path / "complete.yaml"
    complete.write_text(COMPLETE % PACKETS)
    machine = load_machine(complete)
    names = [link.name for link in machine.links]
    loads = {names[link]: load * 64 for link, load in machine.paths[0][1].message_loads}
    # Domain 0 reads memory of domain 1: a request (8 bytes) and the end (4) go to 1; a probe (8),
    # the answer and the head of the data (4 each) come from there; 2 and 3 are asked by 1 and
    # answer to 0.
    assert loads == {
        "ht0>1": 12.0,
        "ht1>0": 16.0,
        "ht1>2": 8.0,
        "ht1>3": 8.0,
        "ht2>0": 4.0,
        "ht3>0": 4.0,
    }
    own = {names[link]: load * 64 for link, load in machine.paths[0][0].message_loads}
    assert own == {"ht0>1": 8.0, "ht0>2": 8.0, "ht0>3": 8.0} | dict.fromkeys(
        ("ht1>0", "ht2>0", "ht3>0"), 4.0
    )


def test_machines_with_directories_send_none() -> None:
    for name in ("opteron48", "intel_4x_x7560", "sgi_uv2000_192"):
        machine = load_machine(name)
        assert not any(path.message_loads for row in machine.paths for path in row)


class _Readers(Policy):
    """Task i runs on worker i and reads its block, of which node `across` says which it is on."""

    def __init__(self, across: int) -> None:
        self.across = across

    def place(self, view: PlanView, state: object) -> Placement:
        home = (view.worker_domain ^ self.across).astype(np.int32)
        return Placement(home, view.machine.touch_order)

    def plan(self, view: PlanView, state: object, graph: TaskGraph) -> Plan:
        return Plan(
            acquire=(AcquireStep("worker", "own", "newest"),),
            instance_of=np.arange(graph.n_tasks, dtype=np.int32),
        )


def _reading_s(
    workers: int, across: int, backend: str, *, moved: bool = False
) -> tuple[float, float]:
    """Return how long workers read a block each, and the least that their traffic needs."""
    machine = replace(load_machine(SQUARE), caches=(), costs=RuntimeCosts())
    each = np.arange(workers)
    graph = build_graph(
        np.zeros(workers),
        accessed=accesses(each, each, READ_BYTES, 0, workers),
        block_bytes=np.full(workers, READ_BYTES),
    )
    found = simulate(
        machine,
        Workload("read", graph),
        _Readers(across),
        workers=workers,
        backend=backend,
        pinning="compact",
    )
    return found.summary.makespan_ps / 1e12, traffic_bound_s(found.summary, machine, moved=moved)


HALF = """\
description: two sockets on one bus
sources: {v: {kind: assumed, reference: an example}}
cores: {x1: {clock: [1 GHz, v], ops_per_cycle: [1, v]}}
sockets:
  - {count: [2, v], domains: [1, v], cores: {x1: [1, v]}}
memory:
  dram: {kind: DRAM, at: %s, capacity: [1 GiB, v], bandwidth: [40 GB/s, v], page: [4 KiB, v]}
links:
  bus:
    connects: [[[0, 1]], v]
    duplex: half
    bandwidth: [4 GB/s, v]
    %s
paths: {all: {latency: [100 ns, v], core_cap: [40 GB/s, v]}}
"""


def test_one_link_for_both_directions_carries_all_messages(tmp_path: Path) -> None:
    path = tmp_path / "half.yaml"
    path.write_text(HALF % ("each domain", PACKETS))
    # Request, end, probe, answer of the home and head of the line: 8 + 4 + 8 + 4 + 4 bytes of 64.
    rate = 4e9 / (1 + 28 / 64)
    machine = load_machine(path)
    assert machine.link_rate(machine.paths[0][1]) == pytest.approx(rate, rel=1e-12)


def test_memory_of_no_domain_has_no_messages(tmp_path: Path) -> None:
    path = tmp_path / "pool.yaml"
    path.write_text(HALF % ("machine", PACKETS))
    assert load_machine(path).paths[0][0].message_loads == ()


def test_devices_behind_other_links_are_not_asked(tmp_path: Path) -> None:
    server = HALF % ("[0, 1]", PACKETS)
    device = server.replace("  - {count: [2, v]", "  - {count: [3, v]").replace(
        "paths:", "  pcie: {connects: [[[1, 2]], v], bandwidth: [8 GB/s, v]}\npaths:"
    )
    machines = []
    for name, text in (("two", server), ("three", device)):
        (tmp_path / f"{name}.yaml").write_text(text)
        machines.append(load_machine(tmp_path / f"{name}.yaml"))
    two, three = machines
    for domain in (0, 1):
        for node in (0, 1):
            assert two.paths[domain][node] == three.paths[domain][node]
    assert [path.message_loads for path in three.paths[2]] == [(), ()]


def test_copies_of_pages_have_messages(tmp_path: Path) -> None:
    machine = load_machine(SQUARE)
    paths = make_paths(machine, 1)
    copy = paths.copy[1, 0]  # from node 1 to node 0, whose domain reads
    span = slice(paths.resource_ptr[copy], paths.resource_ptr[copy + 1])
    loads = dict(zip(paths.resource[span].tolist(), paths.weight[span].tolist(), strict=True))
    links = {len(machine.nodes) + link: load for link, load in machine.paths[0][1].link_loads}
    assert loads == {0: 1.0, 1: 1.0} | links


def test_bounds_of_any_policy_know_what_all_paths_cross() -> None:
    machine = load_machine(SQUARE)
    threads = np.arange(machine.n_threads, dtype=np.int32)
    # 16 cores draw 8 GB/s each, four controllers give 10 GB/s each, but sockets answer for 25 GB/s.
    assert capability(machine, threads).total_bytes_per_s == pytest.approx(25e9, rel=1e-9)
    whole = replace(machine, links=(), paths=_without_links(machine))
    assert capability(whole, threads).total_bytes_per_s == pytest.approx(40e9, rel=1e-9)


def _without_links(machine: Machine) -> tuple[tuple[MemoryPath, ...], ...]:
    """Return the paths as they would be if nothing lay between sockets."""
    return tuple(
        tuple(replace(path, links=(), message_loads=()) for path in row) for row in machine.paths
    )


def test_bounds_of_moved_tasks_count_what_every_reader_loads() -> None:
    # Who read from where is not known: only the line that all paths cross is loaded for sure.
    _, bound = _reading_s(16, 3, "native", moved=True)
    assert bound == pytest.approx(16 * READ_BYTES / 25e9, rel=1e-9)


@pytest.mark.parametrize("backend", ["native", "simpy"])
def test_four_sockets_that_read_their_own_memory_are_bound_by_probes(backend: str) -> None:
    # STREAM: 20 GB/s on two sockets, 25 GB/s on four.
    two, _ = _reading_s(8, 0, backend)
    four, bound = _reading_s(16, 0, backend)
    assert two == pytest.approx(8 * READ_BYTES / 20e9, rel=1e-4)
    assert four == pytest.approx(16 * READ_BYTES / 25e9, rel=1e-4)
    assert bound == pytest.approx(16 * READ_BYTES / 25e9, rel=1e-9)


@pytest.mark.parametrize("backend", ["native", "simpy"])
def test_four_sockets_that_read_across_the_square_are_bound_by_links(backend: str) -> None:
    # Each of eight directions of links has, per byte that a socket reads from the opposite one:
    # that byte (one of four routes of two links), the head of its line (4 / 64), request and end of
    # another route (12 / 64), probes (4 messages of 8 bytes for each of four homes) and answers (4
    # of 4 bytes for each of four readers).
    load = 1 + 4 / 64 + 12 / 64 + 4 * 4 * 8 / 64 / 8 + 4 * 4 * 4 / 64 / 8
    expected = 4 * READ_BYTES * load / 3.73e9
    took, bound = _reading_s(16, 3, backend)
    assert took == pytest.approx(expected, rel=1e-4)
    assert bound == pytest.approx(expected, rel=1e-9)


def test_it_is_told_how_much_messages_load_links() -> None:
    told = as_text(describe(load_machine(SQUARE)))
    assert "bytes of messages per byte of data, all links together 0.75" in told


@pytest.mark.parametrize(
    ("packets", "message"),
    [
        (
            PACKETS.replace("64 B", "0 B"),
            r"links.ht.snooping.line\[0\]: found zero, accepted: more than zero",
        ),
        (
            PACKETS.replace("response", "respones"),
            "unknown key 'respones'; did you mean 'response'",
        ),
        (PACKETS.replace(", response: [4 B, v]", ""), "links.ht.snooping.response: missing"),
        (
            "duplex: full\n  all:\n    crossed_by: all\n    bandwidth: [9 GB/s, v]\n    " + PACKETS,
            "links.all.snooping: accepted: only in links that connect domains",
        ),
    ],
)
def test_what_is_wrong_with_messages_is_told(tmp_path: Path, packets: str, message: str) -> None:
    path = tmp_path / "complete.yaml"
    path.write_text(COMPLETE % packets)
    with pytest.raises(ConfigurationError, match=message):
        load_machine(path)
