"""Many small runs of a program, with other policies and seeds, without a study around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simsched.engine.run import simulate
from simsched.engine.tallies import TALLIED, tallies
from simsched.experiment.frames import with_units
from simsched.experiment.overrides import Change, Origin
from simsched.experiment.study import Study
from simsched.files.errors import ConfigurationError, SimschedError, expect
from simsched.files.units import PER_PS, plural
from simsched.machine.model import Machine
from simsched.names.arguments import plain
from simsched.names.parameters import Bounds, Parameter
from simsched.policy import Policy
from simsched.trace.run import Run
from simsched.workload.graph import Workload

if TYPE_CHECKING:
    import pandas as pd

_SEED = Parameter("seed", int, 0, Bounds(0))
#: Columns of a frame that are called otherwise than what is counted.
_CALLED = {"n_tasks": "tasks", "n_events": "events", "peak_bytes": "footprint_bytes"}
#: What is counted, but no column: parts of others.
_LEFT_OUT = {"move_ps", "policy_ps"}


@dataclass(frozen=True, eq=False, repr=False)
class Runs:
    """Runs of a program on a machine under some policies, each with some seeds.

    They are simulated when somebody asks for them, and not kept: :meth:`frame` gives a row of
    numbers for each, the fastest way to have millions of them; iteration gives one :class:`Run`
    after the other.

    Parameters
    ----------
    machine : Machine
        What they run on.
    policies : mapping of str to Policy
        By label.
    seeds : sequence of int
        Of all of them.
    workload : callable
        Returns the program for a seed.
    is_random : bool
        Whether that differs from seed to seed.
    options : mapping of str to object
        Further arguments of :func:`simsched.simulate`.
    """

    machine: Machine
    policies: Mapping[str, Policy]
    seeds: Sequence[int]
    workload: Callable[[int], Workload]
    is_random: bool
    options: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.policies) * len(self.seeds)

    def __repr__(self) -> str:
        return (
            f"<Runs: {plural(len(self), 'run')} on {self.machine.name}, "
            f"{plural(len(self.policies), 'policy', 'policies')}, "
            f"{plural(len(self.seeds), 'seed')}>"
        )

    def __iter__(self) -> Iterator[Run]:
        for label, policy in self.policies.items():
            for seed in self.seeds:
                try:
                    program = self.workload(seed)
                    run = simulate(self.machine, program, policy, seed=seed, **self.options)
                except SimschedError as error:
                    raise type(error)(f"{label} seed {seed}: {error}") from error
                yield run

    def frame(self) -> pd.DataFrame:
        """Return one row for each run, in the order of policies and seeds.

        Returns
        -------
        DataFrame
            Columns `policy`, `seed`, and some of those of :attr:`Result.runs` under the same names:
            `makespan_s`, `tasks`, `steals`, `idle_s`, `memory_bytes` and others that are totals.
        """
        import pandas as pd

        labels = list(self.policies)
        rows = np.concatenate([self._rows(label) for label in labels])
        policy = pd.Categorical(np.repeat(labels, len(self.seeds)), categories=labels)
        seeds = np.tile(np.array(self.seeds), len(labels))
        return with_units(pd.DataFrame({"policy": policy, "seed": seeds, **_columns(rows)}))

    def _rows(self, label: str) -> NDArray[np.int64]:
        """Return the totals of the runs of a policy."""
        found = np.empty((len(self.seeds), len(TALLIED)), np.int64)
        groups = [[seed] for seed in self.seeds] if self.is_random else [self.seeds]
        done = 0
        try:
            for seeds in groups:
                program = self.workload(seeds[0])
                for rows in tallies(
                    self.machine, program, self.policies[label], seeds, **self.options
                ):
                    found[done : done + len(rows)] = rows
                    done += len(rows)
        except SimschedError as error:
            raise type(error)(f"{label} seed {self.seeds[done]}: {error}") from error
        return found


def _columns(rows: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Return totals of runs as columns, with what hardware would count as busy and as moving."""
    totals = {name: rows[:, place].copy() for place, name in enumerate(TALLIED)}
    totals["migrate_ps"] += totals["page_fault_ps"]
    totals["busy_ps"] = np.maximum(totals["busy_ps"] - totals["page_fault_ps"], 0)
    columns: dict[str, NDArray[Any]] = {}
    for name, values in totals.items():
        if name.endswith("_ps") and name not in _LEFT_OUT:
            columns[f"{name.removesuffix('_ps')}_s"] = values * PER_PS
        elif name not in _LEFT_OUT:
            columns[_CALLED.get(name, name)] = values
    return columns


def simulate_many(
    machine: Any,
    workload: Any,
    policies: Any,
    seeds: int | Sequence[int],
    *,
    workers: int | None = None,
    pinning: str | None = None,
    backend: str | None = None,
    progress_limit_s: float | None = None,
) -> Runs:
    """Return the runs of a program under some policies and seeds, ready to be simulated.

    Each is what :func:`simsched.simulate` gives for the same machine, workload, policy and seed,
    in this process, without files. :func:`simsched.run` compares policies, uses several processes
    and stores what it has done.

    Parameters
    ----------
    machine, workload, policies : object, str or Path
        As for :func:`simsched.run`, but one machine and one workload. Several policies are a list,
        or a mapping of labels.
    seeds : int or sequence of int
        Number of seeds, or the seeds.
    workers : int, optional
        Number of workers; one per hardware thread by default.
    pinning : {"scatter", "compact"}, optional
        Where fewer workers than threads go; scattered by default.
    backend : {"native", "simpy"}, optional
        Engine; the native one by default.
    progress_limit_s : float, optional
        A run in which no task ends for so many simulated seconds is given up; a day by default.

    Returns
    -------
    Runs
        To be iterated over, or asked for a frame.

    Raises
    ------
    SimschedError
        Something is unknown or wrong. What does not fit together is told when it is simulated, with
        the policy and the seed.

    Examples
    --------
    >>> import simsched
    >>> runs = simsched.simulate_many(
    ...     "amd_4x_opteron8380", "fork_join[depth=4]", ["cilk_a", "work_sharing"], seeds=3
    ... )
    >>> runs
    <Runs: 6 runs on amd_4x_opteron8380, 2 policies, 3 seeds>
    >>> runs.frame()[["policy", "seed", "tasks"]].to_dict("list")["tasks"]
    [31, 31, 31, 31, 31, 31]
    >>> [run.seed for run in runs if run.makespan_s > 0]
    [0, 1, 2, 0, 1, 2]
    """
    asked = {
        "machines.*.workers": workers,
        "machines.*.pinning": pinning,
        "backend": backend,
        "progress_limit_s": progress_limit_s,
    }
    changes = [
        Change(key, plain(value), Origin("")) for key, value in asked.items() if value is not None
    ]
    study = Study.from_objects(machine, workload, policies, changes)
    (point,) = study.points
    for what, found in (("machine", point.machines), ("workload", point.workloads)):
        if len(found) != 1:
            raise ConfigurationError(f"simulate_many: {what}: found {len(found)}, accepted one")
    entry, experiment = point.machines[0].entry, study.experiment
    source, own = point.workloads[0].thing, point.workloads[0].entry.seed
    is_random = source.is_random and own is None
    program = None if is_random else source.seeded(own or 0).build()
    return Runs(
        point.machines[0].thing,
        {part.label: part.thing for part in point.policies},
        _seeds(seeds),
        lambda seed: source.seeded(seed).build() if program is None else program,
        is_random,
        {
            "workers": entry.workers,
            "pinning": entry.pinning,
            "backend": experiment.backend,
            "progress_limit_s": experiment.progress_limit_s,
        },
    )


def _seeds(seeds: object) -> Sequence[int]:
    """Return the seeds that somebody means by a number or several."""
    where, value = "simulate_many: seeds", plain(seeds)
    if isinstance(value, int) and not isinstance(value, bool):
        return range(Parameter("seeds", int, 1, Bounds(1)).checked(value, where))
    expect(where, value, (list, tuple, range), "a number of seeds, or a list of seeds")
    assert isinstance(value, Sequence)
    if not len(value):
        raise ConfigurationError(f"{where}: found none, accepted at least one")
    return [_SEED.checked(seed, f"{where}[{place}]") for place, seed in enumerate(value)]
