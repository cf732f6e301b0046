"""The reader of YAML files: places, refusals and messages."""

from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from simsched.files.errors import ConfigurationError
from simsched.files.resources import data_dir
from simsched.files.yaml_reader import FieldError, Section, read_document, read_yaml, validate


class Inner(Section):
    workers: int
    pinning: Literal["scatter", "compact"] = "scatter"


class Outer(Section):
    title: str = ""
    scale: float = 1.0
    runs: list[Inner] = Field(default_factory=list)
    either: int | Inner | None = None


def _write(folder: Path, text: str | bytes) -> Path:
    path = folder / "file.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def _refusal(folder: Path, text: str | bytes) -> str:
    """Return the message for a file, without its folder."""
    path = _write(folder, text)
    with pytest.raises(ConfigurationError) as caught:
        read_yaml(path, Outer)
    message = str(caught.value)
    assert str(path) in message
    return message.replace(f"{folder}/", "")


def test_reads_values_of_all_kinds(tmp_path: Path) -> None:
    path = _write(tmp_path, "title: 'x'\nscale: 2\nruns:\n- workers: 3\n  pinning: compact\n")
    outer = read_yaml(path, Outer)
    assert (outer.title, outer.scale) == ("x", 2.0)
    assert outer.runs == [Inner(workers=3, pinning="compact")]


def test_a_key_that_belongs_a_level_deeper(tmp_path: Path) -> None:
    found = _refusal(tmp_path, "title: a\npinning: x\n")
    assert found.startswith("file.yaml:2: pinning: unknown key 'pinning'")
    assert found.endswith("; in runs or either there is 'pinning'")


def test_yes_and_dates_are_text(tmp_path: Path) -> None:
    assert read_document(_write(tmp_path, "a: yes\nb: 2020-01-01\n")).data == {
        "a": "yes",
        "b": "2020-01-01",
    }


def test_aliases_are_expanded(tmp_path: Path) -> None:
    document = read_document(_write(tmp_path, "a: &x [1, 2]\nb: *x\n"))
    assert document.data == {"a": [1, 2], "b": [1, 2]}
    assert document.where(("b", 1)).endswith("file.yaml:1")
    assert document.where(("b",)).endswith("file.yaml:2")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("titel: a\n", "file.yaml:1: titel: unknown key 'titel'; did you mean 'title'? accepted: "),
        (
            "title: a\nruns:\n- worker: 3\n",
            "file.yaml:3: runs[0].worker: unknown key 'worker'; did you mean 'workers'?",
        ),
        ("runs:\n- pinning: scatter\n", "file.yaml:2: runs[0].workers: missing, accepted: "),
        ("\nscale: fast\n", "file.yaml:2: scale: found 'fast', accepted: a number"),
        ("scale: .nan\n", "file.yaml:1: scale: found nan, accepted: a finite number"),
        ("scale: .inf\n", "file.yaml:1: scale: found inf, accepted: a finite number"),
        ("scale: true\n", "file.yaml:1: scale: found True, accepted: a number"),
        ("title: 3\n", "file.yaml:1: title: found 3, accepted: a string"),
        ("title:\n", "file.yaml:1: title: found nothing, accepted: a string"),
        ("runs: 3\n", "file.yaml:1: runs: found 3, accepted: a list"),
        (
            "runs:\n- {workers: 1,\n   pinning: scater}\n",
            "file.yaml:3: runs[0].pinning: found 'scater', "
            "accepted: 'scatter' or 'compact'; did you mean 'scatter'?",
        ),
        (
            "title: a\nscale: 1\ntitle: b\n",
            "file.yaml:3: title: duplicate key, first given in line 1",
        ),
        ("runs: [1, 2\n", "file.yaml:2: not valid YAML: "),
        ("title: 'a\n", "not valid YAML: "),
        ("title: a\n\tscale: 1\n", "file.yaml:2: not valid YAML: "),
        ("title: *x\n", "file.yaml:1: not valid YAML: found undefined alias"),
        ("title: a\n---\ntitle: b\n", "not valid YAML: expected a single document"),
        ("- a\n- b\n", "file.yaml:1: found ['a', 'b'], accepted: a mapping of keys to values"),
        ("title\n", "file.yaml:1: found 'title', accepted: a mapping of keys to values"),
        ("", "file.yaml: found an empty file, accepted: a mapping"),
        ("# only a comment\n", "found an empty file"),
        (
            "title: !!python/object/apply:os.system ['true']\n",
            "found the tag '!!python/object/apply:os.system'",
        ),
        ("title: !secret x\n", "file.yaml:1: title: found the tag '!secret'"),
        ("a: &a {title: x}\n<<: *a\n", "file.yaml:2: found the merge key '<<'"),
        ("[1, 2]: 3\n", "file.yaml:1: found the key nothing, accepted: text"),
        ("title: !!int x\n", "file.yaml:1: title: found 'x', accepted: a value of kind int"),
        ("a: &a [*a]\n", "file.yaml:1: a[0]: found an alias that contains itself"),
        ("a: " + "[" * 60 + "]" * 60 + "\n", "nested too deeply, accepted: 50 levels"),
        ("a: " + "[" * 5000 + "]" * 5000 + "\n", "nested too deeply, accepted: 50 levels"),
    ],
)
def test_refusals_name_place_and_remedy(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in _refusal(tmp_path, text)


def test_alias_bomb_is_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    assert "found more than 100000 values, aliases expanded" in _refusal(tmp_path, "\n".join(lines))


def test_large_and_binary_files_are_refused(tmp_path: Path) -> None:
    assert "found more than 1048576 bytes of YAML, accepted at most 1048576" in _refusal(
        tmp_path, "#" * (1 << 20) + "\n"
    )
    assert "file.yaml:2: found bytes that are not UTF-8" in _refusal(
        tmp_path, b"title: a\nscale: \xff\n"
    )
    assert "not valid YAML" in _refusal(tmp_path, b"title: \x00\n")


def test_missing_and_unreadable_files_are_refused(tmp_path: Path) -> None:
    _write(tmp_path, "title: a\n")
    with pytest.raises(
        ConfigurationError, match=r"fil\.yaml: no such file; did you mean 'file\.yaml'\?"
    ):
        read_yaml(tmp_path / "fil.yaml", Outer)
    with pytest.raises(ConfigurationError, match="found a directory, accepted: a YAML file"):
        read_yaml(tmp_path, Outer)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_yaml(Path("a\0b"), Outer)


def test_several_errors_are_listed_by_line_and_cut_off(tmp_path: Path) -> None:
    message = _refusal(tmp_path, "scale: a\nruns:\n" + "- workers: x\n" * 7)
    assert message.splitlines()[:2] == [
        "file.yaml:1: scale: found 'a', accepted: a number",
        "file.yaml:3: runs[0].workers: found 'x', accepted: an integer",
    ]
    assert message.splitlines()[5:] == ["... and 3 more"]


def test_plain_data_is_validated_without_a_file() -> None:
    assert validate({"scale": 3}, Outer).scale == 3
    with pytest.raises(
        ConfigurationError, match=r"^command line: runs\[0\]\.worker: unknown key 'worker'"
    ):
        validate({"runs": [{"worker": 1}]}, Outer, where="command line")
    with pytest.raises(ConfigurationError, match=r"^found 3, accepted: a mapping"):
        validate(3, Outer)


def test_models_with_other_bases_still_refuse_unknown_keys() -> None:
    class Plain(BaseModel):
        model_config = ConfigDict(extra="forbid")
        size: int = 0

    with pytest.raises(ConfigurationError, match="sise: unknown key 'sise'"):
        validate({"sise": 1}, Plain)


def test_field_error_points_below_the_validated_value() -> None:
    error = FieldError(("a", 0), "found x")
    assert (error.loc, str(error)) == (("a", 0), "found x")


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
DATA = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["title", "scale", "runs", "workers", "either", "x"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(DATA)
def test_any_data_is_valid_or_a_configuration_error(data: object) -> None:
    try:
        outcome: object = validate(data, Outer)
    except ConfigurationError as error:
        outcome = error
    assert isinstance(outcome, Outer) or str(outcome)


@given(
    st.binary(max_size=60)
    | st.text(alphabet="ab:-[]{}&*!#'\"\n\t |>%@", max_size=40).map(str.encode)
)
def test_any_bytes_are_read_or_a_configuration_error(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes
) -> None:
    path = tmp_path_factory.mktemp("any") / "file.yaml"
    path.write_bytes(raw)
    try:
        outcome = str(read_document(path).path)
    except ConfigurationError as error:
        outcome = str(error)
    assert str(path) in outcome


def test_a_shipped_file_is_given_as_a_copy() -> None:
    path = data_dir("machines") / "toy_1fast_3slow.yaml"
    first, kept = read_document(path), read_document(path)
    assert first == kept
    first.data["cores"].clear()
    first.places.clear()
    assert read_document(path) == kept


@pytest.mark.parametrize("folder", ["machines", "workloads", "experiments", "experiments/claims"])
def test_shipped_files_are_to_both_parsers_what_they_are(folder: str, tmp_path: Path) -> None:
    for path in sorted(data_dir("machines").parent.joinpath(folder).glob("*.yaml")):
        shipped, copy = read_document(path), tmp_path / path.name
        copy.write_bytes(path.read_bytes())
        elsewhere = read_document(copy)
        assert shipped.data == elsewhere.data
        lines = {place: line for place, (_, line) in elsewhere.places.items()}
        assert {place: line for place, (_, line) in shipped.places.items()} == lines


@pytest.mark.parametrize("text", ['name: "\\ud800"', '"\\udc00a": 1', r'name: "\U0000dfff"'])
def test_half_a_character_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=r"x\.yaml:1: .*accepted: whole characters"):
        read_document(path)
