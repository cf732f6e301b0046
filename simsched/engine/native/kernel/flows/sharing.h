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
double ssk_capacity(const ssk_flows_t *self, int32_t resource);

/* Returns the latency of a path at the present load of what it crosses; rule F13. */
int64_t ssk_path_latency(const ssk_flows_t *self, int32_t path);

#endif
