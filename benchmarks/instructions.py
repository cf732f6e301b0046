"""Counts the kernel's instructions per task: ``python -m benchmarks.instructions [--record]``.

Instructions do not depend on what else the machine does, so a change of a few percent shows.
Three small runs are recorded as arrays, replayed by a C program (replay.c) that is linked with the
kernel, and counted by ``valgrind --tool=callgrind`` between begin and end of each iteration. The
figures in instructions.json hold for one compiler and its major version.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import instances
from benchmarks.instances import Instance
from simsched.engine import run as engine_run
from simsched.engine.native import build_config
from simsched.engine.run import simulate

HERE = Path(__file__).resolve().parent
KERNEL = HERE.parent / "simsched" / "engine" / "native" / "kernel"
RECORD = HERE / "instructions.json"
MORE, LESS = 0.03, 0.10  #: by how much a count may exceed the record, or fall below it
_COUNTED = "counted_iteration"  # of replay.c

CASES: dict[str, Callable[[], Instance]] = {
    "independent-64": lambda: instances.independent(5_000, workers=64),
    "remote-flows-256": lambda: instances.flows(5_000, workers=256, remote=True),
    "heat-bats": lambda: instances.heat(1, policy="bats", preset="heat_small"),
}


class UnavailableError(Exception):
    """Instructions cannot be counted here; the message says why."""


class _Recorder:
    """A backend that notes what it is given and passes it on."""

    def __init__(self, backend: Any, problem: Any) -> None:
        self._backend = backend
        self.arrays = dict(_arrays("problem", problem))
        self.iterations = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def run_iteration(self, number: int, graph: Any, plan: Any, *, last: bool) -> None:
        part = f"iteration{self.iterations}"
        self.arrays |= _arrays(f"{part}.graph", graph) | _arrays(f"{part}.plan", plan)
        self.arrays[f"{part}.number"] = np.array([number], np.int64)
        self.iterations += 1
        self._backend.run_iteration(number, graph, plan, last=last)

    def migrate(self, *arguments: Any) -> None:
        raise NotImplementedError("migrations are not replayed")


def _arrays(prefix: str, value: Any) -> dict[str, Any]:
    """Return the arrays and numbers of a dataclass by name, nested ones included."""
    if dataclasses.is_dataclass(value):
        found: dict[str, Any] = {}
        for item in dataclasses.fields(value):
            found |= _arrays(f"{prefix}.{item.name}", getattr(value, item.name))
        return found
    if isinstance(value, np.ndarray):
        return {prefix: value}
    if isinstance(value, (bool, int)):
        return {prefix: np.array([value], np.int64)}
    if isinstance(value, tuple) and all(isinstance(item, int) for item in value):
        return {prefix: np.array(value, np.int64)}
    return {}


def write_run(instance: Instance, path: Path) -> int:
    """Write what the kernel is given during a run for replay.c; return the number of tasks."""
    made: list[_Recorder] = []
    make = engine_run.make_backend

    def recorded(name: str, problem: Any, *arguments: Any, **options: Any) -> Any:
        made.append(_Recorder(make(name, problem, *arguments, **options), problem))
        return made[-1]

    engine_run.make_backend = recorded
    try:
        run = simulate(*instance)
    finally:
        engine_run.make_backend = make
    arrays = made[0].arrays | {"run.iterations": np.array([made[0].iterations], np.int64)}
    with path.open("wb") as stream:
        for name, array in arrays.items():
            assert len(name) < 64
            data = np.ascontiguousarray(array).tobytes()
            stream.write(name.encode("ascii").ljust(64, b"\0"))
            stream.write(np.array([len(data), array.size], np.int64).tobytes())
            stream.write(data + bytes(-len(data) % 8))
    return int(run.summary.n_tasks)


def find_compiler() -> str:
    """Return the C compiler.

    Raises
    ------
    UnavailableError
        There is none.
    """
    compiler = shutil.which(os.environ.get("CC", "cc").split()[0])
    if compiler is None:
        raise UnavailableError("there is no C compiler")
    return compiler


def build(folder: Path) -> Path:
    """Compile kernel and program with the flags of the installed kernel; as find_compiler()."""
    compiler = find_compiler()
    program = folder / "replay"
    flags = [*str(build_config()["flags"]).split(), "-std=c11", "-fPIC", "-fvisibility=hidden"]
    sources = map(str, [HERE / "replay.c", *sorted(KERNEL.rglob("*.c"))])
    command = [compiler, *flags, f"-I{KERNEL}", *sources, "-o", str(program), "-lm"]
    subprocess.run(command, check=True)
    return program


def count(program: Path, instance: Instance, folder: Path) -> tuple[float, str]:
    """Return instructions per task and the compiler of the program."""
    recording, report = folder / "run", folder / "callgrind"
    tasks = write_run(instance, recording)
    command = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={report}"]
    command += [f"--toggle-collect={_COUNTED}", str(program), str(recording)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    replayed = json.loads(done.stdout)
    assert replayed["tasks"] == tasks
    total = re.search(r"^totals: (\d+)$", report.read_text(encoding="utf-8"), re.MULTILINE)
    assert total is not None
    assert int(total[1]) > 0
    return int(total[1]) / tasks, str(replayed["compiler"])


def measure() -> dict[str, Any]:
    """Return what is recorded: compiler, flags, machine type and instructions per task."""
    figures = {}
    compiler = ""
    if shutil.which("valgrind") is None:
        raise UnavailableError("valgrind is not installed")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = build(folder)
        for case, make in CASES.items():
            figures[case], compiler = count(program, make(), folder)
    return {
        "compiler": compiler,
        "machine": platform.machine(),
        "flags": build_config()["flags"],
        "instructions_per_task": {case: round(figure, 2) for case, figure in figures.items()},
    }


def read_record() -> dict[str, Any]:
    """Return the recorded figures."""
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return record


def comparable(record: dict[str, Any], measured: dict[str, Any]) -> bool:
    """Return whether both were made by the same compiler, up to its minor version."""
    major = [item["compiler"].split(".")[0] for item in (record, measured)]
    return major[0] == major[1] and all(
        record[key] == measured[key] for key in ("machine", "flags")
    )


def differences(record: dict[str, Any], measured: dict[str, Any]) -> Iterator[str]:
    """Yield a sentence for every case that needs more, or far fewer, instructions than recorded."""
    expected = record["instructions_per_task"]
    for case, figure in measured["instructions_per_task"].items():
        change = figure / expected[case] - 1.0
        text = f"{case}: {figure:.1f} instructions per task, recorded {expected[case]:.1f}"
        if change > MORE:
            yield f"{text}: {change:+.1%}, accepted {MORE:+.0%}"
        elif change < -LESS:
            yield f"{text}: {change:+.1%}; record it: python -m benchmarks.instructions --record"


def main(arguments: list[str] | None = None) -> int:
    """Print the figures; record them, or return 1 if they differ from the record."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions")
    parser.add_argument("--record", action="store_true", help=f"write {RECORD.name}")
    options = parser.parse_args(arguments)
    try:
        measured = measure()
    except UnavailableError as reason:
        print(f"instructions are not counted: {reason}", file=sys.stderr)
        return 2
    print(json.dumps(measured, indent=1))
    if options.record:
        RECORD.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
        return 0
    if not comparable(read_record(), measured):
        print("the record is of another compiler")
        return 0
    found = list(differences(read_record(), measured))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
