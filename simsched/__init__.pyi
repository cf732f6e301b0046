from simsched.api import Result, list_experiments, run
from simsched.engine.run import Run, simulate
from simsched.errors import SimschedError
from simsched.machine import Machine, list_machines, load_machine
from simsched.policy import Policy, list_policies, make_policy
from simsched.workload import TaskGraph, Workload, list_workloads
from simsched.workload.importers import import_workload
from simsched.workload.presets import resolve_workload as make_workload

__all__ = [
    "Machine",
    "Policy",
    "Result",
    "Run",
    "SimschedError",
    "TaskGraph",
    "Workload",
    "__version__",
    "import_workload",
    "list_experiments",
    "list_machines",
    "list_policies",
    "list_workloads",
    "load_machine",
    "make_policy",
    "make_workload",
    "run",
    "simulate",
]

__version__: str
