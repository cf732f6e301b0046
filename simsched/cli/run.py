"""What the commands that run experiments share."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import typer

from simsched.cli.options import (
    AssignmentsOption,
    BackendOption,
    ExperimentArgument,
    JobsOption,
    OtherMachines,
    OtherPolicies,
    OtherWorkloads,
    StrictOption,
)
from simsched.cli.output import JsonOption, QuietOption, console_on, warn

if TYPE_CHECKING:
    from pathlib import Path

    from simsched.experiment.study import Study
    from simsched.report.result import Result


@dataclass(frozen=True)
class StudyOptions:
    """What all commands with an experiment are told: which, what to change in it, and how."""

    file: ExperimentArgument
    machines: OtherMachines = None
    workloads: OtherWorkloads = None
    policies: OtherPolicies = None
    assignments: AssignmentsOption = None
    as_json: JsonOption = False
    quiet: QuietOption = False
    backend: BackendOption = None
    strict: StrictOption = False

    def words(self) -> list[str]:
        """Return the words of a command line that decide what comes out."""
        words = [self.file]
        for option, values in (
            ("--machine", self.machines),
            ("--workload", self.workloads),
            ("--policy", self.policies),
            ("--set", self.assignments),
            ("--backend", self.backend and [self.backend]),
        ):
            words += [word for value in values or () for word in (option, value)]
        return words

    def study(self) -> Study:
        """Return the experiment with what the command line changes."""
        from simsched import api
        from simsched.experiment.overrides import Change, Origin, assignments
        from simsched.experiment.study import Study

        changes = assignments(self.assignments or ())
        if self.backend is not None:
            changes.append(Change("backend", self.backend, Origin("--backend", with_key=False)))
        return Study.from_words(
            api.load_experiment(self.file),
            changes,
            machines=self.machines or (),
            workloads=self.workloads or (),
            policies=self.policies or (),
        )


@dataclass(frozen=True)
class ExperimentOptions(StudyOptions):
    """What all commands are told that run an experiment as a whole."""

    jobs: JobsOption = None


def with_shared_options(command: Callable[..., None]) -> Callable[..., None]:
    """Make the fields of a command's first argument, a dataclass, options of the command."""
    first, *own = inspect.signature(command, eval_str=True).parameters.values()
    shared = inspect.signature(first.annotation, eval_str=True).parameters

    @wraps(command)
    def spread(**values: Any) -> None:
        given = {name: values.pop(name) for name in shared}
        command(first.annotation(**given), **values)

    spread.__signature__ = inspect.Signature([*shared.values(), *own])  # type: ignore[attr-defined]
    return spread


def run_file(
    asked: ExperimentOptions, place: Callable[[Study], Path | None] | None = None, **how: Any
) -> Result:
    """Run an experiment with what the command line changes, and further run options.

    `place` returns the directory of its results, if it has one.
    """
    from simsched import api
    from simsched.experiment.progress import ProgressBar
    from simsched.experiment.runner import RunOptions

    console = console_on(sys.stderr)
    progress = None if asked.quiet else lambda total: ProgressBar(total, console)
    with interruptible(quiet=asked.quiet):
        study = asked.study()
        if place is not None:
            how["output"] = place(study)
        hear = partial(warn, quiet=asked.quiet)
        options = RunOptions(asked.jobs, progress=progress, strict=asked.strict, warn=hear, **how)
        return api.run_study(study, options)


@contextmanager
def interruptible(*, quiet: bool) -> Iterator[None]:
    """End the command where the user interrupts it, saying how to go on unless `quiet`."""
    from simsched.experiment.runner import Interrupted

    try:
        yield
    except Interrupted as stop:
        if not quiet:
            with suppress(OSError):  # a terminal that was closed
                sys.stderr.write(f"simsched: {stop}; the same command continues\n")
        raise typer.Abort from None
