#include "pools/victims.h"

int ssk_victims_alloc(ssk_victims_t *self, const ssk_allocator_t *allocator, const ssk_problem_t *problem)
{
    memset(self, 0, sizeof(*self));
    int32_t n = problem->n_workers > problem->n_domains ? problem->n_workers : problem->n_domains;
    n = problem->n_classes > n ? problem->n_classes : n;
    self->n_instances = n; /* there are no more sockets than domains */
    self->n_words = (size_t)(problem->n_workers + 63) / 64;
    self->left = ssk_new(allocator, (size_t)n, sizeof(*self->left));
    self->weight = ssk_new(allocator, (size_t)n, sizeof(*self->weight));
    return self->left && self->weight ? SSK_OK : SSK_ERR_MEMORY;
}

void ssk_victims_free(ssk_victims_t *self, const ssk_allocator_t *allocator)
{
    ssk_delete(allocator, self->reaching);
    ssk_delete(allocator, self->left);
    ssk_delete(allocator, self->weight);
    memset(self, 0, sizeof(*self));
}

int ssk_victims_reset(ssk_victims_t *self, const ssk_allocator_t *allocator, const ssk_order_t *order,
                      int32_t n_workers)
{
    size_t n_sets = (size_t)order->n_lists * (size_t)self->n_instances;
    int status = ssk_grow(allocator, &self->reaching, &self->reaching_capacity, n_sets * self->n_words,
                          sizeof(*self->reaching));
    if (status != SSK_OK)
        return status;
    if (n_sets > 0)
        memset(self->reaching, 0, n_sets * self->n_words * sizeof(*self->reaching));
    for (int64_t row = 0; row < (int64_t)order->n_lists * n_workers; row++) {
        size_t first = (size_t)(row / n_workers) * (size_t)self->n_instances;
        int32_t worker = (int32_t)(row % n_workers);
        for (int64_t i = order->list_ptr[row]; i < order->list_ptr[row + 1]; i++) {
            uint64_t *set = &self->reaching[(first + (size_t)order->list_instance[i]) * self->n_words];
            set[worker >> 6] |= (uint64_t)1 << (worker & 63);
        }
    }
    return SSK_OK;
}

int ssk_victims_verify(const ssk_victims_t *self, const ssk_order_t *order, int32_t n_workers)
{
    int64_t n_members = 0;
    for (int64_t row = 0; row < (int64_t)order->n_lists * n_workers; row++) {
        int32_t worker = (int32_t)(row % n_workers);
        for (int64_t i = order->list_ptr[row]; i < order->list_ptr[row + 1]; i++) {
            const uint64_t *set = ssk_victims_reaching(self, (int32_t)(row / n_workers), order->list_instance[i]);
            if (!(set[worker >> 6] >> (worker & 63) & 1))
                return SSK_ERR_INVARIANT;
        }
    }
    for (size_t i = 0; i < (size_t)order->n_lists * (size_t)self->n_instances * self->n_words; i++)
        for (uint64_t bits = self->reaching[i]; bits != 0; bits &= bits - 1)
            n_members++;
    return n_members == order->n_listed ? SSK_OK : SSK_ERR_INVARIANT;
}

/* Takes the candidates of the next rank, or all with weights, out of the rest of the row. */
static void take_rank(ssk_victims_t *self)
{
    int32_t n = 0;
    self->total = 0;
    while (n < self->n_listed && (self->by_weight || self->value[n] == self->value[0])) {
        self->left[n] = self->listed[n];
        self->weight[n] = self->value[n];
        self->total += (uint32_t)self->value[n];
        n++;
    }
    self->n_left = n;
    self->listed += n;
    self->value += n;
    self->n_listed -= n;
}

void ssk_victims_open(ssk_victims_t *self, const ssk_order_t *order, int32_t choice, int64_t row)
{
    self->listed = order->list_instance + order->list_ptr[row];
    self->value = order->list_value + order->list_ptr[row];
    self->n_listed = order->list_ptr[row + 1] - order->list_ptr[row];
    self->n_left = 0;
    self->by_weight = choice == SSK_WEIGHTED;
}

int32_t ssk_victims_draw(ssk_victims_t *self, const ssk_random_t *random)
{
    uint32_t place = 0;
    if (self->n_left == 0)
        take_rank(self);
    if (self->n_left == 0)
        return SSK_NONE;
    if (self->by_weight) {
        uint32_t x = (uint32_t)ssk_draw_below(random, self->total);
        while (x >= (uint32_t)self->weight[place])
            x -= (uint32_t)self->weight[place++];
    } else {
        place = (uint32_t)ssk_draw_below(random, (uint32_t)self->n_left);
    }
    int32_t chosen = self->left[place];
    self->total -= (uint32_t)self->weight[place];
    self->n_left--;
    self->left[place] = self->left[self->n_left];
    self->weight[place] = self->weight[self->n_left];
    return chosen;
}
