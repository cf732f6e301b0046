"""A pool of ready kernels on the host, from which a few at a time are passed on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from simsched.policy import HookView, param, register, seconds_to_ps
from simsched.policy.parts.accelerator_pool import PoolState, Release, ReorderingPolicy


@register("cpu_side_pool")
@dataclass(frozen=True, kw_only=True)
class CpuSidePool(ReorderingPolicy[PoolState]):
    """Ready kernels wait in a pool on the host; a few at a time are passed to the device.

    Parameters
    ----------
    order : {"critical_first", "fifo", "shortest_first"}
        Which of the waiting kernels goes next: by class, by submission, or by expected duration.
    in_flight : int
        Kernels that the device has at the same time at most.

    Notes
    -----
    The mechanism under Baymax with a simple rule plugged in.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, section 8.5.
    """

    order: str = param("critical_first", choices=("critical_first", "fifo", "shortest_first"))
    in_flight: int = param(2, low=1, high=1024)

    def chosen(self, view: HookView, state: PoolState) -> Iterator[Release]:
        """Yield waiting kernels in order while the device has fewer than it may have."""
        while state.waiting and len(state.issued) < self.in_flight:
            first = min(state.waiting, key=lambda task: self._rank(state, task))
            yield Release(first, seconds_to_ps(self.decision_s))

    def _rank(self, state: PoolState, task: int) -> float:
        """Return what the order goes by; of equal ones the earliest submission counts."""
        if self.order == "critical_first":
            return float(not state.now.is_critical[task])
        return float(state.seconds[task]) if self.order == "shortest_first" else 0.0
