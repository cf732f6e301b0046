"""A process that runs cells: requests arrive on its standard input, answers leave on its output.

Both are pickled objects with their length in front. The parent is the only one who writes to the
input. When the parent is gone the input ends, and the process ends after the cell it is running,
whose row it still stores.
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from simsched.errors import SimschedError
from simsched.experiment.cells import Cell

LENGTH = struct.Struct("<Q")


@dataclass(frozen=True)
class Request:
    """A cell to be run."""

    cell: Cell
    store: Path
    events: Path | None


@dataclass(frozen=True)
class Answer:
    """What a worker says: part done, the row, an error of the user's or of the program's own."""

    progress: float | None = None
    row: dict[str, Any] | None = None
    error: SimschedError | None = None
    crash: str | None = None


def send(stream: IO[bytes], message: object) -> None:
    """Write a message."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    rest = memoryview(LENGTH.pack(len(data)) + data)
    while rest:  # an unbuffered stream may take a part
        rest = rest[stream.write(rest) :]
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Return the next message.

    Raises
    ------
    EOFError
        The other side is gone.
    """
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


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Run cells until the requests end."""
    from simsched.experiment.cell_run import run_cell
    from simsched.experiment.store import Store

    def report(part: float) -> None:
        with suppress(OSError):
            send(answers, Answer(progress=part))

    while True:
        try:
            request: Request = receive(requests)
        except EOFError:
            return
        try:
            row = run_cell(request.cell, Store(request.store), request.events, report)
            answer = Answer(row=row)
        except SimschedError as error:
            answer = Answer(error=type(error)(str(error)))
        except Exception:
            answer = Answer(crash=traceback.format_exc())
        try:
            send(answers, answer)
        except OSError:
            return


def main() -> None:
    """Serve on the standard streams; whatever a policy prints goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interruption means
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
