/* Tasks without data: those of `empty` do nothing, so that what remains is the cost of the runtime. */
#include "clock.h"
#include "program.h"

/* Keeps a core busy for args[0] nanoseconds. */
static void spin(const hw_call_t *call)
{
    int64_t end = hw_monotonic_ns() + call->args[0];
    while (hw_monotonic_ns() < end)
        ;
}

HW_PROGRAM(empty, {"empty", NULL, NULL});
HW_PROGRAM(spin, {"spin", spin, NULL}, {"empty", NULL, NULL});
