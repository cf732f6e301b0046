"""Random pushing, hierarchical, load-based and cluster-aware random stealing."""

from typing import Any

import numpy as np
import pytest

from simsched.engine.run import Run, simulate
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.base import Transfer
from simsched.policy.cluster_stealing import (
    ClusterPolicy,
    Clusters,
    preorder_of_tree,
    search_order,
    tree_ranks,
)
from simsched.testing import small_machines
from simsched.trace.schema import EventKind
from simsched.workload.builder import build_graph
from simsched.workload.graph import Workload
from simsched.workload.spawn_tree import equal_parts, grow

MESSAGE_S = 2e-4
COSTS = small_machines()["two_domains"].costs
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
    found = run(policy, message_s=MESSAGE_S)
    busy = found.summary.worker_busy_ps.reshape(3, 4).sum(axis=1)
    assert busy.min() > 0.1 * busy.sum()
    serial = 256 * 1e-3
    assert found.summary.makespan_ps * 1e-12 < serial / 3


@pytest.mark.parametrize("policy", ["chs", "cls", "crs"])
def test_steals_without_a_message_stay_inside_clusters(policy: str) -> None:
    steals = events(run(policy, message_s=MESSAGE_S), EventKind.STEAL)
    assert len(steals["task"])
    assert np.array_equal(steals["worker"] // 4, steals["arg0"] // 4)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """When each message was sent, and by whom; filled by runs that follow."""
    messages: list[tuple[int, int]] = []
    ask = ClusterPolicy._ask

    def noted(
        self: ClusterPolicy, clusters: Clusters, now_ps: int, sender: int, victim: int, to: int
    ) -> Transfer:
        messages.append((now_ps, sender))
        return ask(self, clusters, now_ps, sender, victim, to)

    monkeypatch.setattr(ClusterPolicy, "_ask", noted)
    return messages


def test_a_worker_of_crs_has_one_request_under_way(sent: list[tuple[int, int]]) -> None:
    run("crs", message_s=MESSAGE_S)
    last: dict[int, int] = {}
    for time, worker in sent:
        assert worker not in last or time >= last[worker] + round(MESSAGE_S * 1e12)
        last[worker] = time
    assert len(last) > 4


def test_local_steals_of_crs_go_on_meanwhile(sent: list[tuple[int, int]]) -> None:
    found = run("crs", message_s=5e-3)
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
    found = run("chs", message_s=MESSAGE_S)
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
    never = run("cls", message_s=MESSAGE_S, threshold=0)
    assert not len(events(never, EventKind.TRANSFER)["task"])
    requests = events(run("cls", message_s=MESSAGE_S, threshold=2), EventKind.TRANSFER)
    assert len(requests["task"])


def test_pushing_leaves_the_threshold_and_bounds_what_is_under_way() -> None:
    limits = {"threshold": 3, "most_in_flight": 2}
    found = run("random_pushing", message_s=1e-3, **limits)
    messages = events(found, EventKind.TRANSFER)
    assert len(messages["task"])
    assert not len(events(found, EventKind.STEAL)["task"])
    none = run("random_pushing", threshold=10_000)
    assert not len(events(none, EventKind.TRANSFER)["task"])
    assert none.summary.worker_busy_ps.astype(bool).sum() == 1
