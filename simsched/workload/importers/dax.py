"""Pegasus DAX, the XML of abstract workflows, versions 2 and 3.

``<job>`` are tasks, ``<child>`` and ``<parent>`` edges, ``<uses>`` the files of a job. Costs, edges
and data are made of them as for :mod:`~simsched.workload.importers.wfformat`; a job has the class
that is its `name`, and is called by its `id` where several have one name.

Traps of the format:

* **Run times** are seconds in the attribute ``runtime`` that generators of workflows add. DAX
  itself has none; its jobs may state one in a profile (namespace pegasus, key ``runtime``) or as
  the metadata ``time`` or ``runtime``. Jobs without one take the option `task_cost`.
* **Sizes** are bytes in the attribute ``size`` of ``<uses>``, or in metadata ``size`` of ``<uses>``
  or of the ``<file>`` of that name (version 3); files without one are files of size zero.
* A file is called ``file`` in version 2 and ``name`` in version 3. ``inout`` is read and written;
  ``none``, ``checkpoint`` and executables are no data of the job.
* Jobs that are workflows themselves, ``<dax>`` and ``<dag>``, are tasks.
"""

from __future__ import annotations

import re
from pathlib import Path

from simsched.files.errors import GraphError, shown
from simsched.names.parameters import OpsPerS
from simsched.workload.graph import Workload
from simsched.workload.importers._given_costs import TaskCost
from simsched.workload.importers._workflow import (
    Task,
    Workflow,
    check_unique,
    file_size,
    workflow_graph,
)
from simsched.workload.importers._xml import Attribute, Element, read_xml
from simsched.workload.importers.registry import importer

JOBS = ("job", "dax", "dag")
LINKS = ("input", "output", "inout", "none", "checkpoint")
RUNTIME = ("runtime", "time")


def _looks_like_dax(head: bytes) -> bool:
    """Say whether the beginning of a file has the root element of DAX."""
    return re.search(rb"<(?:\w+:)?adag[\s>]", head) is not None


@importer("dax", suffixes=(".dax", ".dax.gz"), recognises=_looks_like_dax)
def import_dax(
    path: Path, *, reference_speed: OpsPerS | None = None, task_cost: TaskCost | None = None
) -> Workload:
    """Pegasus DAX: abstract workflows in XML, versions 2 and 3.

    Parameters
    ----------
    path : Path
        The file, gzip or not.
    reference_speed : float or str, optional
        Operations per second that turn run times into operations, 10**9 by default.
    task_cost : str or mapping of str to str, optional
        Cost with its unit, such as "1 ms" or "2e6 ops", of jobs without a run time; a mapping has
        one for each class.
    """
    top = read_xml(path)
    if top.name != "adag":
        raise GraphError(f"{top.where}: found <{top.name}>, accepted <adag>, the root of a DAX")
    workflow = Workflow([_task(job) for job in top.all(*JOBS)], {}, 0, [], "bytes", "size")
    check_unique(workflow.tasks)
    _read_files(top, workflow)
    _read_parents(top, workflow.tasks)
    graph, about = workflow_graph(
        workflow, path, ids_first=True, reference_speed=reference_speed, task_cost=task_cost
    )
    title, version = top.get("name"), top.get("version")
    return Workload(
        name=path.name.partition(".")[0] if title is None else title.text(),
        graph=graph,
        parameters={
            "format": "dax",
            "schema_version": "" if version is None else version.text(),
            **about,
        },
    )


def _task(job: Element) -> Task:
    """Return the task of a job, without its files."""
    key, name = job.required("id"), job.get("name") or job.get("file") or job.required("id")
    runtime = job.get("runtime") or _stated_runtime(job)
    return Task(
        place=key,
        key=key.text(),
        name=name.text(),
        runtime_s=None if runtime is None else runtime.number(),
        category=name.text(),
    )


def _stated_runtime(job: Element) -> Attribute | None:
    """Return the run time that a profile or metadata of a job state."""
    for entry in job.all("profile", "metadata"):
        is_ours = entry.name == "metadata" or entry.attributes.get("namespace") == "pegasus"
        if is_ours and entry.attributes.get("key") in RUNTIME and entry.text.strip():
            return Attribute(f"{entry.where}: <{entry.name}>", entry.text)
    return None


def _read_files(top: Element, workflow: Workflow) -> None:
    """Read which job uses which files of which size; where a file is written its size counts."""
    sizes: dict[str, tuple[list[int], list[int], list[int]]] = {}
    for file in top.all("file"):
        size = _stated_size(file)
        if size is not None:
            sizes.setdefault(file.required("name").text(), ([], [], []))[2].append(size)
    for task, job in zip(workflow.tasks, top.all(*JOBS), strict=True):
        for use in job.all("uses"):
            name, link = use.required("file", "name").text(), use.required("link")
            if link.text().lower() not in LINKS:
                raise link.error(f"one of {', '.join(LINKS)}")
            if use.attributes.get("executable") == "true" or link.text().lower() in LINKS[3:]:
                continue
            stated = sizes.setdefault(name, ([], [], []))
            size = _stated_size(use)
            for files, wanted, found in (
                (task.inputs, "input", stated[0]),
                (task.outputs, "output", stated[1]),
            ):
                if link.text().lower() in (wanted, "inout"):
                    files.append(name)
                    found += [] if size is None else [size]
    for name, (read, written, catalogued) in sizes.items():
        order = (written, catalogued, read)
        workflow.file_bytes[name] = next((n for n in (max(s, default=0) for s in order) if n), 0)
        workflow.several_sizes += len({*read, *written, *catalogued}) > 1


def _stated_size(owner: Element) -> int | None:
    """Return the bytes that a file or its use states."""
    found = owner.get("size")
    for entry in owner.all("metadata"):
        if found is None and entry.attributes.get("key") == "size" and entry.text.strip():
            found = Attribute(f"{entry.where}: <{entry.name}>", entry.text)
    return None if found is None else file_size(found.number(), found)


def _read_parents(top: Element, tasks: list[Task]) -> None:
    """Read the edges, which name jobs by their id."""
    known = {task.key: task for task in tasks}
    for child in top.all("child"):
        ref = child.required("ref")
        task = known.get(ref.text())
        if task is None:
            raise GraphError(f"{ref.where}: found {shown(ref.text())}, accepted the id of a job")
        found = [parent.required("ref") for parent in child.all("parent")]
        task.parents = [*task.parents, *found]
