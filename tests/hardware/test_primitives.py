"""Costs of single steps of scheduling on this host: their presence is checked, not their size."""

from __future__ import annotations

import math

import pytest

from simsched.files.errors import HardwareError
from simsched.hardware.runtime import compiled_runtime
from simsched.hardware.topology import allowed_cores

from .support import needs_linux

pytestmark = needs_linux


def test_every_step_takes_some_time() -> None:
    cores = allowed_cores()
    times = compiled_runtime().measure_primitives(cores[0], cores[-1], 20)
    for name, nanoseconds in times.items():
        assert 0 < nanoseconds < 1e9, name
        assert math.isfinite(nanoseconds), name


def test_measuring_moves_nobody_else() -> None:
    before = allowed_cores()
    compiled_runtime().measure_primitives(before[0], before[0], 1)
    assert allowed_cores() == before


@pytest.mark.parametrize("cores", [(10**6, 0), (0, 10**6)])
def test_cores_that_are_not_there(cores: tuple[int, int]) -> None:
    with pytest.raises(HardwareError, match="refused to pin a worker to its core"):
        compiled_runtime().measure_primitives(*cores, 1)
