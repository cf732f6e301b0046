"""Machine models: YAML files in, resolved :class:`Machine` objects out."""

from simsched.machine.load import check_machine, list_machines, load_machine
from simsched.machine.model import Machine

__all__ = ["Machine", "check_machine", "list_machines", "load_machine"]
