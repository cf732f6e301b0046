/*
 * Where pages of data lie: asks the system to put them on a node, and which node they are on. Linux only.
 */
#ifndef HW_MEMORY_H
#define HW_MEMORY_H

#include "base.h"

enum { HW_MAX_NODES = 1024 };

/*
 * Puts the pages of a range, which begins and ends with a page, on a node, those not yet touched when they are. `strictly`:
 * nowhere else, even if the node is full. Returns 0 or an errno.
 */
int hw_pages_bind(void *pages, size_t bytes, int node, bool strictly);

/*
 * New pages on a node, anywhere for HW_NONE; NULL and a status when there are none. Asks for huge ones, as NumPy does for
 * large arrays; the system may have none.
 */
int hw_pages_on(int node, size_t bytes, void **pages);

/* Writes the node of each of n pages: HW_NONE where it is not known, as for pages nobody has touched. Returns an errno. */
int hw_pages_locate(void *const *pages, size_t n, int *nodes);

#endif
