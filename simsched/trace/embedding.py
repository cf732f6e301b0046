"""What a recording knows beside its events, as comments of a text file.

Programs that read the file skip them; a reader of ours gets name, tasks, workers and graph back. A
comment is ``#= KEY TEXT``, where the texts of one key are a value in base 64, one after the other.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping

from simsched.files.errors import TraceError

MARK = "#="
LINE_CHARACTERS = 960


def comments(values: Mapping[str, str | bytes]) -> Iterator[str]:
    """Yield the lines that hold some values."""
    for key, value in values.items():
        data = value.encode() if isinstance(value, str) else value
        text = base64.b64encode(data).decode()
        for begin in range(0, len(text), LINE_CHARACTERS):
            yield f"{MARK} {key} {text[begin : begin + LINE_CHARACTERS]}\n"


def values_of(lines: Iterable[str], where: str) -> dict[bytes, bytes]:
    """Return the values that lines of comments hold by their keys."""
    texts: dict[bytes, list[str]] = {}
    for line in lines:
        words = line.split()
        if words[:1] == [MARK] and len(words) == 3:
            texts.setdefault(words[1].encode(), []).append(words[2])
    try:
        return {
            key: base64.b64decode("".join(parts), validate=True) for key, parts in texts.items()
        }
    except (binascii.Error, ValueError) as error:
        raise TraceError(
            f"{where}: comments that begin with {MARK}: not base 64: {error}"
        ) from error
