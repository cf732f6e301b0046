"""Probes about divisions of loops."""

from __future__ import annotations

import pytest

from simsched.files.errors import ConfigurationError
from simsched.reproduction.probes import ask

GIVEN = {"machine": "e5620_m2090", "units": 65536}


@pytest.mark.parametrize(
    ("policy", "what", "step", "answer"),
    [
        ("hats", "units", 1, 512.0),
        ("hats", "first_device_units", 1, 256.0),
        ("hats", "remaining", 1, 65024.0),
        ("hats", "units", 2, 1024.0),
        ("split", "steps", 1, 64.0),
        ("cpu_only", "first_device_units", 1, 0.0),
    ],
)
def test_sizes_of_steps(policy: str, what: str, step: int, answer: float) -> None:
    assert ask("division_step", {**GIVEN, "policy": policy, "what": what, "step": step}) == answer


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="step: found 3, accepted: 1 to 2"):
        ask("division_step", {**GIVEN, "policy": "quick", "what": "units", "step": 3})
    with pytest.raises(ConfigurationError, match="unknown what 'size'"):
        ask("division_step", {**GIVEN, "policy": "quick", "what": "size"})
