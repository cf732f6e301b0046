"""Random pushing, hierarchical, load-based and cluster-aware random stealing."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.files.errors import ConfigurationError
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.algorithms.work_stealing.chs import preorder_of_tree, search_order, tree_ranks
from simsched.policy.contract.base import HookView, PlanView, Transfer
from simsched.policy.parts.clusters import ClusterPolicy, Clusters
from simsched.testing import small_machines
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import build_graph
from simsched.workload.graph import Workload
from simsched.workload.spawn_tree import equal_parts, grow

MESSAGE_S = 2e-4
COSTS = replace(
    small_machines()["two_domains"].costs, steal_ps=(100_000, 200_000, round(MESSAGE_S * 1e12))
)
CLUSTERS = make_machine(domains=3, cores_per_domain=4, costs=COSTS)


def tree(leaves: int = 256, ops: float = 1e6) -> Workload:
    """A binary tree whose leaves compute a millisecond."""
    shape = grow(leaves, equal_parts(2, 2))
    return Workload("tree", build_graph(np.where(shape.is_leaf, ops, 1e3), children=shape.children))


def run(
    policy: str, machine: Any = CLUSTERS, workload: Workload | None = None, **params: Any
) -> Run:
    policy_of = make_policy(policy, params)
    return simulate(machine, workload or tree(), policy_of, events=True, backend="simpy")


def events(found: Run, kind: EventKind) -> dict[str, np.ndarray]:
    assert found.trace is not None
    chosen = found.trace.events["kind"] == kind
    return {name: column[chosen] for name, column in found.trace.events.items()}


def test_trees_are_searched_below_first_then_upwards() -> None:
    # 0 -> 1, 2; 1 -> 3, 4; 2 -> 5, 6.
    assert preorder_of_tree(7, 2) == [0, 1, 3, 4, 2, 5, 6]
    assert search_order(7, 2, 0) == [1, 3, 4, 2, 5, 6]
    assert search_order(7, 2, 1) == [3, 4, 0, 2, 5, 6]
    assert search_order(7, 2, 6) == [2, 5, 0, 1, 3, 4]
    assert search_order(3, 1, 2) == [1, 0]


def test_ranks_stay_inside_a_cluster() -> None:
    rank = tree_ranks([[0, 1, 2], [3, 4]], 5, 2)
    assert rank.tolist() == [
        [-1, 0, 1, -1, -1],
        [0, -1, 1, -1, -1],
        [0, 1, -1, -1, -1],
        [-1, -1, -1, -1, 0],
        [-1, -1, -1, 0, -1],
    ]


@pytest.mark.parametrize("policy", ["random_pushing", "chs", "cls", "crs"])
def test_all_clusters_take_part(policy: str) -> None:
    found = run(policy)
    busy = found.summary.worker_busy_ps.reshape(3, 4).sum(axis=1)
    assert busy.min() > 0.1 * busy.sum()
    serial = 256 * 1e-3
    assert found.summary.makespan_ps * 1e-12 < serial / 3


@pytest.mark.parametrize("policy", ["chs", "cls", "crs"])
def test_steals_without_a_message_stay_inside_clusters(policy: str) -> None:
    steals = events(run(policy), EventKind.STEAL)
    assert len(steals["task"])
    assert np.array_equal(steals["worker"] // 4, steals["arg0"] // 4)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """When each message was sent, and by whom; filled by runs that follow."""
    messages: list[tuple[int, int]] = []
    send = ClusterPolicy._send

    def noted(
        self: ClusterPolicy, view: HookView, state: Clusters, sender: int, victim: int, to: int
    ) -> Transfer:
        assert view.live is not None
        messages.append((view.live.now_ps(), sender))
        assert len(messages) < 10_000, "messages without end"
        return send(self, view, state, sender, victim, to)

    monkeypatch.setattr(ClusterPolicy, "_send", noted)
    return messages


def test_a_worker_of_crs_has_one_request_under_way(sent: list[tuple[int, int]]) -> None:
    run("crs")
    last: dict[int, int] = {}
    for time, worker in sent:
        assert worker not in last or time >= last[worker] + round(MESSAGE_S * 1e12)
        last[worker] = time
    assert len(last) > 4


def test_local_steals_of_crs_go_on_meanwhile(sent: list[tuple[int, int]]) -> None:
    found = run("crs", message_factor=25.0)
    span: dict[int, list[tuple[int, int]]] = {}
    for time, worker in sent:
        span.setdefault(worker, []).append((time, time + 5 * 10**9))
    steals = events(found, EventKind.STEAL)
    inside = [
        any(a < t < b for a, b in span.get(w, []))
        for t, w in zip(steals["time_ps"].tolist(), steals["worker"].tolist(), strict=True)
    ]
    assert any(inside)


def test_a_cluster_of_chs_asks_only_when_all_of_it_is_idle(
    sent: list[tuple[int, int]],
) -> None:
    found = run("chs")
    started, ended = (events(found, kind) for kind in (EventKind.TASK_START, EventKind.TASK_END))
    end_of = dict(zip(ended["task"].tolist(), ended["time_ps"].tolist(), strict=True))
    leaves = set(tree().graph.leaves.tolist())
    running = [
        (w // 4, t, end_of[task])
        for task, w, t in zip(
            started["task"].tolist(),
            started["worker"].tolist(),
            started["time_ps"].tolist(),
            strict=True,
        )
        if task in leaves
    ]
    assert sent
    for time, worker in sent:
        cluster = worker // 4
        assert not any(c == cluster and begin < time < end for c, begin, end in running)


@pytest.mark.parametrize("policy", ["cls", "crs", "chs"])
def test_one_cluster_sends_no_messages(policy: str, sent: list[tuple[int, int]]) -> None:
    one = make_machine(domains=1, cores_per_domain=4, costs=COSTS)
    run(policy, one)
    assert not sent


@pytest.mark.parametrize("policy", ["cls", "crs"])
def test_one_cluster_is_random_stealing(policy: str) -> None:
    one = make_machine(domains=1, cores_per_domain=4, costs=COSTS)
    random = run("random_stealing", one, spawn="parent_first", roots="first")
    for kind in (EventKind.TASK_START, EventKind.TASK_END, EventKind.STEAL):
        mine, theirs = events(run(policy, one), kind), events(random, kind)
        for column in ("time_ps", "worker", "task"):
            assert np.array_equal(mine[column], theirs[column])


def test_clusters_of_cls_fetch_before_they_are_idle() -> None:
    never = run("cls", threshold=0)
    assert not len(events(never, EventKind.TRANSFER)["task"])
    requests = events(run("cls", threshold=2), EventKind.TRANSFER)
    assert len(requests["task"])


def test_pushing_leaves_the_threshold_alone() -> None:
    found = run("random_pushing", threshold=3)
    assert len(events(found, EventKind.TRANSFER)["task"])
    assert not len(events(found, EventKind.STEAL)["task"])
    none = run("random_pushing", threshold=10_000)
    assert not len(events(none, EventKind.TRANSFER)["task"])
    assert none.summary.worker_busy_ps.astype(bool).sum() == 1


@pytest.mark.parametrize(("threshold", "pushes"), [(0, 3), (1, 1), (2, 0)])
def test_the_new_task_counts_for_the_threshold(threshold: int, pushes: int) -> None:
    # The root, which enters the first queue, and its two children.
    found = run("random_pushing", workload=tree(leaves=2), threshold=threshold)
    assert len(events(found, EventKind.TRANSFER)["task"]) == pushes


def test_tasks_are_pushed_when_they_are_generated() -> None:
    # The queues were looked at once in a period, which sent one task each at a time.
    found = run("random_pushing")
    ready, pushes = events(found, EventKind.TASK_READY), events(found, EventKind.TRANSFER)
    generated = {(t, w) for t, w in zip(ready["time_ps"], ready["worker"], strict=True) if w >= 0}
    times = pushes["time_ps"].tolist()
    assert set(zip(times, pushes["arg0"].tolist(), strict=True)) <= generated
    assert len(times) > 4
    assert min(np.diff(times)) < 1_000_000  # a look took place every 100 us


@pytest.mark.parametrize("most", [1, 3])
def test_pushes_under_way_are_bounded(most: int, sent: list[tuple[int, int]]) -> None:
    # Everything that is pushed takes as long, to whichever worker.
    costs = replace(COSTS, steal_ps=(round(MESSAGE_S * 1e12),))
    machine = make_machine(domains=3, cores_per_domain=4, costs=costs)
    run("random_pushing", machine, threshold=0, most_in_flight=most)
    under_way = [
        sum(0 <= now - time < costs.steal_ps[0] for time, other in sent if other == sender)
        for now, sender in sent
    ]
    assert max(under_way) == most


def test_a_local_steal_of_crs_goes_with_a_request(sent: list[tuple[int, int]]) -> None:
    # Workers asked other clusters only when their local steals had failed.
    found = run("crs")
    stolen = set(events(found, EventKind.STEAL)["task"].tolist())
    starts = events(found, EventKind.TASK_START)
    columns = (starts[name].tolist() for name in ("time_ps", "worker", "task"))
    thefts = [(start, w) for start, w, task in zip(*columns, strict=True) if task in stolen]
    assert thefts
    for start, thief in thefts:
        requests = [time for time, worker in sent if worker == thief and time <= start]
        assert requests
        assert start - requests[-1] < COSTS.steal_ps[2]


@pytest.mark.parametrize("policy", ["random_pushing", "chs", "cls", "crs"])
def test_messages_take_what_steals_cost(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # They took 100 us on every machine, whatever a steal between clusters cost there.
    taken = set()
    send = ClusterPolicy._send

    def noted(
        self: ClusterPolicy, view: PlanView, state: Clusters, sender: int, victim: int, to: int
    ) -> Transfer:
        message = send(self, view, state, sender, victim, to)
        taken.add((victim // 4 == to // 4, message.delay_ps))
        return message

    monkeypatch.setattr(ClusterPolicy, "_send", noted)
    run(policy, message_factor=2.5)
    within = {(True, 500_000)} if policy == "random_pushing" else set()
    assert taken == within | {(False, round(2.5 * MESSAGE_S * 1e12))}


@pytest.mark.parametrize("policy", ["random_pushing", "chs", "cls", "crs"])
@pytest.mark.parametrize("factor", [float("inf"), 1e300, -1.0])
def test_messages_take_a_time_that_makes_sense(policy: str, factor: float) -> None:
    # OverflowError in the middle of a run.
    with pytest.raises(
        ConfigurationError, match=r"message_factor: .* accepted a finite number, 0\.0 to 1000"
    ):
        make_policy(policy, {"message_factor": factor})


@pytest.mark.parametrize("policy", ["random_pushing", "chs", "cls", "crs"])
def test_messages_that_take_no_time_are_not_sent_without_end(
    policy: str, sent: list[tuple[int, int]]
) -> None:
    # An answer that brought nothing was followed by the next request at once, a picosecond later.
    found = run(policy, workload=tree(leaves=32, ops=1e7), message_factor=0.0)
    looks = found.summary.makespan_ps // 100_000_000 + 1
    assert 0 < len(sent) < 12 * looks + 32 * 12


@pytest.mark.parametrize("policy", ["chs", "cls", "crs"])
def test_an_answer_that_brings_nothing_is_followed_at_the_next_look(
    policy: str, sent: list[tuple[int, int]]
) -> None:
    # Waiting workers that had asked before they waited asked again when the answer arrived.
    run(policy, workload=tree(leaves=8), period_s=3e-4)
    assert any(time % 300_000_000 for time, _ in sent)
    message_ps = round(MESSAGE_S * 1e12)
    assert not any((time + message_ps, worker) in sent for time, worker in sent)
