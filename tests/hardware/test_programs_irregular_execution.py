"""Irregular programs on the task runtime, in every mode."""

import itertools
import sys

import pytest

from simsched.hardware.mode import CHOICES, Mode
from simsched.hardware.program import make_program, programs

if sys.platform != "linux":
    pytest.skip("the task runtime needs Linux", allow_module_level=True)

from simsched.hardware.runtime import execute

NAMES = (
    "connected_components",
    "fft",
    "kmeans",
    "label_propagation",
    "merge_sort",
    "nqueens",
    "pagerank",
    "word_count",
)
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
        assert recording.details["lost_events"] == 0
        total = program.workload.graph.n_tasks * program.workload.iterations
        assert program.workload.init is not None
        assert sum(recording.details["tasks"]) == total + program.workload.init.n_tasks


@pytest.mark.parametrize("placement", CHOICES["placement"])
def test_results_do_not_depend_on_where_data_lie(placement: str) -> None:
    for name in NAMES:
        program = make_program(name, programs()[name].small)
        execute(program, Mode(placement=placement), workers=2)
        assert program.check() <= 1.0


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_default_sizes_are_right(name: str) -> None:
    program = make_program(name, {})
    execute(program, workers=3)
    assert program.check() <= 1.0
