"""Policy classes with something that nobody would ever look at."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from simsched.files.errors import ConfigurationError
from simsched.policy import param
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
