"""Random numbers of the generators: one named stream per purpose, and costs from distributions."""

from __future__ import annotations

import math
import zlib
from typing import Literal

import numpy as np

from simsched.workload.arrays import FloatArray

Distribution = Literal["constant", "uniform", "exponential", "lognormal"]


def stream(seed: int, purpose: str, skipped: int = 0) -> np.random.Generator:
    """Return the random numbers of one purpose; other purposes do not shift them.

    `skipped` numbers in [0, 1) are left out at the beginning, so that a part of a long row of them
    can be drawn without the others.
    """
    key = zlib.crc32(purpose.encode())
    bits = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(key,)))
    return np.random.Generator(bits.advance(skipped))


def draw_costs(
    random: np.random.Generator, count: int, mean: float, distribution: Distribution, spread: float
) -> FloatArray:
    """Return task costs with the given mean.

    `spread` is half the width relative to the mean, in [0, 1], of ``uniform``, and the ratio of
    standard deviation and mean of ``lognormal``.
    """
    if distribution == "uniform":
        return mean * (1.0 + spread * (2.0 * random.random(count) - 1.0))
    if distribution == "exponential":
        return mean * random.standard_exponential(count)
    if distribution == "lognormal":
        sigma = math.sqrt(math.log1p(spread * spread))
        return mean * np.exp(sigma * random.standard_normal(count) - 0.5 * sigma * sigma)
    return np.full(count, mean)
