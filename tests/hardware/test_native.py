"""The runtime compiles alone and clean, and its C tests pass, with and without sanitizers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import compiling

from .support import needs_linux

pytestmark = needs_linux

HERE = Path(__file__).resolve().parent
NATIVE = HERE.parents[1] / "simsched" / "hardware" / "native"
STRICT = [*compiling.STRICT, "-D_GNU_SOURCE", f"-I{NATIVE}"]
BUILDS = {
    "optimised": ["-O3"],
    "addresses": compiling.ADDRESSES,
    "threads": compiling.THREADS,
}


@pytest.mark.parametrize(("compiler", "build"), compiling.builds(BUILDS, quick="optimised"))
def test_programs(compiler: str, build: str, tmp_path: Path) -> None:
    sources, programs = NATIVE.glob("*.c"), (HERE / "native").glob("test_*.c")
    flags = [*STRICT, *BUILDS[build]]
    compiling.run_programs(compiler, flags, sorted(sources), sorted(programs), tmp_path)


def test_runtime_knows_no_python_and_has_no_variables(tmp_path: Path) -> None:
    sources = [*sorted(NATIVE.glob("*.c")), *sorted((NATIVE / "programs").glob("*.c"))]
    assert not [path for path in sources if "Python.h" in path.read_text(encoding="utf-8")]
    flags = ["-O0", "-fno-pic", "-fno-pie"]  # otherwise constants with addresses count as variables
    objects = compiling.compile_sources("cc", [*STRICT, *flags], sources, tmp_path)
    found = compiling.symbols(objects)
    assert compiling.variables(found) == set()
    public = found["T"] | found.get("R", set())
    assert all(name.startswith("hw_") for name in public)
