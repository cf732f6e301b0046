"""Names for the completion of words in a shell.

A function gets the beginning of a word and returns what it may become, some with a description that
zsh and fish show. Names of files are left to the shell, which offers them when nothing here fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module

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


def _listed(module: str, what: str, *more: str) -> Complete:
    """Return the completion of names that a module has, or that a function of it returns.

    The module is imported when somebody presses the key.
    """

    def names(incomplete: str) -> Iterable[tuple[str, str]]:
        del incomplete  # compared with all of them later
        found = getattr(import_module(f"simsched.{module}"), what)
        known = found() if callable(found) else found
        return [(name, "") for name in dict.fromkeys([*known, *more])]

    return _completion(names)


def _shipped(folder: str) -> Complete:
    """Return the completion of shipped files of one kind."""

    @_completion
    def names(incomplete: str) -> Iterable[tuple[str, str]]:
        from simsched.files.resources import shipped

        del incomplete  # compared with all of them later
        return [(name, "") for name in shipped("experiments", folder)]

    return names


def _short(text: str) -> str:
    """Return the beginning of a description."""
    return text if len(text) <= _MAX_HELP else f"{text[: _MAX_HELP - 3].rstrip()}..."


@_completion
def policy(incomplete: str) -> Iterable[tuple[str, str]]:
    """Return names of policies and presets; behind a bracket those of parameters."""
    if "[" in incomplete:
        from simsched.policy.contract.registry import policy_info

        return _parameters(incomplete, policy_info(incomplete.partition("[")[0]).parameters)
    return _described("policies")


@_completion
def workload(incomplete: str) -> Iterable[tuple[str, str]]:
    """Return names of presets and generators; behind a bracket those of parameters."""
    if "[" in incomplete:
        from simsched.workload.presets import list_presets, load_preset
        from simsched.workload.registry import find_workload

        name = incomplete.partition("[")[0]
        generator = load_preset(name).generator if name in list_presets() else name
        return _parameters(incomplete, find_workload(generator).parameters)
    return _described("workloads")


def _described(kind: str) -> Iterable[tuple[str, str]]:
    """Return what a list has of one kind."""
    from simsched.report.show.kinds import describe_kind

    return [(row["name"], row["description"]) for row in describe_kind(kind).data]


def _parameters(incomplete: str, names: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Return what a spec may become by one parameter more."""
    at = max(incomplete.rfind("["), incomplete.rfind(","))
    return [(f"{incomplete[: at + 1]}{name}=", "") for name in names]


@_completion
def claim(incomplete: str) -> Iterable[tuple[str, str]]:
    """Return ids of claims."""
    import re

    from simsched.files.resources import shipped

    # Reading the files as YAML takes seconds.
    files = shipped("experiments", "claims").values()
    texts = [path.read_text(encoding="utf-8") for path in files]
    pattern = rf"(?m)^\s*- id: ({re.escape(incomplete)}\S*)$"
    return [(name, "") for text in texts for name in re.findall(pattern, text)]


@_completion
def key(incomplete: str) -> Iterable[tuple[str, str]]:
    """Return beginnings of ``KEY=VALUE`` for an experiment."""
    from simsched.experiment.schema import Experiment
    from simsched.names.docstrings import parameter_texts

    del incomplete  # compared with all of them later
    texts = parameter_texts(Experiment)
    return [(f"{name}=", texts.get(name, "")) for name in Experiment.model_fields]


machine = _listed("machine", "list_machines")
backend = _listed("engine.run", "BACKENDS")
kind = _listed("report.show.kinds", "KINDS")
file_kind = _listed("report.json_schema", "KINDS")
program = _listed("reproduction.references", "PROGRAMS")
figure = _listed("report.result_pictures", "FIGURES")
run_format = _listed("trace.exporters", "exporters")
trace_format = _listed("trace.importers", "trace_importers", "starpu_sampling")
graph_format = _listed("workload.importers", "importers")
experiment = _shipped("")
measurement = _shipped("hardware")
family = _shipped("claims")


def read_format(incomplete: str) -> Names:
    """Return formats of traces and of task graph files."""
    return sorted({*trace_format(incomplete), *graph_format(incomplete)})
