"""Rates that fall behind what cores draw before memory is full."""

from __future__ import annotations

import pytest

from simsched.machine import load_machine
from simsched.machine.saturation import rates_by_flows


def test_the_ends_are_what_was_measured() -> None:
    rates = rates_by_flows(19.1e9, 32, 258e9)
    assert len(rates) == 32
    assert (rates[0], rates[-1]) == (19.1e9, 258e9)
    assert list(rates) == sorted(rates)


def test_in_between_the_rate_is_the_soft_minimum() -> None:
    # 4 flows of 1 that get 2 together: a ceiling b with 4 / (1 + (4/b)^4)^(1/4) = 2, so
    # (4/b)^4 = 15; and two of them 2 / (1 + 15/16)^(1/4).
    assert rates_by_flows(1.0, 4, 2.0)[1] == pytest.approx(2.0 / (1 + 15 / 16) ** 0.25)


def test_memory_that_cores_cannot_fill_has_no_curve() -> None:
    assert rates_by_flows(10e9, 4, 40e9) == ()


def test_nodes_and_links_of_a_machine_saturate_gradually() -> None:
    machine = load_machine("xeon_6548y")
    assert machine.nodes[1].bandwidth_curve == rates_by_flows(19.1e9, 32, 258e9)
    assert [link.bandwidth_curve for link in machine.links] == [
        rates_by_flows(13.7e9, 32, 127e9)
    ] * 2
