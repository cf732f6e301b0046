"""How the task runtime schedules, and which simulated policies schedule like that."""

from __future__ import annotations

from dataclasses import dataclass, fields

from simsched.errors import ConfigurationError, unknown_name

#: Accepted values of each field of a mode; the runtime numbers them in this order.
CHOICES: dict[str, tuple[str, ...]] = {
    "order": ("child_first", "parent_first"),
    "pools": ("deques", "central"),
    "victims": ("random", "nearest"),
    "placement": ("first_touch", "interleave", "bind"),
    "own_take": ("newest", "oldest"),
}


@dataclass(frozen=True)
class Mode:
    """A way to schedule on hardware.

    Parameters
    ----------
    order : {"child_first", "parent_first"}
        Whether a worker that spawns a child runs it at once and leaves the rest of the task to
        thieves, or puts the child into its pool and goes on.
    pools : {"deques", "central"}
        A lock-free deque per worker, or one locked queue, first in, first out.
    victims : {"random", "nearest"}
        Whether thieves draw victims uniformly, or visit those first that share most of the caches
        with them.
    placement : {"first_touch", "interleave", "bind"}
        Where blocks of data lie: where they are first touched, on all nodes in turn, or in equal
        consecutive parts on the nodes. Without effect on hosts with one node.
    own_take : {"newest", "oldest"}
        Which task of its own deque a worker takes; thieves take the oldest.
    """

    order: str = "child_first"
    pools: str = "deques"
    victims: str = "random"
    placement: str = "first_touch"
    own_take: str = "newest"

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if value not in CHOICES[each.name]:
                where = f"mode: {each.name}"
                raise ConfigurationError(
                    f"{where}: {unknown_name('value', value, CHOICES[each.name])}"
                )

    def number(self, name: str) -> int:
        """Return the value of a field as the runtime numbers it."""
        return CHOICES[name].index(getattr(self, name))
