"""StarPU's ``tasks.rec``: GNU recutils, one record per task.

Fields are those of StarVZ's ``rec.tasks.csv``, and mean the same; see
:mod:`simsched.trace.importers.starvz`. Times are milliseconds (the unit of ``EstimatedTime``, which
is not used, is the microsecond). Records with ``Control`` are no tasks.

StarPU ends every record with an empty line. A last record without one is set aside: the file may be
cut off.

Processor kinds follow from a file ``platform_file.rec`` or ``perfmodel.rec`` in the same directory
(output of ``starpu_perfmodel_recdump``), which also says what tasks take on other kinds. Without,
workers whose tasks ran on memory node 0 are of kind ``cpu``, others of a kind called after their
node.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from simsched.files.errors import TraceError, nearest_hint
from simsched.trace.importers._recutils import read_records
from simsched.trace.importers._rows import LINE, SetAside
from simsched.trace.importers._starpu import (
    OPTIONAL,
    REQUIRED,
    StarpuTrace,
    starpu_recording,
)
from simsched.trace.importers._starpu_graph import Timings
from simsched.trace.importers.registry import by_head, trace_importer
from simsched.trace.importers.starvz import worker_kinds
from simsched.trace.recording import Recording

PLATFORMS = ("platform_file.rec", "perfmodel.rec")


def _has_jobs(head: bytes) -> bool:
    return any(line.startswith(b"JobId:") for line in head.splitlines())


@trace_importer("tasks_rec", recognises=by_head(_has_jobs))
def import_tasks_rec(path: Path) -> Recording:
    """StarPU's ``tasks.rec``, records of GNU recutils.

    Parameters
    ----------
    path : Path
        The file, gzip or not.
    """
    aside = SetAside()
    wanted = (*REQUIRED, *OPTIONAL)
    columns: dict[str, list[str]] = {name: [] for name in wanted}
    lines: list[int] = []
    seen: set[str] = set()
    for record in read_records(path):
        if not record.ended:
            cut = "the last record is not ended by an empty line: the file may be cut off"
            aside.rows(path, np.array([record.line]), cut)
            continue
        seen.update(record.fields)
        for name in wanted:
            columns[name].append(record.fields.get(name, ""))
        lines.append(record.line)
    for name in REQUIRED:
        if lines and name not in seen:
            hint = nearest_hint(name, seen)
            raise TraceError(f"{path}: found no record with the field {name!r}{hint}")
    rows = pd.DataFrame(columns, dtype="string[pyarrow]")
    rows[LINE] = np.array(lines, dtype=np.int64)
    trace = StarpuTrace(path, path.name.partition(".")[0], rows, aside)
    for platform in (path.with_name(name) for name in PLATFORMS):
        if platform.is_file():
            trace.timings = Timings.read(platform, aside)
            trace.kinds = worker_kinds(platform)
            trace.details["platform"] = platform.name
            break
    return starpu_recording(trace)
