"""A picture of a machine: sockets, domains, cores, caches, memory nodes and links.

The layout is in inches. Every domain is one block: its cores in rows, a strip under the cores that
share a cache, and its memory nodes below. Blocks of a socket stand side by side, sockets in a grid.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch, Patch, Rectangle

from simsched.files.atomic import write_atomically
from simsched.files.units import format_bandwidth, format_size, format_time
from simsched.machine.caches import CacheLevel
from simsched.machine.model import Machine, MemoryNode

CORE_HEIGHT = 0.34
STRIP_HEIGHT = 0.13
BAR_HEIGHT = 0.24
NODE_WIDTH = 1.3
NODE_HEIGHT = 0.74
GAP = 0.12
SOCKET_GAP = 0.3
TITLE = 0.28
HEADER = 0.65
DPI, LARGEST_PIXELS = 150, 2400
SHAPE = 1.6  #: width over height of the sockets that is aimed at
CORE_COLOURS = ("#4c78a8", "#9ecae9", "#e45756", "#b279a2", "#79706e")
CACHE_COLOURS = ("#f2cf5b", "#f58518", "#b6992d", "#d8b5a5")
MEMORY_COLOURS = {"DRAM": "#88d27a", "HBM": "#54a24b", "NVM": "#bab0ac", "GPU": "#83bcb6"}
OTHER_MEMORY_COLOURS = ("#d6a5c9", "#c9b86c", "#a5c3d6", "#d6b3a5")
SHARED_COLOUR = "#555555"
LINK_COLOURS = ("#d62728", "#7f3c8d", "#17becf", "#8c564b")


@dataclass(frozen=True)
class _Block:
    """Size of the drawing of one domain."""

    columns: int
    rows: int
    width: float
    height: float


def draw_machine(machine: Machine, path: Path) -> None:
    """Write a picture of a machine in the format that the file's name ends with."""
    figure, kind = machine_figure(machine), path.suffix.removeprefix(".")
    about = {"CreationDate": None, "Title": machine.name} if kind == "pdf" else None
    with rc_context({"pdf.fonttype": 42}):  # TrueType, which publishers accept
        write_atomically(path, lambda file: figure.savefig(file, format=kind, metadata=about))


def machine_svg(machine: Machine) -> str:
    """Return a picture of a machine as an SVG element, with its text as text."""
    buffer = StringIO()
    # The same machine gives the same picture, and no two machines share the names of parts.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": machine.name}):
        machine_figure(machine).savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()[buffer.getvalue().index("<svg") :]


def machine_figure(machine: Machine) -> Figure:
    """Return a picture of a machine."""
    blocks = [_measure(machine, domain) for domain in range(machine.n_domains)]
    corners, (wide, tall) = _arrange(machine, blocks)
    lines = _legend(machine)
    orphans = [node for node in machine.nodes if node.domain is None]
    if orphans:
        tall += NODE_HEIGHT * 2 + 2 * GAP
    radius = 0.5 + 0.11 * machine.n_domains
    network = 2 * radius + 1.2 if machine.links else 0.0
    width = max(wide + network, 6.5)
    tall = max(tall, network)
    height = HEADER + tall + 0.17 * len(lines) + 0.3
    dpi = min(DPI, LARGEST_PIXELS / max(width, height))
    figure = Figure(figsize=(width, height), dpi=dpi)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0), xlim=(0, width), ylim=(-height, 0))
    axes.axis("off")
    axes.text(width / 2, -0.2, machine.name, ha="center", va="center", size=12, weight="bold")
    axes.text(width / 2, -0.45, machine.description, ha="center", va="center", size=8)
    shift = (width - wide - network) / 2
    places = {domain: (x + shift, y - HEADER) for domain, (x, y) in corners.items()}
    _draw_sockets(axes, machine, places, blocks)
    for domain, block in enumerate(blocks):
        _draw_domain(axes, machine, domain, places[domain], block)
    for position, node in enumerate(orphans):
        x = shift + wide / 2 + (position - len(orphans) / 2) * (NODE_WIDTH + GAP)
        side = NODE_HEIGHT if node.memory_side_cache else 0.0
        _draw_node(axes, machine, node, x, NODE_HEIGHT + side + GAP - HEADER - tall, NODE_WIDTH)
    if machine.links:
        _draw_network(axes, machine, shift + wide + network / 2, -HEADER - tall / 2, radius)
    axes.legend(
        handles=[
            Patch(facecolor=colour, edgecolor="#444444", label=text) for colour, text in lines
        ],
        loc="lower center",
        fontsize=7.5,
        frameon=False,
        handlelength=1.2,
    )
    return figure


def _nodes_of(machine: Machine, domain: int) -> list[MemoryNode]:
    return [node for node in machine.nodes if node.domain == domain]


def _share(level: CacheLevel) -> int:
    return int(np.bincount(level.core_instance).max())


def _sizes(machine: Machine, level: CacheLevel, domain: int) -> str:
    """Return the capacities of the instances that the cores of a domain use."""
    numbers = np.unique(level.core_instance[machine.core_domain == domain]).tolist()
    sizes = [format_size(level.instance(number).capacity_bytes) for number in numbers]
    return ", ".join(dict.fromkeys(sizes))


def _measure(machine: Machine, domain: int) -> _Block:
    """Choose the rows of cores of a domain and return the size of its block."""
    cores = int(np.count_nonzero(machine.core_domain == domain))
    together = max([_share(level) for level in machine.caches if _share(level) < cores], default=1)
    wanted = math.sqrt(1.5 * cores)
    divisors = [
        count for count in range(1, cores + 1) if cores % count == 0 and count % together == 0
    ]
    columns = min(divisors or [cores], key=lambda count: (abs(count - wanted), count))
    rows = cores // columns
    nodes = _nodes_of(machine, domain)
    strips, bars = _levels(machine, domain, columns)
    width = max(columns * 0.42, len(nodes) * (NODE_WIDTH + GAP) - GAP, 1.3)
    height = TITLE + rows * (CORE_HEIGHT + len(strips) * STRIP_HEIGHT + 0.06)
    height += len(bars) * (BAR_HEIGHT + 0.04) + GAP
    if nodes:
        side = any(node.memory_side_cache for node in nodes)
        height += NODE_HEIGHT * (2 if side else 1) + GAP
    return _Block(columns, rows, width + 2 * GAP, height)


def _levels(machine: Machine, domain: int, columns: int) -> tuple[list[int], list[int]]:
    """Return the cache levels drawn as strips under a row of cores, and those drawn as bars."""
    row = np.arange(np.count_nonzero(machine.core_domain == domain)) // columns
    levels, strips = [], []
    for number, level in enumerate(machine.caches):
        own = level.core_instance[machine.core_domain == domain]
        if not any(level.instance(instance).capacity_bytes for instance in own.tolist()):
            continue
        levels.append(number)
        pieces = len(np.unique(np.column_stack([own, row]), axis=0))
        is_inside = not np.isin(level.core_instance[machine.core_domain != domain], own).any()
        if is_inside and pieces == len(np.unique(own)):
            strips.append(number)
    return strips, [number for number in levels if number not in strips]


def _arrange(
    machine: Machine, blocks: list[_Block]
) -> tuple[dict[int, tuple[float, float]], tuple[float, float]]:
    """Return the upper left corner of every domain's block, and the size of the whole.

    Of all grids the one is chosen whose shape is nearest to `SHAPE`.
    """
    sockets = [
        np.flatnonzero(machine.domain_socket == s).tolist() for s in range(machine.n_sockets)
    ]
    grids = (_grid(sockets, blocks, columns) for columns in range(1, len(sockets) + 1))
    return min(grids, key=lambda grid: abs(math.log(grid[1][0] / grid[1][1] / SHAPE)))


def _grid(
    sockets: list[list[int]], blocks: list[_Block], wide: int
) -> tuple[dict[int, tuple[float, float]], tuple[float, float]]:
    """Return corners and size with so many sockets side by side."""
    widths = [sum(blocks[d].width + GAP for d in members) + GAP for members in sockets]
    heights = [max(blocks[d].height for d in members) + TITLE + GAP for members in sockets]
    column_width = max(widths)
    corners: dict[int, tuple[float, float]] = {}
    top = -GAP
    for start in range(0, len(sockets), wide):
        row = range(start, min(start + wide, len(sockets)))
        for column, socket in enumerate(row):
            x = (
                SOCKET_GAP / 2
                + column * (column_width + SOCKET_GAP)
                + (column_width - widths[socket]) / 2
            )
            for domain in sockets[socket]:
                corners[domain] = (x + GAP, top - TITLE)
                x += blocks[domain].width + GAP
        top -= max(heights[socket] for socket in row) + SOCKET_GAP * 0.8
    width = min(wide, len(sockets)) * (column_width + SOCKET_GAP)
    return corners, (width, -top - SOCKET_GAP * 0.8 + GAP)


def _draw_sockets(
    axes: Axes, machine: Machine, places: dict[int, tuple[float, float]], blocks: list[_Block]
) -> None:
    for socket in range(machine.n_sockets):
        members = np.flatnonzero(machine.domain_socket == socket).tolist()
        left = places[members[0]][0] - GAP
        right = places[members[-1]][0] + blocks[members[-1]].width + GAP
        top = places[members[0]][1] + TITLE
        bottom = top - TITLE - max(blocks[d].height for d in members) - GAP
        _box(axes, left, bottom, right - left, top - bottom, "#f7f7f7", zorder=2, rounded=True)
        axes.text(
            left + 0.1, top - 0.15, f"socket {socket}", va="center", size=8, weight="bold", zorder=5
        )


def _draw_domain(
    axes: Axes, machine: Machine, domain: int, corner: tuple[float, float], block: _Block
) -> None:
    left, top = corner
    _box(axes, left, top - block.height, block.width, block.height, "#ffffff", zorder=3)
    axes.text(left + 0.08, top - 0.14, f"domain {domain}", va="center", size=7, zorder=5)
    cores = np.flatnonzero(machine.core_domain == domain).tolist()
    strips, bars = _levels(machine, domain, block.columns)
    cell = (block.width - 2 * GAP) / block.columns
    pitch = CORE_HEIGHT + len(strips) * STRIP_HEIGHT + 0.06
    for position, core in enumerate(cores):
        x = left + GAP + position % block.columns * cell
        y = top - TITLE - position // block.columns * pitch
        _draw_core(axes, machine, core, x, y, cell)
        for order, level in enumerate(strips):
            users = np.flatnonzero(
                machine.caches[level].core_instance == machine.caches[level].core_instance[core]
            )
            if core == users[0]:
                bottom = y - CORE_HEIGHT - (order + 1) * STRIP_HEIGHT
                width = len(users) * cell - 0.06
                _box(axes, x + 0.03, bottom, width, STRIP_HEIGHT, _cache_colour(level))
    y = top - TITLE - block.rows * pitch
    for level in bars:
        y -= BAR_HEIGHT
        cache = machine.caches[level]
        _box(axes, left + GAP, y, block.width - 2 * GAP, BAR_HEIGHT, _cache_colour(level))
        label = f"{cache.name}  {_sizes(machine, cache, domain)}"
        _label(axes, left + block.width / 2, y + BAR_HEIGHT / 2, label)
        y -= 0.04
    nodes = _nodes_of(machine, domain)
    for position, node in enumerate(nodes):
        width = (block.width - 2 * GAP - (len(nodes) - 1) * GAP) / len(nodes)
        _draw_node(axes, machine, node, left + GAP + position * (width + GAP), y - GAP, width)


def _draw_core(axes: Axes, machine: Machine, core: int, x: float, y: float, cell: float) -> None:
    """Draw a core with one tick per hardware thread."""
    group = int(machine.core_group[core])
    ways = len(machine.core_groups[group].smt_throughput)
    colour = CORE_COLOURS[group % len(CORE_COLOURS)]
    _box(axes, x + 0.03, y - CORE_HEIGHT, cell - 0.06, CORE_HEIGHT, colour)
    _label(axes, x + cell / 2, y - 0.14, str(core), colour="white")
    for way in range(ways if ways > 1 else 0):
        centre = x + cell / 2 + (way - (ways - 1) / 2) * 0.07
        dot = Rectangle(
            (centre - 0.02, y - CORE_HEIGHT + 0.04), 0.04, 0.05, color="white", zorder=5
        )
        axes.add_patch(dot)


def _draw_node(
    axes: Axes, machine: Machine, node: MemoryNode, x: float, y: float, width: float
) -> None:
    """Draw a memory node, with its memory-side cache above it, below the height `y`."""
    home = 0 if node.domain is None else node.domain
    latency = machine.paths[home][machine.nodes.index(node)].latency_ps
    cache = node.memory_side_cache
    if cache is not None:
        _box(axes, x, y - NODE_HEIGHT + 0.04, width, NODE_HEIGHT - 0.04, MEMORY_COLOURS["HBM"])
        lines = f"cache {format_size(cache.capacity_bytes)}\n"
        lines += f"{format_bandwidth(cache.bandwidth_bytes_per_s)}\n"
        lines += f"hit {format_time(cache.hit_latency_ps)}"
        _label(axes, x + width / 2, y - NODE_HEIGHT / 2, lines)
        y -= NODE_HEIGHT
    _box(axes, x, y - NODE_HEIGHT, width, NODE_HEIGHT, _memory_colour(machine, node.kind))
    lines = f"{node.name}  {format_size(node.capacity_bytes)}\n"
    lines += f"{format_bandwidth(node.bandwidth_bytes_per_s)}\n"
    lines += format_time(latency) if cache is None else f"miss {format_time(cache.miss_latency_ps)}"
    _label(axes, x + width / 2, y - NODE_HEIGHT / 2, lines)


def _box(
    axes: Axes,
    x: float,
    y: float,
    width: float,
    height: float,
    colour: str,
    *,
    zorder: int = 4,
    rounded: bool = False,
) -> None:
    if rounded:
        style = "round,pad=0,rounding_size=0.08"
        patch: Patch = FancyBboxPatch((x, y), width, height, boxstyle=style)
    else:
        patch = Rectangle((x, y), width, height)
    patch.set(facecolor=colour, edgecolor="#444444", linewidth=0.7, zorder=zorder)
    axes.add_patch(patch)


def _label(
    axes: Axes, x: float, y: float, text: str, *, size: float = 6.5, colour: str = "black"
) -> None:
    axes.text(x, y, text, ha="center", va="center", size=size, color=colour, zorder=5)


def _cache_colour(level: int) -> str:
    return CACHE_COLOURS[level % len(CACHE_COLOURS)]


def _kinds(machine: Machine) -> list[str]:
    """Return the kinds of memory in order of first appearance."""
    return list(dict.fromkeys(node.kind for node in machine.nodes))


def _memory_colour(machine: Machine, kind: str) -> str:
    """Return the colour of a kind of memory; kinds without one of their own get others in turn."""
    others = [name for name in _kinds(machine) if name not in MEMORY_COLOURS]
    if kind in MEMORY_COLOURS:
        return MEMORY_COLOURS[kind]
    return OTHER_MEMORY_COLOURS[others.index(kind) % len(OTHER_MEMORY_COLOURS)]


def _cache_line(level: CacheLevel, number: int) -> str:
    """Return what a line of the legend says of an instance and others like it."""
    cache, share = level.instance(number), np.count_nonzero(level.core_instance == number)
    per = "core" if share == 1 else f"{share} cores"
    text = f"{level.name}: {format_size(cache.capacity_bytes)} per {per}"
    return (
        f"{text}, {format_bandwidth(cache.bandwidth_bytes_per_s)}, {format_time(cache.latency_ps)}"
    )


def _legend(machine: Machine) -> list[tuple[str, str]]:
    """Return colour and text of every legend line."""
    lines = []
    for index, group in enumerate(machine.core_groups):
        ways = len(group.smt_throughput)
        threads = f", {ways} hardware threads (white marks)" if ways > 1 else ""
        text = f"core {group.name}: {group.ops_per_s / 1e9:g} G operations/s{threads}"
        lines.append((CORE_COLOURS[index % len(CORE_COLOURS)], text))
    for index, level in enumerate(machine.caches):
        usual = [i for i in level.core_instance.tolist() if i not in level.differing]
        if usual:
            lines.append((_cache_colour(index), _cache_line(level, usual[0])))
        for kind, number in machine.other_caches(level).items():
            if level.differing[number].capacity_bytes > 0:
                lines.append((_cache_colour(index), f"{_cache_line(level, number)} ({kind})"))
    direct, shared = _link_ends(machine)
    for index, bandwidth in enumerate(_bandwidths(machine, direct)):
        text = f"link: {format_bandwidth(bandwidth)}"
        lines.append((LINK_COLOURS[index % len(LINK_COLOURS)], text))
    for link in shared:
        text = f"shared link {machine.links[link].name}:"
        text += f" {format_bandwidth(machine.links[link].bandwidth_bytes_per_s)}"
        lines.append((SHARED_COLOUR, text))
    kinds = _kinds(machine)
    lines += [
        (_memory_colour(machine, kind), f"{kind}: {_latencies(machine, kind)}") for kind in kinds
    ]
    return lines


def _latencies(machine: Machine, kind: str) -> str:
    """Return the latencies to the nodes of a kind, by hops."""
    found: dict[int, set[int]] = {}
    for domain, row in enumerate(machine.paths):
        for node, path in zip(machine.nodes, row, strict=True):
            if node.kind == kind:
                home = domain if node.domain is None else node.domain
                found.setdefault(int(machine.domain_hops[domain, home]), set()).add(path.latency_ps)
    parts = []
    for hops, values in sorted(found.items()):
        where = "own domain" if hops == 0 else f"{hops} hop{'s' if hops > 1 else ''}"
        ends = dict.fromkeys((min(values), max(values)))
        parts.append(f"{where} {' to '.join(format_time(value) for value in ends)}")
    return "first byte " + ", ".join(parts)


def _link_ends(machine: Machine) -> tuple[dict[int, tuple[int, int]], list[int]]:
    """Return the links between two neighbouring domains with their ends, and the shared links."""
    pairs: dict[int, set[tuple[int, int]]] = {link: set() for link in range(len(machine.links))}
    for domain, row in enumerate(machine.paths):
        for node, path in zip(machine.nodes, row, strict=True):
            home = domain if node.domain is None else node.domain
            if machine.domain_hops[domain, home] <= 1 or len(path.links) == 1:
                for link in path.links:
                    pairs[link].add((min(domain, home), max(domain, home)))
    direct = {
        link: next(iter(ends))
        for link, ends in pairs.items()
        if len(ends) == 1 and len(set(next(iter(ends)))) == 2
    }
    return direct, [link for link in pairs if link not in direct]


def _hubs(machine: Machine, shared: Iterable[int]) -> list[tuple[frozenset[int], frozenset[int]]]:
    """Return where shared links are: the domains at one end, if all that cross it are, and users.

    Links in the same place are one hub.
    """
    found = []
    for link in shared:
        ends = [
            {domain, domain if node.domain is None else node.domain}
            for domain, row in enumerate(machine.paths)
            for node, path in zip(machine.nodes, row, strict=True)
            if link in path.links
        ]
        if ends:
            near = frozenset(set(ends[0]).intersection(*ends[1:]))
            found.append((near, frozenset(set().union(*ends))))
    return list(dict.fromkeys(found))


def _middle(
    place: Mapping[int, tuple[float, float]], domains: Iterable[int]
) -> tuple[float, float]:
    """Return the mean of places."""
    x, y = np.mean([place[domain] for domain in sorted(domains)], axis=0).tolist()
    return x, y


def _bandwidths(machine: Machine, links: Iterable[int]) -> list[float]:
    return sorted({machine.links[link].bandwidth_bytes_per_s for link in links}, reverse=True)


def _ring(n_domains: int, ends: Iterable[tuple[int, int]]) -> list[int]:
    """Return the domains in an order that puts neighbours beside each other."""
    edges = set(ends)
    order = [0]
    while len(order) < n_domains:
        rest = [domain for domain in range(n_domains) if domain not in order]
        beside = [d for d in rest if (min(d, order[-1]), max(d, order[-1])) in edges]
        order.append((beside or rest)[0])
    return order


def _draw_network(axes: Axes, machine: Machine, x: float, y: float, radius: float) -> None:
    """Draw the domains on a ring around (x, y) with the links between them."""
    direct, shared = _link_ends(machine)
    ring = _ring(machine.n_domains, direct.values())
    place = {}
    for position, domain in enumerate(ring):
        angle = math.pi * (0.75 - 2 * position / len(ring))
        place[domain] = (x + radius * math.cos(angle), y + radius * math.sin(angle))
    bandwidths = _bandwidths(machine, direct)
    for link, (left, right) in direct.items():
        rank = bandwidths.index(machine.links[link].bandwidth_bytes_per_s)
        (x0, y0), (x1, y1) = place[left], place[right]
        colour = LINK_COLOURS[rank % len(LINK_COLOURS)]
        axes.plot([x0, x1], [y0, y1], color=colour, linewidth=2.2 if rank == 0 else 1.4, zorder=2)
    for near, users in _hubs(machine, shared):
        hub_x, hub_y = _middle(place, near) if near else _middle(place, users)
        if near:  # on the way to the others
            hub_x, hub_y = x + 0.5 * (hub_x - x), y + 0.5 * (hub_y - y)
        for domain in sorted(users):
            x0, y0 = place[domain]
            width = 2.2 if domain in near else 1.0
            axes.plot([x0, hub_x], [y0, hub_y], color=SHARED_COLOUR, linewidth=width, zorder=1)
        corner = hub_x - 0.11, hub_y - 0.11
        axes.add_patch(Rectangle(corner, 0.22, 0.22, facecolor=SHARED_COLOUR, zorder=3))
    for domain, (x0, y0) in place.items():
        axes.add_patch(Circle((x0, y0), 0.19, facecolor="white", edgecolor="#444444", zorder=4))
        _label(axes, x0, y0, str(domain), size=8)
    axes.text(x, y + radius + 0.42, "links between domains", ha="center", size=8, weight="bold")
