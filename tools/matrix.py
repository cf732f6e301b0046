"""Run the tests that are not slow under other Pythons and other versions of the dependencies.

`make test-matrix` runs every cell whose Python is there, `make test-oldest` the first one, `make
test-smoke` a few tests in all that differ from the checkout's own environment.
A cell works on its own copy of the checkout in build/matrix, with its own `.venv`, so that the
build, the tests and their environment are those of a fresh clone. *Oldest* takes every lower bound
of pyproject.toml at its word, those of the build and of the tests included; it goes with the oldest
Python, the only one for which such old wheels exist.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MATRIX = ROOT / "build" / "matrix"
PYTHONS = ("3.11", "3.12", "3.13")
CELLS = {f"{PYTHONS[0]}-oldest": True, **{f"{python}-newest": False for python in PYTHONS}}


def main() -> int:
    """Run the cells that were asked for and print what came of each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cells", nargs="*", choices=[*CELLS, []], help="by default all of them")
    parser.add_argument("--tests", default="", help="words for pytest in place of all quick tests")
    parser.add_argument("--lenient", action="store_true", help="a missing Python is no failure")
    asked = parser.parse_args()
    results = {name: run_cell(name, asked.tests) for name in asked.cells or CELLS}
    for name, result in results.items():
        print(f"matrix: {name}: {result}")
    failed = any(result not in ("passed", "no such Python") for result in results.values())
    missing = "no such Python" in results.values() and asked.cells
    nothing = "passed" not in results.values()
    return int(failed or ((missing or nothing) and not asked.lenient))


def run_cell(name: str, tests: str) -> str:
    """Return what came of one cell: passed, failed, or that its Python is missing."""
    version = name.partition("-")[0]
    python = find_python(version)
    if python is None:
        return "no such Python"
    print(f"matrix: {name}", flush=True)
    folder = MATRIX / name
    copy_checkout(folder)
    words = {"PYTEST_ARGS": f"-n 2 {tests}"} if tests else {}
    environment = {**os.environ, "SIMSCHED_EXTRAS": "test", "PIP_NO_COMPILE": "1", **words}
    if CELLS[name]:
        environment["PIP_CONSTRAINT"] = str(oldest(folder, version))
    command = ["make", "--no-print-directory", "-C", str(folder), f"PYTHON={python}", "test"]
    done = subprocess.run(command, env=environment, check=False)
    return "passed" if done.returncode == 0 else "failed"


def find_python(version: str) -> str | None:
    """Return the path of an interpreter of that version outside any virtual environment.

    Those of pyenv come first: what it puts on the path runs the one version chosen at present.
    """
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    folders = [str(path) for path in sorted(pyenv.glob("*/bin"))]
    path = os.pathsep.join([*folders, os.environ.get("PATH", os.defpath)])
    words = ["python", "find", "--system", "--no-python-downloads", version]
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(
        [uv(), *words], env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else None


def uv() -> str:
    """Return the path of uv, which `.venv` holds."""
    return shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}") or "uv"


def copy_checkout(folder: Path) -> None:
    """Make `folder` hold the tracked and the new files as they are now, and keep what it built."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / "build" / "copied"
    before = set(record.read_text("utf-8").split("\0")) if record.exists() else set()
    for name in before - names:
        (folder / name).unlink(missing_ok=True)
    for name in sorted(names):
        source, target = ROOT / name, folder / name
        if not target.exists() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    record.parent.mkdir(exist_ok=True)
    record.write_text("\0".join(sorted(names)), encoding="utf-8")


def oldest(folder: Path, version: str) -> Path:
    """Write and return constraints with the lowest version of everything that is asked for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    build = [need for need in project["build-system"]["requires"] if not need.startswith("numpy")]
    asked = folder / "build" / "requirements.in"
    asked.write_text("\n".join(build), encoding="utf-8")
    constraints = folder / "build" / "oldest.txt"
    words = ["pip", "compile", "--quiet", "--no-header", "--no-annotate", "--extra", "test"]
    words += ["--resolution", "lowest-direct", "--python-version", version]
    words += ["--output-file", str(constraints), str(folder / "pyproject.toml"), str(asked)]
    subprocess.run([uv(), *words], check=True, stdout=subprocess.DEVNULL)
    return constraints


if __name__ == "__main__":
    sys.exit(main())
