"""Fail if this Python environment is of another version or holds a half-installed package.

An installation that was killed leaves files that are missing or cut short; pip would take them
for installed. Every package lists its files with their sizes, so that it can be told.
"""

import importlib.metadata
import sys
from pathlib import Path


def broken_packages() -> list[str]:
    """Return the names of packages of which a file is missing or has another size."""
    found = []
    for package in importlib.metadata.distributions():
        name = package.metadata["Name"] if package.metadata else None
        files = package.files
        if name is None or files is None:
            found.append(name or str(package))
            continue
        for file in files:
            path = Path(str(file.locate()))
            if file.size is not None and not (path.is_file() and path.stat().st_size == file.size):
                found.append(f"{name}: {file}")
                break
    return found


if __name__ == "__main__":
    if sys.argv[1:] != [f"{sys.version_info.major}.{sys.version_info.minor}"]:
        sys.exit(f"this is Python {sys.version.split()[0]}")
    sys.exit("\n".join(broken_packages()) or 0)
