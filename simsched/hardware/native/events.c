#include "events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const uint64_t codes[HW_N_EVENTS] = {
    [HW_CYCLES] = PERF_COUNT_HW_CPU_CYCLES,
    [HW_INSTRUCTIONS] = PERF_COUNT_HW_INSTRUCTIONS,
    [HW_LLC_MISSES] = PERF_COUNT_HW_CACHE_MISSES,
};

int hw_events_open(hw_events_t *events)
{
    int error = 0;
    for (int i = 0; i < HW_N_EVENTS; i++) {
        struct perf_event_attr attributes;
        memset(&attributes, 0, sizeof(attributes));
        attributes.size = sizeof(attributes);
        attributes.type = PERF_TYPE_HARDWARE;
        attributes.config = codes[i];
        attributes.exclude_kernel = 1;
        attributes.exclude_hv = 1;
        events->file[i] = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
        if (events->file[i] < 0 && error == 0)
            error = errno;
    }
    return error;
}

void hw_events_finish(hw_events_t *events, int64_t *counts)
{
    for (int i = 0; i < HW_N_EVENTS; i++) {
        uint64_t value;
        counts[i] = HW_NONE;
        if (events->file[i] < 0)
            continue;
        ioctl(events->file[i], PERF_EVENT_IOC_DISABLE, 0);
        if (read(events->file[i], &value, sizeof(value)) == (ssize_t)sizeof(value))
            counts[i] = (int64_t)value;
        close(events->file[i]);
    }
}
