"""What an experiment has given: rows, comparison, and single runs again with their events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from simsched.experiment.cells import Cell
from simsched.experiment.compare import Difference, chosen_cells
from simsched.experiment.remarks import explained
from simsched.experiment.runner import Outcome
from simsched.experiment.schema import Experiment
from simsched.experiment.single_run import simulate_cell
from simsched.experiment.summary import Line, compare, group_of_row
from simsched.files.errors import ConfigurationError
from simsched.reproduction.judge import Verdict
from simsched.trace.run import Run

#: Runs whose events are kept in memory.
KEPT_RUNS = 2


@dataclass(frozen=True, eq=False)
class ResultData:
    """The results of an experiment as plots and reports read them.

    Parameters
    ----------
    outcome : Outcome
        Rows and where they are stored.
    lines : list of Line
        The comparison, one line per machine, workload, sweep point and policy.
    claims : list of Verdict
        Published claims about a shipped experiment that was run as it is.
    pictures : list of Path
        PNG files that were written.
    summary : Path or None
        The machine-readable summary (JSON), where results are stored.
    others : list of dict
        Rows of the runs that were left out, among them perhaps the baseline's.
    """

    outcome: Outcome
    lines: list[Line]
    claims: list[Verdict]
    pictures: list[Path]
    summary: Path | None
    others: list[dict[str, Any]] = field(default_factory=list, repr=False)
    _kept: dict[Any, Run] = field(default_factory=dict, repr=False)

    @property
    def experiment(self) -> Experiment:
        """The experiment."""
        return self.outcome.experiment

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row per run, as plain data; lists of one value per iteration or worker included."""
        return self.outcome.rows

    @property
    def cells(self) -> list[Cell]:
        """What was simulated, one per row: machine, workload, policy and seed as objects."""
        return self.outcome.cells

    @property
    def policies(self) -> list[str]:
        """Labels of the policies, each once."""
        return list(dict.fromkeys(cell.policy for cell in self.cells))

    @property
    def baseline(self) -> str:
        """Label of the policy that others are compared with."""
        return self.lines[0].baseline if self.lines else ""

    @property
    def remarks(self) -> list[str]:
        """Why policies are shorter or longer than the baseline; nothing where nothing stands out.

        These are sentences with the figures that they rest on: of the policy that is shortest
        beside the baseline, and of those that differ most, whatever the machine and workload.
        """
        return self.explained()

    def explained(self, found: Iterable[Difference] = ()) -> list[str]:
        """Return the remarks, with those from traces where differences have been looked at."""
        sentences = {each.second.label: each.remarks for each in found}
        known = {
            group_of_row(row): sentences[cell.label_of_seeds]
            for cell, row in zip(self.cells, self.rows, strict=True)
            if cell.label_of_seeds in sentences
        }
        return explained(self.rows, self.baseline, self.others, known)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, which: str) -> Self:
        """Return the results of some of the runs.

        These are a policy's, or those with ``key=value`` pairs separated by commas; keys are
        machine, workload, policy, seed and what is swept.
        """
        chosen = {id(cell) for cell in chosen_cells(self.cells, which)}
        pairs = list(zip(self.cells, self.rows, strict=True))
        rows = [row for cell, row in pairs if id(cell) in chosen]
        others = [row for cell, row in pairs if id(cell) not in chosen] + self.others
        cells = [cell for cell in self.cells if id(cell) in chosen]
        outcome = replace(self.outcome, rows=rows, cells=cells)
        lines = compare(rows, self.experiment, others)
        return replace(self, outcome=outcome, lines=lines, claims=[], others=others)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the row of every run: its columns by name."""
        return iter(self.rows)

    def __contains__(self, label: object) -> bool:
        """Return whether there are runs of a policy, by its label."""
        return label in self.policies

    def simulate(self, which: str = "", *, iterations: int | tuple[int, int] | None = None) -> Run:
        """Simulate the first run that `which` describes again, with its events.

        `which` is as for ``result[which]``. Events are kept of one iteration, or from one to
        another, where `iterations` says so. The last two runs are kept in memory; what memory
        cannot hold is refused.
        """
        cells = chosen_cells(self.cells, which)
        if not cells:
            raise ConfigurationError("result: found no runs, accepted at least one")
        cell = cells[0]
        row = next(r for c, r in zip(self.cells, self.rows, strict=True) if c is cell)
        key = cell.key, iterations
        if key not in self._kept:
            run = simulate_cell(cell, row, iterations)
            while len(self._kept) >= KEPT_RUNS:
                self._kept.pop(next(iter(self._kept)))
            self._kept[key] = run
        return self._kept[key]
