"""The command that examines installation and host."""

from __future__ import annotations

import sys

import typer

from simsched.cli.output import JsonOption, QuietOption, print_json


def doctor_command(as_json: JsonOption = False, quiet: QuietOption = False) -> None:
    """Examine this installation and this host; the exit code is 1 if something is broken.

    With --quiet only what is broken is printed.
    """
    from simsched.experiment.doctor import document, examine, is_broken

    findings = examine()
    if as_json:
        print_json(document(findings))
    else:
        marks = {"ok": "  ", "note": "- ", "broken": "! "}
        area = ""
        for finding in findings:
            if quiet and finding.status != "broken":
                continue
            if finding.area != area:
                area = finding.area
                sys.stdout.write(f"{area}\n")
            line = f"{marks[finding.status]}{finding.name}: {finding.found}"
            line += f" ({finding.advice})" if finding.advice else ""
            sys.stdout.write(f"{line}\n")
        broken = sum(finding.status == "broken" for finding in findings)
        if not quiet:
            sys.stdout.write(f"{broken} broken\n" if broken else "nothing is broken\n")
    if is_broken(findings):
        raise typer.Exit(1)
