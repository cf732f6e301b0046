"""Random durations that are laid over a program, whatever has made it.

::

    lognormal 0.3                       deviation over mean
    uniform 0.2                         half the width over the mean
    exponential
    spikes 0.01 10                      one task of a hundred takes ten times as long
    lognormal 0.3 + spikes 0.01 10      both

Each execution of a task draws a factor for its operations, body and join alike: another one in
every iteration, and for every seed of a run. Distributions have the mean 1, spikes come on top.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from simsched.files.errors import ConfigurationError, GraphError, shown, unknown_name
from simsched.workload.arrays import FloatArray, GraphArrays
from simsched.workload.draws import Distribution, draw_costs, stream

KEY = "durations"
EXAMPLE = (
    "such as 'lognormal 0.3', 'uniform 0.2', 'exponential' or 'lognormal 0.3 + spikes 0.01 10'"
)
#: Largest spread of a distribution.
SPREADS: dict[str, float] = {"uniform": 1.0, "lognormal": 10.0}
MAX_FACTOR = 1e6
Graph = TypeVar("Graph", bound=GraphArrays)


@dataclass(frozen=True)
class Spread:
    """How the durations of some tasks scatter.

    Parameters
    ----------
    distribution : {"constant", "uniform", "exponential", "lognormal"}
        Of the factor, with the mean 1.
    spread : float
        As in the module's description; 0 where the distribution has none.
    spike_share : float
        How many of the executions take longer, from 0 to 1.
    spike_factor : float
        How many times as long these take.
    """

    distribution: Distribution = "constant"
    spread: float = 0.0
    spike_share: float = 0.0
    spike_factor: float = 1.0

    def factors(self, random: np.random.Generator, count: int) -> FloatArray:
        """Return factors of durations.

        Parameters
        ----------
        random : numpy.random.Generator
            Where they come from.
        count : int
            How many.

        Returns
        -------
        ndarray of float64, shape (count,)
            At least 0.
        """
        drawn = draw_costs(random, count, 1.0, self.distribution, self.spread)
        spikes = random.random(count) < self.spike_share
        return np.where(spikes, drawn * self.spike_factor, drawn)


@dataclass(frozen=True)
class Durations:
    """What is laid over a program.

    Parameters
    ----------
    spreads : dict of str to Spread
        For each class of tasks; "" is all classes.
    seed : int
        Of everything that is drawn.
    """

    spreads: Mapping[str, Spread]
    seed: int = 0

    def laid_over(self, graph: Graph, number: int) -> dict[str, Any]:
        """Return the operations of the tasks of an iteration.

        Parameters
        ----------
        graph : TaskGraph
            What the iteration executes without this.
        number : int
            Of the iteration, 0 for the initialisation.

        Returns
        -------
        dict of str to ndarray
            `ops` and `join_ops` of the graph.
        """
        factor = np.ones(graph.n_tasks)
        for name, spread in self.spreads.items():
            tasks = np.arange(graph.n_tasks)
            if name:
                known = graph.class_names.index(name) if name in graph.class_names else -1
                tasks = np.flatnonzero(graph.task_class == known)
            random = stream(self.seed, f"{KEY} {number} {name}")
            factor[tasks] = spread.factors(random, len(tasks))
        laid = {}
        for key, ops in (("ops", graph.ops), ("join_ops", graph.join_ops)):
            can_run = np.isfinite(ops)
            laid[key] = np.where(can_run, np.where(can_run, ops, 0.0) * factor, ops)
        return laid

    def check_classes(self, where: str, *graphs: GraphArrays) -> None:
        """Check that the classes are those of a program.

        Parameters
        ----------
        where : str
            How messages begin.
        *graphs : TaskGraph
            The program's.

        Raises
        ------
        GraphError
            A class that none of them has.
        """
        known = dict.fromkeys(name for graph in graphs for name in graph.class_names)
        for name in self.spreads:
            if name and name not in known:
                raise GraphError(f"{where}.{name}: {unknown_name('class of tasks', name, known)}")


def parse_durations(given: object, where: str, seed: int = 0) -> Durations:
    """Return what a text means for all tasks, or a mapping of texts for each class.

    Parameters
    ----------
    given : str or mapping of str to str
        As in the module's description.
    where : str
        How messages begin.
    seed : int
        Of everything that is drawn.

    Returns
    -------
    Durations
        For any program.

    Raises
    ------
    ConfigurationError
        A text that means nothing.
    """
    if not isinstance(given, Mapping):
        return Durations({"": _spread(given, f"{where}: {KEY}")}, seed)
    spreads = {str(n): _spread(text, f"{where}: {KEY}.{n}") for n, text in given.items()}
    return Durations(spreads, seed)


def durations_text(given: object) -> str:
    """Return on one line what the user has given.

    Parameters
    ----------
    given : str or mapping of str to str
        As for `parse_durations`.

    Returns
    -------
    str
        Classes before their distributions.
    """
    if not isinstance(given, Mapping):
        return f"{given} (all tasks)"
    return ", ".join(f"{name}: {text}" for name, text in given.items())


def split_durations(parameters: Mapping[str, Any], where: str) -> tuple[dict[str, Any], Any]:
    """Return parameters without those of durations, and what these say, None for nothing.

    Parameters
    ----------
    parameters : mapping of str to object
        With ``durations``, or ``durations.CLASS`` for each class, or neither.
    where : str
        How messages begin.

    Returns
    -------
    dict of str to object
        The others.
    object
        For `parse_durations`.

    Raises
    ------
    ConfigurationError
        Both are there.
    """
    by_class = {
        key.removeprefix(f"{KEY}."): value
        for key, value in parameters.items()
        if key.startswith(f"{KEY}.")
    }
    rest = {key: value for key, value in parameters.items() if key.partition(".")[0] != KEY}
    given = parameters.get(KEY)
    if by_class and given is not None:
        raise ConfigurationError(
            f"{where}: {KEY}: found beside {KEY}.{next(iter(by_class))}, accepted: {KEY} for all "
            f"tasks, or {KEY}.CLASS for each class"
        )
    return rest, by_class or given


def _spread(text: object, where: str) -> Spread:
    """Return what a text means."""
    wrong = ConfigurationError(f"{where}: found {shown(text)}, accepted a distribution {EXAMPLE}")
    if not isinstance(text, str):
        raise wrong
    found: dict[str, Any] = {}
    for part in text.split("+"):
        name, *words = part.split() or [""]
        try:
            numbers = [float(word) for word in words]
        except ValueError:
            raise wrong from None
        if name == "spikes" and len(numbers) == 2 and "spike_share" not in found:
            share, factor = numbers
            if not (0 <= share <= 1 and 0 <= factor <= MAX_FACTOR):
                raise ConfigurationError(
                    f"{where}: found {shown(part.strip())}, accepted spikes SHARE FACTOR, a share "
                    f"from 0 to 1 and a factor from 0 to {MAX_FACTOR:g}"
                )
            found |= {"spike_share": share, "spike_factor": factor}
        elif "distribution" in found:
            raise wrong
        elif name in SPREADS and len(numbers) == 1:
            if not 0 <= numbers[0] <= SPREADS[name]:
                raise ConfigurationError(
                    f"{where}: found {shown(part.strip())}, accepted a spread from 0 to "
                    f"{SPREADS[name]:g}"
                )
            found |= {"distribution": name, "spread": numbers[0]}
        elif name in ("exponential", "constant") and not numbers:
            found["distribution"] = name
        else:
            raise wrong
    return Spread(**found)
