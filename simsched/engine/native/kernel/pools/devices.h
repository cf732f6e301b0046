/*
 * Devices: how much of each is occupied, and by which tasks; docs/semantics.md, rules D.
 *
 * A device has an instance for every instance of the pool groups that lead to it. Instance i of device d is place
 * base[d] + i of `used`. A task holds at most one place.
 *
 * Invariant: used[p] is the sum of the occupancies of the tasks that hold place p, and not above the device's capacity.
 */
#ifndef SSK_DEVICES_H
#define SSK_DEVICES_H

#include "base.h"

typedef struct {
    int32_t n;          /* devices of the plan; 0: nothing else is in use */
    int32_t *base;      /* n + 1 */
    int32_t *used;      /* per place */
    int32_t *held;      /* per task: its place, SSK_NONE */
    int32_t n_tasks;
    size_t base_capacity, used_capacity, held_capacity;
} ssk_devices_t;

void ssk_devices_init(ssk_devices_t *self);
void ssk_devices_free(ssk_devices_t *self, const ssk_allocator_t *allocator);

/* Lays out the devices of a plan, free of tasks; n_instances holds the number of pool instances of each scope. */
int ssk_devices_reset(ssk_devices_t *self, const ssk_allocator_t *allocator, const ssk_plan_t *plan,
                      const int32_t *n_instances, int32_t n_tasks) SSK_CHECK_RESULT;

int ssk_devices_verify(const ssk_devices_t *self, const ssk_plan_t *plan, const ssk_graph_t *graph) SSK_CHECK_RESULT;

static inline int32_t ssk_occupancy(const ssk_graph_t *graph, int32_t task)
{
    return graph->occupancy == NULL ? 1 : graph->occupancy[task];
}

/* Tells whether the entry that a step finds in an instance has room, and no earlier step of its device waits for room. */
bool ssk_admits(const ssk_sim_t *sim, int32_t step, int32_t instance);
/* Lets a task from a pool take up its share of the group's device; lets it give the share back, and returns its place. */
void ssk_occupy(ssk_sim_t *sim, int32_t task, int32_t group, int32_t instance);
int32_t ssk_vacate(ssk_sim_t *sim, int32_t task);
/* Wakes a worker for the entry that comes next on a device, if it has room. */
void ssk_offer(ssk_sim_t *sim, int32_t place);

#endif
