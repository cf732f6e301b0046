"""What can be known of an experiment's runs before the first one begins."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass

from simsched.experiment.cell_run import rehearse_cell
from simsched.experiment.cells import Cell
from simsched.experiment.parts import WorkloadUse
from simsched.experiment.study import Study
from simsched.files.errors import ConfigurationError, SimschedError
from simsched.policy.parts.shipped import is_shipped

#: How long all of it may take, and policies of it; one that is being tried is tried to its end.
CHECK_S, REHEARSAL_S = 10.0, 3.0
#: Policies are not tried on programs with more tasks times workers: a schedule may take minutes.
TRIED_SIZE = 250_000


@dataclass(frozen=True)
class Misfit:
    """Runs that will say little of their policy."""

    machine: str
    workload: str
    policy: str
    reason: str


def said(found: Iterable[Misfit]) -> list[str]:
    """Return runs that will say little, a line for each place and reason."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for one in found:
        alike.setdefault((one.machine, one.workload, one.reason), []).append(one.policy)
    return [
        f"{workload} on {machine}: {', '.join(dict.fromkeys(policies))}: {reason}"
        for (machine, workload, reason), policies in alike.items()
    ]


def refuse(found: Iterable[Misfit]) -> None:
    """Refuse runs that will say little of their policies."""
    lines = said(found)
    if lines:
        raise ConfigurationError(
            f"strict: found runs that say little of their policies, accepted none: "
            f"{'; '.join(lines)}"
        )


def check_runs(
    study: Study,
    keys: Set[str] | None = None,
    *,
    shipped_only: bool = False,
    complete: bool = False,
) -> list[Misfit]:
    """Build every workload, and try every policy on every machine and workload, without events.

    One seed of each is tried, of the cells with these keys. What is left when time is up is found
    wrong when it is run. With `shipped_only`, policies with code from outside the package are left
    out: if that ends its process, only a worker process is lost in a run. Messages are those of
    runs, after the place in the experiment's file.

    Return the runs that will say little of their policy, as far as they were tried: all of them,
    however long it takes, if this is to be `complete`.
    """
    begin, rehearsed_s = time.perf_counter(), 0.0
    found: dict[Misfit, None] = {}
    most = None if complete else TRIED_SIZE
    for use, cells in _by_workload(study, keys):
        if not complete and time.perf_counter() - begin > CHECK_S:
            break
        use.check()
        started, tried = time.perf_counter(), set()
        for cell in cells:
            combination = cell.policy, str(cell.sweep)
            if not complete and rehearsed_s + time.perf_counter() - started > REHEARSAL_S:
                break
            if combination not in tried and (not shipped_only or is_shipped(cell.policy_model)):
                tried.add(combination)
                for reason in _rehearse(study, cell, most):
                    found[Misfit(cell.machine, cell.workload, cell.policy, reason)] = None
        rehearsed_s += time.perf_counter() - started
    return list(found)


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


def _rehearse(study: Study, cell: Cell, most: int | None) -> tuple[str, ...]:
    """Try a cell up to its first event; what is wrong is said with the place of its policy."""
    try:
        return rehearse_cell(cell, most)
    except SimschedError as error:
        study.policy_of(cell).fail(error)
