"""Text files that are written piece by piece, compressed where their name says so."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.files.atomic import write_atomically

CHUNK = 20_000  #: lines that are held in memory


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines of one kind: when they are, and how some of them are written."""

    #: In whatever unit.
    time: NDArray[np.int64]
    #: Takes indices, returns the text of these lines.
    write: Callable[[NDArray[np.int64]], list[str]]


def formatted(
    time: NDArray[np.int64], columns: Sequence[NDArray[Any]], text: Callable[..., str]
) -> Lines:
    """Return lines that are each made of a row of columns."""

    def write(rows: NDArray[np.int64]) -> list[str]:
        return list(map(text, *(column[rows].tolist() for column in columns)))

    return Lines(time, write)


def merged(sources: Sequence[Lines]) -> Iterator[list[str]]:
    """Yield the lines of all sources in order of time, some at a time.

    Lines of one instant come in the order of the sources, then in their own.
    """
    lengths = [len(source.time) for source in sources]
    time = np.concatenate([source.time for source in sources])
    which = np.repeat(np.arange(len(sources), dtype=np.int8), lengths)
    index = np.concatenate([np.arange(length) for length in lengths])
    order = np.lexsort((index, which, time))
    del time
    for begin in range(0, len(order), CHUNK):
        rows = order[begin : begin + CHUNK]
        lines = [""] * len(rows)
        for number, source in enumerate(sources):
            places = np.flatnonzero(which[rows] == number)
            texts = source.write(index[rows[places]]) if len(places) else []
            for place, text in zip(places.tolist(), texts, strict=True):
                lines[place] = text
        yield lines


def write_pieces(path: Path, pieces: Iterable[str]) -> None:
    """Write a UTF-8 text file completely or not at all, with gzip when it is called `.gz`.

    No more than one piece is held in memory.
    """

    def fill(temporary: Path) -> None:
        with temporary.open("wb") as file:
            if not path.name.lower().endswith(".gz"):
                for piece in pieces:
                    file.write(piece.encode())
                return
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                for piece in pieces:
                    packed.write(piece.encode())

    write_atomically(path, fill)
