"""What a recording knows beside its events, as text inside the files of other programs.

These skip it; a reader of ours gets name, tasks, workers and graph back. Values are in base 64. In
a comment, ``#= KEY TEXT``, the texts of one key are one value, one after the other.
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
    for key, text in texts_of(values).items():
        for begin in range(0, len(text), LINE_CHARACTERS):
            yield f"{MARK} {key} {text[begin : begin + LINE_CHARACTERS]}\n"


def texts_of(values: Mapping[str, str | bytes]) -> dict[str, str]:
    """Return values as texts by their keys."""
    return {
        key: base64.b64encode(value.encode() if isinstance(value, str) else value).decode()
        for key, value in values.items()
    }


def values_of(lines: Iterable[str], where: str) -> dict[bytes, bytes]:
    """Return the values that lines of comments hold by their keys."""
    texts: dict[str, list[str]] = {}
    for line in lines:
        words = line.split()
        if words[:1] == [MARK] and len(words) == 3:
            texts.setdefault(words[1], []).append(words[2])
    joined = {key: "".join(parts) for key, parts in texts.items()}
    return bytes_of(joined, f"{where}: comments that begin with {MARK}")


def bytes_of(texts: Mapping[str, str], where: str) -> dict[bytes, bytes]:
    """Return the values of texts by their keys."""
    try:
        return {key.encode(): base64.b64decode(text, validate=True) for key, text in texts.items()}
    except (binascii.Error, ValueError) as error:
        raise TraceError(f"{where}: not base 64: {error}") from error
