# cython: language_level=3, boundscheck=False, wraparound=False
"""Binding of static list scheduling: arrays in, arrays out; `schedule.h` says what they are."""

import numpy as np

from simsched.files.errors import PolicyError

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t

#: pairs that are chosen before signals are looked at
cdef enum:
    STEPS = 16


cdef extern from "schedule.h":
    int SSL_MORE
    int SSL_NO_MEMORY
    int SSL_CYCLE
    int SSL_NO_WORKER

    ctypedef struct ssl_problem_t:
        int32_t n_tasks
        int32_t n_workers
        int32_t n_nodes
        const int64_t *pred_ptr
        const int32_t *pred
        const double *pred_bytes
        const int64_t *succ_ptr
        const int32_t *succ
        const int32_t *worker_row
        const int32_t *worker_node
        const double *cost
        const double *latency
        const double *byte_time

    ctypedef struct ssl_schedule_t:
        int32_t *worker
        double *start
        double *finish

    int ssl_schedule_list(const ssl_problem_t *, const double *, const double *, const int32_t *,
                          int, int, ssl_schedule_t *) nogil
    ctypedef struct ssl_pairs_t:
        pass

    ssl_pairs_t *ssl_pairs_alloc(const ssl_problem_t *, const double *, const double *, int) nogil
    void ssl_pairs_free(ssl_pairs_t *) nogil
    int ssl_pairs_run(ssl_pairs_t *, int64_t, ssl_schedule_t *) nogil
    int ssl_upward_ranks(const ssl_problem_t *, const double *, const double *, double *) nogil
    int ssl_optimistic_costs(const ssl_problem_t *, const double *, double *) nogil


cdef const double *_doubles(list kept, object values, Py_ssize_t size, str what) except? NULL:
    """Return the data of an array of doubles, kept alive in `kept`."""
    array = np.append(np.ascontiguousarray(values, np.float64).ravel(), 0.0)
    if len(array) != size + 1:
        raise ValueError(f"{what}: found {len(array) - 1} values, accepted {size}")
    cdef const double[::1] view = array
    kept.append(array)
    return &view[0]


cdef const int32_t *_ints(list kept, object values, Py_ssize_t size, str what, int32_t low,
                          int64_t high) except? NULL:
    """Return the data of an array of indices from `low` to `high` - 1."""
    array = np.ascontiguousarray(values, np.int32).ravel()
    if len(array) != size:
        raise ValueError(f"{what}: found {len(array)} values, accepted {size}")
    if size and not (array.min() >= low and array.max() < high):
        raise ValueError(f"{what}: accepted {low} to {high - 1}")
    array = np.append(array, np.int32(0))
    cdef const int32_t[::1] view = array
    kept.append(array)
    return &view[0]


cdef const int64_t *_offsets(list kept, object values, Py_ssize_t n, Py_ssize_t total,
                             str what) except? NULL:
    """Return the data of CSR offsets."""
    array = np.ascontiguousarray(values, np.int64)
    if len(array) != n + 1 or array[0] != 0 or array[n] != total or (np.diff(array) < 0).any():
        raise ValueError(f"{what}: accepted ascending offsets from 0 to {total}")
    cdef const int64_t[::1] view = array
    kept.append(array)
    return &view[0]


cdef ssl_problem_t _problem(object estimates, list kept) except *:
    """Return what the functions take, its arrays kept alive in `kept`."""
    cdef ssl_problem_t problem
    tasks, workers = estimates.n_tasks, len(estimates.worker_row)
    nodes, rows = len(estimates.latency_s), len(estimates.cost_s)
    edges = len(estimates.pred)
    problem.n_tasks, problem.n_workers, problem.n_nodes = tasks, workers, nodes
    problem.pred_ptr = _offsets(kept, estimates.pred_ptr, tasks, edges, "pred_ptr")
    problem.pred = _ints(kept, estimates.pred, edges, "pred", 0, tasks)
    problem.pred_bytes = _doubles(kept, estimates.pred_bytes, edges, "pred_bytes")
    problem.succ_ptr = _offsets(kept, estimates.succ_ptr, tasks, edges, "succ_ptr")
    problem.succ = _ints(kept, estimates.succ, edges, "succ", 0, tasks)
    problem.worker_row = _ints(kept, estimates.worker_row, workers, "worker_row", 0, rows)
    problem.worker_node = _ints(kept, estimates.worker_node, workers, "worker_node", 0, nodes)
    problem.cost = _doubles(kept, estimates.cost_s, rows * tasks, "cost_s")
    problem.latency = _doubles(kept, estimates.latency_s, nodes * nodes, "latency_s")
    problem.byte_time = _doubles(kept, estimates.byte_time_s, nodes * nodes, "byte_time_s")
    return problem


cdef int _check(int code) except -1:
    """Raise what a code stands for."""
    if code == SSL_NO_MEMORY:
        raise MemoryError
    if code == SSL_CYCLE:
        raise PolicyError("schedule: found a cycle of dependences, accepted a graph without")
    if code == SSL_NO_WORKER:
        raise PolicyError("schedule: found a task that no worker can run")
    return code


def upward_ranks(estimates, mean_s, edge_time_s):
    """Return the upward rank of every task; see `ssl_upward_ranks`."""
    cdef list kept = []
    cdef ssl_problem_t problem = _problem(estimates, kept)
    cdef const double *mean = _doubles(kept, mean_s, problem.n_tasks, "mean_s")
    cdef const double *edges = _doubles(kept, edge_time_s, len(estimates.succ), "edge_time_s")
    rank = np.zeros(problem.n_tasks + 1)
    cdef double[::1] out = rank
    cdef int code
    with nogil:
        code = ssl_upward_ranks(&problem, mean, edges, &out[0])
    _check(code)
    return rank[:-1]


def optimistic_costs(estimates, edge_time_s):
    """Return the optimistic cost table, shape (n_tasks, n_workers); see `ssl_optimistic_costs`."""
    cdef list kept = []
    cdef ssl_problem_t problem = _problem(estimates, kept)
    cdef const double *edges = _doubles(kept, edge_time_s, len(estimates.succ), "edge_time_s")
    table = np.zeros((problem.n_tasks + 1, problem.n_workers))
    cdef double[:, ::1] out = table
    cdef int code
    with nogil:
        code = ssl_optimistic_costs(&problem, edges, &out[0, 0])
    _check(code)
    return table[:-1]


def schedule_list(estimates, priority, *, choice, insertion, tail_s=None, pinned=None):
    """Return worker, start and finish of every task; see `ssl_schedule_list`."""
    cdef list kept = []
    cdef ssl_problem_t problem = _problem(estimates, kept)
    cdef Py_ssize_t n = problem.n_tasks
    cdef const double *first = _doubles(kept, priority, n, "priority")
    cdef const double *tail = NULL
    cdef const int32_t *fixed = NULL
    if tail_s is not None:
        tail = _doubles(kept, tail_s, n * problem.n_workers, "tail_s")
    if pinned is not None:
        fixed = _ints(kept, pinned, n, "pinned", -1, problem.n_workers)
    worker, start, finish = np.zeros(n + 1, np.int32), np.zeros(n + 1), np.zeros(n + 1)
    cdef int32_t[::1] worker_view = worker
    cdef double[::1] start_view = start
    cdef double[::1] finish_view = finish
    cdef ssl_schedule_t out
    out.worker, out.start, out.finish = &worker_view[0], &start_view[0], &finish_view[0]
    cdef int how = choice, gaps = insertion, code
    with nogil:
        code = ssl_schedule_list(&problem, first, tail, fixed, how, gaps, &out)
    _check(code)
    return worker[:-1], start[:-1], finish[:-1]


def schedule_pairs(estimates, level_s, typical_s, *, rule):
    """Return worker, start and finish of every task; see `ssl_pairs_alloc`. Ctrl-C ends it."""
    cdef list kept = []
    cdef ssl_problem_t problem = _problem(estimates, kept)
    cdef Py_ssize_t n = problem.n_tasks
    cdef const double *level = _doubles(kept, level_s, n, "level_s")
    cdef const double *typical = _doubles(kept, typical_s, n, "typical_s")
    worker, start, finish = np.zeros(n + 1, np.int32), np.zeros(n + 1), np.zeros(n + 1)
    cdef int32_t[::1] worker_view = worker
    cdef double[::1] start_view = start
    cdef double[::1] finish_view = finish
    cdef ssl_schedule_t out
    out.worker, out.start, out.finish = &worker_view[0], &start_view[0], &finish_view[0]
    cdef int which = rule, code = SSL_MORE
    cdef ssl_pairs_t *pairs = ssl_pairs_alloc(&problem, level, typical, which)
    if pairs == NULL:
        raise MemoryError
    try:
        while code == SSL_MORE:
            with nogil:
                code = ssl_pairs_run(pairs, STEPS, &out)
            PyErr_CheckSignals()
    finally:
        ssl_pairs_free(pairs)
    _check(code)
    return worker[:-1], start[:-1], finish[:-1]
