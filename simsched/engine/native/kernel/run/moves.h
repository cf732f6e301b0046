/*
 * Moves: blocks that workers are to copy to other nodes while tasks run; docs/semantics.md, rules MV.
 *
 * Each worker has a queue of entries, linked by their numbers; those that are over are linked, too, and used again.
 *
 * Invariants: n_left entries are in queues; a worker whose state is SSK_MOVING carries out the first one of its own.
 */
#ifndef SSK_MOVES_H
#define SSK_MOVES_H

#include "base.h"

typedef struct {
    int64_t cost, tag;
    int32_t block, node;
    int32_t next; /* in its queue or among the unused; SSK_NONE at the end */
} ssk_move_t;

typedef struct {
    ssk_move_t *entries;
    size_t capacity, n_entries;
    int32_t unused;       /* first entry that is in no queue */
    int32_t *first, *last; /* per worker; `last` means something only where there is a first */
    int32_t n_left;
} ssk_moves_t;

int ssk_moves_alloc(ssk_moves_t *self, const ssk_allocator_t *allocator, int32_t n_workers) SSK_CHECK_RESULT;
void ssk_moves_free(ssk_moves_t *self, const ssk_allocator_t *allocator);
int ssk_moves_verify(const ssk_moves_t *self, int32_t n_workers) SSK_CHECK_RESULT;

/* Gives a worker a block to move, after those that it has been given before. */
int ssk_add_move(ssk_sim_t *sim, int32_t worker, int32_t block, int32_t node, int64_t cost, int64_t tag) SSK_CHECK_RESULT;
/* Actions: begins the first move of a worker, reads the block, writes it, ends the move. */
int ssk_begin_move(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_read_moved(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_write_moved(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_end_move(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
/* A flow of a move has ended; returns what the worker does next. */
int ssk_move_flow_ended(ssk_sim_t *sim, int32_t worker);
/* Stops the flow of a move, with the bytes that it has left; lets it go on from where its worker is now. */
double ssk_halt_move(ssk_sim_t *sim, int32_t worker);
void ssk_resume_move(ssk_sim_t *sim, int32_t worker, double left);

static inline bool ssk_has_moves(const ssk_moves_t *self, int32_t worker)
{
    return self->n_left > 0 && self->first[worker] != SSK_NONE;
}

#endif
