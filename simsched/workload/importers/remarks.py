"""What users of a task graph file should know about how it was read."""

from __future__ import annotations

from simsched.workload.durations import KEY, durations_text
from simsched.workload.graph import Workload


def facts(workload: Workload) -> list[str]:
    """Return what was made of costs and data, one line each, by counts that the importer left."""
    about, edges = workload.parameters, workload.graph.n_edges
    found = []
    if about.get("ops_per_cost_unit") is not None:
        unit, costs, ops = about.get("cost_unit"), about.get("cost"), about["ops_per_cost_unit"]
        if not isinstance(costs, dict) or not isinstance(ops, dict):
            costs, ops = {"": costs}, {"": ops}
        for kind, cost in costs.items():
            each = (
                "operations" if unit == "ops" else f"1 {unit} is {_shown(ops.get(kind))} operations"
            )
            found.append(f"cost of a task{f' on {kind}' * bool(kind)}: attribute {cost!r}, {each}")
    if about.get("task_cost") is not None:
        of = f"{about.get('tasks_of_task_cost')} of {workload.graph.n_tasks} tasks"
        found.append(f"cost of {of}: {_costs(about['task_cost'])} (task_cost)")
    if about.get("ops_per_cost_unit") is None and about.get("reference_speed") is not None:
        source = about.get("reference_speed_source", "")
        times = f"1 s is {_shown(about['reference_speed'])} operations"
        found.append(f"cost of a task: run time, {times}" + (f" ({source})" if source else ""))
    if "edges_without_bytes" in about:
        found.append(f"edges without data: {about['edges_without_bytes']} of {edges}")
    left_out = about.get("left_out")
    if isinstance(left_out, dict):
        found += [f"left out: {what}: {count}" for what, count in left_out.items()]
    if about.get("dependences_on_absent_tasks"):
        found.append(f"dependences on absent tasks: {about['dependences_on_absent_tasks']}")
    if "files_of_size_zero" in about:
        sizes = f"{about['files_of_size_zero']} of {about.get('files')}"
        found.append(f"files of size zero, left out: {sizes}")
    if "size_unit" in about:
        found.append(f"unit of file sizes: {about['size_unit']} ({about.get('size_unit_source')})")
    if KEY in about:
        found.append(f"random durations: {durations_text(about[KEY])}")
    return found


def doubts(workload: Workload) -> list[str]:
    """Return what is allowed in a task graph file but looks like a mistake, one sentence each."""
    about, edges = workload.parameters, workload.graph.n_edges
    found = []
    if edges and about.get("edges_without_bytes") == edges:
        options = ("edge_bytes", "bytes_per_unit")
        unnamed = next((f" ({key} is not given)" for key in options if key in about), "")
        found.append(f"no edge carries data{unnamed * all(about.get(k) is None for k in options)}")
    if about.get("size_unit") == "kB" and "Makeflow" in str(about.get("size_unit_source")):
        found.append(
            "sizes of files are taken times 1000, because Makeflow states kB under sizeInBytes; "
            "the option size_unit=bytes takes them as they are"
        )
    if several := about.get("files_of_several_sizes"):
        found.append(
            f"{several} of {about.get('files')} files have several sizes; those count that are "
            "stated where the files are written"
        )
    return found


def _costs(given: object) -> str:
    """Return costs that the user has given as text."""
    if not isinstance(given, dict):
        return str(given)
    return ", ".join(f"{name} {cost}" for name, cost in given.items())


def _shown(value: object) -> str:
    """Return a number shortly; files of our own may hold anything."""
    return f"{value:g}" if isinstance(value, int | float) else str(value)
