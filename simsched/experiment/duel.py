"""Where one policy takes far longer than another: a search for small programs and machines.

A candidate is a program of at most `MOST_TASKS` tasks (:mod:`simsched.experiment.duel_programs`) on
a machine of a few cores (:mod:`simsched.experiment.duel_machines`) that both policies fit. Its
ratio is that of the makespans on the native engine, for the first seed; where that is enough, it is
the smallest one of all seeds. Random candidates are changed step by step, and a change is kept if
the ratio grows, or at random if it falls a little (simulated annealing); where nothing grows any
more, the search begins anew. What has been found is made simpler as long as the ratio is enough.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

import numpy as np

from simsched.engine.conformance import bounded, compare
from simsched.engine.fit import rehearse, stated
from simsched.engine.run import simulate
from simsched.experiment.blame import explained
from simsched.experiment.compare import Difference, measure_side
from simsched.experiment.duel_machines import Rig, changed_rig, random_rig
from simsched.experiment.duel_programs import Draws, Sketch
from simsched.experiment.runner import directories
from simsched.experiment.study import Study
from simsched.files.atomic import write_bytes, write_text
from simsched.files.errors import ConfigurationError, SimschedError
from simsched.files.yaml_reader import read_document
from simsched.machine.load import load_machine
from simsched.machine.model import Machine
from simsched.machine.written import document_yaml
from simsched.names.user_code import is_file_spec
from simsched.policy import make_policy
from simsched.policy.contract.base import Policy
from simsched.workload.graph import Workload
from simsched.workload.graph_files import read_graph_file
from simsched.workload.importers import write_dot

SEEDS = 3  #: with each of which a candidate has to hold
#: Tries after which policies are refused that both fitted none.
MOST_MISFITS = 30
REDRAWS = 20  #: random candidates for one try, where they lack what a policy says that it needs
STARTS = 12  #: random candidates, of which the best is changed
PATIENCE = 120  #: changes without a larger ratio, until the search begins anew
#: A change is kept with probability exp(-d / `WARMTH`) if the logarithm of the ratio falls by d.
WARMTH = 0.02
LEAST_GAIN = 1.001
#: A run in which no task ends for so long is given up.
PROGRESS_LIMIT_S = 10.0
PROGRAM, MACHINE, EXPERIMENT = "program.dot", "machine.yaml", "duel.yaml"
FILES = (PROGRAM, MACHINE, EXPERIMENT)


@dataclass(frozen=True)
class Candidate:
    """A program on a machine."""

    sketch: Sketch
    rig: Rig

    def simpler(self) -> Iterator[Candidate]:
        """Yield candidates that lack something or have a simpler value."""
        yield from (replace(self, rig=rig) for rig in self.rig.simpler())
        yield from (replace(self, sketch=sketch) for sketch in self.sketch.simpler())

    def things(self) -> tuple[Machine, Workload]:
        """Return machine and program themselves; the program is not validated."""
        return self.rig.machine("machine"), self.sketch.workload("program", self.rig.kinds)

    def write(self, directory: Path, policies: tuple[str, str]) -> None:
        """Write program, machine, and an experiment that runs two policies."""
        write_dot(self.things()[1], directory / PROGRAM)
        write_text(directory / MACHINE, document_yaml(self.rig.document()))
        experiment = {
            "name": "duel",
            "machines": [MACHINE],
            "workloads": [{"file": PROGRAM}],
            "policies": list(policies),
            "baseline": policies[1],
            "seeds": SEEDS,
        }
        write_text(directory / EXPERIMENT, document_yaml(experiment))


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
    """How long a search may go on."""

    seconds: float
    #: Candidates; None for any number.
    tries: int | None = None
    used: int = 0
    _begin: float = field(default_factory=time.monotonic)

    def take(self) -> bool:
        """Count one more try, if there is one."""
        if self.tries is not None:
            left = self.used < self.tries
        else:
            left = time.monotonic() - self._begin < self.seconds
        self.used += left
        return left


def find_duel(
    policies: tuple[str, str],
    *,
    factor: float = 2.0,
    seed: int = 0,
    budget: Budget,
    output: Path,
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
        How long it goes on; what has been found is made simpler without it.
    output : Path
        Directory for program, machine and an experiment with both policies; nothing is written
        before both engines agree on all events of all runs.
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
    search = _Search(contest, budget, seed)
    with directories(output):
        while (found := search.next()) is not None:
            found = contest.shrunken(found)
            result = _confirmed(found, contest, budget, output)
            if result is not None:
                return result
    if contest.misfits and not contest.has_fit:
        _refuse(contest)
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
        machine, program = candidate.things()
        try:
            ratio = self._of_seed(machine, program, 0)
            if ratio < self.factor:
                return ratio
            return min(ratio, *(self._of_seed(machine, program, n) for n in range(1, SEEDS)))
        except SimschedError:
            return 0.0

    def shrunken(self, candidate: Candidate) -> Candidate:
        """Return a candidate that does well enough, and none that is a little simpler does."""
        changed = True
        while changed:
            changed, place = False, 0
            trials = [*candidate.simpler()]
            while place < len(trials):
                if self.ratio(trials[place]) >= self.factor:
                    candidate, changed = trials[place], True
                    trials = [*candidate.simpler()]
                else:
                    place += 1
        return candidate

    def lacks(self, candidate: Candidate) -> bool:
        """Return whether a candidate lacks what a policy says that it needs."""
        machine, program = candidate.things()
        try:
            return any(stated(machine, program, policy) for policy in self.policies)
        except SimschedError:
            return True

    def _of_seed(self, machine: Machine, program: Workload, seed: int) -> float:
        first, second = (
            self._makespan_ps(machine, program, policy, name, seed)
            for policy, name in zip(self.policies, self.names, strict=True)
        )
        return first / second if second else 0.0

    @staticmethod
    def _makespan_ps(
        machine: Machine, program: Workload, policy: Policy, name: str, seed: int
    ) -> int:
        with explained(policy, name):
            run = simulate(
                machine,
                program,
                bounded(policy),
                seed=seed,
                progress_limit_s=PROGRESS_LIMIT_S,
            )
        if run.misfits:
            raise ConfigurationError(f"{name}: {run.misfits[0]}")
        return run.summary.makespan_ps


class _Search:
    """Candidates that do well enough, one after the other."""

    def __init__(self, contest: _Contest, budget: Budget, seed: int) -> None:
        self._contest, self._budget = contest, budget
        self._rng = np.random.default_rng(seed)
        self._draws = Draws(self._rng)

    def next(self) -> Candidate | None:
        """Return a candidate that does well enough; None where the time is over."""
        factor = self._contest.factor
        while True:
            current, ratio = self._start()
            if current is None or ratio >= factor:
                return current
            idle = 0
            while idle < PATIENCE and ratio < factor:
                trial = self._changed(current)
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
            candidate = Candidate(self._draws.program(), random_rig(self._rng))
            if not self._contest.lacks(candidate):
                break
        return candidate

    def _changed(self, candidate: Candidate) -> Candidate:
        """Return a neighbour: one to three changes of program or machine."""
        for _ in range(1 + int(self._rng.integers(3))):
            if self._rng.integers(2):
                candidate = replace(candidate, sketch=self._draws.changed(candidate.sketch))
            else:
                candidate = replace(candidate, rig=changed_rig(self._rng, candidate.rig))
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
                _refuse(contest)
        if contest.progress is not None:
            contest.progress(budget.used, contest.best)
        return ratio


def _refuse(contest: _Contest) -> NoReturn:
    """Say why two policies fit no candidate: one of them none at all, or both not the same ones."""
    tried = len(contest.misfits)
    whys = [Counter(_why(policy, contest.misfits)) for policy in contest.policies]
    names = [name for name, why in zip(contest.names, whys, strict=True) if why.total() == tried]
    who = ", ".join(names or contest.names)
    chosen = [why for why in whys if why.total() == tried] or [why for why in whys if why]
    reasons = [why.most_common(1)[0][0] for why in chosen] or ["they do not get through a run"]
    raise ConfigurationError(
        f"duel: {who}: found none of {tried} small task graphs and machines to fit, "
        f"accepted: policies of task graphs that can meet; mostly: {'; '.join(reasons)}"
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
    names = tuple(_from_anywhere(name) for name in contest.names)
    with TemporaryDirectory() as place:
        directory = Path(place)
        candidate.write(directory, (names[0], names[1]))
        machine = load_machine(directory / MACHINE)
        program = read_graph_file(directory / PROGRAM, {})
        for policy in contest.policies:
            for seed in range(SEEDS):
                case = compare(machine, program, policy, seed=seed)
                if case.difference or case.refused or case.left_out:
                    return None
        study = Study.from_yaml(read_document(directory / EXPERIMENT))
        cells = (study.cells[:SEEDS], study.cells[SEEDS:])
        first, second = (measure_side(each) for each in cells)
        ratio = contest.ratio(candidate)
        if first.makespan_s < contest.factor * second.makespan_s:
            return None
        for name in FILES:
            write_bytes(output / name, (directory / name).read_bytes())
    return Found(
        (first.makespan_s, second.makespan_s),
        ratio,
        budget.used,
        program.graph.n_tasks,
        Difference(second, first).remarks,
        [output / name for name in FILES],
    )


def _from_anywhere(name: str) -> str:
    """Return the name of a policy that means the same in an experiment in any directory."""
    head, bracket, params = name.partition("[")
    if not is_file_spec(head):
        return name
    return f"{Path(head).expanduser().absolute()}{bracket}{params}"
