"""Programs on several workers under ThreadSanitizer: what no dependence orders is found."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from simsched.hardware.program import programs
from tests import compiling

from .support import needs_linux

pytestmark = [needs_linux, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / "simsched" / "hardware" / "native"
#: Leaves count themselves, without a lock.
RACE = ("static void sweep(const hw_call_t *call)\n{", "static int64_t n;\n{0}\n    n++;")


def build(folder: Path, programs: Path) -> Path:
    """Compile the binding with the runtime and programs, all of it instrumented."""
    sources = map(str, sorted(programs.glob("*.c")))
    lister = [sys.executable, str(NATIVE / "list_programs.py"), str(folder / "table.c"), *sources]
    subprocess.run(lister, check=True)
    binding = "simsched/hardware/native/_runtime.pyx"
    cython = [sys.executable, "-m", "cython", "-3", "-I", ".", "-o", str(folder / "binding.c")]
    subprocess.run([*cython, binding], cwd=ROOT, check=True)
    result = folder / "_runtime.so"
    includes = (NATIVE, np.get_include(), sysconfig.get_paths()["include"])
    subprocess.run(
        [
            *(compiling.DEFAULT, *compiling.THREADS),
            *("-shared", "-fPIC", "-std=c11", "-D_GNU_SOURCE"),
            *("-w", *(f"-I{include}" for include in includes)),
            *(str(folder / f"{name}.c") for name in ("binding", "table")),
            *map(str, sorted(NATIVE.glob("*.c")) + sorted(programs.glob("*.c"))),
            *("-lpthread", "-lm", "-o", str(result)),
        ],
        check=True,
    )
    return result


def run(library: Path) -> subprocess.CompletedProcess[str]:
    """Run all programs with a library."""
    asked = [compiling.DEFAULT, "-print-file-name=libtsan.so"]
    preload = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    options = {"LD_PRELOAD": preload, "TSAN_OPTIONS": "exitcode=66", "OPENBLAS_NUM_THREADS": "1"}
    empty = [sys.executable, "-c", ""]
    environment = os.environ | options
    if subprocess.run(empty, env=environment, capture_output=True, check=False).returncode:
        pytest.skip("Python does not run under ThreadSanitizer on this host")
    command = [sys.executable, "-m", "tests.hardware.run_programs", str(library)]
    return subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_programs_have_no_races(tmp_path: Path) -> None:
    done = run(build(tmp_path, NATIVE / "programs"))
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3 * len(programs())


def test_a_race_is_found(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for path in NATIVE.glob("*.h"):
        (tmp_path / path.name).symlink_to(path)
    for path in sorted(NATIVE.joinpath("programs").iterdir()):
        text = path.read_text(encoding="utf-8")
        if path.name == "sor.c":
            assert RACE[0] in text
            text = text.replace(RACE[0], RACE[1].replace("{0}", RACE[0]))
        (programs / path.name).write_text(text, encoding="utf-8")
    done = run(build(tmp_path, programs))
    assert done.returncode == 66
    assert "data race" in done.stderr
    assert "sor.c" in done.stderr
