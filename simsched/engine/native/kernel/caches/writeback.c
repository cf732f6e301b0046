#include "caches/writeback.h"

int64_t ssk_writeback_held(const ssk_caches_t *self, int32_t block, int64_t most)
{
    const ssk_problem_t *p = self->problem;
    const int32_t *instance = self->dirty_in + (size_t)block * (size_t)p->n_levels;
    int64_t held = 0;
    if (self->holder[block] == self->end)
        return 0;
    most = ssk_min(most, p->block_bytes[block]);
    for (int32_t i = 0; i < p->n_levels && held < most; i++) {
        /* Outer levels hold more; where some are filled by evictions, the order matters. */
        int32_t level = self->shared != NULL ? i : p->n_levels - 1 - i;
        bool is_there;
        int64_t here = ssk_caches_held_by(self, level, instance[level], block, &is_there);
        held = is_victim(p, level) ? held + here : ssk_max(held, here);
    }
    return ssk_min(held, most);
}

void ssk_writeback_hand_over(ssk_caches_t *self, int32_t worker, int32_t block)
{
    for (int32_t level = 0; level < self->problem->n_levels; level++)
        self->dirty_in[(size_t)block * (size_t)self->problem->n_levels + (size_t)level] = own_instance(self, level, worker);
}

void ssk_writeback_settle(ssk_caches_t *self, int32_t block)
{
    if (self->dirty[block] > 0)
        self->dirty[block] = ssk_writeback_held(self, block, self->dirty[block]);
}

int64_t ssk_writeback_mark(ssk_caches_t *self, int32_t worker, int32_t block, int64_t n_bytes, int64_t written)
{
    const ssk_problem_t *p = self->problem;
    int64_t footprint = ssk_min(n_bytes, p->block_bytes[block]), once = ssk_min(written, footprint);
    int64_t before = self->dirty[block];
    ssk_writeback_hand_over(self, worker, block);
    self->dirty[block] = ssk_writeback_held(self, block, ssk_max(before, once));
    return ssk_min(before, once);
}
