"""Loads of memory nodes and links: what hooks and counters see, and what results say of links."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simsched.analysis.metrics import run_metrics
from simsched.engine.run import simulate
from simsched.files.errors import PolicyError
from simsched.machine import load_machine
from simsched.machine.caches import MemorySideCache
from simsched.machine.model import Controller, Machine, RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import Counters, HookView, PlanView, Update
from simsched.trace.run import Run
from simsched.workload.graph import Workload
from tests.engine.test_copies import (
    MB,
    _Assigned,
    both,
    program,
)

CAP, NODE, LINK = 2e9, 10e9, 8e9  # bytes per second
SIZE = 100 * MB
READ_S = 0.01


def linked(**more: Any) -> Machine:
    """Two domains of four cores that draw 2 GB/s each; a link of 8 GB/s between them."""
    return make_machine(
        domains=2,
        cores_per_domain=4,
        core_cap_bytes_per_s=CAP,
        dram_bandwidth_bytes_per_s=NODE,
        link_bandwidth_bytes_per_s=LINK,
        costs=RuntimeCosts(counter_read_ps=1_000_000),
        **more,
    )


def reads(n: int, iterations: int = 1) -> Workload:
    """Return n tasks that read a block each."""
    tasks = [[(block, SIZE, 0)] for block in range(n)]
    return replace(program(tasks, ops=0.0, block_bytes=SIZE), iterations=iterations)


class _Reading(_Assigned):
    """Tasks on workers; all loads are read once while the first flows run."""

    timer_period_s = READ_S

    def start(self, view: PlanView) -> list[Any]:
        return []

    def on_timer(self, view: HookView, state: list[Any]) -> None:
        if not state:
            loads = [view.node_load(node) for node in range(len(view.machine.nodes))]
            state += [*loads, *(view.link_load(link) for link in range(len(view.machine.links)))]

    def on_iteration(self, view: PlanView, state: list[Any], counters: Counters) -> Update | None:
        state.append((counters.node_load.tolist(), counters.link_load.tolist()))
        return None


def seen(run: Run) -> list[Any]:
    """Return what the policy has read."""
    assert isinstance(run.state, list)
    return run.state


def test_hooks_see_what_flows_use_of_nodes_and_links() -> None:
    # All data on node 0: three local cores and two remote ones draw 2 GB/s each.
    run = both(linked(), reads(5), _Reading([0, 1, 2, 4, 5]))
    assert seen(run)[:3] == pytest.approx([1.0, 0.0, 4e9 / LINK], rel=1e-9)
    assert run.summary.decision_ps == 3 * 1_000_000
    assert simulate(linked(), reads(5), _Reading([0, 1, 2, 4, 5]), backend="simpy").state == seen(
        run
    )


def test_a_full_resource_has_a_load_of_one() -> None:
    run = both(linked(), reads(8), _Reading(list(range(8))))
    assert seen(run)[0] == 1.0


def test_remote_bytes_count_as_they_load() -> None:
    run = both(linked(remote_weight=1.5), reads(3), _Reading([0, 4, 5]))
    assert seen(run)[:3] == pytest.approx([(1 + 2 * 1.5) * CAP / NODE, 0.0, 2 * CAP / LINK])


def test_of_a_node_and_its_controller_the_fuller_one_counts() -> None:
    machine = linked()
    nodes = tuple(replace(node, controller=i) for i, node in enumerate(machine.nodes))
    pair = Controller("left", 3e9), Controller("right", 5e9)
    machine = replace(machine, nodes=nodes, controllers=pair)
    run = both(machine, reads(1, iterations=2), _Reading([4], home=1))
    assert seen(run)[:3] == pytest.approx([0.0, CAP / 5e9, 0.0])
    assert seen(run)[-1][0] == pytest.approx([0.0, CAP / 5e9])


def test_a_cache_in_front_of_a_node_counts() -> None:
    cache = MemorySideCache(256 * MB, 1 * MB, 4e9, 0, 0, mapping="contiguous")
    run = both(linked(memory_side_cache=cache), reads(1, iterations=3), _Reading([4], home=1))
    assert seen(run)[:2] == pytest.approx([0.0, CAP / 4e9])  # misses load the cache, too
    assert seen(run)[-1][0] == pytest.approx([0.0, CAP / 4e9])  # hits load nothing else


def test_counters_tell_the_mean_of_an_iteration() -> None:
    # Two local and one remote reader for 50 ms: 300 MB of 500 MB, and 100 MB of 400 MB.
    run = both(linked(), reads(3, iterations=3), _Reading([0, 1, 4]))
    expected = ([0.6, 0.0], [0.25])
    for found in seen(run)[-2:]:
        assert found[0] == pytest.approx(expected[0])
        assert found[1] == pytest.approx(expected[1])


def test_results_have_the_bytes_of_links() -> None:
    run = both(linked(), reads(3, iterations=2), _Assigned([0, 1, 4]))
    row = run_metrics(run.summary, run.machine, run.workload, run.worker_thread)
    assert row["link_name"] == ["crossbar"]
    assert row["link_bytes"] == [2 * SIZE]
    assert row["link_percent"] == pytest.approx([25.0], rel=1e-6)
    assert row["busiest_link_percent"] == row["link_percent"][0]


def test_blocks_that_move_between_iterations_are_on_the_link() -> None:
    class Moving(_Assigned):
        def on_iteration(self, view: PlanView, state: Any, counters: Counters) -> Update:
            block = np.array([0], np.int32)
            return Update(move_block=block, move_node=block + 1, overhead_ps=0)

    run = both(linked(), reads(2, iterations=2), Moving([0, 1]))
    row = run_metrics(run.summary, run.machine, run.workload, run.worker_thread)
    assert row["link_bytes"] == [2 * SIZE]  # block 0 goes to node 1, and is then read from there


def test_copies_to_devices_are_on_every_link_of_their_way() -> None:
    machine = load_machine("epyc_7543_a100")
    domains = machine.core_domain[machine.thread_core[machine.place_workers()]].tolist()
    # From node 0 to the device, which has its slot at node 1, and back when the host reads it.
    work = program([[(0, MB, MB)], [(0, MB, 0)]], edges=[(0, 1)], block_bytes=MB)
    run = both(machine, work, _Assigned([domains.index(8), 0]))
    row = run_metrics(run.summary, machine, run.workload, run.worker_thread)
    found = zip(row["link_name"], row["link_bytes"], strict=True)
    assert {name: n_bytes for name, n_bytes in found if n_bytes} == {
        "fabric0>1": MB,
        "pcie1>8": MB,
        "pcie8>1": MB,
        "fabric1>0": MB,
    }


@pytest.mark.parametrize(
    ("method", "index", "message"),
    [
        ("node_load", 2, "node_load: node: found 2, accepted 0 to 1"),
        ("link_load", -1, "link_load: link: found -1, accepted 0 to 0"),
        ("node_load", 0.5, "node_load: node: found 0.5"),
    ],
)
def test_loads_of_nothing_are_refused(method: str, index: Any, message: str) -> None:
    class Asking(_Reading):
        def on_timer(self, view: HookView, state: list[Any]) -> None:
            getattr(view, method)(index)

    for backend in ("native", "simpy"):
        with pytest.raises(PolicyError, match=message):
            simulate(linked(), reads(2), Asking([0, 1]), backend=backend)


def test_path_bytes_are_those_of_events() -> None:
    run = both(linked(), reads(6, iterations=2), _Assigned([0, 1, 2, 4, 5, 6]))
    assert run.trace is not None
    events = run.trace.events
    ends = events["kind"] == 7  # FLOW_END
    found = np.bincount(
        events["arg0"][ends], events["arg1"][ends], len(run.summary.path_bytes)
    ).astype(np.int64)
    assert found.tolist() == run.summary.path_bytes.tolist()
