#ifndef SSK_SEGMENT_H
#define SSK_SEGMENT_H

#include "run/sim.h"

int ssk_start_work(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_next_access(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_next_flow(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_flow_ended(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_segment_end(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
/* Counts the time of a segment that is over or has been left. */
void ssk_count_execution(ssk_sim_t *sim, int32_t worker);
/* Executes a body or join whose data, where they are copied, the worker may use. */
int ssk_begin_work(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_compute(ssk_sim_t *sim, int32_t worker);
/* Settles a running segment, which goes on at the present rate of its worker. */
void ssk_adapt(ssk_sim_t *sim, int32_t worker);
/*
 * The same in two steps: settles the segment and stops its flow, of which so many bytes are left; goes on with them after
 * a wait.
 */
double ssk_halt(ssk_sim_t *sim, int32_t worker);
void ssk_go_on(ssk_sim_t *sim, int32_t worker, double left, int64_t wait);
int ssk_save_segment(ssk_sim_t *sim, int32_t worker) SSK_CHECK_RESULT;
int ssk_resume_segment(ssk_sim_t *sim, int32_t worker, const ssk_saved_t *saved) SSK_CHECK_RESULT;

/* The share of the operations of a body or join that belongs to one of its accesses. */
static inline double ssk_ops_of_access(const ssk_graph_t *graph, const ssk_worker_t *w, int64_t access)
{
    if (graph->access_share != NULL)
        return w->ops * graph->access_share[access];
    if (w->total_bytes > 0) {
        int64_t n_bytes = graph->read_bytes[access] + graph->written_bytes[access];
        return w->ops * ((double)n_bytes / (double)w->total_bytes);
    }
    return w->ops / (double)w->n_accesses;
}

#endif
