/*
 * Parts of a graph whose vertices pull values along their edges (simsched/hardware/programs/vertices.py).
 *
 * Arrays: 1 the links as Python made them, 2 the links, 3 the values. Parameters: 1 the values of one copy of a part.
 * Arguments of a leaf: its vertices, the edges that lead to them, where its links and where its values begin. Links of
 * a part: the number of edges of each vertex, a constant of each vertex, and where the first copy of the value at the
 * other end of each edge lies. A part's second copy follows its first.
 */
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
static void copy_links(const hw_call_t *call)
{
    const int64_t n_links = 2 * call->args[0] + call->args[1];
    const int32_t *given = (const int32_t *)call->arrays[1] + call->args[2];
    int32_t *links = (int32_t *)call->arrays[2] + call->args[2];

    for (int64_t i = 0; i < n_links; i++) {
        links[i] = given[i];
    }
}

/*
 * PageRank by pulling (Page, Brin, Motwani and Winograd, Stanford 1999).
 *
 * The values are shares: the rank of a vertex divided by the number of edges that begin there, its constant. Constants:
 * 0 the rank of every vertex at the start, 1 the rank that no edge brings, 2 the damping factor.
 */
static void share_ranks(const hw_call_t *call)
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

HW_PROGRAM(pagerank, {"divide", NULL, NULL}, {"initialise", share_ranks, NULL}, {"rank", rank, NULL});

/* The constant of a vertex is its first label. */
static void label(const hw_call_t *call)
{
    int32_t *label = (int32_t *)call->arrays[3] + call->args[3];
    const int64_t stride = call->params[1];

    count_run(call);
    copy_links(call);
    const part_t part = part_of(call);
    for (int64_t i = 0; i < stride; i++) {
        label[i] = i < part.n_vertices ? part.constant[i] : 0;
        label[stride + i] = 0;
    }
}

/*
 * Label propagation with a fixed number of labels, synchronous (Ugander and Backstrom, WSDM 2013).
 *
 * A vertex takes the label that most of its neighbours have, the smallest of these in a tie; without neighbours it
 * keeps its own.
 */
enum { MAX_LABELS = 256 }; /* as in vertices.py */

static int32_t most_frequent(const int32_t *votes, int32_t n_labels)
{
    int32_t best = 0;

    for (int32_t label = 1; label < n_labels; label++) {
        if (votes[label] > votes[best]) {
            best = label;
        }
    }
    return best;
}

static void vote(const hw_call_t *call)
{
    const int32_t n_labels = (int32_t)call->params[2];
    const part_t part = part_of(call);
    const int32_t *old = (const int32_t *)call->arrays[3] + old_copy(call);
    int32_t *label = (int32_t *)call->arrays[3] + new_values(call);
    const int32_t *source = part.source;
    int32_t votes[MAX_LABELS];

    count_run(call);
    for (int64_t i = 0; i < part.n_vertices; i++) {
        if (part.degree[i] == 0) {
            label[i] = old[call->args[3] + i];
            continue;
        }
        for (int32_t k = 0; k < n_labels; k++) {
            votes[k] = 0;
        }
        for (int32_t e = 0; e < part.degree[i]; e++) {
            votes[old[*source++]]++;
        }
        label[i] = most_frequent(votes, n_labels);
    }
}

HW_PROGRAM(label_propagation, {"divide", NULL, NULL}, {"initialise", label, NULL}, {"vote", vote, NULL});

/* Connected components: every vertex takes the smallest label among its own and its neighbours', synchronously. */
static void spread(const hw_call_t *call)
{
    const part_t part = part_of(call);
    const int32_t *old = (const int32_t *)call->arrays[3] + old_copy(call);
    int32_t *label = (int32_t *)call->arrays[3] + new_values(call);
    const int32_t *source = part.source;

    count_run(call);
    for (int64_t i = 0; i < part.n_vertices; i++) {
        int32_t smallest = old[call->args[3] + i];
        for (int32_t e = 0; e < part.degree[i]; e++) {
            const int32_t other = old[*source++];
            smallest = other < smallest ? other : smallest;
        }
        label[i] = smallest;
    }
}

HW_PROGRAM(connected_components, {"divide", NULL, NULL}, {"initialise", label, NULL}, {"spread", spread, NULL});
