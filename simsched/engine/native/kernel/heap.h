/* Binary heaps of structs: an entry is never before its parent. `is_before(a, b)` compares two by their addresses. */
#ifndef SSK_HEAP_H
#define SSK_HEAP_H

/* Adds an entry to a heap of `n` entries, which has room for it. */
#define SSK_HEAP_ADD(heap, n, entry, is_before)                                          \
    do {                                                                                 \
        size_t i_ = (n)++;                                                               \
        for (; i_ > 0 && is_before(&(entry), &(heap)[(i_ - 1) / 2]); i_ = (i_ - 1) / 2)  \
            (heap)[i_] = (heap)[(i_ - 1) / 2];                                           \
        (heap)[i_] = (entry);                                                            \
    } while (0)

/* Removes the first entry of a heap of `n` entries, of which there is one. */
#define SSK_HEAP_DROP(heap, n, is_before)                                                \
    do {                                                                                 \
        size_t i_ = 0, last_ = --(n);                                                    \
        for (size_t child_ = 1; child_ < last_; child_ = 2 * i_ + 1) {                   \
            child_ += child_ + 1 < last_ && is_before(&(heap)[child_ + 1], &(heap)[child_]); \
            if (!is_before(&(heap)[child_], &(heap)[last_]))                             \
                break;                                                                   \
            (heap)[i_] = (heap)[child_];                                                 \
            i_ = child_;                                                                 \
        }                                                                                \
        (heap)[i_] = (heap)[last_];                                                      \
    } while (0)

#endif
