"""Task graph files as users name them: a path, or a path with the options of its format.

::

    montage.json
    my.dot[cost=size, cost_unit=ops, edge_bytes=bytes]
    my.xml[format=graphml, iterations=10, cost=weight, cost_unit=ms]

Beside the options of the format there are two for every file: ``format``, where the ending does not
tell it, and ``iterations``, how often the graph is executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from simsched.bounded import is_there
from simsched.errors import ConfigurationError
from simsched.specs import Spec, parse_spec
from simsched.workload.graph import Workload

#: Endings of names; ``.gz`` may follow.
SUFFIXES = (".json", ".graphml", ".dot", ".gv", ".csv", ".xml")
MAX_ITERATIONS = 2**31 - 1


def is_graph_file(text: str) -> bool:
    """Say whether a text names a task graph file, options aside; its ending decides.

    Examples
    --------
    >>> is_graph_file("my.dot"), is_graph_file("my.json.gz[iterations=2]"), is_graph_file("heat")
    (True, True, False)
    """
    path = text.partition("[")[0] if text.rstrip().endswith("]") else text
    return path.strip().lower().removesuffix(".gz").endswith(SUFFIXES)


def graph_file_spec(text: str) -> Spec:
    """Return path and options of a task graph file; brackets may be part of a name, too.

    Raises
    ------
    ConfigurationError
        The options are not ``[OPTION=VALUE, ...]``.
    """
    if is_there(Path(text)) or not text.rstrip().endswith("]"):
        return Spec(text, {})
    return parse_spec("workload", text)


def read_graph_file(path: Path, options: Mapping[str, object]) -> Workload:
    """Return the workload in a file.

    Parameters
    ----------
    path : Path
        The file.
    options : mapping of str to object
        Those of the format, and ``format`` and ``iterations``.

    Raises
    ------
    ConfigurationError
        An unknown format or option.
    GraphError
        As :func:`simsched.workload.importers.import_workload`.
    """
    from simsched.workload.importers import import_workload

    given = dict(options)
    name = given.pop("format", None)
    iterations = given.pop("iterations", None)
    if iterations is not None and (
        not isinstance(iterations, int)
        or type(iterations) is bool
        or not (1 <= iterations <= MAX_ITERATIONS)
    ):
        raise ConfigurationError(
            f"{path}: iterations: found {iterations!r}, "
            f"accepted a whole number, 1 to {MAX_ITERATIONS}"
        )
    workload = import_workload(path, None if name is None else str(name), **given)
    return workload if iterations is None else replace(workload, iterations=iterations)
