"""The commands for those who write experiments: a starter, and schemas for editors."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from simsched.cli import names
from simsched.cli.options import OverwriteOption
from simsched.cli.output import JsonOption, QuietOption, check_output, say_files


def init_command(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where; the working directory by default.")
    ] = Path(),
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write a commented experiment to start from, and the schema that editors check it with.

    Files that exist are never replaced.
    """
    from simsched.report.starter import write_starter

    files = write_starter(directory)
    say_files(files, as_json=as_json)
    if not (as_json or quiet):
        sys.stderr.write(f"simsched: next: simsched run {files[0]}\n")


def schema_command(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="experiment, machine, workload, measurement or claims.",
            autocompletion=names.file_kind,
        ),
    ] = "experiment",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it to a file.")
    ] = None,
    overwrite: OverwriteOption = False,
    quiet: QuietOption = False,
) -> None:
    """Print the JSON Schema of a kind of YAML file, with which editors complete and check it.

    A first line "# yaml-language-server: $schema=FILE" says where the schema of a YAML file is.
    """
    from simsched.files.atomic import write_text
    from simsched.report.json_schema import schema_of

    del quiet  # there is nothing but the result
    check_output(output, overwrite=overwrite)
    text = json.dumps(schema_of(kind), indent=1, allow_nan=False) + "\n"
    if output is None:
        sys.stdout.write(text)
    else:
        write_text(output, text)
        sys.stdout.write(f"{output}\n")
