"""`simsched query`: text, JSON, CSV, and one message for what is wrong."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Command


@pytest.fixture
def store(simsched: Command, experiment: Path) -> Path:
    assert simsched("run", experiment, "-j", 1, "--quiet")[0] == 0
    return Path("results")


@pytest.mark.parametrize("form", ["--csv", "--json", "--quiet"])
@pytest.mark.parametrize("damage", ["end", "middle", "empty"])
def test_a_damaged_file_is_named(simsched: Command, store: Path, form: str, damage: str) -> None:
    """With many experiments, nobody could tell which one to run again."""
    (store / "other").mkdir()
    data = (store / "small" / "runs.parquet").read_bytes()
    broken = {
        "end": data[:1000],
        "middle": data[:4] + b"\xff" * 400 + data[404:],
        "empty": b"",
    }
    file = store / "other" / "runs.parquet"
    file.write_bytes(broken[damage])
    code, output, messages = simsched("query", "SELECT * FROM runs", form)
    assert (code, output) == (2, "")
    assert messages.startswith(f"simsched: error: {file}: found no complete Parquet file (")
    assert messages.count("\n") == 1


BY_POLICY = "SELECT policy, count(*) AS runs, avg(makespan_s) AS s FROM runs GROUP BY 1 ORDER BY 1"


def test_the_same_rows_in_every_form(simsched: Command, store: Path) -> None:
    code, output, messages = simsched("query", BY_POLICY, "--json")
    assert (code, messages) == (0, "")
    rows = json.loads(output)
    assert [(row["policy"], row["runs"]) for row in rows] == [("cilk_a", 2), ("work_sharing", 2)]
    code, output, messages = simsched("query", BY_POLICY, "--csv", "--store", store)
    assert (code, messages) == (0, "")
    read = list(csv.DictReader(output.splitlines()))
    assert [float(row["s"]) for row in read] == [row["s"] for row in rows]
    code, output, messages = simsched("query", BY_POLICY)
    assert (code, messages) == (0, "")
    assert "work_sharing" in output


def test_without_a_query_the_columns_are_listed(simsched: Command, store: Path) -> None:
    found = json.loads(simsched("query", "--json")[1])
    columns = {(row["table"], row["column"]) for row in found}
    assert {("runs", "experiment"), ("runs", "makespan_s"), ("event_kinds", "name")} <= columns


def test_values_of_all_types_are_json(simsched: Command, store: Path) -> None:
    sql = (
        "SELECT 1.5::DECIMAL(4,2) AS a, DATE '2026-01-02' AS b, [1, NULL] AS c, {'x': 2} AS d, "
        "sum(seed) AS e, 'nan'::DOUBLE AS f, true AS g, 1 AS g FROM runs"
    )
    (row,) = json.loads(simsched("query", sql, "--json")[1])
    assert row == {
        "a": 1.5,
        "b": "2026-01-02",
        "c": [1, None],
        "d": {"x": 2},
        "e": 2,
        "f": None,
        "g": True,
        "g_2": 1,
    }


def test_long_tables_are_cut_and_it_is_said(simsched: Command, store: Path) -> None:
    sql = "SELECT range FROM range(250)"
    code, output, messages = simsched("query", sql)
    assert code == 0
    assert "199" in output
    assert "200" not in output
    assert messages == "simsched: 50 more rows; --csv and --json print all\n"
    assert simsched("query", sql, "--quiet")[2] == ""
    assert len(simsched("query", sql, "--csv")[1].splitlines()) == 251


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("SELECT makespan FROM runs",), "query: Binder Error: Referenced column"),
        (("SELECT * FROM '/etc/passwd'",), "query: Catalog Error"),
        (("DROP TABLE runs",), "query: found DROP, accepted one SELECT"),
        (("SELECT 1", "--store", "nowhere"), "nowhere: found no results"),
        (("SELECT 1", "--csv", "--json"), "--csv: found together with --json"),
    ],
)
def test_one_message_and_exit_code_2(
    simsched: Command, store: Path, words: tuple[str, ...], message: str
) -> None:
    code, output, messages = simsched("query", *words)
    assert (code, output) == (2, "")
    assert message in messages
    assert messages.count("\n") == 1


@pytest.mark.parametrize(("end", "said"), [("| head -1", ""), (">/dev/full", "standard output: ")])
def test_rows_that_nobody_takes_are_no_fault_of_the_query(
    store: Path, tmp_path: Path, end: str, said: str
) -> None:
    sql = "SELECT runs.* FROM runs, range(20000)"
    shell = f'"$0" -m simsched query "{sql}" --store {store} --csv {end}'
    words = ["/bin/sh", "-c", shell, sys.executable]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr.count("\n") == bool(said)
    assert done.stderr.removeprefix("simsched: error: ").startswith(said)
