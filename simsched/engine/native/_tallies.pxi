# Many runs of one program, one after the other without Python; part of _kernel.pyx.


cdef class Steps:
    """The iterations of a program as the kernel takes them."""

    cdef list kept
    cdef int32_t first  # number of the first one
    cdef Py_ssize_t n
    cdef int32_t *part  # of each iteration: which graph
    cdef int32_t *planned  # of each part: which plan
    cdef ssk_graph_t *graph
    cdef ssk_plan_t *plan

    def __init__(self, parts, order, first):
        plans = list({id(plan): None for _, plan in parts})
        part = np.array(order, np.int32)
        planned = np.array([plans.index(id(plan)) for _, plan in parts], np.int32)
        graphs = np.zeros(len(parts) * sizeof(ssk_graph_t), np.uint8)
        filled = np.zeros(len(parts) * sizeof(ssk_plan_t), np.uint8)
        self.kept, self.first, self.n = [part, planned, graphs, filled], first, len(part)
        self.part = <int32_t *>cnp.PyArray_DATA(<cnp.ndarray>part)
        self.planned = <int32_t *>cnp.PyArray_DATA(<cnp.ndarray>planned)
        self.graph = <ssk_graph_t *>cnp.PyArray_DATA(<cnp.ndarray>graphs)
        self.plan = <ssk_plan_t *>cnp.PyArray_DATA(<cnp.ndarray>filled)

    cdef int fill(self, list parts, const ssk_problem_t *problem) except -1:
        """Take over graphs and plans."""
        cdef Py_ssize_t i
        for i in range(len(parts)):
            _fill_graph(&self.graph[i], parts[i][0], problem, self.kept)
            _fill_plan(&self.plan[i], parts[i][1], &self.graph[i], problem, self.kept)
        return 0


cdef int _run_steps(const ssk_problem_t *problem, Steps steps, int64_t *row) except -100 nogil:
    """Make a run and fill its row; return a status."""
    cdef ssk_sim_t *sim = NULL
    cdef ssk_flaw_t flaw
    cdef ssk_allocator_t allocator = ssk_default_allocator()
    cdef Py_ssize_t k
    cdef int32_t part, before = -1
    cdef int status = ssk_sim_alloc(&sim, problem, NULL, &allocator, &flaw)
    for k in range(steps.n):
        if status != SSK_OK:
            break
        part = steps.part[k]
        steps.graph[part].unchanged = part == before
        steps.plan[part].unchanged = k > 0 and steps.planned[part] == steps.planned[before]
        status = ssk_sim_begin_iteration(
            sim, steps.first + <int32_t>k, &steps.graph[part], &steps.plan[part], k == steps.n - 1
        )
        before = part
        if status == SSK_OK:
            status = _run_to_end(sim)
    if status == SSK_OK:
        _fill_row(sim, problem, row)
    ssk_sim_free(sim)
    return status


cdef int _run_to_end(ssk_sim_t *sim) except -100 nogil:
    """Run what was begun, looking at signals now and then; a simulation that they end is freed."""
    cdef int status = ssk_sim_run(sim, CHUNK)
    while status == SSK_MORE:
        with gil:
            try:
                PyErr_CheckSignals()
            except BaseException:
                ssk_sim_free(sim)
                raise
        status = ssk_sim_run(sim, CHUNK)
    return status


cdef void _fill_row(const ssk_sim_t *sim, const ssk_problem_t *p, int64_t *row) noexcept nogil:
    """Fill the row of a run; see :data:`simsched.engine.tallies.TALLIED`."""
    cdef ssk_summary_t s = ssk_sim_summary(sim)
    cdef ssk_worker_counters_t w
    cdef int64_t used, i
    row[0] = s.iterations[s.n_iterations - 1].end_ps if s.n_iterations else 0
    for i in range(p.n_workers):
        w = ssk_sim_worker_counters(sim, <int32_t>i)
        used = w.busy_ps + w.spawn_ps + w.acquire_ps + w.migrate_ps
        row[1] += w.busy_ps
        row[2] += w.spawn_ps
        row[3] += w.acquire_ps
        row[4] += w.migrate_ps
        row[5] += row[0] - used if row[0] > used else 0
    for i in range(p.n_distances):
        row[6] += s.steals[i]
        row[7] += s.failed_probes[i]
    for i in range(<int64_t>s.n_iterations * p.n_domains * p.n_nodes):
        row[8] += s.node_bytes[i]
    memcpy(row + N_TOTALS, &s.counters, sizeof(s.counters))
