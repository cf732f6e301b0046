"""The command that turns traces and samplings of others into recordings and machines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from simsched.cli_output import parse_options
from simsched.errors import ConfigurationError, unknown_name

RECORDING_SUFFIX, MACHINE_SUFFIXES = ".parquet", (".yaml", ".yml")
SAMPLING = "starpu_sampling"
SAMPLING_OPTIONS = (
    "machine",
    "devices",
    "per_device",
    "reserve_drivers",
    "roots",
    "codelets",
    "main_memory",
    "device_memory",
)
_SWITCH = {"yes": True, "true": True, "no": False, "false": False}


def import_command(
    path: Annotated[
        Path, typer.Argument(help="A trace (file or directory), or StarPU's sampling directory.")
    ],
    format: Annotated[  # noqa: A002 (the word users know)
        str | None,
        typer.Option("--format", "-f", metavar="NAME", help="Format; by default from the content."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Recording (.parquet) or machine (.yaml)."
        ),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Option of the format; may be repeated."),
    ] = None,
) -> None:
    """Import a measured run as a recording, or a sampling as a machine; print what is in it."""
    from simsched.machine.importers import is_sampling

    options = parse_options(assignments or [])
    if format == SAMPLING or (format is None and path.is_dir() and is_sampling(path)):
        lines, warnings = _import_sampling(path, output, options)
    else:
        lines, warnings = _import_trace(path, format, output, options)
    for warning in warnings:
        sys.stderr.write(f"simsched: warning: {warning}\n")
    sys.stdout.write("\n".join(lines) + "\n")


def _suffix(output: Path | None, accepted: tuple[str, ...]) -> None:
    """Refuse an output whose name does not fit what is written."""
    if output is not None and output.suffix not in accepted:
        raise ConfigurationError(
            f"--output: found {str(output)!r}, accepted: a name that ends in "
            f"{' or '.join(accepted)}"
        )


def _import_trace(
    path: Path, format_name: str | None, output: Path | None, options: dict[str, object]
) -> tuple[list[str], list[str]]:
    """Import a trace; return what to print and what to warn of."""
    from simsched.trace.importers import import_recording, trace_importers
    from simsched.trace.recording import write_recording

    if format_name is not None and format_name not in trace_importers():
        known = [*trace_importers(), SAMPLING]
        raise ConfigurationError(f"--format: {unknown_name('format', format_name, known)}")
    _suffix(output, (RECORDING_SUFFIX,))
    recording = import_recording(path, format_name, **options)
    lines = _summary(path, recording)
    if output is not None:
        write_recording(output, recording)
        lines.append(str(output))
    return lines, recording.details["warnings"]


def _summary(path: Path, recording: Any) -> list[str]:
    """Return what a recording contains."""
    from simsched.trace.importers import placed_tasks, worker_busy_ps
    from simsched.units import format_time

    time = recording.trace.events["time_ps"]
    span = int(time.max()) if len(time) else 0
    busy = worker_busy_ps(recording.trace, recording.n_workers)
    total = int(busy.sum())
    share = total / (span * recording.n_workers) if span else 0.0
    aside = recording.details["set_aside"]
    lines = [
        f"{path}: recording {recording.name}, format {recording.details['format']}",
        f"tasks {recording.n_tasks} ({placed_tasks(recording.trace)} placed in time), "
        f"classes {len(recording.class_names)}, workers {recording.n_workers}",
        f"span {format_time(span)}, busy {format_time(total)} ({share:.1%} of all workers), "
        f"busiest {recording.worker_names[int(busy.argmax())]} {format_time(int(busy.max()))}",
    ]
    if recording.workload is not None:
        graph = recording.workload.graph
        lines.append(
            f"graph {graph.n_edges} edges, {len(graph.child)} spawns, {graph.n_blocks} blocks, "
            f"{graph.n_accesses} accesses, kinds {', '.join(graph.kinds)}"
        )
    lines.append(f"rows set aside {sum(aside.values())}")
    lines += [f"  {count}: {reason}" for reason, count in aside.items()]
    return lines


def _import_sampling(
    path: Path, output: Path | None, options: dict[str, object]
) -> tuple[list[str], list[str]]:
    """Import a sampling; return what to print and what to warn of."""
    from simsched.atomic import write_atomically
    from simsched.machine.importers import machine_yaml, read_sampling
    from simsched.trace.parquet import write_rows

    _suffix(output, MACHINE_SUFFIXES)
    for name in options:
        if name not in SAMPLING_OPTIONS:
            what = f"option of format {SAMPLING}"
            raise ConfigurationError(unknown_name(what, name, SAMPLING_OPTIONS))
    for name in ("per_device", "reserve_drivers"):
        if name in options:
            if options[name] not in _SWITCH:
                found = f"--set {name}: found {options[name]!r}"
                raise ConfigurationError(f"{found}, accepted yes or no")
            options[name] = _SWITCH[str(options[name])]
    machine: Any = options.pop("machine", None)
    sampling = read_sampling(path, machine)
    given: dict[str, Any] = dict(options)
    text = machine_yaml(sampling.bus, sampling.costs, **given)
    bus, costs = sampling.bus, sampling.costs
    devices = ", ".join(f"{count} {kind}" for kind, count in bus.devices.items() if count)
    lines = [
        f"{path}: sampling of {bus.name}: {bus.n_cpus} cores, devices {devices or 'none'}",
        f"costs {len(costs.costs)} of {len(costs.codelets)} codelets",
        f"files set aside {len(costs.refused)}, without samples {len(costs.empty)}",
    ]
    if output is not None:
        write_atomically(output, lambda temporary: _write(temporary, text))
        lines.append(str(output))
        if costs.costs:
            table = output.with_suffix(".costs.parquet")
            write_rows(table, costs.rows())
            lines.append(str(table))
    return lines, list(sampling.warnings)


def _write(path: Path, text: str) -> None:
    """Write text."""
    path.write_text(text, encoding="utf-8")
