"""The commands that show one machine, workload or policy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simsched.cli import names
from simsched.cli.options import OverwriteOption
from simsched.cli.output import (
    FIGURES,
    JsonOption,
    QuietOption,
    check_output,
    examples,
    print_json,
    say_files,
)
from simsched.files.bounded import noticing_paths

if TYPE_CHECKING:
    from simsched.report.description import Description

show_app = typer.Typer(
    help="Show one machine, workload or policy.",
    short_help="Show one machine, workload or policy.",
    no_args_is_help=True,
    epilog=examples(
        "show machine knl_snc4_flat",
        "show workload heat_16gb",
        "show policy bats",
    ),
)


@show_app.command(
    "machine",
    short_help="Print a machine as a tree, or draw it.",
    epilog=examples(
        "show machine opteron48",
        "show machine my_machine.yaml --draw my_machine.png",
        "show machine knl_snc4_flat --json",
    ),
)
def show_machine(
    name: Annotated[
        str,
        typer.Argument(help="A shipped machine or a YAML file.", autocompletion=names.machine),
    ],
    draw: Annotated[
        Path | None, typer.Option("--draw", metavar="PNG", help="Write a drawing instead.")
    ] = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Print a machine as a tree, every number with its source, or draw it."""
    from simsched.machine import load_machine
    from simsched.report.show.machine import machine_description

    del quiet  # there is nothing but the result
    if draw is None:
        _say("machine", name, lambda: machine_description(load_machine(name)), as_json=as_json)
        return
    from simsched.machine.draw import draw_machine
    from simsched.report.uses import saying_use

    check_output(draw, *FIGURES, overwrite=overwrite, option="--draw")
    accepted = "a machine, by name or in a file"
    with saying_use(name, accepted, "machine"), noticing_paths(name, accepted):
        machine = load_machine(name)
    draw_machine(machine, draw)
    say_files([draw], as_json=as_json)


def _say(kind: str, name: str, describe: Callable[[], Description], *, as_json: bool) -> None:
    """Print a description of something that has a name or is in a file."""
    from simsched.report import json_document, terminal
    from simsched.report.uses import saying_use

    accepted = f"a {kind}, by name or in a file"
    kinds = {
        "machine": ("machine",),
        "policy": ("code",),
        "workload": ("graph", "workload", "code"),
    }
    with saying_use(name, accepted, *kinds[kind]), noticing_paths(name, accepted):
        found = describe()
    if as_json:
        print_json(json_document.document(found))
    else:
        sys.stdout.write(terminal.text(found) + "\n")


@show_app.command(
    "workload",
    short_help="Print the parameters and the size of a workload.",
    epilog=examples(
        "show workload heat_16gb",
        "show workload 'heat[rows=1024, leaf_bytes=256 KiB]'",
        "show workload cholesky --json",
        "show workload 'my.dot[cost=size, cost_unit=ops]'",
        "show workload my_workload.py",
    ),
)
def show_workload(
    name: Annotated[
        str,
        typer.Argument(
            help="A preset, a generator or a task graph file, also with parameters, or a .py file.",
            autocompletion=names.workload,
        ),
    ],
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Print the parameters of a workload and the size of its task graph."""
    from simsched.report.show.workload import named_workload

    del quiet  # there is nothing but the result
    _say("workload", name, lambda: named_workload(name), as_json=as_json)


@show_app.command(
    "policy",
    short_help="Print the documentation and parameters of a policy.",
    epilog=examples(
        "show policy bats",
        "show policy 'cilk[placement=interleave]'",
        "show policy my_policy.py --json",
    ),
)
def show_policy(
    name: Annotated[
        str,
        typer.Argument(
            help="A policy or a preset of one, also with parameters, or a .py file.",
            autocompletion=names.policy,
        ),
    ],
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Print the documentation of a policy and its parameters."""
    from simsched.report.show.policy import named_policy

    del quiet  # there is nothing but the result
    _say("policy", name, lambda: named_policy(name), as_json=as_json)
