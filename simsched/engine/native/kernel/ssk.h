/*
 * simsched kernel: public header and contract.
 *
 * The kernel executes one run of one problem, iteration by iteration, by the rules of docs/semantics.md. It is plain
 * C11 without global state: any number of simulations may run at the same time in different threads; one simulation is
 * used by one thread at a time.
 *
 * Units: times are int64_t picoseconds, rates are double bytes or operations per picosecond, sizes are int64_t bytes.
 * Indices are int32_t; -1 (SSK_NONE) means "none".
 *
 * Ownership: every array that is passed in stays the caller's. Arrays of the problem must live as long as the
 * simulation; those of graph, plan and moves until the next call that replaces them.
 *
 * Failure: functions that can fail return int; a negative value is one of SSK_ERR_*. ssk_sim_failure() then says more.
 * After a failure only the functions that read, ssk_sim_verify() excepted, and ssk_sim_free() may be called.
 */
#ifndef SSK_H
#define SSK_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SSK_CHECK_RESULT __attribute__((warn_unused_result))
#define SSK_COLD __attribute__((cold))
#else
#define SSK_CHECK_RESULT
#define SSK_COLD
#endif

#define SSK_NONE (-1)
/* Later than any event; about 53 days of simulated time. */
#define SSK_NEVER ((int64_t)1 << 62)
/* Largest cost, latency or arrival that a problem may contain. */
#define SSK_MAX_COST_PS ((int64_t)1 << 52)
#define SSK_MAX_SLICES 64 /* of an instance of a cache */

enum {
    SSK_OK = 0,
    SSK_MORE = 1,               /* the run goes on: call again */
    SSK_ERR_MEMORY = -1,        /* the allocator returned NULL */
    SSK_ERR_STALLED = -2,       /* tasks remain and no event is pending */
    SSK_ERR_NO_ROOM = -3,       /* first touch: failure.block, .bytes, .domain */
    SSK_ERR_NO_PROCESSOR = -4,  /* infinite operations: failure.task, .worker, .kind */
    SSK_ERR_HOOK = -5,          /* a hook asked to abort */
    SSK_ERR_DECISION = -6,      /* a hook's decision is not allowed: failure.reason and operands */
    SSK_ERR_MIGRATION = -7,     /* a move has no room: failure.block, .bytes, .node */
    SSK_ERR_TIME = -8,          /* the next event lies at or beyond SSK_NEVER */
    SSK_ERR_INVARIANT = -9,     /* ssk_sim_verify() found a contradiction */
    SSK_ERR_TOO_LARGE = -11,    /* blocks of one task: failure.bytes, .node */
    SSK_ERR_PROGRESS = -12,     /* no task has ended for the problem's progress_limit_ps */
    SSK_ERR_INSTANT = -13,      /* no task has ended at this instant, for too many events */
    SSK_ERR_ARGUMENT = -10      /* malformed argument or call at the wrong time: failure.flaw */
};

/* What a worker is doing. */
enum {
    SSK_PARKED = 0,
    SSK_PAYING = 1,
    SSK_EXECUTING = 2,
    SSK_COPYING = 3,   /* a block, between iterations */
    SSK_GATHERING = 4,
    SSK_AWAITING = 5,
    SSK_MOVING = 6     /* a block, while tasks run */
};

/* Where memory comes from. All three functions are needed; resize(NULL) allocates, release(NULL) does nothing. */
typedef struct {
    void *context;
    void *(*allocate)(void *context, size_t n_bytes);
    void *(*resize)(void *context, void *block, size_t n_bytes);
    void (*release)(void *context, void *block);
} ssk_allocator_t;

/* One random stream: 64 random bits per call. */
typedef struct {
    void *state;
    uint64_t (*next64)(void *state);
} ssk_random_t;

/*
 * Where trace events go: columns with room for `capacity` events; with capacity 0 events are only counted. When the
 * columns are full `take` gets the number of events in them, and then they are filled again from the start. A negative
 * result aborts the run with SSK_ERR_HOOK; `take` must not call ssk_sim_* functions that change the simulation.
 */
typedef struct {
    int64_t *time_ps;
    int32_t *kind, *worker, *task, *iteration;
    int64_t *arg0, *arg1;
    size_t capacity;
    void *context;
    int (*take)(void *context, size_t n_events);
} ssk_recorder_t;

/* What the simulation is given: the structs of problems, graphs and plans, and codes in them and in trace events. */
#include "interface.h"

enum { SSK_N_SCOPES = SSK_SCOPE_CLASS + 1 };

/* An answer of on_spawn beside SSK_CHILD_FIRST and SSK_PARENT_FIRST. */
enum { SSK_AS_PLANNED = 2 };

/* What a hook answers. `decisions` stay the hook's and are read before its next call. */
typedef struct {
    int32_t group, instance; /* of on_ready: the pool that the task enters; group SSK_NONE: it follows the plan */
    int32_t n_decisions;
    const ssk_decision_t *decisions;
} ssk_answer_t;

/*
 * Fine hooks of a policy; a NULL function is never called. Each gets `context` first. A negative result aborts the
 * run with SSK_ERR_HOOK. Hooks must not call ssk_sim_* functions that change the simulation.
 */
typedef struct {
    void *context;
    /* The child's spawn order; SSK_AS_PLANNED follows the plan. */
    int (*on_spawn)(void *context, int32_t parent, int32_t child, int32_t worker);
    int (*on_acquire)(void *context, int32_t task, int32_t worker, int32_t group, int32_t instance);
    /* Here and below *answer_ret says that nothing but the plan happens, unless the hook changes it. */
    int (*on_ready)(void *context, int32_t task, int32_t worker, ssk_answer_t *answer_ret);
    /* 1: carry out *decision_ret; 0: the worker parks. A transfer of it takes time. */
    int (*on_idle)(void *context, int32_t worker, ssk_decision_t *decision_ret);
    int (*on_start)(void *context, int32_t task, int32_t worker, ssk_answer_t *answer_ret);
    int (*on_finish)(void *context, int32_t task, int32_t worker, ssk_answer_t *answer_ret);
    /* A delayed transfer to this pool has landed. */
    int (*on_landing)(void *context, int32_t group, int32_t instance, ssk_answer_t *answer_ret);
    int (*on_timer)(void *context, ssk_answer_t *answer_ret);
    /* The time of a wake has come, or a move is over. Without this function neither is allowed. */
    int (*on_wake)(void *context, int64_t tag, ssk_answer_t *answer_ret);
    /*
     * The acquire order with a number that on_timer or on_wake has just decided on, read until the iteration ends or
     * the next one is asked for; NULL aborts the run.
     */
    const ssk_order_t *(*order)(void *context, int64_t number);
} ssk_hooks_t;

/* What is wrong with an argument: the array or field, a static string, and the entry or -1. */
typedef struct {
    const char *name;
    int64_t index;
} ssk_flaw_t;

/* Operands of the last failure; which of them mean something is said beside each SSK_ERR_* and SSK_REASON_*. */
typedef struct {
    int code, reason, hook;
    int32_t task, worker, taker, kind, block, node, domain;
    int64_t bytes;
    ssk_flaw_t flaw; /* of SSK_ERR_ARGUMENT; name is NULL when the call came at the wrong time */
} ssk_failure_t;

/* Measurements of one iteration of a run. */
typedef struct {
    int32_t number;
    int64_t start_ps, end_ps;
} ssk_iteration_t;

/* What a domain's workers find in one cache level: accesses that find all of their bytes, or not, and the bytes. */
typedef struct {
    int64_t hits, misses, hit_bytes, missing_bytes;
} ssk_cache_counts_t;

/* Counters of a whole run. Arrays belong to the simulation and are valid until it is changed or freed. */
typedef struct {
    int32_t n_iterations;
    const ssk_iteration_t *iterations;
    const int64_t *node_bytes;     /* n_iterations x n_domains x n_nodes */
    const int64_t *node_hit_bytes; /* n_iterations x n_nodes */
    const int64_t *path_bytes;     /* n_paths */
    const ssk_cache_counts_t *cache_counts; /* n_iterations x n_domains x n_levels */
    const int64_t *steals, *failed_probes; /* n_distances */
    const int64_t *node_peak_bytes;        /* n_nodes */
    int64_t managed_bytes[2];
    ssk_run_counters_t counters;
} ssk_summary_t;

/* Counters of the present (or last) iteration. Arrays belong to the simulation, as above. */
typedef struct {
    int32_t n_tasks, n_counter_groups, n_samples;
    int64_t start_ps, end_ps;
    const int64_t *group_bytes;         /* n_counter_groups x n_node_kinds x 2 */
    const int64_t *group_missing_bytes; /* n_counter_groups x n_levels */
    const int64_t *samples;     /* n_blocks x n_samples */
    const int32_t *block_home;  /* n_blocks */
    const int64_t *node_used_bytes;
    const int32_t *executed_by; /* n_tasks */
    const int64_t *executed_ps; /* n_tasks; NULL unless the plan times tasks */
} ssk_measured_t;

/* Destination arrays for ssk_sim_waiting(), one entry per task each; see simsched.engine.stall. */
typedef struct {
    int32_t *pending, *outstanding;
    uint8_t *started;
    int32_t *pool_group, *pool_instance;
} ssk_waiting_t;

/* See simsched.policy.contract.executions.Progress. */
typedef struct {
    int32_t task;
    int64_t began_ps, phase;
    double fraction;
} ssk_progress_t;

typedef struct ssk_sim ssk_sim_t;

/* Version of the kernel, compiler and flags: static strings. Whether assert() is compiled in. */
const char *ssk_version(void);
const char *ssk_compiler(void);
const char *ssk_flags(void);
int ssk_has_asserts(void);

/* Short description of an SSK_ERR_* code, a static string. */
const char *ssk_message(int code);

/* malloc(), realloc() and free() of the C library. */
ssk_allocator_t ssk_default_allocator(void);

/*
 * Check every number that could make the kernel read or write out of bounds, divide by zero or overflow. Lengths must be
 * right. SSK_OK or SSK_ERR_ARGUMENT with the first flaw. The ssk_sim_* functions below call these themselves.
 */
int ssk_problem_check(const ssk_problem_t *problem, ssk_flaw_t *flaw_ret) SSK_CHECK_RESULT;
int ssk_graph_check(const ssk_graph_t *graph, const ssk_problem_t *problem, ssk_flaw_t *flaw_ret) SSK_CHECK_RESULT;
int ssk_plan_check(const ssk_plan_t *plan, const ssk_graph_t *graph, const ssk_problem_t *problem,
                   ssk_flaw_t *flaw_ret) SSK_CHECK_RESULT;
/* The same for an order, which refers to the pools of a plan that has been checked. */
int ssk_order_check(const ssk_order_t *order, const ssk_plan_t *plan, const ssk_problem_t *problem,
                    ssk_flaw_t *flaw_ret) SSK_CHECK_RESULT;

/*
 * Prepares a run and stores it in *sim_ret, to be given to ssk_sim_free(). Copies the structs, not their arrays.
 * *flaw_ret is set with SSK_ERR_ARGUMENT.
 */
int ssk_sim_alloc(ssk_sim_t **sim_ret, const ssk_problem_t *problem, const ssk_hooks_t *hooks,
                  const ssk_allocator_t *allocator, ssk_flaw_t *flaw_ret) SSK_CHECK_RESULT;

/* Frees a simulation; NULL is allowed. */
void ssk_sim_free(ssk_sim_t *sim);

/*
 * Starts iteration `number` at the present time; ssk_sim_run() then executes it. With `last`, the run ends with the
 * last task of the iteration; otherwise the iteration includes the barrier after it.
 */
int ssk_sim_begin_iteration(ssk_sim_t *sim, int32_t number, const ssk_graph_t *graph, const ssk_plan_t *plan,
                            int last) SSK_CHECK_RESULT;

/* Starts a migration after `overhead_ps`; ssk_sim_run() then executes it. `n_workers` workers copy at once. */
int ssk_sim_begin_migration(ssk_sim_t *sim, int64_t overhead_ps, int32_t n_moves, const int32_t *blocks,
                            const int32_t *nodes, int32_t n_workers) SSK_CHECK_RESULT;

/* Handles up to max_events events of what was begun. Returns SSK_OK when it is complete, SSK_MORE when not yet. */
int ssk_sim_run(ssk_sim_t *sim, int64_t max_events) SSK_CHECK_RESULT;

/* Hands the events that are still in the recorder's columns to it: SSK_OK or SSK_ERR_HOOK. */
int ssk_sim_flush_events(ssk_sim_t *sim) SSK_CHECK_RESULT;

/* Recomputes derived state the slow way and compares: SSK_OK or SSK_ERR_INVARIANT. For tests; O(everything). */
int ssk_sim_verify(const ssk_sim_t *sim) SSK_CHECK_RESULT;

/* What the last failure was about. */
ssk_failure_t ssk_sim_failure(const ssk_sim_t *sim);

/* Live state for hooks. Indices out of range give 0 or SSK_NONE. */
int64_t ssk_sim_now(const ssk_sim_t *sim);
int32_t ssk_sim_n_groups(const ssk_sim_t *sim);
int32_t ssk_sim_n_instances(const ssk_sim_t *sim, int32_t group);
int64_t ssk_sim_queue_length(const ssk_sim_t *sim, int32_t group, int32_t instance);
/* What loads a resource since rates were last computed, in bytes per ps. */
double ssk_sim_load(const ssk_sim_t *sim, int32_t resource);
int32_t ssk_sim_running_task(const ssk_sim_t *sim, int32_t worker);
int ssk_sim_is_waiting(const ssk_sim_t *sim, int32_t worker);
int32_t ssk_sim_block_home(const ssk_sim_t *sim, int32_t block);
/* 1 when a worker has failed. */
int ssk_sim_has_failed_worker(const ssk_sim_t *sim, int32_t worker);
/* 1 when a worker is inside a segment: *progress_ret then says how far it is; otherwise 0. */
int ssk_sim_progress(const ssk_sim_t *sim, int32_t worker, ssk_progress_t *progress_ret);
/* 1 when a block is valid on a node. */
int ssk_sim_holds(const ssk_sim_t *sim, int32_t node, int32_t block);
/* 1 when a block is valid on a node, wanted there or on its way. */
int ssk_sim_expects(const ssk_sim_t *sim, int32_t node, int32_t block);
/* 1 when a node has room for a block that is valid or has been handed over there, or a place from an earlier time. */
int ssk_sim_has_place(const ssk_sim_t *sim, int32_t node, int32_t block);
/* When the driver of a node will have prepared the copy that it prepares; 0 when it prepares none. */
int64_t ssk_sim_driver_until_ps(const ssk_sim_t *sim, int32_t node);
/* Time that a task has been executed, up to the last segment that it has ended or left; 0 unless the plan times tasks. */
int64_t ssk_sim_executed_ps(const ssk_sim_t *sim, int32_t task);

/* Results. */
ssk_summary_t ssk_sim_summary(const ssk_sim_t *sim);
ssk_worker_counters_t ssk_sim_worker_counters(const ssk_sim_t *sim, int32_t worker);
ssk_measured_t ssk_sim_measured(const ssk_sim_t *sim);
void ssk_sim_waiting(const ssk_sim_t *sim, const ssk_waiting_t *waiting);
/* Number of events handled so far (not trace events). */
int64_t ssk_sim_events_handled(const ssk_sim_t *sim);

#endif
