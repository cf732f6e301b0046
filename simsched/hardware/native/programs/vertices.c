/*
 * Parts of a graph whose vertices pull values along their edges (simsched/hardware/programs/vertices.py).
 *
 * Arrays: 1 the links as Python made them, 2 the links, 3 the values. Parameters: 1 the values of one copy of a part.
 * Arguments of a leaf: its vertices, the edges that lead to them, where its links and where its values begin. Links of
 * a part: the number of edges of each vertex, a constant of each vertex, and where the first copy of the value at the
 * other end of each edge lies. A part's second copy follows its first.
 */
#include <string.h>

#include "counted.h"

typedef struct {
    int64_t n_vertices, old, new; /* where the old and the new values begin: for places in links, those of the part */
    const int32_t *degree, *constant, *source;
} part_t;

/* The part of a leaf, whose run counts. */
static part_t part_of(const hw_call_t *call)
{
    const int64_t n_vertices = call->args[0], stride = call->params[1];
    const int32_t *links = (const int32_t *)call->arrays[2] + call->args[2];
    count_run(call);
    return (part_t){
        .n_vertices = n_vertices,
        .old = (call->iteration + 1) % 2 * stride,
        .new = call->args[3] + call->iteration % 2 * stride,
        .degree = links,
        .constant = links + n_vertices,
        .source = links + 2 * n_vertices,
    };
}

/* The part of a leaf of the initialisation: copies its links and clears both copies of its values. */
static part_t placed(const hw_call_t *call, size_t value_bytes)
{
    const int64_t n_links = 2 * call->args[0] + call->args[1], first = call->args[2];
    memcpy((int32_t *)call->arrays[2] + first, (const int32_t *)call->arrays[1] + first, (size_t)n_links * 4);
    memset((char *)call->arrays[3] + (size_t)call->args[3] * value_bytes, 0, 2 * (size_t)call->params[1] * value_bytes);
    return part_of(call);
}

/*
 * PageRank by pulling (Page, Brin, Motwani and Winograd, Stanford 1999).
 *
 * The values are shares: the rank of a vertex divided by the number of edges that begin there, its constant. Constants:
 * 0 the rank of every vertex at the start, 1 the rank that no edge brings, 2 the damping factor.
 */
static void share_ranks(const hw_call_t *call)
{
    const part_t part = placed(call, sizeof(double));
    double *share = (double *)call->arrays[3] + part.new;
    for (int64_t i = 0; i < part.n_vertices; i++)
        share[i] = call->constants[0] / part.constant[i];
}

static void rank(const hw_call_t *call)
{
    const part_t part = part_of(call);
    const double *old = (const double *)call->arrays[3] + part.old;
    double *share = (double *)call->arrays[3] + part.new;
    const int32_t *source = part.source;
    for (int64_t i = 0; i < part.n_vertices; i++) {
        double sum = 0.0;
        for (int32_t e = 0; e < part.degree[i]; e++)
            sum += old[*source++];
        share[i] = (call->constants[1] + call->constants[2] * sum) / part.constant[i];
    }
}

HW_PROGRAM(pagerank, {"divide", NULL, NULL}, {"initialise", share_ranks, NULL}, {"rank", rank, NULL});

/* The constant of a vertex is its first label. */
static void label(const hw_call_t *call)
{
    const part_t part = placed(call, sizeof(int32_t));
    memcpy((int32_t *)call->arrays[3] + part.new, part.constant, (size_t)part.n_vertices * sizeof(int32_t));
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
        if (votes[label] > votes[best])
            best = label;
    }
    return best;
}

static void vote(const hw_call_t *call)
{
    const int32_t n_labels = (int32_t)call->params[2];
    const part_t part = part_of(call);
    const int32_t *old = (const int32_t *)call->arrays[3] + part.old;
    int32_t *label = (int32_t *)call->arrays[3] + part.new;
    const int32_t *source = part.source;
    int32_t votes[MAX_LABELS];
    for (int64_t i = 0; i < part.n_vertices; i++) {
        if (part.degree[i] == 0) {
            label[i] = old[call->args[3] + i];
            continue;
        }
        memset(votes, 0, (size_t)n_labels * sizeof(*votes));
        for (int32_t e = 0; e < part.degree[i]; e++)
            votes[old[*source++]]++;
        label[i] = most_frequent(votes, n_labels);
    }
}

HW_PROGRAM(label_propagation, {"divide", NULL, NULL}, {"initialise", label, NULL}, {"vote", vote, NULL});

/* Connected components: every vertex takes the smallest label among its own and its neighbours', synchronously. */
static void spread(const hw_call_t *call)
{
    const part_t part = part_of(call);
    const int32_t *old = (const int32_t *)call->arrays[3] + part.old;
    int32_t *label = (int32_t *)call->arrays[3] + part.new;
    const int32_t *source = part.source;
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
