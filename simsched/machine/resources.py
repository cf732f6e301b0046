"""What flows load, numbered as engines do: nodes, caches in front of them, links, controllers."""

from __future__ import annotations

from simsched.machine.model import Machine


class Resources:
    """The resources of a machine by number.

    Parameters
    ----------
    machine : Machine
        Whose they are.
    """

    def __init__(self, machine: Machine) -> None:
        caches = [n.memory_side_cache for n in machine.nodes if n.memory_side_cache is not None]
        #: Number of the first link.
        self.first_link = len(machine.nodes) + len(caches)
        #: Stated bandwidth of each.
        self.bytes_per_s: tuple[float, ...] = (
            *(node.bandwidth_bytes_per_s for node in machine.nodes),
            *(cache.bandwidth_bytes_per_s for cache in caches),
            *(link.bandwidth_bytes_per_s for link in machine.links),
            *(controller.bandwidth_bytes_per_s for controller in machine.controllers),
        )
        #: For each node its number, that of a cache in front of it, and of its controller.
        self.of_node: list[list[int]] = []
        n_caches = 0
        for number, node in enumerate(machine.nodes):
            self.of_node.append([number])
            if node.memory_side_cache is not None:
                self.of_node[-1].append(len(machine.nodes) + n_caches)
                n_caches += 1
            if node.controller is not None:
                first = self.first_link + len(machine.links)
                self.of_node[-1].append(first + node.controller)
