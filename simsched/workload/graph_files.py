"""Task graph files as users name them: a path, or a path with the options of its format.

::

    montage.json
    my.dot[cost=size, cost_unit=ops, edge_bytes=bytes]
    my.xml[format=graphml, iterations=10, cost=weight, cost_unit=ms]
    my.dot[cost.cpu=host_ms, cost.gpu=device_ms, cost_unit=ms]

Beside the options of the format there are three for every file: ``format``, where the ending does
not tell it, ``iterations``, how often the graph is executed, and ``durations``, random ones, see
:mod:`simsched.workload.durations`. Names of files may hold brackets
themselves, see :func:`graph_file_spec`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from simsched.files.bounded import is_there
from simsched.files.errors import ConfigurationError, unknown_name
from simsched.names.parameters import Bounds, Parameter
from simsched.names.specs import Spec, parse_spec
from simsched.workload.durations import split_durations
from simsched.workload.graph import Workload

#: Endings of names; ``.gz`` may follow.
SUFFIXES = (
    *(".json", ".graphml", ".dot", ".gv", ".csv", ".xml"),
    *(".dax", ".stg", ".tgff"),
)
ITERATIONS = Parameter("iterations", int, None, Bounds(1, 2**31 - 1), optional=True)


def is_graph_file(text: str) -> bool:
    """Say whether a text names a task graph file, options aside; its ending decides."""
    return _has_suffix(text[: _path_length(text)])


def graph_file_spec(text: str) -> Spec:
    """Return path and options of a task graph file.

    Brackets may be part of the names of files and directories, too. An existing file of the whole
    name wins; otherwise the last ``[...]`` are the options.

    >>> graph_file_spec("run[1]/my.dot[cost=size]")
    Spec(name='run[1]/my.dot', params={'cost': 'size'})
    """
    length = _path_length(text)
    if length == len(text) or is_there(Path(text)):
        return Spec(text, {})
    return parse_spec("workload", text, length)


def workload_spec(text: str) -> Spec:
    """Return name and parameters of a preset, a generator or a task graph file."""
    return graph_file_spec(text) if is_graph_file(text) else parse_spec("workload", text)


def _has_suffix(path: str) -> bool:
    """Return whether a path ends as those of task graph files do."""
    return path.strip().lower().removesuffix(".gz").endswith(SUFFIXES)


def _path_length(text: str) -> int:
    """Return where the options of a file begin, the length of the text where there are none.

    It is the last bracket behind which everything has the form of options; a value in quotes may
    hold brackets. Where nothing has it, it is the bracket behind the ending of a task graph file,
    or else the first one, and the reader of the options says what is wrong with them.
    """
    if not text.rstrip().endswith("]"):
        return len(text)
    places = [place for place, character in enumerate(text) if character == "["]
    for place in reversed(places):
        try:
            parse_spec("workload", text, place)
        except ConfigurationError:
            continue
        return place
    return next((place for place in places if _has_suffix(text[:place])), min(places, default=0))


def read_graph_file(path: Path, options: Mapping[str, object], seed: int = 0) -> Workload:
    """Return the workload in a file.

    `options` are those of the format, and ``format``, ``iterations`` and ``durations``, for which
    the seed is. What is given for several
    kinds of processors is a mapping, or one option for each: ``cost.cpu``, ``cost.gpu``.
    """
    from simsched.workload.importers import import_workload, importers

    options, durations = split_durations(options, str(path))
    given = _gathered(path, options)
    name = given.pop("format", None)
    if name is not None and name not in importers():
        problem = unknown_name("format", name, importers())
        raise ConfigurationError(f"{path}: option format: {problem}")
    asked = given.pop("iterations", None)
    iterations = ITERATIONS.checked(asked, f"{path}: iterations")
    workload = import_workload(path, None if name is None else str(name), **given)
    if iterations is not None:
        workload = replace(workload, iterations=iterations)
    return workload if durations is None else workload.with_durations(durations, seed=seed)


def _gathered(path: Path, options: Mapping[str, object]) -> dict[str, object]:
    """Return options with those for kinds of processors in one mapping for each name."""
    result: dict[str, object] = {key: value for key, value in options.items() if "." not in key}
    for key, value in options.items():
        name, dot, kind = key.partition(".")
        if not dot:
            continue
        known = result.get(name, {})
        if not isinstance(known, Mapping) or kind in known:
            raise ConfigurationError(
                f"{path}: option {key}: found beside another {name}, accepted: {name} for all "
                f"kinds of processors, or {name}.KIND for each"
            )
        result[name] = {**known, kind: value}
    return result
