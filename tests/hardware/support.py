"""Programs from random workloads, and the modes in which they are run."""

from __future__ import annotations

import itertools
import sys
from dataclasses import replace

import numpy as np
import pytest

from simsched.hardware.mode import CHOICES, Mode
from simsched.hardware.program import Program
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing
from simsched.policy.algorithms.work_stealing.work_sharing import WorkSharing
from simsched.policy.contract.base import Policy
from simsched.workload.graph import TaskGraph, Workload
from tests.engine.instances import random_workload

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="the task runtime needs Linux")

MODES = [
    Mode(order=order, pools=pools, own_take=own_take)
    for order, pools, own_take in itertools.product(
        CHOICES["order"], CHOICES["pools"], CHOICES["own_take"]
    )
    if pools == "deques" or own_take == "newest"
]


def mode_name(mode: Mode) -> str:
    parts = [mode.order, mode.pools]
    return "-".join(parts if mode.pools == "central" else [*parts, mode.own_take])


def policy_of(mode: Mode) -> Policy:
    """Return the simulated policy that schedules as a mode does; there is none for all of them."""
    placement = {"bind": "even"}.get(mode.placement, mode.placement)
    if mode.pools == "central":
        return WorkSharing(placement=placement)
    return RandomStealing(spawn=mode.order, local_take=mode.own_take, placement=placement)


def program_of(workload: Workload, *, task_class: str = "empty", arg: int = 0) -> Program:
    """Return a program that executes a workload with tasks of `spin`; blocks lie in one array."""

    def named(graph: TaskGraph) -> TaskGraph:
        # The runtime joins every child.
        return replace(
            graph,
            task_class=np.zeros(graph.n_tasks, np.int32),
            class_names=(task_class,),
            arrival_ps=np.zeros(graph.n_tasks, np.int64),
            detached=None,
        )

    init = None if workload.init is None else named(workload.init)
    workload = replace(workload, graph=named(workload.graph), init=init)
    size = workload.graph.block_bytes
    n_init = 0 if init is None else init.n_tasks
    return Program(
        name="spin",
        workload=workload,
        args=np.full((workload.graph.n_tasks, 1), arg, np.int64),
        init_args=np.full((n_init, 1), arg, np.int64),
        arrays=(np.zeros(max(1, int(size.sum())), np.uint8),),
        blocks=(len(size),),
        check=lambda: 0.0,
    )


def random_program(seed: int, *, arg: int = 0) -> Program:
    return program_of(random_workload(seed), task_class="spin", arg=arg)
