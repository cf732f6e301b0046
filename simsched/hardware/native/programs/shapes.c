/* Tasks without data: those of `empty` do nothing, so that what remains is the cost of the runtime. */
#include <time.h>

#include "program.h"

static int64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Keeps a core busy for args[0] nanoseconds. */
static void spin(const hw_call_t *call)
{
    int64_t end = now_ns() + call->args[0];
    while (now_ns() < end)
        ;
}

HW_PROGRAM(empty, {"empty", NULL, NULL});
HW_PROGRAM(spin, {"spin", spin, NULL}, {"empty", NULL, NULL});
