"""Sort as a MapReduce job: as many bytes leave as enter, both phases move all of them.

With S splits and R reduce tasks: ``S + R`` tasks, ``ceil(slowstart S) R`` edges, ``3 S + 2 R``
blocks and ``3 S + R (S + 4)`` accesses; see :mod:`simsched.workload.mapreduce_job` for the phases.

References
----------
Q. Chen, M. Guo, *Task Scheduling for Multi-core and Parallel Architectures*, Springer 2017, section
7.5 (benchmark Sort of Hadoop 0.19; sizes are not published).
"""

from __future__ import annotations

from simsched.workload.builder import check_size
from simsched.workload.draws import stream
from simsched.workload.graph import Workload
from simsched.workload.mapreduce_job import Job, JobShape, job_graph
from simsched.workload.registry import MIB, Cost, Count, Fraction, Size, generator


@generator("sort_mapreduce", small={"splits": 12, "reduces": 3, "split_bytes": 40_000})
def sort_mapreduce(
    seed: int,
    *,
    splits: Count = 64,
    reduces: Count = 16,
    split_bytes: Size = 64 * MIB,
    map_output_ratio: Cost = 1.0,
    output_ratio: Cost = 1.0,
    map_ops_per_byte: Cost = 4000.0,
    reduce_ops_per_byte: Cost = 2000.0,
    task_noise: Cost = 0.1,
    skew: Cost = 0.1,
    slowstart: Fraction = 1.0,
    iterations: Count = 1,
) -> Workload:
    """Sort: a MapReduce job whose output is as large as its input.

    Parameters
    ----------
    seed : int
        Seed of noise and skew.
    splits, reduces : int
        Number of map and reduce tasks: four waves and one on eight nodes with two slots each.
    split_bytes : int
        Bytes of a split, one block of the file system.
    map_output_ratio, output_ratio : float
        Bytes of map output over input, and of the result over map output.
    map_ops_per_byte, reduce_ops_per_byte : float
        Operations per byte of input of map tasks, and per copied byte of reduce tasks.
    task_noise, skew : float
        Standard deviation over mean of the operations of tasks, and of the parts of reduce tasks.
    slowstart : float
        Part of the map tasks that have ended when reduce tasks may start; 0.05 in Hadoop. The
        default lets workers that know of no slots run the job: started early, a reduce task holds
        its worker while it waits.
    iterations : int
        How often the job runs; earlier ones train a scheduler that keeps a history.
    """
    check_size("sort_mapreduce", tasks=splits + reduces, edges=splits * reduces)
    shape = JobShape(
        splits,
        reduces,
        split_bytes,
        map_output_ratio,
        output_ratio,
        map_ops_per_byte,
        reduce_ops_per_byte,
        task_noise,
        skew,
        slowstart,
    )
    graph = job_graph([Job("sort", "user0", 0, shape)], stream(seed, "tasks"))
    return Workload("sort_mapreduce", graph, iterations)
