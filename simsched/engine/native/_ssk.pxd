"""Declarations of kernel/ssk.h that the binding uses."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t


cdef extern from "ssk.h" nogil:
    ctypedef struct ssk_random_t:
        void *state
        uint64_t (*next64)(void *state) noexcept nogil

    ctypedef struct ssk_recorder_t:
        int64_t *time_ps
        int32_t *kind
        int32_t *worker
        int32_t *task
        int32_t *iteration
        int64_t *arg0
        int64_t *arg1
        size_t capacity
        void *context
        int (*take)(void *, size_t) noexcept nogil


include "_structs.pxi"


cdef extern from "ssk.h" nogil:
    int SSK_OK, SSK_MORE, SSK_AS_PLANNED
    int SSK_ERR_MEMORY, SSK_ERR_STALLED, SSK_ERR_NO_ROOM, SSK_ERR_NO_PROCESSOR, SSK_ERR_HOOK
    int SSK_ERR_DECISION, SSK_ERR_MIGRATION, SSK_ERR_TIME, SSK_ERR_INVARIANT, SSK_ERR_ARGUMENT, SSK_ERR_TOO_LARGE
    int SSK_ERR_PROGRESS, SSK_ERR_INSTANT
    int SSK_ON_READY, SSK_ON_START, SSK_ON_FINISH, SSK_ON_LANDING, SSK_ON_TIMER, SSK_ON_WAKE

    ctypedef struct ssk_allocator_t:
        pass

    ctypedef struct ssk_answer_t:
        int32_t group, instance, n_decisions
        const ssk_decision_t *decisions

    ctypedef struct ssk_hooks_t:
        void *context
        int (*on_spawn)(void *, int32_t, int32_t, int32_t) noexcept nogil
        int (*on_acquire)(void *, int32_t, int32_t, int32_t, int32_t) noexcept nogil
        int (*on_ready)(void *, int32_t, int32_t, ssk_answer_t *) noexcept nogil
        int (*on_idle)(void *, int32_t, ssk_decision_t *) noexcept nogil
        int (*on_start)(void *, int32_t, int32_t, ssk_answer_t *) noexcept nogil
        int (*on_finish)(void *, int32_t, int32_t, ssk_answer_t *) noexcept nogil
        int (*on_landing)(void *, int32_t, int32_t, ssk_answer_t *) noexcept nogil
        int (*on_timer)(void *, ssk_answer_t *) noexcept nogil
        int (*on_wake)(void *, int64_t, ssk_answer_t *) noexcept nogil
        const ssk_order_t *(*order)(void *, int64_t) noexcept nogil

    ctypedef struct ssk_flaw_t:
        const char *name
        int64_t index

    ctypedef struct ssk_failure_t:
        int code, reason, hook
        int32_t task, worker, taker, kind, block, node, domain
        int64_t bytes
        ssk_flaw_t flaw

    ctypedef struct ssk_iteration_t:
        int32_t number
        int64_t start_ps, end_ps

    ctypedef struct ssk_summary_t:
        int32_t n_iterations
        const ssk_iteration_t *iterations
        const int64_t *node_bytes
        const int64_t *node_hit_bytes
        const int64_t *path_bytes
        const void *cache_counts
        const int64_t *steals
        const int64_t *failed_probes
        const int64_t *node_peak_bytes
        int64_t managed_bytes[2]
        ssk_run_counters_t counters

    ctypedef struct ssk_measured_t:
        int32_t n_tasks, n_counter_groups, n_samples
        int64_t start_ps, end_ps
        const int64_t *group_bytes
        const int64_t *group_missing_bytes
        const int64_t *samples
        const int32_t *block_home
        const int64_t *node_used_bytes
        const int32_t *executed_by
        const int64_t *executed_ps

    ctypedef struct ssk_waiting_t:
        int32_t *pending
        int32_t *outstanding
        uint8_t *started
        int32_t *pool_group
        int32_t *pool_instance

    ctypedef struct ssk_progress_t:
        int32_t task
        int64_t began_ps, phase
        double fraction

    ctypedef struct ssk_sim_t:
        pass

    const char *ssk_version()
    const char *ssk_compiler()
    const char *ssk_flags()
    int ssk_has_asserts()
    const char *ssk_message(int code)
    ssk_allocator_t ssk_default_allocator()
    int ssk_sim_alloc(ssk_sim_t **, const ssk_problem_t *, const ssk_hooks_t *, const ssk_allocator_t *,
                      ssk_flaw_t *)
    void ssk_sim_free(ssk_sim_t *)
    int ssk_sim_begin_iteration(ssk_sim_t *, int32_t, const ssk_graph_t *, const ssk_plan_t *, int)
    int ssk_sim_begin_migration(ssk_sim_t *, int64_t, int32_t, const int32_t *, const int32_t *, int32_t)
    int ssk_sim_run(ssk_sim_t *, int64_t)
    int ssk_sim_flush_events(ssk_sim_t *)
    int ssk_sim_verify(const ssk_sim_t *)
    ssk_failure_t ssk_sim_failure(const ssk_sim_t *)
    int64_t ssk_sim_now(const ssk_sim_t *)
    int32_t ssk_sim_n_groups(const ssk_sim_t *)
    int32_t ssk_sim_n_instances(const ssk_sim_t *, int32_t)
    int64_t ssk_sim_queue_length(const ssk_sim_t *, int32_t, int32_t)
    double ssk_sim_load(const ssk_sim_t *, int32_t)
    int32_t ssk_sim_running_task(const ssk_sim_t *, int32_t)
    int ssk_sim_is_waiting(const ssk_sim_t *, int32_t)
    int32_t ssk_sim_block_home(const ssk_sim_t *, int32_t)
    int ssk_sim_has_failed_worker(const ssk_sim_t *, int32_t)
    int ssk_sim_progress(const ssk_sim_t *, int32_t, ssk_progress_t *)
    int ssk_sim_holds(const ssk_sim_t *, int32_t, int32_t)
    int ssk_sim_expects(const ssk_sim_t *, int32_t, int32_t)
    int ssk_sim_has_place(const ssk_sim_t *, int32_t, int32_t)
    int64_t ssk_sim_driver_until_ps(const ssk_sim_t *, int32_t)
    int64_t ssk_sim_executed_ps(const ssk_sim_t *, int32_t)
    ssk_summary_t ssk_sim_summary(const ssk_sim_t *)
    ssk_worker_counters_t ssk_sim_worker_counters(const ssk_sim_t *, int32_t)
    ssk_measured_t ssk_sim_measured(const ssk_sim_t *)
    void ssk_sim_waiting(const ssk_sim_t *, const ssk_waiting_t *)
    int64_t ssk_sim_events_handled(const ssk_sim_t *)
