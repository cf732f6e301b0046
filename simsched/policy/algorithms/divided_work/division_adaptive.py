"""Quick and split scheduling: one profiling step, or a new division after every chunk."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.policy import param, register
from simsched.policy.parts.division import DivisionState, MeasuringPolicy, first_fraction
from simsched.workload.graph import FloatArray


@register("quick")
@dataclass(frozen=True, kw_only=True)
class Quick(MeasuringPolicy):
    """Quick scheduling: a small step is profiled, the rest is divided by its speeds.

    Parameters
    ----------
    initial_fraction : float
        The profiled part of the loop; at least a unit for each part that has a share.

    Notes
    -----
    Two steps. The speed of a device is taken not to depend on the size of its work. Readings:
    docs/sources/hats.md.

    References
    ----------
    T. R. W. Scogland et al., *Heterogeneous task scheduling for accelerated OpenMP*, IPDPS 2012. Q.
    Chen, M. Guo, Springer 2017, section 6.2.2, Eq. 6.2.
    """

    initial_fraction: float = param(1 / 128, low=0.0, high=1.0)

    def first_step(self, state: DivisionState, units: int) -> int:
        return first_fraction(units, self.initial_fraction, int(state.unmeasured.sum()))

    def next_step(self, state: DivisionState, remaining: int, shares: FloatArray) -> int:
        return remaining


@register("split")
@dataclass(frozen=True, kw_only=True)
class Split(MeasuringPolicy):
    """Split scheduling: equal chunks, each divided by the speeds of the chunk before.

    Parameters
    ----------
    chunk_units : int
        Iterations in a chunk.

    Notes
    -----
    One step per chunk, the last one with what remains. Chunks of fewer units than parts go to one
    part after the other until the speed of each is known. Readings: docs/sources/hats.md.

    References
    ----------
    T. R. W. Scogland et al., *Heterogeneous task scheduling for accelerated OpenMP*, IPDPS 2012. Q.
    Chen, M. Guo, Springer 2017, section 6.2.3.
    """

    chunk_units: int = param(1024, low=1)

    def first_step(self, state: DivisionState, units: int) -> int:
        return min(self.chunk_units, units)

    def next_step(self, state: DivisionState, remaining: int, shares: FloatArray) -> int:
        return min(self.chunk_units, remaining)
