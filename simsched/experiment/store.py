"""Finished runs, one file each, named by the hash of everything that determines them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from simsched.files.atomic import write_text
from simsched.files.bounded import read_text
from simsched.files.errors import ConfigurationError

FORMAT = 2


class Store:
    """A directory of finished rows, created by the first one saved.

    A row is written when its run has finished, to a temporary file that is renamed: whatever
    happens to the process, a file in the directory is a complete row. Nobody waits for the disk,
    which takes some 10 ms. The hash of a row is stored with it: a file that a loss of power has
    emptied, or whose content somebody has changed, is no row, and the run is repeated.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def path(self, key: str) -> Path:
        """Return the file of a row."""
        return self.directory / f"{key}.json"

    def load(self, key: str) -> dict[str, Any] | None:
        """Return a stored row, None when there is none or its file does not hold what was saved."""
        try:
            stored = json.loads(read_text(self.path(key)))
            row = stored.get("row") if isinstance(stored, dict) else None
            as_saved = isinstance(row, dict) and stored == _document(key, row)
        except (ConfigurationError, ValueError, RecursionError):
            return None
        return row if as_saved else None

    def save(self, key: str, row: dict[str, Any]) -> None:
        """Store a row."""
        write_text(self.path(key), json.dumps(_document(key, row)) + "\n", sync=False)


def _document(key: str, row: dict[str, Any]) -> dict[str, Any]:
    """Return what the file of a row holds."""
    content = hashlib.sha256(json.dumps(row).encode()).hexdigest()
    return {"format": FORMAT, "key": key, "content": content, "row": row}
