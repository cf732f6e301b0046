/*
 * Bandwidth sharing: weighted max-min fair rates by water-filling.
 *
 * All rates rise together; a class stops at its cap or when a resource it crosses is full. The sums and the order of
 * operations are those of docs/semantics.md, "Memory flows". A resource's level changes only when a class that crosses
 * it stops, so the sums of a resource are computed again (from scratch, in class order) only then; each round costs
 * O(resources + rising classes) plus the sums of the resources that have changed.
 */
#include <math.h>

#include "flows.h"

int ssk_sharing_alloc(ssk_sharing_t *self, const ssk_allocator_t *allocator, const ssk_problem_t *problem)
{
    size_t n_classes = (size_t)problem->n_paths * (size_t)problem->n_smt;
    size_t n_resources = (size_t)problem->n_resources;
    size_t n_crossing = (size_t)problem->path_resource_ptr[problem->n_paths] * (size_t)problem->n_smt;
    self->rising = ssk_new(allocator, n_classes, sizeof(*self->rising));
    self->stopped = ssk_new(allocator, n_classes, sizeof(*self->stopped));
    self->rate = ssk_new(allocator, n_classes, sizeof(*self->rate));
    self->crossing = ssk_new(allocator, n_crossing, sizeof(*self->crossing));
    self->crossing_ptr = ssk_new(allocator, n_resources + 1, sizeof(*self->crossing_ptr));
    self->n_crossing = ssk_new(allocator, n_resources, sizeof(*self->n_crossing));
    self->n_flows = ssk_new(allocator, n_resources, sizeof(*self->n_flows));
    self->used = ssk_new(allocator, n_resources, sizeof(*self->used));
    self->raw_level = ssk_new(allocator, n_resources, sizeof(*self->raw_level));
    self->stale = ssk_new(allocator, n_resources, sizeof(*self->stale));
    if (!self->rising || !self->stopped || !self->rate || !self->crossing || !self->crossing_ptr ||
        !self->n_crossing || !self->n_flows || !self->used || !self->raw_level || !self->stale)
        return SSK_ERR_MEMORY;
    for (int32_t i = 0; i < problem->path_resource_ptr[problem->n_paths]; i++)
        self->crossing_ptr[problem->path_resource[i] + 1] += problem->n_smt;
    for (size_t x = 0; x < n_resources; x++)
        self->crossing_ptr[x + 1] += self->crossing_ptr[x];
    return SSK_OK;
}

void ssk_sharing_free(ssk_sharing_t *self, const ssk_allocator_t *allocator)
{
    ssk_delete(allocator, self->rising);
    ssk_delete(allocator, self->stopped);
    ssk_delete(allocator, self->rate);
    ssk_delete(allocator, self->crossing);
    ssk_delete(allocator, self->crossing_ptr);
    ssk_delete(allocator, self->n_crossing);
    ssk_delete(allocator, self->n_flows);
    ssk_delete(allocator, self->used);
    ssk_delete(allocator, self->raw_level);
    ssk_delete(allocator, self->stale);
}

/* Lists the classes with flows and, for each resource, the classes that cross it; returns the number of classes. */
static int32_t gather(ssk_flows_t *self, int32_t *n_used_ret)
{
    const ssk_problem_t *p = self->problem;
    ssk_sharing_t *s = &self->sharing;
    int32_t n_rising = 0, n_used = 0;
    memset(s->n_crossing, 0, (size_t)p->n_resources * sizeof(*s->n_crossing));
    memset(s->n_flows, 0, (size_t)p->n_resources * sizeof(*s->n_flows));
    for (int32_t word = 0; word < self->n_words; word++) {
        for (uint64_t bits = self->occupied[word]; bits != 0; bits &= bits - 1) {
            int32_t c = 64 * word + ssk_lowest_bit(bits);
            int32_t path = c / p->n_smt, n = self->classes[c].n;
            s->rising[n_rising++] = c;
            s->stopped[c] = 0;
            for (int32_t i = p->path_resource_ptr[path]; i < p->path_resource_ptr[path + 1]; i++) {
                int32_t x = p->path_resource[i];
                ssk_crossing_t crossing = {c, (double)n * p->path_weight[i]};
                if (s->n_crossing[x] == 0)
                    s->used[n_used++] = x;
                s->crossing[s->crossing_ptr[x] + s->n_crossing[x]++] = crossing;
                s->n_flows[x] += n;
                s->stale[x] = 1;
            }
        }
    }
    *n_used_ret = n_used;
    return n_rising;
}

/* Returns the level at which a resource is full, infinity when no rising class loads it. */
static double raw_level(const ssk_flows_t *self, int32_t x)
{
    const ssk_problem_t *p = self->problem;
    const ssk_sharing_t *s = &self->sharing;
    const ssk_crossing_t *crossing = &s->crossing[s->crossing_ptr[x]];
    double used = 0.0, load = 0.0;
    for (int32_t i = 0; i < s->n_crossing[x]; i++) {
        if (s->stopped[crossing[i].class_index])
            used += crossing[i].weight * s->rate[crossing[i].class_index];
        else
            load += crossing[i].weight;
    }
    if (!(load > 0.0))
        return INFINITY;
    double capacity = p->resource_capacity[x];
    int32_t curve = p->curve_ptr[x], length = p->curve_ptr[x + 1] - curve;
    if (length > 0)
        capacity = p->curve[curve + (s->n_flows[x] < length ? s->n_flows[x] : length) - 1];
    return (capacity - used) / load;
}

static void stop(ssk_flows_t *self, int32_t c, double rate)
{
    const ssk_problem_t *p = self->problem;
    ssk_sharing_t *s = &self->sharing;
    int32_t path = c / p->n_smt;
    s->stopped[c] = 1;
    s->rate[c] = rate;
    for (int32_t i = p->path_resource_ptr[path]; i < p->path_resource_ptr[path + 1]; i++)
        s->stale[p->path_resource[i]] = 1;
}

/* Stops the rising classes on every resource that is full at `level`, which was not below `previous`. */
static void stop_on_full(ssk_flows_t *self, int32_t n_used, double level, double previous)
{
    ssk_sharing_t *s = &self->sharing;
    for (int32_t k = 0; k < n_used; k++) {
        int32_t x = s->used[k];
        double own = s->raw_level[x];
        if ((own > previous ? own : previous) > level || own == INFINITY)
            continue;
        const ssk_crossing_t *crossing = &s->crossing[s->crossing_ptr[x]];
        for (int32_t i = 0; i < s->n_crossing[x]; i++)
            if (!s->stopped[crossing[i].class_index])
                stop(self, crossing[i].class_index, level);
    }
}

void ssk_flows_share(ssk_flows_t *self)
{
    ssk_sharing_t *s = &self->sharing;
    const double *cap = self->problem->path_cap;
    int32_t n_used, n_rising = gather(self, &n_used);
    double level = 0.0;
    while (n_rising > 0) {
        double previous = level;
        level = INFINITY;
        for (int32_t k = 0; k < n_used; k++) {
            int32_t x = s->used[k];
            if (s->stale[x]) {
                s->stale[x] = 0;
                s->raw_level[x] = raw_level(self, x);
            }
            double own = s->raw_level[x] > previous ? s->raw_level[x] : previous;
            if (s->raw_level[x] != INFINITY && own < level)
                level = own;
        }
        for (int32_t k = 0; k < n_rising; k++)
            if (cap[s->rising[k]] < level)
                level = cap[s->rising[k]];
        for (int32_t k = 0; k < n_rising; k++)
            if (cap[s->rising[k]] <= level)
                stop(self, s->rising[k], cap[s->rising[k]]);
        stop_on_full(self, n_used, level, previous);
        int32_t kept = 0;
        for (int32_t k = 0; k < n_rising; k++)
            if (!s->stopped[s->rising[k]])
                s->rising[kept++] = s->rising[k];
        if (kept == n_rising)
            break; /* level is infinite: only with data that the binding refuses */
        n_rising = kept;
    }
    for (int32_t k = 0; k < n_rising; k++)
        s->rate[s->rising[k]] = 0.0;
}
