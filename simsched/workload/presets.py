"""Workload presets: a generator with parameters in a YAML file.

A preset is one file: of the user, by its path, or in the top-level directory ``workloads``::

    generator: heat
    description: five-point heat distribution, 16 GB
    source: where the parameters come from
    parameters:
      rows: 229376
      leaf_bytes: 2 MiB
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import NoneType
from typing import Any

from pydantic import Field, model_validator

from simsched.files.errors import ConfigurationError, expect, unknown_name
from simsched.files.resources import data_dir
from simsched.files.yaml_reader import FieldError, Section, read_yaml
from simsched.names.user_code import is_file_spec
from simsched.workload.durations import split_durations
from simsched.workload.graph import Workload
from simsched.workload.graph_files import is_graph_file, read_graph_file, workload_spec
from simsched.workload.registry import (
    find_workload,
    generate_workload,
    list_workloads,
    resolve_parameters,
)


class Preset(Section):
    """A preset as its file describes it.

    Parameters
    ----------
    generator : str
        Name of a registered generator.
    description : str
        What it is, in one sentence.
    source : str
        Where the parameters come from.
    parameters : dict
        Parameters of the generator that differ from their defaults.
    """

    generator: str
    description: str = Field(min_length=1)
    source: str = Field(min_length=1)
    parameters: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> Preset:
        try:
            chosen = find_workload(self.generator)
        except ConfigurationError as error:
            raise FieldError(("generator",), str(error)) from error
        for key, value in self.parameters.items():
            try:
                resolve_parameters(chosen, {key: value})
            except ConfigurationError as error:
                raise FieldError(("parameters", key), str(error)) from error
        return self


def list_presets() -> list[str]:
    """Return the names of the shipped presets, sorted."""
    return sorted(path.stem for path in data_dir("workloads").glob("*.yaml"))


def is_preset_file(name: str) -> bool:
    """Return whether a name, without parameters, is that of a file with a preset."""
    return name.endswith((".yaml", ".yml"))


def load_preset(preset: str | Path) -> Preset:
    """Return a preset that ships, or of a YAML file."""
    if isinstance(preset, Path) or is_preset_file(preset):
        return read_yaml(Path(preset), Preset)
    if preset not in list_presets():
        raise ConfigurationError(unknown_name("workload preset", preset, list_presets()))
    return read_yaml(data_dir("workloads") / f"{preset}.yaml", Preset)


def make_workload(
    name: str | Path, params: Mapping[str, object] | None = None, seed: int = 0
) -> Workload:
    """Return the workload of a preset, a generator or a task graph file.

    Parameters
    ----------
    name : str or Path
        Name of a shipped preset, of a generator or of a task graph file, a Python file with a
        generator, or a YAML file with a preset; also with parameters (``heat[rows=1024]``,
        ``my.dot[cost=size, cost_unit=ops]``).
    params : mapping of str to object, optional
        Parameters that differ from those of the preset or from the generator's defaults; for any
        workload also ``durations``, see :mod:`simsched.workload.durations`.
    seed : int
        Seed of everything random in it, 0 by default.

    Returns
    -------
    Workload
        The same for the same seed.

    Raises
    ------
    ConfigurationError
        Unknown name, a file that is not a preset, or a parameter that is not accepted.
    """
    expect("workload", name, (str, Path), "a name, or the path of a file")
    expect("workload: params", params, (Mapping, NoneType), "a mapping of names to values")
    is_file = isinstance(name, str) and is_graph_file(name)
    if isinstance(name, str):
        spec = workload_spec(name)
        name, params = spec.name, {**spec.params, **(params or {})}
    if is_file:
        return read_graph_file(Path(name), params or {}, seed)
    if isinstance(name, str) and is_preset_file(name):
        name = Path(name)
    params, durations = split_durations(params or {}, f"workload {name}")
    made = _generated(name, params, seed)
    return made if durations is None else made.with_durations(durations, seed=seed)


def _generated(name: str | Path, params: Mapping[str, object], seed: int) -> Workload:
    """Return the workload of a preset or a generator."""
    presets, generators = list_presets(), [item.name for item in list_workloads()]
    if isinstance(name, str) and name not in presets:
        if name not in generators and not is_file_spec(name):
            raise ConfigurationError(unknown_name("workload", name, [*presets, *generators]))
        return generate_workload(name, params, seed)
    preset = load_preset(name)
    workload = generate_workload(preset.generator, {**preset.parameters, **params}, seed)
    return replace(workload, name=name.stem if isinstance(name, Path) else name)
