"""Random arguments for the binding of the C kernel.

Problems, graphs and plans of random runs are handed over with some of their arrays and numbers
replaced: other lengths, types, orders in memory and values. Hooks answer with random decisions. The
binding has to run, or to raise one of `REFUSALS`: numbers that no C integer holds overflow, and
what is no problem, graph or plan lacks attributes.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from dataclasses import fields, is_dataclass, replace
from functools import cache
from random import Random
from typing import Any

import numpy as np

from simsched.engine.interface.decisions import DECISIONS
from simsched.files.errors import ConfigurationError, SimschedError
from simsched.policy.contract.records import numbers_of
from tests.robustness.mutate import Files

BASES = 24
REFUSALS = (ValueError, TypeError, OverflowError, AttributeError)
VALUES = (0, 1, -1, 2, 3, 7, 64, 127, 128, 255, 1000, 2**15, 2**31 - 1, -(2**31), 2**31, 2**32)
LARGE = (2**40, 2**53 + 1, 2**61, 2**62 - 1, 2**62, 2**63 - 1, -(2**63), 2**63, 2**64, 10**30)
REALS = (0.0, -0.0, 1.0, -1.0, 1e-320, 1e-9, 1e300, -1e300, np.inf, -np.inf, np.nan, 1e9)
OTHERS: tuple[Any, ...] = (None, "x", [], (), {}, 1.5, True, object, np.int8(3), b"x")
DTYPES = ("int8", "uint8", "int16", "int32", "int64", "uint64", "float32", "float64", "bool")
MORE_DTYPES = (">i4", ">f8", "O", "U1", "M8[ns]", "complex128", "float16", [("a", "<i4")])


def native() -> Any:
    """Return the binding; `SIMSCHED_FUZZ_KERNEL` names another build of the extension."""
    other = os.environ.get("SIMSCHED_FUZZ_KERNEL")
    name = "simsched.engine.native._kernel"
    if other and name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, other)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    from simsched.engine.native import NativeBackend

    return NativeBackend


@cache
def bases() -> list[tuple[Any, Any, Any]]:
    """Return problem, graph and plan of random runs."""
    kept = native()  # before anything else imports the extension
    from simsched.engine import native as package
    from simsched.engine import run
    from tests.engine.instances import HookPolicy, RandomPolicy, random_machine, random_workload

    found: list[tuple[Any, Any, Any]] = []

    class Watched(kept):  # type: ignore[misc, valid-type]
        """The backend, which remembers what it is given."""

        def __init__(self, problem: Any, hooks: Any, *, events: Any) -> None:
            self.watched = problem
            super().__init__(problem, hooks, events=events)

        def run_iteration(self, number: int, graph: Any, plan: Any, *, last: bool) -> None:
            found.append((self.watched, graph, plan))
            super().run_iteration(number, graph, plan, last=last)

    package.NativeBackend = Watched
    try:
        seed = 0
        while len(found) < BASES:
            seed += 1
            policy = (HookPolicy if seed % 2 else RandomPolicy)(choice=seed)
            try:
                run.simulate(random_machine(seed), random_workload(seed), policy, backend="native")
            except SimschedError:
                continue
    finally:
        package.NativeBackend = kept
    return found[:BASES]


def _number(rng: Random, real: bool) -> Any:
    if real:
        return rng.choice(REALS)
    return rng.choice(VALUES) if rng.random() < 0.8 else rng.choice(LARGE)


def _array(rng: Random, array: np.ndarray[Any, Any]) -> Any:
    """Return an array that is like another one, but not quite."""
    how = rng.randrange(12)
    if how == 0:
        return rng.choice(OTHERS)
    if how == 1:
        return np.zeros(array.shape, rng.choice(DTYPES + MORE_DTYPES))
    if how == 2:
        size = rng.choice((0, 1, 2, 5, 10_000))
        return np.resize(array, (size, *array.shape[1:])) if array.ndim else array
    if how == 3:
        shapes = (array[None], array[..., None], array.reshape(-1), array.T, array.sum())
        return rng.choice(shapes)
    if how == 4:
        return np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array
    if how == 5:
        return array[::-1] if array.ndim else array
    if how == 6:  # a view without memory of its own
        return np.broadcast_to(array.reshape(-1)[:1], rng.choice(((2**31 + 5,), (2**20, 2**14))))
    if how == 7 and array.nbytes:  # not aligned
        raw = np.zeros(array.nbytes + 1, np.uint8)
        raw[1:] = np.frombuffer(array.tobytes(), np.uint8)
        return raw[1:].view(array.dtype).reshape(array.shape)
    result = array.copy()
    for _ in range(rng.choice((1, 1, 2, 4))):
        if result.size:
            place = rng.randrange(result.size)
            value = _number(rng, result.dtype.kind == "f")
            if rng.random() < 0.3:
                value = result.flat[rng.randrange(result.size)]
            with np.errstate(all="ignore"):
                result.flat[place] = np.array(value).astype(result.dtype)
    return result


def _changed(rng: Random, owner: Any) -> Any:
    """Return a copy of a dataclass with one field replaced."""
    name = rng.choice([f.name for f in fields(owner) if f.init])
    value = getattr(owner, name)
    if isinstance(value, np.ndarray):
        try:
            new: Any = _array(rng, value)
        except (ValueError, TypeError, OverflowError, MemoryError):  # no such array can be made
            new = None
    elif is_dataclass(value):
        new = _changed(rng, value) if rng.random() < 0.9 else rng.choice(OTHERS)
    elif isinstance(value, int | float) and rng.random() < 0.9:
        new = _number(rng, isinstance(value, float))
    elif isinstance(value, tuple) and value and rng.random() < 0.8:
        items = list(value)
        items[rng.randrange(len(items))] = _number(rng, False)
        new = tuple(items[: rng.choice((len(items), len(items), 1))])
    else:
        new = rng.choice((*OTHERS, np.zeros(3), np.zeros((2, 2), np.int32)))
    return replace(owner, **{name: new})


class Hooks:
    """Hooks that answer with anything."""

    def __init__(self, rng: Random) -> None:
        self.rng, self.left = rng, 200
        self.orders: list[Any] = []
        self.compiled: dict[str, Any] = {}
        for name in (
            *("ready", "idle", "finish", "landing", "timer"),
            "wake",
            "spawn",
            "acquire",
            "start",
        ):
            setattr(self, f"wants_on_{name}", rng.random() < 0.12)

    def attach(self, state: Any) -> None:
        self.state = state

    def _n(self) -> Any:
        rng = self.rng
        if rng.random() < 0.97:
            return rng.randrange(-1, 5)
        return rng.choice((*VALUES, *LARGE, None, 1.5, "x"))

    def _decisions(self) -> Any:
        rng = self.rng
        self.left -= 1
        if self.left < 0:
            return ()
        if rng.random() < 0.02:
            return rng.choice((None, 5, [None], [()], [("x", 1, 2)], [(0,)], [(99, 1, 2)]))
        found = []
        for _ in range(rng.choice((0, 0, 1, 1, 2))):
            kind = rng.randrange(len(DECISIONS))
            length = len(numbers_of(DECISIONS[kind])) + (rng.random() < 0.02)
            found.append((kind, *(self._n() for _ in range(length))))
        return found

    def on_ready(self, task: int, worker: int) -> Any:
        return None if self.rng.random() < 0.5 else (self._n(), self._n(), self._decisions())

    def on_idle(self, worker: int) -> Any:
        return next(iter(self._decisions() or ()), None)

    def on_finish(self, task: int, worker: int) -> Any:
        return self._decisions()

    on_start = on_landing = on_finish

    def on_timer(self) -> Any:
        return self._decisions()

    def on_wake(self, tag: int) -> Any:
        return self._decisions()

    def on_spawn(self, parent: int, child: int, worker: int) -> Any:
        return None if self.rng.random() < 0.3 else self._n()

    def on_acquire(self, *numbers: int) -> None:
        if self.rng.random() < 0.005:
            raise ConfigurationError("a hook has failed")


def run_case(seed: int) -> None:
    """Hand one random case over; raise SimschedError for what the binding refuses."""
    rng = Random(seed)
    problem, graph, plan = rng.choice(bases())
    if rng.random() < 0.1:
        graph = rng.choice(bases())[1]
    if rng.random() < 0.1:
        plan = rng.choice(bases())[2]
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        which = rng.randrange(3)
        if which == 0:
            problem = _changed(rng, problem)
        elif which == 1:
            graph = _changed(rng, graph)
        else:
            plan = _changed(rng, plan)
    try:
        backend = native()(problem, Hooks(rng), events=rng.random() < 0.5)
        for number in range(rng.choice((1, 1, 2))):
            backend.run_iteration(number, graph, plan, last=rng.random() < 0.5)
            if rng.random() < 0.2:
                n = rng.choice((0, 1, 3))
                moves = [np.array([_number(rng, False) % 2**31 for _ in range(n)]) for _ in "ab"]
                backend.migrate(rng.choice((0, 10, -1, 2**62)), *moves, rng.choice((1, 0, -5, 99)))
            backend.counters()
        backend.summary()
        backend.trace()
    except REFUSALS as error:
        raise ConfigurationError(str(error)) from error


def seeds() -> list[Files]:
    """Return the first cases, when all that they change is there."""
    bases()
    return [{"case": str(seed).encode()} for seed in range(4)]


def vary(rng: Random, pool: list[Files]) -> Files:
    """Return another case."""
    return {"case": str(rng.randrange(2**60)).encode()}
