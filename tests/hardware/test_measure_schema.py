"""Files that say what to measure: labels, and what is refused before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from simsched.files.errors import ConfigurationError
from simsched.hardware.measure_schema import load_matrix
from simsched.report.show.kinds import describe_kind

from .fake_host import matrix

LINES = {
    "name": "small",
    "programs": "[{name: heat, rows: 32}]",
    "policies": "[cilk_a]",
    "workers": "[1, 2]",
    "repetitions": "2",
    "warmup": "0",
    "seed": "3",
}


def write(folder: Path, lines: dict[str, str]) -> Path:
    path = folder / "m.yaml"
    content = {**LINES, **lines}
    path.write_text("".join(f"{key}: {value}\n" for key, value in content.items() if value))
    return path


def test_a_file(tmp_path: Path) -> None:
    found = load_matrix(write(tmp_path, {}))
    assert found.programs[0].parameters == {"rows": 32}
    assert (found.policies, found.workers) == (["cilk_a"], [1, 2])
    assert (found.repetitions, found.warmup, found.seed) == (2, 0, 3)


def test_defaults_and_single_values(tmp_path: Path) -> None:
    absent = dict.fromkeys(("repetitions", "warmup", "seed", "workers"), "")
    found = load_matrix(write(tmp_path, {**absent, "programs": "spin", "policies": "pfws"}))
    assert [entry.name for entry in found.programs] == ["spin"]
    assert (found.policies, found.workers) == (["pfws"], [])
    assert (found.repetitions, found.warmup, found.seed) == (5, 1, 0)
    assert load_matrix(write(tmp_path, {"workers": "3"})).workers == [3]


@pytest.mark.parametrize(
    ("programs", "labels"),
    [
        (["heat"], ["heat"]),
        (["heat", "spin", "heat"], ["heat_1", "spin", "heat_2"]),
        ([{"name": "heat", "label": "big"}, "heat"], ["big", "heat_2"]),
        ([{"name": "heat", "label": "big"}], ["big"]),
    ],
)
def test_labels(programs: list[object], labels: list[str]) -> None:
    assert matrix(programs=programs).labels() == labels


@pytest.mark.parametrize("name", [row["name"] for row in describe_kind("measurements").data])
def test_shipped_files(name: str) -> None:
    found = load_matrix(name)
    assert found.name == name
    assert found.description


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            {"programs": "[haet]"},
            r"m\.yaml:2: programs\[0\]\.name: unknown program 'haet'; did you mean 'heat'\? "
            r"accepted: cholesky, ",
        ),
        (
            {"programs": "[{name: heat, row: 3}]"},
            r"m\.yaml:2: programs\[0\]\.row: program heat: unknown parameter 'row'; "
            r"did you mean 'rows'\? accepted: ",
        ),
        (
            {"programs": "[{name: heat, rows: 0}]"},
            r"m\.yaml:2: programs\[0\]\.rows: program heat: "
            r"parameter rows: found 0, accepted a whole number, 1 to",
        ),
        (
            {"programs": "[{name: heat, rows: many}]"},
            r"m\.yaml:2: programs\[0\]\.rows: program heat: "
            r"parameter rows: found 'many', accepted a whole number, 1 to",
        ),
        (
            {"programs": "[{name: spin, shape: treee}]"},
            r"m\.yaml:2: programs\[0\]\.shape: program spin: "
            r"parameter shape: unknown value 'treee'; did you mean 'tree'",
        ),
        (
            {"programs": "[spin, {name: heat, irregular: true, leaf_rows: 1}]"},
            r"m\.yaml:2: programs\[1\]: program heat: leaf_rows: found 1, accepted 3 or more",
        ),
        ({"programs": "[]"}, r"m\.yaml:2: programs: found an empty list, accepted: at least one"),
        ({"programs": ""}, r"m\.yaml:1: programs: missing"),
        ({"programs": "[3]"}, r"m\.yaml:2: programs\[0\]: found 3, accepted: a name, or a mapping"),
        ({"programs": "[{rows: 3}]"}, r"m\.yaml:2: programs\[0\]\.name: missing"),
        (
            {"programs": "[heat, {name: spin, label: heat}]"},
            r"m\.yaml:2: programs\[1\]: found 'heat' twice, accepted: different labels",
        ),
        (
            {"programs": "[{name: heat, label: ../x}]"},
            r"m\.yaml:2: programs\[0\]\.label: found '\.\./x', accepted: 1 to 80 letters",
        ),
        ({"name": "a/b"}, r"m\.yaml:1: name: found 'a/b', accepted: 1 to 80 letters"),
        (
            {"policies": "[cilk_a, bats]"},
            r"m\.yaml:3: policies\[1\]: policy bats: the task runtime cannot schedule like that; "
            r"accepted: random_stealing, work_sharing and their presets",
        ),
        (
            {"policies": "[mps]"},
            r"m\.yaml:3: policies\[0\]: policy mps: the task runtime cannot schedule like that",
        ),
        (
            {"policies": "[cilk_b]"},
            r"m\.yaml:3: policies\[0\]: unknown policy 'cilk_b'; did you mean 'cilk.*accepted: ",
        ),
        (
            {"policies": "['random_stealing[steal_take=newest]']"},
            r"m\.yaml:3: policies\[0\]: policy random_stealing: parameter steal_take: found "
            r"'newest', accepted on hardware: 'oldest'",
        ),
        ({"policies": "['cilk_a[spawn']"}, r"m\.yaml:3: policies\[0\]: policy 'cilk_a\[sp"),
        ({"policies": "[]"}, r"m\.yaml:3: policies: found an empty list, accepted: at least one"),
        ({"policies": "[pfws, pfws]"}, r"m\.yaml:3: policies\[1\]: found 'pfws' twice, accepted"),
        ({"workers": "[]"}, r"m\.yaml:4: workers: found an empty list, accepted: at least one"),
        ({"workers": "[2, 0]"}, r"m\.yaml:4: workers\[1\]: found 0, accepted: greater than or eq"),
        ({"workers": "5000"}, r"m\.yaml:4: workers: found 5000, accepted: less than or equal"),
        ({"workers": "[two]"}, r"m\.yaml:4: workers\[0\]: found 'two', accepted: an integer"),
        ({"workers": "[2, 2]"}, r"m\.yaml:4: workers\[1\]: found 2 twice, accepted: different"),
        ({"repetitions": "0"}, r"m\.yaml:5: repetitions: found 0, accepted: greater than or equal"),
        ({"warmup": "-1"}, r"m\.yaml:6: warmup: found -1, accepted: greater than or equal to 0"),
        ({"seed": "-1"}, r"m\.yaml:7: seed: found -1, accepted: greater than or equal to 0"),
        (
            {"repetition": "3"},
            r"m\.yaml:8: repetition: unknown key 'repetition'; did you mean 'repetitions'\?",
        ),
    ],
)
def test_bad_files(tmp_path: Path, lines: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as raised:
        load_matrix(write(tmp_path, lines))
    assert "\n" not in str(raised.value)


def test_only_what_can_be_measured_is_offered(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as raised:
        load_matrix(write(tmp_path, {"policies": "[nothing_like_it]"}))
    accepted = str(raised.value).partition("accepted: ")[2].split(", ")
    assert {"cilk_a", "pfws", "random_stealing", "work_sharing"} <= set(accepted)
    assert "bats" not in accepted


def test_unknown_files_are_told() -> None:
    with pytest.raises(ConfigurationError, match="unknown measurement 'measure_smal'; did you mea"):
        load_matrix("measure_smal")
    with pytest.raises(ConfigurationError, match=r"nowhere\.yaml: no such file"):
        load_matrix("nowhere.yaml")
