#include "pools/devices.h"

#include "pools/search.h"
#include "run/sim.h"

void ssk_devices_init(ssk_devices_t *self)
{
    memset(self, 0, sizeof(*self));
}

void ssk_devices_free(ssk_devices_t *self, const ssk_allocator_t *allocator)
{
    ssk_delete(allocator, self->base);
    ssk_delete(allocator, self->used);
    ssk_delete(allocator, self->held);
    ssk_devices_init(self);
}

/* Scope of the groups that lead to a device; a device without groups has no instances that matter. */
static int32_t scope_of(const ssk_plan_t *plan, int32_t device)
{
    for (int32_t group = 0; group < plan->n_groups; group++)
        if (plan->group_device[group] == device)
            return plan->group_scope[group];
    return SSK_SCOPE_MACHINE;
}

int ssk_devices_reset(ssk_devices_t *self, const ssk_allocator_t *allocator, const ssk_plan_t *plan,
                      const int32_t *n_instances, int32_t n_tasks)
{
    size_t n = (size_t)plan->n_devices;
    self->n = 0;
    self->n_tasks = n_tasks;
    if (n == 0)
        return SSK_OK;
    int status = ssk_grow(allocator, &self->base, &self->base_capacity, n + 1, sizeof(*self->base));
    if (status != SSK_OK)
        return status;
    self->base[0] = 0;
    for (int32_t device = 0; device < plan->n_devices; device++)
        self->base[device + 1] = self->base[device] + n_instances[scope_of(plan, device)];
    size_t n_places = (size_t)self->base[n];
    status = ssk_grow(allocator, &self->used, &self->used_capacity, n_places, sizeof(*self->used));
    if (status == SSK_OK)
        status = ssk_grow(allocator, &self->held, &self->held_capacity, (size_t)n_tasks, sizeof(*self->held));
    if (status != SSK_OK)
        return status;
    memset(self->used, 0, n_places * sizeof(*self->used));
    memset(self->held, -1, (size_t)n_tasks * sizeof(*self->held));
    self->n = plan->n_devices;
    return SSK_OK;
}

int ssk_devices_verify(const ssk_devices_t *self, const ssk_plan_t *plan, const ssk_graph_t *graph)
{
    for (int32_t device = 0; device < self->n; device++) {
        for (int32_t place = self->base[device]; place < self->base[device + 1]; place++) {
            int64_t used = 0;
            for (int32_t task = 0; task < self->n_tasks; task++)
                used += self->held[task] == place ? ssk_occupancy(graph, task) : 0;
            if (used != self->used[place] || used > plan->device_capacity[device])
                return SSK_ERR_INVARIANT;
        }
    }
    return SSK_OK;
}

/* Tells whether the entry that a step would take next finds room on its device. */
static bool fits(const ssk_sim_t *sim, int32_t step, int32_t device, int32_t instance)
{
    const ssk_pool_t *pool = ssk_pools_at(&sim->pools, sim->plan.order.step_group[step], instance);
    int32_t task = ssk_pools_look(pool, sim->plan.order.step_take[step] == SSK_NEWEST);
    if (sim->devices.held[task] != SSK_NONE)
        return true;
    int64_t used = sim->devices.used[sim->devices.base[device] + instance];
    return used + ssk_occupancy(&sim->graph, task) <= sim->plan.device_capacity[device];
}

bool ssk_admits(const ssk_sim_t *sim, int32_t step, int32_t instance)
{
    const ssk_plan_t *plan = &sim->plan;
    int32_t device = plan->group_device[plan->order.step_group[step]];
    if (device == SSK_NONE)
        return true;
    for (int32_t i = 0; i <= step; i++) {
        int32_t group = plan->order.step_group[i];
        if (plan->group_device[group] != device)
            continue;
        if (ssk_pools_at(&sim->pools, group, instance)->count < (uint32_t)plan->order.step_least[i])
            continue;
        if (!fits(sim, i, device, instance))
            return false;
    }
    return true;
}

void ssk_occupy(ssk_sim_t *sim, int32_t task, int32_t group, int32_t instance)
{
    ssk_devices_t *devices = &sim->devices;
    int32_t device = sim->plan.group_device[group];
    if (device == SSK_NONE || devices->held[task] != SSK_NONE)
        return;
    devices->held[task] = devices->base[device] + instance;
    devices->used[devices->held[task]] += ssk_occupancy(&sim->graph, task);
}

int32_t ssk_vacate(ssk_sim_t *sim, int32_t task)
{
    ssk_devices_t *devices = &sim->devices;
    if (devices->n == 0 || devices->held[task] == SSK_NONE)
        return SSK_NONE;
    int32_t place = devices->held[task];
    devices->held[task] = SSK_NONE;
    devices->used[place] -= ssk_occupancy(&sim->graph, task);
    return place;
}

void ssk_offer(ssk_sim_t *sim, int32_t place)
{
    const ssk_plan_t *plan = &sim->plan;
    int32_t device = 0;
    while (place >= sim->devices.base[device + 1])
        device++;
    int32_t instance = place - sim->devices.base[device];
    for (int32_t step = 0; step < plan->order.n_steps; step++) {
        int32_t group = plan->order.step_group[step];
        if (plan->group_device[group] != device)
            continue;
        if (ssk_pools_at(&sim->pools, group, instance)->count < (uint32_t)plan->order.step_least[step])
            continue;
        if (ssk_admits(sim, step, instance))
            ssk_wake_for(sim, group, instance);
        return;
    }
}
