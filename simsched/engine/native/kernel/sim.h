/*
 * The simulation: all state of one run, and what its parts offer to each other.
 *
 * A worker is a small state machine. Handling an event runs ssk_worker_go(), which carries out one action after the
 * other until the worker waits again; an action returns the next one, SSK_WAIT, or a negative error. Waiting means: a
 * timer is set and `then` says which action follows, or a flow is running, or the worker is parked.
 *
 * worker.c   actions, busy workers of a core      segment.c    accesses and computation
 * search.c   pools, waking, search for work       preempt.c    preemption, transfers, policy's timer
 * life.c     spawning, sync, end of tasks         iteration.c  iterations and migration
 * homes.c    first touch, pools of memory         gather.c     copies of data for tasks
 * run.c      order of events                      sim.c        allocation, verification
 * results.c  what is read from outside            balancing.c  pages that follow accesses
 * executions.c  duplicates, kills, progress
 * rows.c        accesses that wait for tasks
 * devices.c  room on devices                     conditions.c  speeds that change, failures
 */
#ifndef SSK_SIM_H
#define SSK_SIM_H

#include "base.h"
#include "blockpools.h"
#include "caches.h"
#include "calendar.h"
#include "conditions.h"
#include "copies.h"
#include "drivers.h"
#include "devices.h"
#include "flights.h"
#include "flows.h"
#include "pools.h"
#include "replicas.h"
#include "routes.h"
#include "seats.h"
#include "sidecache.h"
#include "tasks.h"
#include "timers.h"
#include "trace.h"
#include "victims.h"
#include "wakes.h"

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
    SSK_ACT_GATHERED     /* the blocks of the body or join are there */
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
    int32_t called_group, called_instance; /* pool whose push has woken it; -1 */
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
    ssk_hooks_t hooks;
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
    int32_t *core_ptr, *core_worker;   /* workers of each core, ascending */
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
    ssk_devices_t devices;
    ssk_routes_t routes;
    ssk_victims_t victims;
    uint64_t *parked, *inactive; /* sets of workers: parked; in a domain without marked tasks */
    uint64_t *candidates;        /* working space of a push */
    int32_t n_parked;            /* parked and active workers */
    int32_t *marked_tasks;       /* per domain: unfinished tasks that mark it active */
    int32_t *expected;           /* per domain: tasks for pools of such groups that have not been ready yet */
    int32_t roots_placed, last_worker; /* the one that ended the last task of the iteration before, or SSK_NONE */
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
    int64_t *node_bytes;
    ssk_cache_counts_t *cache_counts;
    int32_t n_iterations;
    size_t iterations_capacity, node_bytes_capacity, cache_counts_capacity;
    int64_t *node_bytes_now; /* of the present iteration */
    int64_t *group_bytes, *group_missing, *samples, *last_period;
    int64_t *executed_ps; /* per task; NULL or unused unless the plan times tasks */
    size_t group_bytes_capacity, group_missing_capacity, samples_capacity, last_period_capacity, executed_capacity;
    int64_t *steals, *failed_probes;
    ssk_run_counters_t counters;
    int64_t managed_bytes[2], events_handled;
    int64_t deadline_ps;  /* the run is given up then unless a task ends or arrives before; at most SSK_NEVER */
    int32_t n_duplicates; /* executions of tasks beyond one each, at present */
    int32_t n_awaiting;   /* workers that wait inside a task for the end of another one */
    bool has_failed;
    bool leaves_barrier; /* the first tasks of an iteration are being created */
};

/* Puts off the time when the run is given up. */
static inline void ssk_note_progress(ssk_sim_t *sim)
{
    sim->deadline_ps = ssk_add_ps(sim->now, sim->problem.progress_limit_ps);
}

/* Records a trace event of the present instant. */
static inline void ssk_event(ssk_sim_t *sim, int32_t kind, int32_t worker, int32_t task, int64_t arg0, int64_t arg1)
{
    ssk_trace_add(&sim->trace, sim->now, kind, worker, task, sim->iteration, arg0, arg1);
}

/* Sets the time of an event without a worker; SSK_NO_TIMER removes it. */
static inline void ssk_set_rare(ssk_sim_t *sim, int which, int64_t time)
{
    sim->rare_time[which] = time;
    sim->first_rare_time = SSK_NO_TIMER;
    for (int i = 0; i < SSK_N_RARE; i++)
        sim->first_rare_time = ssk_min(sim->first_rare_time, sim->rare_time[i]);
}

/* Lets a worker pay a cost; returns what it does now. */
static inline int ssk_pay(ssk_sim_t *sim, int32_t worker, int64_t cost, int then)
{
    if (cost == 0)
        return then;
    sim->workers[worker].then = (uint8_t)then;
    ssk_timers_set(&sim->timers, worker, ssk_add_ps(sim->now, cost));
    return SSK_WAIT;
}

/* The worker's compute rate now. */
static inline double ssk_rate(const ssk_sim_t *sim, int32_t worker)
{
    const ssk_problem_t *p = &sim->problem;
    return p->worker_rate[worker * p->n_smt + sim->core_busy[p->worker_core[worker]] - 1] * sim->pace[worker];
}

/* The domain in which a worker has started; pools and conditions go by it. */
static inline int32_t ssk_home(const ssk_sim_t *sim, int32_t worker)
{
    return sim->routes.scope[SSK_SCOPE_WORKER].domain[worker];
}

/* Records why a run fails; returns the code. */
int ssk_fail(ssk_sim_t *sim, int code);

/* worker.c */
int ssk_worker_go(ssk_sim_t *sim, int32_t worker, int action) SSK_CHECK_RESULT;
void ssk_set_busy(ssk_sim_t *sim, int32_t worker, bool busy);
/* Lets two workers swap hardware threads; what they execute waits for `cost`. */
void ssk_exchange(ssk_sim_t *sim, int32_t first, int32_t second, int64_t cost);
/* Lets a worker compute at a part of its speed, in billionths. */
void ssk_set_pace(ssk_sim_t *sim, int32_t worker, int32_t billionths);
void ssk_set_parked(ssk_sim_t *sim, int32_t worker, bool parked);
int32_t ssk_flow_class(const ssk_sim_t *sim, int32_t worker, int32_t path);

/* search.c */
int ssk_search(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
/*
 * Puts a task into its pool and wakes a worker. *clock is the time at which the pusher reaches the pool and becomes the
 * time at which it goes on; pushes without pusher (SSK_NONE) do not wait for locks.
 */
int ssk_push(ssk_sim_t *sim, int32_t task, int32_t pusher, bool continuation, int64_t *clock) SSK_CHECK_RESULT;
/* Notes that a task is ready; returns its domain if that has expected no other one, SSK_NONE otherwise. */
int32_t ssk_note_ready(ssk_sim_t *sim, int32_t task);
/* Wakes the parked workers of a domain that may use a step now which asks for a supplied domain. */
void ssk_wake_supplied(ssk_sim_t *sim, int32_t domain);
/* Puts a task into a pool and wakes a worker. */
int ssk_enter(ssk_sim_t *sim, int32_t task, int32_t group, int32_t instance, int32_t pusher) SSK_CHECK_RESULT;
void ssk_wake(ssk_sim_t *sim, int32_t worker, int32_t party);
/* Wakes one of the parked workers that may take from a pool. */
void ssk_wake_for(ssk_sim_t *sim, int32_t group, int32_t instance);
void ssk_release_domain(ssk_sim_t *sim, int32_t task);
int32_t ssk_distance(const ssk_sim_t *sim, int32_t worker, int32_t scope, int32_t instance);
int64_t ssk_steal_cost(const ssk_sim_t *sim, int32_t distance);

/* devices.c; only with devices in the plan, ssk_vacate() excepted */
/* Tells whether the entry that a step finds in an instance has room, and no earlier step of its device waits for room. */
bool ssk_admits(const ssk_sim_t *sim, int32_t step, int32_t instance);
/* Lets a task from a pool take up its share of the group's device; lets it give the share back, and returns its place. */
void ssk_occupy(ssk_sim_t *sim, int32_t task, int32_t group, int32_t instance);
int32_t ssk_vacate(ssk_sim_t *sim, int32_t task);
/* Wakes a worker for the entry that comes next on a device, if it has room. */
void ssk_offer(ssk_sim_t *sim, int32_t place);

/* segment.c */
int ssk_start_work(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_next_access(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_next_flow(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_flow_ended(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_segment_end(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
/* Counts the time of a segment that is over or has been left. */
void ssk_count_execution(ssk_sim_t *sim, int32_t worker);
void ssk_adapt(ssk_sim_t *sim, int32_t worker);
/*
 * The same in two steps: settles the segment and stops its flow, of which so many bytes are left; goes on with them after
 * a wait.
 */
double ssk_halt(ssk_sim_t *sim, int32_t worker);
void ssk_go_on(ssk_sim_t *sim, int32_t worker, double left, int64_t wait);
int ssk_save_segment(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_resume_segment(ssk_sim_t *sim, int32_t worker, const ssk_saved_t *saved) SSK_CHECK_RESULT;

/* homes.c */
bool ssk_has_room(const ssk_sim_t *sim, int32_t node, int32_t block);
/* Takes memory for a block from the system, gives it back. */
void ssk_take_memory(ssk_sim_t *sim, int32_t node, int32_t block);
void ssk_give_memory_back(ssk_sim_t *sim, int32_t node, int32_t block);
/* Lets a block that follows an access give up its home; returns whether a block has none. */
bool ssk_wants_home(ssk_sim_t *sim, int32_t block, int64_t written);
/* The node that an access to a block with a home goes to; only with replicas. A write leaves none of them. */
int32_t ssk_reached_node(ssk_sim_t *sim, int32_t block, int32_t domain, bool writes);
int ssk_touch_first(ssk_sim_t *sim, int32_t worker, int32_t block) SSK_CHECK_RESULT;
/* What happens to the blocks of pools when a worker creates a task, and when a task has ended. Only while is_pooling. */
void ssk_allocate_for(ssk_sim_t *sim, int32_t task, int32_t worker);
int ssk_free_after(ssk_sim_t *sim, int32_t task, int32_t worker) SSK_CHECK_RESULT;

/* balancing.c */
int ssk_balance_begin(ssk_sim_t *sim) SSK_CHECK_RESULT;
/* What an access does to the marks; the time that it waits for faults and for the block to move. Only with a period. */
void ssk_balance_first_touch(ssk_sim_t *sim, int32_t block);
int64_t ssk_balance_access(ssk_sim_t *sim, int32_t worker, int32_t block, int64_t n_bytes);
int ssk_compute(ssk_sim_t *sim, int32_t worker);

/* gather.c; entities are lanes that copy, counted from n_workers on */
int ssk_gather(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_gathered(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_give_back(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_prefetch(ssk_sim_t *sim, int32_t task, int32_t group, int32_t worker) SSK_CHECK_RESULT;

/* Asks for a block, or only for room for it, if it is not there and not asked for; `what` is one of SSK_WANTED_*. */
int ssk_want(ssk_sim_t *sim, int what, ssk_want_t want) SSK_CHECK_RESULT;
/* Hands over what is wanted as far as lanes have place, and starts what nothing keeps back. */
int ssk_start_copies(ssk_sim_t *sim) SSK_CHECK_RESULT;
/* Forgets the copy of a block on a node. */
void ssk_drop_copy(ssk_sim_t *sim, int32_t block, int32_t node);
/* Notes that a worker has one thing less to wait for. */
void ssk_has_come(ssk_sim_t *sim, int32_t worker);
/* Returns the first node that is no device, other than `node`; SSK_NONE when there is none. */
int32_t ssk_host_for(const ssk_sim_t *sim, int32_t node);
int ssk_copy_moves(ssk_sim_t *sim, int32_t entity) SSK_CHECK_RESULT;
int ssk_copy_arrives(ssk_sim_t *sim, int32_t entity) SSK_CHECK_RESULT;

/* life.c */
int ssk_begin_task(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_spawn(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_create_child(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_create(ssk_sim_t *sim, int32_t task, int32_t pusher, int64_t *clock) SSK_CHECK_RESULT;
int ssk_sync(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_end_task(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;

/* The share of the operations of a body or join that belongs to one of its accesses. */
static inline double ssk_ops_of_access(const ssk_graph_t *graph, const ssk_worker_t *w, int64_t access)
{
    if (graph->access_share != NULL)
        return w->ops * graph->access_share[access];
    if (w->total_bytes > 0) {
        int64_t n_bytes = graph->read_bytes[access] + graph->written_bytes[access];
        return w->ops * ((double)n_bytes / (double)w->total_bytes);
    }
    return w->ops / (double)w->n_accesses;
}

/* conditions.c */
int ssk_change_conditions(ssk_sim_t *sim) SSK_CHECK_RESULT;
void ssk_schedule_change(ssk_sim_t *sim);
/* Lets a worker take no part any more. */
void ssk_deactivate(ssk_sim_t *sim, int32_t worker);
/* Tells whether a pool belongs to a worker that has failed. */
bool ssk_is_dead(const ssk_sim_t *sim, int32_t group, int32_t instance);

/* rows.c; only with access_after */
/* The access that a worker executes at its next place; SSK_NONE if those that may come there have to wait. */
int64_t ssk_next_in_row(const ssk_sim_t *sim, int32_t worker);
/* Lets a worker wait for one of the tasks of its row, lets it stop that, lets those go on that wait for a task. */
int ssk_await_end(ssk_sim_t *sim, int32_t worker);
void ssk_stop_awaiting(ssk_sim_t *sim, int32_t worker);
void ssk_end_awaited(ssk_sim_t *sim, int32_t task);

/* executions.c */
/* Takes its task away from a worker that fails; returns the task if nobody else executes it, or SSK_NONE. */
int32_t ssk_lose_by_failure(ssk_sim_t *sim, int32_t worker);
/* Tells whether others execute the worker's task too. */
bool ssk_has_duplicates(const ssk_sim_t *sim, int32_t worker);
/* Lets `taker` take the task that a worker executes; *cost_ret is what that costs. */
int ssk_duplicate(ssk_sim_t *sim, int32_t worker, int32_t taker, int hook, int64_t *cost_ret) SSK_CHECK_RESULT;
int ssk_kill(ssk_sim_t *sim, int32_t worker, int hook) SSK_CHECK_RESULT;
/* Lets a worker wait inside its task for the end of another one; lets those go on that have waited for a task. */
/* Kills all executions of a task that has ended. */
void ssk_end_duplicates(ssk_sim_t *sim, int32_t task);

/* preempt.c */
/* Refuses a decision of a hook. */
int ssk_refuse(ssk_sim_t *sim, int hook, int reason) SSK_CHECK_RESULT;
/* Refuses a decision about a worker that is not executing, or where data are copied. */
int ssk_check_executing(ssk_sim_t *sim, int32_t worker, int hook) SSK_CHECK_RESULT;
/* Lets a worker push a task that it has lost. */
int ssk_push_back(ssk_sim_t *sim, int32_t task, int32_t worker) SSK_CHECK_RESULT;
int ssk_ask_on_idle(ssk_sim_t *sim, int32_t worker, bool *has_snatched_ret) SSK_CHECK_RESULT;
int ssk_fire_policy_timer(ssk_sim_t *sim) SSK_CHECK_RESULT;
int ssk_wake_policy(ssk_sim_t *sim) SSK_CHECK_RESULT;
/* Carries out the answer of a hook. */
int ssk_answer(ssk_sim_t *sim, const ssk_answer_t *answer, int hook) SSK_CHECK_RESULT;
/* Tells the policy that a worker begins to execute a body, and carries out what it decides. */
int ssk_tell_on_start(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_land(ssk_sim_t *sim) SSK_CHECK_RESULT;
/* Forgets flights and wakes. */
void ssk_forget_pending(ssk_sim_t *sim);

/* iteration.c */
void ssk_end_iteration(ssk_sim_t *sim);
int ssk_reach_boundary(ssk_sim_t *sim) SSK_CHECK_RESULT;
int ssk_arrive(ssk_sim_t *sim) SSK_CHECK_RESULT;
int ssk_next_copy(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_copy_ended(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;

#endif
