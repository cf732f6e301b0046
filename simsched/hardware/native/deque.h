/*
 * Work-stealing deque: the owner pushes and takes at the bottom, thieves steal at the top, nobody waits.
 *
 * D. Chase, Y. Lev, Dynamic circular work-stealing deque, SPAA 2005, with the C11 memory orders of N. M. Le, A. Pop,
 * A. Cohen, F. Zappa Nardelli, Correct and efficient work-stealing for weak memory models, PPoPP 2013, and two
 * differences:
 *
 * - The ring has a fixed size. A task is in at most one pool at a time, so room for all tasks of the graph is enough,
 *   and nothing is allocated or reclaimed while tasks run.
 * - Instead of sequentially consistent fences the accesses to `top` and `bottom` around them are sequentially consistent.
 *   What the fences are for is that the owner, which has lowered `bottom`, and a thief, which has read `top`, cannot both
 *   overlook the other. In the single order S of such accesses: had the thief read the old `bottom`, its read, and the
 *   read of `top` before it, would precede the owner's store in S, and so the owner's following read of `top`, which
 *   would then see what the thief saw (top only grows) and know that both are after the same last item. Other stores to
 *   `bottom` are releases by the same thread; they happen before that store and cannot be read after it.
 *   On x86-64 this is the same locked instruction, and ThreadSanitizer, which knows no fences, can check it.
 *
 * Invariants: top <= bottom + 1, with bottom < top only inside a take; top never falls; items top to bottom - 1 are in
 * the ring; only the owner writes bottom and the ring.
 */
#ifndef HW_DEQUE_H
#define HW_DEQUE_H

#include "base.h"

enum { HW_EMPTY = -1, HW_LOST = -2 }; /* nothing there; somebody else got it */

typedef struct {
    _Alignas(HW_LINE) _Atomic int64_t top;
    _Alignas(HW_LINE) _Atomic int64_t bottom;
    _Atomic int32_t *ring;
    int64_t mask;
} hw_deque_t;

/* Makes an empty deque over a ring of `size` items, a power of two; the ring stays the caller's. */
void hw_deque_init(hw_deque_t *deque, _Atomic int32_t *ring, int64_t size);

/* Adds an item (0 or more) as the newest; owner only. There must be room. */
static inline void hw_deque_push(hw_deque_t *deque, int32_t item)
{
    int64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_relaxed); /* own value */
    atomic_store_explicit(&deque->ring[bottom & deque->mask], item, memory_order_relaxed);
    /* Release: who reads the new bottom sees the item and all that its task needs. */
    atomic_store_explicit(&deque->bottom, bottom + 1, memory_order_release);
}

/* Removes and returns the newest item, or HW_EMPTY; owner only. */
int32_t hw_deque_take(hw_deque_t *deque);

/* Removes and returns the oldest item, or HW_EMPTY, or HW_LOST; anybody. */
int32_t hw_deque_steal(hw_deque_t *deque);

#endif
