"""The kernel and the reference do the same in random runs of all that a backend can be asked for.

Here hooks, plans that change between iterations, migrations and failures are drawn directly; the
comparison through policies and the driver is in tests/engine.
"""

from __future__ import annotations

import numpy as np
import pytest

from simsched.engine.native import NativeBackend
from simsched.engine.reference.backend import SimpyBackend
from simsched.files.errors import ModelError

from .random_cases import RandomCase, execute, random_case

QUICK, MANY = 60, 1500


def usable_case(seed: int) -> RandomCase | None:
    """Return the case of a seed, or None when its data do not fit into its machine's memory."""
    case = random_case(seed)
    try:
        case.problem()
    except ModelError:
        return None
    return case


def assert_equal_runs(seed: int) -> None:
    case = usable_case(seed)
    if case is None:
        return
    reference = list(execute(case, SimpyBackend))
    native = list(execute(case, NativeBackend, check=NativeBackend.verify))
    assert [name for name, _ in native] == [name for name, _ in reference], f"seed {seed}"
    for (name, expected), (_, found) in zip(reference, native, strict=True):
        equal = found == expected if name == "seen" else np.array_equal(found, expected)
        assert equal, f"seed {seed}: {name}: {found} instead of {expected}"


@pytest.mark.parametrize("seed", range(QUICK))
def test_random_runs(seed: int) -> None:
    assert_equal_runs(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(QUICK, MANY, 120))
def test_many_random_runs(start: int) -> None:
    for seed in range(start, start + 120):
        assert_equal_runs(seed)
