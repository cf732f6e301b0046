from simsched.policy.parts.schedules import Estimates
from simsched.workload.graph import FloatArray, Int32Array

def upward_ranks(
    estimates: Estimates, mean_s: FloatArray, edge_time_s: FloatArray
) -> FloatArray: ...
def optimistic_costs(estimates: Estimates, edge_time_s: FloatArray) -> FloatArray: ...
def schedule_list(
    estimates: Estimates,
    priority: FloatArray,
    *,
    choice: int,
    insertion: bool,
    tail_s: FloatArray | None = None,
    pinned: Int32Array | None = None,
) -> tuple[Int32Array, FloatArray, FloatArray]: ...
def schedule_pairs(
    estimates: Estimates, level_s: FloatArray, typical_s: FloatArray, *, rule: int
) -> tuple[Int32Array, FloatArray, FloatArray]: ...
