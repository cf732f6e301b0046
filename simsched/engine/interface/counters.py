"""What kernels count; the classes are part of the schema of traces."""

from __future__ import annotations

from dataclasses import fields

from simsched.engine.interface.table import LENGTH, describe, number
from simsched.names.docstrings import parameter_texts
from simsched.trace.schema import RunCounters, WorkerCounters

#: by their names in C
COUNTED: dict[str, type] = {"run_counters": RunCounters, "worker_counters": WorkerCounters}

for name, cls in COUNTED.items():
    members = {item.name: number(LENGTH) for item in fields(cls)}
    describe(cls, f"ssk_{name}_t", members, texts=parameter_texts(cls))
