"""The benchmark generator against the loop that defines it."""

import numpy as np
import pytest

from simsched.workload.bench import OWN_CONTROLLER, bench_costs, bench_flows, bench_rng


def by_definition(count: int) -> list[float]:
    x, mask, numbers = 88172645463325252, 2**64 - 1, []
    for _ in range(count):
        x ^= (x << 13) & mask
        x ^= x >> 7
        x ^= (x << 17) & mask
        numbers.append((x >> 11) / 2**53)
    return numbers


@pytest.mark.parametrize("count", [0, 1, 2, 1023, 1024, 1025, 5000])
def test_numbers_are_those_of_the_loop(count: int) -> None:
    assert bench_rng(count).tolist() == by_definition(count)


def test_costs_are_half_to_one_and_a_half_million() -> None:
    assert bench_costs(100).tolist() == [(0.5 + x) * 1e6 for x in by_definition(100)]


def test_local_flows_go_to_the_workers_own_controller() -> None:
    flows = bench_flows(50, remote=False)
    assert flows.size_bytes.tolist() == [(0.5 + x) * 1e6 for x in by_definition(50)]
    assert set(flows.controller.tolist()) == {OWN_CONTROLLER}


def test_remote_flows_draw_in_the_stated_order() -> None:
    numbers = iter(by_definition(3000))
    flows = bench_flows(1000, remote=True)
    for size, controller in zip(flows.size_bytes, flows.controller, strict=True):
        leaves = next(numbers) < 0.3
        expected = int(next(numbers) * 8) if leaves else OWN_CONTROLLER
        assert controller == expected
        assert size == int((0.5 + next(numbers)) * 1e6)
    away = np.mean(flows.controller != OWN_CONTROLLER)
    assert 0.25 < away < 0.35
