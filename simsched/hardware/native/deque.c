#include "deque.h"

void hw_deque_init(hw_deque_t *deque, _Atomic int32_t *ring, int64_t size)
{
    atomic_init(&deque->top, 0);
    atomic_init(&deque->bottom, 0);
    deque->ring = ring;
    deque->mask = size - 1;
}

int32_t hw_deque_take(hw_deque_t *deque)
{
    int64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_relaxed) - 1; /* own value */
    /* An empty deque, as idle workers see it again and again, needs no claim: nobody but the owner adds. */
    if (atomic_load_explicit(&deque->top, memory_order_relaxed) > bottom)
        return HW_EMPTY;
    atomic_store_explicit(&deque->bottom, bottom, memory_order_seq_cst); /* claims the item, see deque.h */
    int64_t top = atomic_load_explicit(&deque->top, memory_order_seq_cst);
    int32_t item = HW_EMPTY;
    if (top <= bottom)
        item = atomic_load_explicit(&deque->ring[bottom & deque->mask], memory_order_relaxed); /* written here */
    if (top < bottom)
        return item;
    /* The last item, if any: whoever moves top has it. */
    if (top == bottom && !atomic_compare_exchange_strong_explicit(&deque->top, &top, top + 1, memory_order_seq_cst,
                                                                  memory_order_relaxed))
        item = HW_EMPTY;
    atomic_store_explicit(&deque->bottom, bottom + 1, memory_order_release);
    return item;
}

int32_t hw_deque_steal(hw_deque_t *deque)
{
    int64_t top = atomic_load_explicit(&deque->top, memory_order_seq_cst);
    int64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_seq_cst); /* acquires what the push released */
    if (top >= bottom)
        return HW_EMPTY;
    /* Read before top is moved: afterwards the owner may reuse the place. */
    int32_t item = atomic_load_explicit(&deque->ring[top & deque->mask], memory_order_relaxed);
    if (!atomic_compare_exchange_strong_explicit(&deque->top, &top, top + 1, memory_order_seq_cst,
                                                 memory_order_relaxed))
        return HW_LOST;
    return item;
}
