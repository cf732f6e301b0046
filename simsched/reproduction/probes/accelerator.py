"""What models of accelerators and their schedulers say: rates of copies, formulas, predictors."""

from __future__ import annotations

import math

import numpy as np

from simsched.files.errors import ConfigurationError, unknown_name
from simsched.files.units import PS_PER_S, seconds_to_ps
from simsched.machine.model import Machine, Path
from simsched.policy.algorithms.accelerator.baymax import Baymax
from simsched.policy.algorithms.accelerator.smk import SimultaneousMultiKernel
from simsched.policy.algorithms.accelerator.spart import SpatialPartitioning
from simsched.policy.algorithms.accelerator.timegraph import TimeGraph, replenished
from simsched.policy.parts import accelerator_copies, predictors
from simsched.policy.parts.accelerator import pinned_nodes
from simsched.reproduction.probes import chosen, machine_of, probe
from simsched.workload.accelerator_programs import BATCH, CRITICAL

MEMORIES = ("pageable", "pinned")


@probe("copy_link_bytes_per_s")
def copy_link_bytes_per_s(*, machine: str) -> float:
    """Return what the link between host and accelerator delivers into the accelerator."""
    model = machine_of(machine)
    return model.link_rate(_copy_path(model, "copy_in", "pageable"))


@probe("copy_rate_bytes_per_s")
def copy_rate_bytes_per_s(*, machine: str, memory: str) -> float:
    """Return the rate of a copy from ``pageable`` or ``pinned`` memory that has the link alone."""
    model = machine_of(machine)
    path = _copy_path(model, "copy_in", memory)
    return min(path.core_cap_bytes_per_s[0], model.link_rate(path))


@probe("copy_rate_ratio")
def copy_rate_ratio(*, machine: str) -> float:
    """Return the rate of one copy from pinned memory over that of one from pageable memory."""
    pinned, pageable = (
        copy_rate_bytes_per_s(machine=machine, memory=m) for m in reversed(MEMORIES)
    )
    return pinned / pageable


@probe("copies_at_full_speed")
def copies_at_full_speed(*, machine: str, memory: str = "pageable") -> float:
    """Return how many copies of one direction run at once without slowing down each other."""
    rate = copy_rate_bytes_per_s(machine=machine, memory=memory)
    return float(math.floor(copy_link_bytes_per_s(machine=machine) / rate))


@probe("links_shared_by_directions")
def links_shared_by_directions(*, machine: str) -> float:
    """Return how many links copies into and out of the accelerator have in common."""
    model = machine_of(machine)
    into, out = (_copy_path(model, kind, "pageable").links for kind in ("copy_in", "copy_out"))
    return float(len(set(into) & set(out)))


@probe("batch_copies")
def batch_copies(*, machine: str) -> float:
    """Return how many batch copies Baymax allows at once in a direction."""
    rate = copy_rate_bytes_per_s(machine=machine, memory="pageable")
    return float(accelerator_copies.batch_copies(copy_link_bytes_per_s(machine=machine), rate))


@probe("replenished_budget")
def replenished_budget(
    *, capacity_s: float, left_s: list[float], cost_s: float = 0.0
) -> list[float]:
    """Return budgets of TimeGraph after a replenishment, for several budgets before it."""
    capacity_ps, cost_ps = seconds_to_ps(capacity_s), seconds_to_ps(cost_s)
    found = [replenished(seconds_to_ps(left), capacity_ps, cost_ps) for left in left_s]
    return [left_ps / PS_PER_S for left_ps in found]


@probe("timegraph_overhead_s")
def timegraph_overhead_s(*, reservation: str) -> float:
    """Return what TimeGraph spends on waking a kernel with ``none``, ``pe`` or ``ae``."""
    policy = TimeGraph(reservation=reservation)
    return policy.decision_s + (policy.prediction_s if reservation == "ae" else 0.0)


@probe("context_switch_s")
def context_switch_s(*, policy: str) -> float:
    """Return the time that a critical kernel waits for contexts under ``spart`` or ``smk``."""
    known: dict[str, SpatialPartitioning | SimultaneousMultiKernel] = {
        "spart": SpatialPartitioning(),
        "smk": SimultaneousMultiKernel(),
    }
    return chosen("policy", policy, known).switch_s()


@probe("prediction_error_percent")
def prediction_error_percent(*, predictor: str, tasks: str) -> float:
    """Return the mean error of held-out samples of 2 ms and more.

    Parameters
    ----------
    predictor : str
        Which model.
    tasks : {"copy", "library", "batch", "critical"}
        The kind of tasks; the mean over its classes is taken.
    """
    classes = {
        "copy": [f"copy_{way}_{memory}" for way in ("in", "out") for memory in MEMORIES],
        "library": ["library"],
        "batch": [f"{name}.kernel" for name in BATCH],
        "critical": [f"{name}.kernel" for name in CRITICAL],
    }
    names = chosen("tasks", tasks, classes)
    models = [predictors.trained(predictor, name) for name in names]
    return 100.0 * float(np.nanmean([m.long_error for m in models if m is not None]))


@probe("predictor_constant")
def predictor_constant(*, what: str) -> float:
    """Return a constant of the predictors: neighbours, training_percent, harmless_s, overhead_s."""
    values = {
        "neighbours": float(predictors.NEIGHBOURS),
        "training_percent": 100.0 * predictors.TRAINING_SHARE,
        "harmless_s": predictors.HARMLESS_S,
        "overhead_s": Baymax().decision_s,
    }
    return chosen("constant", what, values)


def _copy_path(model: Machine, kind: str, memory: str) -> Path:
    """Return the path between the copy engine of a direction and a host memory."""
    if memory not in MEMORIES:
        raise ConfigurationError(unknown_name("memory", memory, MEMORIES))
    pinned, groups = pinned_nodes(model), [group.kind for group in model.core_groups]
    if kind not in groups or not pinned:
        raise ConfigurationError(f"machine {model.name}: found no engines that copy")
    core = int(np.flatnonzero(model.core_group == groups.index(kind))[0])
    node = pinned[0] if memory == "pinned" else int(model.touch_order[0, 0])
    return model.paths[int(model.core_domain[core])][node]
