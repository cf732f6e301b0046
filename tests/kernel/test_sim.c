/* Random runs: every invariant after every event, the same trace whatever the chunks and batches, and clean failures. */
#include "support.h"

enum { N_SEEDS = 150 };

/* Runs two iterations with migrations between; returns the status and sets *hash_ret to that of the trace. */
static int run(uint64_t seed, int64_t chunk, bool verify, int64_t abort_at, uint64_t *hash_ret)
{
    scenario_t s;
    random_hooks_t state;
    ssk_sim_t *sim;
    ssk_flaw_t flaw;
    counting_t counting = {0, 0, 0};
    ssk_allocator_t allocator = counting_allocator(&counting);
    scenario_init(&s, seed);
    ssk_hooks_t hooks = random_hooks(&state, &s, seed);
    state.abort_at = abort_at;
    CHECK(ssk_sim_alloc(&sim, &s.problem, &hooks, &allocator, &flaw) == SSK_OK);
    state.sim = sim;
    int32_t blocks[8], nodes[8];
    for (int32_t i = 0; i < 8; i++) {
        blocks[i] = rng_below(&s.rng, s.problem.n_blocks);
        nodes[i] = rng_below(&s.rng, s.problem.n_domains);
    }
    int status = SSK_OK;
    for (int step = 0; step < 3 && status == SSK_OK; step++) {
        if (step == 1)
            status = ssk_sim_begin_migration(sim, step * 100, 8, blocks, nodes, 3);
        else
            status = ssk_sim_begin_iteration(sim, step, &s.graph, &s.plan, step == 2);
        while (status == SSK_OK || status == SSK_MORE) {
            status = ssk_sim_run(sim, chunk);
            if (verify && status >= 0)
                CHECK(ssk_sim_verify(sim) == SSK_OK);
            if (status == SSK_OK)
                break;
        }
    }
    CHECK(status == SSK_OK || ssk_sim_failure(sim).code == status);
    if (status < 0)
        CHECK(ssk_sim_run(sim, 1) == SSK_ERR_ARGUMENT);
    *hash_ret = trace_hash(&s, sim);
    ssk_sim_free(sim);
    CHECK(counting.n_live == 0);
    scenario_free(&s);
    return status;
}

static void test_runs_are_sound_and_do_not_depend_on_chunks(void)
{
    int n_complete = 0;
    for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
        uint64_t stepwise, chunked, whole;
        int status = run(seed, 1, true, 0, &stepwise);
        CHECK(status == SSK_OK || status == SSK_ERR_STALLED || status == SSK_ERR_NO_ROOM ||
              status == SSK_ERR_MIGRATION);
        CHECK(run(seed, 17, false, 0, &chunked) == status);
        CHECK(run(seed, INT64_MAX, false, 0, &whole) == status);
        CHECK(stepwise == chunked && chunked == whole);
        n_complete += status == SSK_OK;
    }
    printf("%d of %d runs complete\n", n_complete, N_SEEDS);
    CHECK(n_complete > N_SEEDS / 2);
}

/* Runs one iteration whose events are recorded in batches; returns the status. */
static int record(uint64_t seed, size_t capacity, int64_t refuse_at, recording_t *recording_ret)
{
    scenario_t s;
    ssk_sim_t *sim;
    ssk_flaw_t flaw;
    ssk_allocator_t allocator = ssk_default_allocator();
    scenario_init(&s, seed);
    s.problem.recorder.capacity = capacity;
    s.recording.refuse_at = refuse_at;
    CHECK(ssk_sim_alloc(&sim, &s.problem, NULL, &allocator, &flaw) == SSK_OK);
    CHECK(ssk_sim_begin_iteration(sim, 1, &s.graph, &s.plan, 1) == SSK_OK);
    int status = ssk_sim_run(sim, INT64_MAX);
    CHECK(ssk_sim_verify(sim) == SSK_OK);
    if (capacity > 0)
        s.recording.hash = trace_hash(&s, sim);
    s.recording.n_events = ssk_sim_summary(sim).counters.n_events;
    ssk_sim_free(sim);
    scenario_free(&s);
    *recording_ret = s.recording;
    return status;
}

static void test_batches_do_not_change_the_trace(void)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        recording_t single, several, counted;
        int status = record(seed, 1, 0, &single);
        CHECK(single.n_calls == single.n_events && single.n_events > 0);
        CHECK(record(seed, 0, 0, &counted) == status && counted.n_calls == 0);
        CHECK(counted.n_events == single.n_events);
        for (size_t capacity = 2; capacity <= MAX_RECORDED; capacity += 31) {
            CHECK(record(seed, capacity, 0, &several) == status && several.hash == single.hash);
            CHECK(several.n_calls == (single.n_events + (int64_t)capacity - 1) / (int64_t)capacity);
        }
    }
}

static void test_a_recorder_can_refuse_any_batch(void)
{
    int64_t n_refused = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        recording_t whole, refused;
        if (record(seed, 7, 0, &whole) != SSK_OK)
            continue;
        for (int64_t call = 1; call <= whole.n_events / 7; call++) {
            CHECK(record(seed, 7, call, &refused) == SSK_ERR_HOOK && refused.n_calls == call);
            n_refused++;
        }
    }
    CHECK(n_refused > 100);
}

static void test_a_hook_can_abort_at_any_call(void)
{
    int n_aborted = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        for (int64_t call = 1; call < 60; call += 7) {
            uint64_t hash;
            n_aborted += run(seed, 100, false, call, &hash) == SSK_ERR_HOOK;
        }
    }
    CHECK(n_aborted > 100);
}

static void test_calls_at_the_wrong_time_are_refused(void)
{
    scenario_t s;
    ssk_sim_t *sim;
    ssk_flaw_t flaw;
    ssk_allocator_t allocator = ssk_default_allocator();
    scenario_init(&s, 3);
    CHECK(ssk_sim_alloc(&sim, &s.problem, NULL, &allocator, &flaw) == SSK_OK);
    CHECK(ssk_sim_run(sim, 10) == SSK_OK);
    CHECK(ssk_sim_begin_migration(sim, 0, 0, NULL, NULL, 1) == SSK_ERR_ARGUMENT);
    CHECK(ssk_sim_begin_iteration(sim, 1, &s.graph, &s.plan, 1) == SSK_OK);
    CHECK(ssk_sim_begin_iteration(sim, 2, &s.graph, &s.plan, 1) == SSK_ERR_ARGUMENT);
    CHECK(ssk_sim_queue_length(sim, -1, 0) == 0 && ssk_sim_queue_length(sim, 0, 1000000) == 0);
    CHECK(ssk_sim_running_task(sim, -1) == SSK_NONE && !ssk_sim_is_waiting(sim, 1000000));
    ssk_sim_free(sim);
    ssk_sim_free(NULL);
    scenario_free(&s);
}

int main(void)
{
    test_runs_are_sound_and_do_not_depend_on_chunks();
    test_batches_do_not_change_the_trace();
    test_a_recorder_can_refuse_any_batch();
    test_a_hook_can_abort_at_any_call();
    test_calls_at_the_wrong_time_are_refused();
    return 0;
}
