"""Other machines, workloads or policies for an experiment, by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from simsched.analysis.metrics import metric_names
from simsched.experiment.cells import MEASURED
from simsched.experiment.inputs import (
    build_policy,
    machine_named,
    workload_source,
)
from simsched.experiment.overrides import Chosen
from simsched.experiment.schema import (
    DEFAULT_METRICS,
    Experiment,
    PolicyEntry,
    labels,
    workload_named,
)
from simsched.files.bounded import noticing_directories
from simsched.files.errors import ConfigurationError, SimschedError
from simsched.files.yaml_reader import Document, validate_document
from simsched.names.specs import parse_spec


def choose(
    document: Document,
    machines: Sequence[str] = (),
    workloads: Sequence[str] = (),
    policies: Sequence[str] = (),
) -> list[str]:
    """Return assignments that replace all machines, workloads or policies of an experiment.

    Parameters
    ----------
    document : Document
        An experiment.
    machines, workloads, policies : sequence of str
        Names, files or specs; where there are none, the experiment's stay. A baseline that is not
        among the policies is taken out, so that the first of them is the baseline, and so are
        metrics that none of the machines has.

    Returns
    -------
    list of str
        ``KEY=VALUE``, for `simsched.experiment.overrides.apply_assignments`.

    Raises
    ------
    ConfigurationError
        The experiment is wrong, or a name is unknown; the message begins with the option.
    """
    experiment = validate_document(document, Experiment)
    base = document.path.parent if document.path is not None else Path()
    assignments = []
    made = [_try("machine", text, lambda text: machine_named(text, base)) for text in machines]
    for text in workloads:
        _try("workload", text, lambda text: workload_source(workload_named(text), base))
    chosen = [_try("policy", text, _policy) for text in policies]
    if policies and experiment.baseline not in {None, *policies, *labels(chosen)}:
        assignments.append("baseline=null")
    if machines:
        known = {*MEASURED, *(name for machine in made for name in metric_names(machine))}
        metrics = [name for name in experiment.metrics if name in known]
        assignments.append(f"metrics={json.dumps(metrics or list(DEFAULT_METRICS))}")
    entries = {
        "machines": list(machines),
        "workloads": list(workloads),
        "policies": list(policies),
    }
    options = {"machines": "--machine", "workloads": "--workload", "policies": "--policy"}
    return assignments + [
        Chosen(f"{key}={json.dumps(value)}", options[key])
        for key, value in entries.items()
        if value
    ]


def _try(what: str, text: str, make: Callable[[str], Any]) -> Any:
    """Return what a text stands for; errors begin with the option."""
    try:
        with noticing_directories(text, f"a {what}, by name or in a file"):
            return make(text)
    except SimschedError as error:
        raise ConfigurationError(f"--{what}: {error}") from error


def _policy(text: str) -> PolicyEntry:
    """Return the entry of a policy that can be made."""
    spec = parse_spec("policy", text)
    entry = PolicyEntry(name=spec.name, parameters=spec.params)
    build_policy(entry)
    return entry
