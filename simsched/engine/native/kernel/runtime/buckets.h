/*
 * Buckets of like tasks, and what a runtime learns of them; see simsched.policy.algorithms.list_scheduling.heteroprio.
 *
 * Sums over buckets are made in the order in which these have been met, sums of shares in the order in which tasks of
 * theirs have first been pushed: they are rounded like those in Python.
 */
#ifndef SSK_BUCKETS_H
#define SSK_BUCKETS_H

#include "runtime/steps.h"
#include "runtime/taskqueue.h"

enum { SSK_N_TYPES = 2, SSK_TYPE_HOST = 0, SSK_TYPE_DEVICE = 1 }; /* of processors */

/* A running mean whose samples count for less as more come, but never less than a bound. */
typedef struct {
    double value;
    int32_t n;
} ssk_mean_t;

typedef struct {
    ssk_taskqueue_t tasks;
    bool has_type[SSK_N_TYPES];        /* types of processors that can execute the tasks */
    ssk_mean_t time_s[SSK_N_TYPES], released[SSK_N_TYPES];
    double executed[SSK_N_TYPES];      /* shares of the executions */
    double share;                      /* of the tasks so far */
    int32_t n_executed, n_pushed;
    int fastest;                       /* type with the smallest time */
    double slow_factor;                /* how many times longer the other type takes */
} ssk_bucket_t;

typedef struct {
    ssk_bucket_t *buckets; /* in the order in which their tasks have been met */
    int32_t n_buckets;
    int32_t *bucket_of;    /* per number of likes: one more than the place of its bucket, 0 without one */
    int32_t *pushed;       /* buckets in the order of their first push */
    int32_t n_shared;
    int32_t *order[SSK_N_TYPES], n_order[SSK_N_TYPES]; /* in which each type of processor visits buckets */
    double *scores;        /* working space: per bucket */
    int32_t *in_degree;    /* per task */
    int64_t *begun_ps;     /* per worker: when its present task has begun */
    int32_t n_workers[SSK_N_TYPES];
    int64_t n_pushed;
} ssk_buckets_t;

/* Sets the functions of the rule, all of which are NULL. */
void ssk_by_buckets(ssk_steps_t *steps);

#endif
