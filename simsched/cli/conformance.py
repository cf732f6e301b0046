"""The command that compares the two backends."""

from __future__ import annotations

import re
import sys
from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

import simsched
from simsched.cli import names
from simsched.cli.options import OnlyPolicies, Words, repeatable
from simsched.cli.output import JsonOption, QuietOption, console_on, print_json

if TYPE_CHECKING:
    from simsched.engine.conformance import Case

MAX_REASONS = 10


def conformance_command(
    policies: OnlyPolicies = None,
    workloads: Annotated[
        Words,
        repeatable(
            "--workload -w",
            "SPEC",
            "Only this workload or file, generators small by default",
            names.workload,
        ),
    ] = None,
    machines: Annotated[
        Words, repeatable("--machine -m", "NAME", "Only this machine or file", names.machine)
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run both backends on small cases and compare every trace event."""
    from simsched.engine.conformance import number_of_cases, run_conformance
    from simsched.experiment.progress import ProgressBar

    console = console_on(sys.stderr)
    console.quiet = quiet
    total = number_of_cases(policies, workloads, machines)
    with ProgressBar(total, console, "comparing") as bar:

        def progress(case: Case) -> None:
            bar.advanced()
            if case.difference:
                where = f"{case.machine} {case.workload} {case.policy}"
                console.print(f"differs: {where}: {case.difference}", soft_wrap=True)

        cases = run_conformance(policies, workloads, progress, machines)
    differing = [case for case in cases if case.difference]
    refusals = Counter(common_reason(case) for case in cases if case.refused)
    left_out = Counter(case.left_out for case in cases if case.left_out)
    document = {
        "cases": len(cases),
        "refused": refusals.total(),
        "left_out": left_out.total(),
        "differing": len(differing),
        "events": sum(case.events for case in cases),
        "differences": [vars(case) for case in differing],
        "refusals": dict(refusals.most_common()),
        "reasons_left_out": dict(left_out.most_common()),
        "version": simsched.__version__,
    }
    if as_json:
        print_json(document)
    else:
        sys.stdout.write(
            f"{document['cases']} cases, {document['refused']} refused by both backends, "
            f"{document['left_out']} left out as too long, "
            f"{document['events']} events, {document['differing']} differing\n"
        )
        _print_reasons("refused", refusals)
        _print_reasons("left out", left_out)
    if differing:
        raise typer.Exit(1)


def common_reason(case: Case) -> str:
    """Return why a case was refused, in words that are the same for other names and numbers."""
    reason = re.sub(r"\bpolicy \w+: ", "", case.refused)
    for what, name in (("machine", case.machine), ("workload", case.workload)):
        reason = re.sub(rf"\b{what} {re.escape(name)}\b", f"the {what}", reason)
    return re.sub(r"\b\d[\d,.]*\b", "N", reason)


def _print_reasons(what: str, reasons: Counter[str]) -> None:
    """Print the most frequent reasons and how many others there are."""
    for reason, count in reasons.most_common(MAX_REASONS):
        sys.stdout.write(f"  {count} {what}: {reason}\n")
    if len(reasons) > MAX_REASONS:
        sys.stdout.write(f"  and {len(reasons) - MAX_REASONS} other reasons, see --json\n")
