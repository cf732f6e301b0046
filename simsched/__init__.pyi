from simsched.api import list_experiments, run
from simsched.engine.run import simulate
from simsched.experiment.given import sweep
from simsched.experiment.many import Runs, simulate_many
from simsched.experiment.query import query, results
from simsched.files.errors import SimschedError
from simsched.hardware.session import CalibratedHost, calibrate, measure, validate
from simsched.machine import (
    Machine,
    list_machines,
    load_machine,
)
from simsched.policy import (
    PlacedPolicy,
    Policy,
    list_policies,
    make_policy,
    param,
)
from simsched.report.catalogue import (
    Catalogue,
    experiments,
    machines,
    policies,
    workloads,
)
from simsched.report.result import Result
from simsched.trace.run import Run
from simsched.workload import (
    TaskGraph,
    Workload,
    list_workloads,
)
from simsched.workload.importers import import_workload
from simsched.workload.presets import make_workload

__all__ = [
    "CalibratedHost",
    "Catalogue",
    "Machine",
    "PlacedPolicy",
    "Policy",
    "Result",
    "Run",
    "Runs",
    "SimschedError",
    "TaskGraph",
    "Workload",
    "__version__",
    "calibrate",
    "experiments",
    "import_workload",
    "list_experiments",
    "list_machines",
    "list_policies",
    "list_workloads",
    "load_machine",
    "machines",
    "make_policy",
    "make_workload",
    "measure",
    "param",
    "policies",
    "query",
    "results",
    "run",
    "simulate",
    "simulate_many",
    "sweep",
    "validate",
    "workloads",
]

__version__: str
