"""Costs of single steps of scheduling on this host: their presence is checked, not their size."""

from __future__ import annotations

import math

import pytest

from simsched.files.errors import ConfigurationError
from simsched.hardware.primitives import measure_primitives
from simsched.hardware.topology import allowed_cores

from .support import needs_linux

pytestmark = needs_linux


def test_every_step_takes_some_time() -> None:
    cores = allowed_cores()
    times = measure_primitives(cores[0], cores[-1], rounds=20)
    for name, seconds in vars(times).items():
        assert 0 < seconds < 1, name
        assert math.isfinite(seconds), name


def test_measuring_moves_nobody_else() -> None:
    before = allowed_cores()
    measure_primitives(before[0], before[0], rounds=1)
    assert allowed_cores() == before


@pytest.mark.parametrize(
    ("owner", "thief", "rounds", "message"),
    [
        (10**6, 0, 1, "cores: found 1000000, accepted"),
        (allowed_cores()[0], -1, 1, "cores: found -1, accepted"),
        (allowed_cores()[0], allowed_cores()[0], 0, "rounds: found 0, accepted 1 to"),
    ],
)
def test_refusals(owner: int, thief: int, rounds: int, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        measure_primitives(owner, thief, rounds=rounds)
