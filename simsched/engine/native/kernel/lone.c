/*
 * Lone resources: the common case of bandwidth sharing, in which a change concerns resources that are crossed by flows
 * of one-resource paths only (memory nodes without links in between).
 *
 * Such a resource is a component of its own, so its rates follow from its own classes: the rounds are those of
 * sharing.c with the same operands in the same order, without lists of crossings and queues.
 *
 * Invariants: the one-resource classes of resource x are lone[lone_ptr[x]] to lone[lone_ptr[x + 1] - 1], ascending;
 * lone_of[c] is the resource of such a class, -1 for the others; linked[x] is the number of flows on x whose path
 * crosses other resources too.
 */
#include <math.h>

#include "flows.h"

static inline int32_t n_crossed(const ssk_problem_t *p, int32_t path)
{
    return p->path_resource_ptr[path + 1] - p->path_resource_ptr[path];
}

int ssk_lone_alloc(ssk_flows_t *self, const ssk_allocator_t *allocator)
{
    const ssk_problem_t *p = self->problem;
    ssk_sharing_t *s = &self->sharing;
    size_t n_classes = (size_t)self->n_classes, n_resources = (size_t)p->n_resources;
    int32_t n_lone = 0;
    s->lone = ssk_new(allocator, n_classes, sizeof(*s->lone));
    s->lone_of = ssk_new(allocator, n_classes, sizeof(*s->lone_of));
    s->lone_ptr = ssk_new(allocator, n_resources + 1, sizeof(*s->lone_ptr));
    s->linked = ssk_new(allocator, n_resources, sizeof(*s->linked));
    s->present = ssk_new(allocator, n_classes, sizeof(*s->present));
    if (!s->present || !s->lone || !s->lone_of || !s->lone_ptr || !s->linked)
        return SSK_ERR_MEMORY;
    for (int32_t c = 0; c < self->n_classes; c++) {
        int32_t path = c / p->n_smt;
        s->lone_of[c] = n_crossed(p, path) == 1 ? p->path_resource[p->path_resource_ptr[path]] : SSK_NONE;
    }
    for (int32_t x = 0; x < p->n_resources; x++) {
        s->lone_ptr[x] = n_lone;
        for (int32_t c = 0; c < self->n_classes; c++) {
            if (s->lone_of[c] != x)
                continue;
            ssk_lone_t entry = {p->path_weight[p->path_resource_ptr[c / p->n_smt]], p->path_cap[c], c};
            s->lone[n_lone++] = entry;
        }
    }
    s->lone_ptr[p->n_resources] = n_lone;
    return SSK_OK;
}

/* Computes the rates of the classes of one lone resource. */
static void fill(ssk_flows_t *self, int32_t x)
{
    ssk_sharing_t *s = &self->sharing;
    const ssk_lone_t *lone = &s->lone[s->lone_ptr[x]];
    int32_t n_lone = s->lone_ptr[x + 1] - s->lone_ptr[x], n_here = 0;
    ssk_present_t *here = s->present;
    double capacity = ssk_capacity(self, x), level = 0.0;
    for (int32_t k = 0; k < n_lone; k++) {
        int32_t c = lone[k].class_index;
        if (self->classes[c].n == 0)
            continue;
        here[n_here].load = (double)self->classes[c].n * lone[k].weight;
        here[n_here].cap = lone[k].cap;
        here[n_here].class_index = c;
        here[n_here++].is_rising = true;
        s->renewed[s->n_renewed++] = c;
    }
    for (int32_t n_rising = n_here; n_rising > 0;) {
        double used = 0.0, load = 0.0, lowest_cap = INFINITY;
        for (int32_t k = 0; k < n_here; k++) {
            if (!here[k].is_rising) {
                used += here[k].load * s->rate[here[k].class_index];
                continue;
            }
            load += here[k].load;
            lowest_cap = here[k].cap < lowest_cap ? here[k].cap : lowest_cap;
        }
        double own = (capacity - used) / load;
        own = own > level ? own : level;
        level = lowest_cap < own ? lowest_cap : own;
        for (int32_t k = 0; k < n_here; k++) {
            if (!here[k].is_rising || (here[k].cap > level && own > level))
                continue;
            s->rate[here[k].class_index] = here[k].cap <= level ? here[k].cap : level;
            here[k].is_rising = false;
            n_rising--;
        }
    }
}

/* Brings counts of flows on resources up to date; tells whether the changes concern lone resources only. */
static bool count_flows(ssk_flows_t *self)
{
    const ssk_problem_t *p = self->problem;
    ssk_sharing_t *s = &self->sharing;
    bool all_lone = true;
    for (int32_t i = 0; i < self->n_listed; i++) {
        int32_t c = self->changed[i], change = self->classes[c].n - self->classes[c].counted;
        if (s->lone_of[c] >= 0) {
            s->flows_on[s->lone_of[c]] += change;
            continue;
        }
        int32_t path = c / p->n_smt;
        for (int32_t k = p->path_resource_ptr[path]; k < p->path_resource_ptr[path + 1]; k++) {
            s->flows_on[p->path_resource[k]] += change;
            s->linked[p->path_resource[k]] += change;
        }
        all_lone = all_lone && change == 0;
    }
    for (int32_t i = 0; i < self->n_listed && all_lone; i++) {
        int32_t x = s->lone_of[self->changed[i]];
        all_lone = x < 0 || s->linked[x] == 0;
    }
    return all_lone;
}

bool ssk_lone_update(ssk_flows_t *self)
{
    ssk_sharing_t *s = &self->sharing;
    if (!count_flows(self))
        return false;
    s->n_renewed = 0;
    for (int32_t i = 0; i < self->n_listed; i++) {
        const ssk_class_t *cls = &self->classes[self->changed[i]];
        int32_t x = s->lone_of[self->changed[i]];
        if (cls->n == cls->counted || s->seen[x])
            continue;
        s->seen[x] = 1;
        s->slack[x] = 0; /* its load is not kept up here */
        fill(self, x);
    }
    for (int32_t i = 0; i < self->n_listed; i++)
        if (s->lone_of[self->changed[i]] >= 0)
            s->seen[s->lone_of[self->changed[i]]] = 0;
    return true;
}
