"""Results of many experiments together: one frame, and SQL that sees nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import simsched
from simsched.experiment.query import complaining
from simsched.files.errors import ConfigurationError


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store")

    def run(name: str, machine: str, policies: list[str], **more: Any) -> None:
        simsched.run(machine, "fork_join[depth=3]", policies, jobs=1, output=folder / name, **more)

    run("first", "amd_4x_opteron8380", ["cilk_a", "work_sharing"], seeds=2, events=True)
    run("deep/second", "knl_snc4_flat", ["cilk_a", "bats"])
    return folder


def test_one_frame_over_all(store: Path) -> None:
    frame = simsched.results(store)
    assert frame.groupby("experiment").size().to_dict() == {"first": 4, "deep/second": 2}
    assert frame.columns[0] == "experiment"
    assert frame.attrs["units"]["makespan_s"] == "s"
    # What a machine does not have is missing there.
    by_name = frame.set_index("experiment")
    assert by_name.loc["first", "hbm_bytes_per_s"].isna().all()
    assert by_name.loc["deep/second", "hbm_bytes_per_s"].notna().all()
    assert str(frame["tasks"].dtype) == "int64"
    assert str(frame["local_hbm_bytes"].dtype) == "Int64"


def test_one_experiment_or_file_alone(store: Path) -> None:
    one = simsched.results(store / "first")
    assert set(one["experiment"]) == {"first"}
    both = simsched.results([store / "first" / "runs.parquet", store / "deep"])
    assert set(both["experiment"]) == {"first", "second"}


def test_sums_agree_with_the_frame(store: Path) -> None:
    frame = simsched.results(store)
    found = simsched.query(
        "SELECT experiment, sum(makespan_s) AS makespan_s FROM runs GROUP BY ALL ORDER BY 1", store
    )
    expected = frame.groupby("experiment").makespan_s.sum()
    assert found["experiment"].tolist() == ["deep/second", "first"]
    assert found["makespan_s"].tolist() == pytest.approx(expected.sort_index().tolist())
    assert found.attrs["units"] == {"makespan_s": "s"}


def test_events_join_with_their_runs(store: Path) -> None:
    found = simsched.query(
        "SELECT any_value(tasks) AS expected, count(*) AS ended FROM events JOIN runs "
        "USING (experiment, key) JOIN event_kinds k ON events.kind = k.kind "
        "WHERE k.name = 'task_end' GROUP BY key",
        store,
    )
    assert len(found) == 4
    assert (found["expected"] == found["ended"]).all()


def test_lists_can_be_unnested(store: Path) -> None:
    found = simsched.query(
        "SELECT count(*) AS n FROM (SELECT unnest(worker_busy_s) FROM runs "
        "WHERE experiment = 'first')",
        store,
    )
    assert found["n"].tolist() == [4 * 16]


def test_pivot_and_explain_are_queries(store: Path) -> None:
    wide = simsched.query("PIVOT runs ON policy USING count(*) GROUP BY experiment", store)
    assert {"bats", "cilk_a", "work_sharing"} <= set(wide.columns)
    assert len(simsched.query("EXPLAIN SELECT 1", store))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM '{secret}'",
        "SELECT * FROM read_csv('{secret}')",
        "SELECT * FROM read_text('{secret}')",
        "SELECT * FROM read_blob('{secret}')",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM sniff_csv('{secret}')",
        "SELECT * FROM read_parquet('{store}/first/runs.parquet')",
        "COPY runs TO '{folder}/copied.csv'",
        "COPY (SELECT 1) TO '{folder}/copied.parquet'",
        "EXPORT DATABASE '{folder}/copied'",
        "ATTACH '{folder}/copied.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "RESET lock_configuration",
        "PRAGMA database_list",
        "CREATE TABLE t AS SELECT 1",
        "DROP VIEW runs",
        "INSERT INTO event_kinds VALUES (99, 'x')",
        "SELECT 1; SELECT 2",
        "SELECT 1; COPY runs TO '{folder}/copied.csv'",
        "",
        "-- nothing",
        "SELEC 1",
        "SELECT no_such_column FROM runs",
        "SELECT * FROM no_such_table",
        "SELECT 'a'::INTEGER",
        "SELECT getenv('HOME')",
    ],
)
def test_nothing_else_can_be_read_or_written(sql: str, store: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("word\nsesame\n")
    text = sql.format(secret=secret, folder=tmp_path, store=store)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ConfigurationError, match=r"^query: ") as caught:
        simsched.query(text, store)
    assert "\n" not in str(caught.value)
    assert "sesame" not in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == before


def test_variables_of_the_program_are_no_tables(store: Path) -> None:
    frame = pa.table({"x": [1]})  # noqa: F841  (what must not be found)
    with pytest.raises(ConfigurationError, match="frame"):
        simsched.query("SELECT * FROM frame", store)


def test_columns_of_different_types_are_joined_as_text(tmp_path: Path) -> None:
    for name, value in (("a", 8), ("b", "8 KiB")):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"policy": [name], "x": [value]}), tmp_path / name / "runs.parquet")
    found = simsched.query("SELECT policy, x FROM runs ORDER BY policy", tmp_path)
    assert found["x"].tolist() == ["8", "8 KiB"]


def test_no_results_and_broken_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="found no results, accepted a directory"):
        simsched.results(tmp_path)
    (tmp_path / "runs.parquet").write_text("no")
    with pytest.raises(ConfigurationError, match=r"runs\.parquet: found no complete Parquet file"):
        simsched.results(tmp_path)


def test_ctrl_c_is_no_error_of_the_query() -> None:
    # DuckDB takes the signal and raises this in its place; a command then ended with a traceback.
    with pytest.raises(KeyboardInterrupt), complaining():
        raise RuntimeError("Query interrupted")
    with pytest.raises(RuntimeError, match="something else"), complaining():
        raise RuntimeError("something else")
