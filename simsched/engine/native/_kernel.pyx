# cython: language_level=3, boundscheck=False, wraparound=False
"""Binding of the C kernel: checks and hands over arrays, calls hooks, turns codes into exceptions.

The simulation itself is in kernel/ and described in kernel/ssk.h.
"""

import numpy as np

from simsched.engine.backend import IterationCounters
from simsched.policy.contract.compiled import COMPILED_HOOKS
from simsched.policy.contract.records import index_below
from simsched.engine.interface.decisions import HOOKS, refusal
from simsched.engine.room import no_room_message, too_large_message
from simsched.engine.stall import TOO_LONG, explain_stall
from simsched.files.errors import KernelError, ModelError, PolicyError, StalledError
from simsched.policy.contract.executions import Progress
from simsched.trace.schema import Summary, by_worker
from simsched.trace.sink import KeptEvents, make_columns, make_sink

cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid
from libc.string cimport memcpy, memset
from numpy.random cimport bitgen_t

from simsched.engine.native._ssk cimport *

cnp.import_array()

DEF CHUNK = 100_000  # events between two looks at pending signals
DEF N_TOTALS = 9  # of a row of tallies, before counters
DEF MAX_INT32 = 2**31 - 1
DEF MAX_INT64 = 2**63 - 1


def version():
    """Return the version of the kernel."""
    return ssk_version().decode("ascii")


def build_config():
    """Return how the kernel was compiled: version, compiler, flags and whether assertions are on."""
    return {
        "version": version(),
        "compiler": ssk_compiler().decode("ascii"),
        "flags": ssk_flags().decode("ascii"),
        "debug": bool(ssk_has_asserts()),
    }


include "_arguments.pxi"
include "_fills.pxi"


cdef object _copy(const void *data, tuple shape, object dtype):
    """Return a new array with the kernel's data."""
    array = np.empty(shape, dtype)
    if array.nbytes:
        memcpy(cnp.PyArray_DATA(<cnp.ndarray>array), data, array.nbytes)
    return array


cdef int _take_events(void *context, size_t n_events) noexcept with gil:
    cdef NativeBackend backend = <NativeBackend>context
    try:
        backend.sink.append({name: column[:n_events] for name, column in backend.columns.items()})
        return 0
    except BaseException as error:
        backend.raised = error
        return -1


include "_hooks.pxi"
include "_tallies.pxi"


cdef class NativeBackend:
    """Engine in C; see :class:`simsched.engine.backend.Backend`.

    One instance is used by one thread at a time; different instances may run in different threads, because the
    interpreter lock is released while the kernel runs.
    """

    cdef ssk_sim_t *sim
    cdef object problem, hooks, graph, plan, raised, sink, columns
    cdef dict answers  # memory of the last decisions of each hook
    cdef list problem_arrays, streams, iteration_arrays, move_arrays, order_arrays, order_before
    cdef bint is_running
    cdef int32_t n_tasks
    cdef ssk_problem_t c_problem
    cdef context_t context
    cdef object given_graph, given_plan  # what these are of
    cdef ssk_graph_t c_graph
    cdef ssk_plan_t c_plan

    def __cinit__(self):
        self.sim = NULL

    def __init__(self, problem, hooks, *, events):
        if self.sim is not NULL:
            raise RuntimeError("a backend is prepared once")
        self.problem_arrays, self.iteration_arrays = [], []
        self.sink = make_sink(events)
        memset(&self.c_problem, 0, sizeof(self.c_problem))
        _fill_problem(&self.c_problem, problem, self.problem_arrays)
        if self.sink is not None:
            self._fill_recorder(&self.c_problem.recorder)
        self._begin(problem, hooks)

    def restart(self, problem, hooks):
        """Prepare another run; see :meth:`simsched.engine.backend.RestartableBackend.restart`."""
        if self.is_running:
            raise RuntimeError("this backend is running")
        self.stop()
        self.streams = []
        self.c_problem.victim_stream = _random(self.streams, problem.victim_stream)
        self.c_problem.wake_stream = _random(self.streams, problem.wake_stream)
        self._begin(problem, hooks)

    def stop(self):
        """Let go of the memory of a run that is over."""
        ssk_sim_free(self.sim)
        self.sim = NULL
        self.graph = self.plan = self.hooks = None

    def tallies(self, streams, parts, order, first):
        """Return the rows of many runs; see :meth:`simsched.engine.backend.RestartableBackend.tallies`."""
        cdef Py_ssize_t i, n_runs = len(streams)
        cdef ssk_problem_t problem = self.c_problem
        cdef Steps steps = Steps(parts, order, first)
        cdef int64_t n_row = N_TOTALS + sizeof(ssk_run_counters_t) // sizeof(int64_t)
        kept = []
        rows = np.zeros((n_runs, n_row), np.int64)
        cdef int64_t *row = <int64_t *>cnp.PyArray_DATA(<cnp.ndarray>rows)
        drawn = np.zeros(2 * n_runs * sizeof(ssk_random_t), np.uint8)
        cdef ssk_random_t *random = <ssk_random_t *>cnp.PyArray_DATA(<cnp.ndarray>drawn)
        cdef int status = SSK_OK
        for i in range(n_runs):
            random[2 * i], random[2 * i + 1] = _random(kept, streams[i][0]), _random(kept, streams[i][1])
        steps.fill(parts, &self.c_problem)
        with nogil:
            for i in range(n_runs):
                problem.victim_stream, problem.wake_stream = random[2 * i], random[2 * i + 1]
                status = _run_steps(&problem, steps, row + i * n_row)
                if status != SSK_OK:
                    break
            else:
                i = n_runs
        PyErr_CheckSignals()
        return rows[:i]

    cdef int _begin(self, object problem, object hooks) except -1:
        """Make a simulation that is at its start."""
        cdef ssk_hooks_t c_hooks
        cdef ssk_allocator_t allocator = ssk_default_allocator()
        cdef ssk_flaw_t flaw
        self.problem, self.hooks = problem, hooks
        self.order_arrays, self.order_before, self.answers, self.move_arrays = [], [], {}, []
        _fill_hooks(&c_hooks, hooks, &self.context)
        self.context.backend, self.context.n_workers = <void *>self, self.c_problem.n_workers
        flaw.name, flaw.index = NULL, -1
        status = ssk_sim_alloc(&self.sim, &self.c_problem, &c_hooks, &allocator, &flaw)
        if status == SSK_ERR_ARGUMENT:
            raise ValueError(_describe_flaw("Problem", flaw))
        if status != SSK_OK:
            raise KernelError(f"native engine: {ssk_message(status).decode('ascii')}")
        self.context.sim = self.sim
        hooks.attach(self)
        return 0

    def __dealloc__(self):
        ssk_sim_free(self.sim)

    # ---------------------------------------------------------------- driver's side

    def run_iteration(self, number, graph, plan, *, last):
        """Run one iteration; see :meth:`simsched.engine.backend.Backend.run_iteration`."""
        cdef int32_t c_number = _whole(number, "number", 0, MAX_INT32)
        cdef int c_last = bool(last), status
        self._enter()
        try:
            previous = self.iteration_arrays  # freed after the kernel lets go
            is_fixed = graph.is_fixed
            if not (is_fixed and graph is self.given_graph and plan is self.given_plan):
                self._take(graph, plan)
            _take_compiled(&self.context, self.hooks)
            self.c_graph.unchanged = is_fixed and graph is self.graph
            self.c_plan.unchanged = plan is self.plan
            self.graph, self.plan, self.n_tasks = graph, plan, self.c_graph.n_tasks
            with nogil:
                status = ssk_sim_begin_iteration(self.sim, c_number, &self.c_graph, &self.c_plan, c_last)
            del previous
            self._finish(status)
        finally:
            self.is_running = False

    def migrate(self, overhead_ps, blocks, nodes, workers):
        """Wait for the policy's overhead, then carry out migrations."""
        cdef int64_t c_overhead = _whole(overhead_ps, "overhead_ps", 0, 2**62 - 1)
        cdef int32_t c_workers = max(-1, min(int(workers), MAX_INT32))
        cdef int status
        self._enter()
        try:
            moves = [np.ascontiguousarray(array, np.int32) for array in (blocks, nodes)]
            if moves[0].ndim != 1 or moves[0].shape != moves[1].shape:
                raise ValueError(f"moves: found shapes {moves[0].shape} and {moves[1].shape}, accepted equal ones")
            self.move_arrays = moves
            status = ssk_sim_begin_migration(
                self.sim, c_overhead, _whole(len(moves[0]), "moves", 0, MAX_INT32),
                <const int32_t *>cnp.PyArray_DATA(<cnp.ndarray>moves[0]),
                <const int32_t *>cnp.PyArray_DATA(<cnp.ndarray>moves[1]), c_workers,
            )
            self._finish(status)
        finally:
            self.is_running = False

    cdef int _take(self, object graph, object plan) except -1:
        """Take over a TaskGraph and a ResolvedPlan."""
        arrays = []
        self.given_graph = self.given_plan = None
        memset(&self.c_graph, 0, sizeof(self.c_graph))
        memset(&self.c_plan, 0, sizeof(self.c_plan))
        _fill_graph(&self.c_graph, graph, &self.c_problem, arrays)
        _fill_plan(&self.c_plan, plan, &self.c_graph, &self.c_problem, arrays)
        self.given_graph, self.given_plan, self.iteration_arrays = graph, plan, arrays
        return 0

    cdef const ssk_order_t *_make_order(self, object plan) except NULL:
        """Return the acquire order of a ResolvedPlan; it lives as long as it may be in force."""
        store = np.zeros(sizeof(ssk_order_t), np.uint8)
        self.order_arrays.append(store)
        cdef ssk_order_t *order = <ssk_order_t *>cnp.PyArray_DATA(<cnp.ndarray>store)
        _fill_order(order, plan.order, NULL, &self.c_problem, self.order_arrays)
        return order

    cdef int _fill_recorder(self, ssk_recorder_t *r) except -1:
        """Make the columns that the kernel writes events to."""
        self.columns = make_columns(self.sink.capacity)
        r.time_ps = <int64_t *>cnp.PyArray_DATA(<cnp.ndarray>self.columns["time_ps"])
        r.kind = <int32_t *>cnp.PyArray_DATA(<cnp.ndarray>self.columns["kind"])
        r.worker = <int32_t *>cnp.PyArray_DATA(<cnp.ndarray>self.columns["worker"])
        r.task = <int32_t *>cnp.PyArray_DATA(<cnp.ndarray>self.columns["task"])
        r.iteration = <int32_t *>cnp.PyArray_DATA(<cnp.ndarray>self.columns["iteration"])
        r.arg0 = <int64_t *>cnp.PyArray_DATA(<cnp.ndarray>self.columns["arg0"])
        r.arg1 = <int64_t *>cnp.PyArray_DATA(<cnp.ndarray>self.columns["arg1"])
        r.capacity, r.context, r.take = self.sink.capacity, <void *>self, _take_events
        return 0

    cdef int _enter(self) except -1:
        """Take the backend for a run."""
        if self.sim is NULL or self.is_running:
            raise RuntimeError("this backend is not ready: it is running, or its preparation has failed")
        self.is_running = True
        return 0

    cdef int _finish(self, int status) except -1:
        """Run what was begun to its end, looking at signals now and then."""
        while status == SSK_OK or status == SSK_MORE:
            PyErr_CheckSignals()
            with nogil:
                status = ssk_sim_run(self.sim, CHUNK)
            if status == SSK_OK:
                return 0
        self._raise(status)
        return 0

    cdef object _raise(self, int status):
        """Raise the exception for an error code."""
        cdef ssk_failure_t f = ssk_sim_failure(self.sim)
        if status == SSK_ERR_HOOK and self.raised is not None:
            raised, self.raised = self.raised, None
            raise raised
        if status == SSK_ERR_STALLED:
            raise StalledError(explain_stall(self, self.problem.n_workers, self.graph, **self.waiting_state()))
        if status == SSK_ERR_PROGRESS or status == SSK_ERR_INSTANT:
            limit_ps = self.problem.progress_limit_ps if status == SSK_ERR_PROGRESS else 0
            raise StalledError(
                explain_stall(self, self.problem.n_workers, self.graph, **self.waiting_state(), limit_ps=limit_ps)
            )
        if status == SSK_ERR_TIME:
            raise ModelError(TOO_LONG)
        if status == SSK_ERR_NO_ROOM:
            used = _copy(ssk_sim_measured(self.sim).node_used_bytes, (self.problem.n_nodes,), np.int64)
            raise ModelError(no_room_message(self.problem, f.block, f.bytes, f.domain, used))
        if status == SSK_ERR_TOO_LARGE:
            raise ModelError(too_large_message(self.problem, f.bytes, f.node))
        if status == SSK_ERR_NO_PROCESSOR:
            kind = self.graph.kinds[f.kind]
            raise ModelError(
                f"task {f.task} cannot run on worker {f.worker}: it has no cost for processor kind {kind!r}"
            )
        if status == SSK_ERR_DECISION:
            raise _describe_decision(f)
        if status == SSK_ERR_MIGRATION:
            raise PolicyError(f"block {f.block} ({f.bytes} bytes) does not fit on node {f.node}, where it is moved")
        if status == SSK_ERR_ARGUMENT and f.flaw.name is not NULL:
            raise ValueError(_describe_flaw("iteration", f.flaw))
        if status == SSK_ERR_ARGUMENT:
            raise RuntimeError("native engine: the run has failed before or was not begun")
        raise KernelError(f"native engine: {ssk_message(status).decode('ascii')}")

    def counters(self):
        """Return what the last iteration has measured."""
        cdef ssk_measured_t m = ssk_sim_measured(self.sim)
        return IterationCounters(
            start_ps=m.start_ps,
            end_ps=m.end_ps,
            group_bytes=_copy(m.group_bytes, (m.n_counter_groups, self.c_problem.n_node_kinds, 2), np.int64),
            group_missing_bytes=_copy(
                m.group_missing_bytes, (m.n_counter_groups, self.c_problem.n_levels), np.int64
            ),
            samples=_copy(m.samples, (self.c_problem.n_blocks, m.n_samples), np.int64),
            block_home=_copy(m.block_home, (self.c_problem.n_blocks,), np.int32),
            node_used_bytes=_copy(m.node_used_bytes, (self.c_problem.n_nodes,), np.int64),
            executed_by=_copy(m.executed_by, (m.n_tasks,), np.int32),
            executed_ps=_copy(m.executed_ps, (0 if m.executed_ps is NULL else m.n_tasks,), np.int64),
            path_bytes=_copy(ssk_sim_summary(self.sim).path_bytes, (self.c_problem.n_paths,), np.int64),
        )

    def summary(self):
        """Return the counters of the whole run."""
        cdef ssk_summary_t s = ssk_sim_summary(self.sim)
        cdef ssk_problem_t *p = &self.c_problem
        cdef int32_t i, n = s.n_iterations
        # hits, misses, hit bytes, missing bytes
        cached = _copy(s.cache_counts, (n, p.n_domains, p.n_levels, 4), np.int64)
        iteration = np.empty(n, np.int32)
        spans = np.zeros((3, n), np.int64)  # start, end, what passes until the next one
        cdef int32_t[:] number = iteration
        cdef int64_t[:, :] span = spans
        for i in range(n):
            number[i] = s.iterations[i].number
            span[0, i], span[1, i] = s.iterations[i].start_ps, s.iterations[i].end_ps
            if i > 0:
                span[2, i - 1] = s.iterations[i].start_ps - s.iterations[i - 1].end_ps
        workers = np.empty((p.n_workers, sizeof(ssk_worker_counters_t) // sizeof(int64_t)), np.int64)
        cdef ssk_worker_counters_t *each = <ssk_worker_counters_t *>cnp.PyArray_DATA(<cnp.ndarray>workers)
        for i in range(p.n_workers):
            each[i] = ssk_sim_worker_counters(self.sim, i)
        return Summary(
            makespan_ps=s.iterations[n - 1].end_ps if n else 0,
            iteration=iteration,
            iteration_start_ps=spans[0],
            iteration_end_ps=spans[1],
            iteration_overhead_ps=spans[2],
            **by_worker(workers),
            node_bytes=_copy(s.node_bytes, (n, p.n_domains, p.n_nodes), np.int64),
            node_hit_bytes=_copy(s.node_hit_bytes, (n, p.n_nodes), np.int64),
            path_bytes=_copy(s.path_bytes, (p.n_paths,), np.int64),
            cache_hits=cached[..., 0].copy(),
            cache_misses=cached[..., 1].copy(),
            cache_hit_bytes=cached[..., 2].copy(),
            cache_missing_bytes=cached[..., 3].copy(),
            steals=_copy(s.steals, (p.n_distances,), np.int64),
            failed_probes=_copy(s.failed_probes, (p.n_distances,), np.int64),
            node_peak_bytes=_copy(s.node_peak_bytes, (p.n_nodes,), np.int64),
            **s.counters,
            managed_bytes=np.array([s.managed_bytes[0], s.managed_bytes[1]], np.int64),
        )

    def trace(self):
        """Hand over the events that are left; see :meth:`simsched.engine.backend.Backend.trace`."""
        if ssk_sim_flush_events(self.sim) != SSK_OK:
            self._raise(SSK_ERR_HOOK)
        return self.sink.trace() if isinstance(self.sink, KeptEvents) else None

    # ---------------------------------------------------------------- state that hooks may look at

    def now_ps(self):
        """Return the simulated time."""
        return ssk_sim_now(self.sim)

    def queue_length(self, group, instance):
        """Return the number of entries in a pool."""
        cdef int32_t g = _index(ssk_sim_n_groups(self.sim), group, "queue_length: group")
        cdef int32_t i = _index(ssk_sim_n_instances(self.sim, g), instance, "queue_length: instance")
        return ssk_sim_queue_length(self.sim, g, i)

    def load(self, resource):
        """Return what loads a resource, in bytes per ps."""
        return ssk_sim_load(self.sim, _index(self.c_problem.n_resources, resource, "load: resource"))

    def running_task(self, worker):
        """Return the task whose segments the worker is executing, -1 when there is none."""
        return ssk_sim_running_task(self.sim, self._worker(worker, "running_task: worker"))

    def has_failed(self, worker):
        """Return whether the worker has failed for good."""
        return bool(ssk_sim_has_failed_worker(self.sim, self._worker(worker, "has_failed: worker")))

    def progress(self, worker):
        """Return how far the worker is with the task that it executes, None when it does not."""
        cdef ssk_progress_t p
        if not ssk_sim_progress(self.sim, self._worker(worker, "progress: worker"), &p):
            return None
        return Progress(p.task, p.began_ps, p.phase, p.fraction)

    def holds(self, node, block):
        """Return whether a block is valid on a memory node."""
        return bool(ssk_sim_holds(self.sim, self._node(node, "holds: node"), self._block(block, "holds: block")))

    def expects(self, node, block):
        """Return whether a block is valid on a memory node, wanted there or on its way."""
        return bool(ssk_sim_expects(self.sim, self._node(node, "expects: node"), self._block(block, "expects: block")))

    def has_place(self, node, block):
        """Return whether a node has room for a block, or a place from an earlier time."""
        cdef int32_t n = self._node(node, "has_place: node")
        return bool(ssk_sim_has_place(self.sim, n, self._block(block, "has_place: block")))

    def driver_until_ps(self, node):
        """Return when the driver of a node will have prepared a copy; 0 when it prepares none."""
        return ssk_sim_driver_until_ps(self.sim, self._node(node, "driver_until_ps: node"))

    def executed_ps(self, task):
        """Return how long a task has been executed; 0 unless the plan times tasks."""
        return ssk_sim_executed_ps(self.sim, _index(self.n_tasks, task, "executed_ps: task"))

    def is_waiting(self, worker):
        """Return whether the worker is parked and active."""
        return bool(ssk_sim_is_waiting(self.sim, self._worker(worker, "is_waiting: worker")))

    def block_home(self, block):
        """Return the memory node of a block, -1 when it has none yet."""
        return ssk_sim_block_home(self.sim, self._block(block, "block_home: block"))

    cdef int32_t _worker(self, object worker, str query) except -1:
        return _index(self.c_problem.n_workers, worker, query)

    cdef int32_t _node(self, object node, str query) except -1:
        return _index(self.c_problem.n_nodes, node, query)

    cdef int32_t _block(self, object block, str query) except -1:
        return _index(self.c_problem.n_blocks, block, query)

    # ---------------------------------------------------------------- for tests and explanations

    def waiting_state(self):
        """Return what tasks wait for, as arrays by task; see :func:`simsched.engine.stall.explain_stall`."""
        cdef ssk_waiting_t waiting
        state = {
            name: np.empty(ssk_sim_measured(self.sim).n_tasks, dtype)
            for name, dtype in (
                ("pending", np.int32), ("outstanding", np.int32), ("started", np.uint8),
                ("pool_group", np.int32), ("pool_instance", np.int32),
            )
        }
        waiting.pending = <int32_t *>cnp.PyArray_DATA(<cnp.ndarray>state["pending"])
        waiting.outstanding = <int32_t *>cnp.PyArray_DATA(<cnp.ndarray>state["outstanding"])
        waiting.started = <uint8_t *>cnp.PyArray_DATA(<cnp.ndarray>state["started"])
        waiting.pool_group = <int32_t *>cnp.PyArray_DATA(<cnp.ndarray>state["pool_group"])
        waiting.pool_instance = <int32_t *>cnp.PyArray_DATA(<cnp.ndarray>state["pool_instance"])
        ssk_sim_waiting(self.sim, &waiting)
        return state

    def events_handled(self):
        """Return the number of pending events handled so far."""
        return ssk_sim_events_handled(self.sim)

    def verify(self):
        """Raise KernelError if derived state contradicts what it is derived from."""
        if ssk_sim_verify(self.sim) != SSK_OK:
            raise KernelError(f"native engine: {ssk_message(SSK_ERR_INVARIANT).decode('ascii')}")


cdef str _describe_flaw(str what, ssk_flaw_t flaw):
    """Return the message for a malformed argument."""
    name = flaw.name.decode("ascii")
    return f"{what}: {name} is malformed" + (f" at entry {flaw.index}" if flaw.index >= 0 else "")


cdef object _describe_decision(ssk_failure_t f):
    """Return the error for a hook's decision that is not allowed."""
    operands = {"task": f.task, "worker": f.worker, "taker": f.taker}
    return refusal(tuple(HOOKS)[f.hook], f.reason, **operands)
