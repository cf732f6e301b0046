/*
 * Routes: which pool instances a worker may take from, and which workers may take from an instance.
 *
 * For every scope the instances that may be stolen from are listed by (domain, instance), with the section of each
 * domain. The candidates of a step are a range of that list with up to two holes (the own instance, the own domain), so
 * that drawing one is O(1). Sets of workers are bit sets, so that the workers that a push may wake are found with a few
 * words of logic per step.
 *
 * Invariants: order[s][position[s][i]] == i for listed instances, position is -1 for the others; section[s][d] to
 * section[s][d + 1] are the places of domain d.
 */
#ifndef SSK_ROUTES_H
#define SSK_ROUTES_H

#include "base.h"

typedef struct {
    int32_t n_instances;
    int32_t *own;      /* per worker; SSK_NONE with SSK_SCOPE_CLASS */
    int32_t *domain;   /* per instance: its first domain */
    int32_t *order;    /* candidates by (domain, instance) */
    int32_t *position; /* per instance */
    int32_t *section;  /* n_domains + 1 */
} ssk_scope_t;

typedef struct {
    const ssk_problem_t *problem;
    ssk_scope_t scope[SSK_N_SCOPES];
    int32_t n_words;
    uint64_t *of_domain, *of_socket, *everybody; /* sets of workers: per domain, per socket, all */
    uint64_t *active, *heads;                    /* sets of workers of the present plan */
    int32_t *active_workers, n_active;           /* ascending */
} ssk_routes_t;

/* Candidates of one step: places lo to lo + n - 1 of `order` after the holes have been taken out. */
typedef struct {
    const int32_t *order;
    int32_t lo, n;
    int32_t hole_at[2], hole_length[2]; /* ascending */
} ssk_candidates_t;

int ssk_routes_alloc(ssk_routes_t *self, const ssk_allocator_t *allocator, const ssk_problem_t *problem) SSK_CHECK_RESULT;
void ssk_routes_free(ssk_routes_t *self, const ssk_allocator_t *allocator);
int ssk_routes_verify(const ssk_routes_t *self) SSK_CHECK_RESULT;

/* Takes over which workers are active. */
void ssk_routes_set_active(ssk_routes_t *self, const uint8_t *active);

/* Takes a worker out of the active ones; the last one stays in the list of them. Its instances stay candidates. */
void ssk_routes_remove(ssk_routes_t *self, int32_t worker);

/* Returns the candidates of a step that looks elsewhere than in the own instance. */
ssk_candidates_t ssk_routes_candidates(const ssk_routes_t *self, int32_t scope, int32_t where, int32_t worker);

/*
 * Adds to `set` the workers for which a step of this scope and `where` reaches the instance, conditions aside.
 */
void ssk_routes_add_reaching(const ssk_routes_t *self, int32_t scope, int32_t where, int32_t instance, uint64_t *set);

/* The k-th candidate. */
static inline int32_t ssk_candidate(const ssk_candidates_t *self, int32_t k)
{
    int32_t place = self->lo + k;
    if (place >= self->hole_at[0])
        place += self->hole_length[0];
    if (place >= self->hole_at[1])
        place += self->hole_length[1];
    return self->order[place];
}

static inline bool ssk_set_has(const uint64_t *set, int32_t worker)
{
    return set[worker >> 6] >> (worker & 63) & 1;
}

static inline void ssk_set_add(uint64_t *set, int32_t worker)
{
    set[worker >> 6] |= (uint64_t)1 << (worker & 63);
}

static inline void ssk_set_remove(uint64_t *set, int32_t worker)
{
    set[worker >> 6] &= ~((uint64_t)1 << (worker & 63));
}

#endif
