"""The simplest policies that runs with known answers need."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.policy.contract.base import (
    AcquireStep,
    HookView,
    Placement,
    Plan,
    PlanView,
    Policy,
    Pool,
    PoolGroup,
    param,
)
from simsched.policy.contract.compiled import Compiled, compiled, get_include
from simsched.policy.contract.registry import make_policy
from simsched.workload.bench import CONTROLLERS
from simsched.workload.graph import TaskGraph

GUIDE = Path(__file__).resolve().parents[1] / "docs" / "adding-a-policy.md"
HOOKS = Path(__file__).with_name("hooks.c")

_SHARED = (AcquireStep("worker"), AcquireStep("all", "own", "oldest"))
_POOLS = (PoolGroup("worker"), PoolGroup("all", "machine"))


@dataclass(frozen=True, kw_only=True)
class CentralQueue(Policy):
    """One FIFO for everybody, without a lock: greedy list scheduling.

    Parameters
    ----------
    home : int
        Memory node of all blocks; -1 for first touch.
    spawn : {0, 1}
        Child first or parent first.
    """

    home: int = param(-1, low=-1)
    spawn: int = param(1, low=0, high=1)

    def place(self, view: PlanView, state: Any) -> Placement:
        """Return all blocks on one node."""
        home = np.full(view.workload.graph.n_blocks, self.home, np.int32)
        return Placement(home, view.machine.touch_order)

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        """Return a plan in which every task enters the queue of the machine."""
        return Plan(
            acquire=_SHARED,
            pool_groups=_POOLS,
            group_of=np.ones(graph.n_tasks, np.int8),
            spawn_order=self.spawn,
        )


@dataclass(frozen=True, kw_only=True)
class FirstTasksFixed(Policy):
    """Task i < P goes to the worker that the benchmark calls i, the others to whoever is free.

    The benchmark's worker i uses controller i mod 8; here workers are numbered domain by domain.
    """

    def place(self, view: PlanView, state: Any) -> Placement:
        """Return the homes that were drawn with the flows."""
        home = np.asarray(view.workload.parameters["home"], np.int32)
        return Placement(home, view.machine.touch_order)

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        """Return a plan with the first tasks in the pools of their workers."""
        n, workers = graph.n_tasks, view.n_workers
        instance = np.full(n, -1, np.int32)
        i = np.arange(min(workers, n))
        instance[i] = (i % CONTROLLERS) * (workers // CONTROLLERS) + i // CONTROLLERS
        group = np.ones(n, np.int8)
        group[i] = 0
        return Plan(acquire=_SHARED, pool_groups=_POOLS, group_of=group, instance_of=instance)


@dataclass
class HookCalls:
    """How often the hooks of a run were called."""

    ready: int = 0
    finish: int = 0


@dataclass(frozen=True, kw_only=True)
class HookedQueue(CentralQueue):
    """A central queue in which Python decides on every task and observes every end."""

    def start(self, view: PlanView) -> HookCalls:
        """Return counters of calls."""
        return HookCalls()

    def on_ready(self, view: HookView, state: Any, task: int, worker: int) -> Pool | None:
        """Return the machine's queue."""
        state.ready += 1
        return Pool(1, 0)

    def on_finish(self, view: HookView, state: Any, task: int, worker: int) -> None:
        """Count the end."""
        state.finish += 1


@dataclass(frozen=True, kw_only=True)
class CompiledQueue(CentralQueue):
    """The same, decided and observed by functions in C."""

    def start(self, view: PlanView) -> NDArray[np.int64]:
        """Return counters of calls."""
        return np.zeros(2, np.int64)

    @compiled
    def on_ready(self, view: PlanView, state: Any) -> Compiled:
        """Return what returns the machine's queue."""
        return Compiled(_library().on_ready, state)

    @compiled
    def on_finish(self, view: PlanView, state: Any) -> Compiled:
        """Return what counts the end."""
        return Compiled(_library().on_finish, state)


@cache
def _library() -> ctypes.CDLL:
    """Return the compiled hooks."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "hooks.so"
        compiler = os.environ.get("CC", "cc").split()[0]
        flags = ("-O2", "-shared", "-fPIC", f"-I{get_include()}")
        subprocess.run([compiler, *flags, str(HOOKS), "-o", str(made)], check=True)
        return ctypes.CDLL(str(made))


def policy_of_the_guide(name: str) -> Policy:
    """Return the policy of a file that the guide to policies shows."""
    pattern = rf"<!-- example: file, {name}\.py -->\n```python\n(.*?)```"
    found = re.search(pattern, GUIDE.read_text("utf-8"), re.DOTALL)
    assert found, f"{GUIDE.name} shows no {name}.py"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{name}.py"
        file.write_text(found[1], "utf-8")
        return make_policy(str(file))
