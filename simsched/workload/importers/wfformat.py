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
  its output files, each once and completely. Sizes may stand where files are used, also from 1.5
  on, where ``specification.files`` goes before. Files of size zero are left out and counted. A file
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
from pathlib import Path
from typing import Literal

from simsched.files.errors import GraphError
from simsched.files.json_members import members
from simsched.names.parameters import OpsPerS
from simsched.workload.graph import Workload
from simsched.workload.importers._given_costs import TaskCost
from simsched.workload.importers._json import Value, read_json
from simsched.workload.importers._workflow import (
    Task,
    Workflow,
    check_unique,
    file_size,
    workflow_graph,
)
from simsched.workload.importers.registry import importer

VERSIONS = ("1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6")
UNITS = {"bytes": 1, "kB": 1000}
PROGRAM = re.compile(r"(?:\S*/)?([\w.+-]{1,64})")
Sizes = dict[str, tuple[list[int], list[int]]]  # of files where they are read and written
RUNNING_NUMBER = re.compile(r"[_#.-](?:ID)?\d+$")


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
    reference_speed: OpsPerS | None = None,
    size_unit: Literal["bytes", "kB"] | None = None,
    task_cost: TaskCost | None = None,
) -> Workload:
    """Scientific workflow executions in WfFormat JSON, versions 1.0 to 1.6.

    Parameters
    ----------
    path : Path
        The file, gzip or not.
    reference_speed : float or str, optional
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
    graph, about = workflow_graph(
        instance, path, ids_first=split, reference_speed=reference_speed, task_cost=task_cost
    )
    title = top.get("name")
    return Workload(
        name=path.name.partition(".")[0] if title is None else title.text(),
        graph=graph,
        parameters={
            "format": "wfformat",
            "schema_version": version,
            **about,
        },
    )


def _version(top: Value) -> str:
    value, accepted = top.get("schemaVersion"), f"one of the versions {', '.join(VERSIONS)}"
    if value is None:
        raise GraphError(f"{top.where}: found no key 'schemaVersion', accepted {accepted}")
    if str(value.value) not in VERSIONS:
        raise value.error(accepted)
    return str(value.value)


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


def _read_split(top: Value, version: str, size_unit: str | None) -> Workflow:
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
    found = Workflow([], sizes, 0, [], unit, unit_source)
    inline: Sizes = {}
    for entry in specification.member("tasks").items():
        found.tasks.append(_split_task(entry, runs, found, inline))
    _settle(found, inline)
    check_unique(found.tasks)
    if runs:
        key, run = next(iter(runs.items()))
        raise GraphError(f"{run.where}: found task {key!r}, which the specification does not have")
    found.speeds_hz = [] if execution is None else _speeds(execution, "speedInMHz")
    return found


def _settle(workflow: Workflow, sizes: Sizes) -> None:
    """Add the sizes that are stated where files are used."""
    for name, (at_readers, at_writers) in sizes.items():
        workflow.file_bytes[name] = max(at_writers, default=0) or max(at_readers, default=0)
        workflow.several_sizes += len({*at_readers, *at_writers}) > 1


def _split_task(entry: Value, runs: dict[str, Value], workflow: Workflow, inline: Sizes) -> Task:
    """Read one task of the specification and take its execution out of `runs`.

    Some programs write files with their sizes where they are used; these are added to `inline`.
    """
    key, name = entry.member("id").text(), entry.member("name").text()
    run = runs.pop(key, None)
    runtime = None if run is None else run.get("runtimeInSeconds")
    task = Task(
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
            stated = file.member("sizeInBytes") if isinstance(file.value, dict) else None
            name = file.text() if stated is None else file.member("id").text()
            if stated is not None and name not in workflow.file_bytes:
                both = inline.setdefault(name, ([], []))
                both[files is task.outputs].append(_size(stated, workflow.unit))
            elif stated is None and name not in workflow.file_bytes:
                raise GraphError(
                    f"{file.where}: found file {name!r}, accepted one of specification.files"
                )
            files.append(name)
    return task


def _read_joint(top: Value, version: str, size_unit: str | None) -> Workflow:
    """Read versions 1.0 to 1.4, in which one entry per task holds everything."""
    workflow = top.member("workflow")
    instance = Workflow([], {}, 0, _speeds(workflow, "speed"), size_unit or "bytes", "no files")
    sizes: Sizes = {}
    for entry in workflow.member("tasks", "jobs").items():
        name = entry.member("name").text()
        key, category = entry.get("id") or entry.member("name"), entry.get("category")
        runtime = entry.get("runtimeInSeconds") or entry.get("runtime")
        stated = _program(entry) if category is None else category.text()
        task = Task(
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
    _settle(instance, sizes)
    check_unique(instance.tasks)
    return instance


def _joint_file(
    file: Value, task: Task, instance: Workflow, size_unit: str | None, top: Value, version: str
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
    return file_size(value.number() * UNITS[unit], value)


def _speeds(parent: Value, key: str) -> list[float]:
    """Return the clock speeds that the machines state, in Hz."""
    cpus = [machine.get("cpu") for machine in parent.elements("machines")]
    stated = [cpu.get(key) for cpu in cpus if cpu is not None]
    return [speed.number() * 1e6 for speed in stated if speed is not None and speed.number() > 0]


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
