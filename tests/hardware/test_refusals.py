"""What the runtime refuses before anything runs, and how a run is interrupted."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simsched.files.errors import ConfigurationError, GraphError, HardwareError, SimschedError
from simsched.hardware import runtime
from simsched.hardware.mode import Mode
from simsched.hardware.program import Program
from simsched.hardware.runtime import execute

from .support import needs_linux, random_program

PROGRAM = random_program(1)
N_BLOCKS = len(PROGRAM.block_array)


def changed(**fields: Any) -> Program:
    return replace(PROGRAM, **fields)


def with_graph(**fields: Any) -> Program:
    graph = replace(PROGRAM.workload.graph, **fields)
    return changed(workload=replace(PROGRAM.workload, graph=graph, init=None))


@needs_linux
@pytest.mark.parametrize(
    ("program", "message"),
    [
        (changed(name="spim"), "unknown program in C 'spim'; did you mean 'spin'?"),
        (with_graph(class_names=("spun",)), "program spin: unknown class 'spun'; did you mean"),
        (changed(args=PROGRAM.args.astype(np.int32)), "args: accepted an array of int64"),
        (changed(args=PROGRAM.args[:, 0]), "args: accepted an array of int64 with two axes"),
        (changed(args=PROGRAM.args[:-1]), "args: found .* rows, accepted .*, one per task"),
        (changed(arrays=([1, 2],)), "array 0: accepted an array of numbers"),
        (changed(arrays=(np.array([None]),)), "array 0: accepted an array of numbers"),
        (changed(arrays=(np.zeros((9, 9))[:, 1:],)), "array 0: accepted a contiguous"),
        (changed(arrays=(np.broadcast_to(np.zeros(1), 9),)), "array 0: accepted a contiguous"),
        (changed(arrays=(np.zeros(1, np.uint8),)), "block .*: .* bytes at .* are not inside of it"),
        (changed(blocks=(N_BLOCKS - 1,)), "blocks: found .*, accepted .* in all, in 1 arrays"),
        (changed(blocks=(N_BLOCKS, 0)), "blocks: found .*, accepted .* in all, in 1 arrays"),
        (
            changed(arrays=(*PROGRAM.arrays, PROGRAM.arrays[0][:1]), blocks=(0, N_BLOCKS)),
            "block .*: .* bytes at .* of array 1 are not inside of it",
        ),
    ],
)
def test_programs_that_do_not_fit_together(program: Program, message: str) -> None:
    with pytest.raises(HardwareError, match=message):
        execute(program, workers=1)


@needs_linux
def test_malformed_graphs() -> None:
    succ = np.array([PROGRAM.workload.graph.n_tasks + 5], np.int32)
    ptr = np.zeros(PROGRAM.workload.graph.n_tasks + 1, np.int64)
    ptr[1:] = 1
    with pytest.raises(GraphError, match="found task"):
        execute(with_graph(succ=succ, succ_ptr=ptr), workers=1)


@needs_linux
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"workers": 0}, "workers: found 0, accepted 1 to"),
        ({"cores": [10**6]}, r"cores: found \[1000000\], accepted \["),
        ({"cores": []}, "cores: found none, accepted"),
        ({"seed": -1}, "seed: found -1"),
    ],
)
def test_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        execute(PROGRAM, **arguments)


@pytest.mark.parametrize("field", ["order", "pools", "placement", "own_take"])
def test_modes(field: str) -> None:
    with pytest.raises(ConfigurationError, match=f"mode: {field}: unknown value 'fastest'"):
        Mode(**{field: "fastest"})


def test_other_systems_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime.sys, "platform", "plan9")
    with pytest.raises(SimschedError, match="the task runtime needs Linux, found plan9"):
        execute(PROGRAM)


INTERRUPTED = """
import os, signal, threading
from simsched.hardware.program import make_program
from simsched.hardware.runtime import execute
program = make_program("spin", {"shape": "independent", "tasks": 10**5, "work_ns": 10**7})
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    execute(program, workers=3)
except KeyboardInterrupt:
    print("interrupted")
"""


@needs_linux
def test_an_interrupted_run_ends() -> None:
    # Left alone it would take several minutes.
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=100, check=True
    )
    assert done.stdout == "interrupted\n"
