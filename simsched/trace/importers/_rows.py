"""Rows of CSV files that know their line, and the account of those that are set aside."""

from __future__ import annotations

import gzip
import io
import warnings
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simsched.files.bounded import GZIP_MAGIC, header_of, read_head, unreadable
from simsched.files.errors import TraceError, nearest_hint
from simsched.files.limits import TEXT_BYTES

CHUNK_ROWS = 100_000
LINE = "line"  #: name of the column that holds line numbers
DAMAGED = "found damaged or truncated gzip data after this line"
CUT = "the last line has no end: the file is cut off"


@dataclass
class SetAside:
    """What an importer leaves out, by reason, and what else its user should know."""

    what: str = "row"
    #: Where something stands, by its file and number.
    place: str = "{}:{}"
    counts: dict[str, int] = field(default_factory=dict)
    places: dict[str, tuple[str, int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def rows(self, file: Path, lines: NDArray[np.int64] | list[int], reason: str) -> None:
        """Count lines that are left out; messages have the reason after their place."""
        if not len(lines):
            return
        self.counts[reason] = self.counts.get(reason, 0) + len(lines)
        place = (str(file), int(np.min(lines)))
        self.places[reason] = min(self.places.get(reason, place), place)

    def without(self, file: Path, rows: pd.DataFrame, wrong: Any, reason: str) -> pd.DataFrame:
        """Return the rows that are right; the others are left out."""
        bad = np.asarray(wrong, dtype=bool)
        self.rows(file, rows[LINE].to_numpy()[bad], reason)
        return rows[~bad]

    def note(self, text: str) -> None:
        """Keep a remark that concerns no single row."""
        self.notes.append(text)

    @property
    def total(self) -> int:
        """Rows left out."""
        return sum(self.counts.values())

    def details(self) -> dict[str, Any]:
        """Return the two entries of `Recording.details`."""
        lines = []
        for reason, count in sorted(self.counts.items()):
            rows = f"{count} {self.what}{'s' * (count > 1)}"
            lines.append(f"{self.place.format(*self.places[reason])}: {reason}; {rows} set aside")
        return {"set_aside": dict(sorted(self.counts.items())), "warnings": [*lines, *self.notes]}


class _Watched(io.RawIOBase):
    """A binary file of limited length that remembers how its last line ended.

    `inner` gives its bytes, decompressed; `raw` is closed at the end.
    """

    def __init__(self, path: Path, inner: Any, raw: Any) -> None:
        self.path, self.inner, self.raw = path, inner, raw
        self.last = b"\n"
        self.left = TEXT_BYTES.value

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.inner.read(len(buffer))
        buffer[: len(data)] = data
        if data:
            self.last = data[-1:]
        self.left -= len(data)
        if self.left < 0:
            TEXT_BYTES.refuse(None, self.path, TraceError)
        return len(data)

    def close(self) -> None:
        self.raw.close()
        super().close()


def open_text(path: Path) -> tuple[io.TextIOWrapper, _Watched]:
    """Return a UTF-8 text stream of a file, gzip or not, and what watches its bytes."""
    try:
        file = path.open("rb")
        magic = file.read(2)
        file.seek(0)
    except OSError as error:
        raise TraceError(unreadable(path, error)) from error
    inner = gzip.GzipFile(fileobj=file) if magic == GZIP_MAGIC else file
    watched = _Watched(path, inner, file)
    return io.TextIOWrapper(
        io.BufferedReader(watched, 1 << 20), encoding="utf-8-sig", newline=""
    ), watched


def read_rows(
    path: Path, required: tuple[str, ...], optional: tuple[str, ...], aside: SetAside
) -> pd.DataFrame:
    """Return the named columns of a CSV file, gzip or not, as text, with the line of each row.

    Blanks after separators are ignored; a row may lack its last fields, and an optional column that
    the file lacks is empty. A last row that is cut off is set aside.
    """
    before = header_of(read_head(path, TraceError))[1]
    header = before + 1
    stream, watched = open_text(path)
    try:
        with stream, warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            reader = pd.read_csv(
                stream,
                dtype="string[pyarrow]",
                keep_default_na=False,
                index_col=False,
                skipinitialspace=True,
                skiprows=before,
                skip_blank_lines=False,
                chunksize=CHUNK_ROWS,
            )
            place = f"{path}:{header}"
            kept = [_wanted(place, chunk, required, optional) for chunk in reader]
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TraceError(f"{path}:{_readable_lines(path)}: {DAMAGED} ({error})") from error
    except pd.errors.EmptyDataError as error:
        raise TraceError(f"{path}: found an empty file") from error
    except pd.errors.ParserWarning as error:
        found = f"found more fields than line {header} names"
        raise TraceError(f"{path}:{header + 1}: {found}") from error
    except (ValueError, OSError) as error:
        reason = str(error).removeprefix("Error tokenizing data. C error: ").strip()
        raise TraceError(f"{path}: not CSV: {reason}") from error
    frame = pd.concat(kept, ignore_index=True)
    frame[LINE] = np.arange(len(frame), dtype=np.int64) + header + 1
    blank = (frame.drop(columns=LINE) == "").all(axis=1).to_numpy(bool)
    if len(frame) and watched.last != b"\n" and not blank[-1]:
        aside.rows(path, frame[LINE].to_numpy()[-1:], CUT)
        blank[-1] = True
    return frame[~blank].reset_index(drop=True)


def _readable_lines(path: Path) -> int:
    """Return how many lines of damaged gzip data can be read."""
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
    lines = 0
    try:
        with path.open("rb") as file:
            while data := file.read(1 << 16):
                lines += inflate.decompress(data).count(b"\n")
    except (OSError, zlib.error):
        pass
    return lines


def _wanted(
    place: str, chunk: pd.DataFrame, required: tuple[str, ...], optional: tuple[str, ...]
) -> pd.DataFrame:
    """Return the wanted columns of a part of a file; `place` is that of the header."""
    chunk.columns = [str(name).strip() for name in chunk.columns]
    for name in required:
        if name not in chunk.columns:
            hint = nearest_hint(name, chunk.columns)
            raise TraceError(f"{place}: found no column {name!r}, which is required{hint}")
    wanted = chunk.reindex(columns=[*required, *optional]).astype("string[pyarrow]").fillna("")
    for name in wanted.columns:
        wanted[name] = wanted[name].str.strip()
    return wanted


def numbers(texts: pd.Series[str]) -> NDArray[np.float64]:
    """Return a column as numbers, NaN where there is none or it is not finite."""
    values = pd.to_numeric(texts.where(texts != "", None), errors="coerce")
    result = np.array(values.to_numpy(dtype=np.float64, na_value=np.nan))
    result[~np.isfinite(result)] = np.nan
    return result
