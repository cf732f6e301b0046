/*
 * Connected components: every vertex takes the smallest label among its own and its neighbours', synchronously. The
 * first label of a vertex, its constant, is its number.
 */
#include "vertices.h"

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

static const hw_class_t classes[] = {{"divide", 0, 0}, {"initialise", initialise, 0}, {"spread", spread, 0}};

const hw_program_t hw_program_connected_components = {"connected_components", classes, 3};
