"""What the steps of scheduling cost on this host, for the costs of a machine model."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.files.errors import ConfigurationError
from simsched.hardware.runtime import compiled_runtime
from simsched.hardware.topology import allowed_cores


@dataclass(frozen=True)
class Primitives:
    """Mean times of the steps of scheduling, in seconds, of the best of some rounds."""

    #: Own deque: adding a task, taking the newest.
    push_s: float
    take_s: float
    #: Deque of another core, which has just written it: taking the oldest, finding nothing.
    #: Infinity when the threads never met as they had to, as on a core that they share.
    steal_s: float
    probe_s: float
    #: Central queue, without contention.
    lock_push_s: float
    lock_take_s: float
    #: One time stamp of the trace.
    stamp_s: float


def measure_primitives(owner: int, thief: int, *, rounds: int = 200) -> Primitives:
    """Measure the steps of scheduling between two cores.

    The best of `rounds` counts, because whatever else runs on the host only adds to the time.

    The costs of spawning, of a task's life as a whole and of the barrier are those of runs of the
    program ``empty``, without trace: ``iteration_s`` by the number of tasks.
    """
    allowed = allowed_cores()
    for core in (owner, thief):
        if core not in allowed:
            raise ConfigurationError(f"cores: found {core}, accepted {allowed}")
    if not 1 <= rounds <= 10**6:
        raise ConfigurationError(f"rounds: found {rounds}, accepted 1 to {10**6}")
    times = compiled_runtime().measure_primitives(owner, thief, rounds)
    return Primitives(**{f"{name}_s": ns * 1e-9 for name, ns in times.items()})
