"""Names for the completion of words in a shell.

A function gets the beginning of a word and returns what it may become, some with a description that
zsh and fish show. Names of files are left to the shell, which offers them when nothing here fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

Names = list[tuple[str, str]]
Complete = Callable[[str], Names]

_MAX_HELP = 60


def _completion(names: Callable[[str], Iterable[tuple[str, str]]]) -> Complete:
    """Make a completion of a function that returns names; whatever fails offers nothing."""

    def complete(incomplete: str) -> Names:
        try:
            found = [(name, _short(text)) for name, text in names(incomplete)]
        except Exception:  # a broken plug-in must not garble the line that is being typed
            return []
        return [(name, text) for name, text in found if name.startswith(incomplete)]

    return complete


def _listed(names: Callable[[], Iterable[tuple[str, str]]]) -> Complete:
    """Make a completion of a function that returns all names there are."""
    return _completion(lambda _: names())


def _short(text: str) -> str:
    """Return the beginning of a description."""
    return text if len(text) <= _MAX_HELP else f"{text[: _MAX_HELP - 3].rstrip()}..."


@_listed
def machine() -> Iterable[tuple[str, str]]:
    """Return names of machines."""
    from simsched.machine import list_machines

    return [(name, "") for name in list_machines()]


@_completion
def policy(incomplete: str) -> Iterable[tuple[str, str]]:
    """Return names of policies and presets; behind a bracket those of parameters."""
    from simsched.policy.contract.registry import list_policies, policy_info

    if "[" in incomplete:
        from dataclasses import fields

        info = policy_info(incomplete.partition("[")[0])
        return _parameters(incomplete, [field.name for field in fields(info.cls)])
    return [(info.name, info.description) for info in list_policies()]


@_completion
def workload(incomplete: str) -> Iterable[tuple[str, str]]:
    """Return names of presets and generators; behind a bracket those of parameters."""
    from simsched.workload.presets import list_presets, load_preset
    from simsched.workload.registry import find_workload, list_workloads

    presets = list_presets()
    if "[" in incomplete:
        name = incomplete.partition("[")[0]
        generator = load_preset(name).generator if name in presets else name
        return _parameters(incomplete, find_workload(generator).parameters)
    return [
        *((name, "preset") for name in presets),
        *((item.name, item.summary) for item in list_workloads()),
    ]


def _parameters(incomplete: str, names: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Return what a spec may become by one parameter more."""
    at = max(incomplete.rfind("["), incomplete.rfind(","))
    return [(f"{incomplete[: at + 1]}{name}=", "") for name in names]


@_listed
def generator() -> Iterable[tuple[str, str]]:
    """Return names of workload generators."""
    from simsched.workload.registry import list_workloads

    return [(item.name, item.summary) for item in list_workloads()]


def _shipped(folder: str) -> Complete:
    """Return the completion of shipped files of one kind."""

    @_listed
    def names() -> Iterable[tuple[str, str]]:
        from simsched.files.resources import data_dir

        found = sorted(path.stem for path in (data_dir("experiments") / folder).glob("*.yaml"))
        return [(name, "") for name in found]

    return names


experiment = _shipped("")
measurement = _shipped("hardware")
family = _shipped("claims")


@_listed
def claim() -> Iterable[tuple[str, str]]:
    """Return ids of claims."""
    import re

    from simsched.files.resources import data_dir

    # Reading the files as YAML takes seconds.
    files = sorted((data_dir("experiments") / "claims").glob("*.yaml"))
    texts = [path.read_text(encoding="utf-8") for path in files]
    return [(name, "") for text in texts for name in re.findall(r"(?m)^\s*- id: (\S+)$", text)]


@_listed
def backend() -> Iterable[tuple[str, str]]:
    """Return names of engines."""
    from simsched.engine.run import BACKENDS

    return [(name, "") for name in BACKENDS]


@_listed
def kind() -> Iterable[tuple[str, str]]:
    """Return what can be listed."""
    from simsched.report.show.kinds import KINDS

    return [(name, "") for name in KINDS]


@_listed
def file_kind() -> Iterable[tuple[str, str]]:
    """Return kinds of YAML files."""
    from simsched.report.json_schema import KINDS

    return [(name, "") for name in KINDS]


@_listed
def program() -> Iterable[tuple[str, str]]:
    """Return what StarPU's examples are called here."""
    from simsched.reproduction.references import PROGRAMS

    return [(name, "") for name in PROGRAMS]


@_listed
def run_format() -> Iterable[tuple[str, str]]:
    """Return names of formats that can be written."""
    from simsched.trace.exporters import exporters

    return [(name, "") for name in dict.fromkeys([*exporters(), "graphml", "dot"])]


@_listed
def trace_format() -> Iterable[tuple[str, str]]:
    """Return names of formats that can be read."""
    from simsched.trace.importers import trace_importers

    return [(name, "") for name in [*trace_importers(), "starpu_sampling"]]


@_listed
def key() -> Iterable[tuple[str, str]]:
    """Return beginnings of ``KEY=VALUE`` for an experiment."""
    from simsched.experiment.schema import Experiment
    from simsched.names.docstrings import parameter_texts

    texts = parameter_texts(Experiment)
    return [(f"{name}=", texts.get(name, "")) for name in Experiment.model_fields]
