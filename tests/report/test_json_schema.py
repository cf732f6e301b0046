"""JSON Schemas of YAML files: they accept what is read, name what is wrong, describe every key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from simsched.files.errors import ConfigurationError
from simsched.files.yaml_reader import read_document
from simsched.report.json_schema import KINDS, schema_of
from simsched.report.starter import STARTER

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = {
    "experiment": "experiments",
    "machine": "machines",
    "claims": "experiments/claims",
    "measurement": "experiments/hardware",
    "workload": "workloads",
}
FILES = [
    (kind, path)
    for kind, folder in FOLDERS.items()
    for path in sorted((ROOT / folder).glob("*.yaml"))
]
SOME = [found for kind in FOLDERS for found in [item for item in FILES if item[0] == kind][::30]]


@cache
def validator(kind: str) -> Draft7Validator:
    schema = json.loads(json.dumps(schema_of(kind), allow_nan=False))
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


def refusals(kind: str, data: object) -> list[str]:
    """Return what the schema finds wrong; keys of YAML need not be text, those of JSON are."""
    found = validator(kind).iter_errors(json.loads(json.dumps(data)))
    return [f"{list(error.absolute_path)}: {error.message}" for error in found]


def check(kind: str, path: Path) -> None:
    assert refusals(kind, read_document(path).data) == []


@pytest.mark.parametrize(("kind", "path"), SOME, ids=lambda item: getattr(item, "stem", item))
def test_some_shipped_files_are_accepted(kind: str, path: Path) -> None:
    check(kind, path)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "path"), FILES, ids=lambda item: getattr(item, "stem", item))
def test_every_shipped_file_is_accepted(kind: str, path: Path) -> None:
    check(kind, path)


def test_the_starter_and_the_files_in_the_guides_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "starter.yaml").write_text(STARTER)
    assert refusals("experiment", read_document(tmp_path / "starter.yaml").data) == []
    guides = {"sweeps": "experiment", "adding-a-machine": "machine", "measuring": "measurement"}
    for guide, kind in guides.items():
        text = (ROOT / "docs" / f"{guide}.md").read_text()
        blocks = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
        assert blocks
        (tmp_path / "block.yaml").write_text(blocks[0])
        assert refusals(kind, read_document(tmp_path / "block.yaml").data) == []


def described(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every key that a schema has, with its place."""
    if isinstance(node, list):
        for position, item in enumerate(node):
            yield from described(item, f"{path}/{position}")
    elif isinstance(node, dict):
        for key, item in node.get("properties", {}).items():
            # Conditions and the keys that stand beside parameters are described elsewhere.
            if isinstance(item, dict) and not path.endswith("/if"):
                yield f"{path}/{key}", item
        for key, item in node.items():
            yield from described(item, f"{path}/{key}")


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_has_title_and_description(kind: str) -> None:
    found = list(described(validator(kind).schema))
    assert len(found) > 20
    for path, item in found:
        assert item.get("title"), path
        assert len(item.get("description", "")) > 3, path
        assert ":class:" not in item["description"], path


EXPERIMENT: dict[str, Any] = {
    "name": "x",
    "machines": "opteron48",
    "workloads": [{"name": "heat", "rows": 64}, "heat[rows=8]", {"file": "g.dot", "any": 1}],
    "policies": [
        "cilk",
        "bats[sample_pages=8]",
        "mine.py:Mine",
        {"name": "bats", "balancer": True},
    ],
}
MACHINE = ROOT / "machines" / "toy_1fast_3slow.yaml"


@pytest.mark.parametrize(
    "change",
    [
        {"seedz": 3},
        {"seeds": 0},
        {"seeds": "3"},
        {"backend": "C"},
        {"name": "../x"},
        {"machines": ["opteron46"]},
        {"machines": [{"name": "opteron48", "workers": 0}]},
        {"machines": [{"name": "opteron48", "set": {"costs.stel": "1 us"}}]},
        {"machines": [{"name": "opteron48", "set": {"costs.pop": "1 parsec"}}]},
        {"workloads": ["heet"]},
        {"workloads": [{"name": "heat", "row": 64}]},
        {"workloads": [{"name": "heat", "rows": "many"}]},
        {"workloads": [{"name": "heat", "leaf_bytes": "2 KB"}]},
        {"workloads": [{"rows": 64}]},
        {"policies": ["cylk"]},
        {"policies": [{"name": "bats", "sample_page": 8}]},
        {"policies": [{"name": "bats_nb", "sample_pages": 0}]},
        {"policies": [{"name": "cilk", "spawn": "child"}]},
        {"metrics": [3]},
        {"sweep": {"products": {}}},
    ],
    ids=str,
)
def test_what_is_wrong_in_an_experiment_is_found(change: dict[str, Any]) -> None:
    assert refusals("experiment", EXPERIMENT) == []
    assert refusals("experiment", {**EXPERIMENT, **change})


def test_what_is_missing_is_found() -> None:
    assert refusals("experiment", {k: v for k, v in EXPERIMENT.items() if k != "policies"})
    data = read_document(MACHINE).data
    without = {key: value for key, value in data.items() if key != "memory"}
    assert refusals("machine", without)
    assert refusals("machine", {**without, "extends": "opteron48"}) == []


@pytest.mark.parametrize(
    ("section", "value"),
    [
        ("costs", {"steal": "1 us"}),
        ("costs", {"steel": ["1 us", "guess"]}),
        ("costs", {"pop": ["1 uss", "guess"]}),
        ("costs", {"pop": ["1 us", "guess", "again"]}),
        ("description", ""),
        ("sources", {}),
        ("data", "elsewhere"),
    ],
)
def test_what_is_wrong_in_a_machine_is_found(section: str, value: object) -> None:
    data = read_document(MACHINE).data
    assert refusals("machine", data) == []
    assert refusals("machine", {**data, section: value})


def test_other_kinds_refuse_as_well() -> None:
    claim = {"id": "a", "source": "B", "kind": "absolute", "experiment": "quickstart", "value": 1}
    claims = {"sources": {"B": "a book"}, "claims": [claim]}
    assert refusals("claims", claims) == []
    assert refusals("claims", {**claims, "claims": [{**claim, "tolerance": "ten"}]})
    assert refusals("claims", {**claims, "claims": [{**claim, "as": "quotient"}]})
    matrix = {"name": "m", "programs": ["heat[rows=8]", {"name": "heat"}], "policies": "cilk_a"}
    assert refusals("measurement", matrix) == []
    assert refusals("measurement", {**matrix, "programs": [{"name": "heat", "row": 8}]})
    preset = {"generator": "heat", "description": "d", "source": "s", "parameters": {"rows": 8}}
    assert refusals("workload", preset) == []
    assert refusals("workload", {**preset, "parameters": {"row": 8}})


def test_an_unknown_kind() -> None:
    with pytest.raises(ConfigurationError, match="'machin'; did you mean 'machine'"):
        schema_of("machin")
