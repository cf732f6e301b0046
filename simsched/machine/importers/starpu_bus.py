"""StarPU's sampling of a machine's bus: ``NAME.config``, bandwidth, latency and affinity.

**config**: lines ``COUNT # Number of ...`` for CPUs, CUDA, OpenCL and MIC devices and, in later
versions, NUMA nodes. **bandwidth** (MB/s: millions of bytes per second, which is bytes per
microsecond) and **latency** (microseconds) are square matrices; row: source, column: destination;
node 0 is main memory, then CUDA, OpenCL and MIC devices. Matrices are as large as StarPU was built
for; rows and columns of nodes that do not exist are ``nan``. **affinity**: for every device its
number and the cores, nearest first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import ConfigurationError, unknown_name
from simsched.files.limits import WORKERS
from simsched.machine.importers._lines import MAX_DIGITS, Lines, real_file

LABELS = {
    "cpus": "cpus",
    "numa nodes": "numa",
    "cuda devices": "cuda",
    "opencl devices": "opencl",
    "mic devices": "mic",
}
DEVICES = ("cuda", "opencl", "mic")  # in the order of their nodes
_LABEL = re.compile(r"(\d{1,18})\s*#\s*Number of (.+?)\s*")


@dataclass(frozen=True, eq=False)
class Bus:
    """A machine's memory nodes and what transfers between them take.

    Parameters
    ----------
    name : str
        Of the machine.
    n_cpus : int
        Cores.
    devices : dict of str to int
        Devices by kind; an OpenCL device is often a CUDA device once more.
    bandwidth_mb_per_s : ndarray of float64, shape (n_nodes, n_nodes)
        From row to column; 0 on the diagonal.
    latency_us : ndarray of float64, shape (n_nodes, n_nodes)
        From row to column; 0 on the diagonal.
    affinity : tuple of tuple of int
        Cores, nearest first, of each device.
    """

    name: str
    n_cpus: int
    devices: dict[str, int]
    bandwidth_mb_per_s: NDArray[np.float64]
    latency_us: NDArray[np.float64]
    affinity: tuple[tuple[int, ...], ...]

    def nodes(self, kind: str) -> list[int]:
        """Return the memory nodes of the devices of a kind.

        Parameters
        ----------
        kind : str
            One of `DEVICES`, for instance ``cuda``.

        Returns
        -------
        list of int
            Rows of the matrices, ascending; none for a kind that the machine does not have.
        """
        first = 1 + sum(self.devices[k] for k in DEVICES[: DEVICES.index(kind)])
        return list(range(first, first + self.devices[kind]))


def bus_machines(directory: Path) -> list[str]:
    """Return the names of the machines in a directory of bus samplings, sorted."""
    return sorted(path.name.removesuffix(".config") for path in directory.glob("*.config"))


def read_bus(directory: Path, machine: str) -> Bus:
    """Return the sampling of a machine's bus.

    Parameters
    ----------
    directory : Path
        Where the four files are.
    machine : str
        Their name without suffix.

    Returns
    -------
    Bus
        Bandwidths in MB/s and latencies in microseconds, as the files have them.

    Raises
    ------
    ConfigurationError
        An unknown machine, a file that is missing or cut off, a value that is no positive number
        where there is a node; the message names file and line.
    """
    known = bus_machines(directory)
    if machine not in known:
        raise ConfigurationError(f"{directory}: {unknown_name('machine', machine, known)}")
    counts = _config(real_file(directory / f"{machine}.config"))
    devices = {kind: counts.get(kind, 0) for kind in DEVICES}
    n_nodes = 1 + sum(devices.values())
    bandwidth = real_file(directory / f"{machine}.bandwidth")
    latency = real_file(directory / f"{machine}.latency")
    return Bus(
        name=machine,
        n_cpus=counts["cpus"],
        devices=devices,
        bandwidth_mb_per_s=_matrix(bandwidth, n_nodes, "MB/s"),
        latency_us=_matrix(latency, n_nodes, "us"),
        affinity=_affinity(
            real_file(directory / f"{machine}.affinity"), n_nodes - 1, counts["cpus"]
        ),
    )


def _config(path: Path) -> dict[str, int]:
    """Return counts of processors by the names of `LABELS`."""
    lines = Lines.read(path)
    counts: dict[str, int] = {}
    for number, text in enumerate(lines.lines, start=1):
        lines.number = number
        if not text.strip() or text.strip().startswith("#"):
            continue
        match = _LABEL.fullmatch(text.strip())
        if match is None:
            raise lines.fail(f"found {text.strip()[:40]!r}, accepted 'COUNT # Number of ...'")
        label, count = match[2].lower(), int(match[1])
        if label not in LABELS:
            if count:
                raise lines.fail(unknown_name("kind of processor", label, LABELS))
            continue
        if LABELS[label] in counts:
            raise lines.fail(f"found the number of {match[2]} a second time")
        counts[LABELS[label]] = count
    for label in ("CPUs", "CUDA devices"):
        if LABELS[label.lower()] not in counts:
            raise lines.fail(f"found no line '... # Number of {label}' up to here")
    for count in counts.values():
        WORKERS.check(count, path)
    if counts["cpus"] == 0:
        raise lines.fail("found no CPU, accepted at least one")
    if counts.get("numa", 1) != 1:
        found = counts["numa"]
        raise lines.fail(f"found {found} NUMA nodes, accepted 1: main memory as a whole")
    return counts


def _matrix(path: Path, n_nodes: int, unit: str) -> NDArray[np.float64]:
    """Return the part of a matrix that belongs to nodes that exist."""
    lines = Lines.read(path)
    rows: list[list[float]] = []
    for source in range(n_nodes):
        fields = lines.data(f"row {source} of {n_nodes}")
        if len(fields) < n_nodes:
            raise lines.fail(f"found {len(fields)} columns, accepted at least {n_nodes}")
        rows.append([0.0] * n_nodes)
        for destination in range(n_nodes):
            what = f"from node {source} to node {destination} ({unit})"
            text = fields[destination]
            if source == destination:
                if lines.number_in(text, what) != 0:
                    raise lines.fail(f"{what}: found {text!r}, accepted 0 on the diagonal")
                continue
            rows[source][destination] = lines.number_in(text, what, above=True)
    return np.array(rows)


def _affinity(path: Path, n_devices: int, n_cpus: int) -> tuple[tuple[int, ...], ...]:
    """Return the cores of each device, nearest first."""
    lines = Lines.read(path)
    rows = []
    for device in range(n_devices):
        fields = lines.data(f"row {device} of {n_devices}")
        if not all(text.isdecimal() and len(text) <= MAX_DIGITS for text in fields):
            raise lines.fail(f"found {' '.join(fields)[:40]!r}, accepted numbers of cores")
        cores = tuple(int(text) for text in fields[1:])
        if sorted(cores) != list(range(n_cpus)):
            raise lines.fail(f"found {len(cores)} cores, accepted each of 0 to {n_cpus - 1} once")
        rows.append(cores)
    return tuple(rows)
