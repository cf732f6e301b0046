"""Scientific workflows in WfFormat, the JSON of WfCommons, versions 1.0 to 1.6.

What the file says becomes a task graph as follows.

* **Cost.** A task has one measured run time. It is turned into operations with `reference_speed`,
  one number for the whole file, so that workers of that speed reproduce every measured run time:
  the option if it is given, else the median of the clock speeds that the file's machines state (MHz
  as 10**6 operations per second), else 10**9. Speeds are momentary clock readings in practice,
  often different for equal machines; that is why no task gets its own. Tasks without a run time, as
  in a workflow that was not executed yet, take the option `task_cost`.
* **Cores.** A task occupies one worker for its run time, whatever `coreCount` and `avgCPU` say; how
  many tasks claim more than one core is recorded.
* **Classes.** A task's class is its `category`, else the program it ran if that is one word, else
  its name without the number at the end.
* **Names.** A task is called what the file calls it, or by its id where names are not unique.
* **Data.** Each file that some task uses is one block. A task reads its input files and then writes
  its output files, each once and completely. Files of size zero are left out and counted. A file
  without a producer is an external input. Where its size is stated several times, that of who
  writes it counts, of several the largest; how many files contradict themselves is recorded.
* **Edges** are the union of the declared parents and children and of producer to consumer for every
  file, see :mod:`~simsched.workload.importers._file_edges` for files that are written twice. Counts
  of edges that only one of the two sources knows are recorded. In the instances that WfCommons
  publishes both agree; some generated ones declare edges but leave out the files.
* **Size units.** `size` (up to 1.3) counts kB, but bytes under Pegasus; `sizeInBytes` counts bytes,
  but kB under Makeflow up to 1.5, where files were relabelled without conversion: published 1.5
  instances state a thousand times more bytes written by a task than its output files sum up to. The
  option `size_unit` overrides the rule.

Choices and counts are in `Workload.parameters`. `readBytes`, `writtenBytes` and `memoryInBytes` are
not used.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from simsched.files.errors import ConfigurationError, GraphError
from simsched.files.json_members import members
from simsched.workload.builder import Accesses, adjacency, build_graph, listed_accesses
from simsched.workload.graph import Workload
from simsched.workload.importers._file_edges import file_edges
from simsched.workload.importers._given_costs import DEFAULT_SPEED, TaskCost, given_ops
from simsched.workload.importers._json import Value, read_json
from simsched.workload.importers._naming import check_named
from simsched.workload.importers._source import number
from simsched.workload.importers.registry import importer

VERSIONS = ("1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6")
UNITS = {"bytes": 1, "kB": 1000}
PROGRAM = re.compile(r"(?:\S*/)?([\w.+-]{1,64})")
RUNNING_NUMBER = re.compile(r"[_#.-](?:ID)?\d+$")
MAX_FILE_BYTES = 2**53


@dataclass
class _Task:
    """One task as the file describes it."""

    place: Value
    key: str
    name: str
    runtime_s: float | None
    category: str
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    parents: list[Value] = field(default_factory=list)
    children: list[Value] = field(default_factory=list)
    several_cores: bool = False


@dataclass
class _Instance:
    """One file: tasks, sizes of files in bytes, stated clock speeds, the unit of sizes and why."""

    tasks: list[_Task]
    file_bytes: dict[str, int]
    #: how many files have several sizes
    several_sizes: int
    speeds_hz: list[float]
    unit: str
    unit_source: str


def _looks_like_wfformat(head: bytes) -> bool:
    """Say whether the beginning of a file has the keys of WfFormat on its top level.

    Traces of PyTorch have a number as ``schemaVersion``.
    """
    found = members(head.decode("utf-8", "replace"))
    return found.get("workflow") == "{" or found.get("schemaVersion") == '"'


@importer("wfformat", suffixes=(".json", ".json.gz"), recognises=_looks_like_wfformat)
def import_wfformat(
    path: Path,
    *,
    reference_speed: float | None = None,
    size_unit: Literal["bytes", "kB"] | None = None,
    task_cost: TaskCost | None = None,
) -> Workload:
    """Scientific workflow executions in WfFormat JSON, versions 1.0 to 1.6.

    Parameters
    ----------
    path : Path
        The file, gzip or not.
    reference_speed : float, optional
        Operations per second that turn run times into operations; by default the median clock speed
        of the machines in the file, or 10**9.
    size_unit : {"bytes", "kB"}, optional
        Unit of all file sizes; by default it follows from the version and the workflow system.
    task_cost : str or mapping of str to str, optional
        Cost with its unit, such as "1 ms" or "2e6 ops", of tasks without a run time; a mapping has
        one for each class.
    """
    top = read_json(path)
    version = _version(top)
    split = version in ("1.5", "1.6")
    instance = (_read_split if split else _read_joint)(top, version, size_unit)
    if not instance.tasks:
        raise GraphError(f"{path}: found no tasks, accepted at least one")
    speed, speed_source = _speed(path, instance, reference_speed)
    pairs, edge_counts = _edges(instance, ids_first=split)
    used, accessed, file_counts = _accesses(instance)
    class_of, class_names = _classes(instance.tasks)
    ops, about = _ops(instance.tasks, [class_names[i] for i in class_of], speed, task_cost, path)
    graph = build_graph(
        ops,
        task_class=class_of,
        class_names=class_names,
        successors=adjacency([p[0] for p in pairs], [p[1] for p in pairs], len(instance.tasks)),
        accessed=accessed,
        block_bytes=used,
        task_names=_names(instance.tasks),
    )
    check_named(graph, [task.key for task in instance.tasks], path)
    title = top.get("name")
    return Workload(
        name=path.name.partition(".")[0] if title is None else title.text(),
        graph=graph,
        parameters={
            "format": "wfformat",
            "schema_version": version,
            "reference_speed": speed,
            "reference_speed_source": speed_source,
            **about,
            "size_unit": instance.unit,
            "size_unit_source": instance.unit_source,
            "tasks_with_several_cores": sum(task.several_cores for task in instance.tasks),
            **edge_counts,
            **file_counts,
        },
    )


def _ops(
    tasks: list[_Task], labels: list[str], speed: float, task_cost: TaskCost | None, path: Path
) -> tuple[list[float], dict[str, object]]:
    """Return the operations of tasks, and what is recorded of costs that the user gives."""
    ops, missing = [0.0] * len(tasks), []
    for i, task in enumerate(tasks):
        if task.runtime_s is not None:
            ops[i] = number(task.runtime_s * speed, f"{task.place.where}: ops")
        elif task_cost is not None:
            missing.append(i)
        else:
            raise GraphError(
                f"{task.place.where}: task {task.name!r}: found no run time, accepted "
                "runtimeInSeconds, or runtime up to 1.3; or the option task_cost"
            )
    if task_cost is None:
        return ops, {}
    given = given_ops(task_cost, [labels[i] for i in missing], labels, speed, str(path))
    for i, value in zip(missing, given, strict=True):
        ops[i] = value
    return ops, {"task_cost": task_cost, "tasks_of_task_cost": len(missing)}


def _version(top: Value) -> str:
    value = top.member("schemaVersion")
    version = str(value.value)
    if version not in VERSIONS:
        raise value.error(f"one of the versions {', '.join(VERSIONS)}")
    return version


def _unit(top: Value, version: str, size_key: str, given: str | None) -> tuple[str, str]:
    """Return the unit of sizes under a key, by the rule of the module's docstring, and why."""
    if given is not None:
        return given, "option"
    system = top.get("runtimeSystem") or top.get("wms")
    name = None if system is None else system.get("name")
    lower = "" if name is None else name.text().lower()
    if size_key == "size":
        return ("bytes", "size under Pegasus") if "pegasus" in lower else ("kB", "size")
    if "makeflow" in lower and version != "1.6":
        return "kB", f"sizeInBytes under Makeflow in version {version}, see option size_unit"
    return "bytes", "sizeInBytes"


def _read_split(top: Value, version: str, size_unit: str | None) -> _Instance:
    """Read versions 1.5 and 1.6, which keep specification and execution apart."""
    workflow = top.member("workflow")
    specification, execution = workflow.member("specification"), workflow.get("execution")
    unit, unit_source = _unit(top, version, "sizeInBytes", size_unit)
    sizes: dict[str, int] = {}
    for file in specification.elements("files"):
        name = file.member("id").text()
        if name in sizes:
            raise GraphError(f"{file.where}: found file {name!r} a second time")
        sizes[name] = _size(file.member("sizeInBytes"), unit)
    runs: dict[str, Value] = {}
    for run in execution.member("tasks").items() if execution is not None else ():
        key = run.member("id").text()
        if key in runs:
            raise GraphError(f"{run.where}: found task {key!r} a second time")
        runs[key] = run
    entries = specification.member("tasks").items()
    _check_unique([(entry.member("id").text(), entry) for entry in entries])
    tasks = [_split_task(entry, runs, sizes) for entry in entries]
    if runs:
        key, run = next(iter(runs.items()))
        raise GraphError(f"{run.where}: found task {key!r}, which the specification does not have")
    speeds = [] if execution is None else _speeds(execution, "speedInMHz")
    return _Instance(tasks, sizes, 0, speeds, unit, unit_source)


def _split_task(entry: Value, runs: dict[str, Value], sizes: dict[str, int]) -> _Task:
    """Read one task of the specification and take its execution out of `runs`."""
    key, name = entry.member("id").text(), entry.member("name").text()
    run = runs.pop(key, None)
    runtime = None if run is None else run.get("runtimeInSeconds")
    task = _Task(
        place=entry,
        key=key,
        name=name,
        runtime_s=None if runtime is None else runtime.number(),
        category=(run is not None and _program(run)) or RUNNING_NUMBER.sub("", name),
        parents=entry.member("parents").items(),
        children=entry.member("children").items(),
        several_cores=run is not None and _several_cores(run, "coreCount"),
    )
    for list_key, files in (("inputFiles", task.inputs), ("outputFiles", task.outputs)):
        for file in entry.elements(list_key):
            if file.text() not in sizes:
                raise GraphError(
                    f"{file.where}: found file {file.text()!r}, accepted one of specification.files"
                )
            files.append(file.text())
    return task


def _read_joint(top: Value, version: str, size_unit: str | None) -> _Instance:
    """Read versions 1.0 to 1.4, in which one entry per task holds everything."""
    workflow = top.member("workflow")
    instance = _Instance([], {}, 0, _speeds(workflow, "speed"), size_unit or "bytes", "no files")
    sizes: dict[str, tuple[list[int], list[int]]] = {}  # where files are read and written
    for entry in workflow.member("tasks", "jobs").items():
        name = entry.member("name").text()
        key, category = entry.get("id") or entry.member("name"), entry.get("category")
        runtime = entry.get("runtimeInSeconds") or entry.get("runtime")
        stated = _program(entry) if category is None else category.text()
        task = _Task(
            place=entry,
            key=key.text(),
            name=name,
            runtime_s=None if runtime is None else runtime.number(),
            category=stated or RUNNING_NUMBER.sub("", name),
            parents=entry.elements("parents"),
            children=entry.elements("children"),
            several_cores=_several_cores(entry, "cores"),
        )
        for file in entry.elements("files"):
            name, size, written = _joint_file(file, task, instance, size_unit, top, version)
            sizes.setdefault(name, ([], []))[written].append(size)
        instance.tasks.append(task)
    for name, (at_readers, at_writers) in sizes.items():
        instance.file_bytes[name] = max(at_writers, default=0) or max(at_readers, default=0)
        instance.several_sizes += len({*at_readers, *at_writers}) > 1
    _check_unique([(task.key, task.place) for task in instance.tasks])
    return instance


def _joint_file(
    file: Value, task: _Task, instance: _Instance, size_unit: str | None, top: Value, version: str
) -> tuple[str, int, bool]:
    """Read one file entry of a task; return its name and bytes, and whether it is written."""
    path, link, size = file.get("path"), file.member("link"), file.member("sizeInBytes", "size")
    name = ("" if path is None else path.text()) + file.member("name").text()
    instance.unit, instance.unit_source = _unit(top, version, str(size.place[-1]), size_unit)
    if link.value not in ("input", "output"):
        raise link.error("input or output")
    written = link.value == "output"
    (task.outputs if written else task.inputs).append(name)
    return name, _size(size, instance.unit), written


def _size(value: Value, unit: str) -> int:
    """Return a file size in bytes."""
    size = value.number() * UNITS[unit]
    if size > MAX_FILE_BYTES:  # before it is rounded: it may be infinite
        raise value.error(f"a file of at most {MAX_FILE_BYTES} bytes")
    return round(size)


def _speeds(parent: Value, key: str) -> list[float]:
    """Return the clock speeds that the machines state, in Hz."""
    cpus = [machine.get("cpu") for machine in parent.elements("machines")]
    stated = [cpu.get(key) for cpu in cpus if cpu is not None]
    return [speed.number() * 1e6 for speed in stated if speed is not None and speed.number() > 0]


def _speed(path: Path, instance: _Instance, given: float | None) -> tuple[float, str]:
    """Return operations per second and where the number comes from."""
    if given is not None:
        where = f"{path}: option reference_speed"
        speed = number(given, where)
        if speed == 0:
            raise ConfigurationError(f"{where}: found 0, accepted more than 0 ops/s")
        return speed, "option"
    if instance.speeds_hz:
        found = len(instance.speeds_hz)
        return statistics.median(
            instance.speeds_hz
        ), f"median clock of {found} machines in the file"
    return DEFAULT_SPEED, "default, the file states no clock"


def _several_cores(run: Value, cores_key: str) -> bool:
    """Say whether a task claims more than one core."""
    cores, share = run.get(cores_key), run.get("avgCPU")
    many = cores is not None and cores.number() > 1
    return many or (share is not None and share.number() > 100)


def _program(run: Value) -> str:
    """Return the name of the program that a task ran, nothing if it is not stated or a script."""
    command = run.get("command")
    program = (
        command.get("program") if command is not None and isinstance(command.value, dict) else None
    )
    match = PROGRAM.fullmatch(program.value) if program and isinstance(program.value, str) else None
    return match[1] if match else ""


def _check_unique(entries: list[tuple[str, Value]]) -> None:
    """Check that no two entries of tasks have the same id."""
    first: dict[str, Value] = {}
    for key, entry in entries:
        other = first.setdefault(key, entry)
        if other is not entry:
            raise GraphError(
                f"{entry.where}: found task {key!r} a second time, "
                f"the first is {other.where.rpartition(': ')[2]}"
            )


def _references(tasks: list[_Task], ids_first: bool) -> dict[str, int]:
    """Return what tasks may be called: ids, and names that only one task has.

    Before 1.5 tasks refer to each other by name, since then by id.
    """
    times = Counter(task.name for task in tasks)
    ids = {task.key: i for i, task in enumerate(tasks)}
    names = {task.name: i for i, task in enumerate(tasks) if times[task.name] == 1}
    return {**names, **ids} if ids_first else {**ids, **names}


def _edges(instance: _Instance, ids_first: bool) -> tuple[list[tuple[int, int]], dict[str, object]]:
    """Return all edges, ascending, and how declared edges and files compare."""
    tasks = instance.tasks
    known = _references(tasks, ids_first)

    def lookup(reference: Value) -> int:
        task = known.get(reference.text())
        if task is None:
            raise reference.error("the id of a task")
        return task

    declared: set[tuple[int, int]] = set()
    for i, task in enumerate(tasks):
        declared.update((lookup(parent), i) for parent in task.parents)
        declared.update((i, lookup(child)) for child in task.children)
    versions = file_edges(
        declared, [task.inputs for task in tasks], [task.outputs for task in tasks]
    )
    by_files = {(writer, reader) for writer, reader, _ in versions}
    carrying = {(u, v) for u, v, file in versions if instance.file_bytes[file]}
    counts: dict[str, object] = {
        "edges_without_bytes": len(declared | by_files) - len(carrying),
        "edges_only_declared": len(declared - by_files),
        "edges_only_by_files": len(by_files - declared),
    }
    return sorted(declared | by_files), counts


def _accesses(instance: _Instance) -> tuple[list[int], Accesses, dict[str, object]]:
    """Return the blocks' sizes, the accesses and how many files were left out."""
    block_of: dict[str, int] = {}
    rows: list[tuple[int, ...]] = []
    touched: set[str] = set()
    for i, task in enumerate(instance.tasks):
        for files, writes in ((task.inputs, 0), (task.outputs, 1)):
            for file in dict.fromkeys(files):
                touched.add(file)
                size = instance.file_bytes[file]
                if size:
                    block = block_of.setdefault(file, len(block_of))
                    rows.append((i, block, size * (1 - writes), size * writes, 0))
    counts: dict[str, object] = {
        "files": len(instance.file_bytes),
        "files_of_size_zero": sum(not size for size in instance.file_bytes.values()),
        "files_unused": len(instance.file_bytes) - len(touched),
        "files_of_several_sizes": instance.several_sizes,
    }
    used = [instance.file_bytes[file] for file in block_of]
    return used, listed_accesses(rows, len(instance.tasks)), counts


def _classes(tasks: list[_Task]) -> tuple[list[int], list[str]]:
    """Return the class of each task and the names of the classes, in order of appearance."""
    index: dict[str, int] = {}
    class_of = [index.setdefault(task.category or task.name, len(index)) for task in tasks]
    return class_of, list(index)


def _names(tasks: list[_Task]) -> list[str]:
    """Return the names of the tasks, their ids if several have one name."""
    names = [task.name for task in tasks]
    return names if len(set(names)) == len(names) else [task.key for task in tasks]
