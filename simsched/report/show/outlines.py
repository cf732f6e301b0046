"""What a list says of the machines that ship, without what is needed to build them.

Only some sections of their files are parsed, and nothing is checked that would not be built.
"""

from __future__ import annotations

from typing import Any

from simsched.files.resources import shipped
from simsched.files.yaml_reader import read_sections
from simsched.report.description import Row

SECTIONS = ("extends", "description", "sockets", "cores", "memory")
Sections = dict[str, Any]


def machine_outlines() -> list[Row]:
    """Return name, size and description of each machine, in the order of their names."""
    files = {name: read_sections(path, SECTIONS) for name, path in shipped("machines").items()}
    return [_outline(name, _complete(found, files)) for name, found in files.items()]


def _complete(sections: Sections, files: dict[str, Sections]) -> Sections:
    """Return the sections of a machine, laid over those of the machine that it extends."""
    base = sections.get("extends")
    return sections if base is None else {**_complete(files[base], files), **sections}


def _outline(name: str, sections: Sections) -> Row:
    """Return the row of a machine from values that stand beside their sources."""
    domains = cores = threads = 0
    for block in sections["sockets"]:
        here = block["count"][0] * block["domains"][0]
        domains += here
        for kind, (count, _) in block["cores"].items():
            cores += here * count
            threads += here * count * len(sections["cores"][kind].get("smt_throughput", [[1]])[0])
    nodes = {"machine": 1, "each domain": domains}
    places = [memory.get("at", "each domain") for memory in sections["memory"].values()]
    return {
        "name": name,
        "cores": cores,
        "threads": threads,
        "domains": domains,
        "nodes": sum(nodes[at] if isinstance(at, str) else len(at) for at in places),
        "description": sections["description"],
    }
