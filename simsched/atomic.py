"""Files that are written completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from simsched.errors import ConfigurationError


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file and rename it to `path` when it is complete and on disk.

    Parameters
    ----------
    path : Path
        Where the file appears; an existing file is replaced.
    write : callable
        Receives the path of the temporary file, in the same directory.

    Raises
    ------
    ConfigurationError
        The file cannot be written there; nothing is left behind.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigurationError(f"{path}: cannot be written: {reason}") from error
    finally:
        discard(temporary)


def temporaries(pid: int) -> str:
    """Return a pattern for the temporary files of a process, which it leaves when it is killed."""
    return f".*.{pid}.tmp"


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file completely or not at all; see :func:`write_atomically`."""

    def fill(temporary: Path) -> None:
        temporary.write_text(text, encoding="utf-8")

    write_atomically(path, fill)


def discard(path: Path) -> None:
    """Remove a file if it is there and can be removed."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return


def make_directory(path: Path) -> list[Path]:
    """Create a directory that files can be written to.

    Parameters
    ----------
    path : Path
        The directory; missing parents are created too.

    Returns
    -------
    list of Path
        The directories that did not exist before, innermost first.

    Raises
    ------
    ConfigurationError
        It cannot be created, or exists and cannot be written to.
    """
    created = []
    probe = path / f".probe.{os.getpid()}.tmp"
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
