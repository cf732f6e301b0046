"""What a policy sees: before the run and between iterations, and in fine hooks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from simsched.files.units import PS_PER_S
from simsched.machine.model import Machine
from simsched.machine.resources import Resources
from simsched.policy.contract.estimates import estimate_ops
from simsched.policy.contract.executions import Progress
from simsched.policy.contract.records import index_below
from simsched.workload.graph import TaskGraph, Workload

Int32Array = NDArray[np.int32]


class EngineState(Protocol):
    """What fine hooks may look at while a run is going on; both backends provide it."""

    def now_ps(self) -> int:
        """Return the simulated time."""

    def queue_length(self, group: int, instance: int) -> int:
        """Return the number of entries in a pool."""

    def load(self, resource: int) -> float:
        """Return what loads a resource, in bytes per ps; see `HookView.node_load`."""

    def running_task(self, worker: int) -> int:
        """Return the task whose segments the worker is executing, -1 when there is none."""

    def is_waiting(self, worker: int) -> bool:
        """Return whether the worker is parked."""

    def progress(self, worker: int) -> Progress | None:
        """Return how far the worker is with the task that it executes, None when it does not."""

    def has_failed(self, worker: int) -> bool:
        """Return whether the worker has failed for good."""

    def block_home(self, block: int) -> int:
        """Return the memory node of a block, -1 when it has none yet."""

    def holds(self, node: int, block: int) -> bool:
        """Return whether a block is valid on a memory node."""

    def expects(self, node: int, block: int) -> bool:
        """Return whether a block is valid on a memory node, wanted there or on its way."""

    def has_place(self, node: int, block: int) -> bool:
        """Return whether a memory node has room for a block, or a place from an earlier time.

        Where data are copied: it is valid there, or has been handed over to the node, or has kept
        its place on a device; elsewhere, whether it is there.
        """

    def driver_until_ps(self, node: int) -> int:
        """Return when the driver of a node will have prepared a copy, 0 when it prepares none."""

    def executed_ps(self, task: int) -> int:
        """Return how long a task has been executed, up to the last segment that is over or left.

        0 unless the plan times tasks.
        """


@dataclass(eq=False)
class Readings:
    """How often hooks have read a load."""

    number: int = 0


@dataclass(frozen=True, eq=False)
class PlanView:
    """What a policy may know before a run and between iterations.

    Parameters
    ----------
    machine : Machine
        Published description of the machine.
    workload : Workload
        Program with its sizes; costs are to be read through :meth:`estimated_ops`.
    worker_thread, worker_domain : ndarray of int32, shape (n_workers,)
        Hardware thread and domain of each worker.
    rng : numpy.random.Generator
        The policy's own random stream.
    information : {"exact", "class_mean", "user", "blind"}
        What the policy knows about durations.
    user_ops : mapping of str to float
        Operations by task class that the user has given, for the information mode ``user``.
    """

    machine: Machine
    workload: Workload
    worker_thread: Int32Array
    worker_domain: Int32Array
    rng: np.random.Generator
    information: str = "exact"
    user_ops: Mapping[str, float] = field(default_factory=dict)

    @property
    def n_workers(self) -> int:
        """Number of workers."""
        return len(self.worker_thread)

    @property
    def memory_kinds(self) -> tuple[str, ...]:
        """Kinds of memory nodes, in order of first appearance."""
        return tuple(dict.fromkeys(node.kind for node in self.machine.nodes))

    def estimated_ops(self, graph: TaskGraph) -> NDArray[np.float64]:
        """Return the operations of every task body as the policy knows them.

        Shape (n_kinds, n_tasks); see :func:`simsched.policy.contract.estimates.estimate_ops`.

        Parameters
        ----------
        graph : TaskGraph
            The initialisation or an iteration of the program.

        Returns
        -------
        ndarray of float64, shape (n_kinds, n_tasks)
            Operations by kind of processor; infinite where a kind cannot run the task.
        """
        return estimate_ops(graph, self.information, self.user_ops)

    def during(self, live: EngineState) -> HookView:
        """Return what fine hooks of a run see.

        Parameters
        ----------
        live : EngineState
            What they may look at while the run goes on.

        Returns
        -------
        HookView
            This view with it.
        """
        known = {f.name: getattr(self, f.name) for f in fields(self)}
        return HookView(**known, live=live)


@dataclass(frozen=True, eq=False, kw_only=True)
class HookView(PlanView):
    """What a policy may know in a fine hook.

    Parameters
    ----------
    live : EngineState
        What is going on.
    readings : Readings
        How often loads have been read.
    """

    live: EngineState
    readings: Readings = field(default_factory=Readings)

    def node_load(self, node: int) -> float:
        """Return the share of a memory node's bandwidth that is in use, as its counters show it.

        Of the node, a cache in front of it and a controller that it shares, the fullest counts. The
        share is that since flows began or ended last, of the `bandwidth` that the machine states,
        and can be above 1 where few flows get more. Each reading takes `counter_read` of the
        machine's costs, which the run counts as time of decisions: `policy_decision_s`.

        Parameters
        ----------
        node : int
            Number of the node.

        Returns
        -------
        float
            Bytes per second of all flows, as they load it, over the bandwidth.
        """
        return self._load(self._of_node, node, "node_load: node")

    def link_load(self, link: int) -> float:
        """Return the share of a link's bandwidth that is in use; see `node_load`.

        Parameters
        ----------
        link : int
            Number of the link in the machine's.

        Returns
        -------
        float
            Bytes per second of all flows and messages on the link, over its bandwidth.
        """
        return self._load(self._of_link, link, "link_load: link")

    @cached_property
    def _of_node(self) -> list[list[tuple[int, float]]]:
        resources = Resources(self.machine)
        return [[(i, resources.bytes_per_s[i]) for i in of] for of in resources.of_node]

    @cached_property
    def _of_link(self) -> list[list[tuple[int, float]]]:
        resources = Resources(self.machine)
        first, n_links = resources.first_link, len(self.machine.links)
        return [[(i, resources.bytes_per_s[i])] for i in range(first, first + n_links)]

    def _load(self, of: list[list[tuple[int, float]]], thing: int, query: str) -> float:
        """Return the load of the fullest of the resources, with bytes per second, of a thing."""
        if type(thing) is not int or not 0 <= thing < len(of):  # as in hardly any call
            thing = index_below(len(of), thing, query)
        self.readings.number += 1
        used, load = 0.0, self.live.load
        for resource, bytes_per_s in of[thing]:
            share = load(resource) * PS_PER_S / bytes_per_s
            if share > used:
                used = share
        return used
