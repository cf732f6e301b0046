"""C code that is compiled without the package: compilers, builds, programs and what they define."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

STRICT = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
ADDRESSES = ["-O1", "-g", "-fno-sanitize-recover=all", "-fsanitize=address,undefined"]
THREADS = ["-O1", "-g", "-fsanitize=thread"]
DEFAULT = os.environ.get("CC", "cc").split()[0]


def builds(flags: Mapping[str, Sequence[str]], quick: str) -> list[Any]:
    """Return compilers with builds; of a second compiler, all but the quick one are slow tests.

    Compilers of a host are the default one and, if it is another, clang.
    """
    return [
        pytest.param(
            compiler,
            build,
            marks=() if compiler == DEFAULT or build == quick else pytest.mark.slow,
            id=f"{compiler}-{build}",
        )
        for compiler in dict.fromkeys((DEFAULT, "clang"))
        if shutil.which(compiler)
        for build in flags
    ]


def run_programs(
    compiler: str,
    flags: Sequence[str],
    sources: Iterable[Path],
    programs: Iterable[Path],
    folder: Path,
) -> None:
    """Compile sources, and every program with them; run the programs, none of which may fail."""
    if any(flag.startswith("-fsanitize") for flag in flags) and not _works(compiler, flags, folder):
        pytest.skip(f"{compiler} {flags[-1]}: programs do not run on this host")
    objects = compile_sources(compiler, flags, sources, folder)
    for source in programs:
        program = folder / source.stem
        command = [compiler, *flags, str(source), *map(str, objects), "-o", str(program)]
        _call([*command, "-lm", "-lpthread"])
        _call([str(program)])


def compile_sources(
    compiler: str, flags: Sequence[str], sources: Iterable[Path], folder: Path
) -> list[Path]:
    """Compile sources; return the object files, below a folder."""
    objects = folder / "objects"
    objects.mkdir()
    _call([compiler, *flags, "-c", *map(str, sources)], cwd=objects)
    return sorted(objects.glob("*.o"))


def symbols(objects: Iterable[Path]) -> dict[str, set[str]]:
    """Return the names in object files by the letter that nm gives their kind."""
    if shutil.which("nm") is None:
        pytest.skip("nm is missing")
    done = subprocess.run(
        ["nm", "-A", *map(str, objects)], capture_output=True, text=True, check=True
    )
    found: dict[str, set[str]] = {}
    for line in done.stdout.splitlines():
        *_, kind, name = line.split()
        found.setdefault(kind, set()).add(name)
    return found


def variables(found: Mapping[str, set[str]]) -> set[str]:
    """Return those names that are variables."""
    return set().union(*(found.get(kind, set()) for kind in "BbCDd"))


def _works(compiler: str, flags: Sequence[str], folder: Path) -> bool:
    """Tell whether an empty program can be built and run; sanitizers may lack either."""
    source, program = folder / "empty.c", folder / "empty"
    source.write_text("int main(void) { return 0; }\n")
    command = [compiler, *flags, str(source), "-o", str(program)]
    return all(
        subprocess.run(step, capture_output=True, check=False).returncode == 0
        for step in (command, [str(program)])
    )


def _call(command: list[str], cwd: Path | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
