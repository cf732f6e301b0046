"""Worker processes that start when they are worth it, while this process runs cells by itself."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from simsched.experiment import pool, runner
from simsched.experiment.progress import Silent
from simsched.experiment.runner import Interrupted
from simsched.experiment.store import Store
from simsched.files.errors import SimschedError
from simsched.files.yaml_reader import Document

from .conftest import deterministic, drastic, plain, run_document

LONG = 60.0


@pytest.fixture(autouse=True)
def _no_thread_stays() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Two cores, and the worker processes that are started."""
    monkeypatch.setattr(runner, "available_cores", lambda: 2)
    found: list[int] = []

    class Worker(pool._Worker):
        def __init__(self) -> None:
            super().__init__()
            found.append(self.process.pid)

    monkeypatch.setattr(pool, "_Worker", Worker)
    return found


def while_here(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let each cell that this process runs do something first."""
    run_cell = pool.run_cell

    def acting(*arguments: Any) -> dict[str, Any]:
        act()
        return run_cell(*arguments)

    monkeypatch.setattr(pool, "run_cell", acting)


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize(
    ("elapsed_s", "taken", "left", "jobs", "expected"),
    [
        (0.9, 1, 99, 4, False),  # they take a second to start
        (1.1, 1, 99, 4, True),
        (1.1, 1, 1, 4, False),  # half a second saved, as far as one knows
        (2.5, 1, 1, 4, True),  # the first cell takes long
        (2.5, 2, 0, 4, False),  # the last one, too
        (1.0, 51, 10, 4, False),  # a fifth of a second is left
        (1.0, 51, 101, 2, True),
        (1.0, 51, 99, 2, False),
    ],
)
def test_processes_start_when_they_save_more_than_they_cost(
    elapsed_s: float,
    taken: int,
    left: int,
    jobs: int,
    expected: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = SimpleNamespace(monotonic=lambda: 100.0)
    monkeypatch.setattr(pool, "time", clock)
    source = SimpleNamespace(content="w")
    cells: list[Any] = [SimpleNamespace(workload_source=source)] * (taken + left)
    crew = pool._Crew(cells, jobs, Store(Path()), None)
    handover = pool._Handover(crew, Silent())
    for _ in range(taken):
        assert handover.take(None) is not None
    clock.monotonic = lambda: 100.0 + elapsed_s
    assert handover._is_worth_it() == expected
    assert (handover.take(None) is None) == (expected or not left)
    crew.close()


def test_a_small_study_starts_no_process(
    small: Document, tmp_path: Path, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "START_S", math.inf)
    outcome = run_document(small, output=tmp_path / "out")
    assert (outcome.computed, started) == (4, [])
    assert [(row["policy"], row["seed"]) for row in outcome.rows] == [
        ("cilk_a", 0),
        ("cilk_a", 1),
        ("work_sharing", 0),
        ("work_sharing", 1),
    ]
    while_here(monkeypatch, lambda: wait_for(lambda: len(started) == 2))
    run_document(small, output=tmp_path / "at_once", jobs=3)  # somebody wants them
    assert len(started) == 2  # and this process


def test_this_process_goes_on_with_cells_that_are_short(
    tmp_path: Path, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    here: list[int] = []
    while_here(monkeypatch, lambda: wait_for(lambda: started) or here.append(1))
    outcome = run_document(Document(None, plain(seeds=200)), output=tmp_path / "out", jobs=2)
    assert len(started) == 1
    assert 1 < len(here) < 400
    assert [row["seed"] for row in outcome.rows] == 2 * [*range(200)]
    alone = run_document(Document(None, plain(seeds=200)), output=tmp_path / "alone", jobs=1)
    assert deterministic(outcome.rows) == deterministic(alone.rows)


def test_processes_help_while_a_cell_takes_long(
    small: Document, tmp_path: Path, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = tmp_path / "out" / "cells"
    monkeypatch.setattr(pool, "START_S", 0.0)
    while_here(monkeypatch, lambda: wait_for(lambda: len(Store(stored).keys()) == 3))
    helped = run_document(small, output=tmp_path / "out")
    assert len(started) == 1  # and this process
    monkeypatch.undo()
    alone = run_document(small, output=tmp_path / "alone", jobs=1)
    assert deterministic(helped.rows) == deterministic(alone.rows)


def test_processes_run_what_is_left_when_the_cell_is_done(
    tmp_path: Path, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "START_S", 0.0)
    while_here(monkeypatch, lambda: wait_for(lambda: started))
    outcome = run_document(Document(None, plain(seeds=30)), output=tmp_path / "out")
    assert len(started) == 2
    assert [row["seed"] for row in outcome.rows] == 2 * [*range(30)]
    assert all(is_gone(process) for process in started)


def test_a_failure_of_a_process_ends_the_experiment(
    small: Document, tmp_path: Path, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    failed, answer = threading.Event(), pool._answer

    def failing(worker: Any) -> Any:
        if failed.is_set():
            return answer(worker)
        failed.set()
        raise SimschedError("there is no more memory")

    monkeypatch.setattr(pool, "START_S", 0.0)
    monkeypatch.setattr(pool, "_answer", failing)
    while_here(monkeypatch, lambda: failed.wait(LONG))
    with pytest.raises(SimschedError, match="no more memory"):
        run_document(small, output=tmp_path / "out")
    assert all(is_gone(process) for process in started)


def test_an_interruption_ends_the_processes_too(
    small: Document, tmp_path: Path, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt() -> None:
        wait_for(lambda: started)
        raise KeyboardInterrupt

    monkeypatch.setattr(pool, "START_S", 0.0)
    while_here(monkeypatch, interrupt)
    with pytest.raises(Interrupted):
        run_document(small, output=tmp_path / "out")
    assert all(is_gone(process) for process in started)


def test_code_of_users_is_left_to_processes_at_once(
    tmp_path: Path, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may end its process."""
    monkeypatch.setattr(pool, "START_S", math.inf)
    (tmp_path / "marker").touch()
    data = plain(policies=["cilk_a", drastic(tmp_path, "once", label="once")])
    outcome = run_document(Document(None, data), output=tmp_path / "out")
    assert not (tmp_path / "marker").exists()
    assert len(outcome.rows) == 4
    assert len(started) == 3


def test_who_is_not_ready_holds_no_cells(
    tmp_path: Path, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A study that is done meanwhile does not wait for processes."""
    (tmp_path / "sitecustomize.py").write_text("import time; time.sleep(1000)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(pool, "START_S", LONG)  # cells count as short on a busy machine, too
    while_here(monkeypatch, lambda: wait_for(lambda: started))
    outcome = run_document(Document(None, plain(seeds=20)), output=tmp_path / "out", jobs=2)
    assert len(outcome.rows) == 40
    assert all(is_gone(process) for process in started)


def test_processes_that_never_begin_are_told(
    tmp_path: Path, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import os; os._exit(3)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "marker").touch()
    data = plain(policies=[drastic(tmp_path, "nothing", label="own")])
    with pytest.raises(pool.WorkerLostError, match="ended with code 3 before it had begun"):
        run_document(Document(None, data), output=tmp_path / "out", jobs=2)
