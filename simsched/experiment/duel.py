"""Where one policy takes far longer than another: a search for small programs and machines.

A candidate is a program of at most `MOST_TASKS` tasks on a machine of a few cores that both
policies fit. It is of the first kind (:mod:`simsched.experiment.duel_kinds`) that has what both
need. Its ratio is that of the makespans on the native engine, for the first seed; where that is
enough, it is the smallest one of all seeds. Random candidates are changed step by step, and a
change is kept if the ratio grows, or at random if it falls a little (simulated annealing); where
nothing grows any more, the search begins anew. What has been found is made simpler as long as the
ratio is enough and there is time.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

import numpy as np

from simsched.engine.conformance import bounded, compare
from simsched.engine.fit import rehearse, stated
from simsched.engine.run import simulate
from simsched.experiment.blame import explained
from simsched.experiment.compare import Difference, measure_side
from simsched.experiment.duel_kinds import KINDS, Candidate, CandidateDraws, Kind
from simsched.experiment.duel_programs import PROGRAM
from simsched.experiment.runner import directories
from simsched.experiment.study import Study
from simsched.files.atomic import refuse_existing, write_bytes, write_text
from simsched.files.errors import ConfigurationError, SimschedError
from simsched.files.yaml_reader import read_document
from simsched.machine.model import Machine
from simsched.machine.written import document_yaml
from simsched.names.user_code import is_file_spec
from simsched.policy import make_policy
from simsched.policy.contract.base import Policy
from simsched.workload.graph import Workload

SEEDS = 3  #: with each of which a candidate has to hold
#: Tries after which policies are refused that both fitted none.
MOST_MISFITS = 30
#: Random candidates of a kind, one of which has what both policies need, or it is not for them.
PROBES = 60
REDRAWS = 20  #: random candidates for one try, where they lack what a policy says that it needs
STARTS = 12  #: random candidates, of which the best is changed
PATIENCE = 120  #: changes without a larger ratio, until the search begins anew
#: A change is kept with probability exp(-d / `WARMTH`) if the logarithm of the ratio falls by d.
WARMTH = 0.02
LEAST_GAIN = 1.001
SEARCH_SHARE = 0.75  #: part of the time to look for candidates; the rest makes one simpler
MACHINE, EXPERIMENT = "machine.yaml", "duel.yaml"
#: What may be written: only task graphs are files.
FILES = (PROGRAM, MACHINE, EXPERIMENT)


@dataclass(frozen=True)
class Found:
    """What a search has found."""

    #: Mean makespans of both policies over the seeds; empty if no ratio was enough.
    makespan_s: tuple[float, ...]
    #: Smallest ratio of all seeds, or the largest one of all candidates that was not enough.
    least_ratio: float
    tries: int
    tasks: int = 0
    #: Why the makespans differ.
    remarks: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """How many times as long the first policy takes, in the mean over the seeds."""
        return self.makespan_s[0] / self.makespan_s[1] if self.makespan_s else self.least_ratio


@dataclass
class Budget:
    """How long a search may go on, and what is found be made simpler."""

    seconds: float
    #: Candidates in place of seconds; what is found then is made as simple as can be.
    tries: int | None = None
    used: int = 0
    _begin: float = field(default_factory=time.monotonic)

    def take(self) -> bool:
        """Count one more try, if there is one."""
        left = self._within(SEARCH_SHARE) if self.tries is None else self.used < self.tries
        self.used += left
        return left

    def may_simplify(self) -> bool:
        """Return whether what was found may be made simpler still."""
        return self.tries is not None or self._within(1.0)

    def _within(self, share: float) -> bool:
        return time.monotonic() - self._begin < share * self.seconds


def find_duel(
    policies: tuple[str, str],
    *,
    factor: float = 2.0,
    seed: int = 0,
    budget: Budget,
    output: Path,
    overwrite: bool = True,
    progress: Callable[[int, float], None] | None = None,
) -> Found:
    """Look for a program and a machine on which one policy takes far longer than another.

    Parameters
    ----------
    policies : tuple of str
        The one that takes longer, and the other one: names, presets or files, with parameters.
    factor : float
        How many times as long at least, with every seed; more than 1.
    seed : int
        Of the search. With a number of tries it finds the same always.
    budget : Budget
        How long it goes on.
    output : Path
        Directory for program, machine and an experiment with both policies; nothing is written
        before both engines agree on all events of all runs.
    overwrite : bool
        Whether files there may be replaced.
    progress : callable, optional
        Gets the number of tries and the largest ratio.

    Returns
    -------
    Found
        Without files where no ratio is enough.

    Raises
    ------
    ConfigurationError
        A policy is unknown, both are one and the same, both fit none of the candidates, or the
        directory cannot be written.
    """
    contest = _Contest(policies, factor, progress)
    refuse_existing([output / name for name in FILES], overwrite=overwrite)
    search = _Search(contest, budget, seed)
    with directories(output):
        while (found := search.next()) is not None:
            found = contest.shrunken(found, budget)
            result = _confirmed(found, contest, budget, output)
            if result is not None:
                return result
    if contest.misfits and not contest.has_fit:
        _refuse(contest, contest.misfits)
    return Found((), contest.best, budget.used)


# ------------------------------------------------------------------------------------------------


class _Contest:
    """Two policies, and how candidates do."""

    def __init__(
        self,
        names: tuple[str, str],
        factor: float,
        progress: Callable[[int, float], None] | None,
    ) -> None:
        self.names, self.factor = names, factor
        self.policies = tuple(make_policy(name) for name in names)
        if self.policies[0] == self.policies[1]:
            raise ConfigurationError(
                f"duel: {' and '.join(dict.fromkeys(names))}: found one and the same policy, "
                "accepted two that differ: none takes longer than itself"
            )
        self.progress = progress
        self.best = 0.0
        #: Candidates that both did not fit, as long as both have fitted none.
        self.misfits: list[Candidate] = []
        self.has_fit = False

    def ratio(self, candidate: Candidate) -> float:
        """Return how well a candidate does; 0 where a policy does not fit."""
        try:
            things, limit_s = candidate.things(), candidate.kind.progress_limit_s
            ratio = self._of_seed(things, 0, limit_s)
            if ratio < self.factor:
                return ratio
            return min(ratio, *(self._of_seed(things, n, limit_s) for n in range(1, SEEDS)))
        except SimschedError:
            return 0.0

    def shrunken(self, candidate: Candidate, budget: Budget) -> Candidate:
        """Return a candidate that does well enough, and none that is a little simpler does.

        Where the time is over it is the simplest one so far.
        """
        changed = True
        while changed:
            changed, place = False, 0
            trials = [*candidate.simpler()]
            while place < len(trials):
                if not budget.may_simplify():
                    return candidate
                if self.ratio(trials[place]) >= self.factor:
                    candidate, changed = trials[place], True
                    trials = [*candidate.simpler()]
                else:
                    place += 1
        return candidate

    def kind(self, seed: int) -> Kind:
        """Return the first kind of which a random candidate has what both policies need."""
        probes: list[Candidate] = []
        for kind in KINDS:
            draws = CandidateDraws(kind, np.random.default_rng(seed))
            for _ in range(PROBES):
                candidate = draws.candidate()
                if not self.lacks(candidate):
                    return kind
                probes.append(candidate)
        return _refuse(self, probes[:: len(KINDS)])

    def lacks(self, candidate: Candidate) -> bool:
        """Return whether a candidate lacks what a policy says that it needs."""
        try:
            machine, program = candidate.things()
            return any(stated(machine, program, policy) for policy in self.policies)
        except SimschedError:
            return True

    def _of_seed(self, things: tuple[Machine, Workload], seed: int, limit_s: float) -> float:
        first, second = (
            self._makespan_ps(things, policy, name, seed, limit_s)
            for policy, name in zip(self.policies, self.names, strict=True)
        )
        return first / second if second else 0.0

    @staticmethod
    def _makespan_ps(
        things: tuple[Machine, Workload], policy: Policy, name: str, seed: int, limit_s: float
    ) -> int:
        with explained(policy, name):
            run = simulate(*things, bounded(policy), seed=seed, progress_limit_s=limit_s)
        if run.misfits:
            raise ConfigurationError(f"{name}: {run.misfits[0]}")
        return run.summary.makespan_ps


class _Search:
    """Candidates that do well enough, one after the other."""

    def __init__(self, contest: _Contest, budget: Budget, seed: int) -> None:
        self._contest, self._budget = contest, budget
        self._rng = np.random.default_rng(seed)
        self._draws = CandidateDraws(contest.kind(seed), self._rng)

    def next(self) -> Candidate | None:
        """Return a candidate that does well enough; None where the time is over."""
        factor = self._contest.factor
        while True:
            current, ratio = self._start()
            if current is None or ratio >= factor:
                return current
            idle = 0
            while idle < PATIENCE and ratio < factor:
                trial = self._draws.changed(current)
                other = self._tried(trial)
                if other is None:
                    return None
                idle = 0 if other > ratio * LEAST_GAIN else idle + 1
                if other > 0.0 and self._accepts(math.log(other / ratio)):
                    current, ratio = trial, other
            if ratio >= factor:
                return current

    def _accepts(self, gain: float) -> bool:
        return bool(gain >= 0.0 or self._rng.random() < math.exp(gain / WARMTH))

    def _start(self) -> tuple[Candidate | None, float]:
        """Return the best of some random candidates that fit, with its ratio; None without any."""
        best: Candidate | None = None
        most, number = 0.0, 0
        while number < STARTS and most < self._contest.factor:
            ratio = self._tried(trial := self._drawn())
            if ratio is None:
                break
            number += ratio > 0.0
            if ratio > most:
                best, most = trial, ratio
        return best, most

    def _drawn(self) -> Candidate:
        """Return a random candidate that has what both policies say that they need, if possible."""
        for _ in range(REDRAWS):
            candidate = self._draws.candidate()
            if not self._contest.lacks(candidate):
                break
        return candidate

    def _tried(self, candidate: Candidate) -> float | None:
        """Return a candidate's ratio, or None where the time is over."""
        contest, budget = self._contest, self._budget
        if not budget.take():
            return None
        ratio = contest.ratio(candidate)
        contest.has_fit |= ratio > 0.0
        contest.best = max(contest.best, ratio)
        if not contest.has_fit:
            contest.misfits.append(candidate)
            if len(contest.misfits) == MOST_MISFITS:
                _refuse(contest, contest.misfits)
        if contest.progress is not None:
            contest.progress(budget.used, contest.best)
        return ratio


def _refuse(contest: _Contest, misfits: Sequence[Candidate]) -> NoReturn:
    """Say why two policies fit no candidate: one of them none at all, or both not the same ones."""
    tried = len(misfits)
    whys = [Counter(_why(policy, misfits)) for policy in contest.policies]
    names = [name for name, why in zip(contest.names, whys, strict=True) if why.total() == tried]
    who = ", ".join(names or contest.names)
    chosen = [why for why in whys if why.total() == tried] or [why for why in whys if why]
    reasons = [why.most_common(1)[0][0] for why in chosen] or ["they do not get through a run"]
    raise ConfigurationError(
        f"duel: {who}: found none of {tried} small programs and machines to fit, accepted: "
        f"policies that can meet on {' or '.join(kind.name for kind in KINDS)}; "
        f"mostly: {'; '.join(reasons)}"
    )


def _why(policy: Policy, candidates: Sequence[Candidate]) -> Iterator[str]:
    """Yield why a policy does not fit a candidate, for each that it does not fit."""
    for candidate in candidates:
        try:
            found = rehearse(*candidate.things(), policy)
        except SimschedError as error:
            found = (str(error),)
        yield from found[:1]


def _confirmed(
    candidate: Candidate, contest: _Contest, budget: Budget, output: Path
) -> Found | None:
    """Write what was found, if both engines agree on what is read back; None otherwise."""
    with TemporaryDirectory() as place:
        directory = Path(place)
        _write(candidate, contest.names, directory)
        study = Study.from_yaml(read_document(directory / EXPERIMENT))
        for cell in study.cells:
            program = cell.workload_source.build()
            case = compare(cell.machine_model, program, cell.policy_model, seed=cell.seed)
            if case.difference or case.refused or case.left_out:
                return None
        first, second = (measure_side(each) for each in (study.cells[:SEEDS], study.cells[SEEDS:]))
        ratio = contest.ratio(candidate)
        if first.makespan_s < contest.factor * second.makespan_s:
            return None
        names = [name for name in FILES if (directory / name).exists()]
        for name in names:
            write_bytes(output / name, (directory / name).read_bytes())
    return Found(
        (first.makespan_s, second.makespan_s),
        ratio,
        budget.used,
        program.graph.n_tasks,
        Difference(second, first).remarks,
        [output / name for name in names],
    )


def _write(candidate: Candidate, policies: Sequence[str], directory: Path) -> None:
    """Write program, machine, and an experiment that runs two policies."""
    names = [_from_anywhere(name) for name in policies]
    write_text(directory / MACHINE, document_yaml(candidate.rig.document()))
    experiment = {
        "name": "duel",
        "machines": [MACHINE],
        "workloads": [candidate.program.write(directory, candidate.rig.kinds)],
        "policies": names,
        "baseline": names[1],
        "seeds": SEEDS,
    }
    write_text(directory / EXPERIMENT, document_yaml(experiment))


def _from_anywhere(name: str) -> str:
    """Return the name of a policy that means the same in an experiment in any directory."""
    head, bracket, params = name.partition("[")
    if not is_file_spec(head):
        return name
    return f"{Path(head).expanduser().absolute()}{bracket}{params}"
