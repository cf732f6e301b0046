/*
 * What every file of the runtime needs: status codes, pausing, pinning, memory of its own pages.
 */
#ifndef HW_BASE_H
#define HW_BASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HW_LINE 128 /* bytes between what different workers write: adjacent lines are fetched in pairs */
#define HW_NONE (-1)

enum { HW_OK = 0, HW_ERR_MEMORY = -1, HW_ERR_THREAD = -2, HW_ERR_PIN = -3, HW_ERR_NODE = -4 };

/* Zeroed pages that get a home when they are first written; NULL when there is no room. */
void *hw_pages_new(size_t bytes);
void hw_pages_free(void *pages, size_t bytes);

/* Touches pages, so that they are at hand, near the caller, when they are needed. */
void hw_pages_touch(void *pages, size_t bytes);

/* Keeps the calling thread on one hardware thread; HW_NONE: it may go anywhere. */
int hw_pin(int32_t cpu);

/* Lets the sibling thread or the hypervisor have the core for a moment. */
static inline void hw_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/*
 * One step of waiting, `round` counting from 0: pauses that double, then giving up the core. Yielding is what keeps more
 * workers than cores alive; there is no sleeping, because waking up would cost more than most tasks last.
 */
void hw_back_off(uint32_t round);

#endif
