"""Rates that fall behind what cores draw before memory is full."""

from __future__ import annotations

import pytest

from simsched.machine import load_machine
from simsched.machine.saturation import ceiling


def test_at_the_measured_point_the_rate_is_what_was_measured() -> None:
    # d / (1 + (d / b)^4)^(1/4) = 2 for d = 4: (d / b)^4 = 15.
    found = ceiling(4.0, 2.0)
    assert found == pytest.approx(4.0 / 15**0.25)
    assert ceiling(611.2, 258.0) == pytest.approx(611.2 / ((611.2 / 258) ** 4 - 1) ** 0.25)


def test_memory_that_cores_cannot_fill_has_no_ceiling() -> None:
    assert ceiling(40.0, 40.0) is None
    assert ceiling(30.0, 40.0) is None


def test_nodes_and_links_of_a_machine_have_the_ceilings_of_all_their_cores() -> None:
    machine = load_machine("xeon_6548y")
    assert machine.nodes[1].ceiling_bytes_per_s == ceiling(32 * 19.1e9, 258e9)
    assert [link.ceiling_bytes_per_s for link in machine.links] == [ceiling(32 * 13.7e9, 127e9)] * 2
