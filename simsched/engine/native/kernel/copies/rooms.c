/*
 * Nodes of memory spaces on which blocks find room; docs/semantics.md, rules CD.
 *
 * A block tries the node of the space where it has been last, then the nodes of the space in the touch order of a domain,
 * or all of them, ascending, if that order has none. State: copies.h.
 */
#include "copies/rooms.h"

#include "copies/copying.h"
#include "memory/homes.h"
#include "run/run.h"

/* Whether a node is of a space and, unless any does, has room for the block. */
static bool suits(const ssk_sim_t *sim, int32_t node, int32_t block, int32_t space, bool any)
{
    return sim->problem.node_space[node] == space && (any || ssk_has_room(sim, node, block));
}

static int32_t find_node(const ssk_sim_t *sim, int32_t block, int32_t space, int32_t near, bool any)
{
    const ssk_problem_t *p = &sim->problem;
    const int32_t *order = p->touch_order + (int64_t)near * p->n_allowed;
    int32_t last = sim->copies.node_at[ssk_place(&sim->copies, block, space)];
    bool is_ordered = false;
    if (last != SSK_NONE && suits(sim, last, block, space, any))
        return last;
    for (int32_t i = 0; i < p->n_allowed; i++) {
        if (suits(sim, order[i], block, space, any))
            return order[i];
        is_ordered = is_ordered || p->node_space[order[i]] == space;
    }
    for (int32_t node = 0; !is_ordered && node < p->n_nodes; node++)
        if (suits(sim, node, block, space, any))
            return node;
    return SSK_NONE;
}

int32_t ssk_first_node(const ssk_sim_t *sim, int32_t block, int32_t space, int32_t near)
{
    return find_node(sim, block, space, near, true);
}

/* The first node with room for a block in a space; SSK_NONE when there is none. */
static int32_t find_room(const ssk_sim_t *sim, int32_t block, int32_t space, int32_t near)
{
    return find_node(sim, block, space, near, false);
}

int32_t ssk_host_for(const ssk_sim_t *sim, int32_t space)
{
    for (int32_t host = 0; host < sim->problem.n_spaces; host++)
        if (host != space && !sim->problem.space_is_device[host])
            return host;
    return SSK_NONE;
}

/* Finds the least recently used block in a space that nobody uses; of those with another copy, or of all. */
static int32_t least_used(const ssk_sim_t *sim, int32_t space, bool with_other_copy)
{
    const ssk_copies_t *copies = &sim->copies;
    int32_t best = SSK_NONE;
    int64_t least = INT64_MAX;
    for (int32_t block = 0; block < copies->n_blocks; block++) {
        int64_t place = ssk_place(copies, block, space);
        uint64_t others = copies->valid[block] & ~(UINT64_C(1) << space);
        if (!ssk_is_valid(copies, block, space) || copies->claims[place] > 0 || copies->readers[place] > 0 ||
            (with_other_copy && others == 0) || copies->last_use[place] >= least)
            continue;
        best = block;
        least = copies->last_use[place];
    }
    return best;
}

int ssk_make_room(ssk_sim_t *sim, int32_t block, int32_t space, int32_t near, int32_t *node_ret)
{
    ssk_copies_t *copies = &sim->copies;
    while ((*node_ret = find_room(sim, block, space, near)) == SSK_NONE) {
        int32_t spare = least_used(sim, space, true);
        if (spare != SSK_NONE) {
            ssk_drop_copy(sim, spare, space);
            ssk_free_place(&sim->drivers, &sim->problem, spare, space);
            continue;
        }
        int32_t idle = least_used(sim, space, false), host = ssk_host_for(sim, space);
        bool is_saving = copies->saving[space] != SSK_NONE && host != SSK_NONE &&
                         ssk_is_coming(copies, ssk_place(copies, copies->saving[space], host));
        if (idle == SSK_NONE || is_saving || host == SSK_NONE)
            return SSK_OK;
        copies->saving[space] = idle;
        return ssk_want(sim, SSK_WANTED_COPY, (ssk_want_t){ssk_place(copies, idle, host), SSK_URGENT, 0, near});
    }
    return SSK_OK;
}
