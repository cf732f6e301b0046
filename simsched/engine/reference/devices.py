"""Room on devices; docs/semantics.md, rules D."""

from __future__ import annotations

from collections import deque

from simsched.engine.interface.plan import ResolvedPlan
from simsched.policy.contract.base import TAKES
from simsched.workload.graph import TaskGraph

NEWEST = TAKES.index("newest")
Place = tuple[int, int]  #: device, instance


class Devices:
    """What occupies the devices of one iteration's plan."""

    def __init__(
        self, plan: ResolvedPlan, graph: TaskGraph, content: list[list[deque[int]]]
    ) -> None:
        """Start with free devices; `content` holds the pools by group and instance."""
        self.plan, self._graph, self._content = plan, graph, content
        self._used: dict[Place, int] = {}
        self._held: dict[int, Place] = {}

    def device_of(self, group: int) -> int | None:
        """Return the device that tasks from a group occupy."""
        device = int(self.plan.group_device[group])
        return None if device < 0 else device

    def admits(self, step: int, instance: int) -> bool:
        """Return whether what a step finds has room and no earlier step waits for room."""
        device = self.device_of(int(self.plan.order.step_group[step]))
        if device is None:
            return True
        return all(
            self._fits(s, device, instance) for s in self._filled_steps(device, instance, step)
        )

    def occupy(self, task: int, group: int, instance: int) -> None:
        """Let a task that is taken from a pool take up its share."""
        device = self.device_of(group)
        if device is None or task in self._held:
            return
        place = self._held[task] = device, instance
        self._used[place] = self._used.get(place, 0) + self._occupancy(task)

    def vacate(self, task: int) -> Place | None:
        """Let a task give its share back; return where that was."""
        place = self._held.pop(task, None)
        if place is not None:
            self._used[place] -= self._occupancy(task)
        return place

    def offered(self, place: Place) -> tuple[int, int] | None:
        """Return the pool (group, instance) whose next entry has room on a device now."""
        device, instance = place
        last = len(self.plan.order.step_group) - 1
        step = next(iter(self._filled_steps(device, instance, last)), None)
        if step is None or not self._fits(step, device, instance):
            return None
        return int(self.plan.order.step_group[step]), instance

    def _filled_steps(self, device: int, instance: int, last: int) -> list[int]:
        """Return the steps up to a last one that lead to a device and find something."""
        groups = self.plan.order.step_group.tolist()
        return [
            step
            for step in range(last + 1)
            if self.device_of(groups[step]) == device
            and len(self._content[groups[step]][instance]) >= int(self.plan.order.step_least[step])
        ]

    def _fits(self, step: int, device: int, instance: int) -> bool:
        """Return whether the entry that a step would take has room."""
        pool = self._content[int(self.plan.order.step_group[step])][instance]
        task = pool[-1] if int(self.plan.order.step_take[step]) == NEWEST else pool[0]
        if task in self._held:
            return True
        used = self._used.get((device, instance), 0)
        return used + self._occupancy(task) <= int(self.plan.device_capacity[device])

    def _occupancy(self, task: int) -> int:
        """Return the share that a task takes up."""
        return 1 if self._graph.occupancy is None else int(self._graph.occupancy[task])
