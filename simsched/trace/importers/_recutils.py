"""Records of GNU recutils: ``Field: value`` lines, an empty line between records."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from simsched.files.bounded import unreadable
from simsched.files.errors import TraceError, shown
from simsched.trace.importers._rows import open_text

FIELD = re.compile(r"([A-Za-z][A-Za-z0-9_]*):(?:[ \t](.*))?")


@dataclass
class Record:
    """One record."""

    #: Of its first field.
    line: int
    #: The ``%rec`` descriptor that it follows, empty when there is none.
    kind: str
    #: Values, blanks around them removed.
    fields: dict[str, str] = field(default_factory=dict)
    #: Whether an empty line follows, as StarPU writes it; otherwise the file may be cut off.
    ended: bool = True


def read_records(path: Path) -> Iterator[Record]:
    """Yield the records of a file, gzip or not, one by one."""
    record = Record(0, "")
    last: str | None = ""  # the field that a "+" goes on with; None: what describes records
    for number, line in _lines(path):
        text = line.rstrip("\r\n")
        ends = not text.strip() or text.startswith("%rec:")
        if ends and record.fields:
            yield record
        if ends:
            kind = text.partition(":")[2].strip() or record.kind
            record, last = Record(0, kind), None if text.strip() else ""
        elif text.startswith("%"):
            last = None
        elif text.startswith("+") and last != "":
            if last is not None:
                record.fields[last] += "\n" + text[1:].removeprefix(" ")
        elif not text.startswith("#"):
            last = _add_field(path, number, text, record, ended=line.endswith("\n"))
    if record.fields:
        record.ended = False
        yield record


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file, gzip or not, with their numbers."""
    number = 0
    stream, _ = open_text(path)
    try:
        with stream:
            for number, line in enumerate(stream, start=1):
                yield number, line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        found = f"damaged or truncated gzip data ({error})"
        raise TraceError(f"{path}:{number}: found {found} after this line") from error
    except UnicodeDecodeError as error:
        number += 1 + error.object.count(b"\n", 0, error.start)  # many lines are decoded at once
        raise TraceError(f"{path}:{number}: found bytes that are not UTF-8 text") from error
    except OSError as error:
        raise TraceError(unreadable(path, error)) from error


def _add_field(path: Path, number: int, text: str, record: Record, *, ended: bool) -> str:
    """Add one line to a record; return the name of its field."""
    match = FIELD.fullmatch(text)
    if not record.fields:
        record.line = number
    if match is None:
        if not ended:  # the file stops inside this line
            record.fields.setdefault("", "")
            return ""
        raise TraceError(f"{path}:{number}: found {shown(text)}, accepted 'Field: value'")
    record.fields[match[1]] = (match[2] or "").strip()
    return match[1]
