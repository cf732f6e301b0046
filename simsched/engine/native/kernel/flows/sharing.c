/*
 * Bandwidth sharing: weighted max-min fair rates by water-filling.
 *
 * All rates rise together; a class stops at its cap or when a resource it crosses is full. The sums and the order of
 * operations are those of docs/semantics.md, rules F. A resource's level changes only when a class that crosses
 * it stops, so the sums of a resource are computed again (from scratch, in class order) only then; each round costs
 * O(resources + rising classes) plus the sums of the resources that have changed.
 */
#include "flows/sharing.h"

#include <math.h>

#include "flows/lone.h"

int ssk_sharing_alloc(ssk_flows_t *self, const ssk_allocator_t *allocator)
{
    const ssk_problem_t *p = self->problem;
    ssk_sharing_t *s = &self->sharing;
    size_t n_classes = (size_t)self->n_classes, n_resources = (size_t)p->n_resources, n_words = (size_t)self->n_words;
    s->rate = ssk_new(allocator, n_classes, sizeof(*s->rate));
    s->stopped = ssk_new(allocator, n_classes, sizeof(*s->stopped));
    s->rising = ssk_new(allocator, n_classes, sizeof(*s->rising));
    s->crossing = ssk_new(allocator, (size_t)p->n_crossings * (size_t)p->n_mates, sizeof(*s->crossing));
    s->crossing_ptr = ssk_new(allocator, n_resources + 1, sizeof(*s->crossing_ptr));
    s->n_crossing = ssk_new(allocator, n_resources, sizeof(*s->n_crossing));
    s->used = ssk_new(allocator, n_resources, sizeof(*s->used));
    s->raw_level = ssk_new(allocator, n_resources, sizeof(*s->raw_level));
    s->stale = ssk_new(allocator, n_resources, sizeof(*s->stale));
    s->crosses = ssk_new(allocator, n_resources * n_words, sizeof(*s->crosses));
    s->component = ssk_new(allocator, n_words, sizeof(*s->component));
    s->renewed = ssk_new(allocator, n_classes, sizeof(*s->renewed));
    s->flows_on = ssk_new(allocator, n_resources, sizeof(*s->flows_on));
    s->slack = ssk_new(allocator, n_resources, sizeof(*s->slack));
    s->varies = ssk_new(allocator, n_resources, sizeof(*s->varies));
    s->load = ssk_new(allocator, n_resources, sizeof(*s->load));
    s->next_load = ssk_new(allocator, n_resources, sizeof(*s->next_load));
    s->seen = ssk_new(allocator, n_resources, sizeof(*s->seen));
    s->queue = ssk_new(allocator, n_resources, sizeof(*s->queue));
    if (!s->rate || !s->stopped || !s->rising || !s->crossing || !s->crossing_ptr || !s->n_crossing || !s->used ||
        !s->raw_level || !s->stale || !s->crosses || !s->component || !s->renewed || !s->flows_on || !s->slack || !s->varies || !s->load ||
        !s->next_load || !s->seen || !s->queue)
        return SSK_ERR_MEMORY;
    memset(s->slack, 1, n_resources);
    for (int32_t c = 0; c < self->n_classes; c++) {
        for (int32_t i = p->path_resource_ptr[c / p->n_mates]; i < p->path_resource_ptr[c / p->n_mates + 1]; i++) {
            s->crossing_ptr[p->path_resource[i] + 1]++;
            s->crosses[(size_t)p->path_resource[i] * n_words + (size_t)(c >> 6)] |= (uint64_t)1 << (c & 63);
        }
    }
    for (size_t x = 0; x < n_resources; x++) {
        s->crossing_ptr[x + 1] += s->crossing_ptr[x];
        s->varies[x] = p->curve_ptr[x + 1] > p->curve_ptr[x] || (p->resource_gradual != NULL && p->resource_gradual[x]);
        s->has_loaded_latency |= p->latency_slope != NULL && p->latency_bend != NULL && p->latency_slope[x] > 0.0;
    }
    return ssk_lone_alloc(self, allocator);
}

void ssk_sharing_free(ssk_flows_t *self, const ssk_allocator_t *allocator)
{
    ssk_sharing_t *s = &self->sharing;
    void *const blocks[] = {
        s->rate,  s->stopped, s->rising,    s->crossing, s->crossing_ptr, s->n_crossing, s->used, s->raw_level, s->stale,
        s->crosses, s->component, s->renewed, s->flows_on, s->slack, s->load,         s->next_load,  s->seen, s->queue,
        s->lone,  s->linked, s->present,  s->varies,
    };
    for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++)
        ssk_delete(allocator, blocks[i]);
    memset(s, 0, sizeof(*s));
}

/* Returns what flows that could draw so much get of a resource that nears its ceiling; rule F7. */
static double gradual_capacity(const ssk_flows_t *self, int32_t x, double ceiling)
{
    const ssk_problem_t *p = self->problem;
    const uint64_t *crosses = &self->sharing.crosses[(size_t)x * (size_t)self->n_words];
    double drawn = 0.0, excess;
    for (int32_t word = 0; word < self->n_words; word++) {
        for (uint64_t bits = crosses[word] & self->occupied[word]; bits != 0; bits &= bits - 1) {
            int32_t c = 64 * word + ssk_lowest_bit(bits), i = p->path_resource_ptr[c / p->n_mates];
            while (p->path_resource[i] != x)
                i++;
            drawn += (double)self->classes[c].n * p->path_weight[i] * p->path_cap[c];
        }
    }
    excess = drawn / ceiling;
    excess *= excess;
    excess *= excess;
    return isfinite(excess) ? drawn / sqrt(sqrt(1.0 + excess)) : ceiling;
}

double ssk_varying_capacity(const ssk_flows_t *self, int32_t resource)
{
    const ssk_problem_t *p = self->problem;
    int32_t curve = p->curve_ptr[resource], length = p->curve_ptr[resource + 1] - curve;
    int32_t flows = self->sharing.flows_on[resource];
    if (flows == 0)
        return p->resource_capacity[resource];
    if (length == 0)
        return gradual_capacity(self, resource, p->resource_capacity[resource]);
    return p->curve[curve + (flows < length ? flows : length) - 1];
}

double ssk_load(const ssk_flows_t *self, int32_t x)
{
    const ssk_problem_t *p = self->problem;
    const uint64_t *crosses = &self->sharing.crosses[(size_t)x * (size_t)self->n_words];
    double load = 0.0;
    for (int32_t word = 0; word < self->n_words; word++) {
        for (uint64_t bits = crosses[word]; bits != 0; bits &= bits - 1) {
            int32_t c = 64 * word + ssk_lowest_bit(bits), i = p->path_resource_ptr[c / p->n_mates];
            if (self->classes[c].counted == 0)
                continue;
            while (p->path_resource[i] != x)
                i++;
            load += (double)self->classes[c].counted * p->path_weight[i] * self->classes[c].rate;
        }
    }
    return load;
}

int64_t ssk_loaded_latency(const ssk_flows_t *self, int32_t path)
{
    const ssk_problem_t *p = self->problem;
    int64_t idle = p->path_latency_ps[path];
    double growth = 0.0;
    for (int32_t i = p->path_resource_ptr[path]; i < p->path_resource_ptr[path + 1]; i++) {
        int32_t x = p->path_resource[i];
        if (p->latency_slope[x] == 0.0)
            continue;
        double load = ssk_load(self, x) / p->resource_capacity[x];
        load = load < 1.0 ? load : 1.0;
        growth += p->latency_slope[x] * load / (1.0 - p->latency_bend[x] * load);
    }
    return ssk_add_ps(idle, ssk_ceil_ps((double)idle * growth));
}

/* Lists the classes of the component and, for each resource that counts, those that cross it. */
static int32_t gather(ssk_flows_t *self)
{
    const ssk_problem_t *p = self->problem;
    ssk_sharing_t *s = &self->sharing;
    int32_t n_rising = 0;
    for (int32_t k = 0; k < s->n_used; k++)
        s->n_crossing[s->used[k]] = 0;
    s->n_used = 0;
    for (int32_t word = 0; word < self->n_words; word++) {
        for (uint64_t bits = s->component[word]; bits != 0; bits &= bits - 1) {
            int32_t c = 64 * word + ssk_lowest_bit(bits);
            int32_t path = c / p->n_mates;
            double n = (double)self->classes[c].n;
            s->renewed[n_rising] = c;
            s->rising[n_rising++] = c;
            s->stopped[c] = 0;
            for (int32_t i = p->path_resource_ptr[path]; i < p->path_resource_ptr[path + 1]; i++) {
                int32_t x = p->path_resource[i];
                ssk_crossing_t crossing = {c, n * p->path_weight[i]};
                if (s->slack[x])
                    continue;
                if (s->n_crossing[x] == 0)
                    s->used[s->n_used++] = x;
                s->crossing[s->crossing_ptr[x] + s->n_crossing[x]++] = crossing;
                s->stale[x] = 1;
            }
        }
    }
    s->n_renewed = n_rising;
    return n_rising;
}

/* Returns the level at which a resource is full, infinity when no rising class loads it. */
static double raw_level(const ssk_flows_t *self, int32_t x)
{
    const ssk_sharing_t *s = &self->sharing;
    const ssk_crossing_t *crossing = &s->crossing[s->crossing_ptr[x]];
    double used = 0.0, load = 0.0;
    for (int32_t i = 0; i < s->n_crossing[x]; i++) {
        if (s->stopped[crossing[i].class_index])
            used += crossing[i].weight * s->rate[crossing[i].class_index];
        else
            load += crossing[i].weight;
    }
    return load > 0.0 ? (ssk_capacity(self, x) - used) / load : INFINITY;
}

static void stop(ssk_flows_t *self, int32_t c, double rate)
{
    const ssk_problem_t *p = self->problem;
    ssk_sharing_t *s = &self->sharing;
    int32_t path = c / p->n_mates;
    s->stopped[c] = 1;
    s->rate[c] = rate;
    for (int32_t i = p->path_resource_ptr[path]; i < p->path_resource_ptr[path + 1]; i++)
        s->stale[p->path_resource[i]] = 1;
}

/* Returns the smallest level of all resources, not below the previous one, and of the caps of rising classes. */
static double next_level(ssk_flows_t *self, int32_t n_rising, double previous)
{
    ssk_sharing_t *s = &self->sharing;
    const double *cap = self->problem->path_cap;
    double level = INFINITY;
    for (int32_t k = 0; k < s->n_used; k++) {
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
    return level;
}

/* Stops the rising classes on every resource that is full at `level`; `previous` is the level before. */
static void stop_on_full(ssk_flows_t *self, double level, double previous)
{
    ssk_sharing_t *s = &self->sharing;
    for (int32_t k = 0; k < s->n_used; k++) {
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

void ssk_sharing_fill(ssk_flows_t *self)
{
    ssk_sharing_t *s = &self->sharing;
    const double *cap = self->problem->path_cap;
    int32_t n_rising = gather(self);
    double level = 0.0;
    while (n_rising > 0) {
        double previous = level;
        level = next_level(self, n_rising, previous);
        for (int32_t k = 0; k < n_rising; k++)
            if (cap[s->rising[k]] <= level)
                stop(self, s->rising[k], cap[s->rising[k]]);
        stop_on_full(self, level, previous);
        int32_t kept = 0;
        for (int32_t k = 0; k < n_rising; k++)
            if (!s->stopped[s->rising[k]])
                s->rising[kept++] = s->rising[k];
        n_rising = kept;
    }
}
