"""Running cells: one after the other in this process, or in several worker processes.

Starting these takes about a second. Unless somebody asks for them, this process runs cells by
itself at first; if that takes long, they are given what is left. This process goes on as one of
them as long as its cells are short: to start another one in its place would gain nothing.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Generator, Iterator
from functools import partial
from pathlib import Path
from threading import Event, Lock, Thread
from typing import IO, Any, Protocol, Self

from simsched.experiment.batch import Packer
from simsched.experiment.cell_run import run_cell
from simsched.experiment.cells import Cell
from simsched.experiment.fingerprint import code_digest, is_in_files
from simsched.experiment.store import Store
from simsched.experiment.waiting import WaitingCells
from simsched.experiment.worker import Answer, Request, receive, send
from simsched.files.atomic import discard, temporaries
from simsched.files.errors import SimschedError
from simsched.files.interruptions import SIGNALS
from simsched.names.loading import is_of_user_file
from simsched.names.user_code import is_file_spec
from simsched.policy.parts.placement import PlacedPolicy
from simsched.policy.parts.shipped import is_shipped

MAX_ATTEMPTS = 2
QUICK_S = 0.2  #: cells that take less are handed over several at a time
END_S = 2.0  #: that a process has to end when its output has
START_S = 1.0  #: about what worker processes take to start
LOOK_EVERY_S = 0.05

Finished = Generator[tuple[Cell, dict[str, Any]], None, None]


class WorkerLostError(SimschedError):
    """A worker process has been killed more than once while it ran the same cell."""


class Listener(Protocol):
    """Hears how the execution goes on."""

    def progressed(self, cell: Cell, part: float) -> None:
        """Note that a cell is done in part, from 0 to 1."""

    def finished(self, cell: Cell) -> None:
        """Note that a cell is done and stored."""


def execute(
    cells: list[Cell],
    jobs: int,
    store: Store,
    events: Path | None,
    listener: Listener,
    *,
    at_once: bool = True,
) -> Finished:
    """Run cells and yield them with their rows, in the order in which they finish.

    Every row is in the store before it is yielded. When the iteration is given up, by an error or
    an interruption, the worker processes are ended. There are `jobs` processes with this one; with
    1 everything runs here. Others are started `at_once`, or when they are worth it; code that is
    not the package's own, which may end its process, is left to them.
    """
    jobs = min(jobs, len(cells))
    policies = {id(cell.policy_model): cell for cell in cells}.values()
    if jobs > 1 and not all(map(is_portable, cells)):
        jobs = 1
    with contextlib.closing(_Crew(cells, jobs, store, events)) as crew:
        if jobs < 2 or all(is_shipped(cell.policy_model) for cell in policies):
            yield from _in_this_process(crew, listener, at_once=at_once)
        crew.fill()
        yield from _in_processes(crew, listener)


def _in_this_process(crew: _Crew, listener: Listener, *, at_once: bool) -> Finished:
    """Run cells of a crew as long as its worker processes are not worth it, or cells are short."""
    last = None
    with _Handover(crew, listener, at_once=at_once) as handover:
        while (cell := handover.take(last)) is not None:
            last = cell.workload_source.content
            row = run_cell(cell, crew.events, partial(handover.progressed, cell))
            crew.store.save(cell.key, row)
            handover.finished(cell)
            yield cell, row
    yield from handover.found


def available_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def is_portable(cell: Cell) -> bool:
    """Return whether another process has the code of a cell: policy, placement and workload."""
    if not cell.workload_source.portable:
        return False
    policy, cls = cell.policy_model, type(cell.policy_model)
    if isinstance(policy, PlacedPolicy) and not is_file_spec(policy.placement):
        module = policy.chosen_placement().__module__
        own = all(is_of_user_file(sys.modules[m]) for m in (module, cls.__module__))
        if not own and not module.startswith("simsched.") and module != cls.__module__:
            return False  # the name of a placement that this process alone has registered
    if cls.__module__ == "__main__" or "<locals>" in cls.__qualname__:
        return False
    return cls.__module__ in sys.modules and is_in_files(policy)


class _Worker:
    """A worker process and the cells it has been given; it is running the first of them."""

    def __init__(self) -> None:
        setup = f"import sys; sys.path[:] = {sys.path!r}; "
        setup += f"from simsched.experiment.worker import main; main({os.getpid()})"
        with _without_interruptions():  # inherited: Ctrl-C and the like reach this process only
            # Unbuffered: a message that waited in a buffer here would be invisible to the selector.
            self.process = subprocess.Popen(  # noqa: S603 (this interpreter, text made here)
                [sys.executable, "-c", setup],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.requests: IO[bytes] = self.process.stdin
        self.answers: IO[bytes] = self.process.stdout
        self.cells: deque[Cell] = deque()
        self.last: str | None = None
        self.is_ready = False  #: whether it has said anything
        self._most = 1  # cells at a time
        self._given_s = 0.0
        self._packer = Packer()

    def take(self, waiting: WaitingCells, jobs: int) -> None:
        """Take cells: more at a time as long as those of the last time were done quickly."""
        now = time.monotonic()
        self._most = 2 * self._most if now - self._given_s < QUICK_S else max(1, self._most // 2)
        self._given_s = now
        share = -(-len(waiting) // (2 * jobs))  # in the end nobody waits long for another one
        self.cells.extend(waiting.take_several(self.last, min(self._most, share)))
        self.last = self.cells[-1].workload_source.content

    def start(self, store: Store, events: Path | None) -> None:
        """Hand over the cells that have been taken."""
        batch = self._packer.packed(self.cells)
        request = Request(batch, code_digest(), store.directory, events)
        with contextlib.suppress(OSError):  # a process that is gone is noticed at its output
            send(self.requests, request)

    def stop(self, *directories: Path | None) -> None:
        """End the process, whatever it is doing; remove what it was writing to `directories`."""
        self.process.kill()
        self.process.wait()
        for directory in filter(None, directories):
            for path in directory.glob(temporaries(self.process.pid)):
                discard(path)
        for stream in (self.requests, self.answers):
            with contextlib.suppress(OSError):
                stream.close()


@contextlib.contextmanager
def _without_interruptions() -> Iterator[None]:
    """Put off Ctrl-C and the like; processes started meanwhile never hear of it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Crew:
    """Worker processes, and the cells that wait for one."""

    def __init__(self, cells: list[Cell], jobs: int, store: Store, events: Path | None) -> None:
        self.workers: list[_Worker] = []
        self.selector = selectors.DefaultSelector()
        self.waiting, self.jobs = WaitingCells(cells), jobs
        self.choosing = Lock()  #: held by who takes cells that wait
        self.store, self.events = store, events
        self._attempts: dict[str, int] = {}
        self._not_ready = 0

    def fill(self, *, spare: int = 0) -> None:
        """Start the processes that are missing, but some to spare, as far as there are cells."""
        while self.waiting and len(self.workers) < self.jobs - spare:
            self._hire()

    def employ(self, worker: _Worker) -> None:
        """Give a worker cells, or nothing to wait for when there are none."""
        with self.choosing:
            if self.waiting:
                worker.take(self.waiting, self.jobs)
        if worker.cells:
            worker.start(self.store, self.events)
        else:
            self.selector.unregister(worker.answers)

    def left_by(self, worker: _Worker) -> list[dict[str, Any]]:
        """Bury a worker that has been killed; return the rows that it has stored and not told."""
        self.selector.unregister(worker.answers)
        with contextlib.suppress(subprocess.TimeoutExpired):  # else nobody knows how it has ended
            worker.process.wait(END_S)
        worker.stop(self.store.directory, self.events)
        return self.store.saved_by(worker.process.pid, [cell.key for cell in worker.cells])

    def replace(self, worker: _Worker) -> None:
        """Let another process run the cells of one that has been killed, each tried once more."""
        self.workers.remove(worker)
        if not worker.is_ready:
            self._not_ready += 1
            if self._not_ready >= MAX_ATTEMPTS:
                raise WorkerLostError(f"a worker process {_how_ended(worker)} before it had begun")
        if worker.cells:
            cell = worker.cells[0]
            self._attempts[cell.key] = self._attempts.get(cell.key, 0) + 1
            _check_attempts(cell, worker, self._attempts[cell.key])
        with self.choosing:
            for lost in reversed(worker.cells):
                self.waiting.put_back(lost)
        if self.waiting:
            self._hire()

    def close(self) -> None:
        """End all processes."""
        for worker in self.workers:
            worker.process.kill()  # all at once, should another Ctrl-C come
        for worker in self.workers:
            worker.stop(self.store.directory, self.events)
        self.selector.close()

    def _hire(self) -> None:
        worker = _Worker()
        self.workers.append(worker)
        self.selector.register(worker.answers, selectors.EVENT_READ, worker)

    def is_busy(self) -> bool:
        """Return whether there is anything to wait for: cells, or a worker for those that wait."""
        return any(worker.cells for worker in self.workers) or bool(self.waiting and self.workers)


class _Handover:
    """A context in which this process runs the cells of a crew until that is given them.

    From then on it takes only short ones. A thread waits for it, and serves the crew until the last
    cell that runs here is done.
    """

    def __init__(self, crew: _Crew, listener: Listener, *, at_once: bool = False) -> None:
        #: What the crew has done meanwhile.
        self.found: list[tuple[Cell, dict[str, Any]]] = []
        self._crew, self._listener = crew, listener
        self._begin, self._taken = time.monotonic(), 0
        self._taken_s = self._begin
        self._is_given = at_once and crew.jobs > 1
        self._telling = Lock()
        self._over = Event()
        self._error: BaseException | None = None
        self._thread = Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        if self._crew.jobs > 1:
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()
        if kind is None and self._error is not None:
            raise self._error

    def take(self, last: str | None) -> Cell | None:
        """Return the next cell for this process, which has built `last`; None if there is none."""
        now = time.monotonic()
        is_short, self._taken_s = now - self._taken_s < START_S, now
        with self._crew.choosing:
            if (self._is_given and not is_short) or not self._crew.waiting:
                return None
            self._taken += 1
            return self._crew.waiting.take(last)

    def progressed(self, cell: Cell, part: float) -> None:
        """Tell the listener, which the thread tells something, too."""
        with self._telling:
            self._listener.progressed(cell, part)

    def finished(self, cell: Cell) -> None:
        """Tell the listener."""
        with self._telling:
            self._listener.finished(cell)

    def _serve(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # they are for the first thread
        try:
            while not (self._is_given or self._is_worth_it()):
                if self._over.wait(LOOK_EVERY_S):
                    return
            self._crew.fill(spare=1)  # this process is busy, too
            self.found.extend(_in_processes(self._crew, self, self._over))
        except BaseException as error:  # raised again by the first thread
            self._error = error

    def _is_worth_it(self) -> bool:
        """Return whether worker processes would save more than they cost; give them the cells."""
        with self._crew.choosing:
            left, done = len(self._crew.waiting), max(1, self._taken - 1)
            elapsed_s = time.monotonic() - self._begin
            saved = elapsed_s / done * left * (1.0 - 1.0 / min(self._crew.jobs, left + 1))
            self._is_given = min(left, self._taken) > 0 and min(elapsed_s, saved) >= START_S
            return self._is_given


def _in_processes(crew: _Crew, listener: Listener, over: Event | None = None) -> Finished:
    """Wait for the cells of worker processes, until something is over.

    A cell whose process is killed is tried once more.
    """
    while crew.is_busy():
        if over is not None and over.is_set():
            return
        for key, _ in crew.selector.select(None if over is None else LOOK_EVERY_S):
            worker = key.data
            answer = _answer(worker)
            worker.is_ready |= answer is not None
            rows = crew.left_by(worker) if answer is None else answer.rows
            done = [(worker.cells.popleft(), row) for row in rows]
            if answer is None:
                crew.replace(worker)
            elif answer.progress is not None:
                listener.progressed(worker.cells[0], answer.progress)
            elif not worker.cells:
                crew.employ(worker)
            for cell, _ in done:
                listener.finished(cell)
            yield from done


def _answer(worker: _Worker) -> Answer | None:
    """Return a worker's next message, None when the process is gone."""
    try:
        answer: Answer = receive(worker.answers)
    except (EOFError, OSError):
        return None
    return answer.successful()


def _check_attempts(cell: Cell, worker: _Worker, attempts: int) -> None:
    """Raise when a cell has cost too many processes."""
    if attempts >= MAX_ATTEMPTS:
        raise WorkerLostError(
            f"{cell.label}: {attempts} worker processes were lost, the last {_how_ended(worker)}; "
            "if memory is short, run fewer at a time (--jobs 1)"
        )


def _how_ended(worker: _Worker) -> str:
    code = worker.process.wait()
    return f"killed by signal {-code}" if code < 0 else f"ended with code {code}"
