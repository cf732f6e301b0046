"""Services and batch jobs on an accelerator: shapes, counts and what the source states."""

from __future__ import annotations

import numpy as np
import pytest

from simsched.analysis.services import TaskTimes, service_metrics
from simsched.engine.run import simulate
from simsched.files.errors import ConfigurationError
from simsched.machine.load import load_machine
from simsched.policy import make_policy
from simsched.workload.accelerator_programs import BATCH, COPYING, CRITICAL, programs
from simsched.workload.registry import generate_workload


def test_programs_follow_the_source_and_cover_the_ranges() -> None:
    for reading in range(3):
        known = programs(reading)
        assert known["stem"].copy_in_bytes == pytest.approx(15e-3 * 3150e6)
        for name in ("face", "imc"):
            copied_s = known[name].copy_in_bytes / 3150e6
            assert copied_s < 0.1 * known[name].kernels * known[name].kernel_s
        totals = sorted(known[name].kernels * known[name].kernel_s for name in CRITICAL)
        assert totals == pytest.approx(np.linspace(22.5e-3, 57.5e-3, 8))
        assert {name for name in BATCH if known[name].occupancy == 1000} == {"hw", "hsort"}
        assert all(1e-3 < known[name].kernel_s < 50e-3 for name in BATCH)
        assert all(64e6 < known[name].copy_in_bytes < 256e6 for name in COPYING)
    assert programs(0) != programs(1)


def test_counts_and_chains() -> None:
    workload = generate_workload(
        "accelerator_mix",
        {"critical": "stem", "batch": "pf", "queries": 3, "batch_s": 1.0, "run_ahead": 2},
    )
    graph, about, stem = workload.graph, workload.applications, programs(0)["stem"]
    assert about is not None
    pieces = -(-stem.copy_in_bytes // 2**20) + -(-stem.copy_out_bytes // 2**20)
    for query in range(3):
        assert int((about.query == query).sum()) == 2 * stem.kernels + pieces
    # Three queries are one chain, the two loops of the batch job have no edges between them.
    roots = graph.in_degree == 0
    assert np.bincount(about.of_task[roots]).tolist() == [1, 2]
    assert graph.succ_ptr[-1] == graph.n_tasks - 3
    pinned = about.features[:, 2] == 1
    assert np.array_equal(graph.occupancy[pinned], np.full(pinned.sum(), 1000))  # type: ignore[index]


@pytest.mark.parametrize("backend", ["simpy", "native"])
@pytest.mark.parametrize("policy", ["mps", "priority"])
def test_batch_kernels_are_submitted_together(backend: str, policy: str) -> None:
    # The 8 kernels of a step of hsort, which fill the device, are submitted when its copy of 1 MB
    # has ended, at 1e6 / 3150e6 = 0.317 ms; the copy of face takes 6.69375e6 / 3150e6 = 2.125 ms,
    # and 0.1 ms of host code follow. So under MPS the first kernel of face begins after all of
    # them, under priority after the one that runs. The next step begins after the copy of 0.5 MB.
    given = {"critical": "face", "batch": "hsort", "queries": 1, "batch_s": 0.1, "deviation": 0.0}
    workload = generate_workload("accelerator_mix", {**given, "chunk_bytes": 2**30})
    graph, times = workload.graph, TaskTimes(workload.graph.n_tasks)
    machine = load_machine("k40_server")
    simulate(machine, workload, make_policy(policy), events=times, backend=backend)
    names = np.array(graph.class_names)[graph.task_class]
    kernels, face = np.flatnonzero(names == "hsort.kernel"), np.flatnonzero(names == "face.kernel")
    first, copied_ps = kernels[:8], round(1e6 / 3150e6 * 1e12)
    assert times.ready_ps[first] == pytest.approx([copied_ps] * 8, abs=1)
    took = np.diff(np.append(times.start_ps[first], times.end_ps[first[-1]]))
    assert np.all(took > 1e9)
    if policy == "mps":
        ended = times.end_ps[first[-1]]
        assert times.start_ps[first[1:]].tolist() == times.end_ps[first[:-1]].tolist()
    else:
        ended = times.end_ps[first[0]]
    assert times.start_ps[face[0]] == ended
    back_ps = times.end_ps[first[-1]] + round(0.5e6 / 3150e6 * 1e12) + copied_ps
    assert times.ready_ps[kernels[8]] == pytest.approx(back_ps, abs=3)


def test_the_limit_of_tasks_is_checked_before_anything_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = {"critical": "stem face", "batch": "pf hw", "instances": 3, "queries": 5}
    for more in ({"gap_s": 0.0}, {"run_ahead": 40}, {"chunk_bytes": 12345}):
        parameters = {**given, "batch_s": 0.3, **more}
        n = generate_workload("accelerator_mix", parameters).graph.n_tasks
        monkeypatch.setenv("SIMSCHED_MAX_TASKS", str(n))
        assert generate_workload("accelerator_mix", parameters).graph.n_tasks == n
        monkeypatch.setenv("SIMSCHED_MAX_TASKS", str(n - 1))
        with pytest.raises(ConfigurationError, match=f"found {n} tasks, accepted at most {n - 1}"):
            generate_workload("accelerator_mix", parameters)
        monkeypatch.delenv("SIMSCHED_MAX_TASKS")


@pytest.mark.parametrize("key", ["queries", "instances", "run_ahead"])
def test_sizes_beyond_all_limits_are_refused_at_once(key: str) -> None:
    with pytest.raises(ConfigurationError, match="tasks, accepted at most 20000000"):
        generate_workload("accelerator_mix", {key: 2**31 - 1})


def test_a_load_makes_queries_arrive_by_themselves() -> None:
    workload = generate_workload("accelerator_mix", {"batch": "", "queries": 50, "load": 0.3})
    arrivals = workload.graph.arrival_ps[workload.graph.in_degree == 0]
    assert len(arrivals) == 50
    assert np.all(np.diff(arrivals) >= 0)
    face = programs(0)["face"]
    mean_s = (face.step_s + face.kernels * 1e-4) / 0.3
    assert arrivals[-1] / 50 * 1e-12 == pytest.approx(mean_s, rel=0.4)


def test_overload_lets_the_backlog_grow_with_the_number_of_queries() -> None:
    def backlog(load: float, queries: int) -> int:
        given = {"batch": "", "critical": "dig", "queries": queries, "load": load}
        workload = generate_workload("accelerator_mix", {**given, "chunk_bytes": 2**30})
        times = TaskTimes(workload.graph.n_tasks)
        simulate(load_machine("k40_server"), workload, make_policy("mps"), events=times)
        found: int = service_metrics(workload, times)["backlog_queries"]
        return found

    # A load of 8 asks for far more than a GPU that runs two to three of these kernels at once has:
    # of a stream twice as long, twice as many wait. At a load of 0.1 that makes no difference.
    assert backlog(8.0, 200) > 1.8 * backlog(8.0, 100) > 90
    assert backlog(0.1, 200) <= 4


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"critical": "fase"}, "unknown program 'fase'; did you mean 'face'"),
        ({"batch": "hw face"}, "unknown program 'face'"),
        ({"critical": "", "batch": ""}, "found no programs, accepted at least one"),
        ({"load": 101.0}, "load: found 101.0, accepted a finite number, 0.0 to 100.0"),
        ({"target_s": 0.0}, "target_s: found 0.0, accepted a finite number, 1e-09 to"),
        ({"load": 1e-300}, r"load: found 1e-300, .* accepted at most 4.612e\+06 s"),
        ({"load": 1e-8}, r"load: found 1e-08, .* accepted at most 4.612e\+06 s"),
    ],
)
def test_bad_input(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        generate_workload("accelerator_mix", parameters)
