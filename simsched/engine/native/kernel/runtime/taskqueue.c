#include "runtime/taskqueue.h"

/* The first level that is not more urgent than a priority. */
static int32_t find_level(const ssk_taskqueue_t *self, int32_t priority)
{
    int32_t low = 0, high = self->n_levels;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (self->levels[middle].priority > priority)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int ssk_taskqueue_push(ssk_taskqueue_t *self, ssk_link_t *links, const ssk_allocator_t *allocator, int32_t task,
                       int32_t priority)
{
    int32_t place = find_level(self, priority);
    if (place == self->n_levels || self->levels[place].priority != priority) {
        size_t n = (size_t)self->n_levels;
        int status = ssk_grow(allocator, &self->levels, &self->capacity, n + 1, sizeof(*self->levels));
        if (status != SSK_OK)
            return status;
        memmove(&self->levels[place + 1], &self->levels[place], (n - (size_t)place) * sizeof(*self->levels));
        self->levels[place] = (ssk_level_t){priority, SSK_NONE, SSK_NONE};
        self->n_levels++;
    }
    ssk_level_t *level = &self->levels[place];
    links[task] = (ssk_link_t){level->last, SSK_NONE};
    if (level->last == SSK_NONE)
        level->first = task;
    else
        links[level->last].next = task;
    level->last = task;
    self->n_tasks++;
    return SSK_OK;
}

void ssk_taskqueue_remove(ssk_taskqueue_t *self, ssk_link_t *links, int32_t place, int32_t task)
{
    ssk_level_t *level = &self->levels[place];
    ssk_link_t link = links[task];
    if (link.previous == SSK_NONE)
        level->first = link.next;
    else
        links[link.previous].next = link.next;
    if (link.next == SSK_NONE)
        level->last = link.previous;
    else
        links[link.next].previous = link.previous;
    self->n_tasks--;
    if (level->first != SSK_NONE)
        return;
    self->n_levels--;
    memmove(level, level + 1, (size_t)(self->n_levels - place) * sizeof(*level));
}

int32_t ssk_taskqueue_pop(ssk_taskqueue_t *self, ssk_link_t *links, const uint8_t *able, bool newest)
{
    for (int32_t place = 0; place < self->n_levels; place++) {
        const ssk_level_t *level = &self->levels[place];
        int32_t task = newest ? level->last : level->first;
        while (task != SSK_NONE && able != NULL && !able[task])
            task = newest ? links[task].previous : links[task].next;
        if (task == SSK_NONE)
            continue;
        ssk_taskqueue_remove(self, links, place, task);
        return task;
    }
    return SSK_NONE;
}

int ssk_taskqueue_verify(const ssk_taskqueue_t *self, const ssk_link_t *links)
{
    int32_t n_tasks = 0;
    for (int32_t place = 0; place < self->n_levels; place++) {
        const ssk_level_t *level = &self->levels[place];
        int32_t before = SSK_NONE;
        if (level->first == SSK_NONE || (place > 0 && level->priority >= level[-1].priority))
            return SSK_ERR_INVARIANT;
        for (int32_t task = level->first; task != SSK_NONE; before = task, task = links[task].next, n_tasks++)
            if (links[task].previous != before || n_tasks == self->n_tasks)
                return SSK_ERR_INVARIANT;
        if (level->last != before)
            return SSK_ERR_INVARIANT;
    }
    return n_tasks == self->n_tasks ? SSK_OK : SSK_ERR_INVARIANT;
}
