"""The command that lists what there is by name."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from simsched.cli import names as completion
from simsched.cli.output import JsonOption, QuietOption, print_json, say, warn
from simsched.files.errors import ConfigurationError, unknown_name


def list_command(
    kind: Annotated[
        str,
        typer.Argument(
            help="machines, workloads, policies, placements, experiments, measurements, claims, "
            "metrics, probes or formats.",
            autocompletion=completion.kind,
        ),
    ],
    family: Annotated[
        str | None, typer.Option("--family", metavar="NAME", help="Only what belongs to a family.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--source", metavar="TEXT", help="Only what has this text in its source."),
    ] = None,
    machine_kind: Annotated[
        str | None,
        typer.Option(
            "--machine-kind",
            metavar="KIND",
            help="Only what is for numa, hybrid_memory, asymmetric, accelerator or uniform "
            "machines.",
        ),
    ] = None,
    fits: Annotated[
        str | None,
        typer.Option(
            "--fits",
            metavar="WORKLOAD,MACHINE",
            help="Only policies that have something to decide there.",
        ),
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    as_markdown: Annotated[
        bool,
        typer.Option(
            "--markdown",
            help="Print a document, such as those of machines and policies in docs/.",
        ),
    ] = False,
) -> None:
    """List what there is by name."""
    from simsched.report import json_document, markdown, terminal
    from simsched.report.show.kinds import KINDS, describe_kind

    if kind not in KINDS:
        raise ConfigurationError(unknown_name("kind", kind, KINDS))
    if as_json and as_markdown:
        raise ConfigurationError("--markdown: found --json too, accepted one of them")
    names, left_out = _chosen(kind, family, source, machine_kind, fits)
    warn(_grouped(left_out), quiet=quiet)
    found = describe_kind(kind, full=as_markdown, names=names)
    if as_markdown:
        sys.stdout.write(markdown.document(found))
    elif as_json:
        print_json(json_document.document(found))
    else:
        say(terminal.table(found.data, kind))


def _chosen(
    kind: str, family: str | None, source: str | None, machine_kind: str | None, fits: str | None
) -> tuple[set[str] | None, dict[str, tuple[str, ...]]]:
    """Return the names of what is asked for, None for all, and why others do not fit."""
    if (family, source, machine_kind, fits) == (None, None, None, None):
        return None, {}
    from simsched.report.show.filters import fits_of_policies, names_with

    chosen: set[str] | None = None
    if (family, source, machine_kind) != (None, None, None):
        chosen = names_with(kind, family, source, machine_kind)
    if fits is None:
        return chosen, {}
    if kind != "policies":
        raise ConfigurationError(f"--fits: found with {kind}, accepted with policies")
    reasons = fits_of_policies(fits, chosen)
    return {name for name, why in reasons.items() if not why}, {
        name: why for name, why in reasons.items() if why
    }


def _grouped(reasons: Mapping[str, Sequence[str]]) -> list[str]:
    """Return what is left out and why, a line for each reason."""
    names: dict[str, list[str]] = {}
    for name, why in reasons.items():
        names.setdefault("; ".join(why), []).append(name)
    return [f"left out: {', '.join(several)}: {why}" for why, several in names.items()]
