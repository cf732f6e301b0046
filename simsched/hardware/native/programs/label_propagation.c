/*
 * Label propagation with a fixed number of labels, synchronous (Ugander and Backstrom, WSDM 2013).
 *
 * A vertex takes the label that most of its neighbours have, the smallest of these in a tie; without neighbours it
 * keeps its own. The constant of a vertex is its first label.
 */
#include "vertices.h"

enum { MAX_LABELS = 256 }; /* as in label_propagation.py */

static void initialise(const hw_call_t *call)
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

static const hw_class_t classes[] = {{"divide", 0, 0}, {"initialise", initialise, 0}, {"vote", vote, 0}};

const hw_program_t hw_program_label_propagation = {"label_propagation", classes, 3};
