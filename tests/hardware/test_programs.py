"""What every registered program keeps: graph, data, arguments and C table fit together."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from simsched import load_machine, make_policy, simulate
from simsched.files.errors import ConfigurationError
from simsched.hardware.program import Program, make_program, programs
from simsched.workload.graph import TaskGraph

from .serial import (
    FLAGS,
    NATIVE,
    Step,
    class_names,
    compiler,
    drawn,
    execute_serially,
    newest,
    oldest,
    program_files,
    source,
    steps,
)

NAMES = list(programs())
WITH_DATA = [name for name in NAMES if name not in ("empty", "spin")]


def small(name: str) -> Program:
    return make_program(name, programs()[name].small)


def all_graphs(program: Program) -> list[TaskGraph]:
    init = program.workload.init
    return [program.workload.graph] if init is None else [init, program.workload.graph]


ORDERS = {"newest": newest, "oldest": oldest, "drawn": drawn(1), "drawn again": drawn(2)}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", NAMES)
def test_results_are_right_in_any_valid_order(name: str, order: str) -> None:
    program = small(name)
    execute_serially(program, ORDERS[order])
    assert program.check() <= 1.0


@pytest.mark.parametrize("name", NAMES)
def test_graphs_are_valid_and_named_like_the_program(name: str) -> None:
    program = small(name)
    program.workload.validate()
    assert program.name == program.workload.name == name


@pytest.mark.parametrize("name", WITH_DATA)
def test_classes_are_those_of_the_table_in_c(name: str) -> None:
    for graph in all_graphs(small(name)):
        assert graph.class_names == class_names(name)


@pytest.mark.parametrize("name", WITH_DATA)
def test_every_class_has_tasks(name: str) -> None:
    used: set[int] = set()
    for graph in all_graphs(small(name)):
        used |= set(graph.task_class.tolist())
    assert used == set(range(len(class_names(name))))


@pytest.mark.parametrize("name", NAMES)
def test_arguments_are_one_row_per_task(name: str) -> None:
    program = small(name)
    assert program.args.dtype == np.int64
    assert program.args.ndim == 2
    assert len(program.args) == program.workload.graph.n_tasks
    if program.workload.init is not None:
        assert program.init_args.dtype == np.int64
        assert program.init_args.ndim == 2
        assert len(program.init_args) == program.workload.init.n_tasks


@pytest.mark.parametrize("name", NAMES)
def test_blocks_lie_in_their_arrays_and_do_not_overlap(name: str) -> None:
    program = small(name)
    sizes = program.workload.graph.block_bytes
    assert program.block_array.dtype == np.int32
    assert program.block_offset_bytes.dtype == np.int64
    assert len(program.block_array) == len(program.block_offset_bytes) == len(sizes)
    assert all(array.flags.c_contiguous and array.flags.writeable for array in program.arrays)
    for number, array in enumerate(program.arrays):
        own = np.flatnonzero(program.block_array == number)
        own = own[np.argsort(program.block_offset_bytes[own], kind="stable")]
        begin = program.block_offset_bytes[own]
        end = begin + sizes[own]
        assert np.all(begin[1:] >= end[:-1])
        assert np.all(begin >= 0)
        assert np.all(end <= array.nbytes)


@pytest.mark.parametrize("name", NAMES)
def test_every_block_is_accessed_and_initialised(name: str) -> None:
    program = small(name)
    graph, init = program.workload.graph, program.workload.init
    every = np.arange(graph.n_blocks)
    accessed = set(graph.access_block.tolist())
    if init is not None:
        written = np.zeros(init.n_blocks, dtype=np.int64)
        np.add.at(written, init.access_block, init.written_bytes)
        assert np.array_equal(written[written > 0], init.block_bytes[written > 0])
        accessed |= set(init.access_block.tolist())
    assert accessed == set(every.tolist())


@pytest.mark.parametrize("name", WITH_DATA)
def test_tasks_with_operations_have_accesses(name: str) -> None:
    program = small(name)
    for graph in all_graphs(program):
        moved = np.zeros(graph.n_tasks, dtype=np.int64)
        owner = np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))
        np.add.at(moved, owner, graph.read_bytes + graph.written_bytes)
        works = (graph.ops[0] > 0) | (graph.join_ops[0] > 0)
        assert np.any(works)
        assert np.all(moved[works] > 0)


def accessed_blocks(step: Step) -> dict[int, tuple[int, int]]:
    """Return the bytes that a step reads and writes in each block that it accesses."""
    graph, task = step.graph, step.task
    begin, join, end = graph.access_ptr[task], graph.join_access[task], graph.access_ptr[task + 1]
    found: dict[int, tuple[int, int]] = {}
    for access in range(join, end) if step.is_join else range(begin, join):
        block = int(graph.access_block[access])
        read, written = found.get(block, (0, 0))
        found[block] = (
            read + int(graph.read_bytes[access]),
            written + int(graph.written_bytes[access]),
        )
    return found


def bytes_of_blocks(program: Program) -> list[np.ndarray]:
    """Return the bytes of each block, as views."""
    flat = [array.reshape(-1).view(np.uint8) for array in program.arrays]
    sizes = program.workload.graph.block_bytes
    places = zip(program.block_array, program.block_offset_bytes, sizes, strict=True)
    return [flat[array][offset : offset + size] for array, offset, size in places]


@pytest.mark.parametrize("name", WITH_DATA)
def test_steps_change_what_their_accesses_write(name: str) -> None:
    program = small(name)
    blocks = bytes_of_blocks(program)
    for step in steps(program, newest):
        accessed = accessed_blocks(step)
        before = [block.copy() for block in blocks]
        step.run()
        for number, (old, new) in enumerate(zip(before, blocks, strict=True)):
            changed = np.count_nonzero(old != new)
            where = (step.iteration, step.task, step.is_join, number)
            assert changed <= accessed.get(number, (0, 0))[1], where


@pytest.mark.parametrize("name", WITH_DATA)
def test_steps_need_nothing_but_their_accesses(name: str) -> None:
    """What a step does not access may hold anything: the result is the same."""
    program = small(name)
    blocks = bytes_of_blocks(program)
    poison = [
        0 if program.arrays[array].dtype.kind in "iu" else 255 for array in program.block_array
    ]
    for step in steps(program, newest):
        accessed = accessed_blocks(step)
        before = [array.copy() for array in program.arrays]
        step.run()
        expected = [block.copy() for block in blocks]
        for array, old in zip(program.arrays, before, strict=True):
            array[...] = old
        for number, block in enumerate(blocks):
            if number not in accessed:
                block[...] = poison[number]
        step.run()
        for number, block in enumerate(blocks):
            if number in accessed:
                where = (step.iteration, step.task, step.is_join, number)
                assert np.array_equal(block, expected[number]), where
            else:
                block[...] = expected[number]


@pytest.mark.parametrize("name", WITH_DATA)
def test_parameters_are_written_down(name: str) -> None:
    parameters = small(name).workload.parameters
    assert dict(programs()[name].small).items() <= parameters.items()


@pytest.mark.parametrize("name", NAMES)
def test_unknown_parameters_are_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="no_such_parameter"):
        make_program(name, {"no_such_parameter": 1})


@pytest.mark.parametrize("name", NAMES)
def test_programs_compile_without_warnings_and_keep_nothing(name: str, tmp_path: Path) -> None:
    built = tmp_path / f"{name}.o"
    subprocess.run([*compiler(), *FLAGS, "-c", str(source(name)), "-o", str(built)], check=True)
    symbols = subprocess.run(["nm", str(built)], check=True, capture_output=True, text=True).stdout
    assert not re.search(r" [bBC] ", symbols)
    assert not re.search(r" U (malloc|calloc|realloc|free|rand)$", symbols, re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_simulators_replay_the_same_graph(name: str) -> None:
    workload = small(name).workload
    machine = load_machine("amd_4x_opteron8380")
    native, twin = (
        simulate(machine, workload, make_policy("cilk"), backend=backend)
        for backend in ("native", "simpy")
    )
    assert native.makespan_s == twin.makespan_s > 0


def test_every_c_file_defines_programs_and_every_program_is_in_one() -> None:
    files = program_files()
    assert set(files) == set(NAMES)
    assert set(files.values()) == set((NATIVE / "programs").glob("*.c"))
