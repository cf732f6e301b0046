/*
 * Lone resources: the common case of bandwidth sharing, in which a change concerns resources that are crossed by flows
 * of one-resource paths only (memory nodes without links in between).
 *
 * Such a resource is a component of its own, so its rates follow from its own classes: the rounds are those of
 * sharing.c with the same operands in the same order, without lists of crossings and queues.
 *
 * Invariants: the one-resource classes of resource x are lone[lone_ptr[x]] to lone[lone_ptr[x + 1] - 1], ascending;
 * linked[x] is the number of flows on x whose path crosses other resources too.
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
    size_t n_resources = (size_t)p->n_resources;
    s->lone = ssk_new(allocator, (size_t)self->n_classes, sizeof(*s->lone));
    s->lone_ptr = ssk_new(allocator, n_resources + 1, sizeof(*s->lone_ptr));
    s->linked = ssk_new(allocator, n_resources, sizeof(*s->linked));
    if (!s->lone || !s->lone_ptr || !s->linked)
        return SSK_ERR_MEMORY;
    for (int32_t c = 0; c < self->n_classes; c++)
        if (n_crossed(p, c / p->n_smt) == 1)
            s->lone_ptr[p->path_resource[p->path_resource_ptr[c / p->n_smt]] + 1]++;
    for (size_t x = 0; x < n_resources; x++)
        s->lone_ptr[x + 1] += s->lone_ptr[x];
    for (int32_t c = self->n_classes - 1; c >= 0; c--)
        if (n_crossed(p, c / p->n_smt) == 1)
            s->lone[--s->lone_ptr[p->path_resource[p->path_resource_ptr[c / p->n_smt]] + 1]] = c;
    /* Filling from the back has moved every start one place: entry x + 1 now holds where x begins. */
    memmove(s->lone_ptr, s->lone_ptr + 1, n_resources * sizeof(*s->lone_ptr));
    s->lone_ptr[n_resources] = 0;
    for (int32_t c = 0; c < self->n_classes; c++)
        s->lone_ptr[n_resources] += n_crossed(p, c / p->n_smt) == 1;
    return SSK_OK;
}

/* Computes the rates of the classes of one lone resource. */
static void fill(ssk_flows_t *self, int32_t x)
{
    const ssk_problem_t *p = self->problem;
    ssk_sharing_t *s = &self->sharing;
    const int32_t *classes = &s->lone[s->lone_ptr[x]];
    int32_t n_classes = s->lone_ptr[x + 1] - s->lone_ptr[x], n_rising = 0;
    double capacity = ssk_capacity(self, x), level = 0.0;
    for (int32_t k = 0; k < n_classes; k++) {
        int32_t c = classes[k];
        if (self->classes[c].n == 0)
            continue;
        s->component[c >> 6] |= (uint64_t)1 << (c & 63);
        s->rising[n_rising++] = c;
        s->stopped[c] = 0;
    }
    int32_t n_here = n_rising;
    while (n_rising > 0) {
        double used = 0.0, load = 0.0, lowest_cap = INFINITY;
        for (int32_t k = 0; k < n_here; k++) {
            int32_t c = s->rising[k];
            double weight = (double)self->classes[c].n * p->path_weight[p->path_resource_ptr[c / p->n_smt]];
            if (s->stopped[c]) {
                used += weight * s->rate[c];
            } else {
                load += weight;
                lowest_cap = p->path_cap[c] < lowest_cap ? p->path_cap[c] : lowest_cap;
            }
        }
        double own = (capacity - used) / load;
        own = own > level ? own : level;
        level = lowest_cap < own ? lowest_cap : own;
        for (int32_t k = 0; k < n_here; k++) {
            int32_t c = s->rising[k];
            if (s->stopped[c])
                continue;
            if (p->path_cap[c] <= level)
                s->rate[c] = p->path_cap[c];
            else if (own <= level)
                s->rate[c] = level;
            else
                continue;
            s->stopped[c] = 1;
            n_rising--;
        }
    }
}

bool ssk_lone_update(ssk_flows_t *self)
{
    const ssk_problem_t *p = self->problem;
    ssk_sharing_t *s = &self->sharing;
    bool all_lone = true;
    for (int32_t i = 0; i < self->n_listed; i++) {
        int32_t c = self->changed[i], path = c / p->n_smt, first = p->path_resource_ptr[path];
        int32_t change = self->classes[c].n - self->classes[c].counted;
        bool lone = n_crossed(p, path) == 1;
        for (int32_t k = first; k < p->path_resource_ptr[path + 1]; k++) {
            s->flows_on[p->path_resource[k]] += change;
            s->linked[p->path_resource[k]] += lone ? 0 : change;
        }
        all_lone = all_lone && (lone || change == 0);
    }
    for (int32_t i = 0; i < self->n_listed && all_lone; i++)
        all_lone = s->linked[p->path_resource[p->path_resource_ptr[self->changed[i] / p->n_smt]]] == 0;
    if (!all_lone)
        return false;
    memset(s->component, 0, (size_t)self->n_words * sizeof(*s->component));
    for (int32_t i = 0; i < self->n_listed; i++) {
        const ssk_class_t *cls = &self->classes[self->changed[i]];
        int32_t x = p->path_resource[p->path_resource_ptr[self->changed[i] / p->n_smt]];
        if (cls->n == cls->counted || s->seen[x])
            continue;
        s->seen[x] = 1;
        s->slack[x] = 0; /* its load is not kept up here */
        fill(self, x);
    }
    for (int32_t i = 0; i < self->n_listed; i++)
        s->seen[p->path_resource[p->path_resource_ptr[self->changed[i] / p->n_smt]]] = 0;
    return true;
}
