"""Runs of probes, and their events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simsched.engine.run import simulate
from simsched.policy import make_policy
from simsched.reproduction.probes import machine_of, workload_of
from simsched.trace.run import Run
from simsched.trace.sink import Events


def run_of(
    machine: str, workload: str, policy: str, parameters: Mapping[str, Any] | None = None
) -> Run:
    """Return a run with its events and one worker per hardware thread."""
    built = workload_of(workload, parameters)
    return simulate(machine_of(machine), built, make_policy(policy), events=True)


def events_of(run: Run) -> Events:
    """Return the events of a run that has them, by column."""
    assert run.trace is not None
    return run.trace.events


def each_event(run: Run, *columns: str) -> Iterator[tuple[int, ...]]:
    """Yield some columns of every event."""
    yield from zip(*(events_of(run)[name].tolist() for name in columns), strict=True)
