"""Options that several commands have."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated

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


ExperimentArgument = Annotated[
    str,
    typer.Argument(
        help="Experiment: a YAML file or a shipped name.", autocompletion=names.experiment
    ),
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
        help="Processes; by default one per core.",
    ),
]
RecomputeOption = Annotated[
    bool, typer.Option("--recompute", help="Repeat runs that are stored already.")
]
AssignmentsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a value; may be repeated.",
        autocompletion=names.key,
    ),
]
#: In place of what an experiment has.
OtherMachines = Annotated[
    list[str] | None,
    typer.Option(
        "--machine",
        "-m",
        metavar="NAME",
        help="Instead of the experiment's machines; may be repeated.",
        autocompletion=names.machine,
    ),
]
OtherWorkloads = Annotated[
    list[str] | None,
    typer.Option(
        "--workload",
        "-w",
        metavar="SPEC",
        help="Instead of the experiment's workloads; may be repeated.",
        autocompletion=names.workload,
    ),
]
OtherPolicies = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        "-p",
        metavar="SPEC",
        help="Instead of the experiment's policies; may be repeated.",
        autocompletion=names.policy,
    ),
]
#: Of what there is.
OnlyMachines = Annotated[
    list[str] | None,
    typer.Option(
        "--machine",
        "-m",
        metavar="NAME",
        help="Only this machine; may be repeated.",
        autocompletion=names.machine,
    ),
]
OnlyPolicies = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        "-p",
        metavar="NAME",
        help="Only this policy; may be repeated.",
        autocompletion=names.policy,
    ),
]
