"""`simsched compare`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simsched.cli.app import main

SMALL = ["--set", "seeds=1", "--set", "workloads=[heat_small]"]


def test_json_adds_up_and_the_picture_is_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "why.png"
    arguments = ["compare", "cilk", "bats", "-e", "quickstart", *SMALL, "--json", "-q"]
    assert main([*arguments, "-o", str(picture)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sum(found["parts_s"].values()) == pytest.approx(found["difference_s"], rel=1e-9)
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("width", "points"), [("double_column", "510.2"), ("7 in", "504")])
def test_the_picture_is_as_wide_as_asked_for(width: str, points: str, tmp_path: Path) -> None:
    """180 mm are 510.24 points of 1/72 inch."""
    picture = tmp_path / "why.svg"
    arguments = ["compare", "cilk", "bats", "-e", "quickstart", *SMALL, "-q"]
    assert main([*arguments, "-o", str(picture), "--width", width]) == 0
    assert f'width="{points}' in picture.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cilk", "bats"], "found no experiment"),
        (["quickstart:cilkk", "quickstart:bats"], "'cilk'"),
        (["nowhere:cilk", "bats"], "nowhere"),
        (
            ["cilk", "bats", "-e", "quickstart", "-o", "why.jpg"],
            "accepted: a name that ends in .png",
        ),
        (["cilk", "bats", "-e", "quickstart", "-o", "no/why.png"], "no/why.png: cannot be written"),
        (
            ["cilk", "bats", "-e", "quickstart", "--width", "85 mm"],
            "--width: found without a figure",
        ),
        (
            ["cilk", "bats", "-e", "quickstart", "-o", "why.pdf", "--width", "85 yards"],
            "--width: found '85 yards'; accepted: 40 mm to 1000 mm",
        ),
    ],
)
def test_bad_input_is_one_message(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *arguments]) == 2
    caught = capsys.readouterr()
    assert message in caught.err
    assert caught.out == ""
    assert "Traceback" not in caught.err
    assert "seeds" not in caught.err  # nothing was simulated in vain


def test_labels_with_signs_of_selectors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A colon ends the name of an experiment, a comma a pair, and brackets were markup."""
    labels = ["a: [/u]", "b=1, c"]
    policies = [{"name": "cilk", "label": label} for label in labels]
    workloads = [{"name": "fork_join", "depth": 2}]
    data = {"name": "x", "machines": ["knl_snc4_flat"], "workloads": workloads, "seeds": 1}
    path = tmp_path / "x.yaml"
    path.write_text(json.dumps({**data, "policies": policies}))
    assert main(["compare", labels[0], f"{path}:{labels[1]}", "-e", str(path), "-q"]) == 0
    output = capsys.readouterr().out
    assert all(label in output for label in labels)


def test_a_comparison_that_means_little_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--set", "seeds=1", "--set", "workloads=fork_join[depth=3]"]
    small += ["--set", "policies=[cilk]", "-e", "quickstart"]
    assert main(["compare", "samr", "late", *small, "--set", "metrics=[tasks]"]) == 0
    messages = capsys.readouterr().err
    place = "knl_snc4_flat fork_join[depth=3]"
    for policy in ("samr", "late"):
        assert f"warning: {place} {policy}: needs MapReduce jobs: found none\n" in messages
    assert f"warning: {place} late: same decisions as {place} samr\n" in messages
    assert main(["compare", "cilk_a", "work_sharing", *small, "--set", "metrics=[tasks]"]) == 0
    assert "warning" not in capsys.readouterr().err
