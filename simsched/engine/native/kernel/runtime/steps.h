/* What differs from one rule of a runtime to another: who gets a task that has been pushed, and what one who asks takes. */
#ifndef SSK_STEPS_H
#define SSK_STEPS_H

#include "base.h"

/* Whom a push calls. */
enum { SSK_CALL_OWNER = 0, SSK_CALL_ALL, SSK_CALL_FIRST };

/* A rule. */
typedef struct {
    int announces; /* SSK_CALL_*: to whom */
    int (*open)(ssk_sim_t *sim); /* makes what only this rule has, and frees it; may be NULL */
    void (*close)(ssk_sim_t *sim);
    /* Prepares what several workers push at the same time; may be NULL. */
    void (*decide)(ssk_sim_t *sim, int32_t task, int32_t pusher);
    /* Puts a task into a queue; *owner_ret is the worker whose queue it is, SSK_NONE if it waits or is assigned. */
    int (*enqueue)(ssk_sim_t *sim, int32_t task, int32_t pusher, int32_t *owner_ret);
    /* Takes the task that a worker gets out of the queues; *task_ret stays SSK_NONE when there is none. */
    int (*choose)(ssk_sim_t *sim, int32_t worker, int32_t *task_ret);
    /* A task begins to compute; it has ended. May be NULL. */
    void (*note_start)(ssk_sim_t *sim, int32_t task, int32_t worker);
    void (*note_end)(ssk_sim_t *sim, int32_t task, int32_t worker);
} ssk_steps_t;

#endif
