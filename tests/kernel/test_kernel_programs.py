"""The kernel compiles alone and clean, and its C tests pass, with and without sanitizers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import compiling

HERE = Path(__file__).resolve().parent
KERNEL = HERE.parents[1] / "simsched" / "engine" / "native" / "kernel"
PROGRAMS = sorted(HERE.glob("test_*.c"))
STRICT = [*compiling.STRICT, "-ffp-contract=off", f"-I{KERNEL}"]
BUILDS = {
    "optimised": ["-O3", "-DNDEBUG"],
    "sanitized": compiling.ADDRESSES,
    "threads": compiling.THREADS,
}


@pytest.mark.parametrize(("compiler", "build"), compiling.builds(BUILDS, quick="optimised"))
def test_programs(compiler: str, build: str, tmp_path: Path) -> None:
    sources = [*sorted(KERNEL.rglob("*.c")), HERE / "support.c", HERE / "random_hooks.c"]
    programs = [HERE / "test_threads.c"] if build == "threads" else PROGRAMS
    compiling.run_programs(compiler, [*STRICT, *BUILDS[build]], sources, programs, tmp_path)


def test_kernel_knows_no_python_and_has_no_globals(tmp_path: Path) -> None:
    sources = sorted(KERNEL.rglob("*.c"))
    assert not [path for path in KERNEL.rglob("*.[ch]") if "Python.h" in path.read_text("utf-8")]
    objects = compiling.compile_sources("cc", [*STRICT, "-O0"], sources, tmp_path)
    found = compiling.symbols(objects)
    assert compiling.variables(found) == set()
    assert found["T"]
    assert all(name.startswith("ssk_") for name in found["T"])
