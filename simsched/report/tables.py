"""Results as text tables, for the terminal and for notebooks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.table import Table

from simsched.experiment.summary import Estimate, Line
from simsched.policy.contract.base import Policy
from simsched.report.terminal import plain_table, with_sections

#: Suffixes of column names with the scales that tables choose from.
SCALES: dict[str, tuple[tuple[float, str], ...]] = {
    "_bytes_per_s": ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")),
    "_bytes": ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
    "_percent": ((1.0, "%"),),
    "_s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
}

MOST_DIGITS = 7  #: of a mean, however narrow its interval is
LEAST_PERCENT = 1e-4  #: what is shown of changes
NOISE = 1e-9  #: half widths below this part of the mean


def scaled(name: str, values: Iterable[float]) -> tuple[str, float]:
    """Return the title of a column with its unit, and what its values are divided by.

    The name has a unit as its suffix; the largest value decides the scale.

    >>> scaled("local_bytes", [3e9])
    ('local [GB]', 1000000000.0)
    >>> scaled("steals", [12])
    ('steals', 1.0)
    """
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    for suffix, scales in SCALES.items():
        if name.endswith(suffix) and name != suffix:
            base = [scale for scale in scales if largest >= scale[0]]
            factor, unit = base[0] if base else scales[-1] if largest else scales[0]
            return f"{name.removesuffix(suffix).replace('_', ' ')} [{unit}]", factor
    return name.replace("_", " "), 1.0


def number(value: float) -> str:
    """Return a number with four significant digits.

    >>> number(0.123456), number(3680.4), number(123456.0), number(float("nan"))
    ('0.1235', '3,680', '123,456', '-')
    """
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == round(value) or abs(value) >= 1e3:
        return f"{value:,.0f}" if abs(value) < 1e15 else f"{value:.4g}"
    return f"{value:.4g}"


def with_interval(value: Estimate, factor: float = 1.0) -> str:
    """Return a mean with the half width of its confidence interval."""
    mean = value.mean / factor
    if math.isnan(value.half_width):
        return number(mean)
    return " ± ".join(rounded(mean, value.half_width / abs(factor)))


def rounded(mean: float, half_width: float) -> tuple[str, str]:
    """Return a mean and the half width of its interval, with the digits that the interval allows.

    These are two of the half width, but at most `MOST_DIGITS` of the mean; then the half width is
    rounded up. Half widths that are noise of the arithmetic are 0.

    >>> rounded(412.345678, 0.0043), rounded(3582.0, 248.0), rounded(3.0, 0.0)
    (('412.3457', '0.0043'), ('3,580', '250'), ('3', '0'))
    """
    if not (math.isfinite(mean) and math.isfinite(half_width)) or half_width <= NOISE * abs(mean):
        return number(mean), number(half_width if half_width > NOISE * abs(mean) else 0.0)
    half_width = float(f"{half_width:.1e}")
    decimals = 1 - math.floor(math.log10(half_width))
    most = MOST_DIGITS - 1 - math.floor(math.log10(abs(mean))) if mean else decimals
    if decimals > most:
        decimals = most
        half_width = math.ceil(half_width * 10.0**decimals) / 10.0**decimals
    shown = max(0, decimals)
    mean, half_width = round(mean, decimals) + 0.0, round(half_width, decimals)  # + 0.0: no -0
    return f"{mean:,.{shown}f}", f"{half_width:,.{shown}f}"


def in_millionths(value: float, sign: str = "") -> str:
    """Return a number of a unit that fits the largest one beside it, down to a millionth.

    Nothing has an exponent, and 0 has no sign; `sign` is ``+`` for changes.

    >>> in_millionths(3.4901), in_millionths(1.932e-5), in_millionths(-7.3e-8, "+")
    ('3.49', '0.000019', '0')
    >>> in_millionths(0.25, "+"), in_millionths(12345.6)
    ('+0.25', '12,346')
    """
    value = round(value, 6)
    if not value:
        return "0"
    decimals = min(6, max(0, 3 - math.floor(math.log10(abs(value)))))
    text = f"{value:{sign},.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text


def percent_with_interval(value: Estimate) -> str:
    """Return percents with their interval, 0 where both are below a ten-thousandth.

    >>> percent_with_interval(Estimate(1e-8, 1.3e-7, 3)), percent_with_interval(Estimate(2, 0.5, 3))
    ('0 ± 0', '2.00 ± 0.50')
    """
    if max(abs(value.mean), value.half_width) < LEAST_PERCENT:
        value = Estimate(0.0, 0.0, value.count)
    return with_interval(value)


def comparison_table(lines: Sequence[Line]) -> Table:
    """Return the comparison of an experiment as a table."""
    head, rows = comparison_cells(lines)
    words = head[: head.index("policy") + 1]
    table = plain_table(head, rows, left=words, fold=words, whole=("policy",))
    return with_sections(table, [(line.machine, line.workload) for line in lines])


def comparison_cells(lines: Sequence[Line]) -> tuple[list[str], list[list[str]]]:
    """Return the headings of a comparison and its cells as text.

    Which run it is comes first, then metrics with their units, then the reduction.
    """
    several = len({line.machine for line in lines}) > 1
    keys = list(dict.fromkeys(key for line in lines for key in line.sweep))
    head = [*(("machine",) if several else ()), "workload", *keys, "policy"]
    factors = {}
    for name in lines[0].metrics if lines else ():
        title, factors[name] = scaled(name, [line.metrics[name].mean for line in lines])
        head.append(title)
    head.append(f"shorter than {lines[0].baseline if lines else ''} by [%]")
    rows, marks = [], fit_marks(lines)
    for line in lines:
        cells = [line.machine] if several else []
        policy = marked(line.policy, line, marks)
        cells += [line.workload, *(str(line.sweep.get(key, "")) for key in keys), policy]
        cells += [with_interval(line.metrics[name], factors[name]) for name in line.metrics]
        own = line.policy == line.baseline
        rows.append([*cells, "" if own else percent_with_interval(line.reduction_percent)])
    return head, rows


def fit_notes(lines: Iterable[Line]) -> list[str]:
    """Return what the marks behind policies in a comparison mean: which runs say little, and why.

    A policy whose runs are those of another one is marked too.
    """
    return [f"[{number}] {remark}" for remark, number in fit_marks(lines).items()]


def marked(text: str, line: Line, marks: Mapping[str, int]) -> str:
    """Return a text with the numbers of the remarks about a line of a comparison behind it."""
    return text + "".join(f" [{marks[remark]}]" for remark in _remarks(line))


def fit_marks(lines: Iterable[Line]) -> dict[str, int]:
    """Return the number of each remark about lines of a comparison."""
    remarks = dict.fromkeys(remark for line in lines for remark in _remarks(line))
    return {remark: number for number, remark in enumerate(remarks, start=1)}


def _remarks(line: Line) -> Iterator[str]:
    """Yield what makes a line of a comparison mean little."""
    yield from line.misfits
    if line.same_as:
        yield f"same {line.tasks:,} decisions as {line.same_as}"


def cost_notes(policies: Iterable[tuple[str, Policy]]) -> list[str]:
    """Return what policies charge beside the machine's costs, a line for those that charge alike.

    Policies come with their labels, each perhaps several times.
    """
    alike: dict[str, dict[str, None]] = {}
    for label, policy in policies:
        costs = []
        for name, value in policy.own_costs().items():
            seconds, per, of = name.partition("_per_")
            title, factor = scaled(seconds, [value])
            what, _, unit = title.rstrip("]").partition(" [")
            costs.append(f"{what} {number(value / factor)} {unit}{per.replace('_', ' ')}{of}")
        if costs:
            alike.setdefault(", ".join(costs), {})[label] = None
    return [f"besides the machine's costs, {', '.join(of)}: {said}" for said, of in alike.items()]
