/*
 * What an event would cost if it were nothing but a heap, or nothing but a computation of rates.
 *
 *   bare heap ARITY ENTRIES OPERATIONS
 *   bare rates FLOWS RESOURCES CHANGES
 *
 * heap: a d-ary heap of (time, number) that stays at ENTRIES entries: the first one leaves and comes back later.
 * rates: max-min fair rates of FLOWS flows, computed anew whenever one of them takes another way: each crosses one of
 * RESOURCES - 1 equal resources and, every third one, the last one too. All flows have one cap; the rates follow from
 * rounds over single flows and resources, without classes and without memory of the rates before.
 *
 * Prints nanoseconds of CPU time per operation and a checksum, which benchmarks/bare.py computes in another way.
 */
#define _POSIX_C_SOURCE 199309L

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    int64_t time;
    int32_t number;
} entry_t;

typedef struct {
    int32_t way;    /* resource of its own */
    int32_t shares; /* crosses the last resource, too */
    double rate;
} flow_t;

typedef struct {
    double left; /* capacity that rising flows may share */
    int32_t rising;
} resource_t;

enum { MOST = 1 << 16 };
static const double CAP = 0.25, CAPACITY = 1.0;

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static double cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static int is_before(entry_t a, entry_t b)
{
    return a.time < b.time || (a.time == b.time && a.number < b.number);
}

static inline void push(entry_t *heap, int64_t n, int64_t arity, entry_t entry)
{
    while (n > 0 && is_before(entry, heap[(n - 1) / arity])) {
        heap[n] = heap[(n - 1) / arity];
        n = (n - 1) / arity;
    }
    heap[n] = entry;
}

/* Removes the first of n + 1 entries. */
static inline entry_t pop(entry_t *heap, int64_t n, int64_t arity)
{
    entry_t first = heap[0], last = heap[n];
    int64_t i = 0;
    for (int64_t child = 1; child < n; child = arity * i + 1) {
        int64_t best = child;
        for (int64_t other = child + 1; other < child + arity && other < n; other++)
            best = is_before(heap[other], heap[best]) ? other : best;
        if (!is_before(heap[best], last))
            break;
        heap[i] = heap[best];
        i = best;
    }
    heap[i] = last;
    return first;
}

/* Inlined twice, so that the compiler knows the arity. */
static inline uint64_t hold(int64_t arity, int64_t n_entries, int64_t operations)
{
    static entry_t heap[MOST];
    uint64_t state = 1, sum = 0;
    for (int64_t i = 0; i < n_entries; i++)
        push(heap, i, arity, (entry_t){(int64_t)(splitmix(&state) >> 44), (int32_t)i});
    for (int64_t i = 0; i < operations; i++) {
        entry_t first = pop(heap, n_entries - 1, arity);
        sum = 31 * sum + (uint64_t)first.number;
        first.time += (int64_t)(splitmix(&state) >> 44);
        push(heap, n_entries - 1, arity, first);
    }
    return sum;
}

/* The share of its flows at which a resource is full, the cap if that is lower. */
static double lowest_level(const resource_t *resources, int64_t n_resources)
{
    double level = CAP;
    for (int64_t x = 0; x < n_resources; x++)
        if (resources[x].rising > 0 && resources[x].left / resources[x].rising < level)
            level = resources[x].left / resources[x].rising;
    return level;
}

/* One computation of all rates. */
static void solve(flow_t *flows, int64_t n_flows, int64_t n_resources)
{
    static resource_t resources[MOST];
    static int32_t rising[MOST];
    resource_t *common = &resources[n_resources - 1];
    int64_t n_rising = n_flows;
    for (int64_t x = 0; x < n_resources; x++)
        resources[x] = (resource_t){CAPACITY, 0};
    for (int64_t i = 0; i < n_flows; i++) {
        rising[i] = (int32_t)i;
        resources[flows[i].way].rising++;
        common->rising += flows[i].shares;
    }
    while (n_rising > 0) {
        static uint8_t is_full[MOST];
        double level = lowest_level(resources, n_resources);
        int64_t kept = 0;
        for (int64_t x = 0; x < n_resources; x++)
            is_full[x] = resources[x].rising > 0 && resources[x].left / resources[x].rising <= level;
        for (int64_t k = 0; k < n_rising; k++) {
            flow_t *flow = &flows[rising[k]];
            if (level < CAP && !is_full[flow->way] && !(flow->shares && is_full[n_resources - 1])) {
                rising[kept++] = rising[k];
                continue;
            }
            flow->rate = level;
            resources[flow->way].left -= level;
            resources[flow->way].rising--;
            common->left -= flow->shares * level;
            common->rising -= flow->shares;
        }
        n_rising = kept;
    }
}

/* Returns the sum of all rates of all computations. */
static double change(int64_t n_flows, int64_t n_resources, int64_t changes)
{
    static flow_t flows[MOST];
    uint64_t state = 1;
    double sum = 0.0;
    for (int64_t i = 0; i < n_flows; i++)
        flows[i] = (flow_t){(int32_t)(i % (n_resources - 1)), i % 3 == 0 && n_resources > 2, 0.0};
    for (int64_t i = 0; i < changes; i++) {
        uint64_t drawn = splitmix(&state);
        flows[(drawn >> 32) % (uint64_t)n_flows].way = (int32_t)((uint32_t)drawn % (uint64_t)(n_resources - 1));
        solve(flows, n_flows, n_resources);
        for (int64_t k = 0; k < n_flows; k += n_flows / 4 + 1)
            sum += flows[k].rate;
    }
    return sum;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    int64_t a = atoll(argv[2]), b = atoll(argv[3]), operations = atoll(argv[4]);
    double begin = cpu_ns(), checksum;
    if (a < 1 || a >= MOST || b < 2 || b >= MOST || operations < 1)
        return 2;
    if (strcmp(argv[1], "heap") == 0)
        checksum = (double)((a == 4 ? hold(4, b, operations) : hold(2, b, operations)) >> 12);
    else
        checksum = change(a, b, operations);
    printf("{\"ns\": %.3f, \"checksum\": %.17g}\n", (cpu_ns() - begin) / (double)operations, checksum);
    return 0;
}
