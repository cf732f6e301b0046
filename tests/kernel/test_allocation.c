/* Memory may run out at any allocation: the run ends with SSK_ERR_MEMORY and everything can be freed. */
#include "support.h"

/* Runs a scenario whose allocations fail from the n-th on; returns the status. */
static int run(uint64_t seed, int64_t fail_at, int64_t *n_allocations_ret)
{
    scenario_t s;
    random_hooks_t state;
    ssk_sim_t *sim;
    ssk_flaw_t flaw;
    counting_t counting = {0, fail_at, 0};
    ssk_allocator_t allocator = counting_allocator(&counting);
    scenario_init(&s, seed);
    ssk_hooks_t hooks = random_hooks(&state, &s, seed);
    int32_t block = 0, node = 0;
    int status = ssk_sim_alloc(&sim, &s.problem, &hooks, &allocator, &flaw);
    CHECK((status == SSK_OK) == (sim != NULL));
    if (status == SSK_OK) {
        state.sim = sim;
        for (int step = 0; step < 3 && status == SSK_OK; step++) {
            if (step == 1)
                status = ssk_sim_begin_migration(sim, 0, 1, &block, &node, 1);
            else
                status = ssk_sim_begin_iteration(sim, step, &s.graph, &s.plan, step == 2);
            if (status == SSK_OK)
                status = ssk_sim_run(sim, INT64_MAX);
        }
        CHECK(status == SSK_OK || ssk_sim_failure(sim).code == status);
    }
    ssk_sim_free(sim);
    CHECK(counting.n_live == 0);
    scenario_free(&s);
    *n_allocations_ret = counting.n_allocations;
    return status;
}

int main(void)
{
    int64_t n_failures = 0;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        int64_t needed, made;
        int status = run(seed, 0, &needed);
        if (status != SSK_OK)
            continue;
        for (int64_t n = 1; n <= needed; n++) {
            CHECK(run(seed, n, &made) == SSK_ERR_MEMORY);
            n_failures++;
        }
        CHECK(run(seed, needed + 1, &made) == SSK_OK && made == needed);
    }
    printf("%lld failures survived\n", (long long)n_failures);
    CHECK(n_failures > 500);
    return 0;
}
