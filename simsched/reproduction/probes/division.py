"""How policies divide loops, whatever a machine's speeds are."""

from __future__ import annotations

import numpy as np

from simsched.files.errors import ConfigurationError
from simsched.policy import make_policy
from simsched.reproduction.probes import chosen, machine_of, probe
from simsched.testing.rehearsal import rehearse
from simsched.workload.registry import generate_workload


@probe("division_step")
def division_step(*, machine: str, policy: str, units: int, what: str, step: int = 1) -> float:
    """Return a size of a step of a policy that divides a loop, when no two steps measure alike.

    Parameters
    ----------
    units : int
        Iterations of the loop.
    what : {"units", "first_device_units", "remaining", "steps"}
        Iterations of the step, of its first device, after the step, or the number of all steps.
    step : int
        The step, counted from 1.
    """
    loop = generate_workload("divisible", {"units": units})
    divisions = rehearse(make_policy(policy), machine_of(machine), loop).divisions
    if not 1 <= step <= len(divisions):
        raise ConfigurationError(f"step: found {step}, accepted: 1 to {len(divisions)}")
    sizes = [int(given.sum()) for given in divisions]
    known = {
        "units": sizes[step - 1],
        "first_device_units": int(divisions[step - 1][1:][:1].sum()),
        "remaining": units - int(np.sum(sizes[:step])),
        "steps": len(sizes),
    }
    return float(chosen("what", what, known))
