"""Checking a file of any kind that simsched reads; what checks one kind is imported for it."""

from __future__ import annotations

from pathlib import Path

from simsched.files.bounded import is_directory, is_there, unreadable
from simsched.files.errors import ConfigurationError
from simsched.files.units import plural
from simsched.files.yaml_reader import Document, read_document
from simsched.machine import check_machine, load_machine
from simsched.machine.schema import MachineFile
from simsched.report.check_code import check_code, is_code
from simsched.reproduction.schema import ClaimsFile
from simsched.workload.presets import Preset, load_preset, make_workload

EXPERIMENT_KEYS = {"policies", "machines", "workloads", "seeds"}
MEASUREMENT_KEYS = {"policies", "programs", "repetitions", "warmup", "seed"}


def check_file(name: str, *, complete: bool = False) -> tuple[list[str], list[str]]:
    """Check a file of any kind; return what it contains, and what looks like a mistake in it.

    A task graph may have options, such as ``my.dot[cost=size, cost_unit=ops]``. A Python file with
    policies, workloads or placements is executed; ``FILE.py:NAME`` is one thing in it. All runs of
    an experiment are tried, however long it takes, if the check is to be `complete`.
    """
    if is_directory(Path(name)):
        raise ConfigurationError(f"{name}: found a directory, accepted: a file")
    if is_code(name):
        return check_code(name), []
    path = Path(name)
    if path.suffix not in {".yaml", ".yml"}:
        from simsched.workload.graph_files import graph_file_spec, read_graph_file
        from simsched.workload.importers.remarks import doubts, facts

        file, options = graph_file_spec(name)
        path = Path(file)
        if not is_there(path):
            message = f"{unreadable(path, FileNotFoundError())}; accepted: the path of a file"
            raise ConfigurationError(message)
        workload = read_graph_file(path, options)
        graph = workload.graph
        size = f"{plural(graph.n_tasks, 'task')}, {plural(graph.n_edges, 'edge')}"
        lines = [f"{path}: task graph, {size}: correct", *facts(workload)]
        return lines, [f"{path}: {text}" for text in doubts(workload)]
    document = read_document(path)
    kind = kind_of(document)
    if kind == "experiment":
        from simsched.experiment.rehearsal import check_runs, said
        from simsched.experiment.study import Study

        study = Study.from_yaml(document)
        doubtful = [f"{path}: {text}" for text in said(check_runs(study, complete=complete))]
        return [f"{path}: experiment with {plural(len(study.cells), 'run')}: correct"], doubtful
    if kind == "claims":
        from simsched.reproduction.claims import load_family

        family = load_family(document)
        left = sum(item.claim.not_evaluable is not None for item in family.claims)
        return [f"{path}: {plural(len(family.claims), 'claim')}, {left} not evaluable: correct"], []
    if kind == "measurement":
        from simsched.hardware.measure import number_of_runs
        from simsched.hardware.measure_schema import read_matrix

        matrix = read_matrix(document)
        return [f"{path}: measurement with {plural(number_of_runs(matrix), 'run')}: correct"], []
    if kind == "workload":
        load_preset(path)
        workload = make_workload(path)
        workload.validate()
        return [f"{path}: workload preset, {plural(workload.graph.n_tasks, 'task')}: correct"], []
    warnings = check_machine(path)
    machine = load_machine(path)
    threads = f"{plural(machine.n_cores, 'core')}, {plural(len(machine.nodes), 'memory node')}"
    return [f"{path}: machine, {threads}: correct"], warnings


def kind_of(document: Document) -> str:
    """Return the kind that most of the keys fit."""
    document.expect_mapping()
    keys = set(document.data)
    fitting = {
        "experiment": len(keys & EXPERIMENT_KEYS),
        "measurement": len(keys & MEASUREMENT_KEYS),
        "claims": len(keys & (set(ClaimsFile.model_fields) - {"description"})),
        "workload": len(keys & (set(Preset.model_fields) - {"description"})),
        "machine": len(keys & ({*MachineFile.model_fields, "extends"} - {"description"})),
    }
    best = max(fitting, key=lambda kind: fitting[kind])
    if not fitting[best]:
        raise ConfigurationError(
            f"{document.path}: found neither a machine (memory, paths, ...), a workload preset "
            "(generator, parameters), an experiment (machines, workloads, policies), a measurement "
            "(programs, policies) nor claims (sources, claims)"
        )
    return best
