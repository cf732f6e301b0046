# Hooks of the policy as the kernel calls them, in Python or compiled; part of _kernel.pyx.


cdef extern from "simsched_hooks.h" nogil:
    int SIMSCHED_AS_PLANNED, SIMSCHED_CHILD_FIRST, SIMSCHED_PARENT_FIRST

    ctypedef struct simsched_view_t:
        int64_t now_ps
        int64_t (*queue_length)(const simsched_view_t *, int32_t, int32_t) noexcept nogil
        int32_t (*running_task)(const simsched_view_t *, int32_t) noexcept nogil
        int32_t (*is_waiting)(const simsched_view_t *, int32_t) noexcept nogil
        int32_t (*block_home)(const simsched_view_t *, int32_t) noexcept nogil

    ctypedef int32_t simsched_on_spawn_t(const simsched_view_t *, void *, int32_t, int32_t, int32_t) noexcept nogil
    ctypedef int64_t simsched_on_ready_t(const simsched_view_t *, void *, int32_t, int32_t) noexcept nogil
    ctypedef void simsched_on_acquire_t(
        const simsched_view_t *, void *, int32_t, int32_t, int32_t, int32_t
    ) noexcept nogil
    ctypedef void simsched_on_start_t(const simsched_view_t *, void *, int32_t, int32_t) noexcept nogil
    ctypedef int32_t simsched_on_idle_t(const simsched_view_t *, void *, int32_t) noexcept nogil
    ctypedef void simsched_on_finish_t(const simsched_view_t *, void *, int32_t, int32_t) noexcept nogil


cdef extern from "ssk.h" nogil:
    int SSK_DECIDE_PREEMPT


cdef enum:  # in the order of COMPILED_HOOKS
    SPAWN, READY, ACQUIRE, START, IDLE, FINISH


cdef struct compiled_t:
    void *function
    void *memory


cdef struct context_t:  # what the kernel hands to each hook
    simsched_view_t view  # first: looks find the rest by its address
    ssk_sim_t *sim
    void *backend
    int32_t n_workers
    compiled_t compiled[6]


# ------------------------------------------------------------------------------------------- in Python


cdef int _on_spawn(void *context, int32_t parent, int32_t child, int32_t worker) noexcept with gil:
    cdef NativeBackend backend = <NativeBackend>(<context_t *>context).backend
    try:
        order = backend.hooks.on_spawn(parent, child, worker)
        return SSK_AS_PLANNED if order is None else order
    except BaseException as error:
        backend.raised = error
        return -1


cdef int _on_acquire(void *context, int32_t task, int32_t worker, int32_t group, int32_t instance) noexcept with gil:
    cdef NativeBackend backend = <NativeBackend>(<context_t *>context).backend
    try:
        backend.hooks.on_acquire(task, worker, group, instance)
        return 0
    except BaseException as error:
        backend.raised = error
        return -1


cdef int _on_ready(void *context, int32_t task, int32_t worker, ssk_answer_t *answer) noexcept with gil:
    cdef NativeBackend backend = <NativeBackend>(<context_t *>context).backend
    try:
        chosen = backend.hooks.on_ready(task, worker)
        if chosen is not None:
            answer.group, answer.instance, decisions = chosen
            _fill_answer(backend, SSK_ON_READY, answer, decisions)
        return 0
    except BaseException as error:
        backend.raised = error
        return -1


cdef int _on_start(void *context, int32_t task, int32_t worker, ssk_answer_t *answer) noexcept with gil:
    cdef NativeBackend backend = <NativeBackend>(<context_t *>context).backend
    try:
        return _fill_answer(backend, SSK_ON_START, answer, backend.hooks.on_start(task, worker))
    except BaseException as error:
        backend.raised = error
        return -1


cdef int _on_idle(void *context, int32_t worker, ssk_decision_t *decision) noexcept with gil:
    cdef NativeBackend backend = <NativeBackend>(<context_t *>context).backend
    try:
        chosen = backend.hooks.on_idle(worker)
        if chosen is None:
            return 0
        _fill_decision(decision, chosen)
        return 1
    except BaseException as error:
        backend.raised = error
        return -1


cdef int _on_finish(void *context, int32_t task, int32_t worker, ssk_answer_t *answer) noexcept with gil:
    cdef NativeBackend backend = <NativeBackend>(<context_t *>context).backend
    try:
        return _fill_answer(backend, SSK_ON_FINISH, answer, backend.hooks.on_finish(task, worker))
    except BaseException as error:
        backend.raised = error
        return -1


cdef int _on_landing(void *context, int32_t group, int32_t instance, ssk_answer_t *answer) noexcept with gil:
    cdef NativeBackend backend = <NativeBackend>(<context_t *>context).backend
    try:
        return _fill_answer(backend, SSK_ON_LANDING, answer, backend.hooks.on_landing(group, instance))
    except BaseException as error:
        backend.raised = error
        return -1


cdef int _on_timer(void *context, ssk_answer_t *answer) noexcept with gil:
    cdef NativeBackend backend = <NativeBackend>(<context_t *>context).backend
    try:
        return _fill_answer(backend, SSK_ON_TIMER, answer, backend.hooks.on_timer())
    except BaseException as error:
        backend.raised = error
        return -1


cdef int _on_wake(void *context, int64_t tag, ssk_answer_t *answer) noexcept with gil:
    cdef NativeBackend backend = <NativeBackend>(<context_t *>context).backend
    try:
        return _fill_answer(backend, SSK_ON_WAKE, answer, backend.hooks.on_wake(tag))
    except BaseException as error:
        backend.raised = error
        return -1


cdef const ssk_order_t *_order(void *context, int64_t number) noexcept with gil:
    cdef NativeBackend backend = <NativeBackend>(<context_t *>context).backend
    try:
        backend.order_before, backend.order_arrays = backend.order_arrays, []  # that before is in force
        orders = backend.hooks.orders
        return backend._make_order(orders[index_below(len(orders), number, "AcquireOrder: number")])
    except BaseException as error:
        backend.raised = error
        return NULL


# ------------------------------------------------------------------------------------------- compiled


cdef int64_t _see_queue_length(const simsched_view_t *view, int32_t group, int32_t instance) noexcept nogil:
    return ssk_sim_queue_length((<context_t *>view).sim, group, instance)


cdef int32_t _see_running_task(const simsched_view_t *view, int32_t worker) noexcept nogil:
    return ssk_sim_running_task((<context_t *>view).sim, worker)


cdef int32_t _see_is_waiting(const simsched_view_t *view, int32_t worker) noexcept nogil:
    return ssk_sim_is_waiting((<context_t *>view).sim, worker)


cdef int32_t _see_block_home(const simsched_view_t *view, int32_t block) noexcept nogil:
    return ssk_sim_block_home((<context_t *>view).sim, block)


cdef compiled_t *_called(void *context, int which) noexcept nogil:
    """Return a hook that is called now."""
    cdef context_t *c = <context_t *>context
    c.view.now_ps = ssk_sim_now(c.sim)
    return &c.compiled[which]


cdef int _refuse(void *context, str hook, int64_t answer, tuple given) noexcept with gil:
    """Note the error for a wrong answer."""
    cdef NativeBackend backend = <NativeBackend>(<context_t *>context).backend
    try:
        backend.hooks.refuse(hook, answer, *given)
        raise AssertionError(f"{hook}: {answer} is refused by the kernel only")
    except BaseException as error:
        backend.raised = error
    return -1


cdef int _compiled_on_spawn(void *context, int32_t parent, int32_t child, int32_t worker) noexcept nogil:
    cdef compiled_t *hook = _called(context, SPAWN)
    cdef int32_t order = (<simsched_on_spawn_t *>hook.function)(
        <simsched_view_t *>context, hook.memory, parent, child, worker
    )
    if order == SIMSCHED_AS_PLANNED:
        return SSK_AS_PLANNED
    if order == SIMSCHED_CHILD_FIRST or order == SIMSCHED_PARENT_FIRST:
        return order
    with gil:
        return _refuse(context, "on_spawn", order, (parent, child, worker))


cdef int _compiled_on_ready(void *context, int32_t task, int32_t worker, ssk_answer_t *answer) noexcept nogil:
    cdef compiled_t *hook = _called(context, READY)
    cdef int64_t pool = (<simsched_on_ready_t *>hook.function)(<simsched_view_t *>context, hook.memory, task, worker)
    if pool == SIMSCHED_AS_PLANNED:
        return 0
    cdef const ssk_sim_t *sim = (<context_t *>context).sim
    cdef int64_t group = pool >> 32, instance = pool - (group << 32)
    if 0 <= group < ssk_sim_n_groups(sim) and instance < ssk_sim_n_instances(sim, <int32_t>group):
        answer.group, answer.instance = <int32_t>group, <int32_t>instance
        return 0
    with gil:
        return _refuse(context, "on_ready", pool, (task, worker))


cdef int _compiled_on_acquire(
    void *context, int32_t task, int32_t worker, int32_t group, int32_t instance
) noexcept nogil:
    cdef compiled_t *hook = _called(context, ACQUIRE)
    (<simsched_on_acquire_t *>hook.function)(<simsched_view_t *>context, hook.memory, task, worker, group, instance)
    return 0


cdef int _compiled_on_start(void *context, int32_t task, int32_t worker, ssk_answer_t *answer) noexcept nogil:
    cdef compiled_t *hook = _called(context, START)
    (<simsched_on_start_t *>hook.function)(<simsched_view_t *>context, hook.memory, task, worker)
    return 0


cdef int _compiled_on_idle(void *context, int32_t worker, ssk_decision_t *decision) noexcept nogil:
    cdef compiled_t *hook = _called(context, IDLE)
    cdef int32_t victim = (<simsched_on_idle_t *>hook.function)(<simsched_view_t *>context, hook.memory, worker)
    if victim == SIMSCHED_AS_PLANNED:
        return 0
    if 0 <= victim < (<context_t *>context).n_workers and victim != worker:
        decision.number[0], decision.number[1], decision.number[2] = SSK_DECIDE_PREEMPT, victim, worker
        return 1
    with gil:
        return _refuse(context, "on_idle", victim, (worker,))


cdef int _compiled_on_finish(void *context, int32_t task, int32_t worker, ssk_answer_t *answer) noexcept nogil:
    cdef compiled_t *hook = _called(context, FINISH)
    (<simsched_on_finish_t *>hook.function)(<simsched_view_t *>context, hook.memory, task, worker)
    return 0


cdef int _fill_hooks(ssk_hooks_t *c_hooks, object hooks, context_t *context) except -1:
    """Fill in which functions the kernel calls."""
    named = hooks.compiled
    memset(c_hooks, 0, sizeof(c_hooks[0]))
    memset(context, 0, sizeof(context[0]))
    context.view.queue_length, context.view.running_task = _see_queue_length, _see_running_task
    context.view.is_waiting, context.view.block_home = _see_is_waiting, _see_block_home
    c_hooks.context = context
    c_hooks.order = _order
    if hooks.wants_on_spawn:
        c_hooks.on_spawn = _compiled_on_spawn if "on_spawn" in named else _on_spawn
    if hooks.wants_on_acquire:
        c_hooks.on_acquire = _compiled_on_acquire if "on_acquire" in named else _on_acquire
    if hooks.wants_on_ready:
        c_hooks.on_ready = _compiled_on_ready if "on_ready" in named else _on_ready
    if hooks.wants_on_start:
        c_hooks.on_start = _compiled_on_start if "on_start" in named else _on_start
    if hooks.wants_on_idle:
        c_hooks.on_idle = _compiled_on_idle if "on_idle" in named else _on_idle
    if hooks.wants_on_finish:
        c_hooks.on_finish = _compiled_on_finish if "on_finish" in named else _on_finish
    if hooks.wants_on_landing:
        c_hooks.on_landing = _on_landing
    if hooks.wants_on_timer:
        c_hooks.on_timer = _on_timer
    if hooks.wants_on_wake:
        c_hooks.on_wake = _on_wake
    return 0


cdef int _take_compiled(context_t *context, object hooks) except -1:
    """Take over the compiled hooks of an iteration, which stay in memory as long as it runs."""
    cdef compiled_t *place
    for hook, function in hooks.compiled.items():
        place = &context.compiled[COMPILED_HOOKS.index(hook)]
        place.function = <void *><size_t>function.address
        place.memory = <void *><size_t>function.memory_address
    return 0
