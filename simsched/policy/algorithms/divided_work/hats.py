"""HATS: asymptotic profiling of a processor and its devices with steps of doubling size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.policy import param, preset, register
from simsched.policy.parts.division import DivisionState, MeasuringPolicy, first_fraction
from simsched.workload.graph import FloatArray


def share_variance(new: FloatArray, old: FloatArray) -> float:
    """Return the sample variance of each side's two shares, the largest.

    >>> share_variance(np.array([0.49, 0.51]), np.array([0.5, 0.5])) < 5.1e-5
    True
    """
    difference = float(np.abs(new - old).max())
    return difference**2 / 2.0


@register("hats")
@dataclass(frozen=True, kw_only=True)
class Hats(MeasuringPolicy):
    """Heterogeneous-aware task scheduling: profiles with doubling steps until the division settles.

    Parameters
    ----------
    initial_fraction : float
        First step, as a part of the whole loop; at least a unit for each part that has a share.
    variance_threshold : float
        The division has settled when the shares of two steps vary by less.

    Notes
    -----
    The first step divides `initial_fraction` of the loop by `initial_share`. After a step, the new
    shares follow from the measured speeds. If their variance with those of the step is below the
    threshold, or the next step, twice as large, is more than half of what remains, all that remains
    is one last step with the new shares. Readings: docs/sources/hats.md.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, section 6.3, Algorithm 10. Z. Wang, L. Zheng, Q. Chen, M. Guo,
    *CAP: co-scheduling based on asymptotic profiling in CPU+GPU hybrid systems*, PMAM 2013.
    """

    initial_fraction: float = param(1 / 128, low=0.0, high=1.0)
    variance_threshold: float = param(5e-5, low=0.0)

    def first_step(self, state: DivisionState, units: int) -> int:
        return first_fraction(units, self.initial_fraction, int(state.unmeasured.sum()))

    def next_step(self, state: DivisionState, remaining: int, shares: FloatArray) -> int:
        """Return twice the step, or all that remains once the division has settled."""
        settled = share_variance(shares, state.shares) < self.variance_threshold
        doubled = 2 * state.step
        return remaining if settled or doubled > remaining / 2 else doubled


preset("cap", Hats, "HATS under the name of its workshop version, CAP.")
preset("hats_64", Hats, "HATS whose first step is 1/64 of the loop.", initial_fraction=1 / 64)
preset("hats_128", Hats, "HATS whose first step is 1/128 of the loop.", initial_fraction=1 / 128)
preset("hats_256", Hats, "HATS whose first step is 1/256 of the loop.", initial_fraction=1 / 256)
