"""A process that runs cells: requests arrive on its standard input, answers leave on its output.

Both are pickled objects with their length in front. The parent is the only one who writes to the
input. When the parent is gone, however it has ended, so is the process a moment later; a row that
is being stored is stored completely before.
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock, Thread
from typing import IO, Any

import simsched
from simsched.experiment.batch import Batch, Unpacker
from simsched.experiment.blame import PACKAGE
from simsched.experiment.cell_run import run_cell
from simsched.experiment.cells import Cell
from simsched.experiment.fingerprint import code_digest, policy_digest
from simsched.experiment.inputs import CHANGED
from simsched.experiment.store import Store
from simsched.files.errors import ConfigurationError, SimschedError
from simsched.files.interruptions import SIGNALS
from simsched.policy.parts.placement import PlacedPolicy

LENGTH = struct.Struct("<Q")
PARENT_EVERY_S = 0.5
TELL_EVERY_S = 0.05  #: rows of short cells are told together


@dataclass(frozen=True)
class Request:
    """Cells to be run, each of which is answered."""

    #: Unpacked here, so that what is wrong with them can be answered.
    cells: Batch
    #: Hash of the code that they were planned with.
    code: str
    #: Directory of rows.
    store: Path
    #: Directory of event traces, if they are to be kept.
    events: Path | None


@dataclass(frozen=True)
class Answer:
    """What a worker says."""

    #: Part of the present cell that is done.
    progress: float | None = None
    #: Of cells that are done, in their order.
    rows: Sequence[dict[str, Any]] = ()
    #: What the user has to hear.
    error: SimschedError | None = None
    #: Traceback of an error of the program's own.
    crash: str | None = None
    #: The file with the event trace, when the worker does not store it itself.
    events: bytes | None = None

    @property
    def is_failure(self) -> bool:
        """Whether the cell after those of the rows has ended with an error."""
        return self.error is not None or self.crash is not None

    def successful(self) -> Answer:
        """Return the answer, or raise the error that the cell has ended with."""
        if self.error is not None:
            raise self.error
        if self.crash is not None:
            raise RuntimeError(f"in a worker process:\n{self.crash}")
        return self


def answered(run: Callable[[], Iterable[Answer]]) -> Iterator[Answer]:
    """Yield the answers of runs, the last one also when it has raised an exception."""
    try:
        yield from run()
    except SimschedError as error:
        yield Answer(error=type(error)(str(error)))
    except Exception:
        yield Answer(crash=traceback.format_exc())


def check_code(code: str) -> None:
    """Raise ConfigurationError unless this process runs the code that cells were planned with."""
    if code_digest() != code:
        raise ConfigurationError(
            f"a worker process on {os.uname().nodename} found another simsched "
            f"({simsched.__version__} in {PACKAGE}), accepted: the same files and NumPy everywhere"
        )


def check_policy(cell: Cell) -> None:
    """Raise ConfigurationError unless a cell's policy is the one that it was planned with."""
    policy = cell.policy_model
    modules = [type(policy).__module__]
    if isinstance(policy, PlacedPolicy):
        modules.append(policy.chosen_placement().__module__)
    if all(module.startswith("simsched.") for module in modules):
        return  # checked with the code
    if policy_digest(cell.policy_model) != cell.policy_content:
        raise ConfigurationError(f"{cell.label}: policy {cell.policy}: {CHANGED}")


def send(stream: IO[bytes], message: object) -> None:
    """Write a message."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    rest = memoryview(LENGTH.pack(len(data)) + data)
    while rest:  # an unbuffered stream may take a part
        rest = rest[stream.write(rest) :]
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Return the next message; an EOFError says that the other side is gone."""
    (length,) = LENGTH.unpack(_exactly(stream, LENGTH.size))
    data = _exactly(stream, length)
    return pickle.loads(data)  # noqa: S301 (written by this program's other half)


def _exactly(stream: IO[bytes], count: int) -> bytes:
    """Return the next bytes of a stream; unbuffered streams may give them in pieces."""
    parts = []
    while count > 0:
        part = stream.read(count)
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def serve(requests: IO[bytes], answers: IO[bytes], storing: Lock) -> None:
    """Run cells until the requests end."""
    done: list[dict[str, Any]] = []
    unpacker = Unpacker()

    def told() -> Answer:
        rows = done.copy()
        done.clear()
        return Answer(rows=rows)

    def report(part: float) -> None:
        with suppress(OSError):
            if done:
                send(answers, told())
            send(answers, Answer(progress=part))

    def rows(request: Request) -> Iterator[Answer]:
        check_code(request.code)
        store, last_s = Store(request.store), time.monotonic()
        try:
            for cell in unpacker.cells(request.cells):
                check_policy(cell)
                row = run_cell(cell, request.events, report)
                with storing:
                    store.save(cell.key, row)
                done.append(row)
                if time.monotonic() - last_s > TELL_EVERY_S:
                    last_s = time.monotonic()
                    yield told()
        except Exception:
            yield told()
            raise
        yield told()

    with suppress(OSError):
        send(answers, Answer())  # ready for cells, which others could run until now
    while True:
        try:
            request: Request = receive(requests)
        except EOFError:
            return
        for answer in answered(partial(rows, request)):
            try:
                send(answers, answer)
            except OSError:
                return


def end_with(parent: int, storing: Lock) -> None:
    """End this process when its parent is gone, whatever it is doing except storing a row."""
    while os.getppid() == parent:
        time.sleep(PARENT_EVERY_S)
    with storing:
        os._exit(1)


def main(parent: int) -> None:
    """Serve on the standard streams; whatever a policy prints goes to standard error.

    `parent` is the process that has started this one.
    """
    # The parent decides what an interruption means. What a policy starts hears of it again:
    # programs inherit ignored and blocked signals, functions that handle them they do not.
    for number in SIGNALS:
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    storing = Lock()
    Thread(target=end_with, args=(parent, storing), daemon=True).start()
    serve(sys.stdin.buffer, answers, storing)
