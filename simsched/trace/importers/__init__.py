"""Recordings from traces that others have measured."""

from simsched.trace.importers.registry import (
    TraceImporter,
    import_recording,
    trace_importer,
    trace_importers,
)

__all__ = ["TraceImporter", "import_recording", "trace_importer", "trace_importers"]
