"""Hierarchical work stealing: levels, leaders and slaves."""

from typing import Any

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.machine import load_machine
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.algorithms.work_stealing.hws import GLOBAL, LOCAL, SLAVE, default_limit
from simsched.testing import rehearse
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import Workload
from simsched.workload.spawn_tree import equal_parts, grow

OPTERON = load_machine("amd_4x_opteron8380")
TREE = grow(256, equal_parts(2, 2))
BINARY = Workload("binary", build_graph(np.full(TREE.n_tasks, 1e4), children=TREE.children))
LEADERS = {0, 4, 8, 12}


def run(machine: Any = OPTERON, **params: Any) -> Run:
    return simulate(machine, BINARY, make_policy("hws", params), events=True)


def by_level(done: Run, kind: EventKind) -> dict[int, set[int]]:
    """Return the workers of events by the level of their task."""
    assert done.trace is not None
    events = done.trace.events
    chosen = events["kind"] == kind
    workers: dict[int, set[int]] = {}
    for worker, task in zip(
        events["worker"][chosen].tolist(), events["task"][chosen].tolist(), strict=True
    ):
        workers.setdefault(int(TREE.level[task]), set()).add(worker)
    return workers


@pytest.mark.parametrize(("limit", "blocks"), [(1, 2), (2, 4), (3, 8), (0, 8)])
def test_tasks_below_the_limit_are_global_and_their_children_blocks(
    limit: int, blocks: int
) -> None:
    plan = rehearse(make_policy("hws", {"limit": limit}), OPTERON, BINARY).plans[0]
    assert plan.group_of is not None
    counts = np.bincount(plan.group_of, minlength=3)
    assert counts[[GLOBAL, LOCAL]].tolist() == [blocks - 1, blocks]
    assert counts[SLAVE] == 511 - 2 * blocks + 1


def test_a_program_above_the_recursion_is_level_0() -> None:
    tree = grow(64, equal_parts(2, 2))
    parent = np.repeat(np.arange(tree.n_tasks), np.diff(tree.children.ptr))
    below = adjacency(
        np.append(0, parent + 1), np.append(1, tree.children.target + 1), tree.n_tasks + 1
    )
    program = Workload("program", build_graph(np.full(tree.n_tasks + 1, 1e4), children=below))
    policy = make_policy("hws", {"limit": 4, "root_level": 0})
    plan = rehearse(policy, OPTERON, program).plans[0]
    assert plan.group_of is not None
    # The source: a binary program has 2^l global tasks. Level 5 of it are 16 blocks.
    assert np.bincount(plan.group_of, minlength=3)[[GLOBAL, LOCAL]].tolist() == [2**4, 16]


@pytest.mark.parametrize(("groups", "limit"), [(1, 1), (2, 2), (4, 3), (5, 4), (8, 4)])
def test_the_limit_makes_two_blocks_or_more_for_each_group(groups: int, limit: int) -> None:
    assert default_limit(groups) == limit


def test_leaders_start_global_tasks_only_and_slaves_the_others() -> None:
    for level, workers in by_level(run(), EventKind.TASK_START).items():
        if level < 3:
            assert workers <= LEADERS
        else:
            assert workers.isdisjoint(LEADERS)


def test_blocks_stay_in_their_group_and_all_groups_get_some() -> None:
    done = run()
    assert done.trace is not None
    events = done.trace.events
    ended = events["kind"] == EventKind.TASK_END
    blocks = np.flatnonzero(TREE.level == 3)
    block_of = blocks[np.searchsorted(TREE.first[blocks], TREE.first, side="right") - 1]
    groups: dict[int, set[int]] = {}
    for worker, task in zip(
        events["worker"][ended].tolist(), events["task"][ended].tolist(), strict=True
    ):
        if TREE.level[task] >= 3:
            groups.setdefault(int(block_of[task]), set()).add(worker // 4)
    assert len(groups) == 8
    assert all(len(group) == 1 for group in groups.values())
    assert set.union(*groups.values()) == {0, 1, 2, 3}


def test_only_leaders_steal_between_groups() -> None:
    done = run()
    assert done.trace is not None
    events = done.trace.events
    far = (events["kind"] == EventKind.STEAL) & (events["arg1"] > 1)
    assert far.any()
    assert set(events["worker"][far].tolist()) <= LEADERS
    assert int(TREE.level[events["task"][far]].max()) < 3


def test_a_leader_without_slaves_does_the_work_itself() -> None:
    machine = make_machine(domains=2, cores_per_domain=1)
    workers = by_level(run(machine), EventKind.TASK_END)
    assert set.union(*workers.values()) == {0, 1}
