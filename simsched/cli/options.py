"""Options that several commands have."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any

import typer

from simsched.cli import names
from simsched.files.errors import ConfigurationError

_WHOLE = re.compile(r"[+-]?\d{1,4000}", re.ASCII)


def at_least_one(option: str) -> Callable[[str | int], int]:
    """Return what reads the value of an option that is a number of something."""

    def parse(value: str | int) -> int:
        text = str(value).strip()
        is_whole = _WHOLE.fullmatch(text) is not None
        if not is_whole or int(text) < 1:
            found = text if is_whole else repr(value)
            accepted = "a whole number, 1 or more"
            raise ConfigurationError(f"{option}: found {found}, accepted: {accepted}")
        return int(text)

    return parse


def repeatable(words: str, metavar: str, text: str, complete: names.Complete | None = None) -> Any:
    """Return an option that may be given several times; `text` begins its help."""
    return typer.Option(
        *words.split(),
        metavar=metavar,
        help=f"{text}; may be repeated.",
        autocompletion=complete,
    )


def format_read(text: str, complete: names.Complete) -> Any:
    """Return the option that names the format of a file; `text` is its help."""
    return typer.Option("--format", "-f", metavar="NAME", help=text, autocompletion=complete)


ExperimentArgument = Annotated[
    str,
    typer.Argument(
        help="Experiment: a YAML file or a shipped name.", autocompletion=names.experiment
    ),
]
#: Of runs that are named by their policy.
ExperimentOption = Annotated[
    str | None,
    typer.Option(
        "--experiment",
        "-e",
        metavar="FILE",
        help="Experiment of a run that names none: a YAML file or a shipped name.",
        autocompletion=names.experiment,
    ),
]
OverwriteOption = Annotated[
    bool, typer.Option("--overwrite", help="Replace files that are there already.")
]
BackendOption = Annotated[
    str | None,
    typer.Option(
        "--backend",
        help="Engine: native or simpy.",
        metavar="NAME",
        autocompletion=names.backend,
    ),
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        parser=at_least_one("--jobs"),
        help="Processes; by default up to one per core, if runs take long.",
    ),
]
RecomputeOption = Annotated[
    bool, typer.Option("--recompute", help="Repeat runs that are stored already.")
]
StrictOption = Annotated[
    bool,
    typer.Option("--strict", help="Refuse runs whose policy has nothing to decide, or falls back."),
]
WidthOption = Annotated[
    str | None,
    typer.Option(
        "--width",
        metavar="LENGTH",
        help="Of figures that are written: 85 mm, 3.5 in, single_column, double_column, ...",
    ),
]
Words = list[str] | None
AssignmentsOption = Annotated[Words, repeatable("--set", "KEY=VALUE", "Change a value", names.key)]
#: In place of what an experiment has.
OtherMachines = Annotated[
    Words, repeatable("--machine -m", "NAME", "Instead of the experiment's machines", names.machine)
]
OtherWorkloads = Annotated[
    Words,
    repeatable("--workload -w", "SPEC", "Instead of the experiment's workloads", names.workload),
]
OtherPolicies = Annotated[
    Words, repeatable("--policy -p", "SPEC", "Instead of the experiment's policies", names.policy)
]
#: Of what there is.
OnlyMachines = Annotated[
    Words, repeatable("--machine -m", "NAME", "Only this machine", names.machine)
]
OnlyPolicies = Annotated[Words, repeatable("--policy -p", "NAME", "Only this policy", names.policy)]
