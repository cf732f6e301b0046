"""StarPU's sampling directory: a machine file with measured transfers and durations.

The directory holds ``bus/`` and ``codelets/VERSION/``; see the modules for both.

**The machine.** Cores are one socket with one domain and one memory node, as StarPU's bus sampling
has it. Every device is a core in a domain of its own, with a memory node of kind GPU. Measured are
the numbers of cores and devices, how long codelets last on each of them, and bandwidth and latency
between every two memory nodes, which become the `core_cap` and `latency` of the path from the
reading domain to the node that is read. A path's value holds for both reading and writing, so the
rate of writing back (device to main memory) appears on the paths on which cores read the device's
memory.

**Shared links** are those of StarPU's own model of a bus. Every transfer crosses the link of the
host, in either direction; it is as wide as the fastest transfer between main memory and a device.
Where it is known which devices hang on which root of the PCI tree (option `roots`), transfers
between devices of one root do not cross it, those between roots cross it twice, and devices,
switches and roots have links of their own (:mod:`simsched.machine.importers.starpu_links`).
Transfers share a link in inverse proportion to their latencies (``copy_shares: by_latency``), as
flows do in SimGrid.

**What a sampling does not say** is marked ``assumed`` in the file: how much memory there is (so
much that it never runs out, unless it is given), how fast a processor reads its own memory (so fast
that it never limits: timings of codelets include it) and the clock (1 GHz: task costs are given as
measured nanoseconds).

The same GPU appears as CUDA and as OpenCL device. Only one kind of devices is taken.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path

from simsched.files.errors import ConfigurationError, unknown_name
from simsched.files.units import parse_size
from simsched.machine.importers._lines import real_file
from simsched.machine.importers.starpu_bus import DEVICES, Bus, bus_machines, read_bus
from simsched.machine.importers.starpu_codelets import VERSION, CostTable, read_codelet
from simsched.machine.importers.starpu_links import (
    PciTree,
    crossed_links,
    link_lines,
    parse_roots,
)
from simsched.machine.importers.starpu_timings import ambiguous, timing_lines
from simsched.machine.model import RuntimeCosts, cost_name

AMPLE = "1 TiB"
LOCAL = "1 TB/s"
REFERENCES = {
    "bus": "no topology known, all transfers share the link of the host, as in StarPU's model",
    "roots": "devices by root of the PCI tree, from StarPU's platform file of the machine; "
    "links as in StarPU's model",
}
#: What StarPU's simulator lets the drivers of devices sleep, and the files of StarPU that say so.
DRIVERS = {
    "driver_look": ("2 us", "src/datawizard/datawizard.c, a look at two memories"),
    "copy_hand_over": ("10 us", "src/core/simgrid.c, queueing of a transfer"),
    "device_allocation": ("175 us", "src/drivers/cuda/driver_cuda.c, _starpu_cuda_malloc_on_node"),
    "device_chunk": ("32 MiB", "src/datawizard/malloc.h, CHUNK_SIZE"),
}


@dataclass(frozen=True, eq=False)
class Sampling:
    """What StarPU has measured on a machine.

    Parameters
    ----------
    bus : Bus
        Cores, devices and transfers.
    costs : CostTable
        Timings of codelets; empty when the directory has none.
    warnings : tuple of str
        What was left out, and what looks wrong.
    """

    bus: Bus
    costs: CostTable
    warnings: tuple[str, ...] = field(default=())


def is_sampling(path: Path) -> bool:
    """Say whether a path is a sampling directory: it has ``bus/`` with a ``.config`` file.

    Parameters
    ----------
    path : Path
        A file or a directory, which need not exist.

    Returns
    -------
    bool
        True for such a directory.
    """
    return any((path / "bus").glob("*.config"))


def read_sampling(path: Path, machine: str | None = None) -> Sampling:
    """Return the sampling of one machine.

    Parameters
    ----------
    path : Path
        The directory that holds ``bus`` and ``codelets``.
    machine : str, optional
        Needed when the directory has several machines.

    Returns
    -------
    Sampling
        Bus and durations, in the units of the files.

    Raises
    ------
    ConfigurationError
        No or several machines, an unknown one, a bus file that is wrong, or no codelet file that
        is right.
    """
    names = bus_machines(path / "bus")
    if not names:
        raise ConfigurationError(f"{path}: found no file bus/*.config, accepted StarPU's sampling")
    if machine is None and len(names) > 1:
        accepted = f"one of them, with the option machine: {', '.join(names)}"
        raise ConfigurationError(f"{path}: found {len(names)} machines, accepted {accepted}")
    chosen = names[0] if machine is None else machine
    bus = read_bus(path / "bus", chosen)
    costs = _costs(path / "codelets" / str(VERSION), chosen)
    warnings = [f"{reason}; file set aside" for reason in dict.fromkeys(costs.refused.values())]
    if costs.empty:
        listed = ", ".join(costs.empty)
        warnings.append(f"{path}: {len(costs.empty)} codelets without samples: {listed}")
    doubtful = [cost for cost in costs.costs if not cost.sums_agree]
    if doubtful:
        warnings.append(
            f"{doubtful[0].source}: mean and deviation do not follow from the sums of the row; "
            f"{len(doubtful)} of {len(costs.costs)} rows, kept as they are"
        )
    unclear = ambiguous(costs)
    if unclear:
        listed = ", ".join(f"{codelet} ({size} bytes)" for codelet, size in unclear)
        warnings.append(f"{path}: several durations for a size, not in timings: {listed}")
    if not (path / "codelets" / str(VERSION)).is_dir():
        warnings.append(f"{path}: found no codelets/{VERSION}: no costs")
    return Sampling(bus, costs, tuple(warnings))


def _costs(directory: Path, machine: str) -> CostTable:
    table = CostTable(machine)
    for path in sorted(directory.glob(f"*.{machine}")):
        codelet = path.name.removesuffix(f".{machine}")
        try:
            found = read_codelet(real_file(path), codelet)
        except ConfigurationError as error:
            table.refused[codelet] = str(error)
            continue
        table.costs += found
        if not found:
            table.empty.append(codelet)
    if table.refused and not table.costs:
        raise ConfigurationError(next(iter(table.refused.values())))
    return table


def machine_yaml(
    bus: Bus,
    costs: CostTable | None = None,
    *,
    devices: str | None = None,
    per_device: bool = True,
    reserve_drivers: bool = False,
    roots: str | None = None,
    codelets: str = "*",
    main_memory: str | None = None,
    device_memory: str | None = None,
) -> str:
    """Return the text of a machine file.

    Parameters
    ----------
    bus : Bus
        The sampling.
    costs : CostTable, optional
        Durations of codelets for the machine's table of timings; none by default.
    devices : {"cuda", "opencl", "mic"}, optional
        Kind of devices; by default the first of these that the machine has.
    per_device : bool
        Whether every device is a processor kind of its own (``cuda0``, ``cuda1``, ...), with its
        own durations. Otherwise all are ``cuda`` and last as long as the first one.
    reserve_drivers : bool
        Whether to leave out one core per device, as StarPU does to drive them. False by default.
    roots : str, optional
        Devices by root of the PCI tree, switches in parentheses, for instance ``"0|1,2"`` or
        ``"(0,1),(2,3)|4"``; not known by default.
    codelets : str
        Patterns of the codelets to take, with commas in between; all by default.
    main_memory, device_memory : str, optional
        Capacities with their units, where they are known.

    Returns
    -------
    str
        YAML, each value with its unit and its source.

    Raises
    ------
    ConfigurationError
        A kind that the machine does not have, too few cores, roots that do not have each device
        once, a pattern without codelets, or a capacity that is no size.
    """
    present = [kind for kind in DEVICES if bus.devices[kind]]
    if devices is not None and devices not in present:
        raise ConfigurationError(f"{bus.name}: {unknown_name('kind of devices', devices, present)}")
    kind = devices or (present[0] if present else "cuda")
    nodes = bus.nodes(kind) if present else []
    cores = bus.n_cpus - (len(nodes) if reserve_drivers else 0)
    if cores < 1:
        raise ConfigurationError(f"{bus.name}: found {bus.n_cpus} cores, all of them drive devices")
    given = [_capacity("main_memory", main_memory), _capacity("device_memory", device_memory)]
    groups = [f"{kind}{i}" for i in range(len(nodes))] if per_device else [kind] * len(nodes)
    tree = parse_roots(roots, len(nodes)) if roots is not None else None
    measured_as = {"cpu": "cpu0"}
    for i, group in enumerate(groups):
        measured_as.setdefault(group, f"{kind}{i}")
    parts = [
        _head(bus, kind, nodes, any(text is not None for text in given), tree is not None),
        _cores(groups),
        _sockets(cores, groups, reserve_drivers),
        _memory(given[0], given[1], len(nodes)),
        link_lines(bus, nodes, tree),
        _paths(bus, nodes, tree),
        _runtime(len(nodes)),
        "" if costs is None else timing_lines(costs, measured_as, codelets),
    ]
    return "\n".join(part for part in parts if part)


def _runtime(n_devices: int) -> str:
    """Return the costs of the task runtime: none but those of drivers."""
    why = '"assumed: calls of the runtime take microseconds, measured tasks milliseconds"'
    names = [cost_name(item.name) for item in fields(RuntimeCosts)]
    lines = ["costs:", *(f"  {name}: [0 ns, {why}]" for name in names if name not in DRIVERS)]
    if n_devices:
        lines += [
            f'  {name}: [{cost}, "simulator: {where}"]' for name, (cost, where) in DRIVERS.items()
        ]
    return "\n".join(lines) + "\n"


def _capacity(option: str, text: str | None) -> str | None:
    if text is not None:
        try:
            parse_size(text)
        except ValueError as error:
            raise ConfigurationError(f"{option}: {error}") from error
    return text


def _head(bus: Bus, kind: str, nodes: list[int], stated: bool, has_roots: bool) -> str:
    machine = f"{bus.n_cpus} cores" + (f" and {len(nodes)} {kind} devices" if nodes else "")
    lines = [
        f"description: {bus.name}, {machine}, from StarPU's sampling",
        "",
        "sources:",
        "  sampling:",
        "    kind: measured",
        f'    reference: "StarPU sampling of {bus.name}: configuration, bandwidth and latency of '
        'the bus, timings of codelets"',
        "  assumed:",
        "    kind: assumed",
        "    reference: not part of a StarPU sampling",
    ]
    if nodes:
        known = "roots" if has_roots else "bus"
        lines += [
            f"  {known}:",
            "    kind: assumed",
            f'    reference: "{REFERENCES[known]}"',
            "  simulator:",
            "    kind: published",
            "    reference: what StarPU 1.4 lets its drivers sleep when it runs over SimGrid",
        ]
    if stated:
        lines += ["  given:", "    kind: assumed", "    reference: stated by the user on import"]
    return "\n".join(lines) + "\n"


def _cores(groups: list[str]) -> str:
    unit = '"assumed: not a clock; task costs are measured nanoseconds"'
    lines = ["cores:"]
    for group in dict.fromkeys(["cpu", *groups]):
        lines += [
            f"  {group}:",
            f"    processor: {group}",
            f"    clock: [1 GHz, {unit}]",
            "    ops_per_cycle: [1, assumed]",
            "    accesses: in_costs",
        ]
    return "\n".join(lines) + "\n"


def _sockets(cores: int, groups: list[str], reserve_drivers: bool) -> str:
    """Return one socket of cores and one per device."""
    remark = (
        '"sampling: less one core per device, which drives it"' if reserve_drivers else "sampling"
    )
    lines = [
        "sockets:",
        "  - count: [1, sampling]",
        "    domains: [1, sampling]",
        f"    cores: {{cpu: [{cores}, {remark}]}}",
    ]
    for group in groups:
        lines += [
            "  - count: [1, sampling]",
            "    domains: [1, sampling]",
            f"    cores: {{{group}: [1, sampling]}}",
        ]
    return "\n".join(lines) + "\n"


def _memory(main: str | None, device: str | None, n_devices: int) -> str:
    shares = ["copy_shares: by_latency", ""] if n_devices else []
    lines = [*shares, "memory:"]
    entries = [("dram", "DRAM", "[0]", ["used_by: cpu"], main)]
    if n_devices:
        listed = ", ".join(str(i + 1) for i in range(n_devices))
        managed = ["used_by: own", "managed_by: driver"]
        entries.append(("device", "GPU", f"[{listed}]", managed, device))
    for name, kind, at, properties, capacity in entries:
        ample = f'[{AMPLE}, "assumed: so much that it never runs out"]'
        lines += [
            f"  {name}:",
            f"    kind: {kind}",
            f"    at: {at}",
            *(f"    {item}" for item in properties),
            f"    capacity: {ample if capacity is None else f'[{capacity}, given]'}",
            f'    bandwidth: [{LOCAL}, "assumed: no limit, timings of codelets include it"]',
            "    page: [4 KiB, assumed]",
        ]
    return "\n".join(lines) + "\n"


def _paths(bus: Bus, nodes: list[int], tree: PciTree | None) -> str:
    """Return what every domain draws from every memory node: the source comes first in a matrix."""
    lines = [
        "paths:",
        "  own:",
        "    hops: 0",
        f'    core_cap: [{LOCAL}, "assumed: no limit, timings of codelets include it"]',
        '    latency: [0 ns, "assumed: timings of codelets include it"]',
    ]
    used = [0, *nodes]
    names = ["dram0", *(f"device{i + 1}" for i in range(len(nodes)))]
    for domain, reader in enumerate(used):
        for position, node in enumerate(used):
            if node == reader:
                continue
            where = f"row {node}, column {reader}"
            lines += [
                f"  from_{names[position]}_to_domain{domain}:",
                f"    to: {names[position]}",
                f"    domains: {domain}",
                f"    core_cap: [{bus.bandwidth_mb_per_s[node, reader]:.6f} MB/s, "
                f'"sampling: {where} of bandwidth"]',
                f"    latency: [{_whole_us(bus.latency_us[node, reader])} us, "
                f'"sampling: {where} of latency, in whole us as in StarPU\'s platform files"]',
                f"    links: [[{', '.join(crossed_links(position, domain, tree))}], "
                f"{'bus' if tree is None else 'roots'}]",
            ]
    return "\n".join(lines) + "\n"


def _whole_us(latency_us: float) -> int:
    """Return a latency as StarPU's platform files have it: in seconds with six decimals."""
    return round(float(f"{latency_us / 1e6:.6f}") * 1e6)
