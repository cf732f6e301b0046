"""StarPU's timings of codelets: files ``NAME.MACHINE``, version 45 of the format.

A file has a block per combination of processors (type, number, cores) and implementation, with one
row per data footprint: hash, size (bytes), flops, mean and deviation (microseconds), sum and sum of
squares (for the mean), number of samples. Comments carry the meaning; their white space varies.
Regression coefficients, ahead of the rows, are not used.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simsched.files.errors import ConfigurationError, unknown_name
from simsched.machine.importers._lines import Lines

VERSION = 45
TYPES = {0: "cpu", 1: "cuda", 2: "opencl", 3: "mic"}
COLUMNS = "hash size flops mean {unit} dev {unit} sum sum2 n"
UNITS = ("(us)", "(us or J)")
N_FIELDS = 8


@dataclass(frozen=True)
class TaskCost:
    """What one codelet takes on one processor for data of one footprint.

    Parameters
    ----------
    codelet : str
        Name of the performance model.
    processor : str
        Type and number: ``cpu0``, ``cuda1``; with ``x4`` appended for four cores together.
    implementation : int
        Which of the codelet's implementations.
    footprint : str
        StarPU's hash of the sizes of all data.
    size_bytes : int
        Bytes of all data.
    flops : float
        Operations of a task, 0 where the codelet does not say.
    mean_us, dev_us : float
        Mean and standard deviation of the duration, microseconds.
    samples : int
        Number of measurements.
    source : str
        File and line.
    sums_agree : bool
        Whether mean and deviation follow from the sums that the row also has. StarPU prints all of
        them; rows in which they differ have been edited.
    """

    codelet: str
    processor: str
    implementation: int
    footprint: str
    size_bytes: int
    flops: float
    mean_us: float
    dev_us: float
    samples: int
    source: str
    sums_agree: bool = True


@dataclass
class CostTable:
    """Measured costs of codelets on the processors of one machine.

    Parameters
    ----------
    machine : str
        Where they were measured.
    costs : list of TaskCost
        One per codelet, processor, implementation and footprint.
    empty : list of str
        Codelets whose files have no samples.
    refused : dict of str to str
        Codelets whose files are wrong, and why.
    """

    machine: str
    costs: list[TaskCost] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def codelets(self) -> list[str]:
        """Names of the codelets, sorted."""
        return sorted({cost.codelet for cost in self.costs})

    def lookup(
        self,
        codelet: str,
        processor: str,
        size_bytes: int | None = None,
        *,
        footprint: str | None = None,
        implementation: int = 0,
    ) -> TaskCost:
        """Return what was measured; nothing is interpolated.

        Parameters
        ----------
        codelet, processor : str
            As in :class:`TaskCost`.
        size_bytes : int, optional
            Bytes of all data; may be left out with a footprint.
        footprint : str, optional
            Needed where several footprints of the size have different costs.
        implementation : int
            0 by default.

        Returns
        -------
        TaskCost
            Mean and standard deviation in microseconds, and the number of samples.

        Raises
        ------
        ConfigurationError
            Nothing was measured for the combination (the message names the nearest), or several
            costs fit.
        """
        where = f"costs on {self.machine}"
        rows = [c for c in self.costs if c.codelet == codelet]
        if codelet in self.refused:
            raise ConfigurationError(f"{where}: codelet {codelet}: {self.refused[codelet]}")
        if not rows:
            raise ConfigurationError(f"{where}: {unknown_name('codelet', codelet, self.codelets)}")
        where += f": codelet {codelet}"
        mine = [c for c in rows if c.processor == processor and c.implementation == implementation]
        if not mine:
            names = {_variant(c.processor, c.implementation) for c in rows}
            found = unknown_name("processor", _variant(processor, implementation), names)
            raise ConfigurationError(f"{where}: {found}")
        where += f" on {processor}"
        if footprint is not None:
            mine = _with_footprint(mine, footprint, where)
        if size_bytes is not None:
            mine = _with_size(mine, size_bytes, where)
        if len({(c.mean_us, c.dev_us, c.samples) for c in mine}) > 1:
            listed = ", ".join(f"{c.footprint} ({c.size_bytes} bytes)" for c in mine)
            raise ConfigurationError(
                f"{where}: found several costs, accepted a footprint: {listed}"
            )
        return mine[0]

    def rows(self) -> list[dict[str, Any]]:
        """Return the costs as rows of a table.

        Returns
        -------
        list of dict
            One per cost; keys are the columns, units in their names.
        """
        return [{"machine": self.machine, **vars(cost)} for cost in self.costs]


def _variant(processor: str, implementation: int) -> str:
    """Return processor and implementation as one word."""
    return f"{processor}_impl{implementation}" if implementation else processor


def _with_footprint(costs: list[TaskCost], footprint: str, where: str) -> list[TaskCost]:
    known = sorted({c.footprint for c in costs})
    if footprint not in known:
        close = difflib.get_close_matches(footprint, known, n=1, cutoff=0.0)[0]
        raise ConfigurationError(
            f"{where}: unknown footprint {footprint!r}; the nearest is {close!r}; "
            f"accepted: {', '.join(known)}"
        )
    return [c for c in costs if c.footprint == footprint]


def _with_size(costs: list[TaskCost], size_bytes: int, where: str) -> list[TaskCost]:
    found = [c for c in costs if c.size_bytes == size_bytes]
    if not found:
        sizes = sorted({c.size_bytes for c in costs})
        close = min(sizes, key=lambda size: abs(math.log(max(size, 1) / max(size_bytes, 1))))
        raise ConfigurationError(
            f"{where}: found no samples for {size_bytes} bytes; the nearest is {close}; "
            f"accepted: {', '.join(map(str, sizes))}"
        )
    return found


def read_codelet(path: Path, codelet: str) -> list[TaskCost]:
    """Return the costs in a timing file, none if it has no combination of processors.

    Parameters
    ----------
    path : Path
        The file.
    codelet : str
        Name for the costs.

    Returns
    -------
    list of TaskCost
        One per combination of processor, implementation and footprint, in the file's order.

    Raises
    ------
    ConfigurationError
        Another version or unit, a file that is cut off, no samples in a row, a value that is no
        number, or a second row for a combination; the message names file and line.
    """
    lines = Lines.read(path)
    version = lines.whole("the version of the performance model")
    if version != VERSION:
        raise lines.fail(f"found version {version} of the performance model, accepted {VERSION}")
    costs: dict[tuple[object, ...], TaskCost] = {}
    for _ in range(lines.whole("the number of combinations")):
        processor = _processor(lines)
        for implementation in range(lines.whole("the number of implementations")):
            for cost in _rows(lines, codelet, processor, implementation):
                key = (cost.processor, cost.implementation, cost.footprint)
                if key in costs:
                    first = costs[key].source.rpartition(":")[2]
                    raise lines.fail(
                        f"found footprint {cost.footprint} on {processor} a second time, "
                        f"the first is line {first}"
                    )
                costs[key] = cost
    return list(costs.values())


def _processor(lines: Lines) -> str:
    n_types = lines.whole("the number of device types")
    if n_types != 1:
        raise lines.fail(f"found {n_types} types of devices together, accepted 1")
    number = lines.whole("a device type")
    if number not in TYPES:
        accepted = ", ".join(f"{n} ({name})" for n, name in TYPES.items())
        raise lines.fail(f"found device type {number}, accepted {accepted}")
    device = lines.whole("a device id")
    cores = lines.whole("the number of cores")
    return f"{TYPES[number]}{device}" + (f"x{cores}" if cores > 1 else "")


def _rows(lines: Lines, codelet: str, processor: str, implementation: int) -> Iterator[TaskCost]:
    n_rows = lines.whole("the number of entries")
    lines.data("coefficients of a linear regression")
    lines.data("coefficients of a nonlinear regression")
    kind = lines.whole("0, the mark of a model without multiple regression")
    if kind != 0:
        raise lines.fail("found a model of multiple regression, accepted one by footprint (0)")
    header = lines.comment()
    if n_rows and header not in {COLUMNS.format(unit=unit) for unit in UNITS}:
        accepted = COLUMNS.format(unit=UNITS[0])
        raise lines.fail(f"found columns {header!r}, accepted {accepted!r}")
    for row in range(n_rows):
        fields = lines.data(f"entry {row + 1} of {n_rows}")
        if len(fields) != N_FIELDS:
            raise lines.fail(
                f"found {len(fields)} fields, accepted {N_FIELDS} (entry {row + 1} of {n_rows})"
            )
        mean = lines.number_in(fields[3], "mean", above=True)
        samples = lines.number_in(fields[7], "number of samples", least=1)
        size = lines.number_in(fields[1], "size")
        if not (samples.is_integer() and size.is_integer()):
            raise lines.fail(f"found size {fields[1]} and {fields[7]} samples, accepted integers")
        yield TaskCost(
            codelet=codelet,
            processor=processor,
            implementation=implementation,
            footprint=fields[0],
            size_bytes=int(size),
            flops=lines.number_in(fields[2], "flops"),
            mean_us=mean,
            dev_us=lines.number_in(fields[4], "deviation"),
            samples=int(samples),
            source=lines.where,
            sums_agree=_agree(lines, fields),
        )


def _agree(lines: Lines, fields: list[str]) -> bool:
    """Say whether mean and deviation of a row follow from its sums, which have seven digits."""
    mean, dev, total, squares, samples = (
        lines.number_in(text, "sums", least=-math.inf) for text in fields[3:]
    )
    average = total / samples
    spread = math.sqrt(max(0.0, squares / samples - average * average))  # infinite if too large
    # The difference of two numbers near mean**2, each exact to 1e-6, is exact to 2e-3 * mean.
    return math.isclose(average, mean, rel_tol=1e-4) and math.isclose(
        spread, dev, rel_tol=0.05, abs_tol=3e-3 * mean
    )
