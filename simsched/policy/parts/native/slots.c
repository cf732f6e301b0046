/* Free time of workers: gaps between tasks, in the order of time, and the end of the last task.
 *
 * Invariants: gaps are ascending and disjoint, each has begin < end, and the last one ends before
 * the last task begins. A search begins with the first gap that ends after the task is ready, found by
 * bisection; gaps that are too short stay and are passed over.
 */
#include "slots.h"

#include <stdlib.h>
#include <string.h>

#include "schedule.h"

int ssl_slots_alloc(ssl_slots_t **slots, int32_t n_workers)
{
    *slots = calloc((size_t) n_workers + 1, sizeof(**slots));
    return *slots == NULL ? SSL_NO_MEMORY : 0;
}

void ssl_slots_free(ssl_slots_t *slots, int32_t n_workers)
{
    if (slots == NULL) {
        return;
    }
    for (int32_t w = 0; w < n_workers; w++) {
        free(slots[w].gap);
    }
    free(slots);
}

/* Index of the first gap that ends after `time`. */
static int32_t first_after(const ssl_slots_t *slots, double time)
{
    int32_t low = 0, high = slots->n_gaps;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (slots->gap[middle].end > time) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

double ssl_slots_earliest(const ssl_slots_t *slots, double ready, double length, int insertion)
{
    if (insertion) {
        for (int32_t i = first_after(slots, ready); i < slots->n_gaps; i++) {
            double begin = slots->gap[i].begin > ready ? slots->gap[i].begin : ready;
            if (begin + length <= slots->gap[i].end) {
                return begin;
            }
        }
    }
    return slots->end > ready ? slots->end : ready;
}

static int insert_gap(ssl_slots_t *slots, int32_t at, double begin, double end)
{
    if (slots->n_gaps == slots->room) {
        int32_t room = slots->room == 0 ? 8 : 2 * slots->room;
        ssl_gap_t *gap = realloc(slots->gap, (size_t) room * sizeof(*gap));
        if (gap == NULL) {
            return SSL_NO_MEMORY;
        }
        slots->gap = gap;
        slots->room = room;
    }
    memmove(slots->gap + at + 1, slots->gap + at, (size_t) (slots->n_gaps - at) * sizeof(ssl_gap_t));
    slots->gap[at] = (ssl_gap_t){begin, end};
    slots->n_gaps++;
    return 0;
}

int ssl_slots_take(ssl_slots_t *slots, double start, double length)
{
    double end = start + length;
    if (start >= slots->end) {
        double before = slots->end;
        slots->end = end;
        return start > before ? insert_gap(slots, slots->n_gaps, before, start) : 0;
    }
    int32_t i = first_after(slots, start);
    ssl_gap_t whole = slots->gap[i];
    if (start > whole.begin && end < whole.end) {
        slots->gap[i].end = start;
        return insert_gap(slots, i + 1, end, whole.end);
    }
    if (start > whole.begin) {
        slots->gap[i].end = start;
    } else if (end < whole.end) {
        slots->gap[i].begin = end;
    } else {
        slots->n_gaps--;
        memmove(slots->gap + i, slots->gap + i + 1,
            (size_t) (slots->n_gaps - i) * sizeof(ssl_gap_t));
    }
    return 0;
}

int ssl_slots_copy(ssl_slots_t *to, const ssl_slots_t *from)
{
    if (to->room < from->n_gaps) {
        ssl_gap_t *gap = realloc(to->gap, (size_t) from->n_gaps * sizeof(*gap));
        if (gap == NULL) {
            return SSL_NO_MEMORY;
        }
        to->gap = gap;
        to->room = from->n_gaps;
    }
    if (from->n_gaps > 0) {
        memcpy(to->gap, from->gap, (size_t) from->n_gaps * sizeof(*to->gap));
    }
    to->n_gaps = from->n_gaps;
    to->end = from->end;
    return 0;
}
