"""Events that leave a run while it goes on are those of the trace in memory."""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simsched.engine.run import BACKENDS, simulate
from simsched.files.errors import ConfigurationError
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.trace.run import Run
from simsched.trace.schema import EVENT_COLUMNS, Trace
from simsched.trace.sink import Events, KeptEvents
from simsched.workload.graph import Workload
from simsched.workload.registry import generate_workload, make_small_workload

POLICIES = ("cilk_a", "bats", "work_sharing", "openmp_static")


class Batches:
    """A sink that copies what it gets, and fails at one of the calls."""

    def __init__(self, capacity: int, fail_at: int = 0, error: BaseException | None = None) -> None:
        self.capacity, self.fail_at, self.error = capacity, fail_at, error
        self.batches: list[dict[str, Any]] = []

    def append(self, events: Events) -> None:
        if len(self.batches) + 1 == self.fail_at:
            assert self.error is not None
            raise self.error
        self.batches.append({name: column.copy() for name, column in events.items()})

    def trace(self) -> Trace:
        return Trace(
            {
                name: np.concatenate([batch[name] for batch in self.batches])
                for name in EVENT_COLUMNS
            }
        )


def run(policy: str, backend: str, events: Any) -> Run:
    machine = make_machine(hbm_per_domain=True, caches=[("L2", 2**20, 20e9, 100, 2)])
    workload = replace(make_small_workload("heat"), iterations=3)
    return simulate(machine, workload, make_policy(policy), seed=3, backend=backend, events=events)


def assert_equal(found: Trace, wanted: Trace) -> None:
    assert len(found) == len(wanted)
    for name, kind in EVENT_COLUMNS.items():
        assert found.events[name].dtype == kind
        assert np.array_equal(found.events[name], wanted.events[name]), name


@pytest.mark.parametrize("capacity", [1, 7, 64, 10**6])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_batches_are_the_trace_in_pieces(backend: str, policy: str, capacity: int) -> None:
    whole = run(policy, backend, True)
    assert whole.trace is not None
    sink = Batches(capacity)
    streamed = run(policy, backend, sink)
    assert streamed.trace is None
    assert streamed.summary.n_events == whole.summary.n_events == len(whole.trace)
    assert_equal(sink.trace(), whole.trace)
    lengths = [len(batch["time_ps"]) for batch in sink.batches]
    assert all(length == capacity for length in lengths[:-1])
    assert 1 <= lengths[-1] <= capacity


@pytest.mark.parametrize("backend", BACKENDS)
def test_events_are_counted_without_being_recorded(backend: str) -> None:
    counted, kept = run("cilk_a", backend, False), run("cilk_a", backend, True)
    assert counted.trace is None
    assert counted.summary.n_events == kept.summary.n_events > 0


@pytest.mark.parametrize("error", [ConfigurationError("mine"), KeyboardInterrupt(), OSError(28)])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_sink_that_fails_ends_the_run(backend: str, error: BaseException) -> None:
    n_batches = len(run_batches(backend, 50))
    for call in (1, n_batches // 2, n_batches):
        sink = Batches(50, call, error)
        with pytest.raises(type(error), match=str(error) or None):
            run("cilk_a", backend, sink)
        assert len(sink.batches) == call - 1


class Told(Batches):
    """A sink that wants to know what the events are about."""

    def begin(self, workload: Workload, worker_thread: np.ndarray) -> None:
        assert self.batches == []
        self.told = workload, worker_thread


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_sink_is_told_what_the_runtime_makes_of_the_program(backend: str) -> None:
    sink = Told(100)
    workload = generate_workload("batch", {"tasks": 12})
    machine = make_machine(cores_per_domain=2)
    slow = replace(machine.core_groups[0], name="slow", ops_per_s=5e8)
    machine = replace(
        machine,
        core_groups=(*machine.core_groups, slow),
        core_group=np.array([0, 0, 1, 1], np.int32),
    )
    found = simulate(machine, workload, make_policy("aats"), backend=backend, events=sink)
    assert found.workload.graph.n_tasks > workload.graph.n_tasks  # its gate
    assert sink.told[0] is found.workload
    assert sink.told[1] is found.worker_thread


def run_batches(backend: str, capacity: int) -> list[dict[str, Any]]:
    sink = Batches(capacity)
    run("cilk_a", backend, sink)
    return sink.batches


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_sink_that_takes_nothing_is_refused(backend: str) -> None:
    with pytest.raises(ValueError, match="capacity of the event sink: found 0, accepted 1 or more"):
        run("cilk_a", backend, Batches(0))


def test_a_batch_that_is_kept_without_copying_stays_memory() -> None:
    class Careless(Batches):
        def append(self, events: Events) -> None:
            self.batches.append(dict(events))

    sink = Careless(100)
    run("cilk_a", "native", sink)
    gc.collect()
    first = sink.batches[0]["time_ps"]
    assert first.sum() >= 0
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1


def test_kept_events_can_be_looked_at_meanwhile() -> None:
    kept = KeptEvents(capacity=10)
    assert len(kept.trace()) == 0
    part = {name: np.arange(3, dtype=kind) for name, kind in EVENT_COLUMNS.items()}
    kept.append(part)
    part["arg0"][:] = 7  # the next batch, in the same memory
    assert kept.trace().events["arg0"].tolist() == [0, 1, 2]
    kept.append(part)
    assert kept.trace().events["arg0"].tolist() == [0, 1, 2, 7, 7, 7]
    assert kept.trace().events["kind"].dtype == np.int32
