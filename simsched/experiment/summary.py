"""Comparison of policies: means, confidence intervals over seeds, reduction against a baseline."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy

from simsched.experiment.cells import JOINT
from simsched.experiment.schema import Experiment, labels
from simsched.files.errors import ConfigurationError, unknown_name

CONFIDENCE = 0.95
_SWEEP = "sweep."  #: begin the columns of swept keys
Row = Mapping[str, Any]
#: What rows that differ in their seed have in common.
Group = tuple[str, ...]
Groups = dict[Group, list[Row]]


@dataclass(frozen=True)
class Estimate:
    """Mean over seeds with the half width of its confidence interval."""

    mean: float
    #: Of the 95 % interval (Student's t); NaN for fewer than two values.
    half_width: float
    count: int


def estimate(values: Sequence[float]) -> Estimate:
    """Return mean and 95 % confidence interval of values from independent seeds.

    The half width is t(0.975, n - 1) * s / sqrt(n).

    >>> e = estimate([1.0, 2.0, 3.0])
    >>> round(e.mean, 3), round(e.half_width, 3)
    (2.0, 2.484)
    """
    array = np.asarray(values, np.float64)
    if not len(array):
        return Estimate(math.nan, math.nan, 0)
    mean = float(array.mean())
    if len(array) < 2:
        return Estimate(mean, math.nan, 1)
    quantile = float(scipy.special.stdtrit(len(array) - 1, 0.5 + CONFIDENCE / 2))
    deviation = float(array.std(ddof=1))
    return Estimate(mean, quantile * deviation / math.sqrt(len(array)), len(array))


@dataclass(frozen=True)
class Line:
    """One line of the comparison."""

    machine: str
    workload: str
    policy: str
    #: Value of every swept key.
    sweep: dict[str, Any]
    #: The makespan and the columns that the experiment asks for.
    metrics: dict[str, Estimate]
    baseline: str
    #: How much shorter the makespan is than the baseline's with the same seed; negative when it is
    #: longer.
    reduction_percent: Estimate
    #: Why the runs say little of the policy.
    misfits: tuple[str, ...] = ()
    #: The first policy beside it with the same decisions at the same times for all seeds; empty
    #: where there is none.
    same_as: str = ""
    #: Tasks that its runs have executed.
    tasks: int = 0


def compare(rows: Sequence[Row], experiment: Experiment, others: Sequence[Row] = ()) -> list[Line]:
    """Return one line per machine, workload, sweep point and policy, in the order of the rows.

    The baseline is looked for among other runs too, which get no lines.
    """
    check_metrics(rows, experiment.metrics)
    baseline = experiment.baseline or labels(experiment.policies)[0]
    lines = []
    groups = grouped(rows)
    same = _same(groups)
    for group, members, pairs in _beside(groups, baseline, others):
        metrics = {
            name: estimate([float(row[name]) for row in members if row.get(name) is not None])
            for name in dict.fromkeys(["makespan_s", *experiment.metrics])
        }
        lines.append(
            Line(
                machine=members[0]["machine"],
                workload=members[0]["workload"],
                policy=members[0]["policy"],
                sweep=swept(members[0]),
                metrics=metrics,
                baseline=baseline,
                reduction_percent=reduction_percent(pairs),
                misfits=misfits_of(members),
                same_as=same.get(group, ""),
                tasks=sum(int(row.get("tasks") or 0) for row in members),
            )
        )
    return lines


def reduction_percent(pairs: Iterable[tuple[float, float]]) -> Estimate:
    """Return how much shorter makespans are than the others that they are paired with.

    >>> reduction_percent([(1.0, 2.0), (1.0, 4.0)]).mean
    62.5
    """
    return estimate([100.0 * (1.0 - mine / other) for mine, other in pairs if other])


def misfits_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the reasons that rows give why they say little of their policy, each once."""
    texts = [row.get("misfits") or "" for row in rows]
    return tuple(dict.fromkeys(one for text in texts for one in text.split(JOINT) if one))


def _same(groups: Groups) -> dict[Group, str]:
    """Return the first policy whose runs were the same, by the groups of which there is one."""
    first: dict[tuple[object, ...], str] = {}
    found = {}
    for group, members in groups.items():
        hashes = [row.get("decisions_hash") for row in members]
        if all(hashes):
            *place, policy = group
            seeds = [row["seed"] for row in members]
            earlier = first.setdefault((*place, *seeds, *hashes), policy)
            if earlier != policy:
                found[group] = earlier
    return found


def grouped(rows: Sequence[Row]) -> Groups:
    """Return the rows that differ in nothing but their seed, together."""
    groups: Groups = {}
    for row in rows:
        groups.setdefault(group_of_row(row), []).append(row)
    return groups


def beside_baseline(
    rows: Sequence[Row], baseline: str, others: Sequence[Row]
) -> Iterator[tuple[list[Row], list[tuple[float, float]]]]:
    """Yield each of the groups, with makespans of its runs and of the baseline's with their seeds.

    The baseline may be among other runs.
    """
    for _, members, pairs in _beside(grouped(rows), baseline, others):
        yield members, pairs


def _beside(
    groups: Groups, baseline: str, others: Sequence[Row]
) -> Iterator[tuple[Group, list[Row], list[tuple[float, float]]]]:
    bases = grouped(others) | groups
    for key, members in groups.items():
        base = {row["seed"]: row["makespan_s"] for row in bases.get((*key[:-1], baseline), ())}
        both = [(row["makespan_s"], base.get(row["seed"])) for row in members]
        yield key, members, [(mine, other) for mine, other in both if other is not None]


def check_metrics(rows: Sequence[Row], metrics: Sequence[str]) -> None:
    """Raise ConfigurationError unless every metric is a number in some row."""
    for name in metrics:
        if rows and not any(_is_number(row.get(name)) for row in rows):
            known = (key for row in rows for key, value in row.items() if _is_number(value))
            raise ConfigurationError(unknown_name("metric", name, dict.fromkeys(known)))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def swept(row: Row) -> dict[str, Any]:
    """Return the swept keys of a row."""
    return {key.removeprefix(_SWEEP): row[key] for key in _swept_keys(tuple(row))}


@lru_cache(maxsize=32)  # the rows of a study have the same columns, a hundred of them
def _swept_keys(columns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(key for key in columns if key.startswith(_SWEEP))


def group_of_row(row: Row) -> Group:
    """Return what rows of different seeds have in common; the policy comes last."""
    return (row["machine"], row["workload"], repr(swept(row)), row["policy"])
