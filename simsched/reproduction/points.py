"""What claims are about: points of experiments, numbers read there, series and quantities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from simsched.analysis.metrics import SERIES, memory_kinds, metric_names
from simsched.experiment.cells import MEASURED
from simsched.experiment.study import Study
from simsched.reproduction.probes import Answer
from simsched.reproduction.schema import Claim, Picture

LABELS = ("machine", "workload", "policy")
Sweep = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Point:
    """Runs of an experiment that differ in their seed alone."""

    experiment: str
    machine: str
    workload: str
    policy: str
    #: Swept keys with the text of their values.
    sweep: Sweep = ()


@dataclass(frozen=True)
class Measure:
    """What is read from a row: the sum of `metric`, divided by the sum of `per`."""

    metric: tuple[str, ...]
    per: tuple[str, ...] = ()
    item: int | None = None
    seeds: str = "mean"


@dataclass(frozen=True)
class Reading:
    """A simulated number: a measure at a point, by itself or compared with another one."""

    point: Point
    measure: Measure
    base: Point | None = None
    base_measure: Measure | None = None
    comparison: str | None = None


@dataclass(frozen=True)
class Series:
    """Readings along an axis, or a single one; also numbers that need no run."""

    #: What the readings have in common.
    where: dict[str, str]
    items: list[Reading | float]
    #: Their places on the axis.
    x: list[float]


@dataclass(frozen=True)
class Quantity:
    """A term: its series, and what makes one number of them."""

    series: list[Series]
    over: str | None = None

    def readings(self) -> list[Reading]:
        """Return what it reads from rows."""
        return [item for s in self.series for item in s.items if isinstance(item, Reading)]


@dataclass(frozen=True)
class OrderCase:
    """One case of an ordering: the quantity of every name."""

    where: dict[str, str]
    terms: dict[str, Quantity]


@dataclass(frozen=True)
class PlannedPicture:
    """A figure of a source with everything found that it names."""

    picture: Picture
    #: Short name of its source.
    source: str
    #: One per bar.
    readings: list[Reading]


@dataclass(frozen=True)
class PlannedClaim:
    """A claim with everything found that it names."""

    claim: Claim
    #: Short name of its source.
    source: str
    #: What is looked at, except for orderings, which have cases.
    quantity: Quantity | None = None
    cases: list[OrderCase] = field(default_factory=list)
    #: What its probe says.
    answer: Answer | None = None

    def points(self) -> list[Point]:
        """Return the points whose runs it needs, each once."""
        quantities = [self.quantity] if self.quantity else []
        quantities += [term for case in self.cases for term in case.terms.values()]
        return points_of(reading for quantity in quantities for reading in quantity.readings())

    def experiments(self) -> list[str]:
        """Return the experiments that have to be run for it."""
        return list(dict.fromkeys(point.experiment for point in self.points()))


def points_of(readings: Iterable[Reading]) -> list[Point]:
    """Return the points that are read, each once."""
    both = [point for reading in readings for point in (reading.point, reading.base)]
    return list(dict.fromkeys(point for point in both if point is not None))


class Examined:
    """A study, named if it ships and else by its file, and what claims can name in it."""

    def __init__(self, name: str, study: Study) -> None:
        self.name, self.study = name, study
        self.known: dict[str, list[str]] = {
            what: list(dict.fromkeys(getattr(cell, what) for cell in study.cells))
            for what in LABELS
        }
        models = {cell.machine: cell.machine_model for cell in study.cells}
        #: Columns of a machine's rows that hold one number, and those that hold a list.
        self.single = {label: [*metric_names(model), *MEASURED] for label, model in models.items()}
        self.lists = {
            label: [*SERIES, *(f"iteration_{kind.lower()}_bytes" for kind in memory_kinds(model))]
            for label, model in models.items()
        }
        self.sweeps: dict[Sweep, dict[str, Any]] = {}
        for cell in study.cells:
            self.sweeps.setdefault(sweep_key(cell.sweep), cell.sweep)
        self.keys = list(next(iter(self.sweeps.values())))

    def in_step(self, key: str) -> set[str]:
        """Return a key and the swept keys that change in step with it."""
        sweep = self.study.experiment.sweep
        return {key} | (set(sweep.zip) if sweep is not None and key in sweep.zip else set())

    def values(self, key: str) -> list[Any]:
        """Return the values of a swept key, in order."""
        return list({repr(sweep[key]): sweep[key] for sweep in self.sweeps.values()}.values())


def sweep_key(sweep: Mapping[str, Any]) -> Sweep:
    """Return swept values so that they can be compared."""
    return tuple((key, repr(value)) for key, value in sweep.items())
