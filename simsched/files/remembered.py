"""Answers that follow from what is installed alone, kept from one command to the next."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from simsched.files.atomic import write_atomically
from simsched.files.errors import ConfigurationError
from simsched.files.resources import DATA_KINDS, data_dir

PACKAGE = Path(__file__).resolve().parent.parent


def remembered(name: str, make: Callable[[], Any]) -> Any:
    """Return plain data that `make` has returned before, or now where a file has changed since.

    What other distributions offer lies in files that are not known here: with one, and where no
    folder of the user can be written, the data are made each time.

    Parameters
    ----------
    name : str
        A file's, without its ending.
    make : callable
        Returns what JSON can hold, from nothing but the files that ship and what is installed.
    """
    if (home := folder()) is None:
        return make()
    path, state = home / f"{name}.json", _state()
    with suppress(OSError, ValueError, TypeError, LookupError):
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["state"] == state:
            return kept["data"]
    data = make()
    if not any(group.startswith("simsched.") for group in entry_points().groups):
        text = json.dumps({"state": state, "data": data})
        with suppress(OSError, ConfigurationError):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, lambda at: at.write_text(text, encoding="utf-8"), sync=False)
    return data


def folder() -> Path | None:
    """Return the user's folder for what can be made anew, after XDG; None for users without one."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "simsched"
    except RuntimeError:
        return None


def _state() -> str:
    """Return a hash of name, size and time of every file that ships, and of where packages lie."""
    digest = hashlib.sha256(sys.version.encode())
    for shipped in (PACKAGE, *map(data_dir, DATA_KINDS)):
        for entry in _files(shipped):
            found = entry.stat()
            digest.update(f"{entry.path}\0{found.st_size}\0{found.st_mtime_ns}\n".encode())
    for place in filter(os.path.isdir, sys.path):  # any installation moves the time of one
        digest.update(f"{place}\0{Path(place).stat().st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _files(place: Path | str) -> Iterator[os.DirEntry[str]]:
    """Yield what a folder and those in it hold, in the order of their names."""
    with os.scandir(place) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if not entry.is_dir():
                yield entry
            elif entry.name != "__pycache__":
                yield from _files(entry.path)
