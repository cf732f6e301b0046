"""Reading whole files without taking more memory than the limits allow."""

from __future__ import annotations

import codecs
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from simsched.files.errors import ConfigurationError, SimschedError, nearest, nearest_hint
from simsched.files.limits import TEXT_BYTES
from simsched.files.resources import DATA_KINDS, shipped

GZIP_MAGIC = b"\x1f\x8b"
HEAD_BYTES = 65536
_PIECE = 1 << 20
_YAML = {".yaml", ".yml"}


def read_text(path: Path, error: type[SimschedError] = ConfigurationError) -> str:
    """Return the text of a UTF-8 file, decompressed if its content, not its name, is gzip.

    Refused is also what holds nothing but blanks or more than `simsched.files.limits.TEXT_BYTES`
    after decompression.
    """
    try:
        data = _read_bytes(path, error)
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        found = f"damaged or truncated gzip data ({problem})"
        raise error(f"{path}: found {found}") from problem
    except (OSError, ValueError) as problem:
        raise error(unreadable(path, problem)) from problem
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        found = "UTF-16" if is_utf16(data) else f"byte 0x{data[problem.start]:02x}"
        raise error(f"{path}:{line}: found {found}, accepted UTF-8 text") from problem
    if not text.strip():
        raise error(f"{path}: found an empty file")
    return text


def read_head(path: Path, error: type[SimschedError]) -> bytes:
    """Return the first bytes of a file, decompressed as far as they are readable gzip.

    A mark of the byte order, which spreadsheets put before UTF-8, is left out.
    """
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as problem:
        raise error(unreadable(path, problem)) from problem
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
    return not goes_on(head) and not head.strip()


def header_of(head: bytes) -> tuple[list[bytes], int]:
    """Return the columns that the header of a CSV file names, and how many lines are before it.

    These are blank; the header is the first line that is not.
    """
    rest = head.lstrip()
    names = rest.partition(b"\n")[0].replace(b'"', b"").split(b",")
    return [name.strip() for name in names], head.count(b"\n", 0, len(head) - len(rest))


def goes_on(head: bytes) -> bool:
    """Say whether a file may hold more than its first bytes."""
    return len(head) >= HEAD_BYTES - len(codecs.BOM_UTF8)


def unreadable(path: Path, problem: Exception, accepted: str = "a file") -> str:
    """Return what to say of a file that the system does not give.

    `problem` was raised on opening or reading it; `accepted` should be there instead of a
    directory.
    """
    if isinstance(problem, FileNotFoundError):
        if path.suffix in _YAML and any(path.stem in shipped(kind) for kind in DATA_KINDS):
            return f"{path}: no such file; what ships is called {path.stem!r}"
        return f"{path}: no such file{neighbour(path)}"
    if isinstance(problem, IsADirectoryError):
        return f"{path}: found a directory, accepted: {accepted}"
    reason = problem.strerror if isinstance(problem, OSError) else None
    return f"{path}: cannot be read: {reason or problem}"


def neighbour(path: Path) -> str:
    """Return the end of a message about a path: what is there of a name like its own, if it is not.

    Where a directory is missing on the way, it is the directory's name that is looked for.
    """
    try:
        missing = path
        while missing != missing.parent and not missing.parent.exists():
            missing = missing.parent
        if missing.exists():
            return ""
        beside = [one for one in missing.parent.iterdir() if missing == path or one.is_dir()]
    except (OSError, ValueError):
        return ""
    if missing != path:
        hint = nearest_hint(missing.name, (one.name for one in beside))
        return f"; found no directory {str(missing)!r}{hint}"
    kinds = _YAML if path.suffix in _YAML else {path.suffix}
    for group in ([one for one in beside if one.suffix in kinds], beside):
        names = {one.stem: one.name for one in group}  # a common ending makes no names alike
        if close := nearest(path.stem, names):
            return f"; did you mean {names[close]!r}?"
    return ""


@contextmanager
def noticing_paths(name: str, accepted: str) -> Iterator[None]:
    """Say of an unknown name that is a path what is there, and what is accepted."""
    try:
        yield
    except SimschedError as error:
        path = Path(name.partition("[")[0])
        if not str(error).startswith("unknown "):
            raise
        if is_directory(path):
            problem = unreadable(path, IsADirectoryError(), accepted)
        elif is_there(path):
            problem = f"{path}: found a file of another kind, accepted: {accepted}"
        elif path.parent.name or path.suffix[1:].isalpha():
            problem = f"{unreadable(path, FileNotFoundError())}; accepted: {accepted}"
        else:
            raise
        raise ConfigurationError(problem) from error


def is_utf16(data: bytes) -> bool:
    """Say whether data begin with the mark of UTF-16, as some editors and shells write text."""
    return data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))


@contextmanager
def to_the_end(pieces: Iterable[object]) -> Iterator[None]:
    """Read a document to its end before an error in one of its pieces is raised.

    What is wrong with the syntax behind that piece comes first, as if the whole had been read.
    """
    try:
        yield
    except SimschedError:
        for _ in pieces:
            pass
        raise


def parse_json(text: str | bytes) -> Any:
    """Return what a JSON document says, as plain data whose strings can be written as UTF-8.

    JSON can write half of a character, UTF-8 cannot: that is a ValueError. What is nested too
    deeply is a RecursionError.
    """
    text = text.decode() if isinstance(text, bytes) else text
    found = json.loads(text)
    escape = text.lower().find("\\ud")
    if escape >= 0:
        try:
            json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise json.JSONDecodeError("half of a character", text, escape) from None
    return found


def is_there(path: Path) -> bool:
    """Say whether there is a file or directory; a name that is too long for one names none."""
    try:
        return path.exists()
    except OSError:  # pathlib returns False for other names that cannot be
        return False


def is_directory(path: Path) -> bool:
    """Say whether there is a directory; a name that is too long for one names none."""
    return is_there(path) and path.is_dir()


def member(folder: Path, name: str, error: type[SimschedError] = ConfigurationError) -> Path:
    """Return a file of a directory that somebody else has made; it need not exist.

    A name or a symbolic link that leads out of the directory is refused.
    """
    path = folder / name
    try:
        found = path.resolve()
    except (OSError, ValueError, RuntimeError) as problem:
        raise error(f"{folder}: cannot be read: {name!r}: {problem}") from problem
    if not found.is_relative_to(folder.resolve()):
        raise error(f"{path}: found a link to {found}, accepted a file of {folder}")
    return path


def _read_bytes(path: Path, error: type[SimschedError]) -> bytes:
    """Return what a file holds, decompressed if it is gzip."""
    most, found, pieces = TEXT_BYTES.value, 0, []
    with path.open("rb") as raw:
        packed = raw.read(2) == GZIP_MAGIC
        raw.seek(0)
        stream = gzip.GzipFile(fileobj=raw) if packed else raw
        while piece := stream.read(_PIECE):
            found += len(piece)
            if found > most:
                TEXT_BYTES.refuse(None, path, error)
            pieces.append(piece)
    return b"".join(pieces)
