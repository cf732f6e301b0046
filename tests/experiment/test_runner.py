"""Running: rows are stored at once, reused later, and survive whatever ends the process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from simsched.api import load_experiment
from simsched.experiment.blame import explained
from simsched.experiment.cell_run import run_cell
from simsched.experiment.pool import WorkerLostError, _Worker
from simsched.experiment.rehearsal import check_runs
from simsched.experiment.runner import Interrupted, Outcome
from simsched.experiment.store import Store
from simsched.experiment.study import Study
from simsched.files.atomic import HOST
from simsched.files.errors import ConfigurationError, ModelError, PolicyError
from simsched.files.yaml_reader import Document
from simsched.policy import make_policy
from simsched.trace.parquet import read_events

from .conftest import Impatient, deterministic, drastic, run_document


def run(document: Document, folder: Path, **options: Any) -> Outcome:
    return run_document(document, output=folder / "out", **options)


def test_rows_say_everything(small: Document, tmp_path: Path) -> None:
    outcome = run(small, tmp_path, jobs=1)
    assert (outcome.computed, outcome.reused) == (4, 0)
    row = outcome.rows[0]
    assert row["machine"] == "amd_4x_opteron8380"
    assert (row["workload"], row["policy"], row["seed"]) == ("fork_join", "cilk_a", 0)
    assert (row["backend"], row["workers"], row["tasks"]) == ("simpy", 4, 15)
    assert row["information"] == "exact"
    assert row["makespan_s"] >= row["bound_s"] > 0
    assert row["wall_s"] > 0
    assert 10_000_000 < row["peak_rss_bytes"] < 2**34
    table = pq.read_table(outcome.parquet)
    assert table.num_rows == 4
    assert table.column("key").to_pylist() == [row["key"] for row in outcome.rows]


def test_rows_say_what_the_policy_knew_of_durations(make_plain: Any, tmp_path: Path) -> None:
    modes = ["blind", "class_mean", "exact"]
    data = make_plain(
        workloads=["chain"], policies=[f"heft[information={mode}]" for mode in modes], seeds=1
    )
    outcome = run(Document(None, data), tmp_path, jobs=1)
    assert pq.read_table(outcome.parquet).column("information").to_pylist() == modes


def test_processes_give_the_rows_that_one_process_gives(small: Document, tmp_path: Path) -> None:
    serial = run_document(small, output=tmp_path / "serial", jobs=1)
    parallel = run_document(small, output=tmp_path / "parallel", jobs=2)
    assert deterministic(parallel.rows) == deterministic(serial.rows)


def test_a_second_run_computes_nothing(small: Document, tmp_path: Path) -> None:
    first = run(small, tmp_path, jobs=1)
    second = run(small, tmp_path, jobs=1)
    assert (second.computed, second.reused) == (0, 4)
    assert second.rows == first.rows


def test_only_what_is_new_is_computed(small: Document, tmp_path: Path) -> None:
    run(small, tmp_path, jobs=1)
    more = run(small, tmp_path, jobs=1, assigned=["seeds=3"])
    assert (more.computed, more.reused) == (2, 4)
    assert run(small, tmp_path, jobs=1, recompute=True).computed == 4


def change(outcome: Outcome, how: Callable[[str], str]) -> None:
    """Change the stored line of the second row."""
    key = outcome.rows[1]["key"]
    for path in (outcome.output / "cells").glob("*.jsonl"):
        lines = path.read_text().splitlines()
        path.write_text("\n".join(how(line) if key in line else line for line in lines) + "\n")


def falsified(line: str, more: dict[str, Any] | None) -> str:
    """Return a line with another row under the old hash; None leaves it empty."""
    stored = json.loads(line)
    return json.dumps({**stored, "row": {} if more is None else stored["row"] | more})


@pytest.mark.parametrize("damage", ["", "{", '{"format": 1, "key": "x", "row": {}}', "[]", "\0"])
def test_a_damaged_row_is_computed_again(small: Document, tmp_path: Path, damage: str) -> None:
    first = run(small, tmp_path, jobs=1)
    change(first, lambda line: damage)
    second = run(small, tmp_path, jobs=1)
    assert second.computed == 1
    assert deterministic(second.rows) == deterministic(first.rows)


@pytest.mark.parametrize(
    "wrong",
    [{"makespan_s": "x"}, {"makespan_s": None}, {"misfits": 5}, {"tasks": "x"}, {"tasks": 1e9}],
)
def test_a_row_whose_content_is_wrong_is_computed_again(
    small: Document, tmp_path: Path, wrong: dict[str, Any]
) -> None:
    """The comparison failed with a TypeError."""
    first = run(small, tmp_path, jobs=1)
    for more in (wrong, None):
        change(first, partial(falsified, more=more))
        second = run(small, tmp_path, jobs=1)
        assert second.computed == 1
        assert deterministic(second.rows) == deterministic(first.rows)


def test_equal_cells_are_computed_once(make_plain: Any, tmp_path: Path) -> None:
    policies = ["cilk_a", {"name": "cilk_a", "label": "again"}]
    outcome = run(Document(None, make_plain(policies=policies, seeds=1)), tmp_path, jobs=1)
    assert outcome.computed == 1
    assert [row["policy"] for row in outcome.rows] == ["cilk_a", "again"]


def test_event_traces_are_kept_on_request(small: Document, tmp_path: Path) -> None:
    run(small, tmp_path, jobs=1)
    outcome = run(small, tmp_path, jobs=1, events=True)
    assert outcome.computed == 4  # they were stored without their events
    for row in outcome.rows:
        assert len(read_events(Path(row["events_file"]))) == row["events"]
    assert run(small, tmp_path, jobs=1, events=True).computed == 0


def test_a_worker_that_is_killed_is_replaced(make_plain: Any, tmp_path: Path) -> None:
    (tmp_path / "marker").touch()
    data = make_plain(policies=["cilk_a", drastic(tmp_path, "once", label="once")])
    outcome = run(Document(None, data), tmp_path, jobs=2)
    assert not (tmp_path / "marker").exists()
    assert len(outcome.rows) == 4
    by_policy = {row["policy"]: row["makespan_s"] for row in outcome.rows if row["seed"] == 1}
    assert by_policy["once"] > 0


def test_what_a_killed_worker_was_given_beside_is_run_by_others(
    make_plain: Any, tmp_path: Path
) -> None:
    # Cells take milliseconds: the twelfth of a process is in the middle of several.
    (tmp_path / "marker").touch()
    policies = [drastic(tmp_path, "twelfth", label="twelfth")]
    outcome = run(Document(None, make_plain(policies=policies, seeds=60)), tmp_path, jobs=2)
    assert not (tmp_path / "marker").exists()
    assert [row["seed"] for row in outcome.rows] == list(range(60))
    files = (tmp_path / "out" / "cells").glob("*.jsonl")
    assert sum(len(file.read_bytes().splitlines()) for file in files) == 60  # none of them twice
    assert all(row["makespan_s"] > 0 for row in outcome.rows)


def test_a_cell_that_kills_every_worker_ends_the_experiment(
    make_plain: Any, tmp_path: Path
) -> None:
    (tmp_path / "marker").touch()
    data = make_plain(policies=["cilk_a", drastic(tmp_path, "kill", label="deadly")])
    with pytest.raises(WorkerLostError, match=r"deadly seed . *: 2 worker.*killed by signal 9"):
        run(Document(None, data), tmp_path, jobs=2)
    store = Store(tmp_path / "out" / "cells")
    assert all(map(store.load, store.keys()))


def test_of_several_cells_the_one_that_kills_is_named(make_plain: Any, tmp_path: Path) -> None:
    (tmp_path / "marker").touch()
    policies = ["cilk_a", drastic(tmp_path, "kill", label="deadly")]
    for _ in range(2):  # the second time in batches with none that are stored
        with pytest.raises(WorkerLostError, match=r"deadly seed \d+: 2 worker processes"):
            run(Document(None, make_plain(policies=policies, seeds=40)), tmp_path, jobs=2)


def test_a_fault_of_the_policy_in_a_worker_names_its_file(make_plain: Any, tmp_path: Path) -> None:
    (tmp_path / "marker").touch()
    data = make_plain(policies=["cilk_a", drastic(tmp_path, "crash", label="faulty")])
    with pytest.raises(PolicyError, match=r"faulty seed \d: .*\.py:\d+: .*a fault of the policy"):
        run(Document(None, data), tmp_path, jobs=2)


def test_a_fault_of_the_program_is_not_taken_for_wrong_input() -> None:
    with pytest.raises(ZeroDivisionError), explained(make_policy("cilk"), "cilk"):
        raise ZeroDivisionError


def test_a_policy_that_refuses_is_named_as_it_was_asked_for(make_plain: Any) -> None:
    planned = Study.from_yaml(Document(None, make_plain(policies=["heft[insertion=false]"])))
    with pytest.raises(ModelError, match=r": policy heft\[insertion=false\]: found a spawn tree"):
        run_cell(planned.cells[0])


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_policy_that_does_not_fit_is_found_before_the_first_run(
    make_plain: Any, tmp_path: Path, jobs: int
) -> None:
    # A list scheduler would schedule the second program; the first is a spawn tree.
    data = make_plain(policies=["cilk_a", "heft"], workloads=["chain", "fork_join"])
    message = r"x\.yaml:\d+: policies\[1\]: \S+ fork_join heft seed 0: .*found a spawn tree"
    (tmp_path / "x.yaml").write_text(json.dumps(data))
    with pytest.raises(ModelError, match=message):
        run(load_experiment(tmp_path / "x.yaml"), tmp_path, jobs=jobs)
    assert not (tmp_path / "out").exists()


def test_code_from_outside_the_package_runs_in_worker_processes_only(
    make_plain: Any, tmp_path: Path
) -> None:
    away = tmp_path / "away.py"
    away.write_text(
        "import os\nfrom simsched.policy.algorithms.work_stealing.work_sharing "
        "import WorkSharing\n\n\n"
        "class Away(WorkSharing):\n    def start(self, view):\n"
        f"        assert os.getpid() != {os.getpid()}\n        return super().start(view)\n"
    )
    data = make_plain(policies=["cilk_a", str(away)])
    assert len(run(Document(None, data), tmp_path, jobs=2).rows) == 4
    with pytest.raises(PolicyError, match=r"away\.py:7: start: AssertionError"):
        check_runs(Study.from_yaml(Document(None, data)))


def test_what_a_policy_starts_in_a_worker_process_can_be_ended(
    make_plain: Any, tmp_path: Path
) -> None:
    helped = tmp_path / "helped.py"
    helped.write_text(
        "import subprocess\nfrom simsched.policy.algorithms.work_stealing.work_sharing "
        "import WorkSharing\n\n\n"
        "class Helped(WorkSharing):\n    def start(self, view):\n"
        "        helper = subprocess.Popen(['sleep', '60'])\n        helper.terminate()\n"
        "        assert helper.wait(20) == -15\n        return super().start(view)\n"
    )
    data = make_plain(policies=["cilk_a", str(helped)])
    assert len(run(Document(None, data), tmp_path, jobs=2).rows) == 4


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_impossible_run_names_itself_and_leaves_nothing(
    make_plain: Any, tmp_path: Path, jobs: int
) -> None:
    # No HBM on this machine: known only when the policy is asked.
    data = make_plain(policies=["charm_hbm_only"])
    with pytest.raises(ModelError, match=r"charm_hbm_only seed \d: .*memory kind 'HBM'"):
        run(Document(None, data), tmp_path, jobs=jobs)
    assert not (tmp_path / "out").exists()


def test_a_directory_that_cannot_be_written_is_found_before_the_first_run(
    small: Document, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="file/out: cannot be written"):
        run_document(small, output=tmp_path / "file" / "out", jobs=1)


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interruption_keeps_what_has_finished(
    small: Document, tmp_path: Path, jobs: int
) -> None:
    with pytest.raises(Interrupted):
        run(small, tmp_path, jobs=jobs, progress=Impatient(2))
    stored = Store(tmp_path / "out" / "cells").keys()
    assert len(stored) >= 2
    assert run(small, tmp_path, jobs=1).reused == len(stored)


@pytest.mark.parametrize(
    "how", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGKILL]
)
def test_a_killed_program_leaves_complete_rows_only(
    make_plain: Any, tmp_path: Path, how: signal.Signals
) -> None:
    data = make_plain(policies=["cilk_a", drastic(tmp_path, "sleep", label="slow")], seeds=1)
    path = tmp_path / "x.yaml"
    path.write_text(json.dumps(data))
    out = tmp_path / "out"
    command = [sys.executable, "-m", "simsched", "run", str(path), "-o", str(out), "--jobs", "2"]
    with (tmp_path / "stderr").open("w") as messages:
        process = subprocess.Popen(command, stderr=messages)
    deadline = time.monotonic() + 60
    while not (Store(out / "cells").keys() and (tmp_path / "marker").exists()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(process.pid, how)
    process.wait(timeout=30)
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert (tmp_path / "stderr").read_text() == (
            f"simsched: interrupted; 1 of 2 runs are stored in {out}; the same command continues\n"
        )
    store = Store(out / "cells")
    (row,) = map(store.load, store.keys())
    assert row["makespan_s"] > 0
    assert not (out / "runs.parquet").exists()


def test_a_run_that_is_stored_needs_no_workload(
    small: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(small, tmp_path, jobs=1)
    monkeypatch.setattr("simsched.experiment.inputs._built", {})
    monkeypatch.setattr("simsched.experiment.inputs.generate_workload", None)
    assert run(small, tmp_path, jobs=1).reused == 4


def test_a_policy_file_that_changes_meanwhile_is_not_run(make_plain: Any, tmp_path: Path) -> None:
    """Worker processes load it later than the keys were made."""
    policies = [drastic(tmp_path, "nothing", label="own")]

    def edit(total: int) -> Impatient:
        with (tmp_path / "drastic.py").open("a") as file:
            file.write("# edited\n")
        return Impatient(-1)

    with pytest.raises(ConfigurationError, match="policy own: found another content than when"):
        run(Document(None, make_plain(policies=policies)), tmp_path, jobs=2, progress=edit)
    assert not (tmp_path / "out").exists()


def test_code_that_changes_meanwhile_is_not_run(
    make_plain: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policies = [drastic(tmp_path, "nothing", label="own")]
    monkeypatch.setattr("simsched.experiment.pool.code_digest", lambda: "another")
    with pytest.raises(ConfigurationError, match=r"a worker process on .* found another simsched"):
        run(Document(None, make_plain(policies=policies)), tmp_path, jobs=2)


def test_what_a_killed_program_was_writing_is_removed_by_the_next(
    small: Document, tmp_path: Path
) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    outcome = run(small, tmp_path, jobs=1, events=True)
    folders = [outcome.output, outcome.output / "cells", outcome.output / "events"]
    for folder in folders:
        for host, process in ((HOST, gone.pid), (HOST, os.getpid()), ("another", gone.pid)):
            (folder / f".x.json.{host}.{process}.tmp").touch()
    old = folders[0] / ".y.json.another.1.tmp"
    old.touch()
    os.utime(old, (0, 0))
    run(small, tmp_path, jobs=1, events=True)
    left = [f".x.json.{HOST}.{os.getpid()}.tmp", f".x.json.another.{gone.pid}.tmp"]
    for folder in folders:
        assert sorted(path.name for path in folder.glob(".*")) == sorted(left)


def test_a_row_that_a_killed_worker_was_writing_is_removed(tmp_path: Path) -> None:
    """An interruption kills workers; one in the middle of a file cannot tidy up itself."""
    worker = _Worker()
    unfinished = tmp_path / f".row.json.{HOST}.{worker.process.pid}.tmp"
    others = tmp_path / f".row.json.{HOST}.{worker.process.pid + 1}.tmp"
    unfinished.touch()
    others.touch()
    worker.stop(tmp_path, None)
    assert list(tmp_path.iterdir()) == [others]
