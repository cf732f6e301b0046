"""The command that turns what others have measured into recordings and machines."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from simsched.cli import names
from simsched.cli.options import OverwriteOption, Words, format_read, repeatable
from simsched.cli.output import (
    JsonOption,
    QuietOption,
    parse_options,
    print_json,
    warn,
)
from simsched.files.atomic import refuse_existing
from simsched.files.errors import ConfigurationError, GraphError, TraceError, unknown_name

RECORDING_SUFFIX, MACHINE_SUFFIXES = ".parquet", (".yaml", ".yml")
SAMPLING = "starpu_sampling"


def import_command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="A trace (file or directory), StarPU's sampling directory, or files about one "
            "machine: hwloc, lscpu, numactl, MLC, ...",
        ),
    ],
    format: Annotated[  # noqa: A002 (the word users know)
        str | None, format_read("Format; by default from the content.", names.trace_format)
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Recording (.parquet) or machine (.yaml)."
        ),
    ] = None,
    assignments: Annotated[Words, repeatable("--set", "NAME=VALUE", "Option of the format")] = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Import a measured run as a recording, or facts as a machine; print what is in it."""
    from simsched.machine.importers import is_sampling

    options, path = parse_options(assignments or []), paths[0]
    is_machine = output is not None and output.suffix in MACHINE_SUFFIXES
    if output is not None:
        written = [output, _costs_beside(output)] if is_machine else [output]
        refuse_existing(written, overwrite=overwrite)
    if _are_facts(paths, format, is_machine):
        found = _import_facts(paths, format, output, options)
    elif len(paths) > 1:
        raise ConfigurationError(
            f"{paths[1]}: found a second path, accepted several only of files about a machine"
        )
    elif format == SAMPLING or (format is None and path.is_dir() and is_sampling(path)):
        found = _import_sampling(path, output, options)
    else:
        found = _import_trace(path, format, output, options)
    warn(found.warnings, quiet=quiet)
    if as_json:
        files = [str(file) for file in found.files]
        print_json({**found.content, "files": files, "warnings": found.warnings})
    else:
        sys.stdout.write("\n".join([*found.lines, *map(str, found.files)]) + "\n")


@dataclass(frozen=True)
class Imported:
    """What was read: as lines, as plain data, what to warn of, and what was written."""

    lines: list[str]
    content: dict[str, Any]
    warnings: list[str]
    files: list[Path]


def _costs_beside(output: Path) -> Path:
    """Return where the table of costs of a sampling goes."""
    return output.with_suffix(".costs.parquet")


def _suffix(output: Path | None, accepted: tuple[str, ...]) -> None:
    """Refuse an output whose name does not fit what is written."""
    if output is not None and output.suffix not in accepted:
        raise ConfigurationError(
            f"--output: found {str(output)!r}, accepted: a name that ends in "
            f"{' or '.join(accepted)}"
        )


def _import_trace(
    path: Path, format_name: str | None, output: Path | None, options: dict[str, object]
) -> Imported:
    from simsched.machine.facts import fact_formats
    from simsched.names.formats import taken_for
    from simsched.trace.importers import import_recording, recognise, trace_importers
    from simsched.trace.recording import write_recording

    if format_name is not None and format_name not in trace_importers():
        known = [*trace_importers(), *fact_formats(), SAMPLING]
        raise ConfigurationError(f"--format: {unknown_name('format', format_name, known)}")
    _suffix(output, (RECORDING_SUFFIX,))
    others = [*fact_formats(), SAMPLING]
    try:
        chosen, why = format_name or recognise(path, others), None if format_name else "contents"
    except TraceError:
        _refuse_graphs(path)
        raise
    with taken_for(chosen, why, TraceError, GraphError):
        recording = import_recording(path, chosen, **options)
    if output is not None:
        write_recording(output, recording)
    files = [] if output is None else [output]
    content = _content(path, recording)
    return Imported(_summary(content), content, list(recording.details["warnings"]), files)


def _refuse_graphs(path: Path) -> None:
    """Raise ConfigurationError for a task graph that says nothing of an execution."""
    from simsched.files.bounded import is_directory, is_there
    from simsched.trace.importers import trace_importers
    from simsched.workload.importers import format_of

    found = format_of(path) if is_there(path) and not is_directory(path) else None
    if found is not None and found not in trace_importers():
        raise ConfigurationError(
            f"{path}: found a task graph ({found}), accepted a trace; task graphs are workloads: "
            "simsched check FILE, simsched run --workload FILE"
        )


def _content(path: Path, recording: Any) -> dict[str, Any]:
    """Return what a recording contains as plain data."""
    from simsched.trace.importers import placed_tasks, worker_busy_ps

    time = recording.trace.events["time_ps"]
    busy = worker_busy_ps(recording.trace, recording.n_workers)
    graph = None if recording.workload is None else recording.workload.graph
    return {
        "source": str(path),
        "recording": recording.name,
        "format": recording.details["format"],
        "tasks": recording.n_tasks,
        "placed_tasks": int(placed_tasks(recording.trace)),
        "classes": len(recording.class_names),
        "workers": recording.n_workers,
        "span_ps": int(time.max()) if len(time) else 0,
        "busy_ps": int(busy.sum()),
        "busiest": recording.worker_names[int(busy.argmax())],
        "busiest_ps": int(busy.max()),
        "graph": None
        if graph is None
        else {
            "edges": graph.n_edges,
            "spawns": len(graph.child),
            "blocks": graph.n_blocks,
            "accesses": graph.n_accesses,
            "kinds": list(graph.kinds),
        },
        "other_events": recording.details.get("other_events", {}),
        "set_aside": {why: int(count) for why, count in recording.details["set_aside"].items()},
    }


def _summary(found: dict[str, Any]) -> list[str]:
    """Return what a recording contains in lines of text."""
    from simsched.files.units import format_time, plural

    span, busy, graph, aside = (found[key] for key in ("span_ps", "busy_ps", "graph", "set_aside"))
    share = busy / (span * found["workers"]) if span else 0.0
    lines = [
        f"{found['source']}: recording {found['recording']}, format {found['format']}",
        f"tasks {found['tasks']} ({found['placed_tasks']} placed in time), "
        f"classes {found['classes']}, workers {found['workers']}",
        f"span {format_time(span)}, busy {format_time(busy)} ({share:.1%} of all workers), "
        f"busiest {found['busiest']} {format_time(found['busiest_ps'])}",
    ]
    if graph is not None:
        lines.append(
            f"graph {plural(graph['edges'], 'edge')}, {plural(graph['spawns'], 'spawn')}, "
            f"{plural(graph['blocks'], 'block')}, "
            f"{plural(graph['accesses'], 'access', 'accesses')}, kinds {', '.join(graph['kinds'])}"
        )
    if others := found["other_events"]:
        each = ", ".join(f"{count} {kind}" for kind, count in others.items())
        lines.append(f"events that are no tasks {sum(others.values())}: {each}")
    lines.append(f"rows set aside {sum(aside.values())}")
    return lines + [f"  {count}: {reason}" for reason, count in aside.items()]


def _are_facts(paths: list[Path], format_name: str | None, is_machine: bool) -> bool:
    """Say whether files are about a machine: several are, and one that is recognised.

    So is any file where the output is a machine.
    """
    from simsched.files.bounded import is_there, unreadable
    from simsched.machine.facts import fact_formats, recognised

    if format_name is not None:
        return format_name in fact_formats()
    missing = [path for path in paths if not is_there(path)]
    if missing:
        raise ConfigurationError(unreadable(missing[0], FileNotFoundError()))
    files = [path for path in paths if is_there(path) and not path.is_dir()]
    return (is_machine and bool(files)) or any(recognised(path) is not None for path in files)


def _import_facts(
    paths: list[Path], format_name: str | None, output: Path | None, options: dict[str, object]
) -> Imported:
    from simsched.files.atomic import write_text
    from simsched.machine.facts import described

    _suffix(output, MACHINE_SUFFIXES)
    if options:
        name = next(iter(options))
        raise ConfigurationError(f"--set: found {name!r}, accepted no options for these formats")
    found = described(paths, format_name)
    if output is not None:
        write_text(output, found.text)
    counts = {key: value for key, value in found.summary.items() if key != "formats"}
    listed = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in counts.items())
    assumed = [{"what": item.what, "value": item.value} for item in found.assumed]
    return Imported(
        [f"{', '.join(map(str, paths))}: machine, {listed}", found.remark],
        {"sources": list(map(str, paths)), **found.summary, "assumed": assumed},
        list(found.warnings),
        [] if output is None else [output],
    )


def _import_sampling(path: Path, output: Path | None, options: dict[str, object]) -> Imported:
    from simsched.files.atomic import write_text
    from simsched.machine.importers import machine_yaml, read_sampling
    from simsched.names.parameters import Parameter, checked, parameters_of
    from simsched.trace.parquet import write_rows

    _suffix(output, MACHINE_SUFFIXES)
    declared = {"machine": Parameter("machine", str, None, optional=True)}
    declared |= parameters_of(machine_yaml)
    given = checked(f"{path}: format {SAMPLING}", declared, options, option=True)
    sampling = read_sampling(path, given.pop("machine"))
    text = machine_yaml(sampling.bus, sampling.costs, **given)
    bus, costs = sampling.bus, sampling.costs
    devices = ", ".join(f"{count} {kind}" for kind, count in bus.devices.items() if count)
    lines = [
        f"{path}: sampling of {bus.name}: {bus.n_cpus} cores, devices {devices or 'none'}",
        f"costs {len(costs.costs)} of {len(costs.codelets)} codelets",
        f"files set aside {len(costs.refused)}, without samples {len(costs.empty)}",
    ]
    content = {
        "source": str(path),
        "sampling": bus.name,
        "cores": bus.n_cpus,
        "devices": {kind: count for kind, count in bus.devices.items() if count},
        "costs": len(costs.costs),
        "codelets": len(costs.codelets),
        "set_aside": len(costs.refused),
        "without_samples": len(costs.empty),
    }
    files = []
    if output is not None:
        write_text(output, text)
        files.append(output)
        if costs.costs:
            files.append(_costs_beside(output))
            write_rows(files[-1], costs.rows())
    return Imported(lines, content, list(sampling.warnings), files)
