"""Cells: the single runs that a study consists of, with their keys."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

import simsched
from simsched.engine.stall import PROGRESS_LIMIT_S
from simsched.experiment.fingerprint import code_digest, content_key
from simsched.experiment.inputs import GivenWorkload, WorkloadSource
from simsched.machine.model import Machine
from simsched.policy import Policy

#: Columns of rows that say how a run was, not what it simulated.
MEASURED = ("wall_s", "peak_rss_bytes", "simulated_per_wall_s")
JOINT = "; "  #: between the reasons in the column `misfits`


@dataclass(frozen=True)
class Cell:
    """One run."""

    #: Labels.
    machine: str
    workload: str
    policy: str
    #: Value of every swept key.
    sweep: dict[str, Any]
    seed: int
    backend: str
    machine_model: Machine = field(repr=False)
    workload_source: WorkloadSource | GivenWorkload = field(repr=False)
    policy_model: Policy = field(repr=False)
    #: None for one per hardware thread.
    workers: int | None = None
    #: Where fewer workers go.
    pinning: str = "scatter"
    #: Hash of the policy's class and parameters.
    policy_content: str = ""
    #: When a run in which no task ends is given up; changes no result that there is.
    progress_limit_s: float = PROGRESS_LIMIT_S
    #: Hash of everything that determines the result.
    key: str = ""

    def with_key(self, machine_content: str) -> Cell:
        """Return the cell with its key, given the hash of its machine."""
        parts = {
            "code": code_digest(),
            "machine": machine_content,
            "workers": self.workers,
            "pinning": self.pinning,
            "backend": self.backend,
            "workload": self.workload_source.content,
            "policy": self.policy_content,
            "seed": self.seed,
        }
        return replace(self, key=content_key(parts))

    @property
    def label(self) -> str:
        """What progress and messages call the cell."""
        return f"{self.label_of_seeds} seed {self.seed}"

    @property
    def label_of_seeds(self) -> str:
        """What cells that differ in nothing but their seed are called."""
        swept = "".join(f" {key}={value}" for key, value in self.sweep.items())
        return f"{self.machine} {self.workload} {self.policy}{swept}"

    def identity(self) -> dict[str, Any]:
        """Return the columns that say which run a row describes."""
        return {
            "machine": self.machine,
            "workload": self.workload,
            "policy": self.policy,
            "backend": self.backend,
            "seed": self.seed,
            **{f"sweep.{key}": value for key, value in self.sweep.items()},
            "information": self.policy_model.information,
            "policy_parameters": json.dumps(self.policy_model.parameters(), default=str),
            "key": self.key,
            "version": simsched.__version__,
        }
