"""The command that holds simulations against measured runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simsched.cli import names
from simsched.cli.options import OverwriteOption, at_least_one, format_read
from simsched.cli.output import JsonOption, QuietOption, print_json, say, warn
from simsched.files.errors import ConfigurationError

if TYPE_CHECKING:
    from simsched.hardware.replay import Replay


def validate_command(
    measured: Annotated[
        Path,
        typer.Argument(help="Directory of `simsched measure`, or one run: a recording or trace."),
    ],
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine",
            "-m",
            metavar="FILE",
            help="Machine, such as `simsched calibrate` writes.",
            autocompletion=names.machine,
        ),
    ] = None,
    policies: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="SPEC",
            help="One run: who schedules, repeatable; else as recorded.",
            autocompletion=names.policy,
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            "--runs",
            metavar="N",
            parser=at_least_one("--runs"),
            help="One run: simulations with other seeds.",
            show_default="11",
        ),
    ] = None,
    format: Annotated[  # noqa: A002 (the word users know)
        str | None,
        format_read("One trace: its format; by default from the content.", names.trace_format),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="One trace: option of its format."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="A set: write report, plot and JSON."),
    ] = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Simulate measured runs and report how far off the simulation is.

    A set of runs is simulated on a calibrated machine under the policies that were measured. One
    run, also a trace of others, is replayed as recorded, or under policies on a machine.
    """
    from simsched.hardware.measurements import INDEX

    if output is not None:
        from simsched.files.atomic import refuse_existing
        from simsched.report.validation import FILES

        refuse_existing([output / name for name in FILES], overwrite=overwrite)
    is_set = (measured / INDEX).exists() or (measured.is_dir() and machine is not None)
    one_run = {"--policy": policies, "--runs": runs, "--format": format, "--set": assignments}
    for name, value in one_run.items():
        if is_set and value not in (None, []):
            raise ConfigurationError(f"{name}: found with a set of runs, accepted: with one run")
    if is_set:
        _validate_set(measured, machine, output, as_json=as_json, quiet=quiet)
        return
    if output is not None:
        raise ConfigurationError("--output: found with one run, accepted: with a set of runs")
    replays = _replay(measured, machine, policies or [None], runs, format, assignments or [])
    warn(replays[0].warnings, quiet=quiet)  # they are the trace's, the same for every policy
    _show(replays, as_json=as_json)


def _show(replays: list[Replay], *, as_json: bool) -> None:
    """Print one run beside its simulations."""
    if as_json:
        documents = [found.as_json() for found in replays]
        print_json(documents[0] if len(documents) == 1 else {"replays": documents})
        return
    for found in replays:
        say(found.table())
        for sentence in found.used:
            sys.stdout.write(f"used: {sentence}\n")


def _validate_set(
    directory: Path, machine: str | None, output: Path | None, *, as_json: bool, quiet: bool
) -> None:
    """Compare a set of runs and print or write the report."""
    from simsched.hardware.measurements import read_measurements
    from simsched.hardware.validation import validate_measurements
    from simsched.machine import load_machine
    from simsched.report.validation import summary_lines, validation_table, write_report

    if machine is None:
        raise ConfigurationError(
            "--machine: missing, accepted: a machine that `simsched calibrate` has written"
        )
    found = validate_measurements(read_measurements(directory), load_machine(machine))
    paths = write_report(found, output) if output is not None else []
    warn(found.warnings, quiet=quiet)
    if as_json:
        print_json(found.as_json())
    else:
        say(validation_table(found))
        for line in [*summary_lines(found), *map(str, paths)]:
            sys.stdout.write(f"{line}\n")


def _replay(
    path: Path,
    machine: str | None,
    policies: Sequence[str | None],
    runs: int | None,
    format_name: str | None,
    assignments: list[str],
) -> list[Replay]:
    """Return replays of a recording, or of a trace that is imported first: one per policy."""
    from simsched.cli.imports import RECORDING_SUFFIX
    from simsched.cli.output import parse_options
    from simsched.hardware.replay import RUNS, replay
    from simsched.machine import load_machine
    from simsched.policy import make_policy
    from simsched.trace.importers import import_recording
    from simsched.trace.recording import read_recording

    options = parse_options(assignments)
    target = None if machine is None else load_machine(machine)
    for policy in policies:
        if policy is not None:
            make_policy(policy)  # a wrong one is told before a long file is read
    if path.suffix == RECORDING_SUFFIX:
        for name, value in (("--set", options), ("--format", format_name)):
            if value:
                raise ConfigurationError(f"{name}: found with a recording, accepted: with a trace")
        recording = read_recording(path)
    else:
        recording = import_recording(path, format_name, **options)
    times = RUNS if runs is None else runs
    return [replay(recording, target, policy, runs=times) for policy in policies]
