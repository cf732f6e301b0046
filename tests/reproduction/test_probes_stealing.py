"""Probes of what stealing policies promise."""

from typing import Any

import pytest

from simsched.files.errors import ConfigurationError
from simsched.reproduction.probes import ask

OPTERON = {"machine": "amd_4x_opteron8380_flat"}
HEAT: dict[str, Any] = {
    **OPTERON,
    "workload": "heat",
    "parameters": {"rows": 512, "columns": 512, "cutoff_rows": 64, "block_bytes": 262144},
}


@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        # A chain of 30 spawns nests all its tasks on one stack unless there is a limit.
        ("most_frames", {"policy": "cilk_a", "depth": 30}, 31),
        ("most_frames", {"policy": "pfws", "depth": 30}, 1),
        ("most_frames", {"policy": "slaw[stack_limit=7,initial=child_first]", "depth": 30}, 7),
        ("most_fresh_tasks", {"policy": "cilk_a", "children": 30}, 0),
        ("most_fresh_tasks", {"policy": "slaw[fresh_limit=7]", "children": 30}, 7),
        # The program, level 0, and the levels 1 to 3 of its recursion: the published 2^l.
        ("global_tasks", {**OPTERON, "limit": 3}, 8),
        ("exceeded_bounds", {"policy": "cilk_a", "bound": "time"}, 0),
        ("exceeded_bounds", {"policy": "cilk_a", "bound": "space"}, 0),
        ("exceeded_bounds", {"policy": "cab_fto", "bound": "time"}, 0),
        ("exceeded_bounds", {"policy": "cab_fto", "bound": "space"}, 0),
        # Four subtrees of four leaves on four sockets of four cores; one; and all 16 leaves.
        ("workers_in_subtrees", {**HEAT, "policy": "cab_fto", "what": "sockets"}, 4),
        ("workers_in_subtrees", {**HEAT, "policy": "cab_fto", "what": "workers_per_socket"}, 4),
        (
            "workers_in_subtrees",
            {**HEAT, "policy": "cab_fto[boundary_level=1]", "what": "sockets"},
            1,
        ),
        (
            "workers_in_subtrees",
            {**HEAT, "policy": "cab_fto[boundary_level=5]", "what": "workers_per_socket"},
            1,
        ),
        ("root_footprint_bytes", {**HEAT, "measured": False}, 4 * 2**20),
    ],
)
def test_answers(name: str, arguments: dict[str, Any], answer: float) -> None:
    assert ask(name, arguments) == answer


def test_spawning_parent_first_needs_more_space_than_the_bound_of_stacks() -> None:
    assert float(ask("exceeded_bounds", {"policy": "pfws", "bound": "space"})) > 0  # type: ignore[arg-type]


def test_measured_footprints_count_halo_rows_twice() -> None:
    rows = {"rows": 2048, "columns": 512, "cutoff_rows": 9, "block_bytes": 65536}
    program = {**HEAT, "parameters": rows}
    measured = float(ask("root_footprint_bytes", {**program, "measured": True}))  # type: ignore[arg-type]
    # 255 borders of two rows of 4 KiB each, less what the initialisation has left in the caches.
    assert 16 * 2**20 < measured < 16 * 2**20 + 255 * 2 * 4096


def test_little_time_is_spent_above_subtrees() -> None:
    assert 0 < float(ask("upper_tier_percent", {**HEAT, "policy": "cab_fto"})) < 5  # type: ignore[arg-type]
    assert ask("upper_tier_percent", {**HEAT, "policy": "cab_fto[boundary_level=0]"}) == 0


def test_nobody_waits_for_locks_of_pools_with_one_owner_and_no_thief() -> None:
    # One subtree, which only the first socket's first worker may take from its own pool.
    alone = {**HEAT, "policy": "cab_fto[boundary_level=1,subtree_affinity=none]"}
    assert ask("lock_wait_percent", alone) == 0
    few, many = (
        float(ask("lock_wait_percent", {**HEAT, "policy": policy}))  # type: ignore[arg-type]
        for policy in ("cab_fto[boundary_level=4]", "cab_all_steal[boundary_level=4]")
    )
    assert 0 <= few < many < 100  # the source: else the locks of these pools become hot


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("exceeded_bounds", {"policy": "cilk_a", "bound": "tame"}),
        ("workers_in_subtrees", {**HEAT, "policy": "cab_fto", "what": "cores"}),
        ("workers_in_subtrees", {**HEAT, "policy": "cilk_a", "what": "sockets"}),
    ],
)
def test_what_cannot_be_asked(name: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=r"found|unknown"):
        ask(name, arguments)
