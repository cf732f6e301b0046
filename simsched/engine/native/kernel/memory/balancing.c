/*
 * Pages that follow accesses; docs/semantics.md, rules PB.
 *
 * A scan marks all pages. It is not an event: the number of scans so far follows from the time, and what is kept of a
 * block is the last scan after which pages of it have faulted, and how many.
 */
#include "memory/balancing.h"

#include "memory/homes.h"
#include "run/run.h"

int ssk_balance_begin(ssk_sim_t *sim)
{
    size_t n_blocks = (size_t)sim->problem.n_blocks;
    if (sim->plan.balance_period_ps == 0 || sim->marks != NULL || n_blocks == 0)
        return SSK_OK;
    sim->marks = ssk_new(&sim->allocator, n_blocks, sizeof(*sim->marks));
    sim->grouped = ssk_new(&sim->allocator, (size_t)sim->problem.n_workers, sizeof(*sim->grouped));
    sim->node_faults = ssk_new(&sim->allocator, 2 * (size_t)sim->problem.n_nodes, sizeof(*sim->node_faults));
    if (sim->marks == NULL || sim->grouped == NULL || sim->node_faults == NULL)
        return SSK_ERR_MEMORY;
    sim->group_scan = -1;
    for (size_t block = 0; block < n_blocks; block++) {
        sim->marks[block].scan = -1;
        sim->marks[block].worker = SSK_NONE;
    }
    return SSK_OK;
}

static int64_t count_pages(const ssk_sim_t *sim, int64_t n_bytes)
{
    int64_t page = sim->plan.balance_page_bytes;
    return n_bytes / page + (n_bytes % page > 0);
}

void ssk_balance_first_touch(ssk_sim_t *sim, int32_t block)
{
    ssk_marks_t *marks = &sim->marks[block];
    marks->scan = sim->now / sim->plan.balance_period_ps;
    marks->faulted = count_pages(sim, sim->problem.block_bytes[block]);
    marks->worker = SSK_NONE;
    marks->times = 0;
}

/* Moves a block to the worker's node if there is room; returns how long it takes. */
static int64_t move(ssk_sim_t *sim, int32_t worker, int32_t block, int64_t pages)
{
    const ssk_problem_t *p = &sim->problem;
    int32_t home = sim->home[block], node = p->touch_order[p->worker_domain[worker] * p->n_allowed];
    if (node == home || !ssk_has_room(sim, node, block))
        return 0;
    int64_t size = p->block_bytes[block];
    ssk_take_memory(sim, node, block);
    ssk_give_memory_back(sim, home, block);
    sim->home[block] = node;
    sim->counters.migrations++;
    sim->counters.migrated_bytes += size;
    ssk_event(sim, SSK_PAGE_MOVE, worker, sim->workers[worker].task, block, node);
    double rate = p->path_cap[p->path_copy[home * p->n_nodes + node] * p->n_mates];
    return ssk_add_ps(ssk_times_ps(pages, p->costs.page_move_ps), ssk_ceil_ps((double)size / rate));
}

/* Takes what has been counted into the averages with the first fault after a scan. */
static void look(ssk_sim_t *sim, int64_t scan)
{
    int64_t *average = sim->node_faults, *recent = average + sim->problem.n_nodes;
    if (sim->group_scan == scan)
        return;
    sim->group_scan = scan;
    for (int32_t node = 0; node < sim->problem.n_nodes; node++) {
        average[node] = average[node] / 2 + recent[node];
        recent[node] = 0;
    }
}

/* Whether the filter lets a block follow a worker that accesses it remotely; `last` had the fault before. */
static bool passes(const ssk_sim_t *sim, const ssk_marks_t *marks, int32_t last, int32_t worker, int32_t home)
{
    const ssk_problem_t *p = &sim->problem;
    int32_t group = sim->plan.balance_group;
    if (last != SSK_NONE && marks->times < sim->plan.balance_faults)
        return false;
    if (group == SSK_GROUP_NONE || (group == SSK_GROUP_SHARING && !sim->grouped[worker]) || last == worker)
        return true;
    int32_t node = p->touch_order[p->worker_domain[worker] * p->n_allowed];
    return 4 * sim->node_faults[node] < 3 * sim->node_faults[home];
}

int64_t ssk_balance_access(ssk_sim_t *sim, int32_t worker, int32_t block, int64_t n_bytes)
{
    const ssk_problem_t *p = &sim->problem;
    ssk_marks_t *marks = &sim->marks[block];
    int32_t domain = p->worker_domain[worker], home = sim->home[block], last = marks->worker;
    int64_t scan = sim->now / sim->plan.balance_period_ps, pages = count_pages(sim, p->block_bytes[block]);
    if (marks->scan != scan) {
        marks->scan = scan;
        marks->faulted = 0;
    }
    int64_t touched = ssk_min(pages, count_pages(sim, n_bytes)), faults = touched - marks->faulted;
    if (faults <= 0)
        return 0;
    marks->faulted = touched;
    marks->times = last != SSK_NONE && p->worker_domain[last] == domain ? marks->times + 1 : 1;
    marks->worker = worker;
    look(sim, scan);
    sim->counters.page_faults += faults;
    ssk_event(sim, SSK_PAGE_FAULT, worker, sim->workers[worker].task, block, faults);
    int64_t stall = ssk_times_ps(faults, p->costs.page_fault_ps);
    bool is_remote = p->node_domain[home] != SSK_NONE && p->node_domain[home] != domain;
    if (is_remote && 2 * faults >= pages && passes(sim, marks, last, worker, home))
        stall = ssk_add_ps(stall, move(sim, worker, block, pages));
    sim->node_faults[p->n_nodes + sim->home[block]] += faults;
    if (last != SSK_NONE && last != worker)
        sim->grouped[worker] = 1;
    sim->counters.page_fault_ps = ssk_add_ps(sim->counters.page_fault_ps, stall);
    return stall;
}
