"""Recordings from traces that others have measured."""

from simsched.trace.importers._events import placed_tasks, worker_busy_ps
from simsched.trace.importers.registry import (
    TraceImporter,
    import_recording,
    recognise,
    trace_importer,
    trace_importers,
)

__all__ = [
    "TraceImporter",
    "import_recording",
    "placed_tasks",
    "recognise",
    "trace_importer",
    "trace_importers",
    "worker_busy_ps",
]
