#include "team.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { GATE_CLOSED, GATE_OPEN, GATE_ABANDONED };

struct hw_seat {
    hw_team_t *team;
    int32_t number;
    pthread_t thread;
};

int hw_team_meet(hw_team_t *team, int status)
{
    int ok = HW_OK;
    if (status != HW_OK)
        atomic_compare_exchange_strong(&team->status, &ok, status);
    if (hw_barrier_arrive(&team->barrier)) {
        team->agreed = atomic_load(&team->status);
        hw_barrier_open(&team->barrier);
    }
    return team->agreed;
}

static void *take_seat(void *argument)
{
    hw_seat_t *seat = argument;
    hw_team_t *team = seat->team;
    int gate, ok = HW_OK;
    /* Acquire: how many members there are is known when the gate opens. */
    for (uint32_t round = 0; (gate = atomic_load_explicit(&team->gate, memory_order_acquire)) == GATE_CLOSED; round++)
        hw_back_off(round);
    if (gate == GATE_ABANDONED || hw_team_meet(team, hw_pin(team->cpu[seat->number])) != HW_OK)
        return NULL;
    int status = team->member(team, seat->number, team->shared);
    if (status != HW_OK)
        atomic_compare_exchange_strong(&team->status, &ok, status);
    return NULL;
}

int hw_team_start(hw_team_t *team, const int32_t *cpu, int32_t n, hw_member_t *member, void *shared)
{
    *team = (hw_team_t){.member = member, .shared = shared, .cpu = cpu};
    hw_barrier_init(&team->barrier, n);
    team->seats = calloc((size_t)n, sizeof(hw_seat_t));
    if (team->seats == NULL)
        return HW_ERR_MEMORY;
    for (; team->n_started < n; team->n_started++) {
        hw_seat_t *seat = &team->seats[team->n_started];
        *seat = (hw_seat_t){.team = team, .number = team->n_started};
        if (pthread_create(&seat->thread, NULL, take_seat, seat) != 0)
            break;
    }
    bool are_all = team->n_started == n;
    atomic_store_explicit(&team->gate, are_all ? GATE_OPEN : GATE_ABANDONED, memory_order_release);
    return are_all ? HW_OK : HW_ERR_THREAD;
}

bool hw_team_wait(hw_team_t *team, int milliseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until); /* the only clock that this kind of wait knows */
    until.tv_nsec += (long)milliseconds % 1000 * 1000000;
    until.tv_sec += milliseconds / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (team->n_joined < team->n_started &&
           pthread_timedjoin_np(team->seats[team->n_joined].thread, NULL, &until) == 0)
        team->n_joined++;
    return team->n_joined == team->n_started;
}

void hw_team_join(hw_team_t *team)
{
    for (; team->n_joined < team->n_started; team->n_joined++)
        pthread_join(team->seats[team->n_joined].thread, NULL);
    free(team->seats);
}

int hw_team_run(const int32_t *cpu, int32_t n, hw_member_t *member, void *shared)
{
    hw_team_t team;
    int status = hw_team_start(&team, cpu, n, member, shared);
    hw_team_join(&team);
    return status != HW_OK ? status : atomic_load(&team.status);
}
