/* Flows and their rates against a plain reading of docs/semantics.md, rules F, bit by bit. */
#include <math.h>

#include "flows/flows.h"
#include "support.h"

enum { MAX_CLASSES = 2048, MAX_RESOURCES = 16 };

typedef struct {
    const ssk_problem_t *p;
    int32_t n[MAX_CLASSES];
    double rate[MAX_CLASSES];
} plain_t;

static double weight(const ssk_problem_t *p, int32_t c, int32_t x)
{
    for (int32_t i = p->path_resource_ptr[c / p->n_mates]; i < p->path_resource_ptr[c / p->n_mates + 1]; i++)
        if (p->path_resource[i] == x)
            return p->path_weight[i];
    return 0.0;
}

static double capacity(const plain_t *plain, int32_t x)
{
    const ssk_problem_t *p = plain->p;
    int32_t flows = 0, length = p->curve_ptr[x + 1] - p->curve_ptr[x];
    double drawn = 0.0, ceiling = p->resource_capacity[x], excess;
    for (int32_t c = 0; c < p->n_paths * p->n_mates; c++) {
        if (plain->n[c] == 0 || weight(p, c, x) == 0.0)
            continue;
        flows += plain->n[c];
        drawn += plain->n[c] * weight(p, c, x) * p->path_cap[c];
    }
    if (length > 0)
        return p->curve[p->curve_ptr[x] + (flows < length ? flows : length) - 1];
    excess = drawn / ceiling * (drawn / ceiling);
    if (!p->resource_gradual[x] || !isfinite(excess * excess))
        return ceiling;
    return drawn / sqrt(sqrt(1.0 + excess * excess));
}

/* Water-filling, every sum from scratch in every round. */
static void fill(plain_t *plain)
{
    const ssk_problem_t *p = plain->p;
    int32_t n_classes = p->n_paths * p->n_mates, n_rising = 0;
    bool rising[MAX_CLASSES];
    double level = 0.0, levels[MAX_RESOURCES];
    for (int32_t c = 0; c < n_classes; c++) {
        rising[c] = plain->n[c] > 0;
        n_rising += rising[c];
        plain->rate[c] = 0.0;
    }
    while (n_rising > 0) {
        double previous = level;
        bool stops[MAX_CLASSES] = {false};
        level = INFINITY;
        for (int32_t x = 0; x < p->n_resources; x++) {
            double used = 0.0, load = 0.0;
            for (int32_t c = 0; c < n_classes; c++) {
                if (plain->n[c] == 0 || weight(p, c, x) == 0.0)
                    continue;
                if (rising[c])
                    load += plain->n[c] * weight(p, c, x);
                else
                    used += plain->n[c] * weight(p, c, x) * plain->rate[c];
            }
            levels[x] = load > 0.0 ? fmax((capacity(plain, x) - used) / load, previous) : INFINITY;
            level = fmin(level, levels[x]);
        }
        for (int32_t c = 0; c < n_classes; c++)
            level = rising[c] ? fmin(level, p->path_cap[c]) : level;
        for (int32_t c = 0; c < n_classes; c++) {
            if (rising[c] && p->path_cap[c] <= level) {
                stops[c] = true;
                plain->rate[c] = p->path_cap[c];
            }
        }
        for (int32_t c = 0; c < n_classes; c++)
            for (int32_t x = 0; x < p->n_resources; x++)
                if (rising[c] && !stops[c] && weight(p, c, x) > 0.0 && levels[x] <= level) {
                    stops[c] = true;
                    plain->rate[c] = level;
                }
        for (int32_t c = 0; c < n_classes; c++) {
            n_rising -= stops[c];
            rising[c] = rising[c] && !stops[c];
        }
    }
}

/* Starts, stops and ends flows at random. */
static void churn(uint64_t seed, int n_steps)
{
    scenario_t s;
    ssk_flows_t flows;
    plain_t plain = {.p = &s.problem};
    ssk_allocator_t allocator = ssk_default_allocator();
    int64_t now = 0;
    double lag = 0.0;
    uint8_t gradual[MAX_RESOURCES];
    scenario_init(&s, seed);
    const ssk_problem_t *p = &s.problem;
    for (int32_t x = 0; x < MAX_RESOURCES; x++)
        gradual[x] = rng_chance(&s.rng, 0.3);
    s.problem.resource_gradual = gradual;
    CHECK(p->n_paths * p->n_mates <= MAX_CLASSES && p->n_resources <= MAX_RESOURCES);
    CHECK(ssk_flows_alloc(&flows, &allocator, p) == SSK_OK);
    for (int32_t c = 0; c < flows.n_classes; c++)
        CHECK(ssk_flows_reserve(&flows, &allocator, c, p->n_workers) == SSK_OK);
    for (int step = 0; step < n_steps; step++) {
        int32_t worker = rng_below(&s.rng, p->n_workers), ending;
        for (int i = rng_below(&s.rng, 3); i > 0; i--, worker = rng_below(&s.rng, p->n_workers)) {
            if (flows.class_of[worker] == SSK_NONE) {
                int32_t c = rng_below(&s.rng, flows.n_classes);
                ssk_flows_start(&flows, worker, c, rng_chance(&s.rng, 0.05) ? 0.0 : rng_below(&s.rng, 5000), now, lag);
                plain.n[c]++;
            } else if (rng_chance(&s.rng, 0.2)) {
                plain.n[flows.class_of[worker]]--;
                CHECK(ssk_flows_stop(&flows, worker, now, lag) >= 0.0);
            }
        }
        int64_t other = rng_chance(&s.rng, 0.3) ? now + rng_below(&s.rng, 1000000) : SSK_NEVER;
        int64_t time = ssk_flows_next(&flows, now, lag, other, &ending);
        CHECK(ssk_flows_verify(&flows) == SSK_OK);
        if (flows.n_changed == 0) {
            fill(&plain);
            for (int32_t c = 0; c < flows.n_classes; c++)
                CHECK(plain.n[c] == flows.classes[c].n && (plain.n[c] == 0 || plain.rate[c] == flows.classes[c].rate));
        }
        CHECK(time >= now && (time == SSK_NEVER) == (flows.n_flows == 0));
        if (time <= other && time < SSK_NEVER) {
            now = time;
            lag = ssk_flows_lag(&flows);
            CHECK(lag >= 0.0 && lag < 1.0);
            plain.n[flows.class_of[ending]]--;
            CHECK(ssk_flows_stop(&flows, ending, now, lag) <= 0.01); /* at most rounding: lags are exact */
        } else if (other < SSK_NEVER) {
            now = other;
            lag = 0.0;
        }
    }
    ssk_flows_free(&flows, &allocator);
    scenario_free(&s);
}

/* Two flows through one controller: half the rate each, then the longer one alone. */
static void test_two_flows_share_a_controller(void)
{
    scenario_t s;
    ssk_flows_t flows;
    ssk_allocator_t allocator = ssk_default_allocator();
    int32_t worker;
    for (uint64_t seed = 1;; seed++) {
        scenario_init(&s, seed);
        const ssk_problem_t *p = &s.problem;
        if (p->n_workers >= 2 && isinf(p->path_cap[0]) && p->node_slots[0] == 0 && p->curve_ptr[1] == 0)
            break;
        scenario_free(&s);
    }
    CHECK(ssk_flows_alloc(&flows, &allocator, &s.problem) == SSK_OK);
    CHECK(ssk_flows_reserve(&flows, &allocator, 0, 2) == SSK_OK);
    ssk_flows_start(&flows, 0, 0, 1000.0, 0, 0.0); /* controller 0 moves 1e-3 bytes per ps */
    ssk_flows_start(&flows, 1, 0, 3000.0, 0, 0.0);
    CHECK(ssk_flows_next(&flows, 0, 0.0, SSK_NEVER, &worker) == 2000000 && worker == 0);
    CHECK(ssk_flows_stop(&flows, 0, 2000000, 0.0) == 0.0);
    CHECK(ssk_flows_next(&flows, 2000000, 0.0, SSK_NEVER, &worker) == 4000000 && worker == 1);
    ssk_flows_free(&flows, &allocator);
    scenario_free(&s);
}

int main(void)
{
    test_two_flows_share_a_controller();
    for (uint64_t seed = 1; seed <= 60; seed++)
        churn(seed, 400);
    churn(1000, 70000); /* beyond the refresh of loads in coupling.c */
    return 0;
}
