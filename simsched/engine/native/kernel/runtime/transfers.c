#include "runtime/transfers.h"

#include "run/sim.h"

/* Tells whether a block is valid in the memory space of a node. */
static bool is_valid(const ssk_sim_t *sim, int32_t node, int32_t block)
{
    const int32_t *space = sim->plan.runtime.space;
    for (int32_t other = 0; other < sim->problem.n_nodes; other++)
        if (space[other] == space[node] && ssk_sim_holds(sim, other, block))
            return true;
    return false;
}

ssk_missing_t ssk_missing_bytes(ssk_sim_t *sim, int32_t task, int32_t node)
{
    const ssk_graph_t *graph = &sim->graph;
    const ssk_rule_t *rule = &sim->plan.runtime;
    ssk_missing_t missing = {0, 0, 0};
    int64_t first = graph->access_ptr[task], end = graph->join_access[task];
    sim->runtime.n_seen++;
    for (int64_t i = first; i < end; i++) {
        int32_t block = graph->access_block[i];
        if (graph->read_bytes[i] <= 0 || !ssk_is_unseen(&sim->runtime, block) || is_valid(sim, node, block))
            continue;
        missing.absent += sim->problem.block_bytes[block];
        if (!ssk_sim_expects(sim, node, block))
            missing.unexpected += sim->problem.block_bytes[block];
    }
    if (!sim->problem.copies_data || rule->space[node] == rule->main_space)
        return missing;
    sim->runtime.n_seen++;
    for (int64_t i = first; i < end; i++) {
        int32_t block = graph->access_block[i];
        if (ssk_is_unseen(&sim->runtime, block) && !ssk_sim_has_place(sim, node, block))
            missing.homeless += sim->problem.block_bytes[block];
    }
    return missing;
}

/* The nearest whole number of a positive one, of two the even one. */
static int64_t rounded(double x)
{
    if (!(x < 0x1p62))
        return SSK_NEVER;
    int64_t whole = (int64_t)x;
    double rest = x - (double)whole;
    return whole + (rest > 0.5 || (rest == 0.5 && (whole & 1)));
}

/* Expected time of the fastest copy of a block to a node, 0 when nobody holds it. */
static int64_t copy_ps(const ssk_sim_t *sim, int32_t block, int32_t node)
{
    const ssk_rule_t *rule = &sim->plan.runtime;
    int32_t n_nodes = sim->problem.n_nodes;
    int64_t least = SSK_NEVER;
    bool is_held = false;
    for (int32_t source = 0; source < n_nodes; source++) {
        if (!ssk_sim_holds(sim, source, block))
            continue;
        int64_t way = (int64_t)source * n_nodes + node;
        double bytes_ps = (double)sim->problem.block_bytes[block] * rule->byte_ps[way];
        least = ssk_min(least, ssk_add_ps(rule->latency_ps[way], rounded(bytes_ps)));
        is_held = true;
    }
    return is_held ? least : 0;
}

/* Tells whether a task has written a block for the last time. */
static bool is_released(const ssk_graph_t *graph, int32_t task, int32_t block)
{
    if (task == SSK_NONE)
        return false;
    for (int64_t i = graph->access_ptr[task]; i < graph->join_access[task]; i++)
        if (graph->access_final[i] && graph->access_block[i] == block)
            return true;
    return false;
}

int64_t ssk_penalty_ps(ssk_sim_t *sim, int32_t task, int32_t worker, int32_t released)
{
    const ssk_graph_t *graph = &sim->graph;
    const ssk_rule_t *rule = &sim->plan.runtime;
    int32_t node = rule->node[worker];
    int64_t total = 0;
    if (!sim->problem.copies_data)
        return 0;
    sim->runtime.n_seen++;
    for (int64_t i = graph->access_ptr[task]; i < graph->join_access[task]; i++) {
        int32_t block = graph->access_block[i];
        if (graph->read_bytes[i] <= 0 || !ssk_is_unseen(&sim->runtime, block) || is_valid(sim, node, block))
            continue;
        bool is_unasked = !rule->is_device[worker] && is_released(graph, released, block);
        if (is_unasked || !ssk_sim_expects(sim, node, block))
            total = ssk_add_ps(total, copy_ps(sim, block, node));
    }
    return total;
}
