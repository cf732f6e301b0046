"""Generators by name: discovery, parameters and their messages."""

import inspect
import itertools
import pickle
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
import pytest

from simsched.analysis.digest import content_digest
from simsched.files.errors import ConfigurationError, ExtensionError, GraphError
from simsched.names.parameters import Parameter
from simsched.workload import TaskGraph, Workload, generate_workload, list_workloads, registry
from simsched.workload.builder import build_graph
from simsched.workload.registry import (
    Bounds,
    Count,
    Size,
    WorkloadGenerator,
    find_workload,
    generator,
    resolve_parameters,
    variant,
)

NAMES = [item.name for item in list_workloads()]


@pytest.fixture
def scratch(monkeypatch: pytest.MonkeyPatch) -> dict[str, WorkloadGenerator]:
    """Return a copy of the registry that is put back afterwards."""
    copy = registry.generators.all()
    monkeypatch.setattr(registry.generators, "_entries", copy)
    return copy


def arrays(graph: TaskGraph) -> list[np.ndarray]:
    return [value for value in vars(graph).values() if isinstance(value, np.ndarray)]


def test_every_generator_is_found() -> None:
    expected = "chain cholesky flows fork_join heat independent layered_random pagerank stencil2d"
    assert set(expected.split()) <= set(NAMES)
    assert sorted(NAMES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_defaults_give_a_valid_workload(name: str) -> None:
    workload = generate_workload(name)
    workload.validate()
    assert workload.name == name
    chosen = find_workload(name)
    assert chosen.summary.endswith(".")
    assert set(workload.parameters) == {"generator", "seed", *chosen.parameters}
    again = {k: v for k, v in workload.parameters.items() if k not in ("generator", "seed")}
    assert generate_workload(name, again).parameters == workload.parameters
    for protocol in (2, pickle.HIGHEST_PROTOCOL):  # some protocols make arrays that can be written
        assert pickle.loads(pickle.dumps(workload, protocol)).graph.is_fixed


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_arrays(name: str) -> None:
    first, second = generate_workload(name, {}, 7), generate_workload(name, {}, 7)
    for one, other in zip(arrays(first.graph), arrays(second.graph), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("name", ["layered_random", "pagerank"])
def test_other_seed_other_arrays(name: str) -> None:
    first, second = generate_workload(name, {}, 7).graph, generate_workload(name, {}, 8).graph
    assert any(
        not np.array_equal(one, other)
        for one, other in zip(arrays(first), arrays(second), strict=True)
    )


def choices(parameter: Parameter) -> list[object]:
    """Return values of a parameter that may decide whether anything is drawn."""
    if parameter.choices:
        return [*parameter.choices]
    return [0.0, 0.5] if parameter.name == "spread" else [0, 2] * (parameter.name == "probes")


SOMETIMES = [name for name in NAMES if find_workload(name).random_if is not None]


@pytest.mark.parametrize("name", SOMETIMES)
def test_seed_is_nothing_where_nothing_is_random(name: str) -> None:
    chosen, found = find_workload(name), set()
    options = {p.name: choices(p) for p in chosen.parameters.values() if choices(p)}
    for values in itertools.product(*options.values()):
        given = {**chosen.small, **dict(zip(options, values, strict=True))}
        resolved = resolve_parameters(chosen, given)
        if not chosen.is_random(resolved):
            try:
                first, second = (generate_workload(name, given, seed) for seed in (7, 8))
            except ConfigurationError:
                continue  # values that do not go together
        found.add(chosen.is_random(resolved))
        if not chosen.is_random(resolved):
            assert content_digest(first.graph, first.init) == content_digest(
                second.graph, second.init
            )
    assert found == {True, False}


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_is_described(name: str) -> None:
    function = find_workload(name).function
    described = (function.__doc__ or "").split("Parameters\n    ----------\n")[1]
    names = {
        word.strip()
        for line in described.split("\n    \n")[0].splitlines()
        if line.startswith("    ") and not line.startswith("     ") and " : " in line
        for word in line.split(" : ")[0].split(",")
    }
    assert names == set(inspect.signature(inspect.unwrap(function)).parameters)


def shared(name: str, task_class: str, seed: int, *, tasks: int = 3, ops: float = 1.0) -> Workload:
    """Several programs."""
    graph = build_graph(np.full(tasks, ops + seed), class_names=(task_class,))
    return Workload(name, graph)


def test_variants_share_a_function(scratch: dict[str, WorkloadGenerator]) -> None:
    variant("many", shared, "Many tasks.", "small", small={"tasks": 2}, tasks=9)
    variant("heavy", shared, "Heavy tasks.", "large", ops=100.0)
    many, heavy = find_workload("many"), find_workload("heavy")
    assert (many.summary, heavy.summary) == ("Many tasks.", "Heavy tasks.")
    assert {name: p.default for name, p in many.parameters.items()} == {"tasks": 9, "ops": 1.0}
    assert {name: p.default for name, p in heavy.parameters.items()} == {"tasks": 3, "ops": 100.0}
    for name, params, ops in (
        ("many", {}, [6.0] * 9),
        ("many", {"ops": 2.0, "tasks": 1}, [7.0]),
        ("many", many.small, [6.0] * 2),
        ("heavy", {}, [105.0] * 3),
    ):
        workload = generate_workload(name, params, seed=5)
        assert workload.name == name
        assert workload.graph.ops.tolist() == [ops]
        assert workload.graph.class_names == ("small" if name == "many" else "large",)
    with pytest.raises(ConfigurationError, match="workload many: unknown parameter 'task_class'"):
        generate_workload("many", {"task_class": "x"})
    with pytest.raises(ValueError, match="incorrect arguments"):
        variant("other", shared, "No such default.", "x", size=1)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"row": 5}, "unknown parameter 'row'; did you mean 'rows'? accepted: "),
        ({"rows": 0}, "parameter rows: found 0, accepted a whole number, 1 to 2147483647"),
        ({"rows": 3.5}, "parameter rows: found 3.5, accepted a whole number"),
        ({"rows": True}, "parameter rows: found True, accepted a whole number"),
        ({"rows": "many"}, "parameter rows: found 'many', accepted a whole number"),
        ({"rows": None}, "parameter rows: found None, accepted a whole number"),
        ({"ops_per_element": float("nan")}, "parameter ops_per_element: found nan, accepted"),
        ({"ops_per_element": float("inf")}, "parameter ops_per_element: found inf, accepted"),
        ({"ops_per_element": -1}, "parameter ops_per_element: found -1.0, accepted a finite"),
        ({"irregular": 1}, "parameter irregular: found 1, accepted true or false"),
        ({"leaf_bytes": "2 furlongs"}, "parameter leaf_bytes: found '2 furlongs', accepted"),
        ({"leaf_bytes": "-2 MiB"}, "parameter leaf_bytes: found '-2 MiB', accepted"),
        ({"leaf_bytes": "0 B"}, "parameter leaf_bytes: found 0, accepted"),
        ({"cutoff_rows": "x"}, "parameter cutoff_rows: found 'x', accepted a whole number"),
    ],
)
def test_wrong_parameters_are_refused(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        generate_workload("heat", parameters)
    assert str(caught.value).startswith(f"workload heat: {message}")


def test_unknown_names_and_choices_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="unknown workload 'heet'; did you mean 'heat'"):
        generate_workload("heet")
    with pytest.raises(
        ConfigurationError,
        match="costs: unknown value 'tiles'; did you mean 'tile'\\? accepted: bench",
    ):
        generate_workload("cholesky", {"costs": "tiles"})
    with pytest.raises(ConfigurationError, match="seed: found -1, accepted 0 or more"):
        generate_workload("heat", {}, -1)


@pytest.mark.parametrize(
    ("name", "parameters", "what"),
    [
        ("heat", {"rows": 2**31 - 1, "columns": 2**31 - 1}, "bytes of data"),
        ("stencil2d", {"width": 10**6, "height": 10**6, "steps": 10**6}, "tasks"),
        ("stencil2d", {"tile_rows": 10**9, "tile_columns": 10**9}, "bytes of data"),
        ("cholesky", {"tiles": 1500}, "tasks"),
        ("cholesky", {"tile_size": 10**5, "element_bytes": "1 TiB"}, "bytes of data"),
        ("independent", {"tasks": 2**31 - 1}, "tasks"),
        ("flows", {"blocks": 2**31 - 1}, "tasks"),
        ("chain", {"tasks": 2**31 - 1}, "tasks"),
        ("layered_random", {"layers": 2, "width": 10**5, "edge_probability": 1}, "edges"),
        ("fork_join", {"degree": 10, "depth": 20}, "tasks"),
        ("pagerank", {"vertices": 2**31 - 1, "highest_degree": 10**6, "edge_bytes": "1 GiB"}, "b"),
    ],
)
def test_sizes_that_cannot_be_held_are_refused_at_once(
    name: str, parameters: dict[str, object], what: str
) -> None:
    with pytest.raises(ConfigurationError, match=rf"workload {name}: found .* {what}"):
        generate_workload(name, parameters)


def test_sizes_may_be_text_and_null_is_the_default() -> None:
    text = generate_workload("heat", {"leaf_bytes": "64 KiB", "cutoff_rows": None})
    assert text.parameters["leaf_bytes"] == 65536
    assert text.graph.n_tasks == generate_workload("heat", {"leaf_bytes": 65536}).graph.n_tasks


def test_one_function_adds_a_workload(scratch: dict[str, WorkloadGenerator]) -> None:
    @generator("two_kinds")
    def two_kinds(
        seed: int,
        *,
        tasks: Annotated[int, Bounds(1, 9)] = 3,
        share: float | None = None,
        mode: Literal["a", "b"] = "a",
        tile_bytes: Size = 1,
    ) -> Workload:
        """Tasks."""
        assert share is None or isinstance(share, float)
        return Workload("two_kinds", build_graph(np.ones(tasks) + seed), tile_bytes)

    assert list(scratch["two_kinds"].parameters) == ["tasks", "share", "mode", "tile_bytes"]
    workload = generate_workload("two_kinds", {"tasks": 4, "share": 1, "tile_bytes": "2 B"}, 5)
    assert workload.graph.ops.tolist() == [[6.0] * 4]
    assert workload.iterations == 2
    with pytest.raises(ConfigurationError, match="tasks: found 10, accepted a whole number, 1"):
        generate_workload("two_kinds", {"tasks": 10})
    with pytest.raises(ConfigurationError, match="share: found 'x', accepted a finite number"):
        generate_workload("two_kinds", {"share": "x"})


def test_a_name_is_taken_once(scratch: dict[str, WorkloadGenerator]) -> None:
    def other(seed: int) -> Workload:
        return generate_workload("chain", {}, seed)

    with pytest.raises(ValueError, match=r"'heat': registered twice, by simsched\.workload"):
        generator("heat")(other)


def test_variants_of_one_function_do_not_replace_each_other(
    scratch: dict[str, WorkloadGenerator],
) -> None:
    def chain(name: str, seed: int, *, tasks: Count = 5) -> Workload:
        return replace(generate_workload("chain", {"tasks": tasks}, seed), name=name)

    for _ in range(2):  # as when a module is executed again
        variant("short", chain, "A short chain.")
    with pytest.raises(ValueError, match=r"'short': registered twice, .*, line \d+, with \[\] and"):
        variant("short", chain, "Another one.", tasks=50)
    assert generate_workload("short", {}).graph.n_tasks == 5


def test_parameters_need_defaults_and_plain_types(scratch: dict[str, WorkloadGenerator]) -> None:
    def bare(seed: int, *, tasks: int) -> Workload:
        return generate_workload("chain", {"tasks": tasks}, seed)

    def listed(seed: int, *, tasks: tuple[int, ...] = ()) -> Workload:
        return generate_workload("chain", {"tasks": len(tasks)}, seed)

    with pytest.raises(ValueError, match="parameter tasks has no default"):
        generator("bare")(bare)
    with pytest.raises(ValueError, match=r"parameter tasks: type .* is not supported"):
        generator("listed")(listed)
    assert "bare" not in scratch
    assert "listed" not in scratch


def test_a_broken_entry_point_is_named_and_left_out() -> None:
    class Point:
        name, value = "theirs", "their.module"

        def load(self) -> None:
            raise ImportError("no module named their")

    expected = "workload 'theirs' of entry point 'their.module' is left out: no module named their"
    with pytest.warns(UserWarning, match=expected):
        registry.generators._load(Point())  # type: ignore[arg-type]


def test_an_exception_in_a_generator_becomes_one_message(
    scratch: dict[str, WorkloadGenerator],
) -> None:
    """Exit code 1 and a traceback say that simsched is broken; here the generator is."""

    @generator("test_dividing")
    def test_dividing(seed: int, *, parts: int = 0) -> Workload:
        """Divides by nothing."""
        return build_graph([1.0 / parts])

    line = inspect.getsourcelines(test_dividing)[1] + 3
    expected = (
        f"workload test_dividing: {__file__}:{line}: test_dividing: "
        "ZeroDivisionError: float division by zero"
    )
    with pytest.raises(ExtensionError) as caught:
        generate_workload("test_dividing")
    assert str(caught.value) == expected
    with pytest.raises(ExtensionError, match="found a TaskGraph, accepted a Workload"):
        generate_workload("test_dividing", {"parts": 2})


@pytest.mark.parametrize("error", [SystemExit(3), GraphError("as it is"), MemoryError()])
def test_errors_of_a_generator_that_say_enough_stay(
    scratch: dict[str, WorkloadGenerator], error: BaseException
) -> None:
    @generator("test_raising")
    def test_raising(seed: int) -> Workload:
        """Raises."""
        raise error

    kept = ExtensionError if isinstance(error, SystemExit) else type(error)
    with pytest.raises(kept):
        generate_workload("test_raising")


def test_what_is_not_random_takes_no_seed(scratch: dict[str, WorkloadGenerator]) -> None:
    @generator("test_without_seed")
    def test_without_seed(*, tasks: int = 3) -> Workload:
        return Workload("test_without_seed", build_graph(np.ones(tasks)))

    workload = generate_workload("test_without_seed", {"tasks": 5}, seed=7)
    assert workload.graph.n_tasks == 5
    assert workload.parameters["seed"] == 7
