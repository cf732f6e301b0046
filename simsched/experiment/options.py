"""How a study is run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from simsched.experiment.pool import Listener

MakeListener = Callable[[int], AbstractContextManager[Listener]]


@dataclass(frozen=True)
class RunOptions:
    """How a study is run; nothing of it changes a result.

    Parameters
    ----------
    jobs : int, optional
        Number of processes; by default one per core that may be used.
    dask : str, optional
        Scheduler of a Dask cluster that runs the cells instead: its address, or its scheduler file.
    output : Path, optional
        Directory of the results instead of the study's.
    events : bool
        Whether to write the event trace of every run.
    recompute : bool
        Whether to ignore stored rows.
    progress : callable, optional
        Makes a context manager that hears of progress, given the number of runs; quiet by default.
    """

    jobs: int | None = None
    dask: str | None = None
    output: Path | None = None
    events: bool = False
    recompute: bool = False
    progress: MakeListener | None = None
