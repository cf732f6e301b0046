"""Memory and links that saturate gradually, in both engines, against the closed form of rule F7."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simsched.machine.model import Link, Machine
from simsched.machine.synthetic import make_machine
from tests.engine.test_controllers import CAP, SIZE, stream_s

CEILING = 32e9


def gradual_machine() -> Machine:
    """Two domains of four cores; nodes near CEILING, local and remote bytes weigh the same."""
    machine = make_machine(
        domains=2,
        cores_per_domain=4,
        core_cap_bytes_per_s=CAP,
        dram_bandwidth_bytes_per_s=30e9,
        link_bandwidth_bytes_per_s=1000e9,
    )
    nodes = tuple(replace(node, ceiling_bytes_per_s=CEILING) for node in machine.nodes)
    return replace(machine, nodes=nodes)


def sustained(drawn: float, ceiling: float = CEILING) -> float:
    """Return the soft minimum of what cores could draw and the ceiling."""
    return drawn / (1 + (drawn / ceiling) ** 4) ** 0.25


@pytest.mark.parametrize("workers", [[0], [0, 1], [0, 1, 2, 3], [0, 1, 2, 3, 4, 5, 6, 7]])
def test_a_node_gets_the_soft_minimum_of_its_cores(workers: list[int]) -> None:
    taken = stream_s(gradual_machine(), workers, [0] * len(workers))
    rate = sustained(len(workers) * CAP)
    assert taken == pytest.approx(len(workers) * SIZE / rate, rel=1e-9)


def test_writes_that_weigh_more_draw_more() -> None:
    machine = gradual_machine()
    paths = tuple(tuple(replace(path, node_weight=2.0) for path in row) for row in machine.paths)
    taken = stream_s(replace(machine, paths=paths), [0, 1, 2], [0, 0, 0])
    assert taken == pytest.approx(2 * 3 * SIZE / sustained(2 * 3 * CAP), rel=1e-9)


def test_a_link_gets_the_soft_minimum_of_those_who_cross_it() -> None:
    machine = make_machine(
        domains=2,
        cores_per_domain=4,
        core_cap_bytes_per_s=CAP,
        dram_bandwidth_bytes_per_s=1000e9,
        link_bandwidth_bytes_per_s=20e9,
    )
    machine = replace(machine, links=(Link("crossbar", 20e9, ceiling_bytes_per_s=21e9),))
    # Three cross it, one does not.
    taken = stream_s(machine, [0, 4, 5, 6], [0] * 4)
    assert taken == pytest.approx(3 * SIZE / sustained(3 * CAP, 21e9), rel=1e-9)


def test_siblings_of_a_core_draw_no_more_than_one_thread() -> None:
    machine = make_machine(
        domains=1,
        cores_per_domain=4,
        core_cap_bytes_per_s=CAP,
        dram_bandwidth_bytes_per_s=30e9,
        smt_throughput=(1.0, 1.0),
    )
    node = replace(machine.nodes[0], ceiling_bytes_per_s=CEILING)
    taken = stream_s(replace(machine, nodes=(node,)), list(range(8)), [0] * 8)
    assert taken == pytest.approx(8 * SIZE / sustained(4 * CAP), rel=1e-9)
