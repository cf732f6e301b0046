"""The command line.

Results go to standard output, progress and messages to standard error. Exit codes: 0 done, 1 the
backends differ, 2 the input is wrong (one message), 130 interrupted.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import simsched
from simsched.cli_calibrate import calibrate_command
from simsched.cli_compare import compare_command
from simsched.cli_export import export_command
from simsched.cli_import import import_command
from simsched.cli_measure import measure_command
from simsched.cli_output import INTERRUPTED, JsonOption, QuietOption, console_on, print_json, say
from simsched.cli_references import references_command
from simsched.cli_reproduce import reproduce_command
from simsched.cli_validate import validate_command
from simsched.errors import ConfigurationError, SimschedError, unknown_name

app = typer.Typer(
    name="simsched",
    help="Simulate task schedulers on machines with heterogeneous memory.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
show_app = typer.Typer(help="Show one machine, workload or policy.", no_args_is_help=True)
app.add_typer(show_app, name="show")

BackendOption = Annotated[
    str | None, typer.Option("--backend", help="Engine: native or simpy.", metavar="NAME")
]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code.

    Parameters
    ----------
    arguments : list of str, optional
        Words after the program's name; those of this process by default.
    """
    try:
        code = app(args=arguments, prog_name="simsched", standalone_mode=False)
        sys.stdout.flush()
    except SimschedError as error:
        return _complain(str(error))
    except BrokenPipeError:
        # The reader of standard output has left; nothing more can be said there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except MemoryError:
        return _complain("found more than the memory of this computer (or its limit) allows")
    except Exception as error:
        # Wrong usage: the exceptions differ between versions of typer, their methods do not.
        if not hasattr(error, "format_message"):
            raise
        return _explain_usage(error)
    return code if isinstance(code, int) else 0


def _complain(message: str) -> int:
    """Print an error; return the exit code for wrong input."""
    sys.stderr.write(f"simsched: error: {message}\n")
    return 2


def _explain_usage(error: Any) -> int:
    """Print what is wrong with the words of a command; return the exit code."""
    message = error.format_message()
    context = getattr(error, "ctx", None)
    commands = getattr(getattr(context, "command", None), "commands", {})
    if message.startswith("Usage:"):  # a command that only groups others: its help
        sys.stderr.write(message + "\n")
        return 2
    found = re.match("No such command '([^']*)'", message)
    if found and commands:
        return _complain(unknown_name("command", found[1], commands))
    text = " ".join(message.split()).rstrip(".")
    if context is not None:
        text += f"; see {context.command_path} --help"
    return _complain(text)


def _version(wanted: bool) -> None:
    """Print the version and end."""
    if wanted:
        sys.stdout.write(f"simsched {simsched.__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version


@app.command(
    epilog="Example: simsched run quickstart --set seeds=5 --set policies.bats.balancer=no"
)
def run(
    file: Annotated[str, typer.Argument(help="Experiment: a YAML file or a shipped name.")],
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a value; may be repeated."),
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    backend: BackendOption = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", help="Processes; by default one per core.")
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            "--dask",
            metavar="ADDRESS",
            help="Run on a Dask cluster: its scheduler or scheduler file.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Directory for the results.")
    ] = None,
    events: Annotated[bool, typer.Option("--events", help="Keep all event traces.")] = False,
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Repeat runs that are stored already.")
    ] = False,
) -> None:
    """Run an experiment, print the comparison, write Parquet, PNG and a summary."""
    from simsched import api
    from simsched.engine.run import BACKENDS
    from simsched.experiment.progress import ProgressBar
    from simsched.experiment.runner import Interrupted

    if backend is not None and backend not in BACKENDS:
        raise ConfigurationError(f"--backend: {unknown_name('backend', backend, BACKENDS)}")
    if jobs is not None and jobs < 1:
        raise ConfigurationError(f"--jobs: found {jobs}, accepted 1 or more")
    if jobs is not None and dask is not None:
        raise ConfigurationError("--jobs: found together with --dask, accepted: one of them")
    console = console_on(sys.stderr)
    try:
        result = api.run(
            file,
            set=assignments or (),
            backend=backend,
            jobs=jobs,
            dask=dask,
            output=output,
            events=events,
            recompute=recompute,
            progress=None if quiet else lambda total: ProgressBar(total, console),
        )
    except Interrupted as stop:
        if not quiet:
            sys.stderr.write(f"simsched: {stop}; the same command continues\n")
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        print_json(result.document())
    else:
        _print_result(result, quiet)


def _print_result(result: Any, quiet: bool) -> None:
    """Print the comparison, published claims and where files are."""
    from simsched.experiment.progress import duration
    from simsched.report.claims import claim_tables
    from simsched.report.tables import comparison_table

    outcome = result.outcome
    if not quiet and result.experiment.description:
        say(result.experiment.description.strip())
    say(comparison_table(result.lines))
    for table in claim_tables(result.claims):
        say(table)
    if quiet:
        return
    say(
        f"{outcome.computed} runs simulated in {duration(outcome.elapsed_s)}, "
        f"{outcome.reused} taken from earlier; ± is the 95 % confidence interval over seeds"
    )
    for path in (outcome.parquet, *result.pictures, result.summary):
        sys.stdout.write(f"  {path}\n")


@app.command("list")
def list_command(
    kind: Annotated[
        str,
        typer.Argument(
            help="machines, workloads, policies, placements, experiments, measurements, claims "
            "or probes."
        ),
    ],
    as_json: JsonOption = False,
    markdown: Annotated[
        bool,
        typer.Option(
            "--markdown", help="Print the document of machines, workloads or policies in docs/."
        ),
    ] = False,
) -> None:
    """List what there is by name."""
    from simsched.report.listing import KINDS, entries, listing_table
    from simsched.report.markdown import DOCUMENTS, document

    if kind not in KINDS:
        raise ConfigurationError(unknown_name("kind", kind, KINDS))
    if markdown:
        if as_json or kind not in DOCUMENTS:
            raise ConfigurationError(
                f"--markdown: found {'--json too' if as_json else kind}, "
                f"accepted alone, with {', '.join(DOCUMENTS)}"
            )
        sys.stdout.write(document(kind))
        return
    found = entries(kind)
    if as_json:
        print_json(found)
    else:
        say(listing_table(kind, found))


@show_app.command("machine")
def show_machine(
    name: Annotated[str, typer.Argument(help="A shipped machine or a YAML file.")],
    draw: Annotated[
        Path | None, typer.Option("--draw", metavar="PNG", help="Write a drawing instead.")
    ] = None,
) -> None:
    """Print a machine as a tree, or draw it."""
    from simsched.machine import load_machine
    from simsched.machine.show import describe_machine, draw_machine

    machine = load_machine(name)
    if draw is None:
        sys.stdout.write(describe_machine(machine).rstrip() + "\n")
        return
    _write_drawing(draw, lambda path: draw_machine(machine, path))
    sys.stdout.write(f"{draw}\n")


def _write_drawing(path: Path, draw: Any) -> None:
    """Write a picture whose suffix decides its format."""
    from simsched.atomic import discard

    suffixes = (".png", ".svg", ".pdf")
    if path.suffix not in suffixes:
        accepted = "a name that ends in .png, .svg or .pdf"
        raise ConfigurationError(f"--draw: found {str(path)!r}, accepted: {accepted}")
    temporary = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        draw(temporary)
        temporary.replace(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigurationError(f"{path}: cannot be written: {reason}") from error
    finally:
        discard(temporary)


@show_app.command("workload")
def show_workload(
    name: Annotated[str, typer.Argument(help="A preset or a generator.")],
) -> None:
    """Print a workload's parameters and the size of its task graph."""
    from simsched.report.listing import describe_workload

    sys.stdout.write(describe_workload(name) + "\n")


@show_app.command("policy")
def show_policy(
    name: Annotated[str, typer.Argument(help="A policy, a preset of one, or a .py file.")],
) -> None:
    """Print a policy's documentation and parameters."""
    from simsched.report.listing import describe_policy

    sys.stdout.write(describe_policy(name) + "\n")


@app.command()
def check(
    file: Annotated[
        str,
        typer.Argument(
            help="A machine, workload, experiment, measurement or claims file (YAML), or a task "
            "graph file."
        ),
    ],
) -> None:
    """Check a file and say what it contains."""
    from simsched.experiment.check import check_file

    lines, warnings = check_file(file)
    for warning in warnings:
        sys.stderr.write(f"simsched: warning: {warning}\n")
    sys.stdout.write("\n".join(lines) + "\n")


@app.command(epilog="Example: simsched replay task-stats.csv.gz --policy pfws")
def replay(
    file: Annotated[Path, typer.Argument(help="Measurements of a run, per task.")],
    machine: Annotated[str, typer.Option("--machine", help="Name or YAML file.")] = "opteron48",
    policies: Annotated[
        list[str] | None,
        typer.Option("--policy", metavar="SPEC", help="May be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the runs.")] = 0,
    backend: BackendOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Simulate a measured task graph beside what was measured."""
    from simsched.api import finite
    from simsched.experiment.replay import DEFAULT_POLICIES
    from simsched.experiment.replay import replay as replay_file
    from simsched.machine import load_machine
    from simsched.report.tables import replay_table

    def progress(spec: str) -> None:
        if not quiet and sys.stderr.isatty():
            sys.stderr.write(f"simulating {spec}\n")

    result = replay_file(
        file,
        load_machine(machine),
        tuple(policies or DEFAULT_POLICIES),
        seed=seed,
        backend=backend or "native",
        progress=progress,
    )
    if as_json:
        print_json(finite({**result.document(), "version": simsched.__version__}))
    else:
        say(replay_table(result))


@app.command()
def conformance(
    policies: Annotated[
        list[str] | None, typer.Option("--policy", help="Only this policy; may be repeated.")
    ] = None,
    workloads: Annotated[
        list[str] | None, typer.Option("--workload", help="Only this family; may be repeated.")
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run both backends on small cases and compare every trace event."""
    from simsched.engine.conformance import Case, run_conformance

    def progress(case: Case) -> None:
        if case.difference and not quiet:
            where = f"{case.machine} {case.workload} {case.policy}"
            sys.stderr.write(f"differs: {where}: {case.difference}\n")

    cases = run_conformance(policies or None, workloads or None, progress)
    differing = [case for case in cases if case.difference]
    document = {
        "cases": len(cases),
        "refused": sum(bool(case.refused) for case in cases),
        "differing": len(differing),
        "events": sum(case.events for case in cases),
        "differences": [vars(case) for case in differing],
        "version": simsched.__version__,
    }
    if as_json:
        print_json(document)
    else:
        sys.stdout.write(
            f"{document['cases']} cases, {document['refused']} refused by both backends, "
            f"{document['events']} events, {document['differing']} differing\n"
        )
    if differing:
        raise typer.Exit(1)


app.command("calibrate", epilog="Example: simsched calibrate -o this_host.yaml")(calibrate_command)
app.command("compare", epilog="Example: simsched compare cilk bats -e quickstart")(compare_command)
app.command("export", epilog="Example: simsched export measured.parquet --to chrome -o run.json")(
    export_command
)
app.command("import", epilog="Example: simsched import trace_directory --output measured.parquet")(
    import_command
)
app.command("measure", epilog="Example: simsched measure measure_small -o measured --quiet")(
    measure_command
)
app.command("references", epilog="Example: simsched references makespans.csv --policy dmda")(
    references_command
)
app.command("reproduce", epilog="Example: simsched reproduce knl_hbm --json")(reproduce_command)
app.command("validate", epilog="Example: simsched validate measurements/host -m host.yaml")(
    validate_command
)


if __name__ == "__main__":
    sys.exit(main())
