"""GraphML of the task graph that was executed, with the times of every task."""

from __future__ import annotations

from pathlib import Path

from simsched.trace.exporters._times import timed_graph
from simsched.trace.exporters.registry import exporter
from simsched.trace.recording import Recording
from simsched.workload.importers.graphml import write_networkx


@exporter("graphml", suffixes=(".graphml",))
def export_graphml(recording: Recording, path: Path, *, iteration: int | None = None) -> list[str]:
    """GraphML: the task graph with start, end and worker of every task in one iteration.

    Nodes get ``start_ps``, ``end_ps`` and ``worker`` (a name) beside the attributes of
    :func:`~simsched.workload.importers.to_networkx`; ``worker`` is the one that ended the task.
    Of a task that was started several times the start is that on this worker, if there is one.

    Parameters
    ----------
    recording : Recording
        The run, with its graph.
    path : Path
        Where to.
    iteration : int, optional
        Whose times are written; by default the first one after the initialisation. Tasks of the
        initialisation have their own times.
    """
    graph, remarks = timed_graph(recording, path, iteration)
    write_networkx(graph, path)
    return remarks
