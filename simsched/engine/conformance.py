"""Comparison of the backends, event by event."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from simsched.engine.fit import machine_kinds
from simsched.engine.run import simulate
from simsched.engine.stall import PROGRESS_LIMIT_S
from simsched.files.errors import SimschedError
from simsched.machine import list_machines, load_machine
from simsched.machine.model import Machine
from simsched.policy import list_policies, make_policy
from simsched.policy.contract.base import FINE_HOOKS, Policy
from simsched.trace.run import Run
from simsched.trace.schema import EVENT_COLUMNS, EventKind
from simsched.workload.graph import Workload
from simsched.workload.graph_files import is_graph_file, workload_spec
from simsched.workload.presets import is_preset_file, list_presets, make_workload
from simsched.workload.registry import find_workload, list_workloads

#: More looks of a policy's timer than that, at the least, are too many for a comparison.
MAX_LOOKS = 125
#: A run in which no task ends for as many looks is given up, by both: slices of a thread scheduler
#: may be shorter than it takes to start a task on some machine.
MAX_IDLE_LOOKS = 20_000
#: A run whose policy's hooks are called more often than that is given up, by both: a worker without
#: work whose hook answers without giving it any asks again, and again.
MAX_CALLS = 100_000
WORKERS = 8  #: workers of a case; enough for several domains, cores and hardware threads


@dataclass(frozen=True)
class Case:
    """One comparison."""

    machine: str
    workload: str
    policy: str
    #: Events of the reference trace.
    events: int
    #: The first difference; empty when the backends agree.
    difference: str
    #: Why both refused to run it, in the same words; empty when they ran.
    refused: str = ""
    #: Why it was run on neither, or given up by both; empty when it was run to its end.
    left_out: str = ""


class _TooManyCallsError(SimschedError):
    """Hooks have been called more than `MAX_CALLS` times."""


def bounded(policy: Policy) -> Policy:
    """Return a policy that does the same until its hooks have been called `MAX_CALLS` times.

    A run with it ends with an error then. Of compiled hooks the methods that name them are counted.
    """
    cls, calls = type(policy), itertools.count(1)

    def counted(name: str) -> Callable[..., Any]:
        hook = getattr(cls, name)

        @functools.wraps(hook)
        def call(self: Policy, *given: Any) -> Any:
            if next(calls) > MAX_CALLS:
                raise _TooManyCallsError(f"hooks are called more than {MAX_CALLS} times")
            return hook(self, *given)

        return call

    # One per run, since the count is: `overrides` asks the class which hooks there are.
    hooks = {name: counted(name) for name in FINE_HOOKS if policy.overrides(name)}
    same: Policy = object.__new__(
        type(cls.__name__, (cls,), {**hooks, "__module__": cls.__module__})
    )
    vars(same).update(vars(policy))
    return same


def compare(
    machine: Machine,
    workload: Workload,
    policy: Policy,
    *,
    workers: int | None = None,
    seed: int = 0,
) -> Case:
    """Run both backends and compare traces, counters and errors exactly."""
    outcomes: list[Run | str] = []
    limit_s = PROGRESS_LIMIT_S
    if policy.timer_period_s > 0.0:
        limit_s = min(limit_s, MAX_IDLE_LOOKS * policy.timer_period_s)
    for backend in ("simpy", "native"):
        try:
            outcomes.append(
                simulate(
                    machine,
                    workload,
                    bounded(policy),
                    workers=workers,
                    seed=seed,
                    backend=backend,
                    events=True,
                    progress_limit_s=limit_s,
                )
            )
        except _TooManyCallsError as error:
            outcomes.append(str(error))
        except SimschedError as error:
            outcomes.append(f"{type(error).__name__}: {error}")
    reference, native = outcomes
    events, refused, left_out = 0, "", ""
    if isinstance(reference, Run) and isinstance(native, Run):
        assert reference.trace is not None
        events = len(reference.trace)
        difference = trace_difference(reference, native) or summary_difference(reference, native)
    elif isinstance(reference, str) and reference == native:
        difference, refused = "", reference
        if reference.startswith("hooks are called"):
            refused, left_out = "", reference
    else:
        difference = f"simpy: {reference}; native: {native}"
    return Case(machine.name, workload.name, policy.name, events, difference, refused, left_out)


def trace_difference(reference: Run, native: Run) -> str:
    """Return the first event that differs, or an empty string."""
    assert reference.trace is not None
    assert native.trace is not None
    first, second = reference.trace.events, native.trace.events
    shared = min(len(reference.trace), len(native.trace))
    unequal = np.zeros(shared, bool)
    for name in EVENT_COLUMNS:
        unequal |= first[name][:shared] != second[name][:shared]
    if unequal.any():
        at = int(unequal.argmax())
        return f"event {at}: simpy {_event_text(reference, at)}, native {_event_text(native, at)}"
    if len(reference.trace) != len(native.trace):
        return f"simpy has {len(reference.trace)} events, native {len(native.trace)}"
    return ""


def _event_text(run: Run, at: int) -> str:
    assert run.trace is not None
    values = {name: int(column[at]) for name, column in run.trace.events.items()}
    kind = EventKind(values.pop("kind")).name
    return f"{kind}({', '.join(f'{name}={value}' for name, value in values.items())})"


def summary_difference(reference: Run, native: Run) -> str:
    """Return the first counter that differs, or an empty string."""
    for f in fields(reference.summary):
        first, second = getattr(reference.summary, f.name), getattr(native.summary, f.name)
        if not np.array_equal(first, second):
            return f"summary {f.name}: simpy {first}, native {second}"
    return ""


def looks(machine: Machine, workload: Workload, policy: Policy) -> float:
    """Return a number that the looks of the policy's timer in a run do not fall below."""
    if policy.timer_period_s <= 0.0:
        return 0.0
    return least_seconds(machine, workload) / policy.timer_period_s


def least_seconds(machine: Machine, workload: Workload) -> float:
    """Return a time that a run does not fall below.

    The program takes at least the time of its operations on the fastest core times `WORKERS`, and
    of its bytes at the bandwidth of all memory together.
    """
    graph = workload.graph
    ops = graph.ops.min(axis=0)
    speed = max(group.ops_per_s for group in machine.core_groups) * WORKERS
    least_s = float(ops[np.isfinite(ops)].sum()) / speed
    if not machine.copies_data:
        moved = int(graph.read_bytes.sum() + graph.written_bytes.sum())
        least_s = max(least_s, moved / sum(node.bandwidth_bytes_per_s for node in machine.nodes))
    return workload.iterations * least_s


def families(machines: list[str] | None = None) -> list[list[Machine]]:
    """Return machines whose members take turns; each by itself when they are chosen.

    Those of a family are of the same kinds, hand data to devices in the same way, and both or
    neither have caches in front of memory.
    """
    if machines:
        return [[load_machine(name)] for name in machines]
    found: dict[object, list[Machine]] = {}
    for machine in map(load_machine, list_machines()):
        has_side_cache = any(node.memory_side_cache is not None for node in machine.nodes)
        alike = machine_kinds(machine), machine.copies_data, has_side_cache
        found.setdefault(alike, []).append(machine)
    return list(found.values())


def _small(text: str) -> Workload:
    """Return the small instance of a generator, also with some parameters; all else as it is."""
    name, params = workload_spec(text)
    if is_graph_file(text) or name in list_presets() or is_preset_file(name):
        return make_workload(text)
    return make_workload(name, {**find_workload(name).small, **params})


def number_of_cases(
    policies: list[str] | None = None,
    workloads: list[str] | None = None,
    machines: list[str] | None = None,
) -> int:
    """Return how many cases there are; parameters as for :func:`run_conformance`."""
    of_policies = len(policies or list_policies())
    return of_policies * len(workloads or list_workloads()) * len(families(machines))


def cases(
    policies: list[str] | None = None,
    workloads: list[str] | None = None,
    machines: list[str] | None = None,
) -> Iterator[tuple[Machine, Workload, Policy]]:
    """Yield every registered policy on a small instance of every workload on every family.

    Members of a family take turns from case to case: all of them come up, though not each with
    every policy and workload.
    """
    alike = families(machines)
    small = [_small(name) for name in workloads or [item.name for item in list_workloads()]]
    known = [info.name for info in list_policies()]
    chosen = [make_policy(name) for name in policies or known]
    for text, policy in zip(policies or known, chosen, strict=True):
        # Its place among all policies: which machines it meets does not depend on what is chosen.
        place = known.index(text) if text in known else 0
        for turn, workload in enumerate(small, place):
            for family in alike:
                yield family[turn % len(family)], workload, policy


def run_conformance(
    policies: list[str] | None = None,
    workloads: list[str] | None = None,
    progress: Callable[[Case], None] | None = None,
    machines: list[str] | None = None,
) -> list[Case]:
    """Compare the backends on all registered policies, workloads and families of machines.

    Names restrict the comparison. Generators are run with their small parameters where none are
    given, presets and task graph files as they are. `progress` is called with every finished case.
    """
    results = []
    for machine, workload, policy in cases(policies, workloads, machines):
        if looks(machine, workload, policy) > MAX_LOOKS:
            why = f"the timer would look more than {MAX_LOOKS} times"
            case = Case(machine.name, workload.name, policy.name, 0, "", left_out=why)
        else:
            case = compare(machine, workload, policy, workers=min(WORKERS, machine.n_threads))
        results.append(case)
        if progress is not None:
            progress(case)
    return results
