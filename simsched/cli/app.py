"""The command line.

Results go to standard output, progress and messages to standard error. What all commands have in
common is in docs/command-line.md.
"""

from __future__ import annotations

import errno
import math
import os
import re
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import simsched
from simsched.cli.calibrate import calibrate_command
from simsched.cli.compare import compare_command
from simsched.cli.conformance import conformance_command
from simsched.cli.doctor import doctor_command
from simsched.cli.duel import duel_command
from simsched.cli.export import export_command
from simsched.cli.imports import import_command
from simsched.cli.listing import list_command
from simsched.cli.measure import measure_command
from simsched.cli.metg import metg_command
from simsched.cli.options import RecomputeOption
from simsched.cli.output import (
    WRONG_INPUT,
    JsonOption,
    QuietOption,
    examples,
    print_json,
    say,
    warn,
)
from simsched.cli.query import query_command
from simsched.cli.references import references_command
from simsched.cli.report import report_command
from simsched.cli.reproduce import reproduce_command
from simsched.cli.run import ExperimentOptions, run_file, with_shared_options
from simsched.cli.schema import init_command, schema_command
from simsched.cli.show import show_app
from simsched.cli.validate import validate_command
from simsched.cli.what_if import what_if_command
from simsched.files.errors import ConfigurationError, SimschedError, unknown_name
from simsched.files.interruptions import Interruptions, is_interruption


class _OutputClosed(Exception):  # noqa: N818 (it is not wrong)
    """Nobody reads standard output any more."""


class _Commands(TyperGroup):
    """The commands; what a closed pipe or an interruption means is not decided by the library."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _OutputClosed from error
        except BaseException as error:
            if not is_interruption(error):
                raise
            raise typer.Abort from None


EXIT_CODES = """\b
Exit codes:
  0    done; also when nobody reads the output any more, as in simsched ... | head
  1    found what the command looks for: backends that differ, a broken installation; or, as
       duel, found nothing
  2    wrong input; one message on standard error says what is accepted
  130  interrupted (Ctrl-C); 143 by SIGTERM (kill), 129 by SIGHUP (a closed terminal)

\b
NO_COLOR=1 or TERM=dumb: plain text on terminals too. Completion of names in bash, zsh and fish:
simsched --install-completion"""

app = typer.Typer(
    name="simsched",
    cls=_Commands,
    help="Simulate task schedulers on machines with heterogeneous memory.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=examples(
        "init my_study",
        "run my_study/experiment.yaml",
        "list experiments",
        "run quickstart -w 'heat[rows=4096]' -p cilk -p 'bats[sample_pages=8]'",
        "COMMAND --help",
    )
    + "\n\n"
    + EXIT_CODES,
)
app.add_typer(show_app, name="show")


def main(words: list[str]) -> int:
    """Run the command line within a program; return the exit code."""
    with Interruptions() as signals:
        return answer(words, signals)


def answer(words: list[str], signals: Interruptions) -> int:
    """Run the command that some words ask for until a signal is heard; return the exit code."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by who has started this
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 (until the end)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # of encodings that lack a character of a table
    if "" in words:  # a variable of a shell that is not set; as a path it would be this directory
        before = words[words.index("") - 1] if words[0] else "simsched"
        return _complain(f"found an empty word after {before!r}, accepted: words with characters")
    return _run(words, signals)


def _run(words: list[str], signals: Interruptions) -> int:
    """Run a command; return the exit code."""
    try:
        code = app(args=words, prog_name="simsched", standalone_mode=False)
        sys.stdout.flush()
    except SimschedError as error:
        return _complain(str(error))
    except (_OutputClosed, BrokenPipeError):
        _discard(1)
        return 0
    except (KeyboardInterrupt, typer.Abort):
        signals.end()
        return signals.exit_code
    except MemoryError:
        return _complain("found more than the memory of this computer (or its limit) allows")
    except OSError as error:
        if signals.heard is not None:  # its terminal may be gone
            return signals.exit_code
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            _discard(1)
            return _complain(f"{error.filename or 'standard output'}: found no space left to write")
        if error.errno != errno.ENAMETOOLONG:
            raise
        return _complain(f"{str(error.filename)[:57]}...: the name is too long for a file")
    except Exception as error:
        # Wrong usage: the exceptions differ between versions of typer, their methods do not.
        if not hasattr(error, "format_message"):
            raise
        return _explain_usage(error)
    if signals.heard is not None:  # before a command begins the library takes all for Ctrl-C
        return signals.exit_code
    return code if isinstance(code, int) else 0


def _discard(stream: int) -> None:
    """Send nowhere what Python still writes to a stream when it ends; it would complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)


def _complain(message: str) -> int:
    """Print an error; return the exit code for wrong input."""
    return _refuse(f"simsched: error: {message}")


def _refuse(text: str) -> int:
    """Print why nothing is done; return the exit code for wrong input, also if nobody can read."""
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except OSError:
        _discard(2)
    return WRONG_INPUT


def _explain_usage(error: Any) -> int:
    """Print what is wrong with the words of a command; return the exit code."""
    message = error.format_message()
    context = getattr(error, "ctx", None)
    commands = getattr(getattr(context, "command", None), "commands", {})
    if message.startswith("Usage:"):  # a command that only groups others: its help
        return _refuse(message)
    found = re.match("No such command '([^']*)'", message)
    if found and commands:
        return _complain(unknown_name("command", found[1], commands))
    option = getattr(error, "option_name", None)
    if isinstance(option, str) and message.startswith("No such option") and context is not None:
        known = [word for item in context.command.get_params(context) for word in item.opts]
        where = f"; see {context.command_path} --help"
        return _complain(unknown_name("option", option, filter(_is_option, known)) + where)
    text = " ".join(message.split()).rstrip(".")
    if context is not None:
        text += f"; see {context.command_path} --help"
    return _complain(text)


def _is_option(word: str) -> bool:
    """Return whether a word is an option and not the name of an argument."""
    return word.startswith("--")


def _version(wanted: bool) -> None:
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
    short_help="Run an experiment and print the comparison.",
    epilog=examples(
        "run quickstart",
        "run my_experiment.yaml --output results/first --quiet",
        "run quickstart --set seeds=5 --set policies.bats.balancer=false",
        "run quickstart --machine opteron48 --policy cilk --policy 'laws[steal_take=newest]'",
        "run quickstart --json > results.json",
    ),
)
@with_shared_options
def run(
    asked: ExperimentOptions,
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
    recompute: RecomputeOption = False,
) -> None:
    """Run an experiment, print the comparison, write Parquet, PNG and a summary."""
    if asked.jobs is not None and dask is not None:
        raise ConfigurationError("--jobs: found together with --dask, accepted: one of them")
    result = run_file(asked, dask=dask, output=output, events=events, recompute=recompute)
    if asked.as_json:
        print_json(result.document())
    else:
        _print_result(result, asked.quiet)


def _print_result(result: Any, quiet: bool) -> None:
    """Print what the experiment says of itself, the comparison, claims and where files are."""
    from simsched.experiment.progress import duration
    from simsched.files.units import plural
    from simsched.report.claims import claim_tables
    from simsched.report.tables import comparison_table, cost_notes, fit_notes

    outcome = result.outcome
    if not quiet and result.experiment.description:
        say(result.experiment.description.strip())
    say(comparison_table(result.lines))
    for note in (*result.remarks, *fit_notes(result.lines)):
        say(note)
    for note in cost_notes((cell.policy, cell.policy_model) for cell in result.cells):
        say(note)
    if not quiet and result.experiment.remark:
        say(result.experiment.remark.strip())
    for table in claim_tables(result.claims):
        say(table)
    if quiet:
        return
    shown = [estimate for line in result.lines for estimate in line.metrics.values()]
    has_interval = any(not math.isnan(estimate.half_width) for estimate in shown)
    say(
        f"{plural(outcome.computed, 'run')} simulated in {duration(outcome.elapsed_s)}, "
        f"{outcome.reused} taken from earlier"
        + "; ± is the 95 % confidence interval over seeds"
        * has_interval
    )
    for path in filter(None, (outcome.parquet, *result.pictures, result.summary)):
        sys.stdout.write(f"  {path}\n")


@app.command(
    short_help="Check a file and say what it contains.",
    epilog=examples("check my_experiment.yaml", "check my_machine.yaml --json", "check g.graphml"),
)
def check(
    file: Annotated[
        str,
        typer.Argument(
            help="A machine, workload, experiment, measurement or claims file (YAML), a task "
            "graph file, also with options, or a Python file with policies or workloads, which is "
            "executed."
        ),
    ],
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    strict: Annotated[bool, typer.Option("--strict", help="Make warnings errors.")] = False,
) -> None:
    """Check a file without running it and say what it contains."""
    from simsched.report.check import check_file
    from simsched.report.uses import OF_YAML, saying_use

    with saying_use(file, "a machine, a workload, an experiment, ...", "graph", "code", *OF_YAML):
        lines, warnings = check_file(file, complete=strict)
    if strict and warnings:
        raise ConfigurationError("; ".join(warnings))
    warn(warnings, quiet=quiet)
    if as_json:
        print_json({"file": file, "correct": True, "contains": lines, "warnings": warnings})
    else:
        sys.stdout.write("\n".join(lines) + "\n")


app.command(
    "conformance",
    short_help="Compare the two backends event by event.",
    epilog=examples(
        "conformance --policy bats",
        "conformance --policy ./mine.py --workload 'lu[tiles=3]' --machine my_machine.yaml",
        "conformance --workload heat --json",
    ),
)(conformance_command)
app.command(
    "calibrate",
    short_help="Measure this host and write it as a machine.",
    epilog=examples(
        "calibrate -o this_host.yaml",
        "calibrate --quick --cores 0-3 -o this_host.yaml",
        "calibrate --runs measurements/calibration -o this_host.yaml",
    ),
)(calibrate_command)
app.command(
    "compare",
    short_help="Explain why one run is faster than another.",
    epilog=examples(
        "compare cilk bats -e quickstart",
        "compare bats 'bats[sample_pages=8]' -e quickstart -o waterfall.png",
        "compare quickstart:cilk my_experiment.yaml:policy=cilk,machine=opteron48",
    ),
)(compare_command)
app.command(
    "doctor",
    short_help="Examine this installation and this host.",
    epilog=examples("doctor", "doctor --json"),
)(doctor_command)
app.command(
    "duel",
    short_help="Find a small program on which a policy takes twice as long as another.",
    epilog=examples(
        "duel work_sharing cilk",
        "duel 'bats[sample_pages=8]' cilk --factor 3 --tries 5000 -o bats_loses",
    ),
)(duel_command)
app.command(
    "export",
    short_help="Write a run or a task graph for other programs.",
    epilog=examples(
        "export measured.parquet --to chrome -o run.json",
        "export results/quickstart/events/KEY.parquet run.paje",
        "export 'cholesky[tiles=4]' cholesky.graphml",
    ),
)(export_command)
app.command(
    "import",
    short_help="Import a measured run, or files about a machine as a machine file.",
    epilog=examples(
        "import trace_directory --output measured.parquet",
        "import ~/.starpu/sampling --set machine=mirage -o mirage.yaml",
        "import topology.xml mlc.txt --output server.yaml",
    ),
)(import_command)
app.command(
    "init",
    short_help="Write a commented experiment to start from.",
    epilog=examples("init", "init my_study"),
)(init_command)
app.command(
    "list",
    short_help="List what there is by name.",
    epilog=examples(
        "list machines",
        "list machines --machine-kind hybrid_memory",
        "list policies --family numa --json",
        "list policies --fits heat_small,opteron48",
        "list experiments --source 'TACO 15(4)'",
        "list metrics",
    ),
)(list_command)
app.command(
    "measure",
    short_help="Run programs under policies on this host.",
    epilog=examples(
        "measure measure_small -o measured --quiet", "measure my_measurement.yaml --overwrite"
    ),
)(measure_command)
app.command(
    "metg",
    short_help="Find how small tasks may be for a policy to be efficient.",
    epilog=examples(
        "metg task_bench",
        "metg task_bench -p eager -p cilk --workers 4 --workers 16 --workers 64 -o metg",
        "metg task_bench -w 'task_bench[pattern=fft, kernel=imbalance]' --efficiency 0.9",
    ),
)(metg_command)
app.command(
    "query",
    short_help="Ask the results of all experiments with SQL.",
    epilog=examples(
        "query",
        "query 'SELECT policy, avg(makespan_s) FROM runs GROUP BY policy ORDER BY 2'",
        "query --csv \"SELECT * FROM runs WHERE experiment = 'quickstart'\" > runs.csv",
    ),
)(query_command)
app.command(
    "references",
    short_help="Compare simulated makespans with those of others.",
    epilog=examples(
        "references makespans.csv --policy dmda", "references makespans.csv --program lu --json"
    ),
)(references_command)
app.command(
    "report",
    short_help="Write an experiment's report as one HTML file.",
    epilog=examples(
        "report quickstart",
        "report my_experiment.yaml -o my_experiment.html",
        "report quickstart --set seeds=5 -o five_seeds.html",
    ),
)(report_command)
app.command(
    "reproduce",
    short_help="Check published claims by simulation.",
    epilog=examples(
        "reproduce knl_hbm",
        "reproduce --list",
        "reproduce knl_hbm --claim bats_m01 --pages pages",
    ),
)(reproduce_command)
app.command(
    "schema",
    short_help="Print the JSON Schema of a kind of file, for editors.",
    epilog=examples("schema > experiment.schema.json", "schema machine -o machine.schema.json"),
)(schema_command)
app.command(
    "validate",
    short_help="Simulate measured runs and report the error.",
    epilog=examples(
        "validate measurements/validation -m host.yaml -o report",
        "validate measured.parquet --machine host.yaml --policy 'cilk_a[spawn=parent_first]'",
    ),
)(validate_command)
app.command(
    "what-if",
    short_help="Rank what a run would gain from faster resources and cheaper parts.",
    epilog=examples(
        "what-if bats -e quickstart --seeds 1",
        "what-if my_experiment.yaml:policy=cilk,machine=opteron48",
        "what-if quickstart:cilk --set 'workloads=fork_join[depth=8]' --json",
    ),
)(what_if_command)
