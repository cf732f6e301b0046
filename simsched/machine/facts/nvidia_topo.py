"""Output of ``nvidia-smi topo -m``: devices, the node that each is near, links between them."""

from __future__ import annotations

import re
from pathlib import Path

from simsched.files.errors import ConfigurationError, shown
from simsched.machine.facts._lines import Lines
from simsched.machine.facts.contents import Device, Facts
from simsched.machine.facts.registry import fact_format

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_DEVICE = re.compile(r"GPU\d+")
_LINKS = re.compile(r"NV([1-9][0-9]?)")


def _is_topo(head: bytes) -> bool:
    return b"GPU0" in head and b"CPU Affinity" in head


@fact_format("nvidia_topo", recognises=_is_topo)
def read_nvidia_topo(path: Path) -> Facts:
    """Return the devices of a table with rows and columns ``GPU0``, ``GPU1``, ..."""
    lines = Lines(path)
    lines.lines = [_ESCAPES.sub("", text) for text in lines.lines]
    header = lines.find("GPU0")
    if header is None or "NUMA Affinity" not in lines.lines[header - 1]:
        raise lines.fail(1, "found no header, accepted one with GPU0 and NUMA Affinity")
    names = _cells(lines.lines[header - 1])
    names = names if names[0] == "" else ["", *names]
    columns = {name: place for place, name in enumerate(names) if name}
    devices = [name for name in columns if _DEVICE.fullmatch(name)]
    if not devices:
        raise lines.fail(header, "found no column of a device, accepted GPU0, GPU1, ...")
    found = []
    for offset, device in enumerate(devices, 1):
        number = header + offset
        text = lines.lines[number - 1] if number <= len(lines.lines) else ""
        cells = _cells(text)
        if cells[0] != device:
            raise lines.fail(number, f"found {shown(cells[0])}, accepted the row of {device}")
        if len(cells) <= columns["NUMA Affinity"]:
            raise lines.fail(
                number, f"found {len(cells)} columns, accepted {len(names)}, as the header has"
            )
        near = cells[columns["NUMA Affinity"]]
        peers = {
            other: int(match[1])
            for other in devices
            if (match := _LINKS.fullmatch(cells[columns[other]])) is not None
        }
        found.append(Device(device.lower(), None, _node(path, number, near), peers))
    return Facts("nvidia_topo", "nvidia-smi topo -m", devices=tuple(found))


def _cells(text: str) -> list[str]:
    """Return the cells of a line, between tabs or, as copied from a terminal, several spaces."""
    cells = text.split("\t") if "\t" in text else re.split(r"\s{2,}", text.strip())
    return [cell.strip() for cell in cells]


def _node(path: Path, number: int, text: str) -> int | None:
    """Return the node that a device is near; None where it is near to all."""
    if text in ("", "N/A"):
        return None
    first = re.match(r"\d+", text)
    if first is None:
        raise ConfigurationError(
            f"{path}:{number}: NUMA Affinity: found {shown(text)}, accepted a node or N/A"
        )
    return int(first[0])
