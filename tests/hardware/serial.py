"""Programs executed in one thread, in any order that their graphs allow, without the runtime.

Each program is compiled by itself. Tests choose which ready step comes next, may leave tasks out or
run them twice, and may ignore dataflow edges.
"""

from __future__ import annotations

import ctypes
import functools
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simsched.hardware.native import list_programs
from simsched.hardware.program import Program
from simsched.workload.graph import TaskGraph

NATIVE = Path(list_programs.__file__).parent
FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", f"-I{NATIVE}")

Choice = Callable[[int], int]
"""Which of so many ready steps comes next; the newest is the last one."""

Times = Callable[[int, int], int]
"""How often a task (second) of an iteration (first; 0 is the initialisation) is executed."""


class Call(ctypes.Structure):
    _fields_ = (
        ("arrays", ctypes.c_void_p),
        ("params", ctypes.c_void_p),
        ("constants", ctypes.c_void_p),
        ("args", ctypes.c_void_p),
        ("iteration", ctypes.c_int64),
        ("task", ctypes.c_int32),
    )


Function = ctypes.CFUNCTYPE(None, ctypes.POINTER(Call))


class Class(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("body", ctypes.c_void_p), ("join", ctypes.c_void_p))


class Table(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("classes", ctypes.POINTER(Class)),
        ("n_classes", ctypes.c_int32),
    )


@functools.cache
def directory() -> tempfile.TemporaryDirectory[str]:
    """Return where libraries lie, until this process ends."""
    return tempfile.TemporaryDirectory(prefix="simsched-programs-")


def compiler() -> list[str]:
    """Return the command of the C compiler."""
    return str(sysconfig.get_config_var("CC") or "cc").split()


def program_files() -> dict[str, Path]:
    """Return the C file of every program."""
    paths = list_programs.FOLDER.glob("*.c")
    return {name: path for path in paths for name in list_programs.program_names(path)}


def source(name: str) -> Path:
    """Return the C file of a program."""
    return program_files()[name]


@functools.cache
def table(name: str) -> Table:
    """Return the class table of a program, compiled on first use."""
    path = Path(directory().name) / f"{name}.so"
    subprocess.run(
        [*compiler(), *FLAGS, "-shared", "-fPIC", str(source(name)), "-lm", "-o", str(path)],
        check=True,
    )
    return Table.in_dll(ctypes.CDLL(str(path)), f"hw_program_{name}")


def class_names(name: str) -> tuple[str, ...]:
    """Return the names in the class table of a program."""
    return tuple(entry.name.decode() for entry in entries(name))


def entries(name: str) -> list[Any]:
    """Return the class table of a program as a list."""
    found = table(name)
    return [found.classes[number] for number in range(found.n_classes)]


@dataclass(frozen=True)
class Step:
    """A body or a join that is about to be executed by `run()`."""

    iteration: int
    graph: TaskGraph
    task: int
    is_join: bool
    run: Callable[[], object]


def execute_serially(
    program: Program,
    choose: Choice,
    times: Times | None = None,
    *,
    ignore_edges: bool = False,
) -> None:
    """Execute a program.

    Parameters
    ----------
    program : Program
        Its arrays are changed.
    choose : callable
        Picks the next step.
    times : callable, optional
        How often tasks run; once by default.
    ignore_edges : bool
        Whether tasks start without waiting for their predecessors.
    """
    for step in steps(program, choose, ignore_edges=ignore_edges):
        for _ in range(1 if times is None else times(step.iteration, step.task)):
            step.run()


def steps(program: Program, choose: Choice, *, ignore_edges: bool = False) -> Iterator[Step]:
    """Yield everything that C does for a program; the parameters are those of an execution."""
    classes = entries(program.name)
    arrays = (ctypes.c_void_p * len(program.arrays))(*(a.ctypes.data for a in program.arrays))
    params = (ctypes.c_int64 * len(program.params))(*program.params)
    constants = (ctypes.c_double * len(program.constants))(*program.constants)
    names = class_names(program.name)
    for iteration, graph, args in graphs(program):
        number = [names.index(each) for each in graph.class_names]
        for task, is_join in valid_order(graph, choose, ignore_edges=ignore_edges):
            entry = classes[number[graph.task_class[task]]]
            address = entry.join if is_join else entry.body
            if not address:
                continue
            call = Call(
                ctypes.addressof(arrays),
                ctypes.addressof(params),
                ctypes.addressof(constants),
                args[task].ctypes.data,
                iteration,
                task,
            )
            run = functools.partial(Function(address), ctypes.byref(call))
            yield Step(iteration, graph, task, is_join, run)


def graphs(program: Program) -> Iterator[tuple[int, TaskGraph, np.ndarray]]:
    """Yield the number, the graph and the arguments of each iteration, the initialisation first."""
    workload = program.workload
    if workload.init is not None:
        yield 0, workload.init, np.ascontiguousarray(program.init_args)
    args = np.ascontiguousarray(program.args)
    for iteration in range(1, workload.iterations + 1):
        yield iteration, workload.graph, args


def valid_order(
    graph: TaskGraph, choose: Choice, *, ignore_edges: bool = False
) -> list[tuple[int, bool]]:
    """Return all bodies and joins (True) in an order that the graph allows."""
    parent, waits = graph.parent, graph.in_degree.copy()
    if ignore_edges:
        waits[:] = 0
    children = np.diff(graph.child_ptr)
    left, created = children.copy(), parent < 0
    ready = [(int(task), False) for task in np.flatnonzero(created & (waits == 0))[::-1]]
    order = []
    while ready:
        task, is_join = ready.pop(choose(len(ready)))
        order.append((task, is_join))
        if children[task] and not is_join:
            own = graph.child[graph.child_ptr[task] : graph.child_ptr[task + 1]]
            created[own] = True
            ready += [(int(child), False) for child in own[::-1] if waits[child] == 0]
            continue
        if not ignore_edges:
            for follower in graph.succ[graph.succ_ptr[task] : graph.succ_ptr[task + 1]]:
                waits[follower] -= 1
                if waits[follower] == 0 and created[follower]:
                    ready.append((int(follower), False))
        if parent[task] >= 0:
            left[parent[task]] -= 1
            if left[parent[task]] == 0:
                ready.append((int(parent[task]), True))
    assert len(order) == graph.n_tasks + np.count_nonzero(children)
    return order


def newest(count: int) -> int:
    """Depth first: the order of a serial execution of a spawn tree."""
    return count - 1


def oldest(count: int) -> int:
    """Breadth first: the order of a queue."""
    return 0


def drawn(seed: int) -> Choice:
    """Return a choice at random."""
    return functools.partial(np.random.default_rng(seed).integers, 0)
