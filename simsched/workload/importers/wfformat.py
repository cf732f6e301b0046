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
from collections.abc import Collection
from pathlib import Path
from typing import Literal

from simsched.files.errors import GraphError
from simsched.files.json_members import members
from simsched.names.parameters import OpsPerS
from simsched.workload.graph import Workload
from simsched.workload.importers._given_costs import TaskCost
from simsched.workload.importers._json import Value, read_json
from simsched.workload.importers._used_files import READ, WRITTEN
from simsched.workload.importers._workflow import (
    References,
    Tasks,
    Workflow,
    file_size,
    workflow_graph,
)
from simsched.workload.importers.registry import importer

VERSIONS = ("1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6")
UNITS = {"bytes": 1, "kB": 1000}
PROGRAM = re.compile(r"(?:\S*/)?([\w.+-]{1,64})")
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


def _workflow(entries: Value, unit: str, unit_source: str) -> Workflow:
    """Return a workflow without tasks yet, each of which will have an entry of its own."""

    def references(key: str) -> References:
        def place(reference: int) -> Value:
            task = found.owners[reference]
            return entries.item(task).member(key).item(reference - found.owners.index(task))

        found = References(place)
        return found

    tasks = Tasks(lambda task: entries.item(task).where)
    return Workflow(tasks, references("parents"), references("children"), unit, unit_source)


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
    entries = specification.member("tasks")
    found = _workflow(entries, unit, unit_source)
    for entry in entries.items():
        _add_split_task(entry, runs, found, sizes)
    for name, size_bytes in sizes.items():
        found.files.state(name, WRITTEN, size_bytes)
    found.tasks.check_unique()
    if runs:
        key, run = next(iter(runs.items()))
        raise GraphError(f"{run.where}: found task {key!r}, which the specification does not have")
    found.speeds_hz = [] if execution is None else _speeds(execution, "speedInMHz")
    return found


def _add_split_task(
    entry: Value, runs: dict[str, Value], workflow: Workflow, listed: Collection[str]
) -> None:
    """Add one task of the specification and take its execution out of `runs`.

    Some programs write files with their sizes where they are used, which counts for files that are
    not `listed`.
    """
    key, name = entry.member("id").text(), entry.member("name").text()
    run = runs.pop(key, None)
    runtime = None if run is None else run.get("runtimeInSeconds")
    runtime_s = None if runtime is None else runtime.number()
    category = (run is not None and _program(run)) or RUNNING_NUMBER.sub("", name)
    task = workflow.tasks.add(key, name, runtime_s, category)
    workflow.parents.add(task, _texts(entry.member("parents")))
    workflow.children.add(task, _texts(entry.member("children")))
    workflow.tasks.several_cores += run is not None and _several_cores(run, "coreCount")
    for list_key, place in (("inputFiles", READ), ("outputFiles", WRITTEN)):
        for file in entry.elements(list_key):
            stated = file.member("sizeInBytes") if isinstance(file.value, dict) else None
            name = file.text() if stated is None else file.member("id").text()
            if stated is not None and name not in listed:
                workflow.files.state(name, place, _size(stated, workflow.unit))
            elif stated is None and name not in listed:
                raise GraphError(
                    f"{file.where}: found file {name!r}, accepted one of specification.files"
                )
            workflow.files.use(task, name, written=place == WRITTEN)


def _read_joint(top: Value, version: str, size_unit: str | None) -> Workflow:
    """Read versions 1.0 to 1.4, in which one entry per task holds everything."""
    workflow = top.member("workflow")
    speeds_hz = _speeds(workflow, "speed")
    entries = workflow.member("tasks", "jobs")
    found = _workflow(entries, size_unit or "bytes", "no files")
    found.speeds_hz = speeds_hz
    for entry in entries.items():
        name = entry.member("name").text()
        key, category = entry.get("id") or entry.member("name"), entry.get("category")
        runtime = entry.get("runtimeInSeconds") or entry.get("runtime")
        stated = _program(entry) if category is None else category.text()
        task = found.tasks.add(
            key.text(),
            name,
            None if runtime is None else runtime.number(),
            stated or RUNNING_NUMBER.sub("", name),
        )
        for references, others in ((found.parents, "parents"), (found.children, "children")):
            listed = entry.get(others)
            if listed is not None:
                references.add(task, _texts(listed))
        found.tasks.several_cores += _several_cores(entry, "cores")
        for file in entry.elements("files"):
            _add_joint_file(file, task, found, size_unit, top, version)
    found.tasks.check_unique()
    return found


def _add_joint_file(
    file: Value, task: int, workflow: Workflow, size_unit: str | None, top: Value, version: str
) -> None:
    """Add a file of a task."""
    path, link, size = file.get("path"), file.member("link"), file.member("sizeInBytes", "size")
    name = ("" if path is None else path.text()) + file.member("name").text()
    workflow.unit, workflow.unit_source = _unit(top, version, str(size.place[-1]), size_unit)
    if link.value not in ("input", "output"):
        raise link.error("input or output")
    written = link.value == "output"
    workflow.files.use(task, name, written=written)
    workflow.files.state(name, WRITTEN if written else READ, _size(size, workflow.unit))


def _texts(names: Value) -> list[str]:
    """Return a list of strings none of which is empty."""
    found = names.elements_as_they_are()
    for place, name in enumerate(found):
        if not isinstance(name, str) or not name:
            names.item(place).text()
    return found


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
