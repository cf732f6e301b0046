"""What policies need of program and machine, and what their plans leave out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from simsched.engine.fit import rehearse, stated
from simsched.engine.run import simulate
from simsched.files.errors import PolicyError, SimschedError
from simsched.machine import Machine, load_machine
from simsched.machine.model import Change
from simsched.policy import (
    AcquireStep,
    HookView,
    Placement,
    Plan,
    PlanView,
    Policy,
    Pool,
    PoolGroup,
    Ranked,
    list_policies,
    make_policy,
    placement_rule,
)
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.presets import make_workload
from simsched.workload.registry import generate_workload, make_small_workload

OPTERON = load_machine("opteron48")
HEAT = make_small_workload("heat")
INDEPENDENT = Workload("w", build_graph([1e6] * 100))


def test_policies_without_their_kind_of_program_say_so() -> None:
    wanted = {
        "samr": "needs MapReduce jobs: found none",
        "late": "needs MapReduce jobs: found none",
        "gpu_only": "needs divisible work: found none",
        "hats": "needs divisible work: found none",
        "finepar": "needs the rows of a sparse matrix: found none",
        "dsa_base": "needs blocks that one task writes for another one to read: found none",
        "mps": "needs applications that share a device: found one program",
        "camp": "needs cores of different speeds: found 48 of one speed",
        "bats": "needs memory of several kinds: found DRAM only",
    }
    for name, reason in wanted.items():
        assert reason in rehearse(OPTERON, HEAT, make_policy(name)), name


@pytest.mark.parametrize("name", ["cilk", "cilk_a", "cab", "laws", "openmp_static", "work_sharing"])
def test_policies_that_fit_say_nothing(name: str) -> None:
    assert rehearse(OPTERON, HEAT, make_policy(name)) == ()


def test_every_policy_fits_something_that_ships() -> None:
    places = [
        (
            load_machine(machine),
            make_workload(workload) if "[" in workload else make_small_workload(workload),
        )
        for machine, workload in (
            ("opteron48", "heat"),
            ("opteron48", "cholesky"),
            ("opteron48", "jacobi"),
            ("a_4_4_4_4", "fork_join"),
            ("a_4_4_4_4", "threads"),
            ("opteron48", "heat[rows=4096, columns=4096, leaf_bytes=1 MiB]"),
            ("knl_snc4_flat", "heat"),
            ("knl_snc4_flat", "stencil3d_charm"),
            ("samr_cluster_slow", "sort_mapreduce"),
            ("k40_server", "accelerator_mix"),
            ("e5620_m2090", "divisible"),
            ("e5620_m2090", "spmv"),
        )
    ]
    homeless = []
    for name in {info.cls.name for info in list_policies()} - {"recorded"}:
        policy = make_policy(name)
        if all(_misfits(*place, policy) for place in places):
            homeless.append(name)
    assert not homeless


def _misfits(machine: Machine, workload: Workload, policy: Policy) -> tuple[str, ...]:
    try:
        return rehearse(machine, workload, policy)
    except SimschedError as error:
        return (str(error),)


@dataclass(frozen=True, kw_only=True)
class Own(Policy[None]):
    """Every worker looks into its own pool only, into which the first worker's tasks go."""

    roots: str = "first"
    to: int = -1

    def place(self, view: PlanView, state: None) -> Placement:
        return placement_rule("first_touch")(view)

    def plan(self, view: PlanView, state: None, graph: TaskGraph) -> Plan:
        sent = np.full(graph.n_tasks, self.to, np.int32)
        return Plan(acquire=(AcquireStep("worker", "own"),), roots=self.roots, instance_of=sent)


def test_workers_that_no_task_can_reach_are_counted() -> None:
    reason = ("no task ever reaches 47 of 48 workers",)
    assert rehearse(OPTERON, INDEPENDENT, Own()) == reason
    assert rehearse(OPTERON, INDEPENDENT, Own(to=3)) == reason
    assert rehearse(OPTERON, INDEPENDENT, Own(roots="round_robin")) == ()


def test_workers_beyond_the_width_of_a_program_are_not_counted() -> None:
    chain = Workload(
        "chain", build_graph([1e6] * 5, successors=adjacency(range(4), range(1, 5), 5))
    )
    assert rehearse(OPTERON, chain, Own()) == ()
    two = Workload("two", build_graph([1e6] * 3, successors=adjacency([0, 0], [1, 2], 3)))
    assert rehearse(OPTERON, two, Own()) == ("no task ever reaches 47 of 48 workers",)


@dataclass(frozen=True, kw_only=True)
class Near(Own):
    """Workers steal inside their domains only."""

    def plan(self, view: PlanView, state: None, graph: TaskGraph) -> Plan:
        steps = AcquireStep("worker", "own"), AcquireStep("worker", "same_domain", "oldest")
        return Plan(acquire=steps, roots="first")


@dataclass(frozen=True, kw_only=True)
class Far(Own):
    """Workers steal from one worker of another domain, besides."""

    def plan(self, view: PlanView, state: None, graph: TaskGraph) -> Plan:
        rest = AcquireStep("domain", "other_domains", "oldest")
        steps = AcquireStep("worker", "own"), AcquireStep("domain", "own", "oldest"), rest
        groups = PoolGroup("worker"), PoolGroup("domain", "domain")
        ones = np.ones(graph.n_tasks, np.int8)
        return Plan(acquire=steps, pool_groups=groups, group_of=ones, roots="first")


def test_reach_follows_the_steps_of_the_search() -> None:
    n_domains = len(np.unique(OPTERON.thread_domain))
    left = 48 - 48 // n_domains
    assert rehearse(OPTERON, INDEPENDENT, Near()) == (f"no task ever reaches {left} of 48 workers",)
    assert rehearse(OPTERON, INDEPENDENT, Far()) == ()


@dataclass(frozen=True, kw_only=True)
class Listed(Near):
    """Victims are listed for pools of workers, and for those of the machine."""

    def plan(self, view: PlanView, state: None, graph: TaskGraph) -> Plan:
        n = view.n_workers
        steps = (
            AcquireStep("other", "anywhere", "oldest", choice=Ranked(np.zeros((n, 1), np.int32))),
            AcquireStep("worker", "anywhere", "oldest", choice=Ranked(np.zeros((n, n), np.int32))),
        )
        groups = PoolGroup("worker"), PoolGroup("other", "machine")
        return Plan(acquire=steps, pool_groups=groups, roots="first")


def test_victims_may_be_listed_for_pools_of_several_groups() -> None:
    # The first worker has all tasks, and is no victim of its own.
    assert rehearse(OPTERON, INDEPENDENT, Listed()) == ("no task ever reaches 1 of 48 workers",)


def test_decisions_that_are_never_asked_for_are_named() -> None:
    once = replace(HEAT, iterations=1, init=None)
    (reason,) = rehearse(OPTERON, once, make_policy("relws"))
    assert reason == "decides between iterations: found one iteration"
    assert rehearse(OPTERON, HEAT, make_policy("relws")) == ()
    (reason,) = rehearse(OPTERON, make_small_workload("cholesky"), make_policy("slaw"))
    assert reason == "decides when tasks are created: found none that create others"


def test_pushing_needs_buffers_as_large_as_its_threshold() -> None:
    flow = make_small_workload("jacobi")
    (reason,) = rehearse(OPTERON, flow, make_policy("ewp_weighted"))
    assert reason == "pushes no task: found none that has buffers of 65536 bytes"
    assert rehearse(OPTERON, flow, make_policy("ewp_weighted", {"threshold_bytes": 1})) == ()


def test_processors_that_get_no_workers_are_named() -> None:
    machine = load_machine("e5620_m2090")
    mixed = build_graph([[1e6, 1e6], [1e6, np.inf]], kinds=("cpu", "gpu"), class_names=("a", "b"))
    found = rehearse(machine, Workload("mixed", mixed), make_policy("cilk_a"))
    assert found == ("leaves out the workers on gpu: they cannot execute every task",)


def test_needs_are_said_of_programs_that_are_too_large_to_be_tried() -> None:
    assert stated(OPTERON, HEAT, make_policy("samr")) == ("needs MapReduce jobs: found none",)
    assert stated(OPTERON, HEAT, make_policy("cilk")) == ()


def test_runs_say_the_same_as_rehearsals() -> None:
    run = simulate(OPTERON, HEAT, make_policy("finepar"))
    assert run.misfits == rehearse(OPTERON, HEAT, make_policy("finepar"))
    again = simulate(OPTERON, HEAT, make_policy("finepar"), backend="simpy")
    assert (run.misfits, run.decisions) == (again.misfits, again.decisions)


def test_runs_with_equal_decisions_are_told_by_their_hash() -> None:
    decisions = {
        name: simulate(OPTERON, HEAT, make_policy(name)).decisions
        for name in ("gpu_only", "hats", "cilk_a")
    }
    assert decisions["gpu_only"] == decisions["hats"] != decisions["cilk_a"]


@dataclass(frozen=True, kw_only=True)
class Wordy(Own):
    """Says why it does not fit in the wrong form."""

    def fits(self, view: PlanView) -> tuple[str, ...]:
        return "no"  # type: ignore[return-value]


def test_reasons_are_texts() -> None:
    with pytest.raises(PolicyError, match=r"fits: found 'no', accepted a tuple of texts"):
        rehearse(OPTERON, HEAT, Wordy())


def test_cores_that_slow_down_have_several_speeds() -> None:
    policy = make_policy("speed_balancing")
    reason = "needs cores of different speeds: found 48 of one speed"
    assert rehearse(OPTERON, INDEPENDENT, policy) == (reason,)
    slowing = replace(OPTERON, changes=(Change(0, (0,), 0.5),))
    assert rehearse(slowing, INDEPENDENT, policy) == ()


def test_policies_that_fall_back_say_so() -> None:
    reason = "runs as random stealing: found no subtrees for the sockets' caches"
    assert rehearse(OPTERON, HEAT, make_policy("cab_gto_compile")) == (reason,)
    larger = generate_workload("heat", {"rows": 4096, "columns": 4096, "leaf_bytes": 2**20})
    assert rehearse(OPTERON, larger, make_policy("cab_gto_compile")) == ()


@dataclass(frozen=True, kw_only=True)
class Hoarding(Own):
    """A hook sends every task to one worker, from whom nobody takes any."""

    def on_ready(self, view: HookView, state: None, task: int, worker: int) -> Pool:
        return Pool(0, 5)


@pytest.mark.parametrize("backend", ["native", "simpy"])
def test_a_worker_that_has_executed_everything_is_found_by_the_run(backend: str) -> None:
    assert rehearse(OPTERON, INDEPENDENT, Hoarding()) == ()  # hooks may send tasks anywhere
    run = simulate(OPTERON, INDEPENDENT, Hoarding(), backend=backend)
    assert run.misfits == ("one of 48 workers has executed all tasks",)
    chain = Workload(
        "chain", build_graph([1e6] * 5, successors=adjacency(range(4), range(1, 5), 5))
    )
    assert simulate(OPTERON, chain, Hoarding(), backend=backend).misfits == ()
    alone = simulate(OPTERON, INDEPENDENT, make_policy("single_thread"), backend=backend)
    assert alone.misfits == ()
