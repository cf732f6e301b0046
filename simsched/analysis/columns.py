"""What the columns of results mean, for listings and documents.

Names carry their units. `<kind>` stands for a memory kind of the machine, `<level>` for one of its
cache levels. Definitions that need more than a line are at the functions that compute the columns.
"""

from __future__ import annotations

import re

COLUMNS: dict[str, dict[str, str]] = {
    "Time": {
        "makespan_s": "from the start of the run, the initialisation included, to its end",
        "tasks": "tasks that have ended, those of the initialisation included",
        "events": "events of the trace, whether it is kept or not",
        "iterations": "iterations without the initialisation",
        "initialisation_s": "length of the initialisation",
        "iteration_mean_s": "mean length of the iterations without what passes between them",
        "iteration_first_s": "length of the first iteration after the initialisation",
        "iteration_last_s": "length of the last iteration",
        "iteration_s": "length of each iteration, the initialisation first if there is one",
        "between_iterations_s": "barriers, work of the policy and migrations between iterations",
    },
    "What it means": {
        "misfits": "why the run says little of its policy, empty where the policy fits: text",
        "decisions_hash": "the same in runs with the same decisions at the same times: text",
    },
    "Overhead": {
        "policy_overhead_s": "work and migrations between iterations and decisions of the policy",
        "policy_overhead_percent": "the same as a part of the makespan",
        "policy_work_s": "the same without migrations",
        "policy_work_percent": "that as a part of the makespan",
        "policy_decisions": "decisions of the policy that take time while tasks run",
        "policy_decision_s": "time that these decisions take, one after the other",
        "migration_overhead_s": "time of the mean worker for migrations in and between iterations",
        "migration_overhead_percent": "the same as a part of the makespan",
        "iterations_to_amortise": "first iteration by whose end the run has made up for its "
        "overhead against one whose iterations all last as long as the first; -1: never",
    },
    "Workers": {
        "workers": "workers of the run",
        "busy_s": "time in tasks, summed over workers, without what tasks spend on moving data",
        "spawn_s": "time for creating tasks and releasing successors, summed over workers",
        "acquire_s": "time for finding tasks, summed over workers",
        "migrate_s": "time for moving data, summed over workers: copies between iterations, moves "
        "of blocks by policies, page faults and moves of pages",
        "idle_s": "what remains of the makespan, summed over workers",
        "busy_percent": "`busy_s` as a part of workers x makespan",
        "spawn_percent": "`spawn_s` as a part of workers x makespan",
        "acquire_percent": "`acquire_s` as a part of workers x makespan",
        "migrate_percent": "`migrate_s` as a part of workers x makespan",
        "idle_percent": "`idle_s` as a part of workers x makespan, of all workers of the run",
        "busy_imbalance": "largest time in tasks of a worker over the mean one",
        "worker_busy_s": "time in tasks of each worker",
        "worker_acquire_s": "time for finding tasks of each worker",
        "worker_idle_s": "idle time of each worker",
    },
    "Traffic": {
        "requested_bytes": "bytes that tasks read and write, wherever they find them",
        "memory_bytes": "bytes between cores and memory nodes",
        "local_bytes": "those between a core and nodes of its own domain, or nodes of no domain",
        "remote_bytes": "the others",
        "local_percent": "`local_bytes` as a part of `memory_bytes`",
        "remote_percent": "`remote_bytes` as a part of `memory_bytes`",
        "iteration_local_bytes": "`local_bytes` of each iteration, the initialisation first",
        "iteration_remote_bytes": "`remote_bytes` of each iteration",
        "domain_local_bytes": "`local_bytes` of the cores of each domain",
        "domain_remote_bytes": "`remote_bytes` of the cores of each domain",
        "local_<kind>_bytes": "`local_bytes` to memory of this kind",
        "remote_<kind>_bytes": "`remote_bytes` to memory of this kind",
        "<kind>_percent": "bytes to memory of this kind as a part of `memory_bytes`",
        "<kind>_bytes_per_s": "bytes that memory of this kind itself moves, without what "
        "memory-side caches answer, over the makespan",
        "iteration_<kind>_bytes": "bytes that memory of this kind itself moves in each iteration",
        "link_name": "name of each link, in the machine's order",
        "link_bytes": "bytes on each link: accesses, copies, messages of cache coherence",
        "link_percent": "these as a part of what its bandwidth is in the makespan",
        "busiest_link_percent": "the largest of them; 0 without links",
    },
    "Caches": {
        "<level>_hits": "accesses that found all of their bytes in this level",
        "<level>_misses": "accesses that found none or a part of them",
        "<level>_hit_bytes": "bytes that this level served, also one instance to another",
        "<level>_missing_lines": "lines of 64 bytes that this level did not have",
        "<level>_counted_misses": "what the processor's counters make of them",
        "domain_<level>_missing_lines": "`<level>_missing_lines` of the cores of each domain",
        "memory_side_hit_bytes": "bytes that memory-side caches answered",
        "write_back_bytes": "bytes that processor caches write to memory, beyond those that missed",
    },
    "Straggler": {
        "straggler_socket": "socket whose cores move the fewest bytes from and to their own nodes "
        "in the iterations, of those that move any; -1: none",
        "straggler_local_accesses": "its accesses to its own nodes, in lines of 64 bytes",
        "straggler_memory_accesses": "its accesses to all nodes, in lines of 64 bytes",
        "straggler_<level>_missing_lines": "lines that this cache level of it did not have",
    },
    "Footprint": {
        "footprint_bytes": "largest size of all blocks in memory at a time",
        "footprint_largest_node_bytes": "largest size on one node at a time",
        "node_footprint_bytes": "largest size on each node at a time",
        "recycled_blocks": "blocks that pools of memory have handed out again",
        "managed_bytes": "bytes that tasks ask for in blocks of such pools",
        "managed_local_percent": "part of them in the domain of the core that asks",
    },
    "Scheduling": {
        "steals": "tasks that workers take out of pools of others",
        "steals_same_core": "of these, from workers of the same core",
        "steals_same_domain": "from other cores of the same domain",
        "steals_remote": "from other domains",
        "steals_by_distance": "by distance: core, domain, then hops",
        "transfers": "times that the policy itself has moved tasks between pools",
        "transferred_tasks": "tasks that it has moved so",
        "failed_probes": "looks into pools of others that were empty",
        "migrations": "blocks moved or copied between nodes",
        "migrated_bytes": "bytes moved or copied so",
        "page_faults": "page faults of balancing",
        "page_fault_s": "time in them and in the moves of pages that they cause",
        "duplicates": "executions of tasks that somebody was executing already",
        "kills": "executions that have ended without result",
        "wasted_s": "time of workers in such executions",
        "exchanges": "times that two threads have changed places",
    },
    "Divided work": {
        "profiling_steps": "mean number of steps of an invocation before its last one",
        "profiled_percent": "part of the work done in them",
        "imbalance_degree": "(longest - shortest time of a part) / longest, of last steps, mean",
        "imbalance_degree_sum": "the same of the times summed over all steps",
        "iteration_partition_variance": "sample variance of the parts' share, step to step",
    },
    "Lower bounds": {
        "bound_critical_path_s": "longest chain of dependent tasks, each alone where it is fastest",
        "bound_work_s": "all operations at the speed of all cores in use",
        "bound_bandwidth_s": "bytes that caches cannot have kept, at the rate of all memory",
        "bound_s": "the largest of the three in each iteration, summed; the same for all policies",
        "makespan_over_bound": "`makespan_s` over `bound_s`; 1 if both are 0, NaN if only the "
        "bound is",
        "bound_own_traffic_s": "the bytes of this run, placed as they were, through its busiest "
        "node or link",
    },
    "Services on shared accelerators": {
        "queries": "queries that begin while batch jobs run, or all without batch jobs",
        "queries_left_out": "the other ones",
        "mean_latency_s": "from the submission of a query's first task to the end of its last",
        "p99_latency_s": "99th percentile of the latencies, by nearest rank",
        "max_latency_s": "largest latency",
        "target_s": "latency that services are to keep",
        "mean_latency_over_target": "`mean_latency_s` over `target_s`",
        "p99_latency_over_target": "`p99_latency_s` over `target_s`",
        "late_queries": "queries above the target",
        "misses_target": "1 if the 99th percentile is above the target",
        "backlog_queries": "largest number of queries that have begun and not ended",
        "queue_percent": "part of the latency in which tasks of queries wait to begin",
        "copy_in_s": "mean time from the submission of a copy into the device to its end",
        "copy_in_bytes_per_s": "bytes of these copies over that time",
        "copy_percent": "part of copies in the time of queries on the device",
        "kernel_delays": "mean number of batch kernels that run or end while a query's waits",
        "kernel_delays_min": "smallest such number",
        "colocated_s": "time in which services and batch jobs are both there",
        "batch_kernels": "kernels of batch jobs",
        "batch_kernels_per_s": "batch kernels that end in `colocated_s`, per second",
        "batch_execution_percent": "part of `colocated_s` in which a kernel or a copy of a batch "
        "job is executed, on however small a part of the device",
        "batch_kernel_percent": "the same of kernels alone",
        "service_name": "name of each service",
        "service_queries": "`queries` of each",
        "service_mean_latency_s": "`mean_latency_s` of each",
        "service_p99_latency_s": "`p99_latency_s` of each",
        "service_max_latency_s": "`max_latency_s` of each",
        "service_late_queries": "`late_queries` of each",
        "service_misses_target": "`misses_target` of each",
    },
    "MapReduce jobs": {
        "jobs": "jobs of all iterations",
        "mean_job_s": "mean response time, from the arrival of a job to the end of its last task",
        "max_job_s": "largest response time",
        "map_local_percent": "part of the map tasks that read their split from the disk of their "
        "node",
        "job_iteration": "iteration of each job",
        "job_user": "user of each",
        "job_application": "what each runs",
        "job_arrival_s": "when each arrived, from the start of the run",
        "job_maps_end_s": "end of the last map task of each",
        "job_end_s": "end of the last task of each",
        "job_maps": "map tasks of each",
        "job_local_maps": "those that read their split from the disk of their node",
    },
    "Host": {
        "wall_s": "wall time of the simulation",
        "peak_rss_bytes": "largest resident size of its process meanwhile",
        "simulated_per_wall_s": "simulated over wall seconds",
    },
}

#: What other machines may have in place of `<kind>` and `<level>`.
_PARTS = {
    "<kind>": ("(dram|hbm|nvm|gpu)", "memory of kind {}"),
    "<level>": ("(l[1-4])", "a cache {}"),
}


def other_part(name: str) -> str:
    """Return what a machine needs for runs to have a column, empty for columns of no such part.

    >>> other_part("remote_hbm_bytes"), other_part("remote_bytes")
    ('memory of kind HBM', '')
    """
    for group in COLUMNS.values():
        for column in group:
            for mark, (pattern, part) in _PARTS.items():
                found = mark in column and re.fullmatch(column.replace(mark, pattern), name)
                if found:
                    return part.format(found[1].upper())
    return ""


BOUNDS = tuple(COLUMNS["Lower bounds"])
#: Of programs with services and with jobs, the columns that hold one number.
SERVICE_METRICS, JOB_METRICS = (
    tuple(name for name in COLUMNS[group] if not name.startswith(of_each))
    for group, of_each in (
        ("Services on shared accelerators", "service_"),
        ("MapReduce jobs", "job_"),
    )
)
