"""What the commands that run an experiment share."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from simsched.cli_output import INTERRUPTED, console_on
from simsched.errors import ConfigurationError, unknown_name

if TYPE_CHECKING:
    from simsched.result import Result


def run_file(
    file: str,
    chosen: tuple[Sequence[str] | None, Sequence[str] | None, Sequence[str] | None],
    assignments: Sequence[str] | None,
    *,
    backend: str | None,
    jobs: int | None,
    quiet: bool,
    **options: Any,
) -> Result:
    """Run an experiment with what the command line changes, showing progress.

    Parameters
    ----------
    file : str
        A YAML file or the name of a shipped experiment.
    chosen : tuple
        Machines, workloads and policies in place of the experiment's; None leaves them.
    assignments : sequence of str, optional
        Other values to change, ``key=value``.
    backend, jobs, quiet
        As the options of these names.
    **options
        Of :func:`simsched.api.run`.

    Raises
    ------
    ConfigurationError
        An option or the experiment is wrong.
    typer.Exit
        The user has interrupted it.
    """
    from simsched import api
    from simsched.engine.run import BACKENDS
    from simsched.experiment.choice import choose
    from simsched.experiment.progress import ProgressBar
    from simsched.experiment.runner import Interrupted

    if backend is not None and backend not in BACKENDS:
        raise ConfigurationError(f"--backend: {unknown_name('backend', backend, BACKENDS)}")
    if jobs is not None and jobs < 1:
        raise ConfigurationError(f"--jobs: found {jobs}, accepted 1 or more")
    console = console_on(sys.stderr)
    changes: list[str] = []
    if any(chosen):
        changes = choose(api.load_experiment(file), *(names or () for names in chosen))
    try:
        return api.run(
            file,
            set=[*changes, *(assignments or ())],
            backend=backend,
            jobs=jobs,
            progress=None if quiet else lambda total: ProgressBar(total, console),
            **options,
        )
    except Interrupted as stop:
        if not quiet:
            sys.stderr.write(f"simsched: {stop}; the same command continues\n")
        raise typer.Exit(INTERRUPTED) from None
