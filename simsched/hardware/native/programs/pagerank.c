/*
 * PageRank by pulling (Page, Brin, Motwani and Winograd, Stanford 1999).
 *
 * The values are shares: the rank of a vertex divided by the number of edges that begin there, its constant.
 */
#include "vertices.h"

/* constants: 0 the rank of every vertex at the start, 1 the rank that no edge brings, 2 the damping factor */

static void initialise(const hw_call_t *call)
{
    double *share = (double *)call->arrays[3] + call->args[3];
    const int64_t stride = call->params[1];

    count_run(call);
    copy_links(call);
    const part_t part = part_of(call);
    for (int64_t i = 0; i < stride; i++) {
        share[i] = i < part.n_vertices ? call->constants[0] / part.constant[i] : 0.0;
        share[stride + i] = 0.0;
    }
}

static void rank(const hw_call_t *call)
{
    const part_t part = part_of(call);
    const double *old = (const double *)call->arrays[3] + old_copy(call);
    double *share = (double *)call->arrays[3] + new_values(call);
    const int32_t *source = part.source;

    count_run(call);
    for (int64_t i = 0; i < part.n_vertices; i++) {
        double sum = 0.0;
        for (int32_t e = 0; e < part.degree[i]; e++) {
            sum += old[*source++];
        }
        share[i] = (call->constants[1] + call->constants[2] * sum) / part.constant[i];
    }
}

static const hw_class_t classes[] = {{"divide", 0, 0}, {"initialise", initialise, 0}, {"rank", rank, 0}};

const hw_program_t hw_program_pagerank = {"pagerank", classes, 3};
