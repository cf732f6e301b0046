/* Calendar, timers, wakes, pools and candidates against the plainest form of each. */
#include "flows/calendar.h"
#include "pools/pools.h"
#include "pools/routes.h"
#include "support.h"
#include "run/timers.h"
#include "run/wakes.h"
#include "runtime/taskqueue.h"

enum { N_SLOTS = 37, N_STEPS = 20000 };

static bool is_earlier(ssk_entry_t a, ssk_entry_t b)
{
    if (a.time != b.time)
        return a.time < b.time;
    return a.lag != b.lag ? a.lag > b.lag : a.rank < b.rank;
}

static void test_calendar_gives_the_earliest_event_of_the_smallest_worker(void)
{
    ssk_allocator_t allocator = ssk_default_allocator();
    ssk_calendar_t calendar;
    ssk_entry_t pending[N_SLOTS];
    bool has[N_SLOTS] = {false};
    rng_t rng = {11};
    CHECK(ssk_calendar_alloc(&calendar, &allocator, N_SLOTS) == SSK_OK);
    for (int step = 0; step < N_STEPS; step++) {
        int32_t slot = rng_below(&rng, N_SLOTS), first = SSK_NONE;
        if (rng_chance(&rng, 0.3)) {
            ssk_calendar_clear(&calendar, slot);
            has[slot] = false;
        } else {
            /* few times and lags, so that ranks decide; ranks are unique as workers are */
            pending[slot] = (ssk_entry_t){rng_below(&rng, 9), 0.5 * rng_below(&rng, 2), (slot * 17) % N_SLOTS, slot};
            ssk_calendar_set(&calendar, slot, pending[slot].time, pending[slot].lag, pending[slot].rank);
            has[slot] = true;
        }
        for (int32_t i = 0; i < N_SLOTS; i++)
            if (has[i] && (first < 0 || is_earlier(pending[i], pending[first])))
                first = i;
        CHECK(ssk_calendar_verify(&calendar) == SSK_OK);
        CHECK(ssk_calendar_time(&calendar) == (first < 0 ? SSK_NEVER : pending[first].time));
        CHECK(first < 0 || calendar.heap[0].slot == first);
    }
    ssk_calendar_free(&calendar, &allocator);
}

static void test_timers_give_the_earliest_timer_of_the_smallest_worker(int32_t n)
{
    ssk_allocator_t allocator = ssk_default_allocator();
    ssk_timers_t timers;
    int64_t time[N_SLOTS];
    rng_t rng = {(uint64_t)n};
    CHECK(ssk_timers_alloc(&timers, &allocator, n) == SSK_OK);
    for (int32_t w = 0; w < n; w++)
        time[w] = SSK_NO_TIMER;
    for (int step = 0; step < N_STEPS; step++) {
        int32_t worker = rng_below(&rng, n), first = 0;
        if (ssk_timers_first(&timers) != SSK_NO_TIMER && rng_chance(&rng, 0.5)) {
            worker = ssk_timers_fire(&timers);
            for (int32_t w = 0; w < n; w++)
                CHECK(time[worker] < time[w] || (time[worker] == time[w] && worker <= w));
            time[worker] = SSK_NO_TIMER;
            if (rng_chance(&rng, 0.6))
                ssk_timers_set(&timers, worker, time[worker] = rng_below(&rng, 20));
            ssk_timers_settle(&timers);
        } else {
            time[worker] = rng_chance(&rng, 0.2) ? SSK_NO_TIMER : rng_below(&rng, 20);
            ssk_timers_set(&timers, worker, time[worker]);
        }
        for (int32_t w = 1; w < n; w++)
            first = time[w] < time[first] ? w : first;
        CHECK(ssk_timers_verify(&timers) == SSK_OK);
        CHECK(ssk_timers_first(&timers) == time[first]);
        CHECK(ssk_timers_has(&timers, worker) == (time[worker] != SSK_NO_TIMER));
    }
    ssk_timers_free(&timers, &allocator);
}

static void test_wakes_come_by_time_rank_and_request(void)
{
    ssk_allocator_t allocator = ssk_default_allocator();
    ssk_wakes_t wakes;
    struct { int64_t time, rank; bool is_pending; } asked[N_STEPS];
    int64_t n_asked = 0;
    rng_t rng = {5};
    ssk_wakes_init(&wakes);
    for (int step = 0; step < N_STEPS; step++) {
        if (wakes.n > 0 && (rng_chance(&rng, 0.5) || wakes.n > 50)) {
            int64_t first = SSK_NONE;
            for (int64_t i = 0; i < n_asked; i++) /* of equal ones the first that was asked for */
                if (asked[i].is_pending && (first < 0 || asked[i].time < asked[first].time ||
                                            (asked[i].time == asked[first].time && asked[i].rank < asked[first].rank)))
                    first = i;
            CHECK(wakes.heap[0].time == asked[first].time);
            CHECK(ssk_wakes_take(&wakes) == 7 * first);
            asked[first].is_pending = false;
        } else {
            asked[n_asked].time = rng_below(&rng, 9);
            asked[n_asked].rank = (int64_t)rng_below(&rng, 5) - 2;
            asked[n_asked].is_pending = true;
            ssk_wake_t wake = {.time = asked[n_asked].time, .rank = asked[n_asked].rank, .tag = 7 * n_asked};
            CHECK(ssk_wakes_add(&wakes, &allocator, wake) == SSK_OK);
            n_asked++;
        }
        CHECK(ssk_wakes_verify(&wakes) == SSK_OK);
    }
    ssk_wakes_free(&wakes, &allocator);
}

static void test_pools_keep_the_order_of_pushes(void)
{
    enum { N_POOLS = 5, MAX = 4096 };
    static int32_t plain[N_POOLS][2 * MAX];
    int32_t begin[N_POOLS], end[N_POOLS];
    ssk_allocator_t allocator = ssk_default_allocator();
    ssk_pools_t pools;
    rng_t rng = {5};
    ssk_pools_init(&pools);
    for (int round = 0; round < 3; round++) {
        CHECK(ssk_pools_reset(&pools, &allocator, 1, 2) == SSK_OK);
        CHECK(ssk_pools_add_group(&pools, &allocator, 0, N_POOLS) == SSK_OK);
        for (int32_t i = 0; i < N_POOLS; i++) {
            begin[i] = end[i] = MAX;
            ssk_pools_at(&pools, 0, i)->domain = i % 2;
            ssk_pools_at(&pools, 0, i)->is_candidate = i > 0;
        }
        for (int32_t step = 0; step < MAX; step++) {
            int32_t i = rng_below(&rng, N_POOLS);
            ssk_pool_t *pool = ssk_pools_at(&pools, 0, i);
            if (end[i] > begin[i] && rng_chance(&rng, step < MAX / 2 ? 0.3 : 0.6)) {
                bool newest = rng_chance(&rng, 0.5);
                int32_t expected = newest ? plain[i][--end[i]] : plain[i][begin[i]++];
                CHECK(ssk_pools_take(&pools, 0, pool, newest) == expected);
            } else if (end[i] < 2 * MAX) {
                CHECK(ssk_pools_push(&pools, &allocator, 0, pool, step) == SSK_OK);
                plain[i][end[i]++] = step;
            }
            CHECK(pool->count == (uint32_t)(end[i] - begin[i]));
            CHECK(ssk_pools_verify(&pools) == SSK_OK);
        }
    }
    ssk_pools_free(&pools, &allocator);
}

/* docs/semantics.md, rule A4: the instances of the group other than the own one, of the worker's domain, of others, or all. */
static bool is_candidate(const ssk_routes_t *routes, const uint8_t *active, int32_t scope, int32_t where,
                         int32_t worker, int32_t instance)
{
    int32_t home = routes->problem->worker_domain[worker], domain = routes->scope[scope].domain[instance];
    if (instance == routes->scope[scope].own[worker] || (scope == SSK_SCOPE_WORKER && !active[instance]))
        return false;
    return where == SSK_ANYWHERE || (where == SSK_SAME_DOMAIN) == (domain == home);
}

static void check_step(const ssk_routes_t *routes, const uint8_t *active, int32_t scope, int32_t where)
{
    const ssk_problem_t *p = routes->problem;
    for (int32_t worker = 0; worker < p->n_workers; worker++) {
        ssk_candidates_t candidates = ssk_routes_candidates(routes, scope, where, worker);
        int32_t k = 0, domain = 0;
        for (domain = 0; domain < p->n_domains; domain++) /* by (domain, instance) */
            for (int32_t i = 0; i < routes->scope[scope].n_instances; i++)
                if (routes->scope[scope].domain[i] == domain && is_candidate(routes, active, scope, where, worker, i))
                    CHECK(k < candidates.n && ssk_candidate(&candidates, k++) == i);
        CHECK(k == candidates.n || (k == 0 && candidates.n <= 0));
        for (int32_t i = 0; i < routes->scope[scope].n_instances; i++) {
            uint64_t reached[4] = {0};
            ssk_routes_add_reaching(routes, scope, where, i, reached);
            CHECK(ssk_set_has(reached, worker) == is_candidate(routes, active, scope, where, worker, i));
        }
    }
}

static void test_candidates_of_all_steps(void)
{
    ssk_allocator_t allocator = ssk_default_allocator();
    for (uint64_t seed = 1; seed < 60; seed++) {
        scenario_t s;
        ssk_routes_t routes;
        scenario_init(&s, seed);
        CHECK(ssk_routes_alloc(&routes, &allocator, &s.problem) == SSK_OK);
        ssk_routes_set_active(&routes, s.plan.active);
        CHECK(ssk_routes_verify(&routes) == SSK_OK);
        for (int32_t scope = 0; scope < SSK_N_SCOPES; scope++)
            for (int32_t where = SSK_SAME_DOMAIN; where <= SSK_ANYWHERE; where++)
                check_step(&routes, s.plan.active, scope, where);
        ssk_routes_free(&routes, &allocator);
        scenario_free(&s);
    }
}

/* A queue in its plainest form: tasks in the order in which they leave. */
typedef struct {
    int32_t task[N_SLOTS], priority[N_SLOTS], n;
} plain_queue_t;

static void plain_push(plain_queue_t *self, int32_t task, int32_t priority)
{
    int32_t place = self->n++;
    for (; place > 0 && self->priority[place - 1] < priority; place--) {
        self->task[place] = self->task[place - 1];
        self->priority[place] = self->priority[place - 1];
    }
    self->task[place] = task;
    self->priority[place] = priority;
}

static int32_t plain_pop(plain_queue_t *self, const uint8_t *able, bool newest)
{
    int32_t found = SSK_NONE;
    for (int32_t i = 0; i < self->n; i++) {
        if (found >= 0 && (!newest || self->priority[i] != self->priority[found]))
            break;
        if (able == NULL || able[self->task[i]])
            found = i;
    }
    if (found < 0)
        return SSK_NONE;
    int32_t task = self->task[found];
    for (self->n--; found < self->n; found++) {
        self->task[found] = self->task[found + 1];
        self->priority[found] = self->priority[found + 1];
    }
    return task;
}

static void test_task_queues_are_sorted_and_keep_the_order_of_equals(void)
{
    ssk_allocator_t allocator = ssk_default_allocator();
    ssk_taskqueue_t queue = {NULL, 0, 0, 0};
    ssk_link_t links[N_SLOTS];
    plain_queue_t plain = {.n = 0};
    uint8_t able[N_SLOTS];
    bool is_in[N_SLOTS] = {false};
    rng_t rng = {5};
    for (int step = 0; step < N_STEPS; step++) {
        int32_t task = rng_below(&rng, N_SLOTS);
        if (!is_in[task]) {
            int32_t priority = rng_below(&rng, 5) - 2;
            CHECK(ssk_taskqueue_push(&queue, links, &allocator, task, priority) == SSK_OK);
            plain_push(&plain, task, priority);
            is_in[task] = true;
        } else {
            bool newest = rng_chance(&rng, 0.5), any = rng_chance(&rng, 0.3);
            for (int32_t i = 0; i < N_SLOTS; i++)
                able[i] = rng_chance(&rng, 0.3);
            int32_t found = ssk_taskqueue_pop(&queue, links, any ? NULL : able, newest);
            CHECK(found == plain_pop(&plain, any ? NULL : able, newest));
            if (found >= 0)
                is_in[found] = false;
        }
        CHECK(ssk_taskqueue_verify(&queue, links) == SSK_OK);
        CHECK(queue.n_tasks == plain.n);
    }
    ssk_delete(&allocator, queue.levels);
}

int main(void)
{
    test_task_queues_are_sorted_and_keep_the_order_of_equals();
    test_calendar_gives_the_earliest_event_of_the_smallest_worker();
    test_timers_give_the_earliest_timer_of_the_smallest_worker(1);
    test_timers_give_the_earliest_timer_of_the_smallest_worker(2);
    test_timers_give_the_earliest_timer_of_the_smallest_worker(N_SLOTS);
    test_wakes_come_by_time_rank_and_request();
    test_pools_keep_the_order_of_pushes();
    test_candidates_of_all_steps();
    return 0;
}
