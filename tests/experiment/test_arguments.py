"""What is passed to the functions of Python: NumPy's values are taken, the wrong ones named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import simsched
from simsched.files.errors import ConfigurationError

MACHINE = "amd_4x_opteron8380"
PROGRAM = "fork_join[depth=3]"


def run(**options: Any) -> simsched.Result:
    """Run a small program in this process."""
    return simsched.run(MACHINE, PROGRAM, "cilk_a", **{"jobs": 1, **options})


def simulate(**options: Any) -> simsched.Run:
    """Simulate a small program, or what is given in its place."""
    things = {
        "machine": simsched.load_machine(MACHINE),
        "workload": simsched.make_workload(PROGRAM),
        "policy": simsched.make_policy("cilk_a"),
        **{key: options.pop(key) for key in ("machine", "workload", "policy") if key in options},
    }
    return simsched.simulate(*things.values(), **options)  # type: ignore[arg-type]


def test_numbers_of_numpy_are_numbers() -> None:
    found = run(workers=np.int64(3), seeds=np.arange(2), jobs=np.int32(1))
    same = run(workers=3, set={"seeds": np.int64(2)})
    assert found.runs.makespan_s.tolist() == same.runs.makespan_s.tolist()
    assert len(found.runs) == 2
    assert simulate(seed=np.int64(5), workers=np.int64(3)).makespan_s == (
        simulate(seed=5, workers=3).makespan_s
    )
    assert simsched.make_policy("bats", {"sample_pages": np.int64(8)}) == simsched.make_policy(
        "bats[sample_pages=8]"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("jobs", value) for value in (0, 1.5, "a", True)),
        *(("events", value) for value in ("yes", 1)),
        *(("seeds", value) for value in (1.5, "a", {}, 0)),
        *(("metrics", value) for value in (5, "nope", ["makespan_s", 5])),
        *(("set", value) for value in (5, "seeds=2", [5], {"seeds": object()})),
        *(("workers", value) for value in ("x", 1.5)),
        ("recompute", "no"),
        ("output", 5),
        ("name", 5),
        ("progress", 5),
        ("dask", 5),
        ("backend", 5),
        ("baseline", 5),
        ("pinning", 5),
    ],
)
def test_a_wrong_option_of_a_run_is_named(name: str, value: object) -> None:
    with pytest.raises(ConfigurationError, match=rf"{name}\b.*(accepted|unknown)"):
        run(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("machine", 5),
        ("workload", PROGRAM),
        ("policy", type(simsched.make_policy("cilk_a"))),
        ("seed", "x"),
        ("seed", 1.5),
        ("workers", "x"),
        ("pinning", 5),
        ("backend", 5),
        ("events", "yes"),
        ("progress", 5),
        ("progress_limit_s", "x"),
        ("progress_limit_s", 0),
    ],
)
def test_a_wrong_option_of_one_simulation_is_named(name: str, value: object) -> None:
    with pytest.raises(simsched.SimschedError, match=rf"{name}\b.*accepted"):
        simulate(**{name: value})


@pytest.mark.parametrize(
    "function",
    [
        simsched.run,
        simsched.load_machine,
        simsched.make_policy,
        simsched.make_workload,
        simsched.import_workload,
        simsched.query,
        simsched.results,
        simsched.calibrate,
        lambda value: simsched.measure("heat", output=value),
        lambda value: simsched.validate(value, MACHINE),
        lambda value: simsched.make_workload("heat", value),
        lambda value: simsched.make_policy("bats", value),
        lambda value: simsched.load_machine(MACHINE, value),
        lambda value: simsched.machines[value],
    ],
)
def test_a_number_in_place_of_a_name_or_file(function: Callable[[Any], object]) -> None:
    with pytest.raises(ConfigurationError, match=r"(found|unknown machine) 5.*accepted: "):
        function(5)
