"""Tidy frames: one observation a row, sums that agree with the runs, units."""

from __future__ import annotations

import numpy as np
import pytest

import simsched
from simsched.files.errors import ConfigurationError

HEAT = "heat[rows=128,columns=128,leaf_bytes=8 KiB,iterations=2]"


@pytest.fixture(scope="module")
def result() -> simsched.Result:
    policies = ["cilk_a", "work_sharing", "work_sharing[placement=interleave]"]
    return simsched.run("amd_4x_opteron8380", HEAT, policies, seeds=2, jobs=1)


def test_runs_have_single_values_and_units(result: simsched.Result) -> None:
    runs = result.runs
    assert len(runs) == 6
    assert not any(isinstance(value, list) for value in runs.iloc[0])
    units = runs.attrs["units"]
    expected = {"makespan_s": "s", "dram_bytes_per_s": "B/s", "memory_bytes": "B"}
    assert expected.items() <= units.items()
    assert units["idle_percent"] == "%"
    assert "steals" not in units


def test_parameters_that_differ_are_columns(result: simsched.Result) -> None:
    runs = result.runs.drop_duplicates("policy").set_index("policy")
    assert runs.loc["work_sharing[placement=interleave]", "policy.placement"] == "interleave"
    assert "policy.information" not in runs


def test_iterations_add_up(result: simsched.Result) -> None:
    frame = result.iterations
    assert set(frame["iteration"]) == {0, 1, 2}
    moved = frame.groupby(["policy", "seed"])["dram_bytes"].sum()
    runs = result.runs.set_index(["policy", "seed"])
    assert (moved == runs.loc[moved.index, "memory_bytes"]).all()
    near_and_far = frame.groupby(["policy", "seed"])[["local_bytes", "remote_bytes"]].sum()
    for name in ("local_bytes", "remote_bytes"):
        assert (near_and_far[name] == runs.loc[near_and_far.index, name]).all()
        assert near_and_far[name].min() > 0
    both = frame["local_bytes"] + frame["remote_bytes"]
    assert (both == frame["dram_bytes"]).all()
    assert frame["remote_percent"].to_numpy() == pytest.approx(
        (100 * frame["remote_bytes"] / both).to_numpy()
    )
    assert frame["dram_bytes_per_s"].to_numpy() == pytest.approx(
        (frame["dram_bytes"] / frame["duration_s"]).to_numpy()
    )


def test_workers_add_up(result: simsched.Result) -> None:
    frame = result.workers
    assert set(frame["worker"]) == set(range(16))
    sums = frame.groupby(["policy", "seed"])[["busy_s", "acquire_s", "idle_s"]].sum()
    runs = result.runs.set_index(["policy", "seed"]).loc[sums.index]
    for name in ("busy_s", "acquire_s", "idle_s"):
        assert sums[name].to_numpy() == pytest.approx(runs[name].to_numpy())


def test_jobs_have_a_row_each() -> None:
    mix = "mapreduce_mix[jobs=3,small_splits=2,large_splits=4]"
    result = simsched.run("samr_cluster_slow", mix, ["hadoop_fifo", "fair"], jobs=1)
    frame, runs = result.jobs, result.runs.set_index("policy")
    assert frame["job"].tolist() == [0, 1, 2] * 2
    assert set(frame["user"]) <= {"user0", "user1"}
    assert (frame["response_s"] == frame["end_s"] - frame["arrival_s"]).all()
    assert frame.attrs["units"]["response_s"] == "s"
    by_policy = frame.groupby("policy", sort=False)
    assert (by_policy["response_s"].max() == runs["max_job_s"]).all()
    mean_s, share = by_policy["response_s"].mean(), by_policy["local_maps"].sum()
    assert mean_s.tolist() == pytest.approx(runs["mean_job_s"].tolist())
    share = 100 * share / by_policy["maps"].sum()
    assert share.tolist() == pytest.approx(runs["map_local_percent"].tolist())
    assert (by_policy["end_s"].max() == runs["makespan_s"]).all()
    assert not any(isinstance(value, list) for value in runs.iloc[0])


def test_services_have_a_row_each() -> None:
    mix = "accelerator_mix[critical=face asr,batch=hw,queries=5,batch_s=0.5]"
    result = simsched.run("k40_server", mix, "priority", jobs=1)
    frame, (row,) = result.services, result.rows
    assert frame["service"].tolist() == ["face", "asr"]
    assert frame["queries"].sum() == row["queries"]
    assert frame["max_latency_s"].max() == row["max_latency_s"]
    mean = (frame["queries"] * frame["mean_latency_s"]).sum() / row["queries"]
    assert mean == pytest.approx(row["mean_latency_s"])
    assert len(result.jobs) == 0


def test_runs_without_them_have_no_jobs_and_services(result: simsched.Result) -> None:
    assert (len(result.jobs), len(result.services)) == (0, 0)


def test_causes_of_idle_time_add_up_for_every_worker(result: simsched.Result) -> None:
    idle = result.idle("work_sharing").groupby("worker").idle_s.sum()
    expected = result["work_sharing"].rows[0]["worker_idle_s"]
    assert idle.reindex(range(len(expected)), fill_value=0.0).tolist() == pytest.approx(expected)


def test_ready_tasks_and_idle_workers_over_time(result: simsched.Result) -> None:
    lack = result.ready_tasks("work_sharing", bins=10)
    idle_s = (lack["idle_workers"] * (lack["end_s"] - lack["start_s"])).sum()
    expected = sum(result["work_sharing"].rows[0]["worker_idle_s"])
    assert idle_s == pytest.approx(expected)
    with pytest.raises(ConfigurationError, match="ready_tasks: bins"):
        result.ready_tasks("work_sharing", bins=0)


def test_the_critical_path_is_as_long_as_the_run(result: simsched.Result) -> None:
    path = result.critical_path("work_sharing")
    makespan = result["work_sharing"].rows[0]["makespan_s"]
    assert path["duration_s"].sum() == pytest.approx(makespan)
    tasks = path[path["activity"] == "task"]
    assert (tasks["task"] >= 0).all()
    assert (tasks["task_class"] != "").all()


def test_tasks_and_events_of_one_run(result: simsched.Result) -> None:
    tasks = result.tasks("work_sharing")
    row = result["work_sharing"].rows[0]
    assert tasks["ends"].sum() == row["tasks"]
    assert tasks["memory_bytes"].sum() <= row["requested_bytes"]
    assert (tasks["end_s"] <= row["makespan_s"] * (1 + 1e-12)).all()
    assert tasks["duration_s"].to_numpy() == pytest.approx(
        (tasks["end_s"] - tasks["start_s"]).to_numpy(), abs=1e-15
    )
    machine = result.cells[0].machine_model
    assert set(tasks["domain"]) <= set(range(machine.n_domains))
    events = result.events("work_sharing")
    assert len(events) == row["events"]
    assert (events["kind"] == "task_end").sum() == row["tasks"]
    assert np.all(np.diff(events["time_ps"]) >= 0)


def test_events_of_some_iterations(result: simsched.Result) -> None:
    whole, part = result.events(), result.events(iterations=1)
    assert set(part["iteration"]) == {1}
    assert len(part) == (whole["iteration"] == 1).sum()
    with pytest.raises(ConfigurationError, match="iterations: found 3 to 3, accepted 0 to 2"):
        result.events(iterations=3)


def test_too_many_events_are_refused_before_anything_runs(
    result: simsched.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simsched.experiment.single_run.MAX_EVENTS", 10)
    with pytest.raises(ConfigurationError, match="accepted up to 10 in memory; choose some iter"):
        result.simulate("cilk_a", iterations=2)


def test_a_part_of_a_result(result: simsched.Result) -> None:
    part = result["work_sharing"]
    assert (len(part), part.policies) == (2, ["work_sharing"])
    own = result.table().set_index("policy").loc["work_sharing"]
    (line,) = part.table().to_dict("records")
    assert line["makespan_s"] == own["makespan_s"]
    assert line["reduction_percent"] == own["reduction_percent"]
    assert result["policy=cilk_a,seed=1"].runs["seed"].tolist() == [1]
    with pytest.raises(ConfigurationError, match="unknown policy 'cilk'; did you mean 'cilk_a'"):
        result["cilk"]
    # 0 is neither a run nor all of them.
    for what in (0, 1, None, ("cilk_a", "work_sharing")):
        with pytest.raises(ConfigurationError, match="accepted a policy, or key=value pairs"):
            result[what]  # type: ignore[index]
    assert "work_sharing" in result._ipython_key_completions_()


def test_a_run_is_kept_and_only_two_are(result: simsched.Result) -> None:
    first = result.simulate("cilk_a")
    assert result["cilk_a"].simulate() is first
    result.simulate("work_sharing")
    result.simulate("policy=work_sharing,seed=1")
    assert len(result._kept) == 2
    assert result.simulate("cilk_a") is not first
