"""What can be known of an experiment's runs before the first one begins."""

from __future__ import annotations

import time
from collections.abc import Iterator, Set

from simsched.experiment.cell_run import rehearse_cell
from simsched.experiment.cells import Cell
from simsched.experiment.fingerprint import is_shipped
from simsched.experiment.parts import WorkloadUse
from simsched.experiment.study import Study
from simsched.files.errors import SimschedError

#: How long all of it may take, and policies of it; one that is being tried is tried to its end.
CHECK_S, REHEARSAL_S = 10.0, 3.0
#: Policies are not tried on programs with more tasks times workers: a schedule may take minutes.
TRIED_SIZE = 250_000


def check_runs(study: Study, keys: Set[str] | None = None, *, shipped_only: bool = False) -> None:
    """Build every workload, and try every policy on every machine and workload, without events.

    One seed of each is tried, of the cells with these keys. What is left when time is up is found
    wrong when it is run. With `shipped_only`, policies with code from outside the package are left
    out: if that ends its process, only a worker process is lost in a run. Messages are those of
    runs, after the place in the experiment's file.
    """
    begin, rehearsed_s = time.perf_counter(), 0.0
    for use, cells in _by_workload(study, keys):
        if time.perf_counter() - begin > CHECK_S:
            return
        use.check()
        started, tried = time.perf_counter(), set()
        for cell in cells:
            combination = cell.policy, str(cell.sweep)
            if rehearsed_s + time.perf_counter() - started > REHEARSAL_S:
                break
            if combination not in tried and (not shipped_only or is_shipped(cell.policy_model)):
                tried.add(combination)
                _rehearse(study, cell)
        rehearsed_s += time.perf_counter() - started


def _by_workload(study: Study, keys: Set[str] | None) -> Iterator[tuple[WorkloadUse, list[Cell]]]:
    """Yield the cells that are to be run, together where they use a workload on a machine."""
    places: dict[str, list[int]] = {}
    for place, use in enumerate(study.uses):
        for key in use.keys:
            places.setdefault(key, []).append(place)
    of_use: list[list[Cell]] = [[] for _ in study.uses]
    for cell in study.cells:
        if keys is None or cell.key in keys:
            for place in places[cell.key]:
                of_use[place].append(cell)
    yield from ((use, cells) for use, cells in zip(study.uses, of_use, strict=True) if cells)


def _rehearse(study: Study, cell: Cell) -> None:
    """Try a cell up to its first event; what is wrong is said with the place of its policy."""
    try:
        rehearse_cell(cell, TRIED_SIZE)
    except SimschedError as error:
        study.policy_of(cell).fail(error)
