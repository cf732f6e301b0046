#include "flows/flows.h"

#include "flows/coupling.h"
#include "flows/sharing.h"

/* As in calendar.c. */
static inline bool is_before(ssk_flow_t a, ssk_flow_t b)
{
    if (a.key == b.key)
        return (uint32_t)(b.number - a.number) - 1 < UINT32_MAX / 2;
    return a.key < b.key;
}

int ssk_flows_reserve(ssk_flows_t *self, const ssk_allocator_t *allocator, int32_t flow_class, int32_t capacity)
{
    ssk_class_t *cls = &self->classes[flow_class];
    return ssk_grow(allocator, &cls->heap, &cls->capacity, (size_t)capacity, sizeof(*cls->heap));
}

/* Counts the copies between nodes of different spaces by path. */
static void count_copies(const ssk_problem_t *p, int32_t *flows)
{
    for (int32_t pair = 0; pair < p->n_nodes * p->n_nodes; pair++)
        flows[p->path_copy[pair]] += p->node_space[pair / p->n_nodes] != p->node_space[pair % p->n_nodes];
}

/* Makes room in the classes of each domain's access paths for all workers of the domain, and for copies. */
static int reserve_access_classes(ssk_flows_t *self, const ssk_allocator_t *allocator)
{
    const ssk_problem_t *p = self->problem;
    int status = SSK_OK;
    int32_t *flows = ssk_new(allocator, (size_t)p->n_paths, sizeof(*flows));
    if (flows == NULL)
        return SSK_ERR_MEMORY;
    for (int32_t worker = 0; worker < p->n_workers; worker++) {
        for (int32_t node = 0; node < p->n_nodes; node++) {
            size_t entry = (size_t)p->worker_domain[worker] * (size_t)p->n_nodes + (size_t)node;
            flows[p->path_access[entry]]++;
            if (p->path_hit[entry] >= 0)
                flows[p->path_hit[entry]]++;
            if (p->path_write[entry] != p->path_access[entry])
                flows[p->path_write[entry]]++;
        }
    }
    if (p->copies_data)
        count_copies(p, flows);
    for (int32_t c = 0; c < self->n_classes && status == SSK_OK; c++) {
        int32_t room = flows[c / p->n_mates];
        if (room > ssk_n_entities(p))
            room = ssk_n_entities(p);
        if (room > 0)
            status = ssk_flows_reserve(self, allocator, c, room);
    }
    ssk_delete(allocator, flows);
    return status;
}

int ssk_flows_alloc(ssk_flows_t *self, const ssk_allocator_t *allocator, const ssk_problem_t *problem)
{
    size_t n_workers = (size_t)ssk_n_entities(problem);
    memset(self, 0, sizeof(*self));
    self->problem = problem;
    self->n_classes = problem->n_paths * problem->n_mates;
    self->n_words = (self->n_classes + 63) / 64;
    size_t n_classes = (size_t)self->n_classes;
    self->classes = ssk_new(allocator, n_classes, sizeof(*self->classes));
    self->class_of = ssk_new(allocator, n_workers, sizeof(*self->class_of));
    self->place_of = ssk_new(allocator, n_workers, sizeof(*self->place_of));
    self->touched = ssk_new(allocator, n_classes, sizeof(*self->touched));
    self->changed = ssk_new(allocator, n_classes, sizeof(*self->changed));
    self->occupied = ssk_new(allocator, (size_t)self->n_words, sizeof(*self->occupied));
    if (!self->classes || !self->class_of || !self->place_of || !self->touched || !self->changed ||
        !self->occupied)
        return SSK_ERR_MEMORY;
    for (size_t w = 0; w < n_workers; w++)
        self->class_of[w] = SSK_NONE;
    int status = ssk_calendar_alloc(&self->calendar, allocator, self->n_classes);
    if (status == SSK_OK)
        status = ssk_sharing_alloc(self, allocator);
    if (status == SSK_OK)
        status = reserve_access_classes(self, allocator);
    return status;
}

void ssk_flows_free(ssk_flows_t *self, const ssk_allocator_t *allocator)
{
    for (int32_t c = 0; self->classes != NULL && c < self->n_classes; c++)
        ssk_delete(allocator, self->classes[c].heap);
    ssk_delete(allocator, self->classes);
    ssk_delete(allocator, self->class_of);
    ssk_delete(allocator, self->place_of);
    ssk_delete(allocator, self->touched);
    ssk_delete(allocator, self->changed);
    ssk_delete(allocator, self->occupied);
    ssk_calendar_free(&self->calendar, allocator);
    ssk_sharing_free(self, allocator);
    memset(self, 0, sizeof(*self));
}

static void sift_up(ssk_flows_t *self, ssk_flow_t *heap, int32_t i, ssk_flow_t flow)
{
    while (i > 0) {
        int32_t parent = (i - 1) / 2;
        if (!is_before(flow, heap[parent]))
            break;
        heap[i] = heap[parent];
        self->place_of[heap[i].worker] = i;
        i = parent;
    }
    heap[i] = flow;
    self->place_of[flow.worker] = i;
}

static void sift_down(ssk_flows_t *self, ssk_flow_t *heap, int32_t n, int32_t i, ssk_flow_t flow)
{
    for (;;) {
        int32_t child = 2 * i + 1;
        if (child >= n)
            break;
        if (child + 1 < n)
            child += is_before(heap[child + 1], heap[child]);
        if (!is_before(heap[child], flow))
            break;
        heap[i] = heap[child];
        self->place_of[heap[i].worker] = i;
        i = child;
    }
    heap[i] = flow;
    self->place_of[flow.worker] = i;
}

static void touch(ssk_flows_t *self, int32_t c)
{
    if (self->classes[c].touched)
        return;
    self->classes[c].touched = true;
    self->touched[self->n_touched++] = c;
}

/* Adds `change` flows to the count of a class. */
static void count(ssk_flows_t *self, int32_t c, int32_t change)
{
    ssk_class_t *cls = &self->classes[c];
    uint64_t bit = (uint64_t)1 << (c & 63);
    self->n_changed -= cls->n != cls->counted;
    cls->n += change;
    self->n_flows += change;
    self->n_changed += cls->n != cls->counted;
    if (!cls->listed) {
        cls->listed = true;
        self->changed[self->n_listed++] = c;
    }
    if (cls->n > 0)
        self->occupied[c >> 6] |= bit;
    else
        self->occupied[c >> 6] &= ~bit;
}

/* V at time `now - lag`. */
static inline double virtual_at(const ssk_class_t *cls, int64_t now, double lag)
{
    return cls->virt + cls->rate * ((double)(now - cls->since) + (cls->since_lag - lag));
}

void ssk_flows_start(ssk_flows_t *self, int32_t worker, int32_t flow_class, double n_bytes, int64_t now, double lag)
{
    ssk_class_t *cls = &self->classes[flow_class];
    assert(self->class_of[worker] == SSK_NONE && (size_t)cls->n < cls->capacity);
    if (cls->n == 0) {
        cls->virt = 0.0;
        cls->since = now;
        cls->since_lag = lag;
    }
    ssk_flow_t flow = {virtual_at(cls, now, lag) + n_bytes, worker, self->n_started++};
    count(self, flow_class, 1);
    sift_up(self, cls->heap, cls->n - 1, flow);
    self->class_of[worker] = flow_class;
    if (self->place_of[worker] == 0)
        touch(self, flow_class);
}

/* Removes a worker's flow. */
static void remove_flow(ssk_flows_t *self, int32_t worker)
{
    int32_t c = self->class_of[worker], i = self->place_of[worker];
    ssk_class_t *cls = &self->classes[c];
    self->class_of[worker] = SSK_NONE;
    count(self, c, -1);
    if (i < cls->n) {
        ssk_flow_t last = cls->heap[cls->n];
        if (is_before(last, cls->heap[i]))
            sift_up(self, cls->heap, i, last);
        else
            sift_down(self, cls->heap, cls->n, i, last);
    }
    if (i == 0)
        touch(self, c);
}

/* Time from `since` to the end of a flow, in ps. */
static inline double duration(const ssk_class_t *cls, double key)
{
    return (key - cls->virt) / cls->rate - cls->since_lag;
}

void ssk_flows_end(ssk_flows_t *self, int32_t worker, int64_t now, double lag)
{
    assert(self->class_of[worker] != SSK_NONE && self->place_of[worker] == 0);
    ssk_class_t *cls = &self->classes[self->class_of[worker]];
    double key = cls->heap[0].key;
    /* What is noticed late has no lag; the others of the class have gone on since. */
    bool is_late = lag == 0.0 && cls->since + ssk_ceil_ps(duration(cls, key)) < now;
    cls->virt = is_late ? virtual_at(cls, now, lag) : key;
    cls->since = now;
    cls->since_lag = lag;
    remove_flow(self, worker);
}

double ssk_flows_left(const ssk_flows_t *self, int32_t worker, int64_t now, double lag)
{
    assert(self->class_of[worker] != SSK_NONE);
    const ssk_class_t *cls = &self->classes[self->class_of[worker]];
    double left = cls->heap[self->place_of[worker]].key - virtual_at(cls, now, lag);
    return left > 0.0 ? left : 0.0;
}

double ssk_flows_stop(ssk_flows_t *self, int32_t worker, int64_t now, double lag)
{
    double left = ssk_flows_left(self, worker, now, lag);
    remove_flow(self, worker);
    return left;
}

/* Enters when the end of the first flow of a class is noticed at its present rate, not before now. */
static void schedule_head(ssk_flows_t *self, int32_t c, int64_t now)
{
    const ssk_class_t *cls = &self->classes[c];
    int64_t end = SSK_NEVER;
    double lag = 0.0;
    if (cls->rate > 0.0) {
        double exact = duration(cls, cls->heap[0].key);
        int64_t wait = ssk_ceil_ps(exact);
        if (wait < SSK_NEVER - cls->since) {
            end = ssk_max(cls->since + wait, now);
            lag = cls->since + wait == end ? (double)wait - exact : 0.0;
        }
    }
    ssk_calendar_set(&self->calendar, c, end, lag, cls->heap[0].worker);
}

/* Brings the calendar up to date with the heads of touched classes. */
static void refresh_heads(ssk_flows_t *self, int64_t now)
{
    for (int32_t i = 0; i < self->n_touched; i++) {
        int32_t c = self->touched[i];
        ssk_class_t *cls = &self->classes[c];
        if (!cls->touched)
            continue;
        cls->touched = false;
        if (cls->n == 0)
            ssk_calendar_clear(&self->calendar, c);
        else
            schedule_head(self, c, now);
    }
    self->n_touched = 0;
}

/* Tells whether the first flow of a class ends now or earlier. */
static bool ends_now(const ssk_class_t *cls, int64_t now)
{
    if (cls->n == 0 || !(cls->rate > 0.0))
        return false;
    /* Mostly more than a picosecond is left, which needs no division; rounding is far below one in 2**50. */
    double left = cls->heap[0].key - cls->virt - cls->rate * ((double)(now - cls->since) + cls->since_lag);
    if (left > cls->rate && now - cls->since < (int64_t)1 << 50)
        return false;
    return ssk_ceil_ps(duration(cls, cls->heap[0].key)) <= now - cls->since;
}

/*
 * Tells whether certainly no flow ends now, without bringing the calendar up to date: a change of rates that is due
 * will move most of what has been touched.
 */
static bool none_ends_now(const ssk_flows_t *self, int64_t now)
{
    const ssk_entry_t *heap = self->calendar.heap;
    for (int32_t i = 0; i < self->n_touched; i++)
        if (ends_now(&self->classes[self->touched[i]], now))
            return false;
    if (self->calendar.n == 0 || heap[0].time > now)
        return true;
    if (!self->classes[heap[0].slot].touched)
        return false;
    for (int32_t i = 1; i < self->calendar.n && i <= SSK_CALENDAR_ARITY; i++)
        if (heap[i].time <= now)
            return false; /* or it is out of date; too rare to look further */
    return true;
}

/* Computes rates and moves the heads of touched classes and of those whose rate this changes. */
static void change_rates(ssk_flows_t *self, int64_t now, double lag)
{
    ssk_sharing_update(self);
    for (int32_t i = 0; i < self->n_listed; i++) {
        ssk_class_t *cls = &self->classes[self->changed[i]];
        cls->listed = false;
        cls->counted = cls->n;
        if (cls->n == 0)
            cls->rate = 0.0;
    }
    self->n_listed = 0;
    self->n_changed = 0;
    for (int32_t i = 0; i < self->sharing.n_renewed; i++) {
        int32_t c = self->sharing.renewed[i];
        ssk_class_t *cls = &self->classes[c];
        if (cls->rate == self->sharing.rate[c])
            continue;
        cls->virt = virtual_at(cls, now, lag);
        cls->since = now;
        cls->since_lag = lag;
        cls->rate = self->sharing.rate[c];
        cls->touched = false;
        schedule_head(self, c, now);
    }
    refresh_heads(self, now);
}

int64_t ssk_flows_next(ssk_flows_t *self, int64_t now, double lag, int64_t other, int32_t *worker_ret)
{
    bool is_changing = self->n_changed > 0 && other > now;
    if (!is_changing || !none_ends_now(self, now)) {
        refresh_heads(self, now);
        is_changing = is_changing && ssk_calendar_time(&self->calendar) > now;
    }
    if (is_changing)
        change_rates(self, now, lag);
    *worker_ret = self->calendar.n > 0 ? self->calendar.heap[0].rank : SSK_NONE;
    return ssk_calendar_time(&self->calendar);
}

/* Checks one class: order of its heap, places, calendar entry. */
static bool class_is_sound(const ssk_flows_t *self, int32_t c)
{
    const ssk_class_t *cls = &self->classes[c];
    bool occupied = self->occupied[c >> 6] >> (c & 63) & 1;
    int32_t place = self->calendar.place[c];
    if (cls->n < 0 || (size_t)cls->n > cls->capacity || occupied != (cls->n > 0))
        return false;
    for (int32_t i = 0; i < cls->n; i++) {
        if (i > 0 && is_before(cls->heap[i], cls->heap[(i - 1) / 2]))
            return false;
        int32_t worker = cls->heap[i].worker;
        if (self->class_of[worker] != c || self->place_of[worker] != i)
            return false;
    }
    if (cls->touched)
        return true;
    if (cls->n == 0)
        return place < 0;
    return place >= 0 && self->calendar.heap[place].rank == cls->heap[0].worker;
}

int ssk_flows_verify(const ssk_flows_t *self)
{
    int32_t n_flows = 0, n_changed = 0, n_with_class = 0, n_touched = 0;
    for (int32_t c = 0; c < self->n_classes; c++) {
        if (!class_is_sound(self, c))
            return SSK_ERR_INVARIANT;
        n_flows += self->classes[c].n;
        if (self->classes[c].n != self->classes[c].counted && !self->classes[c].listed)
            return SSK_ERR_INVARIANT;
        n_changed += self->classes[c].n != self->classes[c].counted;
        n_touched += self->classes[c].touched;
    }
    for (int32_t w = 0; w < ssk_n_entities(self->problem); w++)
        n_with_class += self->class_of[w] != SSK_NONE;
    if (n_flows != n_with_class || n_flows != self->n_flows || n_changed != self->n_changed || n_touched != self->n_touched)
        return SSK_ERR_INVARIANT;
    int status = ssk_calendar_verify(&self->calendar);
    if (status == SSK_OK && n_changed == 0)
        status = ssk_sharing_verify(self);
    return status;
}
