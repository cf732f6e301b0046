#ifndef SSK_SHARING_H
#define SSK_SHARING_H

#include "flows/flows.h"

/*
 * Computes into sharing.rate the rates of all classes in sharing.component, which have flows; only resources that are
 * not slack count.
 */
void ssk_sharing_fill(ssk_flows_t *self);
int ssk_sharing_alloc(ssk_flows_t *self, const ssk_allocator_t *allocator) SSK_CHECK_RESULT;
void ssk_sharing_free(ssk_flows_t *self, const ssk_allocator_t *allocator);

/* What depends on the flows of the moment; see the functions below. */
double ssk_varying_capacity(const ssk_flows_t *self, int32_t resource);
int64_t ssk_loaded_latency(const ssk_flows_t *self, int32_t path);

/* Returns what loads a resource since rates were last computed, in bytes per ps. */
double ssk_load(const ssk_flows_t *self, int32_t resource);

/* Returns what the flows on a resource get together; rule F7. */
static inline double ssk_capacity(const ssk_flows_t *self, int32_t resource)
{
    return self->sharing.varies[resource] ? ssk_varying_capacity(self, resource) : self->problem->resource_capacity[resource];
}

/* Returns the latency of a path at the present load of what it crosses; rule F13. */
static inline int64_t ssk_path_latency(const ssk_flows_t *self, int32_t path)
{
    return self->sharing.has_loaded_latency ? ssk_loaded_latency(self, path) : self->problem->path_latency_ps[path];
}

#endif
