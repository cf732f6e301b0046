/*
 * Parts of a graph whose vertices pull values along their edges (simsched/hardware/programs/_vertices.py).
 *
 * Arrays: 1 the links as Python made them, 2 the links, 3 the values. Parameters: 1 the values of one copy of a part.
 * Arguments of a leaf: its vertices, the edges that lead to them, where its links and where its values begin. Links of
 * a part: the number of edges of each vertex, a constant of each vertex, and where the first copy of the value at the
 * other end of each edge lies. A part's second copy follows its first.
 */
#ifndef HW_PROGRAMS_VERTICES_H
#define HW_PROGRAMS_VERTICES_H

#include "counted.h"

typedef struct {
    int64_t n_vertices;
    const int32_t *degree, *constant, *source;
} part_t;

static inline part_t part_of(const hw_call_t *call)
{
    const int64_t n_vertices = call->args[0];
    const int32_t *links = (const int32_t *)call->arrays[2] + call->args[2];

    return (part_t){n_vertices, links, links + n_vertices, links + 2 * n_vertices};
}

/* Where the old values begin, for places in links; new ones are in the other copy. */
static inline int64_t old_copy(const hw_call_t *call)
{
    return (call->iteration + 1) % 2 * call->params[1];
}

/* Where the new values of the part begin. */
static inline int64_t new_values(const hw_call_t *call)
{
    return call->args[3] + call->iteration % 2 * call->params[1];
}

/* Copies the links of the part. */
static inline void copy_links(const hw_call_t *call)
{
    const int64_t n_links = 2 * call->args[0] + call->args[1];
    const int32_t *given = (const int32_t *)call->arrays[1] + call->args[2];
    int32_t *links = (int32_t *)call->arrays[2] + call->args[2];

    for (int64_t i = 0; i < n_links; i++) {
        links[i] = given[i];
    }
}

#endif
