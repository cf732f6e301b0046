#include "runtime/buckets.h"

#include "run/sim.h"

enum { MEMORY = 256 }; /* most samples that a running mean remembers */

static const double UNKNOWN_S = 1e-3;  /* time of what has not been executed yet */
static const double IMPOSSIBLE = 1e9;  /* normalised time where a type of processor cannot execute a bucket */

static double known(const ssk_mean_t *mean, double otherwise)
{
    return mean->n > 0 ? mean->value : otherwise;
}

static void add_sample(ssk_mean_t *mean, double sample)
{
    if (mean->n < MEMORY)
        mean->n++;
    mean->value += (sample - mean->value) / mean->n;
}

static double expected_s(const ssk_bucket_t *bucket, int type)
{
    return known(&bucket->time_s[type], UNKNOWN_S);
}

static double work_released(const ssk_bucket_t *bucket, int type)
{
    return known(&bucket->released[type], UNKNOWN_S * 1e6);
}

/* The type with the smallest expected time of those that can execute a bucket. */
static int fastest_type(const ssk_bucket_t *bucket)
{
    if (!bucket->has_type[SSK_TYPE_HOST] || !bucket->has_type[SSK_TYPE_DEVICE])
        return bucket->has_type[SSK_TYPE_HOST] ? SSK_TYPE_HOST : SSK_TYPE_DEVICE;
    return expected_s(bucket, SSK_TYPE_DEVICE) < expected_s(bucket, SSK_TYPE_HOST) ? SSK_TYPE_DEVICE : SSK_TYPE_HOST;
}

/* Time of the mean task on its fastest processor. */
static double mean_s(const ssk_buckets_t *self)
{
    double mean = 0.0;
    for (int32_t i = 0; i < self->n_buckets; i++)
        mean += self->buckets[i].share * expected_s(&self->buckets[i], fastest_type(&self->buckets[i]));
    return mean;
}

/* Time of a task in units of the mean task. */
static double normalised(const ssk_bucket_t *bucket, int type, double mean)
{
    return mean > 0.0 ? expected_s(bucket, type) / mean : 1.0;
}

/* How urgent it is that a type of processor executes the tasks of a bucket. */
static double score(const ssk_bucket_t *bucket, int type, double mean, int32_t min_samples)
{
    int other = 1 - type;
    double own = normalised(bucket, type, mean), gain, urgency;
    if (bucket->has_type[other]) {
        double need = 1.0 - bucket->executed[other];
        gain = normalised(bucket, other, mean) - own;
        urgency = work_released(bucket, type) + need * work_released(bucket, other);
    } else {
        gain = IMPOSSIBLE - own;
        urgency = work_released(bucket, type);
    }
    double bonus = bucket->time_s[type].n < min_samples ? 1e8 : 0.0;
    return (1.0 + urgency) * gain + bonus;
}

/* The bucket of a task, the last one of its types of processors if it is new. */
static ssk_bucket_t *bucket_of(ssk_sim_t *sim, int32_t task)
{
    ssk_buckets_t *self = &sim->runtime.buckets;
    int32_t like = sim->plan.runtime.like[task];
    if (self->bucket_of[like] == 0) {
        ssk_bucket_t *bucket = &self->buckets[self->n_buckets];
        memset(bucket, 0, sizeof(*bucket));
        bucket->slow_factor = 1.0;
        for (int type = 0; type < SSK_N_TYPES; type++) {
            bucket->has_type[type] = like >> type & 1;
            if (bucket->has_type[type])
                self->order[type][self->n_order[type]++] = self->n_buckets;
        }
        self->bucket_of[like] = ++self->n_buckets;
    }
    return &self->buckets[self->bucket_of[like] - 1];
}

/* Sorts the buckets that a type of processor can execute by falling score, equal ones in the order of their meeting. */
static void put_in_order(ssk_buckets_t *self, int type, int32_t min_samples)
{
    double mean = mean_s(self);
    int32_t *order = self->order[type], n = 0;
    for (int32_t i = 0; i < self->n_buckets; i++) {
        if (!self->buckets[i].has_type[type])
            continue;
        int32_t place = n++;
        self->scores[i] = score(&self->buckets[i], type, mean, min_samples);
        for (; place > 0 && self->scores[order[place - 1]] < self->scores[i]; place--)
            order[place] = order[place - 1];
        order[place] = i;
    }
    self->n_order[type] = n;
}

/* Takes a task into the shares of buckets. */
static void learn_share(ssk_buckets_t *self, ssk_bucket_t *bucket)
{
    int64_t total = 0;
    double scale = 0.0;
    if (bucket->n_pushed == 0)
        self->pushed[self->n_shared++] = (int32_t)(bucket - self->buckets);
    if (bucket->n_pushed < MEMORY)
        bucket->n_pushed++;
    for (int32_t i = 0; i < self->n_buckets; i++)
        total += self->buckets[i].n_pushed;
    bucket->share += 1.0 / (double)total;
    for (int32_t i = 0; i < self->n_shared; i++)
        scale += self->buckets[self->pushed[i]].share;
    for (int32_t i = 0; i < self->n_shared; i++)
        self->buckets[self->pushed[i]].share /= scale;
}

/* Takes what the end of a task releases into what is known of its bucket. */
static void learn_released(ssk_sim_t *sim, int32_t task, ssk_bucket_t *bucket)
{
    const ssk_graph_t *graph = &sim->graph;
    const ssk_buckets_t *self = &sim->runtime.buckets;
    double released[SSK_N_TYPES] = {0.0, 0.0}, mean = mean_s(self);
    for (int64_t edge = graph->succ_ptr[task]; edge < graph->succ_ptr[task + 1]; edge++) {
        int32_t successor = graph->succ[edge];
        const ssk_bucket_t *after = bucket_of(sim, successor);
        for (int type = 0; type < SSK_N_TYPES; type++)
            if (after->executed[type] > 0.0) {
                double work = after->executed[type] * normalised(after, type, mean);
                released[type] += work / self->in_degree[successor];
            }
    }
    for (int type = 0; type < SSK_N_TYPES; type++)
        add_sample(&bucket->released[type], released[type]);
}

static int enqueue(ssk_sim_t *sim, int32_t task, int32_t pusher, int32_t *owner_ret)
{
    ssk_buckets_t *self = &sim->runtime.buckets;
    ssk_bucket_t *bucket = bucket_of(sim, task);
    (void)pusher;
    *owner_ret = sim->plan.runtime.members[0];
    if (self->n_pushed++ % sim->plan.runtime.ordering_interval == 0)
        for (int type = 0; type < SSK_N_TYPES; type++)
            put_in_order(self, type, sim->plan.runtime.min_samples);
    learn_share(self, bucket);
    learn_released(sim, task, bucket);
    for (int32_t i = 0; i < self->n_buckets; i++) {
        ssk_bucket_t *each = &self->buckets[i];
        each->fastest = fastest_type(each);
        double least = expected_s(each, each->fastest);
        each->slow_factor = expected_s(each, 1 - each->fastest) / (least > 1e-15 ? least : 1e-15);
    }
    return ssk_taskqueue_push(&bucket->tasks, sim->runtime.links, &sim->allocator, task, 0);
}

/* Tells whether a type of processor may take a task out of a bucket. */
static bool may_take(const ssk_buckets_t *self, int type, const ssk_bucket_t *bucket)
{
    if (bucket->tasks.n_tasks == 0)
        return false;
    if (bucket->fastest == SSK_TYPE_HOST || bucket->fastest == type)
        return true;
    return (double)bucket->tasks.n_tasks / self->n_workers[bucket->fastest] >= bucket->slow_factor;
}

/* Fills the queue of a worker from the buckets. */
static int fill(ssk_sim_t *sim, int32_t worker, int type)
{
    ssk_buckets_t *self = &sim->runtime.buckets;
    ssk_taskqueue_t *own = &sim->runtime.queues[worker];
    int64_t left = 0;
    for (int32_t i = 0; i < self->n_order[type]; i++)
        left += self->buckets[self->order[type][i]].tasks.n_tasks;
    int64_t number = ssk_min((int64_t)sim->plan.runtime.max_taken - own->n_tasks, left);
    if (left < sim->plan.runtime.n_members)
        number = ssk_min(number, own->n_tasks > 0 ? 0 : 1);
    for (int32_t i = 0; i < self->n_order[type]; i++) {
        ssk_bucket_t *bucket = &self->buckets[self->order[type][i]];
        while (number > 0 && may_take(self, type, bucket)) {
            int32_t newest = ssk_taskqueue_pop(&bucket->tasks, sim->runtime.links, ssk_able(sim, worker), true);
            if (newest == SSK_NONE)
                break;
            int status = ssk_taskqueue_push(own, sim->runtime.links, &sim->allocator, newest, 0);
            if (status != SSK_OK)
                return status;
            sim->runtime.n_queued++;
            number--;
        }
    }
    return SSK_OK;
}

/* Takes the last task of the next worker of the type that has one which the worker can execute. */
static int32_t steal(ssk_sim_t *sim, int32_t worker)
{
    const ssk_rule_t *rule = &sim->plan.runtime;
    int32_t place = 0, task = SSK_NONE;
    if (sim->runtime.n_queued == 0)
        return SSK_NONE;
    while (rule->members[place] != worker)
        place++;
    for (int32_t i = 1; task == SSK_NONE && i < rule->n_members; i++) {
        place = place + 1 == rule->n_members ? 0 : place + 1;
        int32_t other = rule->members[place];
        if (sim->runtime.queues[other].n_tasks > 0 && rule->is_device[other] == rule->is_device[worker])
            task = ssk_taskqueue_pop(&sim->runtime.queues[other], sim->runtime.links, ssk_able(sim, worker), true);
    }
    sim->runtime.n_queued -= task != SSK_NONE;
    sim->runtime.has_stolen = task != SSK_NONE;
    return task;
}

static int choose(ssk_sim_t *sim, int32_t worker, int32_t *task_ret)
{
    ssk_taskqueue_t *own = &sim->runtime.queues[worker];
    int32_t before = own->n_tasks;
    int status = fill(sim, worker, sim->plan.runtime.is_device[worker]);
    if (status != SSK_OK)
        return status;
    if (own->n_tasks == 0) {
        *task_ret = steal(sim, worker);
        return SSK_OK;
    }
    *task_ret = ssk_taskqueue_pop(own, sim->runtime.links, NULL, true);
    sim->runtime.n_queued--;
    int32_t task = own->n_tasks > 0 ? own->levels[0].first : SSK_NONE;
    for (int32_t i = 0; status == SSK_OK && task != SSK_NONE; i++, task = sim->runtime.links[task].next)
        if (i >= before)
            status = ssk_runtime_claim(sim, task, worker);
    return status;
}

static void note_start(ssk_sim_t *sim, int32_t task, int32_t worker)
{
    (void)task;
    sim->runtime.buckets.begun_ps[worker] = sim->now;
}

/* Learns how long a task has taken, and where. */
static void note_end(ssk_sim_t *sim, int32_t task, int32_t worker)
{
    ssk_bucket_t *bucket = bucket_of(sim, task);
    int type = sim->plan.runtime.is_device[worker];
    if (bucket->n_executed < MEMORY)
        bucket->n_executed++;
    bucket->executed[type] += 1.0 / (bucket->n_executed > 2 ? bucket->n_executed - 1 : 1);
    double scale = bucket->executed[SSK_TYPE_HOST] + bucket->executed[SSK_TYPE_DEVICE];
    for (int each = 0; each < SSK_N_TYPES; each++)
        bucket->executed[each] /= scale;
    add_sample(&bucket->time_s[type], (double)(sim->now - sim->runtime.buckets.begun_ps[worker]) * 1e-12);
}

static void close_buckets(ssk_sim_t *sim)
{
    ssk_buckets_t *self = &sim->runtime.buckets;
    for (int32_t i = 0; i < self->n_buckets; i++)
        ssk_delete(&sim->allocator, self->buckets[i].tasks.levels);
    ssk_delete(&sim->allocator, self->buckets);
    ssk_delete(&sim->allocator, self->bucket_of);
    ssk_delete(&sim->allocator, self->pushed);
    ssk_delete(&sim->allocator, self->order[SSK_TYPE_HOST]);
    ssk_delete(&sim->allocator, self->order[SSK_TYPE_DEVICE]);
    ssk_delete(&sim->allocator, self->scores);
    ssk_delete(&sim->allocator, self->in_degree);
    ssk_delete(&sim->allocator, self->begun_ps);
    memset(self, 0, sizeof(*self));
}

/* Counts numbers of buckets that occur. */
static int32_t count_likes(ssk_sim_t *sim)
{
    int32_t n = 0;
    for (int32_t task = 0; task < sim->graph.n_tasks; task++) {
        int32_t *known_like = &sim->runtime.buckets.bucket_of[sim->plan.runtime.like[task]];
        n += *known_like == 0;
        *known_like = 1;
    }
    memset(sim->runtime.buckets.bucket_of, 0, (size_t)sim->plan.runtime.n_likes * sizeof(int32_t));
    return n;
}

static int open_buckets(ssk_sim_t *sim)
{
    const ssk_allocator_t *allocator = &sim->allocator;
    const ssk_rule_t *rule = &sim->plan.runtime;
    ssk_buckets_t *self = &sim->runtime.buckets;
    self->bucket_of = ssk_new(allocator, (size_t)rule->n_likes, sizeof(*self->bucket_of));
    if (self->bucket_of == NULL)
        return SSK_ERR_MEMORY;
    size_t n_likes = (size_t)count_likes(sim);
    self->buckets = ssk_new(allocator, n_likes, sizeof(*self->buckets));
    self->pushed = ssk_new(allocator, n_likes, sizeof(*self->pushed));
    self->order[SSK_TYPE_HOST] = ssk_new(allocator, n_likes, sizeof(**self->order));
    self->order[SSK_TYPE_DEVICE] = ssk_new(allocator, n_likes, sizeof(**self->order));
    self->scores = ssk_new(allocator, n_likes, sizeof(*self->scores));
    self->in_degree = ssk_new(allocator, (size_t)sim->graph.n_tasks, sizeof(*self->in_degree));
    self->begun_ps = ssk_new(allocator, (size_t)sim->problem.n_workers, sizeof(*self->begun_ps));
    if (!self->buckets || !self->pushed || !self->order[SSK_TYPE_HOST] || !self->order[SSK_TYPE_DEVICE] ||
        !self->scores || !self->in_degree || !self->begun_ps)
        return SSK_ERR_MEMORY;
    for (int32_t edge = 0; edge < sim->graph.n_edges; edge++)
        self->in_degree[sim->graph.succ[edge]]++;
    for (int32_t i = 0; i < rule->n_members; i++)
        self->n_workers[rule->is_device[rule->members[i]]]++;
    return SSK_OK;
}

void ssk_by_buckets(ssk_steps_t *steps)
{
    steps->announces = SSK_CALL_FIRST;
    steps->open = open_buckets;
    steps->close = close_buckets;
    steps->enqueue = enqueue;
    steps->choose = choose;
    steps->note_start = note_start;
    steps->note_end = note_end;
}
