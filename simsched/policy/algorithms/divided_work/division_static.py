"""Static divisions of a loop: everything in one step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simsched.files.errors import ModelError
from simsched.policy import (
    DIVISIBLE_WORK,
    Counters,
    Need,
    PlanView,
    param,
    preset,
    register,
)
from simsched.policy.parts.division import (
    DividingPolicy,
    DivisionState,
    device_shares,
    rounded,
)
from simsched.policy.parts.division_steps import group_of_worker
from simsched.policy.parts.host_memory import host_path
from simsched.workload.graph import BoolArray, Int64Array

MODELS = ("none", "profile_db", "code_model")


@register("static_split")
@dataclass(frozen=True, kw_only=True)
class StaticSplit(DividingPolicy):
    """Static scheduling: a share for the devices that is chosen before the run.

    Parameters
    ----------
    share : float
        Share of the devices together; without a model.
    model : {"none", "profile_db", "code_model"}
        What the share follows from: nothing; times of an earlier run; a model of the compiled code.
    profiled_fraction : float
        Size of the earlier run, as a part of this one; 1 for the same input.

    Notes
    -----
    One step. Speeds come from the times of an equal division in an earlier run (``profile_db``), or
    from the computation alone (``code_model``). Readings: docs/sources/hats.md.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, section 6.2.1. C.-K. Luk, S. Hong, H. Kim, *Qilin*, MICRO 2009
    (database of profiles). S. Hong, H. Kim, *An analytical model for a GPU architecture*, ISCA 2009
    (code model).
    """

    share: float = param(0.5, low=0.0, high=1.0)
    model: str = param("none", choices=MODELS)
    profiled_fraction: float = param(1.0, low=1e-6)

    def divide(
        self, view: PlanView, state: DivisionState, remaining: int, counters: Counters | None
    ) -> Int64Array:
        shares = device_shares(state.sides, self.share)
        if self.model != "none":
            equal = max(1.0, remaining * self.profiled_fraction / state.sides.n_parts)
            rate = np.array(
                [
                    equal / part_s(view, state, part, equal)
                    if self.model == "profile_db"
                    else 1.0 / unit_s(view, state, part)
                    for part in range(state.sides.n_parts)
                ]
            )
            shares = rate / float(rate.sum())
        return rounded(shares, remaining)


def unit_s(view: PlanView, state: DivisionState, part: int) -> float:
    """Return the seconds that the computation of a unit takes on a part that is busy as a whole."""
    return max(max(ops[1] for ops in _ops_s(view, state, part)), 1e-15)


def part_s(view: PlanView, state: DivisionState, part: int, units: float) -> float:
    """Return the seconds that a part takes with some units, alone on the machine.

    Threads of the processor work beside each other; copies and kernel of a device come one after
    the other, a copy with the latency and the rate of its path.
    """
    division, graph = view.workload.division, view.workload.graph
    assert division is not None
    compute = [fixed + each * max(units, least) for fixed, each, least in _ops_s(view, state, part)]
    if part < state.sides.first_device:
        return max(max(compute), 1e-15)
    worker = state.sides.devices[part - state.sides.first_device]
    latency_s, bytes_per_s = host_path(view.machine, int(view.worker_domain[worker]))
    copying = 0.0
    for task in np.flatnonzero(division.part == part).tolist():
        span = slice(int(graph.access_ptr[task]), int(graph.access_ptr[task + 1]))
        each = division.unit_read_bytes[span] + division.unit_written_bytes[span]
        for moved in each.tolist():
            copying += latency_s + moved * units / bytes_per_s
    return max(sum(compute) + copying, 1e-15)


def _ops_s(view: PlanView, state: DivisionState, part: int) -> list[tuple[float, float, float]]:
    """Return fixed seconds, seconds per unit and least units of the tasks of a part."""
    division, kinds, sides = view.workload.division, view.workload.graph.kinds, state.sides
    assert division is not None
    is_cpu = part < sides.first_device
    group = group_of_worker(
        view, sides.cpu[0] if is_cpu else sides.devices[part - sides.first_device]
    )
    row = kinds.index(group.kind)
    return [
        (
            float(division.fixed_ops[row, task]) / group.ops_per_s,
            float(division.unit_ops[row, task]) / group.ops_per_s,
            float(division.least_units[row, task]),
        )
        for task in np.flatnonzero(division.part == part).tolist()
    ]


preset(
    "static_profile_db",
    StaticSplit,
    "Static scheduling with a share from a database of earlier runs, as in Qilin.",
    model="profile_db",
)
preset(
    "static_code_model",
    StaticSplit,
    "Static scheduling with a share from an analytical model of the code.",
    model="code_model",
)


@register("cpu_only")
@dataclass(frozen=True, kw_only=True)
class CpuOnly(DividingPolicy):
    """The whole loop on the processor: the sequential program that speed-ups refer to.

    Notes
    -----
    One step, by default on one thread.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, section 6.5.1.
    """

    needs: ClassVar[tuple[Need, ...]] = (DIVISIBLE_WORK,)

    def divide(
        self, view: PlanView, state: DivisionState, remaining: int, counters: Counters | None
    ) -> Int64Array:
        if not state.sides.cpu:
            raise ModelError(f"machine {view.machine.name} has no processor for cpu_only")
        return _all_to(state, np.arange(state.sides.n_parts) == 0, remaining)


@register("gpu_only")
@dataclass(frozen=True, kw_only=True)
class GpuOnly(DividingPolicy):
    """The whole loop on the devices, in equal shares.

    Notes
    -----
    One step.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, section 6.5.1.
    """

    def divide(
        self, view: PlanView, state: DivisionState, remaining: int, counters: Counters | None
    ) -> Int64Array:
        if not state.sides.devices:
            raise ModelError(f"machine {view.machine.name} has no device for gpu_only")
        chosen = np.arange(state.sides.n_parts) >= state.sides.first_device
        return _all_to(state, chosen, remaining)


def _all_to(state: DivisionState, chosen: BoolArray, remaining: int) -> Int64Array:
    """Return all units for some parts, in equal shares."""
    units = np.zeros(state.sides.n_parts, np.int64)
    share, rest = divmod(remaining, int(chosen.sum()))
    units[chosen] = share + (np.arange(int(chosen.sum())) < rest)
    return units
