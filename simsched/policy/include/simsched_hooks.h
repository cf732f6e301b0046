/*
 * Compiled hooks of a policy: functions that the engines call in place of methods in Python.
 *
 * A method that is decorated with `simsched.policy.compiled` returns the address of such a function and the memory that
 * it gets. When each hook is called and what it may decide is said in simsched/policy/contract/base.py. Functions must
 * not keep `view`, and may depend on nothing but their arguments, what `view` says and `memory`.
 */
#ifndef SIMSCHED_HOOKS_H
#define SIMSCHED_HOOKS_H

#include <stdint.h>

enum { SIMSCHED_CHILD_FIRST = 0, SIMSCHED_PARENT_FIRST = 1 };

/* The answer that decides nothing: what the plan says happens, and an idle worker waits. */
enum { SIMSCHED_AS_PLANNED = -1 };

/* The answer of on_ready for a pool of the plan. */
#define SIMSCHED_POOL(group, instance) (((int64_t)(group) << 32) + (instance))

/* What a hook may look at; an index out of range gives 0 as a length or a truth, otherwise -1. */
typedef struct simsched_view simsched_view_t;
struct simsched_view {
    int64_t now_ps; /* simulated time */
    int64_t (*queue_length)(const simsched_view_t *view, int32_t group, int32_t instance);
    int32_t (*running_task)(const simsched_view_t *view, int32_t worker); /* -1: none */
    int32_t (*is_waiting)(const simsched_view_t *view, int32_t worker);   /* 1: parked */
    int32_t (*block_home)(const simsched_view_t *view, int32_t block);    /* memory node; -1: none yet */
};

/* SIMSCHED_CHILD_FIRST, SIMSCHED_PARENT_FIRST or SIMSCHED_AS_PLANNED. */
typedef int32_t simsched_on_spawn_t(const simsched_view_t *view, void *memory, int32_t parent, int32_t child,
                                    int32_t worker);
/* SIMSCHED_POOL(group, instance) or SIMSCHED_AS_PLANNED; worker -1: nobody has made the task ready. */
typedef int64_t simsched_on_ready_t(const simsched_view_t *view, void *memory, int32_t task, int32_t worker);
typedef void simsched_on_acquire_t(const simsched_view_t *view, void *memory, int32_t task, int32_t worker,
                                   int32_t group, int32_t instance);
typedef void simsched_on_start_t(const simsched_view_t *view, void *memory, int32_t task, int32_t worker);
/* The worker whose running task this one takes, or SIMSCHED_AS_PLANNED. */
typedef int32_t simsched_on_idle_t(const simsched_view_t *view, void *memory, int32_t worker);
typedef void simsched_on_finish_t(const simsched_view_t *view, void *memory, int32_t task, int32_t worker);

#endif
