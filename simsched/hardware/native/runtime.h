/*
 * The task runtime: executes the task graphs of a program on pinned threads and records what happened.
 *
 * The caller fills a hw_problem_t, whose arrays stay its own and unchanged until hw_run_free(), then
 *
 *     hw_run_start()  allocates everything and starts the workers, which begin at once,
 *     hw_run_wait()   waits for their end for some time, so that the caller can look after other things, and
 *     hw_run_free()   asks those that are left to leave after the task they are in, waits and frees; everything that
 *                     hw_run_result() and others returned is then gone.
 *
 * One thread calls these functions for one run. Different runs know nothing of each other. The meaning of a graph is that of
 * docs/semantics.md, rules L; arrival times and the cost of creation are not imitated.
 */
#ifndef HW_RUNTIME_H
#define HW_RUNTIME_H

#include "base.h"
#include "program.h"
#include "records.h"
#include "tasks.h"

enum { HW_CHILD_FIRST, HW_PARENT_FIRST };
enum { HW_DEQUES, HW_CENTRAL };
enum { HW_NEWEST, HW_OLDEST };
enum { HW_CYCLES, HW_INSTRUCTIONS, HW_LLC_MISSES, HW_N_EVENTS };

typedef struct {
    const hw_program_t *program;
    void *const *arrays;
    const int64_t *params;
    const double *constants;
    const hw_graph_t *init;  /* executed once before; or NULL */
    const hw_graph_t *graph; /* executed n_iterations times */
    int32_t n_iterations;

    int32_t n_workers;
    const int32_t *cpu; /* of each worker; HW_NONE: not pinned */
    int order, pools, own_take;
    uint64_t seed;
    int64_t n_records;  /* room for records per worker; 0: no trace */
    int64_t n_expected; /* how many of them to have at hand from the start */
} hw_problem_t;

typedef struct {
    int64_t begin_ticks, end_ticks; /* all may begin; the last task has ended, as somebody notices */
} hw_iteration_t;

/* What a worker counts, trace or not. */
typedef struct {
    int64_t tasks, steals, empty_probes, lost_races, idle_ticks;
    int64_t cpu_ns, present_ns;  /* on a core, and in all, from before the first iteration to after the last */
    int64_t events[HW_N_EVENTS]; /* of the processor, HW_NONE where not counted */
    int events_error;            /* errno of the first that could not be counted, 0 if all are */
} hw_counters_t;

typedef struct {
    int status;     /* HW_OK or why the workers did not begin */
    int32_t n_done; /* iterations that have ended, the initialisation included */
    bool is_tsc;
    double ps_per_tick;
    const hw_iteration_t *iterations;
} hw_result_t;

typedef struct hw_run hw_run_t;

/* Programs that were compiled in, by name. */
extern const hw_program_t *const hw_programs[];
extern const int32_t hw_n_programs;

int hw_run_start(hw_run_t **run, const hw_problem_t *problem);

/* Returns whether all workers have ended. */
bool hw_run_wait(hw_run_t *run, int milliseconds);
void hw_run_free(hw_run_t *run);

/* The following are for runs whose workers have ended. */
hw_result_t hw_run_result(const hw_run_t *run);
const hw_counters_t *hw_run_counters(const hw_run_t *run, int32_t worker);
const hw_records_t *hw_run_records(const hw_run_t *run, int32_t worker);

#endif
