"""Costs that the user gives where a file has none: one for all tasks, or one for each class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from simsched.files.errors import ConfigurationError, GraphError, shown, unknown_name
from simsched.files.units import parse_seconds
from simsched.names.parameters import OpsPerS, of_hint
from simsched.workload.importers._source import number

DEFAULT_SPEED = 1e9
AMOUNT = "a cost with its unit, such as '1 ms' or '2e6 ops'"
TaskCost = Annotated[str, AMOUNT] | Mapping[str, str]
_SPEED = of_hint("reference_speed", OpsPerS)


def given_ops(
    task_cost: TaskCost,
    classes: Sequence[str],
    known: Iterable[str],
    ops_per_s: float,
    source: str,
) -> list[float]:
    """Return the operations of tasks without a cost by their classes.

    A mapping has to name the classes of all of these tasks, and none that is not `known`.
    """
    if not isinstance(task_cost, Mapping):
        return [_ops(task_cost, ops_per_s, f"{source}: option task_cost")] * len(classes)
    names = dict.fromkeys(known)
    for name in task_cost:
        if name not in names:
            problem = unknown_name("class of tasks", name, names)
            raise ConfigurationError(f"{source}: option task_cost.{name}: {problem}")
    needed = dict.fromkeys(classes)
    for name in needed:
        if name not in task_cost:
            raise ConfigurationError(
                f"{source}: option task_cost.{name}: missing, accepted {AMOUNT}, for every class "
                f"of tasks without a cost: {', '.join(needed)}"
            )
    ops = {
        name: _ops(text, ops_per_s, f"{source}: option task_cost.{name}")
        for name, text in task_cost.items()
    }
    return [ops[name] for name in classes]


def ops_per_s(speed: OpsPerS, where: str) -> float:
    """Return the operations per second that a number or a text such as ``2.9 GHz`` stands for."""
    try:
        return float(_SPEED.checked(speed, where))
    except ConfigurationError as error:
        raise GraphError(str(error)) from error


def _ops(text: object, ops_per_s: float, where: str) -> float:
    """Return the operations that a text such as ``2e6 ops`` or ``1 ms`` stands for."""
    if not isinstance(text, str):
        raise ConfigurationError(f"{where}: found {shown(text)}, accepted {AMOUNT}")
    amount = text.strip()
    if amount.endswith("ops"):
        return number(amount.removesuffix("ops").strip(), where)
    try:
        seconds = parse_seconds(amount)
    except ValueError as error:
        raise ConfigurationError(f"{where}: found {shown(text)}, accepted {AMOUNT}") from error
    return number(seconds * ops_per_s, where)
