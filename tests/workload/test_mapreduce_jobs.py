"""MapReduce jobs: sizes, phases, and what a job tracker reads from a graph."""

from __future__ import annotations

import numpy as np
import pytest

from simsched.files.errors import ConfigurationError
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.mapreduce_job import MAP, REDUCE, JobTasks, files_of_reduce
from simsched.workload.registry import generate_workload

SMALL = {"splits": 6, "reduces": 3, "split_bytes": 3000, "task_noise": 0.0, "skew": 0.0}


@pytest.mark.parametrize("name", ["sort_mapreduce", "wordcount"])
def test_counts_are_those_of_the_description(name: str) -> None:
    graph = generate_workload(name, SMALL).graph
    assert graph.n_tasks == 6 + 3
    assert graph.n_edges == 6 * 3
    assert graph.n_blocks == 3 * 6 + 2 * 3
    # Everything fits into the memory of the reduce tasks until they sort.
    assert graph.n_accesses == 3 * 6 + 3 * (6 + 3)


def test_sort_moves_all_bytes_through_every_phase() -> None:
    graph = generate_workload("sort_mapreduce", SMALL).graph
    total = 6 * 3000
    # Read, spill, output; then copy (read), sort (write), reduce (read, write).
    assert int(graph.read_bytes.sum()) == 3 * total
    assert int(graph.written_bytes.sum()) == 4 * total
    assert graph.block_bytes.tolist() == [3000] * 18 + [6000] * 6


def test_wordcount_writes_little() -> None:
    graph = generate_workload("wordcount", SMALL).graph
    assert graph.block_bytes.tolist() == [3000] * 6 + [300] * 12 + [600] * 3 + [300] * 3


def test_skew_keeps_the_bytes_of_the_job() -> None:
    graph = generate_workload("sort_mapreduce", {**SMALL, "split_bytes": 10**6, "skew": 0.5}).graph
    copied = graph.block_bytes[18:21]
    assert len(set(copied.tolist())) == 3
    assert abs(int(copied.sum()) - 6 * 10**6) <= 3 * 6


def test_the_seed_changes_the_costs_only() -> None:
    first, second = (generate_workload("wordcount", {}, seed).graph for seed in (0, 1))
    assert not np.array_equal(first.ops, second.ops)
    assert first.n_accesses == second.n_accesses
    again = generate_workload("wordcount", {}, 1).graph
    assert np.array_equal(again.ops, second.ops)


def test_phases_go_by_bytes() -> None:
    tasks = JobTasks(generate_workload("sort_mapreduce", SMALL).graph)
    assert tasks.kind.tolist() == [MAP] * 6 + [REDUCE] * 3
    # A map task reads 3000 bytes and spills 3000, then writes 3000. In its first phase it is as far
    # as its input is read (section 7.2.1).
    assert tasks.phase(0, 0, 0.5) == (0, 0.5)
    assert tasks.phase(0, 1, 0.5) == (0, 1.0)
    assert tasks.phase(0, 2, 0.5) == (1, 0.5)
    # A reduce task copies 6 x 1000 bytes; then it writes 6000; then it reads and writes.
    assert tasks.phase(6, 3, 0.5) == (0, 3500 / 6000)
    assert tasks.phase(6, 6, 0.25) == (1, 0.25)
    assert tasks.phase(6, 7, 1.0) == (2, 0.5)
    assert tasks.phase(6, 8, 1.0) == (2, 1.0)


def test_what_does_not_fit_into_memory_is_written_while_copying() -> None:
    graph = generate_workload("sort_mapreduce", {**SMALL, "buffer_bytes": 4000}).graph
    assert graph.access_after is not None
    first = slice(graph.access_ptr[6], graph.access_ptr[7])
    # One file of 4000 bytes, in six parts, each after the copy of the same map's output.
    assert graph.access_after[first].tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, -1, -1, -1]
    assert graph.read_bytes[first].tolist() == [1000, 0] * 6 + [0, 6000, 0]
    assert graph.written_bytes[first][:12:2].tolist() == [0] * 6
    assert int(graph.written_bytes[first][:12].sum()) == 4000
    assert graph.written_bytes[first][12:].tolist() == [2000, 0, 6000]


@pytest.mark.parametrize(
    ("files", "merged"),
    [
        (10, 0),  # one pass reads them all
        (11, 2),  # two become one
        (19, 10),
        (20, 2 + 10),  # two of twenty; then ten files of nineteen
    ],
)
def test_files_are_merged_until_one_pass_can_read_them(files: int, merged: int) -> None:
    # With equal files the smallest ones are those that have not been merged yet.
    assert files_of_reduce(files * 100, 100) == (files * 100, merged * 100)


def test_too_many_files_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"buffer_bytes: found 1 .*accepted 7 or more"):
        generate_workload("sort_mapreduce", {**SMALL, "buffer_bytes": 1})


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"mean_interarrival_s": 1e7}, "found 10000000.0, accepted a finite number, 0.0 to"),
        # 200 gaps of a hundred thousand seconds: no single one is too long, their sum is.
        ({"mean_interarrival_s": 1e5, "jobs": 200}, r"found 100000.0, .*at most 4.612e\+06 s"),
    ],
)
def test_arrivals_beyond_simulated_time_are_refused(
    parameters: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"mean_interarrival_s: {message}"):
        generate_workload("mapreduce_mix", parameters)


def test_jobs_of_a_mix() -> None:
    workload = generate_workload("mapreduce_mix", {"jobs": 5, "users": 2, "large_share": 0.0})
    tasks = JobTasks(workload.graph)
    assert tasks.n_jobs == 5
    assert tasks.names == [
        ("user0", "sort"),
        ("user1", "wordcount"),
        ("user0", "sort"),
        ("user1", "wordcount"),
        ("user0", "sort"),
    ]
    arrivals = [workload.graph.arrival_ps[tasks.job == job] for job in range(5)]
    assert all(len(set(times.tolist())) == 1 for times in arrivals)
    first = [int(times[0]) for times in arrivals]
    assert first[0] == 0
    assert first == sorted(first)


def test_inputs_are_what_nobody_writes() -> None:
    tasks = JobTasks(generate_workload("sort_mapreduce", SMALL).graph)
    assert np.flatnonzero(tasks.is_input).tolist() == list(range(6))
    assert tasks.input_block.tolist() == [0, 1, 2, 3, 4, 5, -1, -1, -1]


def test_other_programs_are_jobs_of_map_tasks() -> None:
    graph = build_graph([1.0] * 5, successors=adjacency([0, 3], [1, 4], 5))
    tasks = JobTasks(graph)
    assert tasks.kind.tolist() == [MAP] * 5
    assert tasks.job.tolist() == [0, 0, 1, 2, 2]
    assert tasks.phase(0, 0, 0.5) == (0, 0.5)
