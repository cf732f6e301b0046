"""DOT of the task graph that was executed, with the times of every task."""

from __future__ import annotations

from pathlib import Path

from simsched.trace.exporters._times import timed_graph
from simsched.trace.exporters.registry import exporter
from simsched.trace.recording import Recording
from simsched.workload.importers.dot import write_networkx


@exporter("dot", suffixes=(".dot",))
def export_dot(recording: Recording, path: Path, *, iteration: int | None = None) -> list[str]:
    """DOT: the task graph with start, end and worker of every task in one iteration.

    Nodes get the attributes that they have in GraphML.

    Parameters
    ----------
    recording : Recording
        The run, with its graph.
    path : Path
        Where to.
    iteration : int, optional
        Whose times are written, as for GraphML.
    """
    graph, remarks = timed_graph(recording, path, iteration)
    write_networkx(graph, path)
    return remarks
