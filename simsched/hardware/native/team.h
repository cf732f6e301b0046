/*
 * A team: threads on given hardware threads that do something together and then are gone.
 *
 * All members begin when everybody is pinned, or nobody does. In between they meet, and what one of them reports there as
 * failed has failed for all, so that they leave together.
 *
 * Invariant: `agreed` is written by the last one at a meeting, while the others wait; `status` only ever goes from HW_OK
 * to the first error. What follows `gate` belongs to the thread that starts the team.
 */
#ifndef HW_TEAM_H
#define HW_TEAM_H

#include "barrier.h"

typedef struct hw_team hw_team_t;
typedef struct hw_seat hw_seat_t;

/* What a member does; returns a status. */
typedef int hw_member_t(hw_team_t *team, int32_t number, void *shared);

struct hw_team {
    hw_barrier_t barrier;
    _Atomic int status;
    int agreed;
    hw_member_t *member;
    void *shared;
    const int32_t *cpu; /* of each member; HW_NONE: not pinned */
    _Atomic int gate;
    hw_seat_t *seats;
    int32_t n_started, n_joined;
};

/* Runs a member on each of n hardware threads (at least one) and waits for all; returns the first error. */
int hw_team_run(const int32_t *cpu, int32_t n, hw_member_t *member, void *shared);

/* The same in steps, for a caller that has other things to look after: starts the members, or none of them; */
int hw_team_start(hw_team_t *team, const int32_t *cpu, int32_t n, hw_member_t *member, void *shared);

/* waits some time for their end and returns whether all have ended; */
bool hw_team_wait(hw_team_t *team, int milliseconds);

/* waits for all. A team of zeros has no members. */
void hw_team_join(hw_team_t *team);

/* Waits for all members. Returns the same to all of them: the first status reported by anybody that is not HW_OK. */
int hw_team_meet(hw_team_t *team, int status);

#endif
