# cython: language_level=3, boundscheck=False, wraparound=False
"""Binding of the C kernel: checks and hands over arrays, calls hooks, turns codes into exceptions.

The simulation itself is in kernel/ and described in kernel/ssk.h.
"""

import numpy as np

from simsched.engine.backend import IterationCounters
from simsched.engine.stall import TOO_LONG, explain_stall
from simsched.errors import KernelError, ModelError, PolicyError, StalledError
from simsched.trace.schema import Summary
from simsched.trace.sink import KeptEvents, make_columns, make_sink

cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid
from libc.string cimport memcpy, memset
from numpy.random cimport bitgen_t

from simsched.engine.native._ssk cimport *

cnp.import_array()

DEF CHUNK = 100_000  # events between two looks at pending signals
DEF MAX_INT32 = 2**31 - 1


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


cdef const void *_array(list kept, object owner, str name, object dtype, tuple shape) except? NULL:
    """Return the data of an attribute after checking it; the array is kept alive in `kept`."""
    array = getattr(owner, name)
    what = f"{type(owner).__name__}.{name}"
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{what}: found {type(array).__name__}, accepted ndarray")
    if array.dtype != np.dtype(dtype):
        raise ValueError(f"{what}: found type {array.dtype}, accepted {np.dtype(dtype)}")
    if array.shape != shape:
        raise ValueError(f"{what}: found shape {array.shape}, accepted {shape}")
    if not (array.flags.c_contiguous and array.flags.aligned):
        raise ValueError(f"{what}: found strides {array.strides}, accepted a contiguous array")
    kept.append(array)
    return cnp.PyArray_DATA(<cnp.ndarray>array)


cdef int32_t _count(object value, str what) except? -1:
    """Return a number that has to fit into 32 bits."""
    if not 0 <= value <= MAX_INT32:
        raise ValueError(f"{what}: found {value}, accepted 0 to {MAX_INT32}")
    return value


cdef int64_t _time(object value, str what) except? -1:
    """Return a duration; the kernel checks its range more closely."""
    if not 0 <= value < 2**62:
        raise ValueError(f"{what}: found {value} ps, accepted 0 to 2**62 - 1")
    return value


cdef int _length(object owner, str name) except -1:
    """Raise unless an attribute is an array with at least one axis."""
    array = getattr(owner, name)
    if not isinstance(array, np.ndarray) or array.ndim == 0:
        raise ValueError(f"{type(owner).__name__}.{name}: found {array!r}, accepted an array")
    _count(len(array), f"{type(owner).__name__}.{name}: length")
    return 0


cdef ssk_random_t _random(list kept, object stream) except *:
    """Return the C interface of a NumPy bit generator."""
    cdef ssk_random_t random
    capsule = getattr(stream, "capsule", None)
    if not PyCapsule_IsValid(capsule, "BitGenerator"):
        raise ValueError(f"random stream: found {stream!r}, accepted a numpy bit generator")
    cdef bitgen_t *bits = <bitgen_t *>PyCapsule_GetPointer(capsule, "BitGenerator")
    kept.append(stream)
    random.state = bits.state
    random.next64 = bits.next_uint64
    return random


cdef object _copy(const void *data, tuple shape, object dtype):
    """Return a new array with the kernel's data."""
    array = np.empty(shape, dtype)
    if array.nbytes:
        memcpy(cnp.PyArray_DATA(<cnp.ndarray>array), data, array.nbytes)
    return array


cdef int _on_ready(void *context, int32_t task, int32_t worker, int32_t *group, int32_t *instance) noexcept with gil:
    cdef NativeBackend backend = <NativeBackend>context
    try:
        chosen = backend.hooks.on_ready(task, worker)
        if chosen is None:
            return 0
        group[0], instance[0] = chosen
        return 1
    except BaseException as error:
        backend.raised = error
        return -1


cdef int _on_idle(void *context, int32_t worker, ssk_preempt_t *decision) noexcept with gil:
    cdef NativeBackend backend = <NativeBackend>context
    try:
        chosen = backend.hooks.on_idle(worker)
        if chosen is None:
            return 0
        decision.victim, decision.taker = chosen
        return 1
    except BaseException as error:
        backend.raised = error
        return -1


cdef int _on_finish(void *context, int32_t task, int32_t worker) noexcept with gil:
    cdef NativeBackend backend = <NativeBackend>context
    try:
        backend.hooks.on_finish(task, worker)
        return 0
    except BaseException as error:
        backend.raised = error
        return -1


cdef int _on_timer(void *context, const ssk_preempt_t **decisions) noexcept with gil:
    cdef NativeBackend backend = <NativeBackend>context
    try:
        chosen = [(int(victim), int(taker)) for victim, taker in backend.hooks.on_timer()]
        backend.decisions = np.array(chosen, np.int32).reshape(-1, 2)
        decisions[0] = <const ssk_preempt_t *>cnp.PyArray_DATA(<cnp.ndarray>backend.decisions)
        return len(chosen)
    except BaseException as error:
        backend.raised = error
        return -1


cdef int _take_events(void *context, size_t n_events) noexcept with gil:
    cdef NativeBackend backend = <NativeBackend>context
    try:
        backend.sink.append({name: column[:n_events] for name, column in backend.columns.items()})
        return 0
    except BaseException as error:
        backend.raised = error
        return -1


cdef class NativeBackend:
    """Engine in C; see :class:`simsched.engine.backend.Backend`.

    One instance is used by one thread at a time; different instances may run in different threads, because the
    interpreter lock is released while the kernel runs.
    """

    cdef ssk_sim_t *sim
    cdef object problem, hooks, graph, raised, decisions, sink, columns
    cdef list problem_arrays, iteration_arrays, move_arrays
    cdef bint is_running
    cdef int32_t n_blocks, n_node_kinds

    def __cinit__(self):
        self.sim = NULL

    def __init__(self, problem, hooks, *, events):
        cdef ssk_problem_t c_problem
        cdef ssk_hooks_t c_hooks
        cdef ssk_allocator_t allocator = ssk_default_allocator()
        cdef ssk_flaw_t flaw
        if self.sim is not NULL:
            raise RuntimeError("a backend is prepared once")
        self.problem, self.hooks = problem, hooks
        self.problem_arrays, self.iteration_arrays, self.move_arrays = [], [], []
        self.sink = make_sink(events)
        memset(&c_problem, 0, sizeof(c_problem))
        _fill_problem(&c_problem, problem, self.problem_arrays)
        if self.sink is not None:
            self._fill_recorder(&c_problem.recorder)
        self.n_blocks, self.n_node_kinds = c_problem.n_blocks, c_problem.n_node_kinds
        memset(&c_hooks, 0, sizeof(c_hooks))
        c_hooks.context = <void *>self
        if hooks.wants_on_ready:
            c_hooks.on_ready = _on_ready
        if hooks.wants_on_idle:
            c_hooks.on_idle = _on_idle
        if hooks.wants_on_finish:
            c_hooks.on_finish = _on_finish
        if hooks.wants_on_timer:
            c_hooks.on_timer = _on_timer
        flaw.name, flaw.index = NULL, -1
        status = ssk_sim_alloc(&self.sim, &c_problem, &c_hooks, &allocator, &flaw)
        if status == SSK_ERR_ARGUMENT:
            raise ValueError(_describe_flaw("Problem", flaw))
        if status != SSK_OK:
            raise KernelError(f"native engine: {ssk_message(status).decode('ascii')}")
        hooks.attach(self)

    def __dealloc__(self):
        ssk_sim_free(self.sim)

    # ---------------------------------------------------------------- driver's side

    def run_iteration(self, number, graph, plan, *, last):
        """Run one iteration; see :meth:`simsched.engine.backend.Backend.run_iteration`."""
        cdef ssk_graph_t c_graph
        cdef ssk_plan_t c_plan
        cdef int32_t c_number = _count(number, "number")
        cdef int c_last = bool(last), status
        self._enter()
        try:
            arrays = []
            memset(&c_graph, 0, sizeof(c_graph))
            memset(&c_plan, 0, sizeof(c_plan))
            _fill_graph(&c_graph, graph, arrays)
            _fill_plan(&c_plan, plan, c_graph.n_tasks, self.problem.n_workers, self.n_blocks, arrays)
            previous, self.iteration_arrays = self.iteration_arrays, arrays  # freed after the kernel lets go
            c_graph.unchanged = graph is self.graph and graph.is_fixed
            self.graph = graph
            with nogil:
                status = ssk_sim_begin_iteration(self.sim, c_number, &c_graph, &c_plan, c_last)
            del previous
            self._finish(status)
        finally:
            self.is_running = False

    def migrate(self, overhead_ps, blocks, nodes, workers):
        """Wait for the policy's overhead, then carry out migrations."""
        cdef int64_t c_overhead = _time(overhead_ps, "overhead_ps")
        cdef int32_t c_workers = max(-1, min(int(workers), MAX_INT32))
        cdef int status
        self._enter()
        try:
            moves = [np.ascontiguousarray(array, np.int32) for array in (blocks, nodes)]
            if moves[0].ndim != 1 or moves[0].shape != moves[1].shape:
                raise ValueError(f"moves: found shapes {moves[0].shape} and {moves[1].shape}, accepted equal ones")
            self.move_arrays = moves
            status = ssk_sim_begin_migration(
                self.sim, c_overhead, _count(len(moves[0]), "moves"),
                <const int32_t *>cnp.PyArray_DATA(<cnp.ndarray>moves[0]),
                <const int32_t *>cnp.PyArray_DATA(<cnp.ndarray>moves[1]), c_workers,
            )
            self._finish(status)
        finally:
            self.is_running = False

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
            raise StalledError(explain_stall(self.graph, now_ps=self.now_ps(), **self.waiting_state()))
        if status == SSK_ERR_TIME:
            raise ModelError(TOO_LONG)
        if status == SSK_ERR_NO_ROOM:
            raise ModelError(
                f"memory: block {f.block} of {f.bytes} bytes finds no room on the nodes that domain {f.domain} "
                "may touch"
            )
        if status == SSK_ERR_NO_PROCESSOR:
            kind = self.graph.kinds[int(self.problem.worker_kind[f.worker])]
            raise ModelError(
                f"task {f.task} cannot run on worker {f.worker}: it has no cost for processor kind {kind!r}"
            )
        if status == SSK_ERR_DECISION:
            raise PolicyError(_describe_decision(f))
        if status == SSK_ERR_MIGRATION:
            raise PolicyError(f"migration: block {f.block} ({f.bytes} bytes) does not fit on node {f.node}")
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
            group_bytes=_copy(m.group_bytes, (m.n_counter_groups, self.n_node_kinds, 2), np.int64),
            group_missing_bytes=_copy(
                m.group_missing_bytes, (m.n_counter_groups, len(self.problem.cache_capacity_bytes)), np.int64
            ),
            samples=_copy(m.samples, (self.n_blocks, m.n_samples), np.int64),
            block_home=_copy(m.block_home, (self.n_blocks,), np.int32),
            node_used_bytes=_copy(m.node_used_bytes, (self.problem.n_nodes,), np.int64),
            executed_by=_copy(m.executed_by, (m.n_tasks,), np.int32),
        )

    def summary(self):
        """Return the counters of the whole run."""
        cdef ssk_summary_t s = ssk_sim_summary(self.sim)
        cdef ssk_worker_counters_t w
        cdef int32_t i
        n_levels, n_distances = len(self.problem.cache_capacity_bytes), self.problem.n_distances
        # hits, misses, hit bytes, missing bytes
        cached = _copy(s.cache_counts, (s.n_iterations, self.problem.n_domains, n_levels, 4), np.int64)
        spans = np.array(
            [(s.iterations[i].number, s.iterations[i].start_ps, s.iterations[i].end_ps)
             for i in range(s.n_iterations)], np.int64
        ).reshape(-1, 3)
        overhead = np.zeros(len(spans), np.int64)
        overhead[: max(0, len(spans) - 1)] = spans[1:, 1] - spans[: max(0, len(spans) - 1), 2]
        workers = []
        for i in range(self.problem.n_workers):
            w = ssk_sim_worker_counters(self.sim, i)
            workers.append((w.busy_ps, w.spawn_ps, w.acquire_ps, w.migrate_ps, w.tasks))
        by_worker = np.array(workers, np.int64).T.copy()
        return Summary(
            makespan_ps=int(spans[len(spans) - 1, 2]) if len(spans) else 0,
            iteration=spans[:, 0].astype(np.int32),
            iteration_start_ps=spans[:, 1].copy(),
            iteration_end_ps=spans[:, 2].copy(),
            iteration_overhead_ps=overhead,
            worker_busy_ps=by_worker[0],
            worker_spawn_ps=by_worker[1],
            worker_acquire_ps=by_worker[2],
            worker_migrate_ps=by_worker[3],
            tasks_per_worker=by_worker[4],
            node_bytes=_copy(
                s.node_bytes, (s.n_iterations, self.problem.n_domains, self.problem.n_nodes), np.int64
            ),
            cache_hits=cached[..., 0].copy(),
            cache_misses=cached[..., 1].copy(),
            cache_hit_bytes=cached[..., 2].copy(),
            cache_missing_bytes=cached[..., 3].copy(),
            memory_side_hit_bytes=s.memory_side_hit_bytes,
            requested_bytes=s.requested_bytes,
            steals=_copy(s.steals, (n_distances,), np.int64),
            failed_probes=_copy(s.failed_probes, (n_distances,), np.int64),
            migrations=s.migrations,
            migrated_bytes=s.migrated_bytes,
            policy_ps=s.policy_ps,
            n_tasks=s.n_tasks,
            n_events=s.n_events,
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

    def queue_length(self, int32_t group, int32_t instance):
        """Return the number of entries in a pool."""
        return ssk_sim_queue_length(self.sim, group, instance)

    def running_task(self, int32_t worker):
        """Return the task whose segments the worker is executing, -1 when there is none."""
        return ssk_sim_running_task(self.sim, worker)

    def is_waiting(self, int32_t worker):
        """Return whether the worker is parked and active."""
        return bool(ssk_sim_is_waiting(self.sim, worker))

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


cdef str _describe_decision(ssk_failure_t f):
    """Return the message for a hook's decision that is not allowed."""
    if f.reason == SSK_REASON_POOL:
        return f"on_ready: task {f.task}: no pool with group {f.group}, instance {f.instance}"
    if f.reason == SSK_REASON_IDLE_TAKER:
        return f"on_idle: worker {f.worker} asked, found a task for {f.taker}"
    if f.reason == SSK_REASON_TIMER_TAKER:
        return f"on_timer: worker {f.taker} cannot take a task: it is not waiting"
    hook = "on_idle" if f.reason == SSK_REASON_IDLE_VICTIM else "on_timer"
    return f"{hook}: worker {f.worker} is not executing a task"


cdef int _fill_problem(ssk_problem_t *p, object problem, list kept) except -1:
    """Take over a Problem."""
    _length(problem, "worker_core")
    _length(problem, "domain_socket")
    _length(problem, "node_capacity_bytes")
    workers, domains, nodes = problem.n_workers, problem.n_domains, problem.n_nodes
    if min(workers, domains, nodes) < 1:
        raise ValueError(f"Problem: found {workers} workers, {domains} domains, {nodes} nodes, accepted 1 or more")
    smt = problem.n_smt
    p.n_workers, p.n_domains, p.n_nodes = workers, domains, nodes
    p.n_smt = _count(smt, "Problem.n_smt")
    p.worker_core = <const int32_t *>_array(kept, problem, "worker_core", np.int32, (workers,))
    p.worker_domain = <const int32_t *>_array(kept, problem, "worker_domain", np.int32, (workers,))
    p.worker_kind = <const int32_t *>_array(kept, problem, "worker_kind", np.int32, (workers,))
    p.worker_rate = <const double *>_array(kept, problem, "worker_rate", np.float64, (workers, smt))
    p.domain_hops = <const int32_t *>_array(kept, problem, "domain_hops", np.int32, (domains, domains))
    p.domain_socket = <const int32_t *>_array(kept, problem, "domain_socket", np.int32, (domains,))
    p.n_cores = _count(int(problem.worker_core.max()) + 1, "Problem.worker_core")
    p.n_sockets = _count(int(problem.domain_socket.max()) + 1, "Problem.domain_socket")
    p.n_distances = _count(problem.n_distances, "Problem.n_distances")
    _fill_paths(p, problem, kept)
    _fill_memory(p, problem, kept)
    _fill_costs(&p.costs, problem.costs, kept)
    p.timer_period_ps = _time(problem.timer_period_ps, "Problem.timer_period_ps")
    p.victim = _random(kept, problem.victim_stream)
    p.wake = _random(kept, problem.wake_stream)
    return 0


cdef int _fill_paths(ssk_problem_t *p, object problem, list kept) except -1:
    """Take over paths and resources."""
    paths, domains, nodes = problem.paths, p.n_domains, p.n_nodes
    for name in ("latency_ps", "resource"):
        _length(paths, name)
    for name in ("resource_capacity", "curve"):
        _length(problem, name)
    n_paths, n_crossings = len(paths.latency_ps), len(paths.resource)
    n_resources, n_curve = len(problem.resource_capacity), len(problem.curve)
    p.n_paths, p.n_crossings, p.n_resources, p.n_curve = n_paths, n_crossings, n_resources, n_curve
    p.path_latency_ps = <const int64_t *>_array(kept, paths, "latency_ps", np.int64, (n_paths,))
    p.path_cap = <const double *>_array(kept, paths, "cap", np.float64, (n_paths, p.n_smt))
    p.path_resource_ptr = <const int32_t *>_array(kept, paths, "resource_ptr", np.int32, (n_paths + 1,))
    p.path_resource = <const int32_t *>_array(kept, paths, "resource", np.int32, (n_crossings,))
    p.path_weight = <const double *>_array(kept, paths, "weight", np.float64, (n_crossings,))
    p.path_access = <const int32_t *>_array(kept, paths, "access", np.int32, (domains, nodes))
    p.path_hit = <const int32_t *>_array(kept, paths, "hit", np.int32, (domains, nodes))
    p.path_write = <const int32_t *>_array(kept, paths, "write", np.int32, (domains, nodes))
    p.path_copy = <const int32_t *>_array(kept, paths, "copy", np.int32, (nodes, nodes))
    p.resource_capacity = <const double *>_array(kept, problem, "resource_capacity", np.float64, (n_resources,))
    p.curve_ptr = <const int32_t *>_array(kept, problem, "curve_ptr", np.int32, (n_resources + 1,))
    p.curve = <const double *>_array(kept, problem, "curve", np.float64, (n_curve,))
    return 0


cdef int _fill_memory(ssk_problem_t *p, object problem, list kept) except -1:
    """Take over nodes, caches and blocks."""
    for name in ("cache_capacity_bytes", "block_bytes", "granule_frame"):
        _length(problem, name)
    workers, domains, nodes = p.n_workers, p.n_domains, p.n_nodes
    levels, blocks, granules = len(problem.cache_capacity_bytes), len(problem.block_bytes), len(problem.granule_frame)
    touch_order = problem.touch_order
    if not isinstance(touch_order, np.ndarray) or touch_order.ndim != 2:
        raise ValueError("Problem.touch_order: accepted an array with two axes")
    allowed = touch_order.shape[1]
    p.n_levels, p.n_blocks, p.n_granules, p.n_allowed = levels, blocks, granules, allowed
    p.node_capacity_bytes = <const int64_t *>_array(kept, problem, "node_capacity_bytes", np.int64, (nodes,))
    p.node_domain = <const int32_t *>_array(kept, problem, "node_domain", np.int32, (nodes,))
    p.node_kind = <const int32_t *>_array(kept, problem, "node_kind", np.int32, (nodes,))
    p.n_node_kinds = _count(int(problem.node_kind.max()) + 1, "Problem.node_kind")
    p.node_slots = <const int64_t *>_array(kept, problem, "node_slots", np.int64, (nodes,))
    p.cache_capacity_bytes = <const int64_t *>_array(kept, problem, "cache_capacity_bytes", np.int64, (levels,))
    p.cache_latency_ps = <const int64_t *>_array(kept, problem, "cache_latency_ps", np.int64, (levels,))
    p.cache_rate = <const double *>_array(kept, problem, "cache_rate", np.float64, (levels,))
    p.cache_instance = <const int32_t *>_array(kept, problem, "cache_instance", np.int32, (levels, workers))
    p.n_cache_instances = <const int32_t *>_array(kept, problem, "n_cache_instances", np.int32, (levels,))
    p.transfer_level = problem.transfer_level
    p.transfer_latency_ps = problem.transfer_latency_ps
    p.transfer_rate = problem.transfer_rate
    p.granule_ptr = <const int64_t *>_array(kept, problem, "granule_ptr", np.int64, (blocks + 1,))
    p.granule_frame = <const int64_t *>_array(kept, problem, "granule_frame", np.int64, (granules,))
    p.block_bytes = <const int64_t *>_array(kept, problem, "block_bytes", np.int64, (blocks,))
    p.home = <const int32_t *>_array(kept, problem, "home", np.int32, (blocks,))
    p.touch_order = <const int32_t *>_array(kept, problem, "touch_order", np.int32, (domains, allowed))
    return 0


cdef int _fill_costs(ssk_costs_t *c, object costs, list kept) except -1:
    """Take over runtime costs."""
    c.spawn_child_first_ps = _time(costs.spawn_child_first_ps, "RuntimeCosts.spawn_child_first_ps")
    c.spawn_parent_first_ps = _time(costs.spawn_parent_first_ps, "RuntimeCosts.spawn_parent_first_ps")
    c.pop_ps = _time(costs.pop_ps, "RuntimeCosts.pop_ps")
    c.push_ps = _time(costs.push_ps, "RuntimeCosts.push_ps")
    c.lock_hold_ps = _time(costs.lock_hold_ps, "RuntimeCosts.lock_hold_ps")
    c.barrier_ps = _time(costs.barrier_ps, "RuntimeCosts.barrier_ps")
    c.context_switch_ps = _time(costs.context_switch_ps, "RuntimeCosts.context_switch_ps")
    tables = [np.array([_time(value, "RuntimeCosts") for value in table], np.int64)
              for table in (costs.steal_probe_ps, costs.steal_ps)]
    kept += tables
    c.n_steal_probe, c.n_steal = len(tables[0]), len(tables[1])
    c.steal_probe_ps = <const int64_t *>cnp.PyArray_DATA(<cnp.ndarray>tables[0])
    c.steal_ps = <const int64_t *>cnp.PyArray_DATA(<cnp.ndarray>tables[1])
    return 0


cdef int _fill_graph(ssk_graph_t *g, object graph, list kept) except -1:
    """Take over a TaskGraph."""
    for name in ("child", "succ", "access_block"):
        _length(graph, name)
    if not isinstance(graph.ops, np.ndarray) or graph.ops.ndim != 2:
        raise ValueError("TaskGraph.ops: accepted an array with two axes")
    kinds, n = graph.ops.shape
    g.n_kinds, g.n_tasks = _count(kinds, "TaskGraph.kinds"), _count(n, "TaskGraph.n_tasks")
    g.n_children, g.n_edges, g.n_accesses = len(graph.child), len(graph.succ), len(graph.access_block)
    accesses = (len(graph.access_block),)
    g.ops = <const double *>_array(kept, graph, "ops", np.float64, (kinds, n))
    g.join_ops = <const double *>_array(kept, graph, "join_ops", np.float64, (kinds, n))
    g.child_ptr = <const int64_t *>_array(kept, graph, "child_ptr", np.int64, (n + 1,))
    g.child = <const int32_t *>_array(kept, graph, "child", np.int32, (len(graph.child),))
    g.succ_ptr = <const int64_t *>_array(kept, graph, "succ_ptr", np.int64, (n + 1,))
    g.succ = <const int32_t *>_array(kept, graph, "succ", np.int32, (len(graph.succ),))
    g.access_ptr = <const int64_t *>_array(kept, graph, "access_ptr", np.int64, (n + 1,))
    g.join_access = <const int64_t *>_array(kept, graph, "join_access", np.int64, (n,))
    g.access_block = <const int32_t *>_array(kept, graph, "access_block", np.int32, accesses)
    g.read_bytes = <const int64_t *>_array(kept, graph, "read_bytes", np.int64, accesses)
    g.written_bytes = <const int64_t *>_array(kept, graph, "written_bytes", np.int64, accesses)
    g.creation_ops = <const double *>_array(kept, graph, "creation_ops", np.float64, (n,))
    g.arrival_ps = <const int64_t *>_array(kept, graph, "arrival_ps", np.int64, (n,))
    if graph.detached is not None:
        g.detached = <const uint8_t *>_array(kept, graph, "detached", np.bool_, (n,))
    return 0


cdef int _fill_plan(ssk_plan_t *r, object plan, int n, int workers, int blocks, list kept) except -1:
    """Take over a ResolvedPlan."""
    for name in ("group_scope", "step_group"):
        _length(plan, name)
    offsets = plan.sample_offset_bytes
    if not isinstance(offsets, np.ndarray) or offsets.ndim != 2:
        raise ValueError("ResolvedPlan.sample_offset_bytes: accepted an array with two axes")
    groups, steps = (len(plan.group_scope),), (len(plan.step_group),)
    r.n_groups, r.n_steps = groups[0], steps[0]
    r.n_counter_groups = _count(plan.n_counter_groups, "ResolvedPlan.n_counter_groups")
    r.n_samples = _count(offsets.shape[1], "ResolvedPlan.sample_offset_bytes")
    r.group_scope = <const int32_t *>_array(kept, plan, "group_scope", np.int32, groups)
    r.group_locked = <const uint8_t *>_array(kept, plan, "group_locked", np.uint8, groups)
    r.group_marks_active = <const uint8_t *>_array(kept, plan, "group_marks_active", np.uint8, groups)
    r.step_group = <const int32_t *>_array(kept, plan, "step_group", np.int32, steps)
    r.step_where = <const int32_t *>_array(kept, plan, "step_where", np.int32, steps)
    r.step_take = <const int32_t *>_array(kept, plan, "step_take", np.int32, steps)
    r.step_when = <const int32_t *>_array(kept, plan, "step_when", np.int32, steps)
    r.spawn_order = <const uint8_t *>_array(kept, plan, "spawn_order", np.uint8, (n,))
    r.group_of = <const int8_t *>_array(kept, plan, "group_of", np.int8, (n,))
    r.instance_of = <const int32_t *>_array(kept, plan, "instance_of", np.int32, (n,))
    r.counter_group = <const int32_t *>_array(kept, plan, "counter_group", np.int32, (n,))
    r.active = <const uint8_t *>_array(kept, plan, "active", np.uint8, (workers,))
    r.round_robin_roots = bool(plan.round_robin_roots)
    r.monitor_period_ps = _time(plan.monitor_period_ps, "ResolvedPlan.monitor_period_ps")
    r.sample_offset_bytes = <const int64_t *>_array(
        kept, plan, "sample_offset_bytes", np.int64, (blocks, offsets.shape[1])
    )
    return 0
