#ifndef SSK_LONE_H
#define SSK_LONE_H

#include "flows/flows.h"

/*
 * Brings the counts of flows on resources up to date. If only lone resources are concerned, computes the rates of their
 * classes, lists these in sharing.renewed and returns true.
 */
bool ssk_lone_update(ssk_flows_t *self);
int ssk_lone_alloc(ssk_flows_t *self, const ssk_allocator_t *allocator) SSK_CHECK_RESULT;

#endif
