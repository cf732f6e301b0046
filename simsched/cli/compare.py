"""The command that explains the difference between two runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simsched.cli import names
from simsched.cli.options import AssignmentsOption, ExperimentOption, OverwriteOption, WidthOption
from simsched.cli.output import (
    FIGURES,
    JsonOption,
    QuietOption,
    check_output,
    print_json,
    say,
    warn,
)
from simsched.files.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simsched.experiment.cells import Cell
    from simsched.experiment.overrides import Change
    from simsched.files.yaml_reader import Document


def compare_command(
    first: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="Run: [EXPERIMENT:]POLICY or key=value,...",
            autocompletion=names.policy,
        ),
    ],
    second: Annotated[
        str,
        typer.Argument(metavar="B", help="Run to compare with A.", autocompletion=names.policy),
    ],
    experiment: ExperimentOption = None,
    assignments: AssignmentsOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Draw the waterfall: .png, .pdf or .svg."
        ),
    ] = None,
    width: WidthOption = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Explain why one run is faster than another: where both spent their time.

    Both are simulated again with their event traces; times are means over the seeds.
    """
    from simsched.experiment.compare import Difference, measure_side
    from simsched.files.units import plural
    from simsched.report.compare import tables

    check_output(output, *FIGURES, overwrite=overwrite)
    width_mm = _width_mm(width, output)
    sides = [selected_cells(text, experiment, assignments or []) for text in (first, second)]
    measured = []
    for cells in sides:
        if not quiet:
            what = cells[0].label_of_seeds
            sys.stderr.write(f"simsched: {what}: {plural(len(cells), 'seed')}\n")
        measured.append(measure_side(cells))
    found = Difference(*measured)
    warn(found.doubts, quiet=quiet)
    if output is not None:
        from simsched.report.plots import draw_differences, save
        from simsched.report.plots.widths import fit

        figure = draw_differences([found])
        if width_mm is not None:
            fit(figure, width_mm, "--width")
        save(figure, output)
    if as_json:
        print_json(found.document())
    else:
        say(*tables(found), *found.remarks)


def _width_mm(width: str | None, output: Path | None) -> float | None:
    """Return the width of the figure in millimetres, None for that which it has by itself."""
    from simsched.report.plots.widths import parse_width

    if width is None:
        return None
    if output is None:
        raise ConfigurationError("--width: found without a figure, accepted: with --output")
    return parse_width(width, "--width")


def selected_cells(
    text: str, experiment: str | None, assigned: list[str], changes: Sequence[Change] = ()
) -> list[Cell]:
    """Return the runs that an argument stands for, with what ``--set`` and others change."""
    from simsched.api import load_experiment
    from simsched.experiment.compare import select_cells, with_policy
    from simsched.experiment.overrides import assignments, edited, labels_in
    from simsched.experiment.study import Study
    from simsched.names.specs import split_outside

    def document(name: str) -> Document:
        return edited(load_experiment(name), [*assignments(assigned), *changes])

    *names, selector = split_outside(text, ":")
    if experiment is not None and (
        not names or text in labels_in(document(experiment))["policies"]  # may have colons
    ):
        chosen, selector = document(experiment), text
    elif names:
        chosen = document(":".join(names))
    else:
        raise ConfigurationError(
            f"{text!r}: found no experiment, accepted: EXPERIMENT:{text}, or --experiment FILE"
        )
    cells = Study.from_yaml(with_policy(chosen, selector)).cells
    return select_cells(cells, selector)
