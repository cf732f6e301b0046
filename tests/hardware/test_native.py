"""The runtime compiles alone and clean, and its C tests pass, with and without sanitizers."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .support import needs_linux

pytestmark = needs_linux

HERE = Path(__file__).resolve().parent
NATIVE = HERE.parents[1] / "simsched" / "hardware" / "native"
PROGRAMS = sorted(path.stem for path in (HERE / "native").glob("test_*.c"))
STRICT = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", f"-I{NATIVE}"]
BUILDS = {
    "optimised": ["-O3"],
    "addresses": ["-O1", "-g", "-fno-sanitize-recover=all", "-fsanitize=address,undefined"],
    "threads": ["-O1", "-g", "-fsanitize=thread"],
}


def compilers() -> list[str]:
    """Return the C compilers of this host: the default one and, if it is another, clang."""
    found = [os.environ.get("CC", "cc").split()[0], "clang"]
    return [name for name in found if shutil.which(name)]


def works(compiler: str, flags: list[str], folder: Path) -> bool:
    """Tell whether an empty program can be built and run; sanitizers may lack either."""
    source, program = folder / "empty.c", folder / "empty"
    source.write_text("int main(void) { return 0; }\n")
    command = [compiler, *flags, str(source), "-o", str(program)]
    return all(
        subprocess.run(step, capture_output=True, check=False).returncode == 0
        for step in (command, [str(program)])
    )


def builds() -> list[Any]:
    """Return compilers with builds; sanitizers of a second compiler are for the slow tests."""
    default = compilers()[:1]
    return [
        pytest.param(
            compiler,
            build,
            marks=() if compiler in default or build == "optimised" else pytest.mark.slow,
            id=f"{compiler}-{build}",
        )
        for compiler in compilers()
        for build in BUILDS
    ]


@pytest.mark.parametrize(("compiler", "build"), builds())
def test_programs(compiler: str, build: str, tmp_path: Path) -> None:
    flags = BUILDS[build]
    if not works(compiler, flags, tmp_path):
        pytest.skip(f"{compiler} {flags[-1]}: programs do not run on this host")
    sources = [str(path) for path in sorted(NATIVE.glob("*.c"))]
    objects = tmp_path / "objects"
    objects.mkdir()
    done = subprocess.run(
        [compiler, *STRICT, *flags, "-c", *sources],
        cwd=objects,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for name in PROGRAMS:
        command = [compiler, *STRICT, *flags, str(HERE / "native" / f"{name}.c")]
        command += [*map(str, sorted(objects.glob("*.o"))), "-o", str(tmp_path / name), "-lpthread"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        done = subprocess.run([tmp_path / name], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"


def test_runtime_knows_no_python_and_has_no_variables(tmp_path: Path) -> None:
    sources = [*sorted(NATIVE.glob("*.c")), *sorted((NATIVE / "programs").glob("*.c"))]
    assert not [path for path in sources if "Python.h" in path.read_text(encoding="utf-8")]
    flags = ["-O0", "-fno-pic", "-fno-pie"]  # otherwise constants with addresses count as variables
    subprocess.run(["cc", *STRICT, *flags, "-c", *map(str, sources)], cwd=tmp_path, check=True)
    if shutil.which("nm") is None:
        pytest.skip("nm is missing")
    listing = subprocess.run(
        ["nm", "-A", *map(str, sorted(tmp_path.glob("*.o")))],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert [line for line in listing if line.split()[-2] in {"B", "b", "C", "D", "d"}] == []
    public = {line.split()[-1] for line in listing if line.split()[-2] in {"T", "R"}}
    assert public
    assert all(name.startswith("hw_") for name in public)
