"""Policies that divide a loop between a processor and its devices, step by step.

A *step* gives some iterations of the loop to the processor and others to each device, at the same
time, and waits for all of them. It is one iteration of the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simsched.policy.contract.base import Counters, Plan, PlanView, Update, param, seconds_to_ps
from simsched.policy.contract.fit import DEVICE, DIVISIBLE_WORK, Need
from simsched.policy.parts.central_queue import central_queue
from simsched.policy.parts.division_steps import (
    COPY_IN,
    COPY_OUT,
    KERNEL,
    Sides,
    sides_of,
    step_program,
)
from simsched.policy.parts.placement import PlacedPolicy
from simsched.policy.parts.static_order import own_lists
from simsched.workload.graph import BoolArray, FloatArray, Int64Array, TaskGraph, Workload


def rounded(shares: FloatArray, count: int) -> Int64Array:
    """Return whole units by shares: rounded for the parts after the first, which gets the rest.

    >>> rounded(np.array([0.5, 0.5]), 513).tolist()
    [256, 257]
    """
    units = np.zeros(len(shares), np.int64)
    left = count
    for part in range(1, len(shares)):
        units[part] = min(left, int(np.floor(shares[part] * count + 0.5)))
        left -= int(units[part])
    units[0] = left
    return units


def first_fraction(units: int, fraction: float, least: int) -> int:
    """Return a part of all units, at least as many as `least` as far as there are as many."""
    return min(units, max(least, round(fraction * units)))


def with_unmeasured(units: Int64Array, unmeasured: BoolArray) -> Int64Array:
    """Return a step in which parts whose speed is not known have a unit each.

    Each unit comes from the part that has most to spare, the first of several; a part that needs
    one keeps its last. In a step with fewer units than such parts some remain without.

    >>> with_unmeasured(np.array([0, 3, 5]), np.array([True, True, False])).tolist()
    [1, 3, 4]
    >>> with_unmeasured(np.array([0, 1]), np.array([True, True])).tolist()
    [0, 1]
    """
    found, keeps = units.copy(), unmeasured.astype(np.int64)
    for part in np.flatnonzero(unmeasured & (units == 0)).tolist():
        giver = int((found - keeps).argmax())
        if found[giver] <= keeps[giver]:
            break
        found[giver] -= 1
        found[part] += 1
    return found


@dataclass(eq=False)
class DivisionState:
    """What a dividing policy remembers."""

    sides: Sides  # who takes part
    shares: FloatArray  # shape (n_parts,): shares of the parts in the present step
    #: shape (n_parts,): units per second of each part when it last had work; 0 before
    rate: FloatArray
    step: int = 0  # units of the present step

    @property
    def unmeasured(self) -> BoolArray:
        """Which parts have a share but no measured speed yet; shape (n_parts,)."""
        missing: BoolArray = (self.shares > 0.0) & (self.rate == 0.0)
        return missing


@dataclass(frozen=True, kw_only=True)
class DividingPolicy(PlacedPolicy[DivisionState]):
    """Base of policies that divide a loop between a processor and its devices.

    Parameters
    ----------
    threads : int
        Threads that share the processor's part; 0 for one per core.
    decision_s : float
        Time in seconds that the scheduler needs between two steps.
    """

    needs: ClassVar[tuple[Need, ...]] = (DIVISIBLE_WORK, DEVICE)

    chooses_processors: ClassVar[bool] = True

    threads: int = param(1, low=0)
    decision_s: float = param(1e-6, low=0.0, high=1e6, is_cost=True)

    def prepare(self, view: PlanView) -> Workload:
        """Return the program as steps; one without divisible work as it is."""
        if view.workload.division is None:
            return view.workload
        return step_program(view, self.threads)

    def start(self, view: PlanView) -> DivisionState:
        sides = sides_of(view, self.threads)
        return DivisionState(sides, device_shares(sides, 0.5), np.zeros(sides.n_parts))

    def plan(self, view: PlanView, state: DivisionState, graph: TaskGraph) -> Plan:
        if view.workload.division is None:
            return central_queue(graph)
        workers = list(state.sides.cpu)
        workers += [device for device in state.sides.devices for _ in (COPY_IN, KERNEL, COPY_OUT)]
        return own_lists(
            np.array(workers, np.int32),
            active_workers=np.isin(np.arange(view.n_workers), workers),
        )

    def on_iteration(
        self, view: PlanView, state: DivisionState, counters: Counters
    ) -> Update | None:
        return (
            None
            if view.workload.division is None
            else Update(overhead_ps=seconds_to_ps(self.decision_s))
        )


def device_shares(sides: Sides, share: float) -> FloatArray:
    """Return the shares of the parts when the devices together get `share`, equal parts each."""
    if not sides.devices or not sides.cpu:
        return np.full(sides.n_parts, 1.0 / sides.n_parts)
    each = share / len(sides.devices)
    return np.array([1.0 - share] + [each] * len(sides.devices))


@dataclass(frozen=True, kw_only=True)
class MeasuringPolicy(DividingPolicy):
    """Base of dividing policies that follow the measured speeds of the parts.

    Parameters
    ----------
    initial_share : float
        Share of the devices in the first step; with 0 or 1 one side never has work.
    timer_noise : float
        Standard deviation of measured times, relative to the times.

    Notes
    -----
    A speed is measured where a part has had work; as long as some part that has a share has not
    been measured, shares stay as they are. Readings: docs/sources/hats.md.
    """

    initial_share: float = param(0.5, low=0.0, high=1.0)
    timer_noise: float = param(0.0, low=0.0, high=1.0)

    def divide(
        self, view: PlanView, state: DivisionState, remaining: int, counters: Counters | None
    ) -> Int64Array:
        """Return the first step of an invocation or, with new shares, the next one."""
        division = view.workload.division
        assert division is not None
        if counters is None or remaining == division.units:
            state.shares = device_shares(state.sides, self.initial_share)
            state.rate[:] = 0.0
            return self.give(state, self.first_step(state, remaining))
        shares = self.follow(view, state, counters)
        count = self.next_step(state, remaining, shares)
        state.shares = shares
        return self.give(state, count)

    def first_step(self, state: DivisionState, units: int) -> int:
        """Return the size of the first step of an invocation."""
        raise NotImplementedError

    def next_step(self, state: DivisionState, remaining: int, shares: FloatArray) -> int:
        """Return the size of the next step, which will have new shares."""
        raise NotImplementedError

    def give(self, state: DivisionState, count: int) -> Int64Array:
        """Return a step of `count` units by the present shares, and remember its size."""
        state.step = count
        return with_unmeasured(rounded(state.shares, count), state.unmeasured)

    def follow(self, view: PlanView, state: DivisionState, counters: Counters) -> FloatArray:
        """Return new shares, in proportion to the speeds of the step that has just ended.

        Speeds are units per second, ``r_p = n_p / T_p``; new shares ``r_p / sum r``. A part that
        had no units keeps the speed that it had before; shares remain until the speed of every part
        that has a share is known.
        """
        time = counters.part_s
        if self.timer_noise > 0.0:
            factor = 1.0 + self.timer_noise * view.rng.standard_normal(len(time))
            time = time * np.maximum(factor, 0.01)
        had = counters.part_units > 0
        state.rate[had] = counters.part_units[had] / np.maximum(time[had], 1e-12)
        if state.unmeasured.any():
            return state.shares
        total = 0.0
        for rate in state.rate.tolist():
            total += rate
        return state.rate / total
