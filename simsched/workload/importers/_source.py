"""Reading text files and numbers with errors that name the file and the place."""

from __future__ import annotations

import codecs
import math
import zlib
from pathlib import Path

from simsched.files.bounded import GZIP_MAGIC, unreadable
from simsched.files.errors import GraphError, shown

HEAD_BYTES = 65536


def read_head(path: Path) -> bytes:
    """Return the first bytes of a file, decompressed as far as they are readable gzip.

    A mark of the byte order, which spreadsheets put before UTF-8, is left out.
    """
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise GraphError(unreadable(path, error)) from error
    if not head.startswith(GZIP_MAGIC):
        return head.removeprefix(codecs.BOM_UTF8)
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        found = unpacker.decompress(head, HEAD_BYTES)
    except zlib.error:
        return head
    return found.removeprefix(codecs.BOM_UTF8) if found or unpacker.eof else head


def is_empty(head: bytes) -> bool:
    """Say whether a file holds nothing but blanks."""
    return len(head) < HEAD_BYTES - len(codecs.BOM_UTF8) and not head.strip()


def number(value: object, where: str, *, infinite: bool = False) -> float:
    """Return a number from 0 on, given as such or as text; `where` is file and key."""
    accepted = f"accepted a {'' if infinite else 'finite '}number of at least 0"
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise GraphError(f"{where}: found {shown(value)}, {accepted}")
    try:
        result = float(value)
    except (ValueError, OverflowError) as error:
        raise GraphError(f"{where}: found {shown(value)}, {accepted}") from error
    if math.isnan(result) or result < 0 or (math.isinf(result) and not infinite):
        raise GraphError(f"{where}: found {shown(value)}, {accepted}")
    return result


def whole(value: object, where: str, *, least: int = 0, most: int = 2**63 - 1) -> int:
    """Return an integer given as such, as a float or as text; `where` is file and key."""
    result: int | None = None
    try:
        if (isinstance(value, str) and len(value) < 32) or (
            isinstance(value, float) and value.is_integer()
        ):
            result = int(value)
        elif isinstance(value, int) and not isinstance(value, bool):
            result = value
    except ValueError:
        result = None
    if result is None or not least <= result <= most:
        raise GraphError(
            f"{where}: found {shown(value)}, accepted an integer from {least} to {most}"
        )
    return result
