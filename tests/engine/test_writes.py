"""Machines on which written bytes cost something else than read ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simsched.engine.run import simulate
from simsched.machine.model import Machine
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import Workload
from tests.engine.test_victim_caches import Turns

BACKENDS = ("simpy", "native")
LATENCY_PS, WRITE_LATENCY_PS = 1_000, 5_000


def slow_writes(cores: int = 1, **options: object) -> Machine:
    """Return one domain that reads 2 bytes per ns and writes 1 byte per ns."""
    machine = make_machine(
        domains=1, cores_per_domain=cores, local_latency_ps=LATENCY_PS, core_cap_bytes_per_s=2e9
    )
    path = replace(
        machine.paths[0][0],
        write_latency_ps=WRITE_LATENCY_PS,
        write_core_cap_bytes_per_s=(1e9,),
    )
    return replace(machine, paths=((path,),), **options)


def makespan_ps(machine: Machine, read: int, written: int, backend: str) -> int:
    """Return the time of one task with one access to a block of 4000 bytes."""
    graph = build_graph([0.0], accessed=accesses([0], [0], read, written, 1), block_bytes=[4000])
    policy = make_policy("random_stealing")
    run = simulate(machine, Workload("one", graph), policy, backend=backend)
    return run.summary.makespan_ps


@pytest.mark.parametrize("backend", BACKENDS)
def test_reads_and_writes_have_caps_and_latencies_of_their_own(backend: str) -> None:
    machine = slow_writes()
    assert makespan_ps(machine, 4000, 0, backend) == 2_000_000 + LATENCY_PS
    assert makespan_ps(machine, 0, 4000, backend) == 4_000_000 + WRITE_LATENCY_PS
    both = 1_500_000 + 1_000_000 + LATENCY_PS + WRITE_LATENCY_PS
    assert makespan_ps(machine, 3000, 1000, backend) == both


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_update_in_place_costs_what_a_write_costs(backend: str) -> None:
    """A block of 4000 bytes that is read and written misses 4000 bytes, which are written."""
    cached = make_machine(caches=[("L1", 8000, 1e12, 0, 1)], domains=1, cores_per_domain=1).caches
    hits_ps = 4_000
    write = 4_000_000 + WRITE_LATENCY_PS + hits_ps
    assert makespan_ps(slow_writes(caches=cached), 4000, 4000, backend) == write


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_was_fetched_before_it_is_written_is_written_back_only(backend: str) -> None:
    """The path of writes is that of lines that are fetched and written back; one was fetched."""
    cached = make_machine(caches=[("L1", 8000, 1e12, 0, 1)], domains=1, cores_per_domain=1).caches
    graph = build_graph(
        [0.0], accessed=accesses([0, 0], [0, 0], [4000, 0], [0, 4000], 1), block_bytes=[4000]
    )
    workload, policy = Workload("one", graph), make_policy("random_stealing")
    run = simulate(slow_writes(caches=cached), workload, policy, backend=backend)
    hits_ps = 4_000
    assert run.summary.makespan_ps == 2 * (2_000_000 + LATENCY_PS) + hits_ps


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("first_writes", "second"), [(True, "read"), (False, "written")])
@pytest.mark.parametrize("n_passes", [1, 2])
def test_what_another_core_has_modified_is_taken_over(
    n_passes: int, first_writes: bool, second: str, backend: str
) -> None:
    """An update of modified lines fetches them; that they are written back is paid already."""
    levels = [("L1", 8000, 1e12, 0, 1)]
    cached = make_machine(caches=levels, domains=1, cores_per_domain=2).caches
    graph = build_graph(
        [0.0, 0.0],
        successors=adjacency([0], [1], 2),
        accessed=accesses([0, 1], [0, 0], 4000, [4000 * first_writes, 4000 * n_passes], 2),
        block_bytes=[4000],
    )
    run = simulate(
        slow_writes(2, caches=cached), Workload("two", graph), Turns([0, 1]), backend=backend
    )
    hits_ps = 4_000 * (n_passes + first_writes)
    once = {"read": 2_000_000 + LATENCY_PS, "written": 4_000_000 + WRITE_LATENCY_PS}
    first = once["written" if first_writes else "read"]
    assert run.summary.makespan_ps == first + once[second] + hits_ps


@pytest.mark.parametrize("backend", BACKENDS)
def test_equal_costs_make_one_flow(backend: str) -> None:
    """With the same values for both, an access is one flow and its latency is paid once."""
    machine = slow_writes()
    path = replace(
        machine.paths[0][0],
        write_latency_ps=LATENCY_PS,
        write_core_cap_bytes_per_s=(2e9,),
    )
    same = replace(machine, paths=((path,),))
    assert makespan_ps(same, 3000, 1000, backend) == 2_000_000 + LATENCY_PS
