"""Single MapReduce jobs: WordCount, whose map tasks write little, and Sort, which moves all bytes.

See :mod:`simsched.workload.mapreduce_job` for the phases.

References
----------
Book of docs/sources, section 7.5 (benchmarks WordCount and Sort of Hadoop 0.19; sizes are not
published).
"""

from __future__ import annotations

from simsched.workload.mapreduce_job import single_job
from simsched.workload.registry import variant

_SMALL = {"splits": 12, "reduces": 3, "split_bytes": 40_000}

variant(
    "wordcount",
    single_job,
    "WordCount: a MapReduce job whose map tasks compute much and write little.",
    "wordcount",
    small=_SMALL,
    map_output_ratio=0.1,
    output_ratio=0.5,
    map_ops_per_byte=8000.0,
)
variant(
    "sort_mapreduce",
    single_job,
    "Sort: a MapReduce job whose output is as large as its input.",
    "sort",
    small=_SMALL,
    map_output_ratio=1.0,
    output_ratio=1.0,
    map_ops_per_byte=4000.0,
)
