"""Placements by name: which rule says on which memory node each block lives.

A placement in a file of the user is named by its path, ``my_placement.py`` or
``my_placement.py:NAME``; policies of the same file also know it by its name.
"""

from __future__ import annotations

from collections.abc import Callable

from simsched.names.registry import Entry, Registry
from simsched.names.user_code import is_file_spec
from simsched.policy.contract.base import Placement, PlanView, Policy

PlacementRule = Callable[[PlanView], Placement]

placements: Registry[Entry[PlacementRule]] = Registry(
    "placement", "simsched.policy.parts.placement"
)


def placement(name: str) -> Callable[[PlacementRule], PlacementRule]:
    """Return a decorator that registers a placement under a name.

    Parameters
    ----------
    name : str
        Under which policies find it.

    Returns
    -------
    callable
        Takes the rule and returns it.

    Raises
    ------
    ValueError
        When the name is taken.
    """

    def decorate(rule: PlacementRule) -> PlacementRule:
        placements.add(Entry(name, rule))
        return rule

    return decorate


def placement_rule(name: str, policy: type[Policy] = Policy) -> PlacementRule:
    """Return a placement by name.

    Parameters
    ----------
    name : str
        Of a registered placement, or a file ``path.py`` or ``path.py:NAME``.
    policy : type, optional
        Class of a policy; placements of the file that defines it are found, too, and those of the
        modules that it imports.

    Returns
    -------
    callable
        Takes a view and returns a `Placement`.

    Raises
    ------
    ConfigurationError
        For an unknown name, or a file that is wrong.
    """
    if not is_file_spec(name):
        return placements.find_for(policy.__module__, name).function
    accepted = 'a function below @simsched.policy.placement("NAME")'
    return placements.find_in_file(name, accepted).function


def list_placements() -> dict[str, str]:
    """Return the names of all placements with the first line of their documentation, by name."""
    return placements.summaries()
