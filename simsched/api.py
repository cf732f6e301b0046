"""What a notebook or another program uses: run an experiment, look at its results."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from simsched.experiment import runner
from simsched.experiment.overrides import Change, Origin, assignments
from simsched.experiment.runner import MakeListener, Outcome, RunOptions
from simsched.experiment.study import Study
from simsched.experiment.summary import Line, compare
from simsched.files.atomic import write_pieces, write_text
from simsched.files.errors import ConfigurationError
from simsched.files.resources import data_dir
from simsched.files.yaml_reader import Document, read_named
from simsched.machine import Machine
from simsched.names.arguments import as_path, plain
from simsched.policy import Policy
from simsched.report.result import Result
from simsched.reproduction.claims import claims_about
from simsched.reproduction.judge import Verdict
from simsched.workload import TaskGraph, Workload

__all__ = ["Result", "finish", "list_experiments", "load_experiment", "run", "run_study"]

#: A larger comparison is not drawn: nobody can read it, and no file format holds any size.
MAX_BARS = 200
#: More pictures of single machines and workloads are not drawn.
MAX_PICTURES = 20

MachineLike = str | Path | Machine
WorkloadLike = str | Path | Workload | TaskGraph | Callable[[], Workload]
Like = TypeVar("Like")
Several: TypeAlias = Like | Sequence[Like] | Mapping[str, Like]
PolicyLike = str | Policy | type[Policy] | Callable[[], Policy]


def run(
    what: str | Path | Mapping[str, Any] | Several[MachineLike],
    workload: Several[WorkloadLike] | None = None,
    policy: Several[PolicyLike] | None = None,
    /,
    *,
    set: Sequence[str] | Mapping[str, Any] = (),  # noqa: A002 (the word of the command line)
    seeds: int | Sequence[int] | None = None,
    workers: int | None = None,
    pinning: str | None = None,
    baseline: str | None = None,
    metrics: Sequence[str] | None = None,
    name: str | None = None,
    backend: str | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    output: str | Path | None = None,
    events: bool = False,
    recompute: bool = False,
    strict: bool = False,
    progress: MakeListener | None = None,
) -> Result:
    """Run an experiment, or machines with workloads and policies, and return the results.

    ``run(experiment)`` runs a file; runs that are stored already are not repeated.
    ``run(machine, workload, policy)`` runs every combination of what it is given; each may be an
    object, a name, several in a list, or several in a mapping of labels. Policies may be objects or
    classes that were defined a moment ago.

    Parameters
    ----------
    what : str, Path, mapping or Machine
        An experiment: a YAML file, the name of a shipped experiment, or the content of such a file.
        With the next two, a machine: an object, the name of a shipped machine, or a YAML file.
    workload : Workload, TaskGraph, str or Path
        An object, the same for every seed; a preset or generator, also with parameters
        (``"heat[rows=1024]"``), whose random numbers follow from the seed; or a task graph file,
        also with options (``"my.dot[cost=size, cost_unit=ops]"``).
    policy : Policy, type or str
        An object, a class (with its defaults), or a name, also with parameters
        (``"bats[sample_pages=8]"``).
    set : sequence of str or mapping
        Values to change by dotted key, ``["seeds=5"]`` or ``{"workloads.0.iterations": 10}``; of
        objects nothing is changed but where their workers are.
    seeds : int or sequence of int, optional
        Number of seeds, or the seeds. This and the next six are in place of what an experiment
        says; without one there is one seed, the first policy is the baseline, and so on.
    workers : int, optional
        Number of workers on every machine; one per hardware thread by default.
    pinning : {"scatter", "compact"}, optional
        Where fewer workers than threads go; scattered by default.
    baseline : str, optional
        Label of the policy that others are compared with.
    metrics : sequence of str, optional
        Columns of the comparison; all are in :attr:`Result.runs`.
    name : str, optional
        What the result is called.
    backend : {"native", "simpy"}, optional
        Engine; the native one by default.
    jobs : int, optional
        Number of processes; by default up to one per available core, as far as runs take longer
        than starting processes, 1 for none but this one. What a notebook defines runs in this one.
    dask : str, optional
        Scheduler of a Dask cluster that does the runs instead, its address or its scheduler file.
    output : str or Path, optional
        Directory of the results. By default, those of an experiment are in ``results/NAME``, all
        others in memory only.
    events : bool
        Whether to keep the event trace of every run, with the results in their directory.
    recompute : bool
        Whether to repeat runs that are stored.
    strict : bool
        Whether runs are refused whose policy has nothing to decide, or falls back; otherwise the
        comparison marks them.
    progress : callable, optional
        Makes a listener of progress, given the number of runs.

    Returns
    -------
    Result
        Shown as a table in notebooks.

    Raises
    ------
    SimschedError
        Something is unknown, wrong or does not fit together, or results cannot be written.

    Examples
    --------
    >>> import simsched
    >>> result = simsched.run(
    ...     "amd_4x_opteron8380", "fork_join[depth=4]", ["cilk_a", "work_sharing"], jobs=1
    ... )
    >>> result.runs[["policy", "tasks"]].to_dict("list")
    {'policy': ['cilk_a', 'work_sharing'], 'tasks': [31, 31]}
    """
    asked = {
        "seeds": seeds,
        "baseline": baseline,
        "metrics": metrics,
        "name": re.sub(r"[^A-Za-z0-9_.-]+", "_", name) if isinstance(name, str) else name,
        "backend": backend,
        "machines.*.workers": workers,
        "machines.*.pinning": pinning,
    }
    changes = [
        Change(key, plain(value), Origin("")) for key, value in asked.items() if value is not None
    ]
    changes += assignments(set)
    if workload is None and policy is None:
        study = Study.from_yaml(load_experiment(what), changes)  # type: ignore[arg-type]
    elif workload is None or policy is None:
        raise ConfigurationError(
            f"run: found no {'workload' if workload is None else 'policy'}, "
            "accepted run(experiment) or run(machine, workload, policy)"
        )
    else:
        study = Study.from_objects(what, workload, policy, changes)
    folder = None if output is None else as_path("run: output", output, "the path of a directory")
    options = RunOptions(jobs, dask, folder, events, recompute, strict, progress=progress)
    return run_study(study, options)


def run_study(study: Study, options: RunOptions) -> Result:
    """Run a study and return the results, with pictures and a summary where they are stored.

    Parameters
    ----------
    study : Study
        What to run.
    options : RunOptions
        How to run it.

    Raises
    ------
    SimschedError
        A run is impossible, or results cannot be written.
    Interrupted
        On Ctrl-C; what has finished is stored.
    """
    outcome = runner.run_study(study, options)
    if outcome.output is None:
        return Result(outcome, compare(outcome.rows, outcome.experiment), [], [], None)
    path = study.document.path
    claims: list[Verdict] = []
    if path is not None and path.parent == data_dir("experiments") and not study.is_changed:
        claims = claims_about(path.stem, outcome.rows)
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
    assert outcome.output is not None
    pictures = _draw(outcome, lines, outcome.output)
    summary = outcome.output / "summary.json"
    result = Result(outcome, lines, list(claims), pictures, summary)
    if len(result.rows) <= MAX_BARS:
        text = json.dumps(result.document(), indent=1, allow_nan=False)
        write_text(summary, text + "\n")
    else:  # without line breaks, which take the encoder ten times as long
        write_pieces(summary, itertools.chain(result.pieces(), ["\n"]))
    return result


def _draw(outcome: Outcome, lines: list[Line], output: Path) -> list[Path]:
    """Write the pictures of an experiment; return their files."""
    from simsched.report.plots import (
        draw_matrix,
        plot_bandwidth,
        plot_bandwidth_over_time,
        plot_comparison,
        save,
    )

    name = outcome.experiment.name
    written = []
    if len(lines) <= MAX_BARS:
        path = output / "comparison.png"
        save(plot_comparison(lines, name), path)
        written.append(path)
    figure = draw_matrix(lines, name)
    if figure is not None:
        save(figure, output / "matrix.png")
        written.append(output / "matrix.png")
    places: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in outcome.rows:
        places.setdefault((row["machine"], row["workload"]), []).append(row)
    if len(places) > MAX_PICTURES:
        return written
    for number, ((machine, workload), rows) in enumerate(places.items()):
        title = f"{name}: {workload} on {machine}"
        cells = [
            cell for cell in outcome.cells if (cell.machine, cell.workload) == (machine, workload)
        ]
        figure = plot_bandwidth(rows, title) or plot_bandwidth_over_time(cells, rows, title)
        if figure is not None:
            suffix = f"_{number + 1}" if len(places) > 1 else ""
            path = output / f"bandwidth{suffix}.png"
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
        return Document(None, plain(experiment))
    from simsched.report.uses import expect_experiment, saying_use

    with saying_use(str(experiment), "an experiment", "experiment"):
        document = read_named("experiment", experiment, data_dir("experiments"))
    expect_experiment(document)
    return document


def list_experiments() -> list[str]:
    """Return the names of the shipped experiments, sorted.

    Returns
    -------
    list of str
        Names that :func:`run` takes.
    """
    return sorted(path.stem for path in data_dir("experiments").glob("*.yaml"))
