"""What kernels charge of a machine's runtime costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from simsched.docstrings import parameter_texts
from simsched.engine.interface.table import (
    DURATION_PS,
    MANY_BYTES,
    Member,
    Number,
    Values,
    describe,
)
from simsched.machine.model import RuntimeCosts, cost_name
from simsched.machine.schema import Costs

#: what policies charge, or other members say: no kernel does
OF_OTHERS = ("page_migration_ps", "hotness_sample_ps", "kernel_launch_ps")


def _members() -> Iterator[Member]:
    texts = parameter_texts(Costs)
    for item in fields(RuntimeCosts):
        name, gloss = item.name, texts[cost_name(item.name)]
        within = MANY_BYTES if name.endswith("_bytes") else DURATION_PS
        if isinstance(item.default, tuple):
            yield Values(name, gloss, f"n_{cost_name(name)}", within)
        elif name not in OF_OTHERS:
            yield Number(name, gloss, "int64_t", within)


describe(RuntimeCosts, "ssk_costs_t", {member.name: member for member in _members()})
