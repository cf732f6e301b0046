"""Dense programs on the task runtime, in every mode."""

import itertools
import sys

import pytest

from simsched.hardware.mode import CHOICES, Mode
from simsched.hardware.program import make_program, programs

if sys.platform != "linux":
    pytest.skip("the task runtime needs Linux", allow_module_level=True)

from simsched.hardware.runtime import execute

NAMES = ("cholesky", "ge", "heat", "matmul", "sor", "stencil25", "stencil6", "stencil9")
FIELDS = ("order", "pools", "own_take")
MODES = tuple(
    Mode(**dict(zip(FIELDS, values, strict=True)))
    for values in itertools.product(*(CHOICES[name] for name in FIELDS))
)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: "-".join(map(str, vars(mode).values())))
@pytest.mark.parametrize("name", NAMES)
def test_results_are_right_in_every_mode(name: str, mode: Mode) -> None:
    for workers in (2, 3):
        program = make_program(name, programs()[name].small)
        recording = execute(program, mode, workers=workers, seed=workers)
        assert program.check() <= 1.0
        workload = program.workload
        assert workload.init is not None
        tasks = workload.init.n_tasks + workload.graph.n_tasks * workload.iterations
        assert sum(recording.details["tasks"]) == tasks


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_default_sizes_are_right(name: str) -> None:
    program = make_program(name, {})
    execute(program, workers=2, trace=False)
    assert program.check() <= 1.0
