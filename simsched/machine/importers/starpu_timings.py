"""Measured durations of codelets as the section of timings of a machine file."""

from __future__ import annotations

from fnmatch import fnmatchcase

from simsched.files.errors import ConfigurationError
from simsched.machine.importers.starpu_codelets import CostTable, TaskCost


def timing_lines(costs: CostTable, measured_as: dict[str, str], patterns: str) -> str:
    """Return the section of timings, of codelets that `patterns` with commas in between select.

    `measured_as` has the measurements' processor for each kind of the machine. Of several
    implementations the fastest counts, as StarPU's schedulers take it. Sizes that stand for
    different shapes of data with different durations are left out: see :func:`ambiguous`.
    """
    chosen: set[str] = set()
    for pattern in patterns.split(","):
        matching = [name for name in costs.codelets if fnmatchcase(name, pattern.strip())]
        if not matching and pattern.strip() != "*":
            raise ConfigurationError(
                f"codelets: found no codelet like {pattern.strip()!r} with samples on "
                f"{costs.machine}, accepted: {', '.join(costs.codelets)}"
            )
        chosen.update(matching)
    lines = ["timings:"]
    for codelet in sorted(chosen):
        table = _by_size(costs, codelet, measured_as)
        if table:
            lines.append(f'  "{codelet}":')
        for size, times in sorted(table.items()):
            lines.append(f"    {size} B:")
            lines += [
                f"      {kind}: [[{cost.mean_us!r} us, {cost.dev_us!r} us], sampling]"
                for kind, cost in times.items()
            ]
    return "\n".join(lines) + "\n" if len(lines) > 1 else ""


def ambiguous(costs: CostTable) -> list[tuple[str, int]]:
    """Return codelets and sizes with several durations on one processor, told apart by nothing."""
    shapes: dict[tuple[str, str, int, int], set[float]] = {}
    for cost in costs.costs:
        key = (cost.codelet, cost.processor, cost.implementation, cost.size_bytes)
        shapes.setdefault(key, set()).add(cost.mean_us)
    return sorted({(key[0], key[3]) for key, means in shapes.items() if len(means) > 1})


def _by_size(
    costs: CostTable, codelet: str, measured_as: dict[str, str]
) -> dict[int, dict[str, TaskCost]]:
    """Return the costs of a codelet by size and processor kind."""
    left_out = {size for name, size in ambiguous(costs) if name == codelet}
    table: dict[int, dict[str, TaskCost]] = {}
    for kind, processor in measured_as.items():
        for cost in costs.costs:
            fits = cost.codelet == codelet and cost.processor == processor
            if not fits or cost.size_bytes in left_out or cost.size_bytes == 0:
                continue
            known = table.setdefault(cost.size_bytes, {})
            if kind not in known or cost.mean_us < known[kind].mean_us:
                known[kind] = cost
    return table
