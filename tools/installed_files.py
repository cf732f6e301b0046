"""Print what a wheel of simsched holds besides the extension: `directory<TAB>file` per line."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA_KINDS = ("machines", "workloads", "experiments")
INCLUDE = ROOT / "simsched" / "policy" / "include"  # for compiled hooks of users
BUILD_INPUTS = {"meson.build", "list_programs.py", ".gitkeep"}
SOURCES = {".c", ".h", ".pyx", ".pxd", ".pxi"}
BUILD_OUTPUTS = {".so", ".pyd", ".pyc", ".o"}


def package_files() -> list[tuple[str, Path]]:
    """Return every file of the package, without the inputs and outputs of the C build."""
    kernel = ROOT / "simsched" / "engine" / "native" / "kernel"
    return [
        (path.parent.relative_to(ROOT).as_posix(), path)
        for path in sorted((ROOT / "simsched").rglob("*"))
        if path.is_file()
        and path.name not in BUILD_INPUTS
        and (path.suffix not in BUILD_OUTPUTS | SOURCES or path.parent == INCLUDE)
        and "__pycache__" not in path.parts
        and kernel not in path.parents
    ]


def data_files() -> list[tuple[str, Path]]:
    """Return the YAML files (and the graphs they name) with their place under `_data`."""
    return [
        (f"simsched/_data/{path.parent.relative_to(ROOT).as_posix()}", path)
        for kind in DATA_KINDS
        for path in sorted((ROOT / kind).rglob("*"))
        if path.is_file() and path.name not in BUILD_INPUTS and "__pycache__" not in path.parts
    ]


if __name__ == "__main__":
    for directory, path in package_files() + data_files():
        sys.stdout.write(f"{directory}\t{path.relative_to(ROOT).as_posix()}\n")
