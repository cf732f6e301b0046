"""What a notebook or another program uses: run an experiment, look at its results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import simsched
from simsched.atomic import write_text
from simsched.experiment.claims import claims_about
from simsched.experiment.claims_judge import Verdict
from simsched.experiment.runner import MakeListener, Outcome, run_experiment
from simsched.experiment.schema import Experiment
from simsched.experiment.summary import Line, compare
from simsched.resources import data_dir
from simsched.yaml_reader import Document, read_named

if TYPE_CHECKING:
    import pandas as pd

#: A larger comparison is not drawn: nobody can read it, and no file format holds any size.
MAX_BARS = 200
#: More pictures of single machines and workloads are not drawn.
MAX_PICTURES = 20


@dataclass(frozen=True, eq=False)
class Result:
    """The results of an experiment.

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
    summary : Path
        The machine-readable summary (JSON).

    Examples
    --------
    >>> import simsched
    >>> result = simsched.run("experiments/quickstart.yaml")  # doctest: +SKIP
    >>> result.table()  # doctest: +SKIP
    """

    outcome: Outcome
    lines: list[Line]
    claims: list[Verdict]
    pictures: list[Path]
    summary: Path

    @property
    def experiment(self) -> Experiment:
        """The experiment."""
        return self.outcome.experiment

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row per run."""
        return self.outcome.rows

    @property
    def runs(self) -> pd.DataFrame:
        """One row per run, units in the names of the columns."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    def table(self) -> pd.DataFrame:
        """Return the comparison: means over seeds with half widths of 95 % confidence intervals.

        Returns
        -------
        DataFrame
            Columns `machine`, `workload`, swept keys, `policy`, `runs`, for every metric its mean
            and `<metric>_ci95`, and `reduction_percent` with `reduction_percent_ci95`: how much
            shorter the makespan is than the baseline's.
        """
        import pandas as pd

        return pd.DataFrame([_flat(line) for line in self.lines])

    def text(self) -> str:
        """Return the comparison as the command line prints it."""
        from rich.console import Console

        from simsched.report.claims import claim_tables
        from simsched.report.tables import comparison_table

        console = Console(file=StringIO(), width=160)
        console.print(comparison_table(self.lines))
        for table in claim_tables(self.claims):
            console.print(table)
        assert isinstance(console.file, StringIO)
        return console.file.getvalue().rstrip()

    def _repr_html_(self) -> str:
        """Return the comparison for Jupyter."""
        return str(self.table().to_html(index=False, float_format="{:.4g}".format))

    def document(self) -> dict[str, Any]:
        """Return the results as one JSON document (plain data, no NaN)."""
        from simsched.report.claims import plain_claim

        outcome = self.outcome
        document: dict[str, Any] = finite(
            {
                "experiment": self.experiment.name,
                "description": self.experiment.description,
                "version": simsched.__version__,
                "runs": self.rows,
                "comparison": [_flat(line) for line in self.lines],
                "claims": [plain_claim(verdict) for verdict in self.claims],
                "computed": outcome.computed,
                "reused": outcome.reused,
                "elapsed_s": outcome.elapsed_s,
                "output": {
                    "directory": str(outcome.output),
                    "parquet": str(outcome.parquet),
                    "pictures": [str(path) for path in self.pictures],
                    "summary": str(self.summary),
                },
            }
        )
        return document


def run(
    experiment: str | Path | Mapping[str, Any],
    *,
    set: Sequence[str] | Mapping[str, Any] = (),  # noqa: A002 (the word of the command line)
    backend: str | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    output: str | Path | None = None,
    events: bool = False,
    recompute: bool = False,
    progress: MakeListener | None = None,
) -> Result:
    """Run an experiment and return its results; runs that are stored already are not repeated.

    Parameters
    ----------
    experiment : str, Path or mapping
        A YAML file, the name of a shipped experiment, or the content of such a file.
    set : sequence of str or mapping
        Values to change by dotted key: ``["seeds=5"]`` or ``{"workloads.0.iterations": 10}``.
    backend : {"native", "simpy"}, optional
        Engine instead of the experiment's.
    jobs : int, optional
        Number of processes; by default one per available core, 1 for none but this one.
    dask : str, optional
        Scheduler of a Dask cluster that does the runs instead: its address, or its scheduler file.
    output : str or Path, optional
        Directory of the results; ``results/NAME`` by default.
    events : bool
        Whether to keep the event trace of every run.
    recompute : bool
        Whether to repeat runs that are stored.
    progress : callable, optional
        Makes a listener of progress, given the number of runs.

    Raises
    ------
    SimschedError
        The experiment is wrong or its results cannot be written.
    """
    assignments = [f"{k}={_yaml(v)}" for k, v in set.items()] if isinstance(set, Mapping) else set
    document = load_experiment(experiment)
    outcome = run_experiment(
        document,
        assignments=list(assignments),
        backend=backend,
        jobs=jobs,
        dask=dask,
        output=None if output is None else Path(output),
        events=events,
        recompute=recompute,
        listener=progress,
    )
    shipped = document.path is not None and document.path.parent == data_dir("experiments")
    claims: list[Verdict] = []
    if shipped and document.path is not None and not assignments:
        claims = claims_about(document.path.stem, outcome.rows)
    return finish(outcome, claims)


def finish(outcome: Outcome, claims: Sequence[Verdict] = ()) -> Result:
    """Compare the rows of an experiment, write pictures and summary, and return the result.

    Parameters
    ----------
    outcome : Outcome
        What the experiment has given.
    claims : sequence of Verdict
        Published claims about it.

    Raises
    ------
    SimschedError
        An unknown metric, or a file that cannot be written.
    """
    import json

    lines = compare(outcome.rows, outcome.experiment)
    pictures = _draw(outcome, lines)
    result = Result(outcome, lines, list(claims), pictures, outcome.output / "summary.json")
    # Without line breaks the encoder is ten times as fast.
    indent = 1 if len(result.rows) <= MAX_BARS else None
    text = json.dumps(result.document(), indent=indent, allow_nan=False)
    write_text(result.summary, text + "\n")
    return result


def _draw(outcome: Outcome, lines: list[Line]) -> list[Path]:
    """Write the pictures of an experiment; return their files."""
    from simsched.report.plots import plot_bandwidth, plot_comparison, save

    name = outcome.experiment.name
    written = []
    if len(lines) <= MAX_BARS:
        path = outcome.output / "comparison.png"
        save(plot_comparison(lines, name), path)
        written.append(path)
    places: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in outcome.rows:
        places.setdefault((row["machine"], row["workload"]), []).append(row)
    if len(places) > MAX_PICTURES:
        return written
    for number, ((machine, workload), rows) in enumerate(places.items()):
        figure = plot_bandwidth(rows, f"{name}: {workload} on {machine}")
        if figure is not None:
            suffix = f"_{number + 1}" if len(places) > 1 else ""
            path = outcome.output / f"bandwidth{suffix}.png"
            save(figure, path)
            written.append(path)
    return written


def load_experiment(experiment: str | Path | Mapping[str, Any]) -> Document:
    """Return the plain data of an experiment.

    Parameters
    ----------
    experiment : str, Path or mapping
        A YAML file, the name of a shipped experiment, or the content of such a file.

    Raises
    ------
    ConfigurationError
        There is no such file, or it is not YAML.
    """
    if isinstance(experiment, Mapping):
        return Document(None, dict(experiment))
    return read_named("experiment", experiment, data_dir("experiments"))


def list_experiments() -> list[str]:
    """Return the names of the shipped experiments, sorted."""
    return sorted(path.stem for path in data_dir("experiments").glob("*.yaml"))


def _yaml(value: Any) -> str:
    """Return a value as the text of an assignment; JSON is YAML."""
    import json

    return value if isinstance(value, str) else json.dumps(value)


def _flat(line: Line) -> dict[str, Any]:
    """Return a line of the comparison as one row."""
    row: dict[str, Any] = {"machine": line.machine, "workload": line.workload, **line.sweep}
    row |= {"policy": line.policy, "runs": line.metrics["makespan_s"].count}
    for name, value in line.metrics.items():
        row |= {name: value.mean, f"{name}_ci95": value.half_width}
    row["baseline"] = line.baseline
    row["reduction_percent"] = line.reduction_percent.mean
    row["reduction_percent_ci95"] = line.reduction_percent.half_width
    return row


def finite(value: Any) -> Any:
    """Return plain data with None in place of NaN and infinities, which JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value
