"""Programs that share an accelerator: latency-critical services and batch jobs.

The source (Book of docs/sources, sections 8.3, 8.6, 8.7.5 and 8.10) gives neither durations nor
numbers of kernels. What it leaves open is spread evenly over a range (a Latin hypercube: every
program gets another part of each range) in an order drawn from a seed, so that another seed is
another reading; docs/sources/accelerators.md has the ranges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import ConfigurationError, unknown_name

FloatArray = NDArray[np.float64]

CRITICAL = ("asr", "gmm", "stem", "dig", "face", "imc", "ner", "pos")
COMPUTE = ("hw", "md", "cfd", "hsort")
COPYING = ("hs", "nw", "pf")
BATCH = COMPUTE + COPYING
PINNED = ("nw", "pf")
LARGE = ("hsort", "hw")

PAGEABLE_BYTES_PER_S = 3150e6  #: one copy from pageable memory
PINNED_BYTES_PER_S = 11883e6  #: one copy from pinned memory
FULL = 1000  #: occupancy of the whole device

#: Mean relative deviation of measured from predicted durations, by kind of task.
DEVIATION = {"copy": 0.032, "library": 0.062, "critical": 0.058, "batch": 0.072}


@dataclass(frozen=True)
class Program:
    """One program."""

    name: str
    #: Kernels of a query, or of a step of a batch job.
    kernels: int
    #: Mean duration of a kernel that has the device to itself, in seconds.
    kernel_s: float
    #: Share of the device that a kernel takes up, in thousandths.
    occupancy: int
    #: Copies before and after the kernels.
    copy_in_bytes: int
    copy_out_bytes: int

    @property
    def is_critical(self) -> bool:
        """Whether it is a latency-critical service."""
        return self.name in CRITICAL

    @property
    def is_pinned(self) -> bool:
        """Whether its buffers are pinned memory."""
        return self.name in PINNED

    @property
    def copy_bytes_per_s(self) -> float:
        """Rate of one of its copies that has the link to itself."""
        return PINNED_BYTES_PER_S if self.is_pinned else PAGEABLE_BYTES_PER_S

    @property
    def step_s(self) -> float:
        """Duration of a query or step that has the device to itself, without host code."""
        copied = self.copy_in_bytes + self.copy_out_bytes
        return self.kernels * self.kernel_s + copied / self.copy_bytes_per_s


@cache
def programs(seed: int = 0) -> dict[str, Program]:
    """Return all programs by name, for one reading of what the source leaves open."""
    rng = np.random.default_rng([seed, 83])
    made: dict[str, Program] = {}
    n = len(CRITICAL)
    total_s = _spread(rng, 20e-3, 60e-3, n)
    kernels = np.rint(_spread(rng, 5, 100, n, logarithmic=True)).astype(int)
    occupancy = np.rint(_spread(rng, 300, 800, n)).astype(int)
    copy_s = _spread(rng, 1e-3, 9e-3, n)
    for i, name in enumerate(CRITICAL):
        seconds = {"stem": 15e-3, "face": 0.05 * total_s[i], "imc": 0.05 * total_s[i]}.get(
            name, copy_s[i]
        )
        copied = round(seconds * PAGEABLE_BYTES_PER_S)
        made[name] = Program(
            name, int(kernels[i]), total_s[i] / kernels[i], int(occupancy[i]), copied, copied // 10
        )
    n = len(BATCH)
    kernel_s = _spread(rng, 1e-3, 50e-3, n, logarithmic=True)
    occupancy = np.rint(_spread(rng, 300, 800, n)).astype(int)
    copied = np.rint(_spread(rng, 64e6, 256e6, len(COPYING), logarithmic=True)).astype(int)
    for i, name in enumerate(BATCH):
        copies = int(copied[COPYING.index(name)]) if name in COPYING else 1_000_000
        share = FULL if name in LARGE else int(occupancy[i])
        made[name] = Program(
            name, 1 if name in COPYING else 8, float(kernel_s[i]), share, copies, copies // 2
        )
    return made


def find_programs(text: str, accepted: Sequence[str], seed: int) -> list[Program]:
    """Return the programs that a text names, with blanks between the names."""
    known = programs(seed)
    for name in text.split():
        if name not in accepted:
            raise ConfigurationError(unknown_name("program", name, accepted))
    return [known[name] for name in text.split()]


def divergent_duration_s(mean_s: float, size: FloatArray) -> FloatArray:
    """Return durations of divergent kernels by their relative size from 0 to 1.

    Threads of a warp wait for its longest path, so the duration is no line through the sizes: it
    rises with the size, and on top of that goes up and down with how evenly rows fill warps.
    """
    shape = 0.5 + 0.5 * size + 0.5 * np.sin(6.0 * np.pi * size)
    return mean_s * shape / 0.75


def with_deviation(rng: np.random.Generator, seconds: FloatArray, kind: str) -> FloatArray:
    """Return durations as measured: normal deviations with the mean size of `DEVIATION`."""
    deviation = DEVIATION[kind] * np.sqrt(np.pi / 2.0)
    factor: FloatArray = np.maximum(0.05, 1.0 + deviation * rng.standard_normal(len(seconds)))
    return seconds * factor


@dataclass(frozen=True, eq=False)
class Profile:
    """Measured invocations of one class of tasks, as an offline profiler collects them."""

    #: Size; 1 for copies out of the device; 1 for copies of pinned memory; shape (n_samples, 3).
    features: FloatArray
    seconds: FloatArray


def profile(task_class: str, reading: int = 0) -> Profile | None:
    """Return a profile of a task class of `accelerator_mix`; None for host code.

    180 library calls, 200 samples of each kernel of a service, 1000 invocations of each kernel of a
    batch job, 500 copies of each kind, with other inputs than those of the workload.
    """
    known = programs(reading)
    rng = np.random.default_rng([0, *task_class.encode()])
    name = task_class.partition(".")[0]
    out, pinned = float(task_class.startswith("copy_out")), float(task_class.endswith("_pinned"))
    if task_class.startswith("copy_"):
        size = np.exp(rng.uniform(np.log(2.0**16), np.log(2.0**28), 500))
        rate = PINNED_BYTES_PER_S if pinned else PAGEABLE_BYTES_PER_S
        seconds = with_deviation(rng, size / rate, "copy")
    elif task_class == "library":
        means = [known[service].kernel_s for service in CRITICAL]
        size = np.exp(rng.uniform(np.log(0.4 * min(means)), np.log(1.8 * max(means)), 180))
        seconds = with_deviation(rng, size, "library")
    elif name in CRITICAL:
        size = known[name].kernel_s * rng.uniform(0.4, 1.8, 200)
        seconds = with_deviation(rng, size, "critical")
    elif name in BATCH:
        size = rng.uniform(0.0, 1.0, 1000)
        seconds = with_deviation(rng, divergent_duration_s(known[name].kernel_s, size), "batch")
    else:
        return None
    sides = np.broadcast_to([out, pinned], (len(size), 2))
    return Profile(np.column_stack([size, sides]), seconds)


def _spread(
    rng: np.random.Generator, low: float, high: float, n: int, *, logarithmic: bool = False
) -> FloatArray:
    """Return n values, each from another of n equal parts of a range, in random order."""
    part = (rng.permutation(n) + 0.5) / n
    values: FloatArray = low * (high / low) ** part if logarithmic else low + (high - low) * part
    return values
