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
from array import array
from pathlib import Path

import numpy as np

from simsched.files.bounded import to_the_end
from simsched.files.errors import GraphError
from simsched.names.parameters import OpsPerS
from simsched.workload.graph import Workload
from simsched.workload.importers._given_costs import TaskCost
from simsched.workload.importers._used_files import LISTED, READ, WRITTEN
from simsched.workload.importers._workflow import (
    References,
    Tasks,
    Workflow,
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
    elements = read_xml(path)
    top, columns = next(elements), _Columns(path)
    with to_the_end(elements):
        if top.name != "adag":
            raise GraphError(f"{top.where}: found <{top.name}>, accepted <adag>, the root of a DAX")
        for element in elements:
            columns.read(element)
    workflow = columns.workflow()
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


class _Columns:
    """Puts the elements of a document into the columns of a workflow."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._jobs: list[tuple[int, str]] = []  # line and name of the element
        self._child_lines, self._parent_lines = array("i"), array("i")
        self._heirs = References(self._heir, "the id of a job")  # one for each <child>
        parents = References(self._parent)
        self._found = Workflow(Tasks(self._job), parents, References(self._parent), "bytes", "size")

    def read(self, element: Element) -> None:
        """Read one child of the root."""
        if element.name in JOBS:
            self._read_job(element)
        elif element.name == "child":
            self._read_child(element)
        elif element.name == "file":
            size = _stated_size(element)
            if size is not None:
                self._found.files.state(element.required("name").text(), LISTED, size)

    def workflow(self) -> Workflow:
        """Return what was read, once that is all."""
        found = self._found
        found.tasks.check_unique()
        heirs = self._heirs.tasks({key: task for task, key in enumerate(found.tasks.keys)})
        found.parents.owners = array("i", heirs[np.asarray(found.parents.owners)].tolist())
        return found

    def _read_job(self, job: Element) -> None:
        key = job.required("id")
        name, runtime = job.get("name") or job.get("file") or key, job.get("runtime")
        runtime = runtime or _stated_runtime(job)
        runtime_s = None if runtime is None else runtime.number()
        task = self._found.tasks.add(key.text(), name.text(), runtime_s, name.text())
        self._jobs.append((job.line, job.name))
        for use in job.children:
            if use.name == "uses":
                self._read_use(task, use)

    def _read_use(self, task: int, use: Element) -> None:
        name, link = use.required("file", "name").text(), use.required("link")
        way = link.text().lower()
        if way not in LINKS:
            raise link.error(f"one of {', '.join(LINKS)}")
        if use.attributes.get("executable") == "true" or way in LINKS[3:]:
            return
        size, files = _stated_size(use), self._found.files
        for wanted, place in (("input", READ), ("output", WRITTEN)):
            if way in (wanted, "inout"):
                files.use(task, name, written=place == WRITTEN)
                if size is not None:
                    files.state(name, place, size)

    def _read_child(self, child: Element) -> None:
        heir = len(self._child_lines)
        self._heirs.add(heir, [child.required("ref").text()])
        self._child_lines.append(child.line)
        parents = [each for each in child.children if each.name == "parent"]
        self._parent_lines.extend([parent.line for parent in parents])
        self._found.parents.add(
            heir, [each.attributes.get("ref") or each.required("ref").text() for each in parents]
        )

    def _job(self, task: int) -> str:
        line, name = self._jobs[task]
        return f"{self._path}:{line}: <{name} id>"

    def _heir(self, number: int) -> Attribute:
        where = f"{self._path}:{self._child_lines[number]}: <child ref>"
        return Attribute(where, self._heirs.name(number))

    def _parent(self, number: int) -> Attribute:
        where = f"{self._path}:{self._parent_lines[number]}: <parent ref>"
        return Attribute(where, self._found.parents.name(number))


def _stated_runtime(job: Element) -> Attribute | None:
    """Return the run time that a profile or metadata of a job state."""
    for entry in job.all("profile", "metadata"):
        is_ours = entry.name == "metadata" or entry.attributes.get("namespace") == "pegasus"
        if is_ours and entry.attributes.get("key") in RUNTIME and entry.text.strip():
            return Attribute(f"{entry.where}: <{entry.name}>", entry.text)
    return None


def _stated_size(owner: Element) -> int | None:
    """Return the bytes that a file or its use states."""
    found = owner.get("size")
    for entry in owner.all("metadata"):
        if found is None and entry.attributes.get("key") == "size" and entry.text.strip():
            found = Attribute(f"{entry.where}: <{entry.name}>", entry.text)
    return None if found is None else file_size(found.number(), found)
