"""The kernel compiles alone and clean, and its C tests pass, with and without sanitizers."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
KERNEL = HERE.parents[1] / "simsched" / "engine" / "native" / "kernel"
PROGRAMS = sorted(path.stem for path in HERE.glob("test_*.c"))
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]
BUILDS = {
    "plain": [],
    "optimised": ["-O3", "-DNDEBUG"],
    "sanitized": [
        "-O1",
        "-g",
        "-fno-sanitize-recover=all",
        "-fsanitize=address,undefined",
    ],
    "threads": ["-O1", "-g", "-fsanitize=thread"],
}


def compilers() -> list[str]:
    """Return the C compilers of this host: the default one and, if it is another, clang."""
    found = [os.environ.get("CC", "cc").split()[0], "clang"]
    return [name for name in found if shutil.which(name)]


def compile_program(compiler: str, flags: list[str], sources: list[Path], target: Path) -> None:
    command = [compiler, *STRICT, *flags, f"-I{KERNEL}", *map(str, sources), "-o", str(target)]
    done = subprocess.run(
        [*command, "-lm", "-lpthread"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def builds() -> list[Any]:
    """Return compilers with builds; of a second compiler, the long ones are slow tests."""
    default = compilers()[:1]
    return [
        pytest.param(
            compiler,
            build,
            marks=() if compiler in default or build == "plain" else pytest.mark.slow,
            id=f"{compiler}-{build}",
        )
        for compiler in compilers()
        for build in BUILDS
    ]


@pytest.mark.parametrize(("compiler", "build"), builds())
def test_programs(compiler: str, build: str, tmp_path: Path) -> None:
    flags = BUILDS[build]
    if build in {"sanitized", "threads"} and not works(compiler, flags, tmp_path):
        pytest.skip(f"{compiler} {flags[-1]}: programs do not run on this host")
    objects = tmp_path / "kernel"
    objects.mkdir()
    sources = [*sorted(KERNEL.glob("*.c")), HERE / "support.c", HERE / "random_hooks.c"]
    command = [compiler, *STRICT, *flags, f"-I{KERNEL}", "-c", *map(str, sources)]
    done = subprocess.run(command, cwd=objects, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    shared = sorted(objects.glob("*.o"))
    for name in ["test_threads"] if build == "threads" else PROGRAMS:
        compile_program(compiler, flags, [HERE / f"{name}.c", *shared], tmp_path / name)
        done = subprocess.run([tmp_path / name], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"


def works(compiler: str, flags: list[str], folder: Path) -> bool:
    """Tell whether an empty program can be built and run; sanitizers may lack either."""
    source, program = folder / "empty.c", folder / "empty"
    source.write_text("int main(void) { return 0; }\n")
    command = [compiler, *flags, str(source), "-o", str(program)]
    return all(
        subprocess.run(step, capture_output=True, check=False).returncode == 0
        for step in (command, [str(program)])
    )


def test_kernel_knows_no_python_and_has_no_globals(tmp_path: Path) -> None:
    sources = sorted(KERNEL.glob("*.c"))
    assert not [path for path in KERNEL.iterdir() if "Python.h" in path.read_text(encoding="utf-8")]
    command = ["cc", *STRICT, "-O0", "-c", *map(str, sources)]
    subprocess.run(command, cwd=tmp_path, check=True)
    if shutil.which("nm") is None:
        pytest.skip("nm is missing")
    listing = subprocess.run(
        ["nm", "-A", *map(str, sorted(tmp_path.glob("*.o")))],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    variables = [line for line in listing if line.split()[-2] in {"B", "b", "C", "D", "d"}]
    assert variables == []
    public = {line.split()[-1] for line in listing if line.split()[-2] == "T"}
    assert public
    assert all(name.startswith("ssk_") for name in public)
