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
    SSK_ERR_ARGUMENT = -10      /* malformed argument or call at the wrong time: failure.flaw */
};

/* Why a decision is not allowed; the operands are in ssk_failure_t. */
enum {
    SSK_REASON_NONE = 0,
    SSK_REASON_POOL = 1,         /* on_ready: .group or .instance does not exist; .task */
    SSK_REASON_IDLE_VICTIM = 2,  /* on_idle: .worker is not executing a task */
    SSK_REASON_IDLE_TAKER = 3,   /* on_idle: .worker asked, the decision names .taker */
    SSK_REASON_TIMER_VICTIM = 4, /* on_timer: .worker is not executing a task */
    SSK_REASON_TIMER_TAKER = 5,  /* on_timer: .taker is not waiting */
    SSK_REASON_IDLE_POOL = 6,    /* on_idle: .group or .instance does not exist */
    SSK_REASON_TIMER_POOL = 7,   /* on_timer: the same */
    SSK_REASON_EXCHANGE = 8,     /* on_timer: .worker and .taker are not two workers */
    SSK_REASON_KIND = 9,         /* the decision is of no kind that the hook may return, or its numbers mean nothing */
    SSK_REASON_IDLE_COPIED = 10, /* on_idle: data are copied, tasks cannot be moved */
    SSK_REASON_TIMER_COPIED = 11, /* on_timer: the same */
    SSK_REASON_IDLE_SPAWNS = 12,  /* on_idle: .task is no leaf, it cannot start over */
    SSK_REASON_TIMER_SPAWNS = 13, /* on_timer: the same */
    SSK_REASON_IDLE_SEVERAL = 14, /* on_idle: several workers execute .task, it cannot be moved */
    SSK_REASON_TIMER_SEVERAL = 15, /* on_timer: the same */
    SSK_REASON_READY_POOL = 16,   /* on_ready: .group or .instance of a transfer does not exist */
    SSK_REASON_FINISH_POOL = 17,  /* on_finish: the same */
    SSK_REASON_START_POOL = 18,   /* on_start: the same */
    SSK_REASON_LANDING_POOL = 19  /* on_landing: the same */
};

/* Trace events; see simsched/trace/schema.py. */
enum {
    SSK_ITERATION_START = 0,
    SSK_ITERATION_END = 1,
    SSK_TASK_READY = 2,
    SSK_ACQUIRE = 3,
    SSK_STEAL = 4,
    SSK_TASK_START = 5,
    SSK_ACCESS = 6,
    SSK_FLOW_END = 7,
    SSK_TASK_SUSPEND = 8,
    SSK_TASK_RESUME = 9,
    SSK_TASK_END = 10,
    SSK_PARK = 11,
    SSK_WAKE = 12,
    SSK_MIGRATE_START = 13,
    SSK_MIGRATE_END = 14,
    SSK_FIRST_TOUCH = 15,
    SSK_PREEMPT = 16,
    SSK_TIMER = 17,
    SSK_SPAWN = 18,
    SSK_TRANSFER = 19,
    SSK_ALLOCATE = 20,
    SSK_FREE = 21,
    SSK_EXCHANGE = 22,
    SSK_PAGE_FAULT = 23,
    SSK_PAGE_MOVE = 24,
    SSK_DUPLICATE = 25,
    SSK_KILL = 26,
    SSK_ACQUIRE_ORDER = 27,
    SSK_TASK_AWAIT = 28,
    SSK_SPEED = 29,
    SSK_FAILURE = 30,
    SSK_PACE = 31
};

/* Why a worker loses a task without result; see simsched/trace/schema.py. */
enum { SSK_LOSS_ENDED = 0, SSK_LOSS_KILLED = 1, SSK_LOSS_FAILED = 2 };

/* Codes of simsched/policy/contract/plan.py: SCOPES, WHERES, TAKES, bits of CONDITIONS, spawn orders. */
enum {
    SSK_SCOPE_WORKER = 0,
    SSK_SCOPE_DOMAIN = 1,
    SSK_SCOPE_SOCKET = 2,
    SSK_SCOPE_MACHINE = 3,
    SSK_SCOPE_CLASS = 4, /* instances are nobody's own: only SSK_ANYWHERE, one entry at a time */
    SSK_N_SCOPES = 5
};
enum { SSK_OWN = 0, SSK_SAME_DOMAIN = 1, SSK_OTHER_DOMAINS = 2, SSK_ANYWHERE = 3 };
enum { SSK_NEWEST = 0, SSK_OLDEST = 1, SSK_ENTRY = 2 }; /* the last one in decisions only */
enum { SSK_WHEN_HEAD = 1, SSK_WHEN_INACTIVE = 2, SSK_WHEN_NOT_HEAD = 4, SSK_WHEN_SUPPLIED = 8 };
/* How a step chooses among its candidates; see simsched/engine/victims.py. */
enum { SSK_UNIFORM = 0, SSK_RANKED = 1, SSK_WEIGHTED = 2 };
enum { SSK_FIRST = 0, SSK_ROUND_ROBIN = 1, SSK_LAST = 2 }; /* to whom tasks without a pusher go */
enum { SSK_GROUP_NONE = 0, SSK_GROUP_BY_SHARING = 1, SSK_GROUP_FROM_START = 2 }; /* which workers share pages */
enum { SSK_STAYS = 0, SSK_AT_WRITES = 1, SSK_AT_ACCESSES = 2 }; /* which accesses give a block a new home */
enum { SSK_CHILD_FIRST = 0, SSK_PARENT_FIRST = 1, SSK_AS_PLANNED = 2 };

/* What a worker is doing. */
enum { SSK_PARKED = 0, SSK_PAYING = 1, SSK_EXECUTING = 2, SSK_COPYING = 3, SSK_GATHERING = 4, SSK_AWAITING = 5 };

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

/* Kinds of decisions. */
enum {
    SSK_DECIDE_PREEMPT = 0,
    SSK_DECIDE_TRANSFER = 1,
    SSK_DECIDE_EXCHANGE = 2,
    SSK_DECIDE_DUPLICATE = 3,
    SSK_DECIDE_KILL = 4,
    SSK_DECIDE_ORDER = 5,
    SSK_DECIDE_PACE = 6
};

#define SSK_WHOLE_PACE 1000000000

typedef struct ssk_plan ssk_plan_t;

/*
 * A decision of a hook; on_ready, on_start, on_finish and on_landing decide on transfers and paces only.
 * SSK_DECIDE_PREEMPT: take the running task off `worker`; `other` continues it, or SSK_NONE.
 * SSK_DECIDE_TRANSFER: up to `count` entries leave a pool and enter another one after `delay_ps`, which may be 0
 * except for on_idle; with SSK_ENTRY as `take` only `entry` does, if the pool holds it.
 * SSK_DECIDE_DUPLICATE: `other` starts the task that `worker` executes once more.
 * SSK_DECIDE_KILL: `worker` loses the task that it executes; of on_timer only.
 * SSK_DECIDE_EXCHANGE: `worker` and `other` swap hardware threads, what they execute waits for `delay_ps`; of on_timer
 * only.
 * SSK_DECIDE_PACE: `worker` computes at `count` billionths of its speed, 1 to SSK_WHOLE_PACE, from now on; not of on_idle.
 * SSK_DECIDE_ORDER: the steps and lists of `plan` replace those of the present plan until the iteration ends; of
 * on_timer only. Its arrays are read until then or until the next such decision has been carried out.
 */
typedef struct {
    int32_t kind;
    int32_t worker, other;
    int32_t group, instance, to_group, to_instance, count, take, entry;
    int64_t delay_ps;
    const ssk_plan_t *plan;
} ssk_decision_t;

/* What on_ready, on_start, on_finish and on_landing answer. `decisions` stay the hook's and are read before its next call. */
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
    /* *answer_ret says that the task follows the plan and nothing else happens, unless the hook changes it. */
    int (*on_ready)(void *context, int32_t task, int32_t worker, ssk_answer_t *answer_ret);
    /* 1: carry out *decision_ret; 0: the worker parks. */
    int (*on_idle)(void *context, int32_t worker, ssk_decision_t *decision_ret);
    int (*on_start)(void *context, int32_t task, int32_t worker, ssk_answer_t *answer_ret);
    int (*on_finish)(void *context, int32_t task, int32_t worker, ssk_answer_t *answer_ret);
    /* A delayed transfer to this pool has landed. */
    int (*on_landing)(void *context, int32_t group, int32_t instance, ssk_answer_t *answer_ret);
    /* Number of decisions; *decisions_ret stays the hook's and is read before the next call. */
    int (*on_timer)(void *context, const ssk_decision_t **decisions_ret);
} ssk_hooks_t;

/* Runtime costs; the two tables hold their last value beyond their end and have at least one entry. */
typedef struct {
    int64_t spawn_child_first_ps, spawn_parent_first_ps, pop_ps, push_ps;
    int64_t lock_hold_ps, barrier_ps, context_switch_ps, page_fault_ps, page_move_ps;
    int64_t driver_look_ps, copy_hand_over_ps, device_allocation_ps, device_chunk_bytes; /* no chunk: nothing is allocated */
    const int64_t *steal_probe_ps, *steal_ps;
    int32_t n_steal_probe, n_steal;
} ssk_costs_t;

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

/* See simsched.engine.pooling.Pooling. */
typedef struct {
    int32_t n_tasks; /* of the graphs of iterations 1, 2, ...; 0: there are no pools, and all else is unused */
    const int32_t *size_class, *allocate_near;    /* n_blocks */
    const uint8_t *is_fresh, *is_untracked;       /* n_blocks */
    const int64_t *allocate_ptr, *release_ptr;    /* n_tasks + 1 */
    const int32_t *allocate, *release;
    int64_t n_allocate, n_release; /* lengths of allocate and release */
} ssk_pooling_t;

/* See simsched.engine.problem.Problem; shapes are given there. */
typedef struct {
    int32_t n_workers, n_cores, n_domains, n_sockets, n_nodes, n_node_kinds, n_blocks, n_paths, n_resources, n_levels;
    int32_t n_allowed;   /* nodes in a touch order */
    int32_t n_smt;       /* most workers on one core */
    int64_t n_granules;  /* length of granule_frame */
    int64_t n_crossings; /* length of path_resource and path_weight */
    int64_t n_curve;     /* length of curve */
    int32_t n_distances; /* distance classes that can occur */
    int32_t n_classes;   /* pools of a group of scope SSK_SCOPE_CLASS, 1 or more */
    const int32_t *worker_core, *worker_domain, *worker_kind;
    const double *worker_rate; /* n_workers x n_smt */
    const int32_t *domain_hops, *domain_socket;
    const int64_t *path_latency_ps;
    const double *path_share; /* n_paths: bytes per ps at a level of 1 */
    const double *path_cap;   /* n_paths x n_smt: the highest level */
    const int32_t *path_resource_ptr, *path_resource;
    const double *path_weight;
    const int32_t *path_access, *path_hit, *path_write; /* n_domains x n_nodes */
    const int32_t *path_copy;                           /* n_nodes x n_nodes */
    const double *resource_capacity;
    const int32_t *curve_ptr;
    const double *curve;
    const int64_t *node_capacity_bytes;
    const int32_t *node_domain, *node_kind;
    int32_t n_caches, n_cache_slices; /* instances and their slices, all levels together */
    const int32_t *cache_slices;      /* per level: slices of each of its instances */
    const int64_t *cache_slice_bytes; /* capacities, by level, then instance, then slice */
    const int64_t *cache_latency_ps;  /* this and the next: by level, then instance */
    const double *cache_rate;
    const double *cache_wait;       /* per level: share of the time of hits for which the core waits */
    const uint8_t *cache_is_victim; /* per level: filled by what the level before drops; NULL: none is */
    const int32_t *cache_instance; /* n_levels x n_workers */
    const int32_t *n_cache_instances;
    int32_t transfer_level; /* whose instances pass on what they have written; SSK_NONE */
    int64_t transfer_latency_ps;
    double transfer_rate;
    double displacement_rate; /* of what is passed on and displaces something, in addition; 0: at once */
    double upgrade_rate;      /* of what others give up to be written; 0: at once */
    const int64_t *granule_ptr, *granule_frame, *node_slots; /* blocks without bytes have no granules */
    const int64_t *block_bytes;
    const int64_t *taken_bytes; /* NULL: block_bytes */
    ssk_pooling_t pooling;
    const int32_t *home;
    const int32_t *touch_order; /* n_domains x n_allowed */
    const uint8_t *follows; /* per block: SSK_STAYS, ...; NULL: all stay */
    int32_t n_replicas;         /* most of a block; 0: there are none, and the next two are unused */
    const int32_t *replica;     /* n_blocks x n_replicas */
    const int32_t *node_rank;   /* n_domains x n_nodes */
    int32_t copies_data;        /* 1: blocks are copied to the node of the worker that uses them */
    const int32_t *worker_node;  /* this and the next: NULL where data are not copied */
    const uint8_t *node_is_device;
    ssk_costs_t costs;
    int64_t timer_period_ps; /* 0: no timer */
    int64_t progress_limit_ps; /* a run in which no task ends for so long is given up */
    int32_t n_changes;         /* of conditions; 0: the next three are unused */
    const int64_t *change_ps;  /* ascending */
    const uint8_t *change_core; /* n_changes x n_cores */
    const double *change_speed; /* what is left of worker_rate; 0: the cores fail */
    ssk_random_t victim, wake;
    ssk_recorder_t recorder;
} ssk_problem_t;

/* See simsched.workload.graph.TaskGraph. */
typedef struct {
    int32_t n_tasks, n_kinds;
    int64_t n_children, n_edges, n_accesses; /* lengths of child, of succ, of access_block */
    const double *ops, *join_ops;            /* n_kinds x n_tasks */
    const int64_t *child_ptr;
    const int32_t *child;
    const int64_t *succ_ptr;
    const int32_t *succ;
    const int64_t *access_ptr, *join_access;
    const int32_t *access_block;
    const int64_t *read_bytes, *written_bytes;
    const double *creation_ops;
    const int64_t *arrival_ps;
    const uint8_t *detached; /* 1: the parent does not wait for the task; NULL when there is no such task */
    const int32_t *occupancy; /* share of a device that each task takes up; NULL: 1 */
    const double *exposure; /* part of what the core waits for hits in each task; NULL: 1 */
    const double *access_share; /* n_accesses; NULL: operations are divided by bytes */
    const int32_t *access_after; /* n_accesses: task that must have ended before, SSK_NONE; NULL when there is none */
    const uint8_t *access_final; /* n_accesses; 1: nobody writes to the block afterwards; NULL when there is none */
    const int32_t *priority; /* of prefetches; NULL when all have the same */
    int32_t unchanged; /* 1: these are the arrays of the iteration before, and what they hold is still the same */
} ssk_graph_t;

/* What comes first of the data that tasks in a pool group want. */
enum { SSK_IN_ORDER = 1, SSK_BY_PRIORITY = 2 };

/* See simsched.engine.problem.ResolvedPlan. */
struct ssk_plan {
    int32_t n_groups, n_steps, n_counter_groups, n_samples;
    const int32_t *group_scope;
    const uint8_t *group_locked, *group_marks_active;
    const uint8_t *group_prefetches; /* 0, SSK_IN_ORDER or SSK_BY_PRIORITY */
    int32_t n_devices;
    const int32_t *group_device;    /* device that tasks from the group occupy, SSK_NONE; NULL without devices */
    const int32_t *device_capacity; /* n_devices */
    const int32_t *step_group, *step_where, *step_take, *step_when, *step_batch, *step_least;
    const int32_t *step_attempts; /* instances that a step draws at most; 0: until one is not empty */
    const int32_t *step_choice, *step_list; /* list of candidates, SSK_NONE with SSK_UNIFORM */
    int32_t n_lists;
    int64_t n_listed;                          /* length of list_instance and list_value */
    const int64_t *list_ptr;                   /* n_lists x n_workers + 1 */
    const int32_t *list_instance, *list_value; /* candidates; their ranks, ascending, or weights */
    const uint8_t *spawn_order;
    const int8_t *group_of;
    const int32_t *instance_of, *counter_group;
    const uint8_t *active;
    int32_t roots; /* SSK_FIRST, SSK_ROUND_ROBIN or SSK_LAST */
    int64_t monitor_period_ps;
    const int64_t *sample_offset_bytes; /* n_blocks x n_samples */
    int64_t balance_period_ps;          /* between scans that mark all pages; 0: pages do not follow accesses */
    int64_t balance_page_bytes;
    int32_t balance_faults; /* faulting accesses in a row from one domain that let a block move */
    int32_t balance_group;  /* who shares pages: SSK_GROUP_NONE, SSK_GROUP_BY_SHARING or SSK_GROUP_FROM_START */
    int32_t times_tasks;    /* 1: the time that each task is executed is measured */
};

/* What is wrong with an argument: the array or field, a static string, and the entry or -1. */
typedef struct {
    const char *name;
    int64_t index;
} ssk_flaw_t;

/* Operands of the last failure; which of them mean something is said beside each SSK_ERR_* and SSK_REASON_*. */
typedef struct {
    int code, reason;
    int32_t task, worker, taker, kind, block, node, domain, group, instance;
    int64_t bytes;
    ssk_flaw_t flaw; /* of SSK_ERR_ARGUMENT; name is NULL when the call came at the wrong time */
} ssk_failure_t;

/* Measurements of one iteration of a run. */
typedef struct {
    int32_t number;
    int64_t start_ps, end_ps;
} ssk_iteration_t;

/* Counters of one worker. */
typedef struct {
    int64_t busy_ps, spawn_ps, acquire_ps, migrate_ps, tasks;
} ssk_worker_counters_t;

/* What a domain's workers find in one cache level: accesses that find all of their bytes, or not, and the bytes. */
typedef struct {
    int64_t hits, misses, hit_bytes, missing_bytes;
} ssk_cache_counts_t;

/* Counters of a whole run. Arrays belong to the simulation and are valid until it is changed or freed. */
typedef struct {
    int32_t n_iterations;
    const ssk_iteration_t *iterations;
    const int64_t *node_bytes; /* n_iterations x n_domains x n_nodes */
    const ssk_cache_counts_t *cache_counts; /* n_iterations x n_domains x n_levels */
    const int64_t *steals, *failed_probes; /* n_distances */
    const int64_t *node_peak_bytes;        /* n_nodes */
    int64_t peak_bytes, recycled_blocks, managed_bytes[2], page_faults, page_fault_ps;
    int64_t memory_side_hit_bytes, requested_bytes, write_back_bytes, migrations, migrated_bytes, policy_ps, n_tasks, n_events;
    int64_t duplicates, kills, wasted_ps;
    int64_t exchanges, transfers, transferred_tasks;
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
/* The same for the steps and lists of `order`, which refer to the pools of a plan that has been checked. */
int ssk_order_check(const ssk_plan_t *order, const ssk_plan_t *plan, const ssk_problem_t *problem,
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
int64_t ssk_sim_queue_length(const ssk_sim_t *sim, int32_t group, int32_t instance);
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
