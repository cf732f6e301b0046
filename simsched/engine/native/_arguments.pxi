# Checks what the driver hands over and takes it over into the structs of kernel/ssk.h; part of _kernel.pyx.


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


cdef int32_t _count(object value, str what, int32_t most=MAX_INT32) except? -1:
    """Return a number that has to fit into 32 bits."""
    if not 0 <= value <= most:
        raise ValueError(f"{what}: found {value}, accepted 0 to {most}")
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
    p.n_classes = _count(problem.n_classes, "Problem.n_classes", MAX_GROUPS)
    _fill_paths(p, problem, kept)
    _fill_memory(p, problem, kept)
    _fill_pooling(p, problem, kept)
    _fill_costs(&p.costs, problem.costs, kept)
    _length(problem, "change_ps")
    changes = len(problem.change_ps)
    p.n_changes = changes
    p.change_ps = <const int64_t *>_array(kept, problem, "change_ps", np.int64, (changes,))
    p.change_core = <const uint8_t *>_array(kept, problem, "change_core", np.uint8, (changes, p.n_cores))
    p.change_speed = <const double *>_array(kept, problem, "change_speed", np.float64, (changes,))
    p.timer_period_ps = _time(problem.timer_period_ps, "Problem.timer_period_ps")
    p.progress_limit_ps = _time(problem.progress_limit_ps, "Problem.progress_limit_ps")
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
    p.path_share = <const double *>_array(kept, paths, "share", np.float64, (n_paths,))
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
    for name in ("n_cache_instances", "cache_latency_ps", "cache_slice_bytes", "block_bytes", "granule_frame"):
        _length(problem, name)
    workers, domains, nodes = p.n_workers, p.n_domains, p.n_nodes
    levels, blocks, granules = problem.n_levels, len(problem.block_bytes), len(problem.granule_frame)
    caches = len(problem.cache_latency_ps)
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
    p.n_caches, p.n_cache_slices = caches, len(problem.cache_slice_bytes)
    p.cache_slices = <const int32_t *>_array(kept, problem, "cache_slices", np.int32, (levels,))
    p.cache_slice_bytes = <const int64_t *>_array(kept, problem, "cache_slice_bytes", np.int64, (p.n_cache_slices,))
    p.cache_latency_ps = <const int64_t *>_array(kept, problem, "cache_latency_ps", np.int64, (caches,))
    p.cache_rate = <const double *>_array(kept, problem, "cache_rate", np.float64, (caches,))
    p.cache_wait = <const double *>_array(kept, problem, "cache_wait", np.float64, (levels,))
    p.cache_is_victim = <const uint8_t *>_array(kept, problem, "cache_is_victim", np.uint8, (levels,))
    p.cache_instance = <const int32_t *>_array(kept, problem, "cache_instance", np.int32, (levels, workers))
    p.n_cache_instances = <const int32_t *>_array(kept, problem, "n_cache_instances", np.int32, (levels,))
    p.transfer_level = problem.transfer_level
    p.transfer_latency_ps = problem.transfer_latency_ps
    p.transfer_rate = problem.transfer_rate
    p.displacement_rate = problem.displacement_rate
    p.upgrade_rate = problem.upgrade_rate
    p.granule_ptr = <const int64_t *>_array(kept, problem, "granule_ptr", np.int64, (blocks + 1,))
    p.granule_frame = <const int64_t *>_array(kept, problem, "granule_frame", np.int64, (granules,))
    p.block_bytes = <const int64_t *>_array(kept, problem, "block_bytes", np.int64, (blocks,))
    p.home = <const int32_t *>_array(kept, problem, "home", np.int32, (blocks,))
    p.touch_order = <const int32_t *>_array(kept, problem, "touch_order", np.int32, (domains, allowed))
    _length(problem, "replica")
    if problem.replica.ndim != 2:
        raise ValueError("Problem.replica: accepted an array with two axes")
    replicas = problem.replica.shape[1]
    p.n_replicas = replicas
    p.replica = <const int32_t *>_array(kept, problem, "replica", np.int32, (blocks, replicas))
    p.node_rank = <const int32_t *>_array(kept, problem, "node_rank", np.int32, (domains, nodes))
    p.copies_data = bool(problem.copies_data)
    p.worker_node = <const int32_t *>_array(kept, problem, "worker_node", np.int32, (workers,))
    p.node_is_device = <const uint8_t *>_array(kept, problem, "node_is_device", np.uint8, (nodes,))
    if p.copies_data and nodes > 64:
        raise ValueError(f"Problem: found {nodes} nodes, accepted at most 64 where data are copied")
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
    c.page_fault_ps = _time(costs.page_fault_ps, "RuntimeCosts.page_fault_ps")
    c.page_move_ps = _time(costs.page_move_ps, "RuntimeCosts.page_move_ps")
    c.driver_look_ps = _time(costs.driver_look_ps, "RuntimeCosts.driver_look_ps")
    c.copy_hand_over_ps = _time(costs.copy_hand_over_ps, "RuntimeCosts.copy_hand_over_ps")
    c.device_allocation_ps = _time(costs.device_allocation_ps, "RuntimeCosts.device_allocation_ps")
    c.device_chunk_bytes = costs.device_chunk_bytes
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
    if graph.occupancy is not None:
        g.occupancy = <const int32_t *>_array(kept, graph, "occupancy", np.int32, (n,))
    if graph.exposure is not None:
        g.exposure = <const double *>_array(kept, graph, "exposure", np.float64, (n,))
    if graph.access_share is not None:
        g.access_share = <const double *>_array(kept, graph, "access_share", np.float64, accesses)
    if graph.access_after is not None:
        g.access_after = <const int32_t *>_array(kept, graph, "access_after", np.int32, accesses)
    if graph.access_final is not None:
        g.access_final = <const uint8_t *>_array(kept, graph, "access_final", np.bool_, accesses)
    if graph.priority is not None:
        g.priority = <const int32_t *>_array(kept, graph, "priority", np.int32, (n,))
    return 0


cdef int _fill_victims(ssk_plan_t *r, object victims, tuple steps, int workers, list kept) except -1:
    """Take over the VictimLists of a plan."""
    _length(victims, "instance")
    listed = (len(victims.instance),)
    r.step_choice = <const int32_t *>_array(kept, victims, "step_choice", np.int32, steps)
    r.step_list = <const int32_t *>_array(kept, victims, "step_list", np.int32, steps)
    r.n_lists, r.n_listed = _count(victims.n_lists, "VictimLists.n_lists"), listed[0]
    r.list_ptr = <const int64_t *>_array(kept, victims, "ptr", np.int64, (r.n_lists * workers + 1,))
    r.list_instance = <const int32_t *>_array(kept, victims, "instance", np.int32, listed)
    r.list_value = <const int32_t *>_array(kept, victims, "value", np.int32, listed)
    return 0


cdef int _fill_order(ssk_plan_t *r, object plan, int workers, list kept) except -1:
    """Take over the acquire order of a ResolvedPlan."""
    _length(plan, "step_group")
    steps = (len(plan.step_group),)
    r.n_steps = steps[0]
    r.step_group = <const int32_t *>_array(kept, plan, "step_group", np.int32, steps)
    r.step_where = <const int32_t *>_array(kept, plan, "step_where", np.int32, steps)
    r.step_take = <const int32_t *>_array(kept, plan, "step_take", np.int32, steps)
    r.step_when = <const int32_t *>_array(kept, plan, "step_when", np.int32, steps)
    r.step_least = <const int32_t *>_array(kept, plan, "step_least", np.int32, steps)
    r.step_attempts = <const int32_t *>_array(kept, plan, "step_attempts", np.int32, steps)
    _fill_victims(r, plan.victims, steps, workers, kept)
    return 0


cdef int _fill_plan(ssk_plan_t *r, object plan, int n, int workers, int blocks, list kept) except -1:
    """Take over a ResolvedPlan."""
    _length(plan, "group_scope")
    offsets = plan.sample_offset_bytes
    if not isinstance(offsets, np.ndarray) or offsets.ndim != 2:
        raise ValueError("ResolvedPlan.sample_offset_bytes: accepted an array with two axes")
    groups = (len(plan.group_scope),)
    r.n_groups = groups[0]
    r.n_counter_groups = _count(plan.n_counter_groups, "ResolvedPlan.n_counter_groups", MAX_GROUPS)
    r.n_samples = _count(offsets.shape[1], "ResolvedPlan.sample_offset_bytes")
    r.group_scope = <const int32_t *>_array(kept, plan, "group_scope", np.int32, groups)
    r.group_locked = <const uint8_t *>_array(kept, plan, "group_locked", np.uint8, groups)
    r.group_marks_active = <const uint8_t *>_array(kept, plan, "group_marks_active", np.uint8, groups)
    r.group_prefetches = <const uint8_t *>_array(kept, plan, "group_prefetches", np.uint8, groups)
    r.n_devices = _count(len(plan.device_capacity), "ResolvedPlan.device_capacity")
    if r.n_devices > 0:
        r.group_device = <const int32_t *>_array(kept, plan, "group_device", np.int32, groups)
        r.device_capacity = <const int32_t *>_array(kept, plan, "device_capacity", np.int32, (r.n_devices,))
    _fill_order(r, plan, workers, kept)
    r.spawn_order = <const uint8_t *>_array(kept, plan, "spawn_order", np.uint8, (n,))
    r.group_of = <const int8_t *>_array(kept, plan, "group_of", np.int8, (n,))
    r.instance_of = <const int32_t *>_array(kept, plan, "instance_of", np.int32, (n,))
    r.counter_group = <const int32_t *>_array(kept, plan, "counter_group", np.int32, (n,))
    r.active = <const uint8_t *>_array(kept, plan, "active", np.uint8, (workers,))
    r.roots = plan.roots
    r.monitor_period_ps = _time(plan.monitor_period_ps, "ResolvedPlan.monitor_period_ps")
    r.balance_period_ps = _time(plan.balance_period_ps, "ResolvedPlan.balance_period_ps")
    r.balance_page_bytes = plan.balance_page_bytes
    r.balance_faults = _count(plan.balance_faults, "ResolvedPlan.balance_faults")
    r.balance_group = _count(plan.balance_group, "ResolvedPlan.balance_group")
    r.times_tasks = bool(plan.times_tasks)
    r.sample_offset_bytes = <const int64_t *>_array(
        kept, plan, "sample_offset_bytes", np.int64, (blocks, offsets.shape[1])
    )
    return 0


cdef bint _is_order(object decision) except? True:
    """Tell whether a decision of a hook is an acquire order; refuse what is none at all."""
    if not isinstance(decision, tuple) or len(decision) < 2:  # no bounds are checked below
        raise ValueError(f"decision: found {decision!r}, accepted a tuple with its kind first")
    return decision[0] == SSK_DECIDE_ORDER


cdef int _fill_decision(ssk_decision_t *d, tuple chosen) except -1:
    """Take over a decision of a hook, but an acquire order; see :data:`simsched.engine.backend.Decision`."""
    _is_order(chosen)
    memset(d, 0, sizeof(d[0]))
    d.kind, rest = chosen[0], chosen[1:]
    if d.kind == SSK_DECIDE_TRANSFER:
        d.group, d.instance, d.to_group, d.to_instance = rest[:4]
        d.count, d.delay_ps, d.take, d.entry = rest[4:]
    elif d.kind == SSK_DECIDE_EXCHANGE:
        d.worker, d.other, d.delay_ps = rest
    elif d.kind == SSK_DECIDE_PACE:
        d.worker, d.count = rest
    else:
        d.worker, d.other = rest
    return 0


cdef object _fill_decisions(ssk_answer_t *answer, object chosen):
    """Take over decisions of a hook; return what keeps them in memory."""
    cdef ssk_decision_t *place
    cdef Py_ssize_t i
    memory = np.zeros(max(1, len(chosen)) * sizeof(ssk_decision_t), np.uint8)
    place = <ssk_decision_t *>cnp.PyArray_DATA(<cnp.ndarray>memory)
    for i in range(len(chosen)):
        _fill_decision(&place[i], chosen[i])
    answer.decisions = place
    answer.n_decisions = _count(len(chosen), "decisions")
    return memory
