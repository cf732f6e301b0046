/* The kernel has no state of its own: runs in several threads at once give the traces of runs one after the other. */
#include <pthread.h>

#include "support.h"

enum { N_THREADS = 4, N_SEEDS = 12 };

static uint64_t run(uint64_t seed)
{
    scenario_t s;
    ssk_sim_t *sim;
    ssk_flaw_t flaw;
    ssk_allocator_t allocator = ssk_default_allocator();
    scenario_init(&s, seed);
    CHECK(ssk_sim_alloc(&sim, &s.problem, NULL, &allocator, &flaw) == SSK_OK);
    int status = ssk_sim_begin_iteration(sim, 1, &s.graph, &s.plan, 1);
    while (status == SSK_OK || status == SSK_MORE) {
        status = ssk_sim_run(sim, 3);
        if (status == SSK_OK)
            break;
    }
    uint64_t hash = trace_hash(&s, sim);
    ssk_sim_free(sim);
    scenario_free(&s);
    return hash;
}

static void *run_all(void *hashes)
{
    for (uint64_t i = 0; i < N_SEEDS; i++)
        ((uint64_t *)hashes)[i] = run(i + 1);
    return NULL;
}

int main(void)
{
    uint64_t hashes[N_THREADS][N_SEEDS];
    pthread_t threads[N_THREADS];
    for (int t = 0; t < N_THREADS; t++)
        CHECK(pthread_create(&threads[t], NULL, run_all, hashes[t]) == 0);
    for (int t = 0; t < N_THREADS; t++)
        CHECK(pthread_join(threads[t], NULL) == 0);
    for (uint64_t i = 0; i < N_SEEDS; i++) {
        uint64_t alone = run(i + 1);
        for (int t = 0; t < N_THREADS; t++)
            CHECK(hashes[t][i] == alone);
    }
    return 0;
}
