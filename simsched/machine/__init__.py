"""Machine models: YAML files in, resolved :class:`Machine` objects out."""

from simsched.machine.model import Machine

__all__ = ["Machine"]
