"""Cores that draw from memory together, in both engines, against closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simsched.machine.model import Machine
from simsched.machine.synthetic import make_machine
from tests.engine.test_controllers import _Homes
from tests.engine.test_copies import MB, both, program

ONE, TOGETHER = 11e9, 18e9  #: bytes/s: one core alone, and two of a module
BLOCK = 9 * MB


def tiles(module_cores: int) -> Machine:
    """Return four cores whose memory is never full."""
    machine = make_machine(
        domains=1, cores_per_domain=4, core_cap_bytes_per_s=ONE, dram_bandwidth_bytes_per_s=1e12
    )
    ((path,),) = machine.paths
    groups = tuple(replace(group, module_cores=module_cores) for group in machine.core_groups)
    path = replace(path, core_cap_bytes_per_s=(ONE, TOGETHER))
    return replace(machine, core_groups=groups, paths=((path,),))


def taken_s(machine: Machine, busy: list[int]) -> float:
    """Return how long the given cores take to read a block each."""
    workload = program(
        [[(place, BLOCK, 0)] for place in range(len(busy))], [], ops=0.0, block_bytes=BLOCK
    )
    run = both(machine, workload, _Homes(busy, np.zeros(len(busy), np.int32)))
    return run.makespan_s


@pytest.mark.parametrize(
    ("busy", "each"),
    [
        ([0], ONE),
        ([0, 1], TOGETHER / 2),
        ([0, 2], ONE),
        ([1, 2], ONE),
        ([0, 1, 2, 3], TOGETHER / 2),
    ],
)
def test_two_cores_of_a_module_share_what_it_draws(busy: list[int], each: float) -> None:
    assert taken_s(tiles(2), busy) == pytest.approx(BLOCK / each, rel=1e-9)
    assert taken_s(tiles(1), busy) == pytest.approx(BLOCK / ONE, rel=1e-9)


def test_who_is_left_draws_alone() -> None:
    """The first core is done with half of a block when the second one has half of its own left."""
    workload = program([[(0, BLOCK // 2, 0)], [(1, BLOCK, 0)]], [], ops=0.0, block_bytes=BLOCK)
    run = both(tiles(2), workload, _Homes([0, 1], np.zeros(2, np.int32)))
    expected = BLOCK / TOGETHER + BLOCK / 2 / ONE
    assert run.makespan_s == pytest.approx(expected, rel=1e-9)


def test_modules_are_whole_cores_of_one_domain_and_kind() -> None:
    machine = make_machine(domains=2, cores_per_domain=6, smt_throughput=(1.0, 1.2))
    groups = tuple(replace(group, module_cores=3) for group in machine.core_groups)
    machine = replace(machine, core_groups=groups)
    assert machine.core_module.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
