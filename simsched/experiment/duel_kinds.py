"""Kinds of programs on which two policies meet, each with the machines that it is for.

Another kind is one more entry of `KINDS`: where its random programs come from, and which values its
machines may have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from simsched.experiment.duel_choices import Choices
from simsched.experiment.duel_generated import GeneratedDraws
from simsched.experiment.duel_machines import CHOICES, Rig, changed_rig, random_rig
from simsched.experiment.duel_programs import Draws
from simsched.machine.model import Machine
from simsched.workload.graph import Workload

MIB = 2**20


class Program(Protocol):
    """A program of any kind."""

    def workload(self, name: str, kinds: Sequence[str]) -> Workload:
        """Return the program itself, for some kinds of processors; it is not validated."""

    def simpler(self) -> Iterator[Program]:
        """Yield programs that lack something or have a simpler value, the simplest ones first."""

    def write(self, directory: Path, kinds: Sequence[str]) -> dict[str, Any]:
        """Write the file that it needs, if any; return what an experiment says of it."""


class Source(Protocol):
    """Random programs of a kind."""

    def program(self) -> Any:
        """Return a random program."""

    def changed(self, program: Any) -> Any:
        """Return a program that differs in something from one of the same source."""


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of programs, and machines for them."""

    #: In words.
    name: str
    #: Takes a generator of random numbers.
    source: Callable[[np.random.Generator], Source]
    machines: Choices
    #: A run in which no task ends for so long, in simulated seconds, is given up.
    progress_limit_s: float = 10.0


@dataclass(frozen=True)
class Candidate:
    """A program on a machine."""

    kind: Kind
    program: Program
    rig: Rig

    def simpler(self) -> Iterator[Candidate]:
        """Yield candidates that lack something or have a simpler value."""
        for rig in self.rig.simpler(self.kind.machines):
            yield replace(self, rig=rig)
        for program in self.program.simpler():
            yield replace(self, program=program)

    def things(self) -> tuple[Machine, Workload]:
        """Return machine and program themselves; the program is not validated."""
        return self.rig.machine("machine"), self.program.workload("program", self.rig.kinds)


class CandidateDraws:
    """Random candidates of a kind, and random changes of them."""

    def __init__(self, kind: Kind, rng: np.random.Generator) -> None:
        self._kind, self._rng = kind, rng
        self._source = kind.source(rng)

    def candidate(self) -> Candidate:
        """Return a random candidate."""
        program = self._source.program()
        return Candidate(self._kind, program, random_rig(self._rng, self._kind.machines))

    def changed(self, candidate: Candidate) -> Candidate:
        """Return a neighbour: one to three changes of program or machine."""
        for _ in range(1 + int(self._rng.integers(3))):
            if self._rng.integers(2):
                candidate = replace(candidate, program=self._source.changed(candidate.program))
            else:
                rig = changed_rig(self._rng, candidate.rig, self._kind.machines)
                candidate = replace(candidate, rig=rig)
        return candidate


def generated(generators: Mapping[str, Choices]) -> Callable[[np.random.Generator], Source]:
    """Return the source of programs of some generators."""
    return partial(GeneratedDraws, generators)


# ------------------------------------------------------------------------------------------------

#: Of tasks of MapReduce jobs, which take from seconds to minutes: trackers wait a minute before
#: they judge a task.
_OF_JOBS: Choices = {
    "split_bytes": (16 * MIB, MIB, 4 * MIB),
    "task_noise": (0.0, 0.1, 1.0),
    "skew": (0.0, 0.1, 1.0),
    "slowstart": (1.0, 0.05, 0.5),
    "iterations": (1, 2, 4),
    "seed": (0, 1, 2, 3),
}
MAPREDUCE: Mapping[str, Choices] = {
    "sort_mapreduce": {
        "splits": (4, 1, 2, 8, 12, 16, 24),
        "reduces": (1, 2, 4),
        "map_output_ratio": (1.0, 0.1, 0.0),
        "output_ratio": (1.0, 0.1),
        "map_ops_per_byte": (4000.0, 400.0, 40000.0),
        "reduce_ops_per_byte": (2000.0, 200.0, 20000.0),
        **_OF_JOBS,
    },
    "mapreduce_mix": {
        "jobs": (2, 1, 3, 4),
        "users": (1, 2, 3),
        "mean_interarrival_s": (0.0, 10.0, 100.0),
        "small_splits": (4, 1, 2, 6),
        "large_splits": (8, 12, 16),
        "large_share": (0.0, 0.25, 0.5),
        "splits_per_reduce": (4, 1, 2, 8),
        **_OF_JOBS,
    },
}
#: A domain is a node, its cores are its slots, its memory is its disk.
CLUSTERS: Choices = {
    "domains": (1, 2, 4, 6, 8),
    "cores": (1, 2, 3, 4),
    "slow_domains": (0, 1, 2),
    "slow_speed": (0.5, 0.25, 0.1),
    "dram_gb_per_s": (100, 0.1, 0.01, 0.003),
    "core_gb_per_s": (20, 0.1, 0.01),
    "remote_share": (1.0, 0.5, 0.1),
    "fabric_gb_per_s": (200, 0.1, 0.01),
    "queue_us": (0, 1000, 500_000),
    "probe_us": (100_000,),  # who has nothing to do asks ten times a second
}

#: At least one device; otherwise as task graphs have them.
HETEROGENEOUS: Choices = {**CHOICES, "devices": (1, 2)}
DIVISIBLE: Mapping[str, Choices] = {
    "divisible": {
        "units": (1000, 10, 100, 10_000, 100_000),
        "chunks": (4, 1, 2, 8, 16, 30),
        "cpu_ops": (1e5, 1e3, 1e4, 1e6),
        "gpu_ops": (1e5, 1e3, 1e4, 1e6),
        "saturation": ("smooth", "hard"),
        "saturation_units": (0.0, 10.0, 100.0, 1000.0),
        "input_bytes": (0, 16, 1024, 65_536),
        "output_bytes": (0, 16, 1024, 65_536),
        "iterations": (1, 2, 4, 10),
    },
}
MATRICES: Mapping[str, Choices] = {
    "spmv": {
        "matrix": ("band", "rmat"),
        "scale": (10, 4, 6, 8, 12),
        "edge_factor": (16, 1, 4, 64),
        "chunks": (4, 1, 2, 8, 16, 30),
        "cpu_ops": (10.0, 1.0, 100.0, 1000.0),
        "gpu_ops": (10.0, 1.0, 100.0, 1000.0),
        "saturation_rows": (0.0, 32.0, 256.0, 2048.0),
        "nonzero_bytes": (8, 64, 1024),
        "seed": (0, 1, 2, 3),
    },
}

SHARED: Mapping[str, Choices] = {
    "accelerator_mix": {
        "critical": ("", "pos", "ner", "imc", "asr", "dig", "pos pos", "pos pos pos", "pos ner"),
        "batch": (
            *("md", "", "cfd", "hw", "hsort", "hs", "nw", "pf"),
            *("md hw", "md hs", "hs nw", "hs nw pf"),
        ),
        "instances": (1, 2, 3, 5),
        "run_ahead": (1, 2, 4),
        "queries": (1, 2, 3),
        "batch_s": (0.01, 0.1, 0.3, 1.0),
        "load": (0.0, 0.5, 2.0, 100.0),
        "gap_s": (0.0, 1e-6, 1e-4, 1e-2),
        "target_s": (0.15, 0.001, 0.01, 1.0),
        "chunk_bytes": (256 * MIB, 16 * MIB, 4 * MIB),
        "deviation": (0.0, 1.0),
        "reading": tuple(range(8)),
        "seed": (0, 1, 2, 3),
    },
}
#: A device with queues and copy engines; an operation of a kernel is a nanosecond. On a device and
#: a link far faster than those that were measured, what decisions and queues cost counts.
SERVERS: Choices = {
    "cores": (1, 2, 4),
    "devices": (1,),
    "device_speed": (1, 10, 100, 1000),
    "device_queues": (16, 1, 2, 4),
    "core_gb_per_s": (20, 5, 1000),
    "pcie_gb_per_s": (10, 1, 100, 1000),
    "queue_us": (0, 1, 10, 100, 1000),
}

#: The first that fits both policies counts.
KINDS = (
    Kind("task graphs", Draws, CHOICES),
    Kind("MapReduce jobs", generated(MAPREDUCE), CLUSTERS, 1e5),
    Kind("divisible work", generated(DIVISIBLE), HETEROGENEOUS),
    Kind("rows of matrices", generated(MATRICES), HETEROGENEOUS),
    Kind("applications that share a device", generated(SHARED), SERVERS),
)
