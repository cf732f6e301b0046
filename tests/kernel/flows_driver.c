/* The kernel's flows for tests in Python: a problem that consists of paths and resources, and what flows.h offers. */
#include <stdlib.h>

#include "flows/flows.h"

typedef struct {
    ssk_problem_t problem;
    ssk_flows_t flows;
    ssk_allocator_t allocator;
} driver_t;

/* Workers, paths, busy threads of a core and resources that there are. */
typedef struct {
    int32_t n_workers, n_paths, n_mates, n_resources;
} driver_sizes_t;

driver_t *driver_new(const driver_sizes_t *sizes, const double *path_cap, const int32_t *path_resource_ptr,
                     const int32_t *path_resource, const double *path_weight, const double *resource_capacity,
                     const int32_t *curve_ptr, const double *curve);
void driver_free(driver_t *self);
void driver_start(driver_t *self, int32_t worker, int32_t flow_class, double n_bytes, int64_t now, double lag);
double driver_stop(driver_t *self, int32_t worker, int64_t now, double lag);
void driver_end(driver_t *self, int32_t worker, int64_t now, double lag);
int64_t driver_next(driver_t *self, int64_t now, double lag, int64_t other, int32_t *worker_ret, double *lag_ret);
void driver_rates(const driver_t *self, double *rate_ret);
int driver_verify(const driver_t *self);

/* Arrays stay the caller's; every class has room for all workers. NULL when there is no memory. */
driver_t *driver_new(const driver_sizes_t *sizes, const double *path_cap, const int32_t *path_resource_ptr,
                     const int32_t *path_resource, const double *path_weight, const double *resource_capacity,
                     const int32_t *curve_ptr, const double *curve)
{
    driver_t *self = calloc(1, sizeof(*self));
    if (self == NULL)
        return NULL;
    ssk_problem_t *p = &self->problem;
    p->n_workers = sizes->n_workers;
    p->n_paths = sizes->n_paths;
    p->n_mates = sizes->n_mates;
    p->n_resources = sizes->n_resources;
    p->n_crossings = path_resource_ptr[p->n_paths];
    p->n_curve = curve_ptr[p->n_resources];
    p->path_cap = path_cap;
    p->path_resource_ptr = path_resource_ptr;
    p->path_resource = path_resource;
    p->path_weight = path_weight;
    p->resource_capacity = resource_capacity;
    p->curve_ptr = curve_ptr;
    p->curve = curve;
    self->allocator = ssk_default_allocator();
    int status = ssk_flows_alloc(&self->flows, &self->allocator, p);
    for (int32_t c = 0; c < p->n_paths * p->n_mates && status == SSK_OK; c++)
        status = ssk_flows_reserve(&self->flows, &self->allocator, c, p->n_workers);
    if (status == SSK_OK)
        return self;
    driver_free(self);
    return NULL;
}

void driver_free(driver_t *self)
{
    ssk_flows_free(&self->flows, &self->allocator);
    free(self);
}

void driver_start(driver_t *self, int32_t worker, int32_t flow_class, double n_bytes, int64_t now, double lag)
{
    ssk_flows_start(&self->flows, worker, flow_class, n_bytes, now, lag);
}

double driver_stop(driver_t *self, int32_t worker, int64_t now, double lag)
{
    return ssk_flows_stop(&self->flows, worker, now, lag);
}

void driver_end(driver_t *self, int32_t worker, int64_t now, double lag)
{
    ssk_flows_end(&self->flows, worker, now, lag);
}

/* As ssk_flows_next(); *lag_ret is the lag of the flow that ends next. */
int64_t driver_next(driver_t *self, int64_t now, double lag, int64_t other, int32_t *worker_ret, double *lag_ret)
{
    int64_t time = ssk_flows_next(&self->flows, now, lag, other, worker_ret);
    *lag_ret = *worker_ret == SSK_NONE ? 0.0 : ssk_flows_lag(&self->flows);
    return time;
}

/* The rate of every class, in bytes per ps; 0 for classes without flows. */
void driver_rates(const driver_t *self, double *rate_ret)
{
    for (int32_t c = 0; c < self->problem.n_paths * self->problem.n_mates; c++)
        rate_ret[c] = self->flows.classes[c].n > 0 ? self->flows.classes[c].rate : 0.0;
}

int driver_verify(const driver_t *self)
{
    return ssk_flows_verify(&self->flows);
}
