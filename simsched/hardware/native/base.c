#include "base.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAUSING_ROUNDS = 7 };

void *hw_pages_new(size_t bytes)
{
    void *pages = mmap(NULL, bytes > 0 ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                       -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

void hw_pages_free(void *pages, size_t bytes)
{
    if (pages != NULL)
        munmap(pages, bytes > 0 ? bytes : 1);
}

void hw_pages_touch(void *pages, size_t bytes)
{
    size_t step = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t at = 0; at < bytes; at += step)
        ((volatile char *)pages)[at] = 0;
}

void hw_back_off(uint32_t round)
{
    if (round >= PAUSING_ROUNDS) {
        sched_yield();
        return;
    }
    for (uint32_t i = 0; i < (1u << round); i++)
        hw_pause();
}
