# cython: language_level=3, boundscheck=False, wraparound=False
"""Binding of the task runtime: checks and hands over arrays, waits for the workers, copies what they recorded.

The runtime itself is in this folder and described in runtime.h.
"""

import os

import numpy as np

from simsched.files.errors import HardwareError
from simsched.hardware.outcome import Outcome, WorkerOutcome

cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from simsched.hardware.native._hw cimport *

cnp.import_array()

DEF WAIT_MS = 50  # between two looks at pending signals

REFUSALS = {
    HW_ERR_THREAD: "task runtime: the system has refused to start a thread for each worker",
    HW_ERR_PIN: "task runtime: the system has refused to pin a worker to its core",
    HW_ERR_NODE: "probe: the system has refused to put memory on a node",
}
EVENTS = ("cycles", "instructions", "llc_misses")
RECORD = np.dtype([("ticks", np.int64), ("task", np.int32), ("what", np.uint32)])


def program_classes():
    """Return the names of the classes of every program that was compiled in, by name of the program."""
    return {
        hw_programs[p].name.decode("ascii"): tuple(
            hw_programs[p].classes[c].name.decode("ascii") for c in range(hw_programs[p].n_classes)
        )
        for p in range(hw_n_programs)
    }


cdef const void *_data(str what, object array, object dtype, tuple shape) except? NULL:
    """Return the data of an array, which the caller keeps alive, after checking it."""
    if not isinstance(array, np.ndarray) or array.dtype != np.dtype(dtype) or array.shape != shape:
        raise ValueError(f"{what}: accepted an array of {np.dtype(dtype)} of shape {shape}")
    if not (array.flags.c_contiguous and array.flags.aligned):
        raise ValueError(f"{what}: found strides {array.strides}, accepted a contiguous array")
    return cnp.PyArray_DATA(<cnp.ndarray>array)


cdef int _fill_graph(hw_graph_t *g, object prepared) except -1:
    """Take over a PreparedGraph, whose arrays have been checked in Python."""
    graph, n = prepared.graph, prepared.graph.n_tasks
    g.n_tasks, g.n_roots, g.n_args = n, len(prepared.roots), prepared.args.shape[1]
    g.child_ptr = <const int64_t *>_data("child_ptr", graph.child_ptr, np.int64, (n + 1,))
    g.child = <const int32_t *>_data("child", graph.child, np.int32, (len(graph.child),))
    g.succ_ptr = <const int64_t *>_data("succ_ptr", graph.succ_ptr, np.int64, (n + 1,))
    g.succ = <const int32_t *>_data("succ", graph.succ, np.int32, (len(graph.succ),))
    g.parent = <const int32_t *>_data("parent", graph.parent, np.int32, (n,))
    g.in_degree = <const int32_t *>_data("in_degree", graph.in_degree, np.int32, (n,))
    g.function = <const int32_t *>_data("function", prepared.function, np.int32, (n,))
    g.roots = <const int32_t *>_data("roots", prepared.roots, np.int32, (len(prepared.roots),))
    g.args = <const int64_t *>_data("args", prepared.args, np.int64, (n, prepared.args.shape[1]))
    return 0


cdef const hw_program_t *_program(str name) except NULL:
    """Return a program by name."""
    for p in range(hw_n_programs):
        if hw_programs[p].name.decode("ascii") == name:
            return hw_programs[p]
    raise HardwareError(f"program {name}: not compiled in")


def run(job):
    """Execute a :class:`simsched.hardware.outcome.Job` and return its :class:`Outcome`.

    Signals are looked at while the workers run; one that raises stops them.
    """
    cdef hw_problem_t p
    cdef hw_graph_t graph, init
    cdef hw_run_t *r = NULL
    cdef void **arrays = <void **>calloc(max(1, len(job.program.arrays)), sizeof(void *))
    cdef bint done = False
    if arrays is NULL:
        raise MemoryError
    try:
        memset(&p, 0, sizeof(p))
        for i, array in enumerate(job.program.arrays):
            arrays[i] = cnp.PyArray_DATA(<cnp.ndarray?>array)
        p.program, p.arrays = _program(job.program.name), arrays
        params, constants = np.array(job.program.params, np.int64), np.array(job.program.constants, np.float64)
        p.params = <const int64_t *>_data("params", params, np.int64, (len(params),))
        p.constants = <const double *>_data("constants", constants, np.float64, (len(constants),))
        if job.init is not None:
            _fill_graph(&init, job.init)
            p.init = &init
        _fill_graph(&graph, job.graph)
        p.graph, p.n_iterations = &graph, job.program.workload.iterations
        _fill_schedule(&p, job)
        _check(hw_run_start(&r, &p))
        try:
            while not done:
                with nogil:
                    done = hw_run_wait(r, WAIT_MS)
                PyErr_CheckSignals()
            return _outcome(r, p.n_workers)
        finally:
            with nogil:
                hw_run_free(r)
    finally:
        free(arrays)


cdef int _fill_schedule(hw_problem_t *p, object job) except -1:
    """Take over who does the work and how."""
    p.n_workers = len(job.cpu)
    p.cpu = <const int32_t *>_data("cpu", job.cpu, np.int32, (len(job.cpu),))
    p.order, p.pools, p.own_take = (job.mode.number(name) for name in ("order", "pools", "own_take"))
    p.seed, p.n_records, p.n_expected = job.seed, job.n_records, job.n_expected
    return 0


cdef int _check(int status) except -1:
    """Raise what a status stands for."""
    if status == HW_ERR_MEMORY:
        raise MemoryError("task runtime: no room for its state and records")
    if status != 0:
        raise HardwareError(REFUSALS[status])
    return 0


cdef object _outcome(const hw_run_t *r, int n_workers):
    """Copy what the workers have counted and recorded."""
    cdef hw_result_t result = hw_run_result(r)
    _check(result.status)
    iterations = np.array(
        [(result.iterations[i].begin_ticks, result.iterations[i].end_ticks) for i in range(result.n_done)],
        np.int64,
    ).reshape(-1, 2)
    return Outcome(
        iterations, result.ps_per_tick, bool(result.is_tsc), tuple(_worker(r, w) for w in range(n_workers))
    )


cdef object _worker(const hw_run_t *r, int worker):
    """Copy what one worker has counted and recorded."""
    cdef const hw_counters_t *c = hw_run_counters(r, worker)
    cdef const hw_records_t *kept = hw_run_records(r, worker)
    records = np.empty(kept.count, RECORD)
    if kept.count > 0:
        memcpy(cnp.PyArray_DATA(<cnp.ndarray>records), kept.records, kept.count * sizeof(hw_record_t))
    counted = dict(c[0])
    events, error = counted.pop("events"), counted.pop("events_error")
    return WorkerOutcome(
        records=records,
        lost_records=kept.lost,
        events={name: count for name, count in zip(EVENTS, events) if count >= 0},
        events_error=os.strerror(error) if error else "",
        **counted,
    )


def bind_pages(array, int64_t first, int64_t last, int node, bint strictly):
    """Put the pages that begin in bytes `first` to `last` - 1 of an array on a node.

    Returns the number of pages; raises OSError.
    """
    cdef size_t page = os.sysconf("SC_PAGE_SIZE")
    cdef size_t data = <size_t>cnp.PyArray_DATA(<cnp.ndarray?>array)
    cdef size_t begin, end
    if not 0 <= first <= last <= array.nbytes:
        raise ValueError(f"bytes {first} to {last} of an array with {array.nbytes}")
    begin = (data + <size_t>first + page - 1) // page * page
    end = min((data + <size_t>last + page - 1) // page, (data + <size_t>array.nbytes) // page) * page
    if begin >= end:
        return 0
    error = hw_pages_bind(<void *>begin, end - begin, node, strictly)
    if error:
        raise OSError(error, os.strerror(error))
    return (end - begin) // page


def locate_pages(array, offsets):
    """Return the node of the page at each offset, -1 for pages that nobody has touched."""
    cdef cnp.ndarray places = np.ascontiguousarray(offsets, np.uintp) + <size_t>cnp.PyArray_DATA(<cnp.ndarray?>array)
    cdef cnp.ndarray nodes = np.full(len(places), -1, np.intc)
    cdef size_t n = len(places)
    if len(places) and not 0 <= np.min(offsets) <= np.max(offsets) < array.nbytes:
        raise ValueError(f"offsets: accepted 0 to {array.nbytes - 1}")
    error = hw_pages_locate(<void **>cnp.PyArray_DATA(places), n, <int *>cnp.PyArray_DATA(nodes))
    if error:
        raise OSError(error, os.strerror(error))
    return nodes


def measure_primitives(int32_t owner, int32_t thief, int32_t rounds):
    """Return the mean times of the steps of scheduling in nanoseconds; see probes.h."""
    cdef hw_primitives_t result
    cdef int status
    with nogil:
        status = hw_primitives_measure(owner, thief, rounds, &result)
    _check(status)
    return dict(result)


def measure_stream(cpus, int kind, int node, int64_t items, int32_t parts, int32_t sweeps, int32_t rounds):
    """Return the nanoseconds of each round of a bandwidth probe; see probes.h."""
    cdef hw_stream_t stream
    cdef cnp.ndarray round_ns = np.zeros(rounds, np.int64)
    cdef int64_t *times = <int64_t *>cnp.PyArray_DATA(round_ns)
    cdef int status
    if not (0 <= kind < HW_N_STREAMS and 0 < parts <= items and sweeps > 0 and rounds > 0 and cpus.size):
        raise ValueError("stream: a number is out of range")
    stream.cpu = <const int32_t *>_data("cpus", cpus, np.int32, (len(cpus),))
    stream.n_threads, stream.kind, stream.node = len(cpus), <hw_stream_kind_t>kind, node
    stream.n_items, stream.n_parts = items, parts
    stream.n_sweeps, stream.n_rounds = sweeps, rounds
    with nogil:
        status = hw_stream_measure(&stream, times)
    _check(status)
    return round_ns


def measure_transfer(int kind, int32_t cpu, int32_t other, int64_t items, int64_t filler, int32_t rounds):
    """Return the nanoseconds of each round of a transfer probe; see probes.h."""
    cdef cnp.ndarray round_ns = np.zeros(rounds, np.int64)
    cdef int64_t *times = <int64_t *>cnp.PyArray_DATA(round_ns)
    cdef int status
    if not (0 <= kind <= HW_TRANSFER_OWN_UPDATE and items > 0 and filler >= 0 and rounds > 0):
        raise ValueError("transfer: a number is out of range")
    with nogil:
        status = hw_transfer_measure(<hw_transfer_kind_t>kind, cpu, other, items, filler, rounds, times)
    _check(status)
    return round_ns


def measure_chase(
    cpus, int node, int32_t lines, int64_t warm, int64_t steps, int32_t rounds, int64_t evict, int64_t load_items
):
    """Return the nanoseconds of each round of a latency probe; see probes.h."""
    cdef hw_chase_t chase
    cdef cnp.ndarray round_ns = np.zeros(rounds, np.int64)
    cdef int64_t *times = <int64_t *>cnp.PyArray_DATA(round_ns)
    cdef int status
    if not (lines > 0 and warm >= 0 and steps > 0 and rounds > 0 and evict >= 0 and load_items > 0 and cpus.size):
        raise ValueError("chase: a number is out of range")
    chase.cpu = <const int32_t *>_data("cpus", cpus, np.int32, (len(cpus),))
    chase.n_threads, chase.node, chase.n_lines, chase.n_warm = len(cpus), node, lines, warm
    chase.n_steps, chase.n_rounds, chase.evict_bytes = steps, rounds, evict
    chase.load_items = load_items
    with nogil:
        status = hw_chase_measure(&chase, times)
    _check(status)
    return round_ns
