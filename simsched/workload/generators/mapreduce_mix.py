"""A stream of MapReduce jobs of several users: Sort and WordCount in turn, small and large.

Jobs arrive with exponential times in between, the first one at the start. Job j is of user ``j %
users``; it is a Sort if j is even, otherwise a WordCount; it has `large_splits` splits with the
probability `large_share`, otherwise `small_splits`, and a reduce task for every `splits_per_reduce`
splits. See :mod:`simsched.workload.mapreduce_job` for the tasks.

References
----------
Book of docs/sources, section 7.2 (schedulers of several jobs; no workload is published). M. Zaharia
et al., *Delay scheduling*, EuroSys 2010 (many small jobs among few large ones).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from simsched.workload.builder import check_arrival, check_size
from simsched.workload.draws import stream
from simsched.workload.graph import Workload
from simsched.workload.mapreduce_job import Job, JobShape, job_graph
from simsched.workload.registry import MIB, Bounds, Cost, Count, Fraction, Size, generator

SORT = JobShape(1, 1, 1, 1.0, 1.0, 4000.0, 2000.0, 0.1, 0.1)
WORDCOUNT = JobShape(1, 1, 1, 0.1, 0.5, 8000.0, 2000.0, 0.1, 0.1)


@generator(
    "mapreduce_mix",
    small={
        "jobs": 3,
        "small_splits": 4,
        "large_splits": 8,
        "split_bytes": 40_000,
        "mean_interarrival_s": 0.001,
    },
)
def mapreduce_mix(
    seed: int,
    *,
    jobs: Count = 8,
    users: Count = 2,
    mean_interarrival_s: Annotated[float, Bounds(0.0, 1e6)] = 120.0,
    small_splits: Count = 8,
    large_splits: Count = 64,
    large_share: Fraction = 0.25,
    splits_per_reduce: Count = 4,
    split_bytes: Size = 64 * MIB,
    task_noise: Cost = 0.1,
    skew: Cost = 0.1,
    slowstart: Fraction = 1.0,
    iterations: Count = 1,
) -> Workload:
    """Mix: a stream of Sort and WordCount jobs of several users.

    Parameters
    ----------
    seed : int
        Seed of arrivals, sizes, noise and skew.
    jobs, users : int
        Number of jobs, and of users who submit them in turn.
    mean_interarrival_s : float
        Mean time between arrivals in seconds.
    small_splits, large_splits : int
        Splits of the two sizes of jobs.
    large_share : float
        Probability that a job is large.
    splits_per_reduce : int
        Splits for each reduce task, of which every job has at least one.
    split_bytes : int
        Bytes of a split.
    task_noise, skew : float
        Standard deviation over mean of the operations of tasks, and of the parts of reduce tasks.
    slowstart : float
        Part of the map tasks that have ended when reduce tasks may start; 0.05 in Hadoop. The
        default lets workers that know of no slots run the job: started early, a reduce task holds
        its worker while it waits.
    iterations : int
        How often the stream is repeated.
    """
    check_size("mapreduce_mix", tasks=2 * jobs * max(small_splits, large_splits))
    random = stream(seed, "jobs")
    gaps = mean_interarrival_s * random.standard_exponential(jobs)
    last_s = float(gaps[:-1].sum())
    check_arrival("mapreduce_mix", "mean_interarrival_s", mean_interarrival_s, last_s)
    is_large = random.random(jobs) < large_share
    made, arrival_s = [], 0.0
    for number in range(jobs):
        splits = large_splits if is_large[number] else small_splits
        name, shape = (("sort", SORT), ("wordcount", WORDCOUNT))[number % 2]
        shape = replace(
            shape,
            splits=splits,
            reduces=max(1, splits // splits_per_reduce),
            split_bytes=split_bytes,
            task_noise=task_noise,
            skew=skew,
            slowstart=slowstart,
        )
        made.append(Job(name, f"user{number % users}", round(arrival_s / 1e-12), shape))
        arrival_s += float(gaps[number])
    return Workload("mapreduce_mix", job_graph(made, stream(seed, "tasks")), iterations)
