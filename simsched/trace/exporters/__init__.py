"""Recordings in the formats of other programs."""

from simsched.trace.exporters._source import open_recording
from simsched.trace.exporters.registry import Exporter, export_recording, exporter, exporters

__all__ = [
    "Exporter",
    "export_recording",
    "exporter",
    "exporters",
    "open_recording",
]
