"""The job tracker and its policies: locality, order of jobs, backups, history."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.files.errors import ConfigurationError
from simsched.machine import load_machine
from simsched.machine.model import Change, CoreGroup, Machine, RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy import list_policies, make_policy
from simsched.policy.contract.base import PlanView
from simsched.policy.parts.mapreduce_speculation import History, observed_weights
from simsched.policy.parts.mapreduce_tracker import Attempt, Tracker
from simsched.policy.parts.mapreduce_waiting import CountedWorkload
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.graph import Workload
from simsched.workload.mapreduce_job import MAP, JobTasks
from simsched.workload.registry import generate_workload

NAMES = [info.name for info in list_policies() if "mapreduce" in info.family] + [
    "hadoop_default",
    "hadoop_ns",
    "hadoop_wt",
    "late",
    "samr",
    "tarazu",
    "calb",
    "cas",
    "plb",
]
SMALL = {"splits": 24, "reduces": 8, "split_bytes": 10**6, "task_noise": 0.0, "skew": 0.0}


def cluster(speeds: tuple[float, ...] = (1.0,) * 4) -> Machine:
    """Return nodes of four slots with a disk each, of different processor speeds."""
    machine = make_machine(
        domains=len(speeds),
        cores_per_domain=4,
        dram_bandwidth_bytes_per_s=50e6,
        ops_per_s=1e6,
        costs=RuntimeCosts(),
    )
    groups = tuple(CoreGroup(f"node{i}", "cpu", 1e6 * speed) for i, speed in enumerate(speeds))
    return replace(machine, core_groups=groups, core_group=machine.core_domain)


def run(
    name: str, machine: Machine, workload: Workload, backend: str = "native", **params: Any
) -> Run:
    return simulate(machine, workload, make_policy(name, params), backend=backend, events=True)


def events(result: Run, kind: EventKind, *columns: str) -> list[tuple[int, ...]]:
    assert result.trace is not None
    chosen = result.trace.events["kind"] == kind
    picked = [result.trace.events[name][chosen].tolist() for name in columns]
    return list(zip(*picked, strict=True))


def sort(**params: Any) -> Workload:
    defaults = {**SMALL, "map_ops_per_byte": 10.0, "reduce_ops_per_byte": 1.0}
    return generate_workload("sort_mapreduce", {**defaults, **params})


@pytest.mark.parametrize("name", NAMES)
def test_map_slots_run_map_tasks_only(name: str) -> None:
    result = run(name, cluster(), sort())
    kind = JobTasks(result.workload.graph).kind
    for task, worker in events(result, EventKind.TASK_START, "task", "worker"):
        assert (worker % 4 < 2) == (kind[task] == MAP)


def test_reduce_tasks_keep_a_slot_of_every_node() -> None:
    result = run("hadoop_fifo", cluster(), sort(), map_slots=3)
    kind = JobTasks(result.workload.graph).kind
    for task, worker in events(result, EventKind.TASK_START, "task", "worker"):
        assert (worker % 4 < 3) == (kind[task] == MAP)
    for slots in (4, 99):
        message = f"hadoop_fifo: parameter map_slots: found {slots}, accepted 0 to 3: a node has 4"
        with pytest.raises(ConfigurationError, match=message):
            run("hadoop_fifo", cluster(), sort(), map_slots=slots)
    # All slots of a node with one or two serve both kinds unless a number is given.
    machine = make_machine(domains=2, cores_per_domain=2, ops_per_s=1e6)
    starts = events(run("hadoop_fifo", machine, sort()), EventKind.TASK_START, "task", "worker")
    for wanted in (True, False):
        assert {w for t, w in starts if (kind[t] == MAP) == wanted} == {0, 1, 2, 3}
    with pytest.raises(ConfigurationError, match="found 2, accepted 0 to 1: a node has 2 slots"):
        run("hadoop_fifo", machine, sort(), map_slots=2)


def test_each_node_has_one_copy_of_a_split_if_there_are_fewer_than_wanted() -> None:
    makespans_s = []
    for replication in (2, 9):
        result = run("hadoop_fifo", cluster((1.0, 1.0)), sort(), replication=replication)
        assert {tuple(sorted(nodes)) for nodes in result.state.replicas[:24]} == {(0, 1)}
        makespans_s.append(result.makespan_s)
    assert makespans_s[0] == makespans_s[1]


def test_splits_are_where_every_policy_finds_them() -> None:
    homes = []
    for name in ("hadoop_fifo", "samr"):
        result = run(name, cluster(), sort())
        graph = result.workload.graph
        read = [(int(graph.access_block[graph.access_ptr[t]])) for t in range(24)]
        assert read == list(range(24))
        homes.append(result.summary.node_bytes.sum())
    assert homes[0] == homes[1]


def test_with_replicas_everywhere_all_map_tasks_are_local() -> None:
    slots, replicas = ([[0], [1]], [[0], [1]]), [(0, 1)] * 24 + [()] * 8
    tracker = Tracker(JobTasks(sort().graph), slots, [0, 1], replicas, np.zeros(32, np.int32))
    assert all(tracker.is_local(task, node) for task in range(32) for node in (0, 1))


def test_local_is_a_split_on_the_node_not_on_its_computer() -> None:
    """Virtual machines are nodes, "stored on local node" (section 7.4), though they share disks."""
    workload = generate_workload("sort_mapreduce", {"splits": 512, "reduces": 8})
    view, policy = _view_of(workload, load_machine("samr_cluster_slow")), make_policy("hadoop_ns")
    state = policy.start(view)
    assert {len(set(nodes)) for nodes in state.replicas[:512]} == {3}
    # Three of eight nodes have a split: each node 192 of 512, with a standard deviation of 10.95.
    # By disks it would be three of five: 307.
    for node in range(8):
        assert abs(sum(state.is_local(task, node) for task in range(512)) - 192) < 5 * 10.95
    # Nodes 1 and 2 share a disk, which holds such a split once.
    placed = policy.place(view, state)
    twice = next(task for task in range(512) if {1, 2} <= set(state.replicas[task]))
    disks = [disk for disk in (placed.home[twice], *placed.replicas[twice]) if disk >= 0]
    assert len(disks) == len(set(disks)) == 2


def test_a_node_gets_one_task_at_a_heartbeat_unless_told_otherwise() -> None:
    def most_at_once(**params: Any) -> int:
        # Not half a second: map tasks would end at heartbeats, and what is ready when nothing runs
        # does not wait for one.
        result = run("hadoop_fifo", cluster(), sort(), heartbeat_s=0.7, **params)
        beats = [
            (time, worker // 4)
            for time, worker in events(result, EventKind.ACQUIRE, "time_ps", "worker")
        ]
        return max(beats.count(beat) for beat in beats)

    assert most_at_once() == 1
    assert most_at_once(tasks_per_heartbeat=2) == 2


def test_local_tasks_go_first() -> None:
    # One copy of each split: with two nodes and a slot each, every task starts on the node that
    # has its split as long as that node has some.
    machine = cluster((1.0, 1.0))
    policy = make_policy("hadoop_fifo", {"replication": 1})
    result = simulate(machine, sort(), policy, events=True)
    assert result.trace is not None
    where = dict(events(result, EventKind.TASK_START, "task", "worker"))
    local = result.summary.node_bytes[0]
    assert local.trace() > 0.5 * local.sum()
    assert len(where) == 32


def test_fifo_serves_the_first_job_first() -> None:
    mix = generate_workload(
        "mapreduce_mix",
        {
            "jobs": 3,
            "large_share": 1.0,
            "large_splits": 24,
            "mean_interarrival_s": 1e-6,
            "split_bytes": 10**6,
            "task_noise": 0.0,
        },
    )
    result = run("hadoop_fifo", cluster((1000.0,) * 4), mix)
    tasks = JobTasks(result.workload.graph)
    began: dict[int, list[int]] = {}
    for task, time in events(result, EventKind.TASK_START, "task", "time_ps"):
        if tasks.kind[task] == MAP:
            began.setdefault(int(tasks.job[task]), []).append(time)
    assert max(began[0]) <= min(began[1]) <= max(began[1]) <= min(began[2])


@pytest.mark.parametrize("name", ["fair", "capacity", "dynamic_priority"])
def test_shares_divide_the_slots(name: str) -> None:
    # Two users with a job each that fill the cluster: three quarters of the map slots and one.
    mix = generate_workload(
        "mapreduce_mix",
        {
            "jobs": 2,
            "large_share": 1.0,
            "large_splits": 60,
            "mean_interarrival_s": 1e-9,
            "split_bytes": 10**6,
            "task_noise": 0.0,
        },
    )
    result = run(name, cluster((1000.0,) * 4), mix, shares="3,1", heartbeat_s=0.1)
    tasks = JobTasks(result.workload.graph)
    started = sorted(
        (time, int(tasks.job[task]))
        for task, time in events(result, EventKind.TASK_START, "task", "time_ps")
        if tasks.kind[task] == MAP
    )
    wave = [job for _, job in started[:8]]
    assert wave.count(0) == 6


@pytest.mark.parametrize("name", ["fair", "capacity", "dynamic_priority"])
def test_shares_without_a_user_are_refused(name: str) -> None:
    mix = generate_workload("mapreduce_mix", {"jobs": 2, "users": 2, "large_share": 0.0})
    message = "parameter shares: found 3 shares, accepted at most 2, one for each user"
    with pytest.raises(ConfigurationError, match=message):
        run(name, cluster(), mix, shares="1,2,3")


@pytest.mark.parametrize("shares", ["", "1,0", "a", "1,,2"])
def test_shares_are_numbers_above_zero(shares: str) -> None:
    with pytest.raises(ConfigurationError, match="policy fair: parameter shares: found"):
        make_policy("fair", {"shares": shares})


def test_a_starving_pool_gets_slots_by_force() -> None:
    # The second user's job arrives when all slots hold long tasks of the first one.
    mix = generate_workload(
        "mapreduce_mix",
        {
            "jobs": 2,
            "large_share": 1.0,
            "large_splits": 30,
            "mean_interarrival_s": 20.0,
            "split_bytes": 10**6,
            "task_noise": 0.0,
        },
    )
    slow = cluster((100.0,) * 4)
    patient = run("fair", slow, mix, preempt_after_s=1e6)
    strict = run("fair", slow, mix, preempt_after_s=10.0)
    assert patient.summary.kills == 0
    assert strict.summary.kills >= 2
    assert strict.summary.n_tasks == patient.summary.n_tasks


def test_delay_waits_for_a_local_slot() -> None:
    def remote_bytes(skips: int) -> int:
        policy = make_policy("delay", {"replication": 1, "most_skips": skips, "heartbeat_s": 0.5})
        counts = simulate(cluster(), sort(map_output_ratio=0.01), policy).summary.node_bytes[0]
        return int(counts.sum() - counts.trace())

    assert remote_bytes(40) < remote_bytes(0)


@pytest.mark.parametrize("backend", ["simpy", "native"])
def test_backups_save_a_job_with_a_slow_node(backend: str) -> None:
    machine, workload = cluster((1.0, 1.0, 1.0, 0.1)), sort(splits=8)
    alone = run("hadoop_ns", machine, workload, backend, heartbeat_s=1.0)
    assert alone.summary.duplicates == 0
    params = {"heartbeat_s": 1.0, "least_running_s": 1.0, "average_over": "all"}
    for name in ("hadoop_default", "late", "samr"):
        backed = run(name, machine, workload, backend, **params)
        assert backed.summary.duplicates > 0
        assert backed.makespan_s < 0.8 * alone.makespan_s


@pytest.mark.parametrize("name", ["hadoop_default", "late", "samr"])
def test_a_task_has_one_backup_at_most_at_a_time(name: str) -> None:
    result = run(name, cluster((1.0, 1.0, 0.2, 0.1)), sort(), heartbeat_s=1.0, least_running_s=1.0)
    assert result.trace is not None
    alive: dict[int, int] = {}
    kinds = result.trace.events["kind"].tolist()
    for kind, task in zip(kinds, result.trace.events["task"].tolist(), strict=True):
        if kind == EventKind.TASK_START:
            alive[task] = alive.get(task, 0) + 1
        elif kind == EventKind.KILL:
            alive[task] = alive.get(task, 0) - 1
        assert alive.get(task, 0) <= 2


@pytest.mark.parametrize("name", ["hadoop_fifo", "hadoop_default", "late", "samr"])
def test_tasks_of_a_failed_node_are_executed_elsewhere(name: str) -> None:
    machine = replace(cluster(), changes=(Change(8 * 10**12, tuple(range(4)), 0.0),))
    result = run(name, machine, sort(), heartbeat_s=1.0)
    ends = events(result, EventKind.TASK_END, "task", "worker", "time_ps")
    assert sorted(task for task, _, _ in ends) == list(range(32))
    assert all(worker >= 4 for _, worker, time in ends if time > 8 * 10**12)
    assert len(events(result, EventKind.TASK_START, "task")) > 32


def test_late_keeps_its_cap() -> None:
    none = run("late", cluster((1.0, 0.1)), sort(), heartbeat_s=1.0, speculative_cap=0.0)
    assert none.summary.duplicates == 0


def test_observed_weights_are_shares_of_time() -> None:
    tasks, early = JobTasks(sort().graph), np.zeros(32, np.int32)
    tracker = Tracker(tasks, ([[0]], [[1]]), [0], [()] * 32, early)
    reduce = Attempt(24, 1, 0, 0, entered_ps=[10, 70, 90])
    assert observed_weights(tracker, reduce, 110) == pytest.approx((0.6, 0.2, 0.2))
    # A phase that no sample has seen took no time.
    assert observed_weights(tracker, Attempt(0, 0, 0, 0, entered_ps=[10]), 20) == (1.0, 0.0)
    assert observed_weights(tracker, Attempt(0, 0, 0, 0), 20) is None


def test_history_is_kept_from_job_to_job_and_follows_each_node() -> None:
    seen: list[History] = []
    params = {"tuned_weights": True, "speculative": False, "history_weight": 0.0, "sample_s": 0.5}
    policy = make_policy("hadoop_default", params)

    class Watched(type(policy)):  # type: ignore[misc]  # the registered class
        def on_iteration(self, view: Any, state: Any, counters: Any) -> None:
            seen.append(state)
            super().on_iteration(view, state, counters)

    machine = load_machine("samr_cluster_slow")
    workload = generate_workload("sort_mapreduce", {"splits": 16, "reduces": 8, "iterations": 2})
    simulate(machine, workload, Watched(**policy.parameters()))
    (state,) = seen
    assert {app for _, app, _ in state.weights} == {"sort"}
    assert all(abs(sum(weights) - 1.0) < 1e-9 for weights in state.weights.values())
    maps = {node: w for (node, _, kind), w in state.weights.items() if kind == MAP}
    assert len(maps) == 8
    assert len(set(maps.values())) > 1


def test_frozen_history_makes_the_weights_those_of_hadoop() -> None:
    machine, workload = cluster((1.0, 1.0, 0.5, 0.1)), sort()
    params = {"heartbeat_s": 1.0, "least_running_s": 1.0}
    frozen = run("samr", machine, workload, history_weight=1.0, **params)
    fixed = run("samr", machine, workload, tuned_weights=False, **params)
    assert events(frozen, EventKind.DUPLICATE, "time_ps", "task", "worker") == events(
        fixed, EventKind.DUPLICATE, "time_ps", "task", "worker"
    )
    assert frozen.makespan_s == fixed.makespan_s


def test_samr_compares_tasks_with_those_of_their_job() -> None:
    """Averages are over tasks of the same type in the job (section 7.3.4)."""
    policy = make_policy("samr")
    clock = SimpleNamespace(now_ps=lambda: 10 * 10**12)
    shape = {"jobs": 2, "small_splits": 4, "large_share": 0.0, "split_bytes": 40_000}
    view = _view_of(generate_workload("mapreduce_mix", shape)).during(clock)

    def judge(*fractions: float) -> tuple[list[int], list[bool]]:
        state = policy.start(view)
        maps = np.flatnonzero(state.tasks.kind == MAP).tolist()
        assert state.tasks.job[maps].tolist() == [0] * 4 + [1] * 4
        for place, (task, fraction) in enumerate(zip(maps, fractions, strict=True)):
            worker, node = 4 * (place // 2) + place % 2, place // 2
            state.attempts[worker] = Attempt(task, worker, node, 0, False, 0, fraction, [0])
        slow = [policy.is_slow(view, state, node, MAP, node // 2) for node in range(4)]
        return [maps.index(a.task) for a in policy.stragglers(view, state)], slow

    # The second job is five times as slow as the first, but all of its tasks are equally fast.
    assert judge(0.5, 0.5, 0.5, 0.5, 0.1, 0.1, 0.1, 0.1) == ([], [False] * 4)
    # Its average is 0.08 now: 0.02 is less than 0.7 of it, and (0.1 + 0.02) / 2 than 0.8 of it.
    judged = judge(0.5, 0.5, 0.5, 0.5, 0.1, 0.1, 0.1, 0.02)
    assert judged == ([7], [False, False, False, True])


def test_a_task_with_a_backup_counts_once() -> None:
    """Averages and ranks are those of tasks; a backup that has just begun pulled averages down."""
    clock = SimpleNamespace(now_ps=lambda: 100 * 10**12)
    view = _view_of(sort()).during(clock)

    def begun(state: Tracker, *attempts: tuple[int, int, float]) -> list[Attempt]:
        for worker, (task, began_s, fraction) in enumerate(attempts):
            ps = began_s * 10**12
            state.attempts[worker] = Attempt(task, worker, 0, ps, False, 0, fraction, [ps])
        return list(state.attempts.values())

    hadoop: Any = make_policy("hadoop_default")
    state = hadoop.start(view)
    # The mean of three tasks is 0.57, of which 0.3 is more than 0.2 short; of four attempts, 0.43.
    _, _, _, last = begun(state, (0, 0, 0.7), (1, 0, 0.7), (1, 99, 0.0), (2, 0, 0.3))
    assert hadoop.stragglers(view, state, MAP) == [last]

    samr: Any = make_policy("samr", {"straggler_cap": 0.5})
    state = samr.start(view)
    # Two of four tasks may be stragglers. Task 2 ends in 900 s, its backup in 950, task 3 in 567 s.
    found = begun(state, (0, 0, 0.5), (1, 0, 0.5), (2, 0, 0.1), (2, 50, 0.05), (3, 0, 0.15))
    assert samr.stragglers(view, state) == [found[2], found[4]]


def test_nodes_of_the_shipped_clusters() -> None:
    for name, nodes, disks in (("samr_cluster_slow", 8, 5), ("samr_cluster_fast", 9, 6)):
        machine = load_machine(name)
        assert (machine.n_domains, machine.n_sockets, len(machine.nodes)) == (nodes, disks, disks)
        assert machine.n_threads == 4 * nodes
        assert np.unique(machine.domain_socket, return_counts=True)[1].max() == 2


@pytest.mark.parametrize("slowstart", [0.25, 0.5, 1.0])
def test_reduce_tasks_start_when_enough_map_tasks_have_ended(slowstart: float) -> None:
    """Any of them, in Hadoop: the slow node has some of the first ones for the whole job."""
    machine, workload = cluster((0.02, 1.0, 1.0, 1.0)), sort(slowstart=slowstart)
    result = run("hadoop_fifo", machine, workload, heartbeat_s=0.5)
    kind = JobTasks(result.workload.graph).kind
    ends = sorted(
        (time, task)
        for time, task in events(result, EventKind.TASK_END, "time_ps", "task")
        if kind[task] == MAP
    )
    first = min(
        time
        for time, task in events(result, EventKind.TASK_START, "time_ps", "task")
        if kind[task] != MAP
    )
    early = int(np.ceil(slowstart * 24))
    last_ps = ends[early - 1][0]
    assert slowstart == 1.0 or any(task < early for _, task in ends[early:])
    # Not before that end, and at the first heartbeat after it at the latest (at once when nothing
    # runs any more): reduce slots are free, and a node gets a task at each heartbeat.
    period_ps = 5 * 10**11
    assert last_ps <= first < (last_ps // period_ps + 1) * period_ps + 10**6


def test_reduce_tasks_start_at_once_if_no_map_tasks_have_to_end() -> None:
    result = run("hadoop_fifo", cluster(), sort(slowstart=0.0), heartbeat_s=0.5)
    kind = JobTasks(result.workload.graph).kind
    starts = events(result, EventKind.TASK_START, "time_ps", "task")
    # Map tasks go first: a node gets one task at a heartbeat, and has two slots for them.
    assert min(time for time, task in starts if kind[task] != MAP) < 2 * 10**12


@pytest.mark.parametrize("name", NAMES)
def test_both_backends_agree_where_reduce_tasks_start_early(name: str) -> None:
    machine, workload = cluster((0.3, 1.0, 1.0, 1.0)), sort(slowstart=0.25, iterations=2)
    traces = []
    for backend in ("simpy", "native"):
        result = run(name, machine, workload, backend, heartbeat_s=1.0)
        assert result.trace is not None
        traces.append(result.trace.events)
    assert sorted(traces[0]) == sorted(traces[1])
    for column, values in traces[0].items():
        assert np.array_equal(values, traces[1][column])


def test_trackers_count_map_tasks_and_others_follow_edges() -> None:
    early = sort(slowstart=0.25)
    counted = make_policy("hadoop_fifo").prepare(_view_of(early))
    assert isinstance(counted, CountedWorkload)
    assert counted.graph.n_edges == 0
    assert counted.early_maps.tolist() == [0] * 24 + [6] * 8
    assert counted.graph.access_after is early.graph.access_after
    assert JobTasks(counted.graph).n_jobs == 1
    assert make_policy("cilk").prepare(_view_of(early)) is early
    assert early.graph.n_edges == 6 * 8
    # All map tasks are any; and who does not need all outputs waits for certain ones.
    whole = sort(slowstart=1.0)
    assert make_policy("hadoop_fifo").prepare(_view_of(whole)) is whole
    graph = early.graph
    assert graph.access_after is not None
    after = graph.access_after.copy()
    mine = slice(graph.access_ptr[24], graph.access_ptr[25])
    after[mine][after[mine] == 23] = -1
    some = replace(early, graph=replace(graph, access_after=after))
    counted = make_policy("hadoop_fifo").prepare(_view_of(some))
    assert isinstance(counted, CountedWorkload)
    assert counted.early_maps.tolist() == [0] * 25 + [6] * 7
    assert counted.graph.in_degree.tolist() == [0] * 24 + [6] + [0] * 7


def test_reading_a_replica_spares_the_network() -> None:
    def remote_bytes(replication: int) -> int:
        policy = make_policy("hadoop_fifo", {"replication": replication})
        counts = simulate(cluster(), sort(map_output_ratio=0.01), policy).summary.node_bytes[0]
        return int(counts.sum() - counts.trace())

    assert remote_bytes(4) < 0.2 * remote_bytes(1)


def test_plb_sizes_reduce_tasks_by_the_disks_of_their_nodes() -> None:
    machine = load_machine("samr_cluster_slow")
    workload = generate_workload("sort_mapreduce", {"splits": 8, "reduces": 8, "skew": 0.0})
    blind = make_policy("plb", {"information": "blind"})  # an operation per task takes no time
    result = simulate(machine, workload, blind, events=True)
    graph, before = result.workload.graph, workload.graph
    tasks = JobTasks(graph)
    copied = {
        t: int(graph.read_bytes[graph.access_ptr[t] : graph.access_ptr[t] + 8].sum())
        for t in range(8, 16)
    }
    # 32 bins in proportion to 2.87, 1.4 x 4, 1.34 x 2 and 3.43 MB/s.
    bins = [round(copied[t] * 32 / sum(copied.values())) for t in range(8, 16)]
    assert sum(bins) == 32
    assert bins == [6, 3, 3, 3, 3, 3, 3, 8]
    total = sum(
        int(before.read_bytes[before.access_ptr[t] : before.access_ptr[t] + 8].sum())
        for t in range(8, 16)
    )
    assert sum(copied.values()) == pytest.approx(total, rel=1e-6)
    for task, worker in events(result, EventKind.TASK_END, "task", "worker"):
        if tasks.kind[task] != MAP and result.summary.duplicates == 0:
            assert worker // 4 == task - 8


@pytest.mark.parametrize(
    ("ops_per_byte", "bins"),
    [
        (1e3, [6, 2]),  # cores decide: three times as fast, three times the bins
        (1e-6, [4, 4]),  # the disks do, which are alike
        # Of b copied bytes a task writes b sorted, reads them and writes b: 3 b at 50 MB/s are
        # 0.06 b us. With one operation per copied byte four cores of 1 (3) million operations/s
        # need 0.25 b (0.083 b) us: 0.31 to 0.143, 5.47 of 8 bins.
        (1.0, [5, 3]),
        (2.0, [6, 2]),  # 0.56 to 0.227, 5.70 bins
        (1.1, [6, 2]),  # 0.335 to 0.152, 5.51 bins; with the copies, 0.355 to 0.172, 5.39
    ],
)
def test_plb_knows_what_cores_and_disks_take_for_a_reduce_task(
    ops_per_byte: float, bins: list[int]
) -> None:
    workload = sort(reduces=2, skew=0.0, reduce_ops_per_byte=ops_per_byte)
    graph = run("plb", cluster((3.0, 1.0)), workload).workload.graph
    tasks = np.flatnonzero(JobTasks(graph).kind != MAP)
    ends = zip(graph.access_ptr[tasks], graph.access_ptr[tasks + 1], strict=True)
    read = [int(graph.read_bytes[first:last].sum()) for first, last in ends]
    assert [round(8 * part / sum(read)) for part in read] == bins


@pytest.mark.parametrize("backend", ["simpy", "native"])
@pytest.mark.parametrize("name", ["plb", "tarazu"])
def test_reduce_tasks_of_a_failed_node_begin_with_the_others(name: str, backend: str) -> None:
    machine = replace(cluster(), changes=(Change(10**12, tuple(range(4)), 0.0),))
    workload = sort(reduces=4)
    result = run(name, machine, workload, backend, heartbeat_s=1.0)
    kind = JobTasks(result.workload.graph).kind
    starts = events(result, EventKind.TASK_START, "task", "worker", "time_ps")
    begun = {task: (worker, time) for task, worker, time in starts if kind[task] != MAP}
    ends = events(result, EventKind.TASK_END, "task", "time_ps")
    # Six slots are left; nodes 1 to 3 have one task of their own each.
    assert begun[24][0] >= 4
    assert [begun[24 + node][0] // 4 for node in (1, 2, 3)] == [1, 2, 3]
    assert begun[24][1] < min(time for task, time in ends if kind[task] != MAP)


def test_cas_interleaves_by_the_ratio_of_speeds() -> None:
    policy = make_policy("cas")
    state = policy.start(_view_of(sort()))
    state.map_s = {0: [10.0, 10.0], 1: [30.0]}
    state.replicas = [(0,)] * 12 + [(1,)] * 12 + [()] * 8
    for task in range(24):
        state.wait(task)
    picked = []
    for _ in range(6):
        task = policy.pick_of_job(state, 0, MAP, 0)
        state.waiting.remove(MAP, 0, task)
        picked.append(task < 12)
    # Three times as fast: (3 + 1) / (3 - 1) = 2 local tasks, then a remote one.
    assert picked == [True, True, False, True, True, False]
    for task in (14, 15, 16, 17):  # 12 and 13 have gone
        assert policy.pick_of_job(state, 1, MAP, 0) == task
        state.waiting.remove(MAP, 0, task)
    # When only a node that is twice as slow has remote tasks left, (2 + 1) / (2 - 1) = 3 local ones
    # come first: the ratio is that of the pair.
    state.map_s[2], state.local_run[0] = [20.0], 0
    state.replicas = [(0,)] * 12 + [(2,)] * 12 + [()] * 8
    state.waiting.clear()
    for task in (0, 12):
        state.wait(task)
    picked = [policy.pick_of_job(state, 0, MAP, 0) < 12 for _ in range(4)]
    assert picked == [True, True, True, False]


def _view_of(workload: Workload, machine: Machine | None = None) -> Any:
    """Return a view of a machine, by default of four equal nodes."""
    machine = machine or cluster()
    threads = machine.place_workers()
    domains = machine.core_domain[machine.thread_core[threads]]
    return PlanView(machine, workload, threads, domains, np.random.default_rng(0))


@pytest.mark.parametrize("backend", ["native", "simpy"])
@pytest.mark.parametrize("name", ["hadoop_default", "calb", "tarazu"])
def test_who_creates_tasks_in_no_time_is_not_taken_for_busy(name: str, backend: str) -> None:
    # The root was sent out and suspended at 0 s: it counted as on its way, and the run stalled.
    machine = make_machine(domains=1, cores_per_domain=4, costs=RuntimeCosts())
    tree = generate_workload("fork_join", {"depth": 3})
    assert run(name, machine, tree, backend).summary.n_tasks == tree.graph.n_tasks
