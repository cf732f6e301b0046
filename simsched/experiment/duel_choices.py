"""Values that a search chooses: each is one of a few, of which the first is the simplest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

#: What each value may be, by its name.
Choices = Mapping[str, Sequence[Any]]
#: How often a random value is the simplest.
PLAIN = 0.5


def random_values(
    rng: np.random.Generator, choices: Choices, sizes: Sequence[str] = ()
) -> dict[str, Any]:
    """Return random values, about half of them the simplest; `sizes` are drawn evenly."""
    values = {name: any_of(rng, choices[name]) for name in sizes}
    for name, accepted in choices.items():
        if name not in values:
            values[name] = any_of(rng, accepted) if rng.random() > PLAIN else accepted[0]
    return values


def changed_value(
    rng: np.random.Generator, choices: Choices, values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return another value of one name."""
    name = any_of(rng, [name for name, accepted in choices.items() if len(accepted) > 1])
    return {name: any_of(rng, [value for value in choices[name] if value != values[name]])}


def simpler_values(choices: Choices, values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield simpler values of one name each, the simplest ones first."""
    for name, accepted in choices.items():
        for value in accepted[: accepted.index(values[name])]:
            yield {name: value}


def any_of(rng: np.random.Generator, choices: Sequence[Any]) -> Any:
    """Return one of some values."""
    return choices[int(rng.integers(len(choices)))]
