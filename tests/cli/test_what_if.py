"""`simsched what-if`."""

from __future__ import annotations

import json

import pytest

from simsched.cli.app import main

SMALL = ["-e", "quickstart", "--set", "workloads=fork_join[depth=3]", "--set", "metrics=[tasks]"]


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["what-if", "cilk_a", *SMALL, "--seeds", "2"]) == 0
    caught = capsys.readouterr()
    assert "What if: knl_snc4_flat fork_join[depth=3] cilk_a, 2 seeds" in caught.out
    lines = caught.out.splitlines()
    assert "unchanged, simulated again: differs by 0 ps" in lines
    assert "does not apply: more workers: every hardware thread has one" in lines
    (unchanged,) = (line for line in lines if line.split()[:1] == ["nothing"])
    assert "±" in unchanged
    assert caught.err == ""


def test_what_is_left_out_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    workload = "workloads=heat[rows=64, leaf_bytes=64 KiB, iterations=5]"
    words = ["-e", "quickstart", "--set", workload, "--seeds", "1", "-q", "--iterations", "2"]
    assert main(["what-if", "bats", *words]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "simulated: the first 2 of 5 iterations; --iterations 5 for all" in output


def test_parameters_in_brackets_are_in_the_title(capsys: pytest.CaptureFixture[str]) -> None:
    words = [*SMALL, "--set", "policies=[cilk]", "--seeds", "1", "-q"]
    assert main(["what-if", "cilk[placement=interleave]", *words]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "fork_join[depth=3] cilk[placement=interleave], 1 seed" in output


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["what-if", "quickstart:cilk_a", *SMALL[2:], "--seeds", "[3]", "--json", "-q"]
    assert main([*words, "--backend", "simpy"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["drift_ps"] == 0
    assert found["seeds"] == [3]
    gains = [row["gain_s"] for row in found["changes"]]
    assert gains == sorted(gains, reverse=True)
    (row,) = (row for row in found["changes"] if row["change"] == "nothing")
    assert row["gain_s"] == 0.0
    assert row["makespan_s_ci95"] is None  # of one seed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cilk"], "found no experiment"),
        (["cilkk", *SMALL], "'cilk'"),
        (["nowhere:cilk"], "nowhere"),
        (["cilk_a", *SMALL, "--seeds", "0"], "--seeds"),
        (["cilk_a", *SMALL, "--seeds", "many"], "--seeds"),
        (["cilk_a", *SMALL, "--backend", "natve"], "'native'"),
        (["cilk_a", *SMALL, "--iterations", "0"], "--iterations"),
        (["machine=knl_snc4_flat", *SMALL], "found runs with policy"),
    ],
)
def test_bad_input_is_one_message(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["what-if", *words]) == 2
    caught = capsys.readouterr()
    assert message in caught.err
    assert caught.err.count("\n") == 1
    assert caught.out == ""
