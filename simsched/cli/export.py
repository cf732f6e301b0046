"""The command that writes task graphs and runs in the formats of other programs."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simsched.cli import names
from simsched.cli.options import OverwriteOption, Words, format_read, repeatable
from simsched.cli.output import (
    JsonOption,
    QuietOption,
    check_output,
    parse_options,
    print_json,
    warn,
)
from simsched.files.bounded import is_directory, is_there, noticing_paths, unreadable
from simsched.files.errors import ConfigurationError, TraceError, unknown_name

if TYPE_CHECKING:
    from simsched.workload import Workload

RECORDING_SUFFIX = ".parquet"
GRAPH_FORMATS = ("graphml", "dot")


def export_command(
    source: Annotated[
        str,
        typer.Argument(
            help="A run: a recording or events (.parquet), or a trace that can be imported. "
            "A task graph: a preset, a generator or a graph file, also with parameters.",
            autocompletion=names.workload,
        ),
    ],
    file: Annotated[Path | None, typer.Argument(help="The file; the same as --output.")] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="FORMAT",
            help="graphml or dot; of runs also chrome, paje, parquet. By default from the file's "
            "suffix.",
            autocompletion=names.run_format,
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The file.")
    ] = None,
    format: Annotated[  # noqa: A002 (the word users know)
        str | None,
        format_read(
            "Format of a trace or graph file that is read; by default from its ending or content.",
            names.read_format,
        ),
    ] = None,
    assignments: Annotated[
        Words, repeatable("--set", "NAME=NUMBER", "Option of the format that is written")
    ] = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write a run or a task graph to a file that other programs open."""
    if (file is None) == (output is None):
        found = "neither" if file is None else "both"
        raise ConfigurationError(f"export: found {found} of FILE and --output, accepted one")
    target = file if file is not None else output
    assert target is not None
    check_output(target, overwrite=overwrite)
    _refuse_results(Path(source))
    _check_formats(to, format)
    if _is_a_run(source, format) or not _takes_graphs(to, target):
        options = parse_options(assignments or [], whole=True)
        warnings = _export_run(source, target, to, format, options)
    else:
        if assignments:
            raise ConfigurationError("--set: found with a task graph, accepted with a run")
        warnings = []
        with noticing_paths(source, "a trace, or a task graph by name or in a file"):
            _export_graph(source, target, to, format)
    warn([f"{target}: {warning}" for warning in warnings], quiet=quiet)
    if as_json:
        print_json({"files": [str(target)], "warnings": warnings})
    else:
        sys.stdout.write(f"{target}\n")


def _refuse_results(source: Path) -> None:
    """Raise ConfigurationError for a directory that no trace is in: of results, or named a file."""
    from simsched.experiment.query import RUNS

    if not is_directory(source):
        return
    accepted = "one run: a recording or events (.parquet), or a trace that can be imported"
    if source.suffix == RECORDING_SUFFIX:
        raise ConfigurationError(f"{source}: found a directory, accepted: {accepted}")
    if (source / RUNS).exists() or next(source.glob(f"*/{RUNS}"), None):
        raise ConfigurationError(
            f"{source}: found a directory of results, accepted: one run of it, such as "
            f"events/KEY{RECORDING_SUFFIX} (simsched run --events keeps these)"
        )


def _check_formats(to: str | None, read_as: str | None) -> None:
    """Raise ConfigurationError for names of formats that nobody writes or reads."""
    from simsched.trace.exporters import exporters
    from simsched.trace.importers import trace_importers
    from simsched.workload.importers import importers

    if to is not None and to not in exporters():
        raise ConfigurationError(f"--to: {unknown_name('format', to, exporters())}")
    known = {*trace_importers(), *importers()}
    if read_as is not None and read_as not in known:
        raise ConfigurationError(f"--format: {unknown_name('format', read_as, known)}")


def _takes_graphs(to: str | None, target: Path) -> bool:
    """Say whether a task graph may be written, not runs only."""
    from simsched.trace.exporters import exporters

    if to is not None:
        return to in GRAPH_FORMATS
    only_runs = (known for name, known in exporters().items() if name not in GRAPH_FORMATS)
    return not any(known.has_suffix(target) for known in only_runs)


def _is_a_run(source: str, read_as: str | None) -> bool:
    """Say whether a source is a recording, or a trace and no task graph file."""
    from simsched.trace.importers import recognise
    from simsched.workload.graph_files import graph_file_spec
    from simsched.workload.importers import format_of, importers

    if source.endswith(RECORDING_SUFFIX):
        return True
    if read_as is not None:
        return read_as not in importers()
    path = Path(graph_file_spec(source).name)
    if not is_there(path) or (not is_directory(path) and format_of(path) is not None):
        return False
    with suppress(TraceError):
        return bool(recognise(path))
    return False


def _export_run(
    source: str, target: Path, to: str | None, read_as: str | None, options: dict[str, object]
) -> list[str]:
    from simsched.trace.exporters import export_recording, open_recording
    from simsched.trace.importers import import_recording
    from simsched.workload.graph_files import graph_file_spec

    if source.endswith(RECORDING_SUFFIX):
        if read_as is not None:
            raise ConfigurationError("--format: found with a recording, accepted: with a trace")
        return export_recording(open_recording(Path(source)), target, to, **options)
    name, meant = graph_file_spec(source)
    path = Path(name)
    if not is_there(path):
        known = "a run: its recording (.parquet) or a trace; task graphs are graphml or dot"
        message = f"{unreadable(path, FileNotFoundError())}; accepted: {known}"
        raise ConfigurationError(message)
    recording = import_recording(path, read_as, **meant)
    warnings: list[str] = recording.details["warnings"]
    return [*warnings, *export_recording(recording, target, to, **options)]


def _export_graph(source: str, target: Path, to: str | None, read_as: str | None) -> None:
    from simsched.workload.importers import write_dot, write_graphml

    writers = {"graphml": write_graphml, "dot": write_dot}
    chosen = to if to is not None else target.suffix.removeprefix(".")
    if chosen not in writers:
        accepted = "a name that ends in .graphml or .dot"
        raise ConfigurationError(
            f"{target}: found the suffix {target.suffix!r}, accepted: {accepted} (for a run also "
            ".json, .paje and .parquet)"
        )
    writers[chosen](_any_workload(source, read_as), target)


def _any_workload(name: str, read_as: str | None) -> Workload:
    """Return the workload of a preset, generator or file, whose name may end in anything."""
    from simsched.names.user_code import is_file_spec
    from simsched.workload.graph_files import graph_file_spec, is_graph_file, read_graph_file
    from simsched.workload.presets import is_preset_file, make_workload

    path, options = graph_file_spec(name)
    is_graph = Path(path).is_file() and not is_file_spec(name) and not is_preset_file(path)
    if read_as is None:
        return read_graph_file(Path(path), options) if is_graph else make_workload(name)
    if not is_graph and not is_graph_file(name):
        raise ConfigurationError(
            f"--format: found with the workload {name}, accepted: with a task graph file"
        )
    if "format" in options:
        raise ConfigurationError("--format: found beside the option format of the file")
    return read_graph_file(Path(path), {**options, "format": read_as})
