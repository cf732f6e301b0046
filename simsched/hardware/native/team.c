#include "team.h"

#include <pthread.h>
#include <stdlib.h>

enum { GATE_CLOSED, GATE_OPEN, GATE_ABANDONED };

typedef struct {
    hw_team_t *team;
    int32_t number;
    pthread_t thread;
} seat_t;

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
    seat_t *seat = argument;
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

int hw_team_run(const int32_t *cpu, int32_t n, hw_member_t *member, void *shared)
{
    hw_team_t team = {.agreed = HW_OK, .member = member, .shared = shared, .cpu = cpu};
    seat_t *seats = calloc((size_t)n, sizeof(seat_t));
    if (seats == NULL)
        return HW_ERR_MEMORY;
    hw_barrier_init(&team.barrier, n);
    atomic_init(&team.status, HW_OK);
    atomic_init(&team.gate, GATE_CLOSED);
    int32_t started = 0;
    for (; started < n; started++) {
        seats[started] = (seat_t){.team = &team, .number = started};
        if (pthread_create(&seats[started].thread, NULL, take_seat, &seats[started]) != 0)
            break;
    }
    if (started < n)
        atomic_store(&team.status, HW_ERR_THREAD);
    atomic_store_explicit(&team.gate, started < n ? GATE_ABANDONED : GATE_OPEN, memory_order_release);
    for (int32_t i = 0; i < started; i++)
        pthread_join(seats[i].thread, NULL);
    free(seats);
    return atomic_load(&team.status);
}
