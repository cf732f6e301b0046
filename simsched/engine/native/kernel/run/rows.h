#ifndef SSK_ROWS_H
#define SSK_ROWS_H

#include "base.h"

/* The access that a worker executes at its next place; SSK_NONE if those that may come there have to wait. */
int64_t ssk_next_in_row(const ssk_sim_t *sim, int32_t worker);
/* Lets a worker wait for one of the tasks of its row, lets it stop that, lets those go on that wait for a task. */
int ssk_await_end(ssk_sim_t *sim, int32_t worker);
void ssk_stop_awaiting(ssk_sim_t *sim, int32_t worker);
void ssk_end_awaited(ssk_sim_t *sim, int32_t task);

#endif
