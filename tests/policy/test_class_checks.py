"""Policy classes with something that nobody would ever look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from simsched.files.errors import ConfigurationError
from simsched.policy import Policy, param
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing


class Bare(RandomStealing):
    surplus: int = param(3)


@dataclass(frozen=True)
class Misspelt(RandomStealing):
    def on_tick(self) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class Untimed(RandomStealing):
    def on_timer(self, view, state):  # type: ignore[no-untyped-def]
        return ()


@dataclass(frozen=True)
class Hasty(RandomStealing):
    def on_start(self, view, state, task):  # type: ignore[no-untyped-def,override]
        return None


@dataclass(frozen=True)
class Greedy(RandomStealing):
    def plan(self, view, state, graph, more):  # type: ignore[no-untyped-def,override]
        return None


@dataclass(frozen=True)
class Open(RandomStealing):
    def on_start(self, *arguments):  # type: ignore[no-untyped-def,override]
        return None

    def plan(self, view, state, graph, more=0):  # type: ignore[no-untyped-def]
        return super().plan(view, state, graph)


@dataclass(frozen=True)
class Timed(Untimed):
    timer_period_s: float = param(1.0)


class Plain(RandomStealing):
    """Without parameters of its own no decorator is needed."""

    on_board = 3


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (
            Bare,
            r"parameter surplus: found class Bare without a decorator, accepted @dataclass",
        ),
        (Misspelt, r"method on_tick: found no such hook; did you mean 'on_timer'"),
        (Untimed, r"on_timer is never called: timer_period_s is missing"),
        (
            Hasty,
            r"method on_start: found \(self, view, state, task\), "
            r"accepted \(self, view, state, task, worker\)",
        ),
        (Greedy, r"method plan: found .*, more\), accepted \(self, view, state, graph\)"),
    ],
)
def test_what_is_never_looked_at_is_refused(cls: type[RandomStealing], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        cls()


def test_other_classes_are_not() -> None:
    assert Timed(timer_period_s=2).timer_period_s == 2.0
    assert Plain().on_board == 3
    assert Open().name == "random_stealing"


NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (param("a lot", low=0, high=2), "default: found 'a lot', accepted a number, 0 to 2"),
        (param(True, low=0), "default: found True, accepted a number, 0 or more"),
        (param(None, high=1), "default: found None, accepted a number, at most 1"),
        (param(3.0, low=0, high=2), "default: found 3.0, accepted a finite number, 0 to 2"),
        (param(-1, low=0), "default: found -1, accepted a whole number, 0 or more"),
        (param(NAN, low=0), "default: found nan, accepted a finite number, 0 or more"),
        (param(1, low=2, high=1), "low: found 2, accepted at most high, 1"),
        (param(1, low=NAN, high=1), "low: found nan, accepted at most high, 1"),
        (param(1, high="2"), "high: found '2', accepted a number"),  # type: ignore[arg-type]
        (
            param("oldst", choices=("newest", "oldest")),
            "default: unknown value 'oldst'; did you mean 'oldest'? accepted: newest, oldest",
        ),
        (param(2, choices=(1, 3)), "default: found 2, accepted 1, 3"),
    ],
)
def test_a_parameter_is_refused_where_it_is_declared(declared: Any, message: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        type("Mine", (Policy,), {"__annotations__": {"limit": object}, "limit": declared})
    assert str(refused.value) == f"policy Mine: parameter limit: {message}"


def test_other_declarations_are_not() -> None:
    for declared in (param(0.5, choices=(0.5, 1)), param(INFINITY, low=0), param(1, low=0.5)):
        type("Mine", (Policy,), {"__annotations__": {"limit": object}, "limit": declared})
