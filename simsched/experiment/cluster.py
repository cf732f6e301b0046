"""Running cells on a Dask cluster.

This module is both ends: :func:`execute_on_cluster` submits cells and stores their rows here,
:func:`work` runs on the cluster. The two need not share a file system: files of the user's that a
cell needs are sent once, rows and event traces come back with the answer. A task of the cluster is
several cells as long as these are short. How much the cluster knows of is bounded by its size, not
by that of the experiment.
"""

from __future__ import annotations

import logging
import pickle
import tempfile
import time
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any
from uuid import uuid4

from simsched.experiment.cell_run import events_path, run_cell
from simsched.experiment.cells import Cell
from simsched.experiment.fingerprint import code_digest
from simsched.experiment.parcel import Files, Parcel, modules_of, packed, share_parcel, unpack
from simsched.experiment.pool import Finished, Listener, WorkerLostError, is_portable
from simsched.experiment.store import Store
from simsched.experiment.waiting import WaitingCells
from simsched.experiment.worker import Answer, answered, check_code, check_policy
from simsched.files.atomic import write_bytes
from simsched.files.bounded import neighbour, unreadable
from simsched.files.errors import ConfigurationError, SimschedError

Client = Any
Future = Any

CONNECT_S = 10.0
#: How long a cluster may be without any worker.
WORKERLESS_S = 60.0
LOOK_EVERY_S = 1.0
MIN_IN_FLIGHT = 16  #: tasks
TASKS_PER_THREAD = 2
TASK_S = 0.5  #: that short cells make together
CELL_S = 0.002  #: what a cell takes at least, with what is not measured


class ClusterError(SimschedError):
    """A Dask cluster cannot be used."""


def execute_on_cluster(
    cells: list[Cell], address: str, store: Store, events: Path | None, listener: Listener
) -> Finished:
    """Run cells on a Dask cluster and yield them with their rows; see :func:`pool.execute`.

    A cell whose worker is lost is run again elsewhere, as often as the cluster's configuration
    allows. When the iteration is given up, cells that have not begun are cancelled. The address is
    the scheduler's, or its scheduler file; the store is on this computer.
    """
    if not cells:
        return
    for cell in cells:
        if not is_portable(cell):
            raise ConfigurationError(
                f"policy {cell.policy}: found a class without a file, or a placement or workload "
                f"({cell.workload}) of this process, accepted on a cluster: one in a file, or in "
                "an installed package"
            )
    modules = modules_of(cells)
    with _connected(address) as client:
        waiting = WaitingCells(cells)
        flight = _Flight(client, address, modules, events is not None)
        last = None
        while waiting or flight.tasks:
            while waiting and flight.has_room():
                cells = waiting.take_several(last, flight.most_cells(len(waiting)))
                last = cells[-1].workload_source.content
                flight.submit(cells)
            for cells, answer in flight.landed():
                for cell, row in zip(cells, answer.rows, strict=False):
                    if events is not None and answer.events is not None:
                        write_bytes(events_path(events, cell.key), answer.events)
                    store.save(cell.key, row)
                    listener.finished(cell)
                    yield cell, row
                answer.successful()


class _Flight:
    """Tasks that the cluster has been given, and the user's modules, see :func:`modules_of`."""

    def __init__(
        self, client: Client, address: str, modules: dict[str, Path], events: bool
    ) -> None:
        self.client, self.address, self.events = client, address, events
        self.modules = modules
        self.tasks: dict[str, tuple[Future, list[Cell]]] = {}
        self._run = uuid4().hex
        self._files: dict[str, Future] = {}
        self._done: SimpleQueue[Future] = SimpleQueue()
        self._room, self._threads = MIN_IN_FLIGHT, 1
        self._cell_s = TASK_S  # of the last task that has landed
        self._number = 0
        #: Which were under way where workers were lost; they go alone, to be blamed or not.
        self._suspects: deque[Cell] = deque()
        self._is_alone = False
        self._looked = 0.0
        self._had_workers = time.monotonic()

    def has_room(self) -> bool:
        """Tell whether the cluster should be given another task."""
        if time.monotonic() - self._looked > LOOK_EVERY_S:
            self._look()
        return len(self.tasks) < self._room and not self._suspects and not self._is_alone

    def most_cells(self, waiting: int) -> int:
        """Return how many cells the next task should have at most."""
        share = -(-waiting // (2 * self._threads))  # in the end nobody waits long for another one
        return 1 if self.events else max(1, min(int(TASK_S / self._cell_s), share))

    def _look(self) -> None:
        """Adapt to the cluster's size; raise if there has been no worker for long."""
        with self._explained():
            threads = sum(self.client.nthreads().values())
        now = self._looked = time.monotonic()
        self._room, self._threads = max(MIN_IN_FLIGHT, TASKS_PER_THREAD * threads), max(1, threads)
        if threads:
            self._had_workers = now
        elif now - self._had_workers > WORKERLESS_S:
            raise ClusterError(
                f"--dask {self.address}: the cluster has had no worker for {WORKERLESS_S:.0f} s"
            )

    def submit(self, cells: Sequence[Cell]) -> None:
        """Give the cluster cells, in as many tasks as their files ask for."""
        together: list[Cell] = []
        for cell in cells:
            if together and not share_parcel(together[0], cell):
                self._submit(together)
                together = []
            together.append(cell)
        self._submit(together)

    def _submit(self, cells: list[Cell]) -> None:
        parcel, files = packed(cells, self.modules, self.events)
        self._number += 1
        with self._explained():
            contents = {
                "policy": self._sent(files.policy),
                "placement": self._sent(files.placement),
                "workload": self._sent(files.workload),
                "modules": [self._sent(path) for path in files.modules],
            }
            future = self.client.submit(
                work,
                code_digest(),
                pickle.dumps(parcel),
                contents,
                key=f"simsched-{self._run}-{self._number}",
                pure=False,
            )
        self.tasks[future.key] = future, cells
        future.add_done_callback(self._done.put)

    def _sent(self, path: Path | None) -> Future | None:
        """Return a file's content as the cluster has it; the scheduler can restore it."""
        if path is None:
            return None
        name = str(path)
        if name not in self._files:
            try:
                content = path.read_bytes()
            except OSError as error:
                raise ConfigurationError(unreadable(path, error)) from error
            key = f"simsched-{self._run}-file-{len(self._files)}"
            self._files[name] = self.client.submit(bytes, content, key=key, pure=False)
        return self._files[name]

    def landed(self) -> list[tuple[list[Cell], Answer]]:
        """Wait a moment for tasks to finish and return those that have, failed ones last."""
        try:
            futures = [self._done.get(timeout=LOOK_EVERY_S)]
        except Empty:
            self._look()
            return []
        with suppress(Empty):
            while True:
                futures.append(self._done.get_nowait())
        finished = [future for future in futures if future.status == "finished"]
        with self._explained():
            answers = self.client.gather(finished)
        landed = [
            (self.tasks.pop(future.key)[1], answer)
            for future, answer in zip(finished, answers, strict=True)
        ]
        for _, answer in landed:
            if answer.rows:
                mean_s = sum(row["wall_s"] for row in answer.rows) / len(answer.rows)
                self._cell_s = mean_s + CELL_S
        for future in futures:
            if future.key in self.tasks:
                _, cells = self.tasks.pop(future.key)
                if _killed(future) and not self._is_alone:
                    self._suspects.extend(cells)
                else:
                    landed.append((cells, Answer(error=self._failure(future, cells[0]))))
        if not self.tasks:
            self._is_alone = bool(self._suspects)
            if self._suspects:
                self._submit([self._suspects.popleft()])
        return sorted(landed, key=lambda item: item[1].is_failure)

    def _failure(self, future: Future, cell: Cell) -> SimschedError:
        """Return what to say about a cell that the cluster has given up."""
        if future.status != "error":
            return ClusterError(f"--dask {self.address}: the connection to the scheduler is lost")
        error = future.exception()
        if _killed(future):
            return WorkerLostError(
                f"{cell.label}: {error.allowed_failures + 1} worker processes of the cluster were "
                "lost; if memory is short, let a worker run fewer at a time"
            )
        return _unusable(self.address, error)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what Dask raises into an error of the user's."""
        try:
            yield
        except SimschedError:
            raise
        except Exception as error:
            raise _unusable(self.address, error) from error


def _killed(future: Future) -> bool:
    """Return whether the cluster has given up a task because of the workers that it has cost."""
    if future.status != "error":
        return False
    return isinstance(future.exception(), import_module("distributed").KilledWorker)


def work(code: str, data: bytes, files: dict[str, Any]) -> Answer:
    """Run cells on a worker of the cluster; `files` are by the fields of :class:`Files`.

    The parcel is pickled: only the same code can be relied on to understand it.
    """
    scratch = Path(import_module("distributed").get_worker().local_directory)
    rows: list[dict[str, Any]] = []

    def run() -> Answer:
        check_code(code)
        parcel: Parcel = pickle.loads(data)  # noqa: S301 (written by this program's other half)
        with unpack(parcel, Files(**files), scratch) as cells:
            for cell in cells:
                check_policy(cell)
                if not parcel.events:
                    rows.append(run_cell(cell))
                    continue
                with tempfile.TemporaryDirectory(dir=scratch) as folder:
                    rows.append(run_cell(cell, Path(folder)))
                    return Answer(events=events_path(Path(folder), cell.key).read_bytes())
        return Answer()

    return replace(next(answered(lambda: [run()])), rows=rows)


@contextmanager
def _connected(address: str) -> Iterator[Client]:
    """Connect to a scheduler; in the end let go of it, and so of what it has not begun."""
    try:
        distributed = import_module("distributed")
    except ImportError as error:
        raise ConfigurationError(
            "--dask: needs the package dask.distributed, which is not installed; "
            "accepted: pip install 'simsched[dask]'"
        ) from error
    if not address.strip():
        raise ConfigurationError(
            "--dask: found an empty address, accepted: one such as tcp://127.0.0.1:8786, "
            "or a scheduler file (.json)"
        )
    file = address if address.endswith(".json") else None
    if file and not Path(file).is_file():
        raise ConfigurationError(f"--dask {address}: no such scheduler file{neighbour(Path(file))}")
    with _quiet():
        try:
            if not file:  # a client made with a malformed address complains again when it goes
                import_module("distributed.comm").resolve_address(address)
            client = distributed.Client(
                None if file else address,
                scheduler_file=file,
                timeout=CONNECT_S,
                set_as_default=False,
            )
        except Exception as error:
            raise ConfigurationError(
                f"--dask {address}: no scheduler can be reached there ({_one_line(error)}); "
                "accepted: an address such as tcp://127.0.0.1:8786, or a scheduler file (.json)"
            ) from error
        try:
            yield client
        finally:
            with suppress(Exception):
                client.close(timeout=2)


def _unusable(address: str, error: BaseException | None) -> ClusterError:
    """Return the error for what Dask itself has complained about."""
    return ClusterError(
        f"--dask {address}: the cluster cannot run cells ({_one_line(error)}); "
        "accepted: scheduler and workers with the same simsched, Python and Dask as here"
    )


def _one_line(error: BaseException | None) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask's log and warnings, which are for its developers, from the user."""
    names = [
        name
        for name in logging.root.manager.loggerDict
        if name.partition(".")[0] in ("distributed", "dask", "tornado")
    ]
    levels = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
