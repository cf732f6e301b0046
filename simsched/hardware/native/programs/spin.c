/* Tasks that keep a core busy for args[0] nanoseconds. */
#include <stddef.h>
#include <time.h>

#include "program.h"

static int64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void spin(const hw_call_t *call)
{
    int64_t end = now_ns() + call->args[0];
    while (now_ns() < end)
        ;
}

static const hw_class_t classes[] = {{"spin", spin, NULL}, {"empty", NULL, NULL}};

const hw_program_t hw_program_spin = {"spin", classes, 2};
