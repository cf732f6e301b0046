"""Published claims: reading them, running the experiments that they need, and the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from simsched.experiment.cells import Cell
from simsched.experiment.inputs import located
from simsched.experiment.pool import Listener
from simsched.experiment.runner import Outcome, RunOptions, run_study
from simsched.experiment.study import Study
from simsched.experiment.summary import swept
from simsched.files.errors import ConfigurationError, nearest
from simsched.files.resources import data_dir, shipped
from simsched.files.yaml_reader import Document, read_document, read_named, validate_document
from simsched.reproduction.judge import Verdict, judge, read
from simsched.reproduction.plan import Planner
from simsched.reproduction.points import (
    Examined,
    PlannedClaim,
    PlannedPicture,
    Point,
    Reading,
    points_of,
    sweep_key,
)
from simsched.reproduction.schema import KINDS, ClaimsFile

#: Makes a listener, given the name of the experiment and the number of runs.
MakeListener = Callable[[str, int], AbstractContextManager[Listener]]


@dataclass(frozen=True)
class Family:
    """A claims file with everything found that it names."""

    name: str
    file: ClaimsFile
    claims: list[PlannedClaim]
    #: The experiments that its claims name, by name or, for files, by path.
    studies: dict[str, Examined]
    pictures: list[PlannedPicture] = field(default_factory=list)

    def points(self) -> list[Point]:
        """Return the points whose runs are needed, each once, in the order of first use."""
        drawn = [reading for item in self.pictures for reading in item.readings]
        found = [point for item in self.claims for point in item.points()]
        return list(dict.fromkeys([*found, *points_of(drawn)]))

    def needed(self) -> list[str]:
        """Return the experiments that have to be run, in the order of first use."""
        return list(dict.fromkeys(point.experiment for point in self.points()))


def families() -> list[str]:
    """Return the names of the shipped claims files, sorted."""
    return list(shipped("experiments", "claims"))


def claims_dir() -> Path:
    """Return the directory of the shipped claims files."""
    return data_dir("experiments") / "claims"


def load_family(name_or_path: str | Path | Document, ids: Iterable[str] | None = None) -> Family:
    """Return a claims file, or some of its claims, checked as far as it can be without a run."""
    if isinstance(name_or_path, Document):
        document = name_or_path
    else:
        document = read_named("claims family", name_or_path, claims_dir())
    file = validate_document(document, ClaimsFile)
    base = document.path.parent if document.path is not None else Path()
    studies: dict[str, Examined] = {}
    planner = Planner(document, partial(_study, studies, base))
    wanted = None if ids is None else set(ids)
    claims = [
        planner.plan(position, claim, str(file.source_of(claim)))
        for position, claim in enumerate(file.claims)
        if wanted is None or claim.id in wanted
    ]
    pictures = [
        planner.picture(position, picture, str(file.source_of(picture)))
        for position, picture in enumerate(file.figures if wanted is None else ())
    ]
    name = document.path.stem if document.path else "claims"
    return Family(name, file, claims, {study.name: study for study in studies.values()}, pictures)


def load_families(names: Sequence[str], ids: Sequence[str] = ()) -> list[Family]:
    """Return several claims files, all shipped ones by default, or only some of their claims."""
    names = names or families()
    if ids:
        known: dict[str, list[str]] = {name: ids_of(name) for name in names}
        everything = [item for found in known.values() for item in found]
        for item in ids:
            if item not in everything:
                close = nearest(item, everything)
                hint = f"did you mean {close!r}? " if close else ""
                raise ConfigurationError(
                    f"--claim: unknown claim {item!r}; {hint}accepted: the ids that "
                    "simsched reproduce --list shows"
                )
        names = [name for name in names if set(ids) & set(known[name])]
    found: dict[str, Family] = {}
    given: dict[str, str] = {}
    for name in names:
        family = load_family(name, ids or None)
        if family.name in found:
            beside = f"found {name!r} beside {given[family.name]!r}"
            raise ConfigurationError(f"claims: {beside}, accepted: files of different names")
        found[family.name], given[family.name] = family, name
    return list(found.values())


def ids_of(name: str | Path) -> list[str]:
    """Return the ids of a claims file, whose names are not looked up."""
    file = validate_document(read_named("claims family", name, claims_dir()), ClaimsFile)
    return [claim.id for claim in file.claims]


def _study(studies: dict[str, Examined], base: Path, name: str) -> Examined:
    """Return an experiment by the name that a claim has for it; each is read once."""
    if name not in studies:
        if name.endswith((".yaml", ".yml")):
            path = located(name, base)
            document, full = read_document(path), str(path)
        else:
            document, full = read_named("experiment", name, data_dir("experiments")), name
        studies[name] = studies[full] = Examined(full, Study.from_yaml(document))
    return studies[name]


@dataclass(frozen=True)
class Drawn:
    """A figure of a source with its simulated numbers."""

    planned: PlannedPicture
    values: list[tuple[Reading, float]]


@dataclass(frozen=True)
class Reproduction:
    """The verdicts on the claims of some families."""

    families: list[Family]
    #: By the name of the family.
    verdicts: dict[str, list[Verdict]]
    outcomes: list[Outcome]
    elapsed_s: float
    drawn: list[Drawn] = field(default_factory=list)

    @property
    def all(self) -> list[Verdict]:
        """The verdicts on all claims."""
        return [verdict for found in self.verdicts.values() for verdict in found]


def reproduce(
    chosen: Sequence[Family], options: RunOptions, listener: MakeListener | None = None
) -> Reproduction:
    """Run the experiments of claims as far as their results are not stored, and judge the claims.

    The `output` of the options gets one directory of results per experiment; by default each has
    its own. `listener` makes a listener of progress, given the experiment and the number of its
    runs.
    """
    begin_s = perf_counter()
    studies = {name: family.studies[name] for family in chosen for name in family.needed()}
    needed = {point for family in chosen for point in family.points()}
    directories = _directories(studies, options.output)
    outcomes: dict[str, Outcome] = {}
    for name, examined in studies.items():
        progress = partial(listener, name) if listener else None
        own = replace(options, output=directories[name], progress=progress)
        outcomes[name] = run_study(examined.study, own, partial(_is_needed, needed, name))
    verdicts, drawn = {}, []
    for family in chosen:
        rows = {
            point: found
            for name in family.needed()
            for point, found in rows_by_point(name, outcomes[name].rows).items()
        }
        verdicts[family.name] = [judge(planned, rows) for planned in family.claims]
        drawn += [
            Drawn(item, [(reading, read(reading, rows)) for reading in item.readings])
            for item in family.pictures
        ]
    elapsed_s = perf_counter() - begin_s
    return Reproduction(list(chosen), verdicts, list(outcomes.values()), elapsed_s, drawn)


def _directories(studies: Mapping[str, Examined], output: Path | None) -> dict[str, Path]:
    """Return where the results of experiments go, each to a directory of its own."""
    found: dict[str, Path] = {}
    users: dict[Path, Study] = {}
    for name, examined in studies.items():
        study, experiment = examined.study, examined.study.experiment
        found[name] = experiment.directory() if output is None else output / experiment.name
        other = users.setdefault(found[name].resolve(), study)
        if other.document.path != study.document.path:
            raise ConfigurationError(
                f"{study.document.where(('name',))}: name: found {experiment.name!r}, accepted: "
                f"another name than in {other.document.where(('name',))}, as the results of both "
                f"would be in {found[name]}"
            )
    return found


def _is_needed(points: Set[Point], name: str, cell: Cell) -> bool:
    sweep = sweep_key(cell.sweep)
    return Point(name, cell.machine, cell.workload, cell.policy, sweep) in points


def rows_by_point(
    name: str, rows: Sequence[Mapping[str, Any]]
) -> dict[Point, dict[int, Mapping[str, Any]]]:
    """Return the rows of an experiment, one per run, by point and seed."""
    found: dict[Point, dict[int, Mapping[str, Any]]] = {}
    for row in rows:
        labels = (row["machine"], row["workload"], row["policy"])
        found.setdefault(Point(name, *labels, sweep_key(swept(row))), {})[row["seed"]] = row
    return found


def claims_about(experiment: str, rows: Sequence[Mapping[str, Any]]) -> list[Verdict]:
    """Return the verdicts on the shipped claims that need no other experiment than one."""
    found: list[Verdict] = []
    numbers = rows_by_point(experiment, rows)
    for name, path in shipped("experiments", "claims").items():
        if f"experiment: {experiment}" not in path.read_text(encoding="utf-8"):
            continue  # reading hundreds of claims takes a second
        file = validate_document(read_document(path), ClaimsFile)
        ids = [claim.id for claim in file.claims if claim.experiment == experiment]
        planned = load_family(name, ids).claims
        found += [judge(item, numbers) for item in planned if item.experiments() == [experiment]]
    return found


def by_source(verdicts: Iterable[Verdict]) -> dict[str, list[Verdict]]:
    """Return verdicts by the short name of their source."""
    found: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        found.setdefault(verdict.planned.source, []).append(verdict)
    return found


def count(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """Return how many claims of a kind can be evaluated and how many hold.

    Of comparative numbers also how many have a published direction, and of these how many the same
    direction, an effect within a factor of two, and one within 15 %.
    """
    found = dict.fromkeys(("evaluable", "holding", *DIRECTED), 0)
    for verdict in verdicts:
        if verdict.holds is None:
            continue
        found["evaluable"] += 1
        found["holding"] += verdict.holds
        effect = verdict.effect
        if effect.same_direction is not None:
            found["directed"] += 1
            found["same_direction"] += effect.same_direction
            found["within_factor_two"] += bool(effect.within_factor_two)
            found["within_tolerance"] += bool(effect.within_tolerance)
    return found


#: What is counted of comparative numbers alone.
DIRECTED = ("directed", "same_direction", "within_factor_two", "within_tolerance")


def by_kind(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return the counts of each kind, calibrating claims by themselves, and what is left out."""
    counted: dict[str, Any] = {
        kind: count(v for v in verdicts if v.claim.kind == kind and not v.claim.calibrated_on)
        for kind in KINDS
    }
    return {
        **counted,
        "calibration": count(v for v in verdicts if v.claim.calibrated_on),
        "not_evaluable": sum(v.holds is None for v in verdicts),
    }


def summary(reproduction: Reproduction) -> dict[str, Any]:
    """Return how many claims hold by kind: in all, and by source and family.

    `runs` says how many runs were computed and how many taken from earlier, and the wall time.
    """
    return {
        **by_kind(reproduction.all),
        "undiagnosed": sum(v.holds is False and not v.claim.diagnosis for v in reproduction.all),
        "by_source": {
            source: {
                family: by_kind(own)
                for family, verdicts in reproduction.verdicts.items()
                if (own := by_source(verdicts).get(source))
            }
            for source in by_source(reproduction.all)
        },
        "runs": {
            "computed": sum(outcome.computed for outcome in reproduction.outcomes),
            "reused": sum(outcome.reused for outcome in reproduction.outcomes),
            "elapsed_s": reproduction.elapsed_s,
        },
    }
