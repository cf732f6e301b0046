"""Controllers that several nodes share, and rates that fall with the number of requesters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simsched.machine.model import Controller, Link, Machine
from simsched.machine.synthetic import make_machine
from tests.engine.test_copies import MB, _Assigned, both, program

CAP = 10e9  # bytes per second of a core
NODE = 34.5e9  # of a memory node alone
SIZE = 100 * MB


def pair_machine(**more: object) -> Machine:
    """Two domains of six cores, whose nodes share a controller of 36 GB/s."""
    machine = make_machine(
        domains=2,
        cores_per_domain=6,
        core_cap_bytes_per_s=CAP,
        dram_bandwidth_bytes_per_s=NODE,
    )
    nodes = tuple(replace(node, controller=0) for node in machine.nodes)
    return replace(machine, nodes=nodes, controllers=(Controller("both", 36e9, **more),))


def stream_s(machine: Machine, workers: list[int], homes: list[int]) -> float:
    """Return how long workers take that read SIZE bytes each, of a block on some node."""
    tasks = [[(block, SIZE, 0)] for block in range(len(workers))]
    return both(
        machine,
        program(tasks, ops=0.0, block_bytes=SIZE),
        _Homes(workers, np.array(homes, np.int32)),
    ).makespan_s


class _Homes(_Assigned):
    """Every task on a worker, every block on a node, that are named before the run."""

    def __init__(self, worker: list[int], home: np.ndarray) -> None:
        super().__init__(worker)
        object.__setattr__(self, "home", home)


@pytest.mark.parametrize(
    ("workers", "rate"),
    [
        ([0, 1], 2 * CAP),  # what the cores draw
        ([0, 1, 2, 3, 4, 5], NODE),  # what one node sustains
        ([0, 1, 2, 6, 7, 8], 36e9),  # what the controller does for both: 18 each, not 34.5
    ],
)
def test_nodes_share_a_controller(workers: list[int], rate: float) -> None:
    homes = [worker // 6 for worker in workers]
    taken = stream_s(pair_machine(), workers, homes)
    assert taken == pytest.approx(len(workers) * SIZE / rate, rel=1e-9)


def test_a_controllers_rate_falls_with_its_flows_on_all_nodes() -> None:
    curve = tuple(np.interp(range(1, 13), [1, 4, 12], [36e9, 36e9, 20e9]).tolist())
    machine = pair_machine(bandwidth_curve=curve)
    assert stream_s(machine, [0, 1, 6, 7], [0, 0, 1, 1]) == pytest.approx(4 * SIZE / 36e9, rel=1e-9)
    everyone = list(range(12))
    taken = stream_s(machine, everyone, [0] * 6 + [1] * 6)
    assert taken == pytest.approx(12 * SIZE / 20e9, rel=1e-9)


def test_a_links_rate_falls_with_its_flows() -> None:
    machine = make_machine(
        domains=2,
        cores_per_domain=4,
        core_cap_bytes_per_s=CAP,
        dram_bandwidth_bytes_per_s=100e9,
        link_bandwidth_bytes_per_s=20e9,
    )
    machine = replace(machine, links=(Link("crossbar", 20e9, (10e9, 20e9, 15e9, 12e9)),))
    for n, rate in ((1, 10e9), (2, 20e9), (3, 15e9), (4, 12e9)):
        taken = stream_s(machine, list(range(n)), [1] * n)
        assert taken == pytest.approx(n * SIZE / rate, rel=1e-9)
