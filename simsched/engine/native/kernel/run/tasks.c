#include "run/tasks.h"

void ssk_tasks_init(ssk_tasks_t *self)
{
    memset(self, 0, sizeof(*self));
    self->free_saved = SSK_NONE;
}

void ssk_tasks_free(ssk_tasks_t *self, const ssk_allocator_t *allocator)
{
    ssk_delete(allocator, self->pending);
    ssk_delete(allocator, self->outstanding);
    ssk_delete(allocator, self->next_child);
    ssk_delete(allocator, self->executed_by);
    ssk_delete(allocator, self->phase);
    ssk_delete(allocator, self->parent_store);
    ssk_delete(allocator, self->marked_store);
    ssk_delete(allocator, self->end_store);
    ssk_delete(allocator, self->saved_of);
    ssk_delete(allocator, self->saved);
    ssk_tasks_init(self);
}

/* Makes room for n tasks without keeping what was there. */
static int reserve(ssk_tasks_t *self, const ssk_allocator_t *allocator, size_t n)
{
    if (n <= self->capacity)
        return SSK_OK;
    self->capacity = 0;
    int status = ssk_renew(allocator, &self->pending, n, sizeof(*self->pending));
    if (status == SSK_OK)
        status = ssk_renew(allocator, &self->outstanding, n, sizeof(*self->outstanding));
    if (status == SSK_OK)
        status = ssk_renew(allocator, &self->next_child, n, sizeof(*self->next_child));
    if (status == SSK_OK)
        status = ssk_renew(allocator, &self->executed_by, n, sizeof(*self->executed_by));
    if (status == SSK_OK)
        status = ssk_renew(allocator, &self->phase, n, sizeof(*self->phase));
    if (status == SSK_OK)
        self->capacity = n;
    return status;
}

/* Makes *store hold n entries of -1. */
static int clear_optional(int32_t **store, size_t *capacity, const ssk_allocator_t *allocator, size_t n)
{
    if (n > *capacity) {
        *capacity = 0;
        int status = ssk_renew(allocator, store, n, sizeof(**store));
        if (status != SSK_OK)
            return status;
        *capacity = n;
    }
    memset(*store, -1, n * sizeof(**store));
    return SSK_OK;
}

/* Takes over what holds for all iterations of a graph. */
static int learn(ssk_tasks_t *self, const ssk_allocator_t *allocator, const ssk_graph_t *graph, ssk_flaw_t *flaw_ret)
{
    size_t n = (size_t)graph->n_tasks;
    int status = reserve(self, allocator, n);
    self->has_children = graph->child_ptr[n] > 0;
    self->has_successors = graph->succ_ptr[n] > 0;
    self->has_accesses = graph->access_ptr[n] > 0;
    self->has_joins = self->has_creation_ops = false;
    if (status == SSK_OK && self->has_children)
        status = clear_optional(&self->parent_store, &self->parent_capacity, allocator, n);
    if (status != SSK_OK)
        return status;
    self->parent = self->has_children ? self->parent_store : NULL;
    for (size_t i = 0; i < n * (size_t)graph->n_kinds; i++)
        self->has_joins |= graph->join_ops[i] > 0.0;
    for (size_t t = 0; t < n; t++) {
        self->has_joins |= graph->join_access[t] < graph->access_ptr[t + 1];
        self->has_creation_ops |= graph->creation_ops[t] > 0.0;
    }
    for (size_t t = 0; self->has_children && t < n; t++) {
        for (int64_t i = graph->child_ptr[t]; i < graph->child_ptr[t + 1]; i++) {
            if (self->parent[graph->child[i]] != SSK_NONE) {
                flaw_ret->name = "child";
                flaw_ret->index = i;
                return SSK_ERR_ARGUMENT;
            }
            bool is_detached = graph->detached != NULL && graph->detached[graph->child[i]];
            self->parent[graph->child[i]] = is_detached ? SSK_DETACHED : (int32_t)t;
        }
    }
    return SSK_OK;
}

/* Number of children that a task waits for. */
static int32_t count_joined(const ssk_graph_t *graph, size_t task)
{
    int64_t first = graph->child_ptr[task], end = graph->child_ptr[task + 1];
    int32_t n = (int32_t)(end - first);
    for (int64_t i = first; graph->detached != NULL && i < end; i++)
        n -= graph->detached[graph->child[i]];
    return n;
}

int ssk_tasks_reset(ssk_tasks_t *self, const ssk_allocator_t *allocator, const ssk_graph_t *graph, bool known,
                    bool with_marks, ssk_flaw_t *flaw_ret)
{
    size_t n = (size_t)graph->n_tasks;
    self->n = 0;
    int status = known ? SSK_OK : learn(self, allocator, graph, flaw_ret);
    if (status == SSK_OK && with_marks)
        status = clear_optional(&self->marked_store, &self->marked_capacity, allocator, n);
    if (status == SSK_OK && graph->access_after != NULL)
        status = clear_optional(&self->end_store, &self->end_capacity, allocator, n);
    if (status == SSK_OK && self->saved_of != NULL)
        status = clear_optional(&self->saved_of, &self->saved_of_capacity, allocator, n);
    if (status != SSK_OK)
        return status;
    self->graph = graph;
    self->n = graph->n_tasks;
    self->n_left = graph->n_tasks;
    self->marked = with_marks ? self->marked_store : NULL;
    self->end_number = graph->access_after != NULL ? self->end_store : NULL;
    memset(self->next_child, 0, n * sizeof(*self->next_child));
    memset(self->executed_by, -1, n * sizeof(*self->executed_by));
    memset(self->phase, SSK_TASK_NEW, n * sizeof(*self->phase));
    for (size_t t = 0; t < n; t++) {
        self->pending[t] = 1;
        self->outstanding[t] = count_joined(graph, t);
    }
    for (int64_t edge = 0; edge < graph->succ_ptr[n]; edge++)
        self->pending[graph->succ[edge]]++;
    return SSK_OK;
}

ssk_saved_t *ssk_tasks_save(ssk_tasks_t *self, const ssk_allocator_t *allocator, int32_t task)
{
    if (self->saved_of == NULL &&
        clear_optional(&self->saved_of, &self->saved_of_capacity, allocator, (size_t)self->n) != SSK_OK)
        return NULL;
    int32_t place = self->free_saved;
    if (place >= 0) {
        self->free_saved = self->saved[place].next_free;
    } else {
        if (ssk_grow(allocator, &self->saved, &self->saved_capacity, (size_t)self->n_saved + 1,
                     sizeof(*self->saved)) != SSK_OK)
            return NULL;
        place = self->n_saved++;
    }
    assert(self->saved_of[task] < 0);
    self->saved_of[task] = place;
    return &self->saved[place];
}

bool ssk_tasks_restore(ssk_tasks_t *self, int32_t task, ssk_saved_t *saved_ret)
{
    if (self->saved_of == NULL || self->saved_of[task] < 0)
        return false;
    int32_t place = self->saved_of[task];
    *saved_ret = self->saved[place];
    self->saved[place].next_free = self->free_saved;
    self->free_saved = place;
    self->saved_of[task] = SSK_NONE;
    return true;
}

int ssk_tasks_verify(const ssk_tasks_t *self)
{
    const ssk_graph_t *graph = self->graph;
    int32_t left = 0;
    for (int32_t t = 0; t < self->n; t++) {
        int32_t unfinished = 0, parent = ssk_tasks_parent(self, t);
        left += self->phase[t] != SSK_TASK_ENDED;
        if (parent >= 0 && self->phase[parent] == SSK_TASK_ENDED && self->phase[t] != SSK_TASK_ENDED)
            return SSK_ERR_INVARIANT;
        for (int64_t i = graph->child_ptr[t]; i < graph->child_ptr[t + 1]; i++)
            unfinished += self->parent[graph->child[i]] == t && self->phase[graph->child[i]] != SSK_TASK_ENDED;
        if (unfinished != self->outstanding[t] || self->pending[t] < 0)
            return SSK_ERR_INVARIANT;
        if (self->phase[t] != SSK_TASK_NEW && self->pending[t] != 0)
            return SSK_ERR_INVARIANT;
    }
    return left == self->n_left ? SSK_OK : SSK_ERR_INVARIANT;
}
