"""Our own graphs whose operations are measured times, for a processor of another speed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from simsched.files.errors import GraphError, unknown_name
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.importers._foreign import Speed
from simsched.workload.importers._given_costs import ops_per_s


def at_speed(workload: Workload, speed: Speed, source: str) -> Workload:
    """Return a workload that takes its measured times on processors of a speed.

    The parameters state the operations per second of these times, as those of imported recordings
    do. Kinds of processors that a mapping does not name keep what they have; tasks are created at
    the speed of the first kind.
    """
    where = f"{source}: option reference_speed"
    stated = workload.parameters.get("reference_speed")
    if not isinstance(stated, int | float) or isinstance(stated, bool) or not stated > 0:
        raise GraphError(
            f"{where}: found with operations, accepted with measured times: the parameters of a "
            "graph of simsched's own, such as that of an imported trace, have their reference_speed"
        )
    kinds = workload.graph.kinds
    given = speed if isinstance(speed, Mapping) else dict.fromkeys(kinds, speed)
    for kind in given:
        if kind not in kinds:
            raise GraphError(f"{where}.{kind}: {unknown_name('kind of processor', kind, kinds)}")
    speeds = {kind: ops_per_s(each, where) for kind, each in given.items()}
    factors = {kind: each / stated for kind, each in speeds.items()}
    about = {
        "reference_speed": speeds if isinstance(speed, Mapping) else speeds[kinds[0]],
        "reference_speed_source": "option",
    }
    return replace(
        workload,
        graph=_scaled(workload.graph, factors),
        init=None if workload.init is None else _scaled(workload.init, factors),
        parameters={**workload.parameters, **about},
    )


def _scaled(graph: TaskGraph, factors: Mapping[str, float]) -> TaskGraph:
    """Return a graph with other operations on some kinds of processors."""
    rows = np.array([[factors.get(kind, 1.0)] for kind in graph.kinds])
    return replace(
        graph,
        ops=graph.ops * rows,
        join_ops=graph.join_ops * rows,
        creation_ops=graph.creation_ops * rows[0, 0],
    )
