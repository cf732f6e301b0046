"""The battery of checks behind :func:`check_policy`."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import pickle
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from simsched.engine.run import simulate
from simsched.files.errors import ModelError
from simsched.policy.contract.base import Policy
from simsched.testing.cases import Case, small_cases
from simsched.testing.faults import told_of
from simsched.testing.rehearsal import Rehearsal, rehearse
from simsched.testing.rests import restless
from simsched.trace.schema import EventKind, Trace

BACKENDS = ("simpy", "native")


def check_policy(
    policy: Policy,
    *,
    backends: Iterable[str] = BACKENDS,
    cases: Iterable[Case] | None = None,
    documented: bool = True,
) -> None:
    """Check that a policy keeps the contract.

    Parameters
    ----------
    policy : Policy
        The policy with the parameters to be checked.
    backends : iterable of str
        Engines on which small programs are run; their traces must be equal.
    cases : iterable of Case, optional
        The programs and machines; by default all of :func:`~simsched.testing.small_cases`.
    documented : bool
        Whether the docstring has to be complete; False is for trials in a notebook.

    Raises
    ------
    AssertionError
        Naming the first rule that is broken, or the hook that has raised something, and in which
        case.

    Notes
    -----
    The rules: the class can be made without arguments; parameters round-trip and are frozen;
    instances pickle; the docstring has the sections Notes and References; plans, placements and
    updates are valid for assorted small programs and machines; nothing that the policy is given is
    changed; the same seed gives the same decisions; every task is executed exactly once; all
    engines produce the same trace; and so they do where the policy does not say that it rests.

    Examples
    --------
    >>> from simsched.policy import make_policy
    >>> check_policy(make_policy("cilk"), backends=["simpy"])
    """
    check_parameters(policy)
    if documented:
        check_docstring(type(policy))
    names = list(backends)
    for case in small_cases() if cases is None else cases:
        if fits(policy, case):
            check_decisions(policy, case)
            check_traces(policy, case, names)


def check_parameters(policy: Policy) -> None:
    """Check construction, round trip, immutability and pickling."""
    cls = type(policy)
    assert dataclasses.is_dataclass(cls), f"{cls.__name__}: not a dataclass"
    with told_of(policy, f"{cls.__name__}: cannot be made without arguments"):
        cls()
    assert cls(**policy.parameters()) == policy, f"{cls.__name__}: parameters do not round-trip"
    for name, value in policy.parameters().items():
        try:
            setattr(policy, name, value)
        except dataclasses.FrozenInstanceError:
            continue
        raise AssertionError(f"{cls.__name__}: parameter {name} can be assigned; use frozen=True")
    with told_of(policy, f"{cls.__name__}: cannot be pickled"):
        copy = pickle.loads(pickle.dumps(policy))  # noqa: S301  (our own bytes)
    assert copy == policy, f"{cls.__name__}: a pickled copy differs"


def check_docstring(cls: type[Policy]) -> None:
    """Check that the docstring of a class describes it, its parameters and where it comes from."""
    text = inspect.cleandoc(cls.__doc__ or "")
    for section in ("Notes", "References"):
        assert f"\n{section}\n-" in text, f"{cls.__name__}: the docstring has no section {section}"
    own = {f.name for f in dataclasses.fields(cls)} - {f.name for f in dataclasses.fields(Policy)}
    parents = [inspect.cleandoc(base.__doc__ or "") for base in cls.__mro__]
    for name in sorted(own):
        assert any(_documents(doc, name) for doc in parents), (
            f"{cls.__name__}: the docstring does not describe parameter {name}"
        )


def fits(policy: Policy, case: Case) -> bool:
    """Return whether a policy can run a case at all; an HBM policy cannot where there is no HBM."""
    with told_of(policy, f"{case.name}, seed 0"):
        try:
            rehearse(policy, case.machine, case.workload, workers=case.workers)
        except ModelError:
            return False
    return True


def check_decisions(policy: Policy, case: Case) -> None:
    """Check that decisions are valid and repeatable and that inputs stay as they are."""
    before = _digest(case.machine), _digest(case.workload), policy.parameters()
    first, second = (_rehearsed(policy, case) for _ in range(2))
    after = _digest(case.machine), _digest(case.workload), policy.parameters()
    assert before == after, f"{case.name}: machine, workload or policy was changed"
    decisions = [(run.placement, run.plans, run.updates, run.divisions) for run in (first, second)]
    assert _digest(decisions[0]) == _digest(decisions[1]), (
        f"{case.name}: the same seed gives different decisions"
    )


def check_traces(policy: Policy, case: Case, backends: Iterable[str]) -> None:
    """Check that tasks run once, that engines agree, and that promises to rest are kept."""
    runs = [(name, name, policy) for name in backends]
    if runs and (policy.overrides("on_timer") or policy.overrides("on_wake")):
        backend = runs[-1][0]
        runs.append((f"{backend}, asked at every period", backend, restless(policy)))
    traces: dict[str, Trace] = {}
    for name, backend, same in runs:
        with told_of(policy, f"{case.name}, seed 1, {name}"):
            run = simulate(
                case.machine,
                case.workload,
                same,
                workers=case.workers,
                seed=1,
                backend=backend,
                events=True,
            )
        assert run.trace is not None
        _check_once(run.trace, f"{case.name}, {name}")
        traces[name] = run.trace
    expected = next(iter(traces.values()), None)
    for name, trace in traces.items():
        assert expected is not None
        assert len(trace) == len(expected), f"{case.name}: {name} has another number of events"
        for column, values in trace.events.items():
            differs = np.flatnonzero(values != expected.events[column])
            assert not len(differs), f"{case.name}: {name}: event {differs[0]}: {column} differs"


def _rehearsed(policy: Policy, case: Case) -> Rehearsal:
    """Return the decisions; an error says in which case it came up."""
    with told_of(policy, f"{case.name}, seed 0"):
        return rehearse(policy, case.machine, case.workload, workers=case.workers)


def _check_once(trace: Trace, where: str) -> None:
    """Check that each iteration ends each of its tasks exactly once."""
    kind, iteration = trace.events["kind"], trace.events["iteration"]
    for start in np.flatnonzero(kind == EventKind.ITERATION_START).tolist():
        number, n_tasks = int(iteration[start]), int(trace.events["arg0"][start])
        ended = trace.events["task"][(kind == EventKind.TASK_END) & (iteration == number)]
        counts = np.bincount(ended, minlength=n_tasks)
        wrong = np.flatnonzero(counts != 1)
        assert not len(wrong), (
            f"{where}: iteration {number}: task {wrong[0]} was executed {counts[wrong[0]]} times"
        )


def _documents(docstring: str, parameter: str) -> bool:
    """Return whether a numpydoc text describes a parameter, alone or in a list of names."""
    heads = (line.split(" : ")[0] for line in docstring.splitlines() if " : " in line)
    return any(parameter in (name.strip() for name in head.split(",")) for head in heads)


def _digest(value: Any) -> str:
    """Return a hash of nested dataclasses, containers and arrays."""
    digest = hashlib.sha256()
    _feed(value, digest.update)
    return digest.hexdigest()


def _feed(value: Any, update: Callable[[bytes], None]) -> None:
    """Pass the content of a value on as bytes."""
    if isinstance(value, np.ndarray):
        update(f"{value.dtype}{value.shape}".encode())
        update(np.ascontiguousarray(value).tobytes())
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for f in dataclasses.fields(value):
            update(f.name.encode())
            _feed(getattr(value, f.name), update)
    elif isinstance(value, dict):
        for key in sorted(value, key=repr):
            update(repr(key).encode())
            _feed(value[key], update)
    elif isinstance(value, list | tuple):
        update(f"{len(value)}".encode())
        for item in value:
            _feed(item, update)
    elif isinstance(value, np.random.Generator):
        _feed(value.bit_generator.state, update)
    else:
        update(repr(value).encode())
