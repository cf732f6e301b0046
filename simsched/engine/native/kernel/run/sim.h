/* The simulation: all state of one run. */
#ifndef SSK_SIM_H
#define SSK_SIM_H

#include "base.h"
#include "caches/caches.h"
#include "caches/sidecache.h"
#include "copies/copies.h"
#include "copies/drivers.h"
#include "flows/calendar.h"
#include "flows/flows.h"
#include "memory/blockpools.h"
#include "memory/replicas.h"
#include "pools/devices.h"
#include "pools/flights.h"
#include "pools/pools.h"
#include "pools/routes.h"
#include "pools/victims.h"
#include "run/conditions.h"
#include "run/moves.h"
#include "run/seats.h"
#include "run/tasks.h"
#include "run/timers.h"
#include "run/trace.h"
#include "run/wakes.h"
#include "runtime/runtime.h"

/* Actions of a worker. */
enum {
    SSK_WAIT = 0,
    SSK_ACT_SEARCH,      /* look for work */
    SSK_ACT_BEGIN,       /* start or resume `task` */
    SSK_ACT_ACCESS,      /* next segment of the body or join, or what follows it */
    SSK_ACT_FLOW,        /* next flow of the segment, or its end */
    SSK_ACT_SEGMENT_END,
    SSK_ACT_SPAWN,       /* next child, or what follows the last */
    SSK_ACT_CREATE,      /* the cost of a parent-first spawn is paid: create the child */
    SSK_ACT_SYNC,        /* all children are spawned */
    SSK_ACT_JOIN,
    SSK_ACT_END,
    SSK_ACT_COPY,        /* next migration */
    SSK_ACT_GATHERED,    /* the blocks of the body or join are there */
    SSK_ACT_MOVE_READ,   /* the cost of a move is paid: read the block */
    SSK_ACT_MOVE_WRITE,
    SSK_ACT_MOVE_END
};

/* Events without a worker, of which there is one of a kind, in the order of their kinds. */
enum {
    SSK_RARE_ARRIVAL = 0,
    SSK_RARE_LANDING,
    SSK_RARE_WAKE,
    SSK_RARE_BOUNDARY,
    SSK_RARE_POLICY,
    SSK_RARE_CHANGE,
    SSK_N_RARE
};

/* What ssk_sim_run() is to complete. */
enum { SSK_PHASE_IDLE = 0, SSK_PHASE_TASKS, SSK_PHASE_BARRIER, SSK_PHASE_OVERHEAD, SSK_PHASE_COPIES };

typedef struct {
    /* what it does */
    uint8_t state; /* SSK_PARKED, ... */
    uint8_t then;  /* action after the timer */
    bool busy;
    double lag;    /* how long before the present time its last wait was really over, in ps */
    int32_t task;
    int32_t called_group, called_instance; /* pool to which a push has called it; -1 */
    int32_t party; /* workers that searched at the same time when it was woken */
    /* segment */
    double ops_left, rate;
    double since_lag;      /* operations are known for the time since - since_lag */
    double end_lag;        /* lag with which the segment ends, once its flows are over */
    int64_t since, start;
    int64_t tail, tail_end;
    int64_t flow_bytes[SSK_N_WAYS];
    int32_t flow_path;     /* of the running flow */
    int32_t node;          /* home of the accessed block */
    uint8_t flow_way[SSK_N_WAYS];
    bool flowing;
    uint8_t n_flows, flow; /* flows of the segment; the running one */
    /* body or join */
    int64_t access, access_end, n_accesses; /* next place, end, number of all */
    int64_t total_bytes;
    union {
        int64_t claimed;  /* first access whose blocks are claimed; access_end when none is; only where data are copied */
        int64_t executed; /* the last access that has begun; only where accesses wait for tasks */
    };
    double ops;
    /* Migrations happen while there are no tasks. Another size of the struct costs twenty instructions per task. */
    union {
        int64_t began; /* when it has started or resumed its task */
        struct {
            int32_t move_block, move_node; /* while its state is SSK_COPYING */
        };
    };
    ssk_worker_counters_t counters;
} ssk_worker_t;

/* Marks of a block's pages: the last scan after which some have faulted, how many, and how often in a row for whom. */
typedef struct {
    int64_t scan, faulted;
    int32_t worker, times;
} ssk_marks_t;

struct ssk_sim {
    ssk_allocator_t allocator;
    ssk_problem_t problem;
    ssk_hooks_t hooks, policy_hooks; /* those in force, and those of the policy */
    int64_t now;
    double lag; /* how long before `now` the present event has really happened, in ps */
    int32_t iteration;
    ssk_worker_t *workers;
    double *pace; /* per worker: the part of its speed at which it computes */
    /* pending events, in the order of their kinds; SSK_NO_TIMER when there is none */
    ssk_flows_t flows;
    ssk_timers_t timers;
    int64_t rare_time[SSK_N_RARE], first_rare_time; /* of events without a worker; the earliest */
    /* cores */
    ssk_seats_t seats;
    int32_t *core_busy;                /* busy workers */
    int32_t *module_busy;              /* the same of each module */
    int32_t *module_ptr, *module_worker; /* workers of each module, ascending */
    /* memory */
    ssk_caches_t caches;
    ssk_sidecache_t sidecache;
    ssk_blockpools_t blockpools;
    ssk_marks_t *marks; /* per block; NULL until a plan lets pages follow accesses, like the next two */
    uint8_t *grouped;     /* per worker: it has had a fault on pages of another one */
    int64_t *node_faults; /* per node the average up to the last scan, then what has been counted since */
    int64_t group_scan;
    bool is_pooling; /* the tasks of this iteration allocate and free */
    int32_t *home;
    int64_t *node_used, *node_peak;
    int64_t used; /* on all nodes */
    ssk_copies_t copies;
    ssk_drivers_t drivers;
    ssk_replicas_t replicas;
    ssk_conditions_t conditions;
    /* tasks and pools */
    ssk_graph_t graph;
    ssk_plan_t plan;
    ssk_tasks_t tasks;
    ssk_pools_t pools;
    ssk_flights_t flights;
    ssk_wakes_t wakes;
    ssk_moves_t moves;
    ssk_runtime_t runtime;
    ssk_devices_t devices;
    ssk_routes_t routes;
    ssk_victims_t victims;
    uint64_t *parked, *inactive; /* sets of workers: parked; in a domain without marked tasks */
    uint64_t *candidates;        /* working space of a push */
    int32_t n_parked;            /* parked and active workers */
    int32_t *marked_tasks;       /* per domain: unfinished tasks that mark it active */
    int32_t *expected;           /* per domain: tasks for pools of such groups that have not been ready yet */
    int32_t roots_placed, last_worker; /* the one that ended the last task of the iteration before, or SSK_NONE */
    int32_t ending; /* worker that ends a task, looks for work next and has not been called; SSK_NONE */
    int64_t *probes; /* working space of a search: failed probes per distance class */
    /* iteration */
    int phase;
    bool last;
    int32_t *arrivals; /* tasks that arrive later, by (arrival, task) */
    int32_t n_arrivals, next_arrival;
    size_t arrivals_capacity;
    /* migration */
    const int32_t *move_blocks, *move_nodes;
    int32_t n_moves, next_move, n_movers, n_copying;
    /* results */
    ssk_trace_t trace;
    ssk_failure_t failure;
    ssk_iteration_t *iterations;
    int64_t *node_bytes, *node_hit_bytes;
    int64_t *path_bytes; /* per path, of the whole run */
    ssk_cache_counts_t *cache_counts;
    int32_t n_iterations;
    size_t iterations_capacity, node_bytes_capacity, node_hit_bytes_capacity, cache_counts_capacity;
    int64_t *node_bytes_now, *node_hit_bytes_now; /* of the present iteration */
    int64_t *group_bytes, *group_missing, *samples, *last_period;
    int64_t *executed_ps; /* per task; NULL or unused unless the plan times tasks */
    size_t group_bytes_capacity, group_missing_capacity, samples_capacity, last_period_capacity, executed_capacity;
    int64_t *steals, *failed_probes;
    ssk_run_counters_t counters;
    int64_t managed_bytes[2], events_handled;
    int64_t n_idle_looks; /* of these events, looks of the policy that decided nothing but to rest */
    /* when the policy's timer has last been told to rest, its steps from there on (0 without), what had happened then */
    int64_t rest_from_ps, rest_step_ps, rest_happened;
    int64_t deadline_ps;  /* the run is given up then unless a task ends or arrives before; at most SSK_NEVER */
    int64_t n_at_once;    /* events at the present instant since a task has ended or arrived */
    int32_t n_duplicates; /* executions of tasks beyond one each, at present */
    int32_t n_awaiting;   /* workers that wait inside a task for the end of another one */
    bool has_failed;
    bool leaves_barrier; /* the first tasks of an iteration are being created */
};

#endif
