"""Running on a Dask cluster: the rows of a local run, whatever happens to workers."""

from __future__ import annotations

import json
import logging
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from threading import Event, Thread
from typing import Any

import dask
import pytest
from distributed import Client, LocalCluster

from simsched.experiment import cluster as module
from simsched.experiment.cluster import ClusterError, execute_on_cluster
from simsched.experiment.parcel import _importable, modules_of, packed
from simsched.experiment.pool import WorkerLostError
from simsched.experiment.progress import Silent
from simsched.experiment.runner import Interrupted
from simsched.experiment.store import Store
from simsched.experiment.study import Study
from simsched.files.errors import ConfigurationError, PolicyError, SimschedError
from simsched.files.yaml_reader import Document
from simsched.names.user_code import forget_modules

from .conftest import Impatient, deterministic, drastic, plain, run_document

GRAPH = 'digraph g { a [cost="1"]; b [cost="2"]; a -> b; }'
AWAY = """
from pathlib import Path
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing

class Away(RandomStealing):
    def start(self, view):
        assert (Path(__file__).parent / "home").exists() is False
        return super().start(view)
"""
HEAT = {"name": "heat_small", "iterations": 1}
MADE = """
from simsched.workload.builder import build_graph
from simsched.workload.graph import Workload
from simsched.workload.registry import generator

@generator("test_cluster_made")
def made(seed: int, *, tasks: int = 3):
    return Workload("made", build_graph([1e6] * tasks))
"""


@contextmanager
def two_workers() -> Iterator[str]:
    """The address of a scheduler with two worker processes; a task may cost one of them."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as workers,
    ):
        yield workers.scheduler_address


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    with two_workers() as address:
        yield address


@pytest.fixture
def doomed() -> Iterator[str]:
    """A cluster for one test: not every worker comes back that is lost as it starts."""
    with two_workers() as address:
        yield address


def execute(data: dict[str, Any], folder: Path, address: str) -> list[dict[str, Any]]:
    """Run without the store of an experiment; rows in the order in which they come."""
    cells = Study.from_yaml(Document(None, data)).cells
    store = Store(folder)
    return [row for _, row in execute_on_cluster(cells, address, store, None, Silent())]


def test_a_cluster_gives_the_rows_and_traces_of_a_local_run(cluster: str, tmp_path: Path) -> None:
    (tmp_path / "home").touch()
    (tmp_path / "away.py").write_text(AWAY)
    (tmp_path / "made.py").write_text(MADE)
    (tmp_path / "g.dot").write_text(GRAPH)
    workloads = [
        {"name": "fork_join", "depth": 3},
        {"file": f"{tmp_path}/g.dot", "cost": "cost", "cost_unit": "ops"},
        f"{tmp_path}/made.py[tasks=2]",
    ]
    away = f"{tmp_path}/away.py"
    small = Document(None, plain(workloads=workloads, policies=["cilk_a", "bats", away]))
    there = run_document(small, dask=cluster, output=tmp_path / "there", events=True)
    assert (there.computed, there.reused) == (18, 0)
    (tmp_path / "home").unlink()
    here = run_document(small, jobs=1, output=tmp_path / "here", events=True)
    assert deterministic(there.rows) == deterministic(here.rows)
    for row in here.rows:
        name = Path(row["events_file"]).name
        traces = [(tmp_path / where / "events" / name).read_bytes() for where in ("there", "here")]
        assert traces[0] == traces[1]


HELPED = """
from dataclasses import dataclass
from helper_beside import TAKE
from helper_parts import *
from simsched.policy import param, preset
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing

@dataclass(frozen=True, kw_only=True)
class Helped(RandomStealing):
    local_take: str = param(TAKE, choices=("newest", "oldest"))
    placement: str = param("helped_home")

    def start(self, view):
        from helper_later import check
        check()
        return super().start(view)

preset("helped_base", deeper.Base, "A class of a module.", local_take="newest")
"""
HELPERS = {
    "helper_beside.py": "TAKE = '{take}'\nOPS = {ops}\n",
    "helper_later.py": "from helper_beside import OPS\ndef check():\n    assert OPS == {ops}\n",
    "helper_parts/__init__.py": "__all__ = ['deeper', 'placing']\n",
    "helper_parts/deeper.py": "from simsched.policy.algorithms.work_stealing.random_stealing "
    "import RandomStealing\n"
    "from .placing import *\nclass Base(RandomStealing):\n    '''A base.'''\n",
    "helper_parts/placing.py": "from simsched.policy import placement, placement_rule\n"
    "@placement('helped_home')\ndef home(view):\n    return placement_rule('{rule}')(view)\n",
}


def write_helped(folder: Path, values: dict[str, str]) -> None:
    """Write a policy and a workload with the modules that they import."""
    made = "from helper_beside import OPS\n" + MADE.replace("1e6", "OPS")
    for name, text in {**HELPERS, "helped.py": HELPED, "made.py": made}.items():
        for word, value in values.items():
            text = text.replace(word, value)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def test_modules_that_files_import_are_sent_along(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers did not find them, and would have kept them when they had changed."""
    places = list(sys.path)
    makespans = []
    first, second = ("newest", "1e6", "all_dram"), ("oldest", "3e6", "interleave")
    for take, ops, rule in (first, second, first):
        monkeypatch.setattr(sys, "path", list(places))
        here = tmp_path / str(len(makespans))
        files = here / "files"
        write_helped(files, {"{take}": take, "{ops}": ops, "{rule}": rule})
        policies = [
            {"name": f"{files}/helped.py:Helped", "label": "helped"},
            {"name": f"{files}/helped.py:helped_base", "label": "preset"},
            {"name": "cilk", "placement": f"{files}/helper_parts/placing.py", "label": "placed"},
        ]
        data = plain(policies=policies, workloads=[f"{files}/made.py", HEAT])
        experiment = Document(None, {**data, "backend": "native", "seeds": 1})
        assert sorted(modules_of(Study.from_yaml(experiment).cells)) == sorted(HELPERS)
        there = run_document(experiment, dask=cluster, output=here / "there")
        local = run_document(experiment, jobs=1, output=here / "local")
        assert there.computed == len(there.rows) == len(local.rows) == 6
        assert deterministic(there.rows) == deterministic(local.rows)
        makespans.append([row["makespan_s"] for row in there.rows if row["workload"] == "made"])
        for name in [name for name in sys.modules if name.startswith("helper_")]:
            del sys.modules[name]
    assert makespans[0] == makespans[2]
    assert makespans[1] == pytest.approx([3 * seconds for seconds in makespans[0]], rel=0.05)


def test_cells_with_other_modules_of_one_name_wait(tmp_path: Path) -> None:
    """A process has one module of a name, and functions may import theirs at any moment."""
    seen: list[int] = []
    entered, leave = Event(), Event()

    def second() -> None:
        entered.wait(10)
        with _importable(tmp_path, ["waiting_part.py"], [b"NUMBER = 2\n"]):
            seen.append(import_module("waiting_part").NUMBER)

    other = Thread(target=second)
    other.start()
    with _importable(tmp_path, ["waiting_part.py"], [b"NUMBER = 1\n"]):
        entered.set()
        leave.wait(0.3)  # time for the other to go wrong
        seen.append(import_module("waiting_part").NUMBER)
    other.join()
    assert seen == [1, 2]
    with _importable(tmp_path, ["waiting_part.py"], [b"NUMBER = 1\n"]):
        assert import_module("waiting_part").NUMBER == 1
    forget_modules(tmp_path)
    sys.path[:] = [place for place in sys.path if not place.startswith(str(tmp_path))]


def test_a_module_that_cannot_be_sent_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "compiled_part.so").touch()
    (tmp_path / "away.py").write_text("def later():\n    import compiled_part\n" + AWAY)
    data = plain(policies=[f"{tmp_path}/away.py"])
    with pytest.raises(
        ConfigurationError, match=r"away\.py: import of 'compiled_part': found .*so,"
    ):
        execute(data, tmp_path, "tcp://127.0.0.1:1")


def test_what_is_stored_needs_no_cluster(cluster: str, small: Document, tmp_path: Path) -> None:
    run_document(small, assigned=["seeds=1"], jobs=1, output=tmp_path)
    more = run_document(small, dask=cluster, output=tmp_path)
    assert (more.computed, more.reused) == (2, 2)
    again = run_document(small, dask="tcp://127.0.0.1:1", output=tmp_path)
    assert (again.computed, again.reused) == (0, 4)


def test_a_cell_whose_worker_is_killed_runs_elsewhere(cluster: str, tmp_path: Path) -> None:
    (tmp_path / "marker").touch()
    policies = ["cilk_a", drastic(tmp_path, "once", label="once")]
    outcome = run_document(
        Document(None, plain(policies=policies)), dask=cluster, output=tmp_path / "out"
    )
    assert not (tmp_path / "marker").exists()
    local = run_document(
        Document(None, plain(policies=policies)), jobs=1, output=tmp_path / "local"
    )
    assert deterministic(outcome.rows) == deterministic(local.rows)


def test_a_cell_that_kills_every_worker_ends_the_experiment(cluster: str, tmp_path: Path) -> None:
    (tmp_path / "marker").touch()
    data = plain(policies=[drastic(tmp_path, "kill", label="deadly")], seeds=1)
    with pytest.raises(WorkerLostError, match=r"deadly seed 0: 2 worker processes of the cluster"):
        execute(data, tmp_path, cluster)


def test_a_fault_of_the_policy_names_its_file(cluster: str, tmp_path: Path) -> None:
    (tmp_path / "marker").touch()
    data = plain(policies=["cilk_a", drastic(tmp_path, "crash", label="faulty")])
    with pytest.raises(PolicyError, match=r"faulty seed \d: .*drastic\.py:\d+: start: .*a fault"):
        run_document(Document(None, data), dask=cluster, output=tmp_path / "out")


def test_another_version_on_a_worker_is_an_error(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "code_digest", lambda: "another")
    with pytest.raises(ConfigurationError, match=r"a worker process on .* found another simsched"):
        execute(plain(), tmp_path, cluster)
    assert not list(tmp_path.glob("*.json"))


def test_another_policy_on_a_worker_is_an_error(cluster: str, tmp_path: Path) -> None:
    data = plain(policies=[drastic(tmp_path, "nothing", label="own")])
    (cell, *_) = Study.from_yaml(Document(None, data)).cells
    cell = replace(cell, policy_content="another")
    running = execute_on_cluster([cell], cluster, Store(tmp_path), None, Silent())
    with pytest.raises(
        ConfigurationError, match=r"policy own: found another content .*imports; run it again, on a"
    ):
        list(running)


def test_an_interruption_takes_back_what_has_not_begun(cluster: str, tmp_path: Path) -> None:
    data = Document(None, plain(seeds=20))
    with pytest.raises(Interrupted, match=r"interrupted; \d+ of 40 runs are stored"):
        run_document(data, dask=cluster, output=tmp_path, progress=Impatient(2))
    stored = Store(tmp_path / "cells").keys()
    assert run_document(data, jobs=1, output=tmp_path).reused == len(stored) >= 2
    with Client(cluster, set_as_default=False) as client:
        deadline = time.monotonic() + 30
        while client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_the_cluster_is_given_a_few_cells_at_a_time(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flying = []
    submit = module._Flight.submit

    def counted(self: Any, cells: Any) -> None:
        submit(self, cells)
        flying.append(len(self.tasks))

    monkeypatch.setattr(module, "MIN_IN_FLIGHT", 3)
    monkeypatch.setattr(module._Flight, "submit", counted)
    assert len(execute(plain(seeds=10), tmp_path, cluster)) == 20
    assert 2 <= len(flying) <= 20
    assert 2 <= max(flying) <= 4  # two workers with one thread


#: What happens to the program of one seed, though not in the process of the tests.
ENDING = """
import os
from simsched.workload.builder import build_graph
from simsched.workload.graph import Workload
from simsched.workload.registry import generator

@generator("test_cluster_ending")
def ending(seed: int, *, tasks: int = 3):
    if seed == 150 and os.getpid() != {pid}:
        {deed}
    return Workload("ending", build_graph([1e6 + seed] * tasks))
"""


@pytest.mark.parametrize(
    ("deed", "error", "message"),
    [
        ("os._exit(1)", WorkerLostError, r"seed 150: 2 worker processes of the cluster"),
        ("raise ValueError('no')", SimschedError, r"seed 150: .*ending\.py:\d+: .*no"),
    ],
)
def test_short_cells_travel_together_and_fail_alone(
    doomed: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    deed: str,
    error: type[SimschedError],
    message: str,
) -> None:
    tasks = []
    submit = module._Flight._submit

    def counted(self: Any, cells: list[Any]) -> None:
        submit(self, cells)
        tasks.append([cell.key for cell in cells])

    monkeypatch.setattr(module._Flight, "_submit", counted)
    (tmp_path / "ending.py").write_text(ENDING.format(pid=os.getpid(), deed=deed))
    data = plain(workloads=[f"{tmp_path}/ending.py"], policies=["cilk_a"], seeds=200)
    with pytest.raises(error, match=message):
        execute(data, tmp_path, doomed)
    assert max(map(len, tasks)) > 10
    stored = Store(tmp_path).keys()
    (wrong,) = (
        cell.key for cell in Study.from_yaml(Document(None, data)).cells if cell.seed == 150
    )
    assert wrong not in stored
    assert stored
    if error is SimschedError:  # those before it in its task are not lost
        task = next(keys for keys in tasks if wrong in keys)
        assert {*task[: task.index(wrong)]} <= {*stored}


def test_parcels_hold_no_places_of_this_computer(tmp_path: Path) -> None:
    (tmp_path / "g.dot").write_text(GRAPH)
    workload = {"file": f"{tmp_path}/g.dot", "cost": "cost", "cost_unit": "ops"}
    data = plain(workloads=[workload], policies=[drastic(tmp_path, "sleep", marker="m", label="x")])
    (cell, *_) = Study.from_yaml(Document(None, data)).cells
    parcel, files = packed([cell], {}, events=False)
    assert (files.policy, files.workload) == (tmp_path / "drastic.py", tmp_path / "g.dot")
    assert tmp_path.name.encode() not in pickle.dumps(parcel)  # paths are pickled in pieces
    assert len(pickle.dumps(parcel)) < 100_000
    (tmp_path / "made.py").write_text(MADE)
    data = plain(workloads=[f"{tmp_path}/made.py"], policies=["cilk"])
    parcel, files = packed(Study.from_yaml(Document(None, data)).cells[:1], {}, False)
    assert (files.policy, files.workload) == (None, tmp_path / "made.py")
    assert tmp_path.name.encode() not in pickle.dumps(parcel)


def test_a_policy_without_a_file_is_refused(cluster: str, tmp_path: Path) -> None:
    (cell, *_) = Study.from_yaml(Document(None, plain())).cells
    own = type("Own", (type(cell.policy_model),), {"__module__": "__main__"})()
    running = execute_on_cluster(
        [replace(cell, policy_model=own)], cluster, Store(tmp_path), None, Silent()
    )
    with pytest.raises(ConfigurationError, match="policy cilk_a: found a class without a file"):
        list(running)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("nowhere", r"--dask nowhere: no scheduler .*missing port.*such as tcp://127"),
        ("http://localhost:80", r"--dask http://localhost:80: .*unknown address scheme"),
        ("tcp://127.0.0.1:1", r"--dask tcp://127.0.0.1:1: no scheduler can be reached there"),
        (" ", r"--dask: found an empty address"),
        ("none.json", r"--dask none.json: no such scheduler file"),
    ],
)
def test_addresses_without_a_scheduler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, message: str
) -> None:
    monkeypatch.setattr(module, "CONNECT_S", 0.3)
    with pytest.raises(ConfigurationError, match=message):
        run_document(Document(None, plain()), dask=address, output=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_without_dask_there_is_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ConfigurationError, match=r"not installed.*pip install 'simsched\[dask\]'"):
        execute(plain(), tmp_path, "tcp://127.0.0.1:1")


def test_a_cluster_without_workers_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WORKERLESS_S", 0.5)
    monkeypatch.setattr(module, "LOOK_EVERY_S", 0.2)
    with (
        LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=logging.CRITICAL) as empty,
        pytest.raises(ClusterError, match=r"has had no worker for"),
    ):
        execute(plain(), tmp_path, empty.scheduler_address)


def test_the_command_prints_the_comparison_and_nothing_of_dask(
    cluster: str, tmp_path: Path
) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(json.dumps(plain()))
    command = [sys.executable, "-m", "simsched", "run", str(path), "--dask", cluster, "-q"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "work_sharing" in done.stdout
    assert done.stderr == ""
