"""Machine models: YAML files in, resolved :class:`Machine` objects out."""

from typing import TYPE_CHECKING

from simsched.machine.model import Machine

if TYPE_CHECKING:
    from simsched.machine.load import check_machine, list_machines, load_machine

__all__ = ["Machine", "check_machine", "list_machines", "load_machine"]


def __getattr__(name: str) -> object:
    """Import what reads machine files when it is first used: policies need the model only."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from simsched.machine import load

    found: object = getattr(load, name)
    globals()[name] = found
    return found
