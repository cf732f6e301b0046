"""Recordings as Parquet, simsched's own format."""

from __future__ import annotations

from pathlib import Path

from simsched.trace.exporters.registry import exporter
from simsched.trace.recording import Recording, write_recording


@exporter("parquet", suffixes=(".parquet",))
def export_parquet(recording: Recording, path: Path) -> list[str]:
    """Parquet: every event as a row, graph and names as metadata; nothing is left out.

    Parameters
    ----------
    recording : Recording
        The run.
    path : Path
        Where to.
    """
    write_recording(path, recording)
    return []
