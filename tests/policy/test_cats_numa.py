"""CATS with data evenly on all memory nodes."""

import numpy as np

from simsched.engine.run import simulate
from simsched.machine import load_machine
from simsched.policy import make_policy
from simsched.policy.parts.allocation import STRADDLES, allocate
from simsched.policy.parts.subgraphs import levels
from simsched.testing import rehearse, small_machines, small_workloads
from simsched.trace.schema import EventKind
from simsched.workload import generate_workload

HEAT = generate_workload(
    "heat",
    {"rows": 2024, "columns": 1024, "cutoff_rows": 9, "block_bytes": 2**17, "iterations": 5},
)
OPTERON = load_machine("amd_4x_opteron8380")


def test_first_iterations_place_the_data_as_laws_does() -> None:
    tree = small_workloads()["tree"]
    machine = small_machines()["four_domains_hbm"]
    ours, laws = (
        rehearse(make_policy(name), machine, tree).plans for name in ("cats_numa_init", "laws")
    )
    for plan, other in zip(ours[:2], laws[:2], strict=True):
        assert [(s.group, s.where, s.take) for s in plan.acquire] == [
            (s.group, s.where, s.take) for s in other.acquire
        ]
        assert plan.instance_of is not None
        assert other.instance_of is not None
        assert np.array_equal(plan.instance_of, other.instance_of)


def test_data_are_even_and_subtrees_go_anywhere() -> None:
    run = simulate(OPTERON, HEAT, make_policy("cats_numa_init"), events=True)
    assert run.trace is not None
    events = run.trace.events
    home = events["arg1"][events["kind"] == EventKind.FIRST_TOUCH]
    assert np.bincount(home).tolist() == [128, 128, 128, 128]  # 256 leaves, two blocks each
    socket = OPTERON.core_domain[OPTERON.thread_core[OPTERON.place_workers()]]
    part = allocate(HEAT.graph, 4)

    def share_at_home(iteration: int) -> float:
        chosen = (events["kind"] == EventKind.TASK_START) & (events["iteration"] == iteration)
        task, worker = events["task"][chosen], events["worker"][chosen]
        known = part[task] != STRADDLES
        return float(np.mean(part[task][known] == socket[worker][known]))

    assert share_at_home(1) == 1.0
    assert np.mean([share_at_home(i) for i in range(2, 6)]) < 0.9


def test_its_packing_is_never_revised() -> None:
    run = simulate(OPTERON, HEAT, make_policy("cab_gto_numa_init"), events=True)
    assert run.trace is not None
    events = run.trace.events
    ready = events["kind"] == EventKind.TASK_READY
    roots = [
        set(events["task"][ready & (events["iteration"] == i) & (events["arg0"] == 2)].tolist())
        for i in range(2, 6)
    ]
    # 2024 rows, a quarter of the published case: eight subtrees of 253 rows.
    assert len(roots[0]) == 8
    assert all(found == roots[0] for found in roots)


def test_a_single_iteration_is_cut_by_the_size_of_the_input() -> None:
    # It ran as an iteration to profile: tasks at home, no stealing between sockets. Two arrays
    # of 2024 x 1024 doubles, 31.6 MiB, halve from level to level: an eighth fits 6 MiB.
    once = generate_workload(
        "heat",
        {"rows": 2024, "columns": 1024, "cutoff_rows": 9, "block_bytes": 2**17, "iterations": 1},
    )
    plan = rehearse(make_policy("cats_numa_init"), OPTERON, once).plans[1]  # 0: initialisation
    assert plan.group_of is not None
    assert plan.instance_of is not None
    roots = np.flatnonzero(plan.group_of == 2)
    assert roots.tolist() == levels(once.graph)[3].tolist()
    assert len(roots) == 8
    assert set(plan.instance_of.tolist()) == {-1}  # wherever they are created
    assert [(s.group, s.where) for s in plan.acquire] == [
        ("worker", "own"),
        ("worker", "same_domain"),
        ("upper", "own"),
        ("subtree", "own"),
        ("upper", "other_domains"),
        ("subtree", "other_domains"),
    ]
    assert plan.counter_group is None


def test_an_initialisation_before_a_single_iteration_places_the_data() -> None:
    machine = small_machines()["four_domains_hbm"]
    tree = small_workloads()["tree_once"]
    plans = rehearse(make_policy("cats_numa_init"), machine, tree).plans
    assert [[(s.group, s.where) for s in plan.acquire] for plan in plans[:1]] == [
        [("upper", "own")]
    ]
    assert len(plans) == 2
    assert plans[1].acquire[-1].where != "own"
