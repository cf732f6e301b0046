"""`simsched references`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from simsched.cli.app import main
from simsched.engine.run import simulate
from simsched.machine import load_machine
from simsched.policy import make_policy
from simsched.workload.registry import generate_workload

HEAD = "machine,policy,tiles_per_side,makespan_ms,gflops\n"
MEASURED = Path(__file__).resolve().parents[3] / "shared" / "data" / "starpu_sampling"


def makespan_s(tiles: int, policy: str = "dmda", **given: object) -> float:
    parameters = {"tile_size": 960, "element_bytes": 4, "costs": "measured", **given}
    workload = generate_workload("cholesky", {"tiles": tiles, **parameters})
    return simulate(load_machine("mirage"), workload, make_policy(policy)).makespan_s


def test_rows_have_simulation_reference_and_error(tmp_path, capsys):
    file, table = tmp_path / "given.csv", tmp_path / "table.csv"
    file.write_text("# made up\n" + HEAD + "mirage,dmda,3,50,1\nmirage, eager, 2, 40.5, 1\n")
    assert main(["references", str(file), "--json", "-o", str(table)]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = found["rows"]
    assert [(r["machine"], r["policy"], r["tiles_per_side"]) for r in rows] == [
        ("mirage", "dmda", 3),
        ("mirage", "eager", 2),
    ]
    for row, tiles in zip(rows, (3, 2), strict=True):
        expected = makespan_s(tiles, row["policy"]) * 1e3
        assert row["simulated_ms"] == pytest.approx(expected)
        error = 100 * (expected - row["reference_ms"]) / row["reference_ms"]
        assert row["error_percent"] == pytest.approx(error)
    assert [line["policy"] for line in found["policies"]] == ["dmda", "eager"]
    with table.open() as stream:
        assert [row["reference_ms"] for row in csv.DictReader(stream)] == ["50.0", "40.5"]


def test_rows_can_be_chosen_and_programs_changed(tmp_path, capsys):
    file = tmp_path / "given.csv"
    file.write_text(HEAD + "mirage,dmda,3,50,1\nsirocco,eager,2,40,1\nmirage,eager,2,40,1\n")
    chosen = ["--machine", "mirage", "--policy", "dmda"]
    assert main(["references", str(file), *chosen, "--set", "tile_size=320", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["simulated_ms"] == pytest.approx(makespan_s(3, tile_size=320) * 1e3)
    assert main(["references", str(file), *chosen, "--program", "lu"]) == 0
    text = capsys.readouterr().out
    assert "mirage" in text
    assert "median error" in text


def test_what_starpu_calls_heft_is_dmda(tmp_path, capsys):
    file = tmp_path / "given.csv"
    file.write_text(HEAD + "mirage,heft,3,50,1\n")
    assert main(["references", str(file), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["policy"] == "heft"
    assert row["simulated_ms"] == pytest.approx(makespan_s(3, "dmda") * 1e3)
    assert row["simulated_ms"] != pytest.approx(makespan_s(3, "heft") * 1e3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found an empty file"),
        (HEAD, "found no row below the head"),
        ("machine,policy,tiles,makespan_ms\nmirage,dmda,3,50\n", ":1: found columns 'machine"),
        (HEAD + "mirage,dmda,3,50\n", ":2: found 4 values, accepted 5"),
        (
            "machine;policy;tiles_per_side;makespan_ms\nmirage;dmda;3;50\n",
            ":1: found columns separated by semicolons, accepted commas",
        ),
        (
            "# tabs\nmachine\tpolicy\ttiles_per_side\tmakespan_ms\nmirage\tdmda\t3\t50\n",
            ":2: found columns separated by tabs, accepted commas",
        ),
        (
            "machine,policy,tiles_per_side,makespan_ms, policy\nmirage,dmda,3,50,eager\n",
            ":1: found column policy 2 times, accepted once",
        ),
        (HEAD + "mirage,dmda,3,0,1\n", ":2: makespan_ms: found '0', accepted 1e-09 to 4.61e+09 ms"),
        (HEAD + "mirage,dmda,2.5,50,1\n", ":2: tiles_per_side: found '2.5', accepted 1 to 1000"),
        (HEAD + "mirrage,dmda,3,50,1\n", ":2: unknown machine 'mirrage'; did you mean 'mirage'"),
        (HEAD + "\nmirage,dmdax,3,50,1\n", ":3: unknown policy 'dmdax'"),
        (HEAD + "opteron48,dmda,3,50,1\n", ":2: policy dmda on opteron48: workload cholesky"),
    ],
)
def test_wrong_files_are_told(text, message, tmp_path, capsys):
    file = tmp_path / "given.csv"
    file.write_text(text)
    code = main(["references", str(file)])
    error = capsys.readouterr().err
    assert code == 2, error
    assert message in error


def test_rows_that_do_not_suit_leave_the_others(tmp_path, capsys):
    file, table = tmp_path / "given.csv", tmp_path / "table.csv"
    lines = (
        "mirage,dmda,3,50,1",
        "mirage,cilk,3,50,1",
        "mirage,samr,3,50,1",
        "mirage,eager,2,40,1",
    )
    file.write_text(HEAD + "\n".join(lines) + "\n")
    assert main(["references", str(file), "--json", "-o", str(table)]) == 2
    out, error = capsys.readouterr()
    document = json.loads(out)
    found = {row["policy"]: row for row in document["rows"]}
    assert found["dmda"]["simulated_ms"] == pytest.approx(makespan_s(3) * 1e3)
    assert found["eager"]["simulated_ms"] == pytest.approx(makespan_s(2, "eager") * 1e3)
    assert found["cilk"]["simulated_ms"] is None
    assert [line["policy"] for line in document["policies"]] == ["dmda", "eager"]
    with table.open() as stream:
        assert [bool(row["problem"]) for row in csv.DictReader(stream)] == [
            False,
            True,
            True,
            False,
        ]
    assert "2 of 4 rows cannot be simulated" in error
    for told in (
        f"{file}:3: policy cilk on mirage: on_timer: Exchange: moves threads to other cores",
        f"{file}:4: policy samr on mirage: place: follows_writes: lets blocks move to whoever",
        "accepted only on machines that do not copy data to the memories of their devices",
    ):
        assert told in error
    assert main(["references", str(file)]) == 2
    (cells,) = [line.split() for line in capsys.readouterr().out.splitlines() if "cilk" in line]
    assert cells == ["mirage", "cilk", "3", "-", "50.0", "-", "-"]


def test_rows_with_wrong_names_and_numbers_leave_the_others(tmp_path, capsys):
    file = tmp_path / "given.csv"
    lines = (
        "mirage,dmdax,3,50,1",
        "mirage,dmda,2.5,50,1",
        "mirage,dmda,3,none,1",
        "mirrage,dmda,0,50,1",
        "mirage,dmda,3,50,1",
    )
    file.write_text(HEAD + "\n".join(lines) + "\n")
    assert main(["references", str(file), "--json"]) == 2
    out, error = capsys.readouterr()
    rows = json.loads(out)["rows"]
    assert [row["simulated_ms"] for row in rows[:4]] == [None] * 4
    assert rows[4]["simulated_ms"] == pytest.approx(makespan_s(3) * 1e3)
    assert [row["tiles_per_side"] for row in rows] == [3, None, 3, None, 3]
    assert [row["reference_ms"] for row in rows] == [50.0, 50.0, None, 50.0, 50.0]
    for told in (
        "4 of 5 rows cannot be simulated",
        f"{file}:2: unknown policy 'dmdax'",
        f"{file}:3: tiles_per_side: found '2.5', accepted 1 to 1000",
        f"{file}:4: makespan_ms: found 'none', accepted 1e-09 to 4.61e+09 ms",
        f"{file}:5: tiles_per_side: found '0', accepted 1 to 1000; unknown machine 'mirrage'",
    ):
        assert told in error
    assert main(["references", str(file)]) == 2
    (cells,) = [line.split() for line in capsys.readouterr().out.splitlines() if "mirrage" in line]
    assert cells == ["mirrage", "dmda", "-", "-", "50.0", "-", "-"]


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        ("tiles_per_side", ("2_0", "1e1", "-3", "1001", "0x3", "٣")),  # the last is Arabic for 3
        ("makespan_ms", ("1e300", "5e9", "1e-10", "5_0", "inf", "nan", "-50", "٣")),
    ],
)
def test_odd_numbers_are_told(column, texts, tmp_path, capsys):
    file = tmp_path / "given.csv"
    columns = {"machine": "mirage", "policy": "eager", "tiles_per_side": "3", "makespan_ms": "50"}
    for text in texts:
        row = {**columns, column: text}
        file.write_text(",".join(row) + "\n" + ",".join(row.values()) + "\n", encoding="utf-8")
        assert main(["references", str(file)]) == 2
        assert f"{file}:2: {column}: found {text!r}, accepted 1" in capsys.readouterr().err


def test_spellings_of_numbers_and_comments(tmp_path, capsys):
    file = tmp_path / "given.csv"
    file.write_text(
        " # one\nmachine,policy,tiles_per_side,makespan_ms,,\n\t# two\nmirage,eager,3.0,5e1,,\n"
        "mirage,eager,03,.5e2,,\n"
    )
    assert main(["references", str(file), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["tiles_per_side"], row["reference_ms"]) for row in rows] == [(3, 50.0)] * 2


def test_several_seeds_show_their_spread(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")  # headers of a narrow table are broken
    file = tmp_path / "given.csv"
    file.write_text(HEAD + "mirage,random,4,50,1\n")
    assert main(["references", str(file), "--seeds", "3", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    parameters = {"tiles": 4, "tile_size": 960, "element_bytes": 4, "costs": "measured"}
    workload, policy = generate_workload("cholesky", parameters), make_policy("random")
    machine = load_machine("mirage")
    drawn = [1e3 * simulate(machine, workload, policy, seed=s).makespan_s for s in range(3)]
    mean = sum(drawn) / 3
    assert row["seeds"] == 3
    assert row["simulated_ms"] == pytest.approx(mean)
    assert row["deviation_ms"] == pytest.approx((sum((d - mean) ** 2 for d in drawn) / 2) ** 0.5)
    assert (row["shortest_ms"], row["longest_ms"]) == pytest.approx((min(drawn), max(drawn)))
    assert row["deviation_ms"] > 0.0
    assert main(["references", str(file), "--seeds", "3"]) == 0
    text = capsys.readouterr().out
    assert "std. dev. [ms]" in text
    assert f" {min(drawn):,.1f} to {max(drawn):,.1f} " in text
    assert main(["references", str(file)]) == 0
    assert "std. dev." not in capsys.readouterr().out


def test_words_of_the_command_are_checked(tmp_path, capsys):
    file = tmp_path / "given.csv"
    file.write_text(HEAD + "mirage,dmda,3,50,1\n")
    for words, message in (
        (["--program", "qr"], "unknown program 'qr'"),
        (["--policy", "eager"], "--policy: unknown policy 'eager'; accepted: dmda"),
        (["-o", "table.txt"], "--output: found 'table.txt'"),
        (["--set", "tile_size=100"], "found no timing for 40000 bytes"),
        (["--set", "tilesize=100"], "did you mean 'tile_size'"),
        (
            ["--set", "tiles=9"],
            "program cholesky: parameter tiles: found a value, accepted that of",
        ),
        (["--program", "gemm", "--set", "tiles_y=9"], "program gemm: parameter tiles_y: found a"),
        (["--program", "gemm", "--set", "tiles_x=9"], "accepted that of the column tiles_per_side"),
    ):
        assert main(["references", str(file), *words]) == 2
        assert message in capsys.readouterr().err
    assert main(["references", str(tmp_path / "none.csv")]) == 2


@pytest.mark.accuracy
@pytest.mark.validation
def test_starpus_simulator_is_followed(capsys, record):
    if not MEASURED.is_dir():
        pytest.skip(f"no references in {MEASURED}")
    assert main(["references", str(MEASURED / "reference_cholesky.csv"), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    figures = {
        f"{row['machine']}, {row['tiles_per_side']} tiles | {row['policy']}": (
            row["reference_ms"],
            row["simulated_ms"],
        )
        for row in rows
    }
    record("Cholesky in StarPU over SimGrid", figures)
    cost_model = [
        abs(row["error_percent"]) for row in rows if row["policy"] in ("dm", "dmda", "dmdas")
    ]
    assert len(cost_model) == 14
    assert sum(error <= 6.0 for error in cost_model) >= 12, cost_model
