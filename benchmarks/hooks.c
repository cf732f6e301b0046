/*
 * The hooks of benchmarks.policies.HookedQueue, compiled.
 */
#include "simsched_hooks.h"

enum { READY, FINISH }; /* entries of the memory: how often each has been called */

simsched_on_ready_t on_ready;
simsched_on_finish_t on_finish;

int64_t on_ready(const simsched_view_t *view, void *memory, int32_t task, int32_t worker)
{
    (void)view, (void)task, (void)worker;
    ((int64_t *)memory)[READY]++;
    return SIMSCHED_POOL(1, 0);
}

void on_finish(const simsched_view_t *view, void *memory, int32_t task, int32_t worker)
{
    (void)view, (void)task, (void)worker;
    ((int64_t *)memory)[FINISH]++;
}
