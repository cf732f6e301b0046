"""Declarations of runtime.h that the binding uses."""

from libc.stdint cimport int32_t, int64_t, uint64_t


cdef extern from "program.h" nogil:
    ctypedef struct hw_class_t:
        const char *name

    ctypedef struct hw_program_t:
        const char *name
        const hw_class_t *classes
        int32_t n_classes


cdef extern from "tasks.h" nogil:
    ctypedef struct hw_graph_t:
        int32_t n_tasks, n_roots, n_args
        const int64_t *child_ptr
        const int32_t *child
        const int64_t *succ_ptr
        const int32_t *succ
        const int32_t *parent
        const int32_t *in_degree
        const int32_t *function
        const int32_t *roots
        const int64_t *args


cdef extern from "records.h" nogil:
    ctypedef struct hw_record_t:
        pass

    ctypedef struct hw_records_t:
        hw_record_t *records
        int64_t count, lost


cdef extern from "runtime.h" nogil:
    int HW_ERR_MEMORY, HW_ERR_THREAD, HW_ERR_PIN, HW_ERR_NODE

    ctypedef struct hw_problem_t:
        const hw_program_t *program
        void **arrays
        const int64_t *params
        const double *constants
        const hw_graph_t *init
        const hw_graph_t *graph
        int32_t n_iterations, n_workers
        const int32_t *cpu
        int order, pools, own_take
        uint64_t seed
        int64_t n_records, n_expected

    ctypedef struct hw_iteration_t:
        int64_t begin_ticks, end_ticks

    ctypedef struct hw_counters_t:
        int64_t tasks, steals, empty_probes, lost_races, idle_ticks
        int64_t cpu_ns, present_ns
        int64_t events[3]
        int events_error

    ctypedef struct hw_result_t:
        int status
        int32_t n_done
        bint is_tsc
        double ps_per_tick
        const hw_iteration_t *iterations

    ctypedef struct hw_run_t:
        pass

    const hw_program_t *const hw_programs[]
    const int32_t hw_n_programs

    int hw_run_start(hw_run_t **, const hw_problem_t *)
    bint hw_run_wait(hw_run_t *, int)
    void hw_run_free(hw_run_t *)
    hw_result_t hw_run_result(const hw_run_t *)
    const hw_counters_t *hw_run_counters(const hw_run_t *, int32_t)
    const hw_records_t *hw_run_records(const hw_run_t *, int32_t)


cdef extern from "memory.h" nogil:
    int hw_pages_bind(void *, size_t, int, bint)
    int hw_pages_locate(void **, size_t, int *)


cdef extern from "probes.h" nogil:
    ctypedef struct hw_primitives_t:
        double push, take, steal, probe, lock_push, lock_take, stamp

    int hw_primitives_measure(int32_t, int32_t, int32_t, hw_primitives_t *)

    ctypedef enum hw_stream_kind_t:
        HW_N_STREAMS

    ctypedef struct hw_stream_t:
        const int32_t *cpu
        int32_t n_threads
        hw_stream_kind_t kind
        int node
        int64_t n_items
        int32_t n_parts, n_sweeps, n_rounds

    int hw_stream_measure(const hw_stream_t *, int64_t *)

    ctypedef enum hw_transfer_kind_t:
        HW_TRANSFER_OWN_UPDATE
    int hw_transfer_measure(hw_transfer_kind_t, int32_t, int32_t, int64_t, int64_t, int32_t, int64_t *)

    ctypedef struct hw_chase_t:
        const int32_t *cpu
        int32_t n_threads
        int node
        int32_t n_lines
        int64_t n_warm, n_steps
        int32_t n_rounds
        int64_t evict_bytes
        int64_t load_items

    int hw_chase_measure(const hw_chase_t *, int64_t *)
