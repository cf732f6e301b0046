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

int hw_pin(int32_t cpu)
{
    if (cpu == HW_NONE)
        return HW_OK;
    size_t bytes = CPU_ALLOC_SIZE((size_t)cpu + 1);
    cpu_set_t *set = CPU_ALLOC((size_t)cpu + 1);
    if (set == NULL)
        return HW_ERR_MEMORY;
    CPU_ZERO_S(bytes, set);
    CPU_SET_S((size_t)cpu, bytes, set);
    int status = sched_setaffinity(0, bytes, set) == 0 ? HW_OK : HW_ERR_PIN;
    CPU_FREE(set);
    return status;
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
