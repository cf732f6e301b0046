"""Every command, as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from simsched.engine.conformance import cases

from .conftest import Command


def test_run_prints_the_comparison_and_names_the_files(simsched: Command, experiment: Path) -> None:
    code, output, messages = simsched("run", experiment, "--jobs", 1)
    assert (code, messages) == (0, "")
    assert "work_sharing" in output
    assert "shorter than cilk_a by [%]" in output
    assert "4 runs simulated" in output
    for name in ("runs.parquet", "comparison.png", "summary.json"):
        assert f"results/small/{name}" in output
        assert Path("results/small", name).is_file()
    again = simsched("run", experiment)[1]
    assert "4 taken from earlier; ± is" in again
    assert "±" not in simsched("run", experiment, "--set", "seeds=1")[1]


def test_run_json_is_one_document_and_nothing_else(simsched: Command, experiment: Path) -> None:
    code, output, _ = simsched(
        "run", experiment, "--json", "--set", "seeds=1", "-o", "out", "-j", 1
    )
    assert code == 0
    document = json.loads(output)
    assert [run["policy"] for run in document["runs"]] == ["cilk_a", "work_sharing"]
    assert document["experiment"] == "small"
    assert Path(document["output"]["parquet"]).is_file()


def test_quiet_run_prints_only_the_table(simsched: Command, experiment: Path) -> None:
    code, output, messages = simsched("run", experiment, "--quiet", "-j", 1)
    assert (code, messages) == (0, "")
    assert "work_sharing" in output
    assert "results/" not in output


def test_the_description_is_that_of_the_file_only(simsched: Command, experiment: Path) -> None:
    with experiment.open("a") as file:
        file.write("description: Four workers of an Opteron.\nremark: Mind their caches.\n")
    words = ("run", experiment, "-j", 1, "--set", "seeds=1")
    said = simsched(*words)[1]
    assert "Four workers of an Opteron." in said
    assert "Mind their caches." in said
    for other in (
        ("-m", "opteron64"),
        ("-w", "chain"),
        ("-p", "slaw"),
        ("--set", "policies=[slaw]"),
        ("--set", "machines.0.workers=2"),
        ("--set", "sweep.product.machines.0.workers=[2, 3]"),
    ):
        code, output, messages = simsched(*words, *other)
        assert (code, messages) == (0, "")
        assert "makespan" in output
        assert "Opteron." not in output
        assert "Mind" not in output


def test_events_are_written_on_request(simsched: Command, experiment: Path) -> None:
    assert simsched("run", experiment, "--events", "-j", 1)[0] == 0
    assert len(list(Path("results/small/events").glob("*.parquet"))) == 4


def test_no_word_is_broken_where_output_is_no_terminal(simsched: Command, experiment: Path) -> None:
    """Pipes had 160 columns, in which long names were cut in two, out of reach of grep."""
    workload = "fork_join[degree=3,depth=3,phases=2,leaf_ops=1234567.0,leaf_costs=uniform]"
    policies = ["random_stealing[spawn=parent_first,placement=interleave,steal_take=newest]"]
    policies += ["work_sharing[placement=interleave]"]
    given = [f"-p{policy}" for policy in policies]
    code, output, messages = simsched("run", experiment, "-w", workload, *given, "-q", "-j", 1)
    assert (code, messages) == (0, "")
    lines = output.splitlines()
    for policy in policies:
        assert any(workload in text and policy in text for text in lines)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("machines", "knl_snc4_flat"),
        ("workloads", "heat_16gb"),
        ("policies", "bats_nl"),
        ("placements", "interleave"),
        ("experiments", "quickstart"),
        ("measurements", "measure_small"),
    ],
)
def test_list(simsched: Command, kind: str, name: str) -> None:
    code, output, _ = simsched("list", kind)
    assert code == 0
    assert name in output
    entries = json.loads(simsched("list", kind, "--json")[1])
    assert name in [entry["name"] for entry in entries]
    assert all(entry["description"] for entry in entries)


def test_list_as_markdown(simsched: Command) -> None:
    code, output, _ = simsched("list", "machines", "--markdown")
    assert code == 0
    assert "| `knl_snc4_flat` | Intel Knights Landing" in output
    assert "| placement | what it is |" in simsched("list", "placements", "--markdown")[1]
    code, _, error = simsched("list", "machines", "--markdown", "--json")
    assert (code, "--markdown: found --json too, accepted one of them" in error) == (2, True)


def test_show_machine_as_text_and_picture(simsched: Command, tmp_path: Path) -> None:
    code, output, _ = simsched("show", "machine", "knl_snc4_flat")
    assert code == 0
    assert "4 NUMA domains" in output
    assert simsched("show", "machine", "knl_snc4_flat", "--draw", "m.png")[0] == 0
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["m.png"]


def test_show_workload_and_policy(simsched: Command) -> None:
    code, output, _ = simsched("show", "workload", "heat_small")
    assert code == 0
    assert "rows = 14336" in output
    assert "tasks" in output
    code, output, _ = simsched("show", "policy", "bats_nb")
    assert code == 0
    assert "balancer = False" in output
    assert "preset of: bats" in output
    assert "needs: memory of several kinds" in output
    output = simsched("show", "policy", "cilk")[1]
    assert output.startswith("policy cilk: MIT Cilk")
    assert "moves its threads" in output.splitlines()[0]
    assert "preset of: unpinned_stealing" in output
    assert "cats_numa_init spreads them" in simsched("show", "policy", "cats")[1]
    output = simsched("show", "policy", "cats_numa_init")[1]
    assert "`cats` (`cab_gto_profile`)" in output
    assert output.count("Readings:") == 1  # notes are not printed twice


def test_check_recognises_every_kind_of_file(simsched: Command, experiment: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    for file, words in (
        (experiment, "experiment with 4 runs: correct"),
        (root / "machines" / "knl_snc4_flat.yaml", "machine, 64 cores, 8 memory nodes: correct"),
        (root / "workloads" / "heat_small.yaml", "workload preset, 1,023 tasks: correct"),
    ):
        code, output, _ = simsched("check", file)
        assert code == 0
        assert words in output
    simsched("export", "cholesky_small", "g.graphml")
    code, output, _ = simsched("check", "g.graphml")
    assert code == 0
    assert "816 tasks" in output


@pytest.mark.parametrize("name", ["quickstart", "knl_heat"])
def test_shipped_experiments_are_correct(simsched: Command, name: str) -> None:
    root = Path(__file__).resolve().parents[2]
    code, output, _ = simsched("check", root / "experiments" / f"{name}.yaml")
    assert code == 0
    assert "correct" in output


def test_an_exported_graph_runs_like_the_original(simsched: Command, experiment: Path) -> None:
    workload = "layered_random"
    for suffix in ("graphml", "dot"):
        assert simsched("export", workload, f"g.{suffix}")[0] == 0
        settings = ("--set", "seeds=1", "--set", "backend=native", "--json", "-j", 1)
        files = f"workloads=[{{name: {workload}, label: a}}, {{file: g.{suffix}, label: b}}]"
        code, output, messages = simsched("run", experiment, "--set", files, *settings)
        assert code == 0, messages
        runs = json.loads(output)["runs"]
        found = {(run["workload"], run["policy"]): run["makespan_s"] for run in runs}
        assert found["a", "cilk_a"] == found["b", "cilk_a"]


def test_conformance_of_one_case_family(simsched: Command) -> None:
    words = ("conformance", "--policy", "work_sharing", "--workload", "fork_join", "--json")
    code, output, _ = simsched(*words)
    document = json.loads(output)
    assert code == 0
    assert document["cases"] >= 8
    # Programs for cores are refused on machines with processors of other kinds, unless these have
    # memory of their own and may be left alone.
    machines = [machine for machine, *_ in cases(["work_sharing"], ["fork_join"])]
    others = [
        machine.name
        for machine in machines
        if machine.kinds != ("cpu",) and not (machine.copies_data and not machine.timings)
    ]
    assert (document["refused"], document["differing"]) == (len(others), 0)
    assert document["events"] > 1000
    assert sum(document["refusals"].values()) == len(others)
    assert all(reason for reason in document["refusals"])


def test_conformance_tells_reasons_and_how_far_it_is(
    simsched: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simsched.experiment.progress.PLAIN_EVERY_S", 0.0)
    words = ("conformance", "-p", "cilk_h", "-w", "chain[tasks=3]", "-w", "chain[tasks=4]")
    code, output, messages = simsched(*words, "-m", "opteron48")
    assert code == 0
    first, *reasons = output.splitlines()
    assert (
        first
        == "2 cases, 2 refused by both backends, 0 left out as too long, 0 events, 0 differing"
    )
    assert len(reasons) == 1
    assert reasons[0].startswith("  2 refused: ModelError: ")
    assert "HBM" in reasons[0]
    assert messages.startswith("1/2 runs, about ")
    assert simsched(*words, "-m", "opteron48", "--quiet")[2] == ""


def test_version_and_help(simsched: Command) -> None:
    assert simsched("--version")[1].startswith("simsched ")
    code, output, _ = simsched("run", "--help")
    assert code == 0
    assert "--set" in output
    assert "Example" in output


def test_module_runs_and_a_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m simsched list policies | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize("words", ["--version", "list policies", "schema experiment"])
def test_a_full_disk_is_one_message(words: str) -> None:
    """It was a traceback."""
    command = [sys.executable, "-m", "simsched", *words.split()]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "simsched: error: standard output: found no space left to write\n"


def test_files_and_pipes_have_no_control_codes(simsched: Command, experiment: Path) -> None:
    code, output, messages = simsched("run", experiment, "-j", 1)
    assert code == 0
    assert "\x1b" not in output + messages
