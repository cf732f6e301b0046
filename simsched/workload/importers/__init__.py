"""Task graphs from files and from NetworkX, and back."""

from simsched.workload.importers.dot import write_dot
from simsched.workload.importers.graphml import write_graphml
from simsched.workload.importers.measured import Measured, MeasuredWorkload
from simsched.workload.importers.networkx_graph import from_networkx, to_networkx
from simsched.workload.importers.registry import (
    Importer,
    format_of,
    import_measured,
    import_workload,
    importer,
    importers,
)

__all__ = [
    "Importer",
    "Measured",
    "MeasuredWorkload",
    "format_of",
    "from_networkx",
    "import_measured",
    "import_workload",
    "importer",
    "importers",
    "to_networkx",
    "write_dot",
    "write_graphml",
]
