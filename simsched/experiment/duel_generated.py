"""Small programs of generators: every parameter is one of a few values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from simsched.experiment.duel_choices import (
    Choices,
    any_of,
    changed_value,
    random_values,
    simpler_values,
)
from simsched.experiment.duel_programs import MOST_TASKS
from simsched.files.errors import ConfigurationError
from simsched.workload.graph import Workload
from simsched.workload.registry import generate_workload


@dataclass(frozen=True)
class Generated:
    """A program of a generator with some parameters, and what each of them may be.

    ``seed`` is that of the generator.
    """

    generator: str
    choices: Choices
    values: Mapping[str, Any]

    def workload(self, name: str, kinds: Sequence[str]) -> Workload:
        """Return the program itself, which is for the kinds of processors that its generator has.

        Raises
        ------
        ConfigurationError
            It has more than `MOST_TASKS` tasks.
        """
        params = {key: value for key, value in self.values.items() if key != "seed"}
        made = generate_workload(self.generator, params, self.values.get("seed", 0))
        if made.graph.n_tasks > MOST_TASKS:
            raise ConfigurationError(
                f"found {made.graph.n_tasks} tasks, accepted at most {MOST_TASKS}"
            )
        return replace(made, name=name)

    def simpler(self) -> Iterator[Generated]:
        """Yield programs with one value that is simpler."""
        for value in simpler_values(self.choices, self.values):
            yield self._with(value)

    def changed(self, rng: np.random.Generator) -> Generated:
        """Return a program with another value of one parameter."""
        return self._with(changed_value(rng, self.choices, self.values))

    def write(self, directory: Path, kinds: Sequence[str]) -> dict[str, Any]:
        """Return what an experiment says of the program, which needs no file."""
        return {"name": self.generator, **self.values}

    def _with(self, value: Mapping[str, Any]) -> Generated:
        return replace(self, values={**self.values, **value})


@dataclass(frozen=True)
class GeneratedDraws:
    """Random programs of some generators, and random changes of them."""

    generators: Mapping[str, Choices]
    rng: np.random.Generator

    def program(self) -> Generated:
        """Return a random program of one of the generators."""
        name = any_of(self.rng, tuple(self.generators))
        choices = self.generators[name]
        return Generated(name, choices, random_values(self.rng, choices))

    def changed(self, program: Generated) -> Generated:
        """Return a program that differs in one parameter."""
        return program.changed(self.rng)
