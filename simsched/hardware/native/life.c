/*
 * Life of a task on hardware: body, spawning, sync, join, end; docs/semantics.md, rules L.
 *
 * A task that is between two of these steps is a number in a pool, so nothing here needs a stack of its own: whoever takes
 * the number goes on where `next_child` says. A stamp is taken before what it stands for becomes visible to others, and
 * after what it waited for; one stamp serves for what follows each other at once.
 */
#include "run.h"

static void call(hw_worker_t *worker, int32_t task, hw_function_t function)
{
    const hw_graph_t *graph = worker->run->graph;
    if (function == NULL)
        return;
    worker->call.task = task;
    worker->call.args = graph->args + (int64_t)task * graph->n_args;
    function(&worker->call);
}

static const hw_class_t *class_of(const hw_worker_t *worker, int32_t task)
{
    return &worker->run->problem.program->classes[worker->run->graph->function[task]];
}

static void start(hw_worker_t *worker, int32_t task, int64_t ticks)
{
    hw_record(worker, ticks, HW_START, task, 0);
    call(worker, task, class_of(worker, task)->body);
    worker->run->tasks[task].next_child = 0;
}

/*
 * Spawns children from next_child on. Returns the child that this worker is to run at once; then the task is not its own
 * any more, because the continuation is in a pool or the task is suspended. HW_NONE: all children are spawned.
 */
static int32_t spawn(hw_worker_t *worker, int32_t task)
{
    hw_run_t *run = worker->run;
    const hw_graph_t *graph = run->graph;
    int32_t n_children = hw_n_children(graph, task);
    const int32_t *children = graph->child + graph->child_ptr[task];
    for (int32_t i = run->tasks[task].next_child; i < n_children; i++) {
        int32_t child = children[i];
        int64_t ticks = hw_stamp(worker);
        bool is_at_once = false;
        if (run->problem.order == HW_CHILD_FIRST) {
            /* Predecessors only ever leave: of 1, the creation itself, nobody else takes anything. */
            is_at_once = atomic_load_explicit(&run->tasks[child].pending, memory_order_relaxed) == 1;
        }
        hw_record(worker, ticks, HW_SPAWN, child, is_at_once);
        bool is_ready = hw_count_down(&run->tasks[child].pending) == 0;
        if (!is_at_once) {
            if (is_ready)
                hw_push(worker, child, ticks);
            continue;
        }
        if (i + 1 < n_children) {
            run->tasks[task].next_child = i + 1;
            hw_push(worker, task, ticks);
        } else {
            /* The child is outstanding, so this does not bring the counter to 0. The stamp and the number are taken
             * before: whoever ends the last child may go on with the task at once. */
            int32_t outstanding =
                atomic_load_explicit(&run->tasks[task].outstanding, memory_order_relaxed) - 1;
            hw_record(worker, ticks, HW_SUSPEND, task, outstanding);
            hw_count_down(&run->tasks[task].outstanding);
        }
        return child;
    }
    return HW_NONE;
}

/* Comes to the sync of a task; false: it is suspended. */
static bool sync(hw_worker_t *worker, int32_t task)
{
    if (hw_n_children(worker->run->graph, task) == 0)
        return true;
    int64_t ticks = hw_stamp(worker);
    int32_t outstanding = hw_count_down(&worker->run->tasks[task].outstanding);
    if (outstanding == 0)
        return true;
    hw_record(worker, ticks, HW_SUSPEND, task, outstanding);
    return false;
}

/* Ends a task and pushes successors that are ready. Returns the parent if this was its last child and it waits. */
static int32_t end(hw_worker_t *worker, int32_t task)
{
    hw_run_t *run = worker->run;
    const hw_graph_t *graph = run->graph;
    int32_t parent = graph->parent[task], resumed = HW_NONE;
    int64_t ticks = hw_stamp(worker);
    hw_record(worker, ticks, HW_END, task, 0);
    hw_task_reset(run->tasks, graph, task);
    for (int64_t edge = graph->succ_ptr[task]; edge < graph->succ_ptr[task + 1]; edge++)
        if (hw_count_down(&run->tasks[graph->succ[edge]].pending) == 0)
            hw_push(worker, graph->succ[edge], ticks);
    if (parent != HW_NONE && hw_count_down(&run->tasks[parent].outstanding) == 0)
        resumed = parent;
    worker->counters.tasks++;
    /* Relaxed: own counter, of which others only need the number; results are passed on at the barrier. */
    int64_t ended = atomic_load_explicit(&worker->ended, memory_order_relaxed);
    atomic_store_explicit(&worker->ended, ended + 1, memory_order_relaxed);
    return resumed;
}

void hw_execute(hw_worker_t *worker, int32_t task, int64_t ticks)
{
    hw_run_t *run = worker->run;
    if (run->tasks[task].next_child == HW_NONE)
        start(worker, task, ticks);
    else
        hw_record(worker, ticks, HW_RESUME, task, 0);
    for (int32_t child = spawn(worker, task); child != HW_NONE; child = spawn(worker, task)) {
        task = child;
        start(worker, task, hw_stamp(worker));
    }
    if (!sync(worker, task))
        return;
    for (;;) {
        if (hw_n_children(run->graph, task) > 0)
            call(worker, task, class_of(worker, task)->join);
        task = end(worker, task);
        if (task == HW_NONE)
            return;
        hw_record(worker, hw_stamp(worker), HW_RESUME, task, 0);
    }
}
