"""Values of a machine file that an experiment changes."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from simsched.files.errors import ConfigurationError, unknown_name
from simsched.files.yaml_reader import Document
from simsched.machine.schema import MachineFile, sourced_values

SOURCE_KEY = "experiment"  #: of changed values


def changed(document: Document, file: MachineFile, changes: Mapping[str, Any]) -> Document:
    """Return the content of a machine file with other values.

    `changes` has new values, without sources, by keys and positions from the top.

    >>> from simsched.machine import load_machine
    >>> load_machine("knl_snc4_flat", {"memory.hbm.capacity": "8 GiB"}).nodes[4].capacity_bytes
    8589934592
    """
    known = {".".join(map(str, loc)): loc for loc, _ in sourced_values(file)}
    data = deepcopy(document.data)
    for key, value in changes.items():
        if key not in known:
            raise ConfigurationError(unknown_name("key", key, known))
        *way, last = known[key]
        holder = data
        for step in way:
            holder = holder[step]
        holder[last] = [value, SOURCE_KEY]
    source = {"kind": "assumed", "reference": "set by an experiment"}
    data["sources"] = {**data["sources"], SOURCE_KEY: source}
    return Document(None, data)
