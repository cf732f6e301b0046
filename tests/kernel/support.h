/*
 * What the kernel's test programs share: checks, random numbers, a counting allocator and random scenarios.
 */
#ifndef SUPPORT_H
#define SUPPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ssk.h"

#define CHECK(condition)                                                                   \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)

/* Random numbers: splitmix64. */
typedef struct {
    uint64_t state;
} rng_t;

uint64_t rng_next(void *rng);
int32_t rng_below(rng_t *rng, int32_t n);
int64_t rng_pick(rng_t *rng, const int64_t *values, int32_t n);
double rng_unit(rng_t *rng);
bool rng_chance(rng_t *rng, double probability);

/* An allocator that counts live blocks and fails from the n-th allocation on (never when fail_at is 0). */
typedef struct {
    int64_t n_allocations, fail_at, n_live;
} counting_t;

ssk_allocator_t counting_allocator(counting_t *counting);

/* Columns for events, hashed whenever they are taken; the refuse_at-th time they are refused (0: never). */
enum { MAX_RECORDED = 64 };
typedef struct {
    int64_t time_ps[MAX_RECORDED], arg0[MAX_RECORDED], arg1[MAX_RECORDED];
    int32_t kind[MAX_RECORDED], worker[MAX_RECORDED], task[MAX_RECORDED], iteration[MAX_RECORDED];
    uint64_t hash;
    int64_t n_events, n_calls, refuse_at;
} recording_t;

/* A random problem with a graph and a plan; all arrays are its own. */
typedef struct {
    rng_t rng, victim, wake;
    recording_t recording;
    ssk_problem_t problem;
    ssk_graph_t graph;
    ssk_plan_t plan;
    void *arrays[128];
    int32_t n_arrays;
} scenario_t;

/* Makes the scenario of a seed; new streams, so that equal seeds give equal runs. */
void scenario_init(scenario_t *scenario, uint64_t seed);
void scenario_free(scenario_t *scenario);

/* Hooks that decide at random from what they see. */
typedef struct {
    rng_t rng, wake_rng;
    const ssk_sim_t *sim;
    const scenario_t *scenario;
    ssk_decision_t decisions[6], ready_decisions[4], start_decisions[4], finish_decisions[4];
    int64_t n_calls, abort_at; /* aborts in this call; 0 never */
    int32_t n_snatches, n_transfers, n_wakes, n_moves;
    bool wakes;
} random_hooks_t;

ssk_hooks_t random_hooks(random_hooks_t *state, const scenario_t *scenario, uint64_t seed);

/* Hash of the whole trace of a run of the scenario, which has to have ended. */
uint64_t trace_hash(scenario_t *scenario, ssk_sim_t *sim);

#endif
