"""Finished runs, one file each, named by the hash of everything that determines them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from simsched.files.atomic import write_text
from simsched.files.bounded import read_text
from simsched.files.errors import ConfigurationError

FORMAT = 1


class Store:
    """A directory of finished rows, created by the first one saved.

    A row is written when its run has finished, to a temporary file that is renamed: whatever
    happens to the process, a file in the directory is a complete row. Nobody waits for the disk,
    which takes some 10 ms; a file that a loss of power has emptied is no row, and the run is
    repeated.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def path(self, key: str) -> Path:
        """Return the file of a row."""
        return self.directory / f"{key}.json"

    def load(self, key: str) -> dict[str, Any] | None:
        """Return a stored row, None when there is none or its file is not one of this format."""
        try:
            stored = json.loads(read_text(self.path(key)))
        except (ConfigurationError, ValueError, RecursionError):
            return None
        if not isinstance(stored, dict) or stored.get("format") != FORMAT:
            return None
        row = stored.get("row")
        return row if stored.get("key") == key and isinstance(row, dict) else None

    def save(self, key: str, row: dict[str, Any]) -> None:
        """Store a row."""
        text = json.dumps({"format": FORMAT, "key": key, "row": row}, indent=None)
        write_text(self.path(key), text + "\n", sync=False)
