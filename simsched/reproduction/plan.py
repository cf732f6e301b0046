"""From a claim to the simulated numbers that it is about, with every name checked beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simsched.files.errors import SimschedError, unknown_name
from simsched.files.yaml_reader import Document, KeyPath
from simsched.reproduction.points import (
    LABELS,
    Examined,
    Measure,
    OrderCase,
    PlannedClaim,
    PlannedPicture,
    Point,
    Quantity,
    Reading,
    Series,
)
from simsched.reproduction.probes import Answer, ask
from simsched.reproduction.schema import (
    ALONG_ONLY,
    QUANTIFIERS,
    Claim,
    Picture,
    Selection,
    Term,
)

Spec = dict[str, Any]


class Planner:
    """Resolves the claims of one file; `study` returns the experiment of a name."""

    def __init__(self, document: Document, study: Callable[[str], Examined]) -> None:
        self.document = document
        self._study = study

    def plan(self, position: int, claim: Claim, source: str) -> PlannedClaim:
        """Return a claim with what it names; refuse a selection without a single meaning."""
        loc: KeyPath = ("claims", position)
        if claim.not_evaluable is not None:
            return PlannedClaim(claim, source)
        if claim.probe is not None:
            return self._probed(claim, source, loc)
        if claim.order is not None:
            return PlannedClaim(claim, source, cases=self._order(claim, loc))
        bases: Sequence[Spec] = [spec_of(item) for item in claim.cases or []] or [{}]
        series = [
            found for base in bases for found in self._series(merged(spec_of(claim), base), loc)
        ]
        return PlannedClaim(claim, source, Quantity(series, claim.over))

    def picture(self, position: int, picture: Picture, source: str) -> PlannedPicture:
        """Return a figure with what it names."""
        loc: KeyPath = ("figures", position)
        readings = Quantity(self._series(spec_of(picture), loc)).readings()
        groups = {(r.point.workload, r.point.sweep) for r in readings}
        if picture.groups is not None and len(picture.groups) != len(groups):
            message = f"found {len(picture.groups)} names, accepted: {len(groups)}, one per group"
            self.document.fail((*loc, "groups"), message)
        return PlannedPicture(picture, source, readings)

    def _probed(self, claim: Claim, source: str, loc: KeyPath) -> PlannedClaim:
        answer = self._ask(claim, loc)
        if isinstance(answer, str) != (claim.equals is not None):
            wanted = "value, min or max" if claim.equals is not None else "equals"
            self.document.fail((*loc, "probe"), f"found the answer {answer!r}, accepted: {wanted}")
        if isinstance(answer, str):
            return PlannedClaim(claim, source, answer=answer)
        values = answer if isinstance(answer, list) else [answer]
        if claim.value is not None and len(claim.value) not in (1, len(values)):
            message = f"found {len(claim.value)} values, accepted: {len(values)} as the probe says"
            self.document.fail((*loc, "value"), message)
        series = [Series({}, [value], [float(n)]) for n, value in enumerate(values)]
        return PlannedClaim(claim, source, Quantity(series, claim.over), answer=answer)

    def _ask(self, term: Term, loc: KeyPath) -> Answer:
        try:
            return ask(str(term.probe), term.arguments or {})
        except SimschedError as error:
            self.document.fail((*loc, "probe"), str(error))

    def _order(self, claim: Claim, loc: KeyPath) -> list[OrderCase]:
        names = claim.names()
        cases: list[OrderCase] = []
        for base in [spec_of(item) for item in claim.cases or []] or [{}]:
            above = merged(spec_of(claim), base)
            own = {name: _own(claim, name) for name in names}
            specs = {name: merged(above, own[name]) for name in names}
            cases += self._cases(claim, specs, own, loc)
        return cases

    def _cases(
        self, claim: Claim, specs: dict[str, Spec], own: dict[str, Spec], loc: KeyPath
    ) -> list[OrderCase]:
        """Return one case per combination of what the terms leave open, or a single one."""
        together = claim.over is not None and claim.over not in (*QUANTIFIERS, *ALONG_ONLY)
        simulated = [name for name in specs if not specs[name].get("probe")]
        free: list[dict[str, str]] = [{}]
        if not together and simulated:
            leader = min(simulated, key=lambda name: len(_dimensions(own[name])))
            taken = self._taken(specs[leader], own[leader], loc)
            taken |= {key for name in simulated for key in self._axis(specs[name], loc)}
            ways = [
                {key: value for key, value in _where(point).items() if key not in taken}
                for point in self._points(specs[leader], self._at(claim, leader, loc))
            ]
            free = list({repr(way): way for way in ways}.values())
        return [
            OrderCase(way, {name: self._term(claim, name, specs, own, way, loc) for name in specs})
            for way in free
        ]

    def _term(
        self,
        claim: Claim,
        name: str,
        specs: dict[str, Spec],
        own: dict[str, Spec],
        way: dict[str, str],
        loc: KeyPath,
    ) -> Quantity:
        """Return the quantity of a term of an ordering in one case."""
        at = self._at(claim, name, loc)
        spec = specs[name]
        if spec.get("probe"):
            answer = self._ask(claim.terms[name], at)
            if not isinstance(answer, int | float):
                message = f"found the answer {answer!r}, accepted: one number"
                self.document.fail((*at, "probe"), message)
            return Quantity([Series({}, [float(answer)], [0.0])])
        over = spec.get("over")
        over = None if over in QUANTIFIERS else over
        series = self._series(spec, at, self._way(spec, own[name], way, at))
        count = sum(len(item.items) for item in series)
        if over in ALONG_ONLY and len(series) != 1:
            message = f"found {len(series)} series for {name}, accepted: one; select fewer"
            self.document.fail(at, message)
        if over is None and count != 1:
            message = f"found {count} values for {name}, accepted: one; select fewer, or give over"
            self.document.fail(at, message)
        return Quantity(series, over)

    def _axis(self, spec: Spec, loc: KeyPath) -> set[str]:
        """Return the labels or swept keys that change along the axis of a selection."""
        along = spec.get("along")
        return set() if along is None else self.study(spec, loc).in_step(along)

    def _taken(self, spec: Spec, own: Spec, loc: KeyPath) -> set[str]:
        """Return the labels and swept keys that a term gives itself."""
        study = self.study(spec, loc)
        return {key for given in _dimensions(own) for key in study.in_step(given)}

    def _way(self, spec: Spec, own: Spec, way: Mapping[str, str], loc: KeyPath) -> dict[str, str]:
        """Return what a case says about a term: what it does not give itself, nor its experiment.

        In an experiment of its own that has a single machine (workload, ...), this is meant.
        """
        study, taken = self.study(spec, loc), self._taken(spec, own, loc)
        found = {}
        for key, value in way.items():
            known = study.known[key] if key in LABELS else None
            other = key not in study.keys if known is None else len(known) == 1
            if key not in taken and not other:
                found[key] = value
        return found

    def _at(self, claim: Claim, name: str, loc: KeyPath) -> KeyPath:
        return (*loc, "terms", name) if name in claim.terms else (*loc, "order")

    def _series(
        self, spec: Spec, loc: KeyPath, way: Mapping[str, str] | None = None
    ) -> list[Series]:
        """Return the series of a selection; `way` has what the case gives of it."""
        points = self._points(spec, loc, way)
        along = spec.get("along")
        if along is not None and along not in _where(points[0]):
            study = self.study(spec, loc)
            known = [*LABELS, *study.keys]
            self.document.fail((*loc, "along"), unknown_name("axis", along, known))
        axis = self._axis(spec, loc)
        groups: dict[tuple[Any, ...], Series] = {}
        for point in points:
            common = {key: value for key, value in _where(point).items() if key not in axis}
            for number, reading in enumerate(self._readings(spec, point, loc)):
                if (reading.base, reading.base_measure) == (point, reading.measure):
                    continue  # nothing is learned from comparing a number with itself
                where = common
                if reading.base is not None and along is None:
                    where = common | _difference(point, reading.base)
                key = (*common.items(), number)
                groups.setdefault(key, Series(where, [], [])).items.append(reading)
        found = list(groups.values())
        if not found:
            self.document.fail(loc, "found nothing to compare, accepted: another baseline")
        return found if along is None else [self._placed(spec, item, loc) for item in found]

    def _placed(self, spec: Spec, series: Series, loc: KeyPath) -> Series:
        """Return a series with the places of its readings on the axis."""
        along, count = spec["along"], len(series.items)
        if count < 2:
            message = f"found {count} point along {along}, accepted: at least two"
            self.document.fail((*loc, "along"), message)
        if spec.get("x") is not None:
            if len(spec["x"]) != count:
                message = f"found {len(spec['x'])} places for {count} points, accepted: as many"
                self.document.fail((*loc, "x"), message)
            return Series(series.where, series.items, list(spec["x"]))
        if along in LABELS:
            return Series(series.where, series.items, [float(n) for n in range(count)])
        values = []
        for item in series.items:
            assert isinstance(item, Reading)
            study = self.study({"experiment": item.point.experiment}, loc)
            values.append(study.sweeps[item.point.sweep][along])
        if not all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
            message = f"missing, accepted: one number for each of the {count} values of {along}"
            self.document.fail((*loc, "x"), message)
        return Series(series.where, series.items, [float(value) for value in values])

    def study(self, spec: Spec, loc: KeyPath) -> Examined:
        """Return the experiment of a selection."""
        name = spec.get("experiment")
        if name is None:
            self.document.fail((*loc, "experiment"), "missing, accepted: name of an experiment")
        try:
            return self._study(name)
        except SimschedError as error:
            self.document.fail((*loc, "experiment"), str(error))

    def _points(
        self, spec: Spec, loc: KeyPath, way: Mapping[str, str] | None = None
    ) -> list[Point]:
        """Return the points that are selected, in the order of the selection."""
        study = self.study(spec, loc)
        chosen: dict[str, list[str]] = {}
        for what in LABELS:
            given = spec.get(what)
            for label in given or ():
                if label not in study.known[what]:
                    message = unknown_name(f"{what} label", label, study.known[what])
                    self.document.fail((*loc, what), f"{message} (experiment {study.name})")
            chosen[what] = given or study.known[what]
        if spec.get("policy") is None and len(study.known["policy"]) > 1:
            accepted = f"one or more of {', '.join(study.known['policy'])}"
            self.document.fail((*loc, "policy"), f"missing, accepted: {accepted}")
        for key, values in (spec.get("at") or {}).items():
            self._check_swept(study, key, values, loc)
        at = {key: [repr(v) for v in values] for key, values in (spec.get("at") or {}).items()}
        sweeps = [
            key
            for key in study.sweeps
            if all(dict(key)[name] in accepted for name, accepted in at.items())
        ]
        points = [
            Point(study.name, machine, workload, policy, sweep)
            for machine in chosen["machine"]
            for sweep in sweeps
            for workload in chosen["workload"]
            for policy in chosen["policy"]
        ]
        points = [p for p in points if all(_where(p).get(k) == v for k, v in (way or {}).items())]
        if not points:
            self.document.fail(loc, f"found no run of {study.name}, accepted: another selection")
        return points

    def _check_swept(self, study: Examined, key: str, values: list[Any], loc: KeyPath) -> None:
        if key not in study.keys:
            message = unknown_name("swept key", key, study.keys)
            self.document.fail((*loc, "at", key), f"{message} (experiment {study.name})")
        known = study.values(key)
        for value in values:
            if repr(value) not in [repr(item) for item in known]:
                accepted = ", ".join(map(str, known))
                self.document.fail((*loc, "at", key), f"found {value!r}, accepted: {accepted}")

    def _readings(self, spec: Spec, point: Point, loc: KeyPath) -> list[Reading]:
        """Return the number at a point, or one for each of its baselines."""
        measure = self._measure(spec, point, loc)
        if not spec.get("versus"):
            return [Reading(point, measure)]
        found = []
        for position, entry in enumerate(spec["versus"]):
            inside: KeyPath = (*loc, "versus", position)
            other = {**spec, **spec_of(entry), "versus": None, "along": None}
            other |= self._inherited(spec_of(entry), point, inside)
            for base in self._points(other, inside):
                base_measure = self._measure(other, base, inside)
                found.append(Reading(point, measure, base, base_measure, spec["as_"]))
        return found

    def _inherited(self, entry: Spec, point: Point, loc: KeyPath) -> Spec:
        """Return labels and swept values that a baseline takes over from the case."""
        study = self.study({"experiment": entry.get("experiment") or point.experiment}, loc)
        same = study.name == point.experiment
        found: Spec = {"experiment": study.name}
        for what in LABELS:
            label = getattr(point, what)
            if what in entry:
                continue
            if same or label in study.known[what]:
                found[what] = [label]
            elif len(study.known[what]) > 1:
                accepted = f"one of {', '.join(study.known[what])}"
                self.document.fail((*loc, what), f"missing, accepted: {accepted}")
            else:
                found[what] = list(study.known[what])
        here = dict(point.sweep)
        values = {key: study.values(key) for key in study.keys if key in here}
        taken = {key: [v for v in values[key] if repr(v) == here[key]] for key in values}
        found["at"] = {**{k: v for k, v in taken.items() if v}, **(entry.get("at") or {})}
        return found

    def _measure(self, spec: Spec, point: Point, loc: KeyPath) -> Measure:
        """Return what is read at a point, with its names checked."""
        study = self.study({"experiment": point.experiment}, loc)
        single, lists = study.single[point.machine], study.lists[point.machine]
        if not spec.get("metric"):
            self.document.fail((*loc, "metric"), "missing, accepted: a column of the results")
        for key in ("metric", "per"):
            for name in spec.get(key) or ():
                if name in lists and spec.get("item") is None:
                    message = f"missing, accepted: a position in the list {name}"
                    self.document.fail((*loc, "item"), message)
                if name not in single and name not in lists:
                    message = unknown_name("metric", name, [*single, *lists])
                    self.document.fail((*loc, key), message)
        read = [*spec["metric"], *(spec.get("per") or ())]
        if spec.get("item") is not None and not set(read) & set(lists):
            message = f"found a position, accepted: none, as {', '.join(read)} is no list"
            self.document.fail((*loc, "item"), message)
        return Measure(
            tuple(spec["metric"]),
            tuple(spec.get("per") or ()),
            spec.get("item"),
            spec.get("seeds") or "mean",
        )


def spec_of(item: Selection) -> Spec:
    """Return what a selection gives, without what it leaves open."""
    kind = Term if isinstance(item, Term) else Selection
    names = [*kind.model_fields, *(("versus", "as_") if isinstance(item, Picture) else ())]
    return {name: value for name in names if (value := getattr(item, name)) is not None}


def merged(spec: Spec, change: Spec) -> Spec:
    """Return a selection changed by another one; swept keys are changed one by one."""
    at = {**spec.get("at", {}), **change.get("at", {})}
    return {**spec, **change, **({"at": at} if at else {})}


def _own(claim: Claim, name: str) -> Spec:
    """Return what a name in an ordering stands for."""
    return spec_of(claim.terms[name]) if name in claim.terms else {"policy": [name]}


def _dimensions(own: Spec) -> set[str]:
    """Return the labels and swept keys that a term gives itself."""
    return {what for what in LABELS if what in own} | set(own.get("at", {}))


def _where(point: Point) -> dict[str, str]:
    """Return the labels and swept values of a point."""
    return {**{what: getattr(point, what) for what in LABELS}, **dict(point.sweep)}


def _difference(point: Point, base: Point) -> dict[str, str]:
    """Return what a baseline has else than its point, as text for messages."""
    mine = _where(point)
    other = [value for key, value in _where(base).items() if mine.get(key) != value]
    return {"versus": " ".join(other) or base.experiment}
