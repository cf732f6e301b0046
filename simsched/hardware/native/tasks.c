#include "tasks.h"

hw_task_t *hw_tasks_new(const hw_graph_t *graph)
{
    hw_task_t *tasks = hw_pages_new((size_t)graph->n_tasks * sizeof(*tasks));
    for (int32_t task = 0; tasks != NULL && task < graph->n_tasks; task++)
        hw_task_reset(tasks, graph, task);
    return tasks;
}

void hw_tasks_free(hw_task_t *tasks, const hw_graph_t *graph)
{
    hw_pages_free(tasks, (size_t)graph->n_tasks * sizeof(*tasks));
}
