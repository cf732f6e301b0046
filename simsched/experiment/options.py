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
    """How a study is run; nothing of it changes a result."""

    #: Number of processes; by default one per core that may be used.
    jobs: int | None = None
    #: Scheduler of a Dask cluster that runs the cells instead: its address, or its scheduler file.
    dask: str | None = None
    #: Directory of the results instead of the study's.
    output: Path | None = None
    #: Whether to write the event trace of every run.
    events: bool = False
    #: Whether to ignore stored rows.
    recompute: bool = False
    #: Makes a context manager that hears of progress, given the number of runs; quiet by default.
    progress: MakeListener | None = None
