"""Task graphs that were executed, with the times of every task."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import ConfigurationError
from simsched.trace.exporters._source import events_of
from simsched.trace.recording import Recording
from simsched.trace.schema import EventKind
from simsched.workload.importers import to_networkx

if TYPE_CHECKING:
    import networkx as nx


def _moments(
    events: dict[str, Any], rows: NDArray[np.bool_], kind: EventKind
) -> Iterator[tuple[int, int, int]]:
    """Yield task, time and worker of the events of a kind."""
    found = np.flatnonzero(rows & (events["kind"] == kind))
    columns = (events[name][found].tolist() for name in ("task", "time_ps", "worker"))
    return zip(*columns, strict=True)


def timed_graph(
    recording: Recording, path: Path, iteration: int | None
) -> tuple[nx.DiGraph[Any], list[str]]:
    """Return the graph of a run with the times of an iteration, and what it does not hold.

    `path` is where it is to be written; without an iteration it is the first one after the
    initialisation.
    """
    workload = recording.workload
    if workload is None:
        raise ConfigurationError(
            f"recording {recording.name!r}: found no task graph, accepted: one of a run whose "
            "graph is known"
        )
    events = events_of(recording).events
    numbers = np.unique(events["iteration"][events["kind"] == EventKind.TASK_START]).tolist()
    stages = {"init": 0} if workload.init is not None else {}
    accepted = [number for number in numbers if number not in stages.values()]
    chosen = iteration if iteration is not None else (accepted or [0])[0]
    if chosen not in accepted:
        raise ConfigurationError(
            f"{path}: iteration: found {chosen}, accepted: {', '.join(map(str, accepted)) or '-'}"
        )
    stages["iteration"] = chosen
    graph = to_networkx(workload)
    for stage, number in stages.items():
        prefix = "init" if stage == "init" else ""
        rows = events["iteration"] == number
        starts: dict[int, dict[int, int]] = {}  # of several executions of a task one ends it
        for task, time, worker in _moments(events, rows, EventKind.TASK_START):
            starts.setdefault(task, {})[worker] = time
        for task, by_worker in starts.items():
            graph.nodes[f"{prefix}{task}" if prefix else task]["start_ps"] = min(by_worker.values())
        for task, time, worker in _moments(events, rows, EventKind.TASK_END):
            node = graph.nodes[f"{prefix}{task}" if prefix else task]
            node["start_ps"] = starts.get(task, {}).get(worker, node.get("start_ps", time))
            node["end_ps"], node["worker"] = time, recording.worker_names[worker]
    graph.graph["times_of_iteration"] = chosen
    left = len(accepted) - 1
    remarks = [f"the times of {left} other iterations are not written"] if left else []
    about = workload.parameters
    speed, source = about.get("reference_speed"), str(about.get("reference_speed_source"))
    if isinstance(speed, int | float) and source.startswith("default"):
        remarks.append(
            f"tasks last as measured on processors of {speed / 1e9:g} Gops/s; "
            f"on others with the option reference_speed: {path.name}[reference_speed=2.9 GHz]"
        )
    return graph, remarks
