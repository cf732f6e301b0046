"""What kernels charge of a machine's runtime costs."""

from __future__ import annotations

from dataclasses import fields

from simsched.engine.interface.table import DURATION_PS, MANY_BYTES, describe, number, values
from simsched.machine.model import RuntimeCosts
from simsched.machine.schema import Costs
from simsched.names.docstrings import parameter_texts

#: what policies charge, or other members say: no kernel does
OF_OTHERS = ("page_migration_ps", "hotness_sample_ps", "counter_read_ps", "kernel_launch_ps")
UNITS = ("_ps", "_bytes")

describe(
    RuntimeCosts,
    "ssk_costs_t",
    {
        item.name: values(DURATION_PS)
        if isinstance(item.default, tuple)
        else number(MANY_BYTES if item.name.endswith("_bytes") else DURATION_PS)
        for item in fields(RuntimeCosts)
        if item.name not in OF_OTHERS
    },
    texts={
        f"{name}{unit}": text for name, text in parameter_texts(Costs).items() for unit in UNITS
    },
)
