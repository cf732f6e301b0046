"""How the task runtime schedules, and which simulated policies schedule like that."""

from __future__ import annotations

from dataclasses import dataclass, fields

from simsched.files.errors import ConfigurationError, unknown_name
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing
from simsched.policy.algorithms.work_stealing.work_sharing import WorkSharing
from simsched.policy.contract.base import Policy

#: Accepted values of each field of a mode; the runtime numbers them in this order.
CHOICES: dict[str, tuple[str, ...]] = {
    "order": ("child_first", "parent_first"),
    "pools": ("deques", "central"),
    "placement": ("first_touch", "interleave", "bind"),
    "own_take": ("newest", "oldest"),
}


@dataclass(frozen=True)
class Mode:
    """A way to schedule on hardware."""

    #: Whether a worker that spawns a child runs it at once and leaves the rest of the task to
    #: thieves, or puts the child into its pool and goes on.
    order: str = "child_first"
    #: A lock-free deque per worker, with victims drawn uniformly, or one locked queue, first in,
    #: first out.
    pools: str = "deques"
    #: Where blocks of data lie: where they are first touched, on all nodes in turn, or in equal
    #: consecutive parts on the nodes. Without effect on hosts with one node.
    placement: str = "first_touch"
    #: Which task of its own deque a worker takes; thieves take the oldest.
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


#: Placements of the simulator that the runtime has, by their name there.
_PLACEMENTS = {"first_touch": "first_touch", "interleave": "interleave", "even": "bind"}


def mode_of(policy: Policy) -> Mode:
    """Return the mode in which the runtime schedules as a simulated policy does, if it can."""
    if isinstance(policy, RandomStealing):
        _require(policy, "steal_take", "oldest")
        _require(policy, "roots", "round_robin")
        placement = _placement(policy, policy.placement)
        return Mode(order=policy.spawn, placement=placement, own_take=policy.local_take)
    if isinstance(policy, WorkSharing):
        _require(policy, "take", "oldest")
        placement = _placement(policy, policy.placement)
        return Mode(order="parent_first", pools="central", placement=placement)
    raise ConfigurationError(
        f"policy {policy.name}: the task runtime cannot schedule like that; "
        "accepted: random_stealing, work_sharing and their presets"
    )


def _require(policy: Policy, name: str, accepted: str) -> None:
    """Raise unless a parameter of a policy has the value that the runtime implements."""
    found = getattr(policy, name)
    if found != accepted:
        raise ConfigurationError(
            f"policy {policy.name}: parameter {name}: found {found!r}, "
            f"accepted on hardware: {accepted!r}"
        )


def _placement(policy: Policy, name: str) -> str:
    """Return the runtime's name of a placement."""
    if name not in _PLACEMENTS:
        where = f"policy {policy.name} on hardware"
        raise ConfigurationError(f"{where}: {unknown_name('placement', name, _PLACEMENTS)}")
    return _PLACEMENTS[name]
