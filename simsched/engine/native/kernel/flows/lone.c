/*
 * Lone resources: the common case of bandwidth sharing, in which a change concerns resources that are crossed by flows
 * of one-resource paths only (memory nodes without links in between).
 *
 * Such a resource is a component of its own, so its rates follow from its own classes: the rounds are those of
 * sharing.c with the same operands in the same order, without lists of crossings and queues.
 *
 * Invariants: lone[c].resource is the only resource of class c, -1 if it crosses several; linked[x] is the number of
 * flows on x whose path crosses other resources too.
 */
#include "flows/lone.h"

#include <math.h>

#include "flows/sharing.h"

int ssk_lone_alloc(ssk_flows_t *self, const ssk_allocator_t *allocator)
{
    const ssk_problem_t *p = self->problem;
    ssk_sharing_t *s = &self->sharing;
    size_t n_classes = (size_t)self->n_classes;
    s->lone = ssk_new(allocator, n_classes, sizeof(*s->lone));
    s->linked = ssk_new(allocator, (size_t)p->n_resources, sizeof(*s->linked));
    s->present = ssk_new(allocator, n_classes, sizeof(*s->present));
    if (!s->present || !s->lone || !s->linked)
        return SSK_ERR_MEMORY;
    for (int32_t c = 0; c < self->n_classes; c++) {
        int32_t path = c / p->n_mates, first = p->path_resource_ptr[path];
        bool is_lone = p->path_resource_ptr[path + 1] - first == 1;
        s->lone[c].resource = is_lone ? p->path_resource[first] : SSK_NONE;
        s->lone[c].weight = is_lone ? p->path_weight[first] : 0.0;
        s->lone[c].cap = p->path_cap[c];
    }
    return SSK_OK;
}

/* Lists the classes of a lone resource that have flows, with the load and the lowest cap of all. */
static int32_t list_present(ssk_flows_t *self, int32_t x, double *load_ret, double *cap_ret)
{
    ssk_sharing_t *s = &self->sharing;
    const uint64_t *crosses = &s->crosses[(size_t)x * (size_t)self->n_words];
    double load = 0.0, lowest_cap = INFINITY;
    int32_t n_here = 0;
    for (int32_t word = 0; word < self->n_words; word++) {
        for (uint64_t bits = crosses[word] & self->occupied[word]; bits != 0; bits &= bits - 1) {
            int32_t c = 64 * word + ssk_lowest_bit(bits);
            const ssk_lone_t *lone = &s->lone[c];
            ssk_present_t *entry = &s->present[n_here++];
            entry->load = (double)self->classes[c].n * lone->weight;
            entry->cap = lone->cap;
            entry->class_index = c;
            entry->is_rising = true;
            load += entry->load;
            lowest_cap = lone->cap < lowest_cap ? lone->cap : lowest_cap;
            s->renewed[s->n_renewed++] = c;
        }
    }
    *load_ret = load;
    *cap_ret = lowest_cap;
    return n_here;
}

/* Computes the rates of the classes of one lone resource. */
static void fill(ssk_flows_t *self, int32_t x)
{
    ssk_sharing_t *s = &self->sharing;
    ssk_present_t *here = s->present;
    double load, lowest_cap, used = 0.0, level = 0.0, capacity = ssk_capacity(self, x);
    int32_t n_here = list_present(self, x, &load, &lowest_cap);
    for (int32_t n_rising = n_here; n_rising > 0;) {
        double own = (capacity - used) / load;
        own = own > level ? own : level;
        level = lowest_cap < own ? lowest_cap : own;
        used = load = 0.0;
        lowest_cap = INFINITY;
        for (int32_t k = 0; k < n_here; k++) {
            double *rate = &s->rate[here[k].class_index];
            if (here[k].is_rising && (here[k].cap <= level || own <= level)) {
                *rate = here[k].cap <= level ? here[k].cap : level;
                here[k].is_rising = false;
                n_rising--;
            }
            if (here[k].is_rising) {
                load += here[k].load;
                lowest_cap = here[k].cap < lowest_cap ? here[k].cap : lowest_cap;
            } else {
                used += here[k].load * *rate;
            }
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
        if (s->lone[c].resource >= 0) {
            s->flows_on[s->lone[c].resource] += change;
            continue;
        }
        int32_t path = c / p->n_mates;
        for (int32_t k = p->path_resource_ptr[path]; k < p->path_resource_ptr[path + 1]; k++) {
            s->flows_on[p->path_resource[k]] += change;
            s->linked[p->path_resource[k]] += change;
        }
        all_lone = all_lone && change == 0;
    }
    for (int32_t i = 0; i < self->n_listed && all_lone; i++) {
        int32_t x = s->lone[self->changed[i]].resource;
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
        int32_t x = s->lone[self->changed[i]].resource;
        if (cls->n == cls->counted || s->seen[x])
            continue;
        s->seen[x] = 1;
        s->slack[x] = 0; /* its load is not kept up here */
        fill(self, x);
    }
    for (int32_t i = 0; i < self->n_listed; i++)
        if (s->lone[self->changed[i]].resource >= 0)
            s->seen[s->lone[self->changed[i]].resource] = 0;
    return true;
}
