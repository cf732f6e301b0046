/*
 * Queues of ready tasks: most urgent first, of equal ones in the order in which they came.
 *
 * A queue has a level for each priority that occurs in it, by falling priority, and a level is a list of tasks linked in
 * both directions. The links of all queues are in one array by task, since a task is in one queue at a time.
 *
 * Invariants: priorities of levels fall strictly; no level is empty; n_tasks counts the tasks of all levels.
 */
#ifndef SSK_TASKQUEUE_H
#define SSK_TASKQUEUE_H

#include "base.h"

typedef struct {
    int32_t previous, next;
} ssk_link_t;

typedef struct {
    int32_t priority, first, last;
} ssk_level_t;

typedef struct {
    ssk_level_t *levels;
    size_t capacity;
    int32_t n_levels, n_tasks;
} ssk_taskqueue_t;

/* Adds a task behind those that are as urgent. */
int ssk_taskqueue_push(ssk_taskqueue_t *self, ssk_link_t *links, const ssk_allocator_t *allocator, int32_t task,
                       int32_t priority) SSK_CHECK_RESULT;

/* Removes a task of a level. */
void ssk_taskqueue_remove(ssk_taskqueue_t *self, ssk_link_t *links, int32_t level, int32_t task);

/*
 * Removes and returns the first task that is `able`, with `newest` the last one of those that are as urgent; SSK_NONE
 * when there is none. Without `able` every task is.
 */
int32_t ssk_taskqueue_pop(ssk_taskqueue_t *self, ssk_link_t *links, const uint8_t *able, bool newest);

int ssk_taskqueue_verify(const ssk_taskqueue_t *self, const ssk_link_t *links) SSK_CHECK_RESULT;

#endif
