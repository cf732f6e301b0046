"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from simsched.files.bounded import neighbour
from simsched.files.errors import ConfigurationError

#: Part of the names of temporary files.
HOST = os.uname().nodename.partition(".")[0]
ABANDONED_S = 86400.0


def write_atomically(path: Path, write: Callable[[Path], object], *, sync: bool = True) -> None:
    """Let `write` fill a temporary file and rename it to `path` when it is complete and on disk.

    The temporary file is in the same directory; nothing is left behind on failure. Without `sync`
    the file is complete whatever happens to programs, but after a loss of power it may be empty.
    """
    with atomically(path, sync=sync) as temporary, naming(path):
        write(temporary)


@contextmanager
def atomically(path: Path, *, sync: bool = True) -> Iterator[Path]:
    """Rename a temporary file to `path` at the end of a block that has filled it and not failed.

    See :func:`write_atomically`.
    """
    path = _target(path)
    temporary = _beside(path)
    try:
        yield temporary
        with naming(path):
            if sync:
                with temporary.open("rb") as file:
                    os.fsync(file.fileno())
            temporary.replace(path)
    except BaseException:
        discard(temporary)
        raise


def check_writable(path: Path) -> None:
    """Refuse a file before the work whose result it is to hold."""
    path = _target(path)
    probe = _beside(path)
    with naming(path):
        probe.touch()
    discard(probe)


def refuse_existing(paths: Iterable[Path], *, overwrite: bool | None = None) -> None:
    """Refuse to replace files that a user has named, unless asked to `overwrite` them.

    None where nothing can be asked: there is no option for it.
    """
    for path in () if overwrite else paths:
        with naming(path):
            found = path.is_file() or (path.is_symlink() and not path.exists())
        if found:
            more = "" if overwrite is None else ", or --overwrite to replace it"
            raise ConfigurationError(f"{path}: found a file, accepted: a name that is free{more}")


def _target(path: Path) -> Path:
    """Return the file that is replaced: the one that a link leads to.

    A terminal, a pipe or another device would itself be replaced by a file, for everybody.
    """
    with naming(path):
        try:
            mode = path.stat().st_mode
        except FileNotFoundError:
            return path.resolve() if path.is_symlink() else path
        if stat.S_ISDIR(mode):
            raise ConfigurationError(f"{path}: cannot be written: it is a directory")
        if not stat.S_ISREG(mode):
            found = "a device or a pipe"
            raise ConfigurationError(f"{path}: cannot be written: found {found}, accepted: a file")
        return path.resolve() if path.is_symlink() else path


def _beside(path: Path) -> Path:
    """Return the temporary file for a file."""
    return path.with_name(f".{path.name}.{HOST}.{os.getpid()}.tmp")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn a failure to write into an error that names the file."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        reason += neighbour(path) if isinstance(error, FileNotFoundError) else ""
        raise ConfigurationError(f"{path}: cannot be written: {reason}") from error


def temporaries(pid: int) -> str:
    """Return a pattern for the temporary files of a process, which it leaves when it is killed."""
    return f".*.{HOST}.{pid}.tmp"


def discard_abandoned(directory: Path) -> None:
    """Remove temporary files whose writers were killed.

    A writer on another computer that shares the directory cannot be asked; its file is left alone
    for a day.
    """
    for path in directory.glob(".*.tmp"):
        host, pid = path.name.split(".")[-3:-1]
        with suppress(OSError):
            old = time.time() - path.stat().st_mtime > ABANDONED_S
            if old or (host == HOST and pid.isdigit() and not _is_running(int(pid))):
                path.unlink()


def _is_running(pid: int) -> bool:
    """Tell whether a process exists that can still write."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # somebody else's
    # One that has been killed exists until its parent asks how it ended, which may never happen.
    with suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    return True


def write_text(path: Path, text: str, *, sync: bool = True) -> None:
    """Write a UTF-8 text file completely or not at all; see :func:`write_atomically`."""
    write_atomically(path, lambda file: file.write_text(text, encoding="utf-8"), sync=sync)


def write_pieces(path: Path, pieces: Iterable[str]) -> None:
    """Write a UTF-8 text file piece by piece, completely or not at all."""

    def fill(temporary: Path) -> None:
        with temporary.open("w", encoding="utf-8") as file:
            file.writelines(pieces)

    write_atomically(path, fill)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file completely or not at all; see :func:`write_atomically`."""
    write_atomically(path, lambda file: file.write_bytes(content))


def discard(path: Path) -> None:
    """Remove a file if it is there and can be removed."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return


def make_directory(path: Path) -> list[Path]:
    """Create a directory that files can be written to; return what was missing, innermost first."""
    created = []
    probe = path / f".probe.{HOST}.{os.getpid()}.tmp"
    try:
        current = path
        while not current.exists() and current != current.parent:
            created.append(current)
            current = current.parent
        path.mkdir(parents=True, exist_ok=True)
        probe.touch()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigurationError(
            f"{path}: cannot be written: {reason}; accepted: a directory that can be written to"
        ) from error
    finally:
        discard(probe)
    return created
