/*
 * Coupling: which rates have to be computed anew when classes gain or lose flows.
 *
 * Two classes influence each other only through resources that stop somebody. A resource is *slack* when the load of
 * all its flows leaves a millionth of its capacity or more: in no round of the water-filling can its level then be the
 * smallest, because the classes that are still rising would end above that level and overload it. (The margin is far
 * above what rounding of the sums can do.) Slack resources are therefore left out, and only the classes are computed
 * that are connected with a change through resources that are not slack. The remaining classes would go through the
 * same rounds with the same operands as before; their rates stay.
 *
 * Whether a slack resource stays slack is checked with the new rates; when it does not, the computation is repeated
 * with it. ssk_sharing_verify() compares with the rates that water-filling over everything gives, bit by bit.
 */
#include "flows/coupling.h"

#include <math.h>

#include "flows/lone.h"
#include "flows/sharing.h"

static const double SLACK_LIMIT = 1.0 - 1e-6; /* share of the capacity above which a resource is not slack */
static const double SLACK_AGAIN = 1.0 - 1e-3; /* share of the capacity below which it becomes slack */
static const int32_t REFRESH = 65536;         /* updates after which loads, being sums of differences, are summed anew */

/* Adds to the queue the resources of a class that are not slack and not in it. */
static int32_t enqueue(ssk_flows_t *self, int32_t c, int32_t n_queued)
{
    const ssk_problem_t *p = self->problem;
    ssk_sharing_t *s = &self->sharing;
    int32_t path = c / p->n_mates;
    for (int32_t i = p->path_resource_ptr[path]; i < p->path_resource_ptr[path + 1]; i++) {
        int32_t x = p->path_resource[i];
        if (s->slack[x] || s->seen[x])
            continue;
        s->seen[x] = 1;
        s->queue[n_queued++] = x;
    }
    return n_queued;
}

/* Fills the component with all classes connected with a change; queue holds its resources, their number is returned. */
static int32_t find_component(ssk_flows_t *self)
{
    ssk_sharing_t *s = &self->sharing;
    size_t n_words = (size_t)self->n_words;
    int32_t n_queued = 0;
    memset(s->component, 0, n_words * sizeof(*s->component));
    for (int32_t i = 0; i < self->n_listed; i++) {
        int32_t c = self->changed[i];
        if (self->classes[c].n == self->classes[c].counted)
            continue;
        if (self->classes[c].n > 0)
            s->component[c >> 6] |= (uint64_t)1 << (c & 63);
        n_queued = enqueue(self, c, n_queued);
    }
    for (int32_t k = 0; k < n_queued; k++) {
        const uint64_t *crosses = &s->crosses[(size_t)s->queue[k] * n_words];
        for (int32_t word = 0; word < self->n_words; word++) {
            uint64_t fresh = crosses[word] & self->occupied[word] & ~s->component[word];
            s->component[word] |= fresh;
            for (; fresh != 0; fresh &= fresh - 1)
                n_queued = enqueue(self, 64 * word + ssk_lowest_bit(fresh), n_queued);
        }
    }
    for (int32_t k = 0; k < n_queued; k++)
        s->seen[s->queue[k]] = 0;
    return n_queued;
}

/* Adds what a class loads more than before to the slack resources it crosses, listed in queue from n_queued on. */
static int32_t add_load(ssk_flows_t *self, int32_t c, double rate, int32_t n_queued)
{
    const ssk_problem_t *p = self->problem;
    ssk_sharing_t *s = &self->sharing;
    const ssk_class_t *cls = &self->classes[c];
    int32_t path = c / p->n_mates;
    double more = (double)cls->n * rate - (double)cls->counted * cls->rate;
    for (int32_t i = p->path_resource_ptr[path]; i < p->path_resource_ptr[path + 1]; i++) {
        int32_t x = p->path_resource[i];
        if (!s->slack[x])
            continue;
        if (!s->seen[x]) {
            s->seen[x] = 1;
            s->queue[n_queued++] = x;
            s->next_load[x] = s->load[x];
        }
        s->next_load[x] += more * p->path_weight[i];
    }
    return n_queued;
}

/* Computes the loads of slack resources with the new rates; false when one of them turns out not to be slack. */
static bool slack_holds(ssk_flows_t *self, int32_t n_queued)
{
    ssk_sharing_t *s = &self->sharing;
    int32_t end = n_queued;
    bool holds = true;
    for (int32_t i = 0; i < self->n_listed; i++)
        if (self->classes[self->changed[i]].n == 0)
            end = add_load(self, self->changed[i], 0.0, end);
    for (int32_t i = 0; i < s->n_renewed; i++)
        end = add_load(self, s->renewed[i], s->rate[s->renewed[i]], end);
    for (int32_t k = n_queued; k < end; k++) {
        int32_t x = s->queue[k];
        s->seen[x] = 0;
        if (!(s->next_load[x] <= ssk_capacity(self, x) * SLACK_LIMIT)) {
            s->slack[x] = 0;
            holds = false;
        }
    }
    for (int32_t k = n_queued; k < end && holds; k++)
        s->load[s->queue[k]] = s->next_load[s->queue[k]];
    return holds;
}

/* Makes resources of the component slack that are far from full. */
static void find_slack(ssk_flows_t *self, int32_t n_queued)
{
    ssk_sharing_t *s = &self->sharing;
    for (int32_t k = 0; k < n_queued; k++) {
        int32_t x = s->queue[k];
        const ssk_crossing_t *crossing = &s->crossing[s->crossing_ptr[x]];
        double load = 0.0;
        for (int32_t i = 0; i < s->n_crossing[x]; i++)
            load += crossing[i].weight * s->rate[crossing[i].class_index];
        if (load <= ssk_capacity(self, x) * SLACK_AGAIN) {
            s->slack[x] = 1;
            s->load[x] = load;
        }
    }
}

void ssk_sharing_update(ssk_flows_t *self)
{
    const ssk_problem_t *p = self->problem;
    ssk_sharing_t *s = &self->sharing;
    int32_t n_queued;
    if (ssk_lone_update(self))
        return;
    if (++s->n_since_refresh == REFRESH) {
        s->n_since_refresh = 0;
        memset(s->slack, 0, (size_t)p->n_resources);
    }
    do {
        n_queued = find_component(self);
        ssk_sharing_fill(self);
    } while (!slack_holds(self, n_queued));
    find_slack(self, n_queued);
}

int ssk_sharing_verify(const ssk_flows_t *self)
{
    /* A twin that shares the classes, with its own result and without slack. */
    ssk_flows_t twin = *self;
    size_t n_resources = (size_t)self->problem->n_resources;
    for (size_t x = 0; x < n_resources; x++) {
        int32_t flows = 0;
        for (int32_t c = 0; c < self->n_classes; c++)
            if (self->sharing.crosses[x * (size_t)self->n_words + (size_t)(c >> 6)] >> (c & 63) & 1)
                flows += self->classes[c].n;
        if (flows != self->sharing.flows_on[x])
            return SSK_ERR_INVARIANT;
    }
    /* seen is all 0 between updates: as `slack` it says that every resource counts */
    twin.sharing.slack = self->sharing.seen;
    twin.sharing.component = self->occupied;
    ssk_sharing_fill(&twin);
    for (int32_t k = 0; k < twin.sharing.n_used; k++)
        self->sharing.n_crossing[twin.sharing.used[k]] = 0;
    for (int32_t c = 0; c < self->n_classes; c++)
        if (self->classes[c].n > 0 && self->classes[c].rate != self->sharing.rate[c])
            return SSK_ERR_INVARIANT;
    return SSK_OK;
}
