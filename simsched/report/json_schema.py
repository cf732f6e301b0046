"""JSON Schemas of all YAML files, for editors: keys, values and names with descriptions.

They are made from the models that read the files. What a model cannot say about itself is said
here: how a value is written that a validator converts (`_WRITTEN`), and which parameters policies,
workloads and programs have. Descriptions are those of the docstrings. Only what draft 7 has is
used, because language servers have that.

A schema accepts whatever the reader of the file accepts; it does not refuse everything that the
reader refuses, such as a baseline that is no policy of the experiment.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from simsched.experiment import schema
from simsched.experiment.schema import Experiment, MachineEntry, PolicyEntry, WorkloadEntry
from simsched.files import units
from simsched.files.errors import ConfigurationError, unknown_name
from simsched.hardware import measure_schema
from simsched.hardware.measure_schema import Matrix, ProgramEntry
from simsched.hardware.program import programs
from simsched.machine import values
from simsched.machine.load import STORAGE
from simsched.machine.model import RuntimeCosts, cost_name
from simsched.machine.schema import Costs, MachineFile
from simsched.names import yaml_fields
from simsched.names.docstrings import parameter_texts, summary
from simsched.names.parameters import Parameter
from simsched.names.registry import Entry
from simsched.policy.contract.registry import list_policies
from simsched.report.show.kinds import describe_kind
from simsched.reproduction import schema as claims_schema
from simsched.reproduction.schema import ClaimsFile
from simsched.workload.durations import KEY
from simsched.workload.graph_files import SUFFIXES
from simsched.workload.presets import Preset, list_presets, load_preset
from simsched.workload.registry import list_workloads

Json = dict[str, Any]
DRAFT = "http://json-schema.org/draft-07/schema#"
KINDS: dict[str, type[BaseModel]] = {
    "experiment": Experiment,
    "machine": MachineFile,
    "claims": ClaimsFile,
    "measurement": Matrix,
    "workload": Preset,
}
_SPEC = r"^[^\[\]]+\[.*\]\s*$"
_YAML = r"\.ya?ml$"
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}


def schema_of(kind: str) -> Json:
    """Return the JSON Schema (draft 7) of the YAML files of one of `KINDS`."""
    if kind not in KINDS:
        raise ConfigurationError(unknown_name("kind of file", kind, KINDS))
    _known.cache_clear()
    found = KINDS[kind].model_json_schema(schema_generator=_Generator)
    found = _plain_references(found)
    return {"$schema": DRAFT, "$id": f"simsched-{kind}.schema.json", **found}


class _Generator(GenerateJsonSchema):
    """Describes values as they are written in files, and models by their docstrings."""

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> Json:
        """Return what a validator accepts that converts a value."""
        inner = self.generate_inner(schema["schema"])
        written = _WRITTEN.get(schema["function"]["function"])
        return inner if written is None else written(inner)

    def chain_schema(self, schema: core_schema.ChainSchema) -> Json:
        """Return a value with its source, the only thing that is checked in steps."""
        value = self.generate_inner(schema["steps"][1]["items_schema"][0])
        source = {
            "type": "string",
            "title": "Source",
            "description": "Where the value comes from; the first word is a key of sources.",
            "minLength": 1,
        }
        return {
            "type": "array",
            "items": [value, source],
            "additionalItems": False,
            "minItems": 2,
        }

    def model_schema(self, schema: core_schema.ModelSchema) -> Json:
        """Return a model's keys, each with what its docstring says."""
        found = super().model_schema(schema)
        model = schema["cls"]
        texts = parameter_texts(model)
        found["description"] = summary(model)
        for name, info in model.model_fields.items():
            key = info.alias or name
            described = found["properties"][key]
            described.setdefault("title", key)
            if name in texts:
                described["description"] = _prose(texts[name])
        if model in _COMPLETED:
            _COMPLETED[model](found)
        return found


def _prose(text: str) -> str:
    """Return text of a docstring as Markdown."""
    return re.sub(r":\w+:`~?(?:\w+\.)*(\w+)`", r"`\1`", text).replace("``", "`")


@cache
def _presets() -> dict[str, Preset]:
    """Return all shipped presets of workloads; reading them takes a while."""
    return {name: load_preset(name) for name in list_presets()}


# How values are written -------------------------------------------------------------------------


def _quantity(dimension: units.Dimension) -> Callable[[Json], Json]:
    """Return the schema of a number with its unit."""
    unit = "|".join(dimension.units)
    pattern = rf"^\s*[+]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*({unit})\s*$"
    shown = {"type": "string", "pattern": pattern, "examples": [dimension.example]}
    return lambda _: {**shown, "description": f"Accepted: {dimension.accepted}."}


def _or_one(inner: Json) -> Json:
    """Return the schema of a list, or of one of its entries."""
    return {"anyOf": [inner["items"], inner]}


def _or_name(names: Callable[[], Json]) -> Callable[[Json], Json]:
    """Return the schema of a name, or of a mapping."""
    return lambda inner: {"anyOf": [names(), inner]}


def _by_size(inner: Json) -> Json:
    """Return the schema of a time, or of times by size."""
    time = inner["items"]["prefixItems"][1]
    return {"anyOf": [time, {"type": "object", "additionalProperties": time, "minProperties": 1}]}


def _by_flows(inner: Json) -> Json:
    """Return the schema of rates by number of flows, as a list from 1 on or as a mapping."""
    rate = inner["items"]["prefixItems"][1]
    numbers = {"pattern": r"^[1-9][0-9]*$"}
    mapping = {"additionalProperties": rate, "propertyNames": numbers, "minProperties": 1}
    return {
        "anyOf": [{"type": "array", "items": rate, "minItems": 1}, {"type": "object", **mapping}]
    }


_TOLERANCE = {
    "anyOf": [
        {"type": "string", "pattern": r"^\d+(\.\d+)? ?%$", "examples": ["10 %"]},
        {"type": "number", "minimum": 0},
    ]
}
_SIZE = _quantity(units.SIZE)


def _names(names: Mapping[str, str], *patterns: str) -> Json:
    """Return the schema of a name with its description, or of text that fits a pattern."""
    known: Json = {"enum": list(names)}
    if any(names.values()):
        known["enumDescriptions"] = list(names.values())
    return {"anyOf": [known, *({"type": "string", "pattern": text} for text in patterns)]}


def _named(kind: str, *patterns: str) -> Json:
    """Return the schema of what there is of a kind, or of text that fits a pattern."""
    return _names(_known(kind), *patterns)


@cache
def _known(kind: str) -> dict[str, str]:
    """Return what there is of a kind, until the next schema is asked for."""
    return {row["name"]: row["description"] for row in describe_kind(kind).data}


def _machine_name() -> Json:
    return _named("machines", _YAML)


def _policy_name() -> Json:
    return _named("policies", _SPEC, r"\.py(:\w+)?$")


def _workload_name() -> Json:
    endings = "|".join(ending.removeprefix(".") for ending in SUFFIXES)
    return _named("workloads", _SPEC, rf"\.({endings})(\.gz)?$")


def _program_name() -> Json:
    return _names(dict.fromkeys(programs(), ""), _SPEC)


def _seeds(inner: Json) -> Json:
    return {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 100_000}, inner]}


def _versus(inner: Json) -> Json:
    one = {"anyOf": [{"type": "string"}, inner["items"]]}
    return {"anyOf": [one, {"type": "array", "items": one}]}


#: What validators accept, from the schema of what they return.
_WRITTEN: dict[Any, Callable[[Json], Json]] = {
    units.parse_bandwidth: _quantity(units.BANDWIDTH),
    units.parse_frequency: _quantity(units.FREQUENCY),
    units.parse_time: _quantity(units.TIME),
    units.parse_seconds: _quantity(units.TIME),
    values.positive_size: _SIZE,
    values.size_or_none: _SIZE,
    yaml_fields.as_list: _or_one,
    values.by_size: _by_size,
    values.by_flows: _by_flows,
    yaml_fields.one_or_more: _or_one,
    yaml_fields.file_name: lambda inner: {**inner, "pattern": f"^{yaml_fields.NAME.pattern}$"},
    schema.machine_entry: _or_name(_machine_name),
    schema.workload_entry: _or_name(_workload_name),
    schema.policy_entry: _or_name(_policy_name),
    schema.seed_list: _seeds,
    measure_schema.program_entry: _or_name(_program_name),
    measure_schema.counts: _or_one,
    claims_schema.tolerance_of: lambda _: copy.deepcopy(_TOLERANCE),
    claims_schema.versus_list: _versus,
    claims_schema.value_lists: lambda _: {"type": "object"},
}


# What the models leave open ---------------------------------------------------------------------


def _parameters(entry: Entry[Any]) -> Json:
    """Return the schemas of the parameters of a policy, workload or program."""
    texts = parameter_texts(entry.function)
    return {
        name: {"title": name, "description": _prose(texts.get(name, "")), **_values(parameter)}
        for name, parameter in entry.parameters.items()
    }


def _values(parameter: Parameter) -> Json:
    """Return the schema of the values of a parameter, with its default where JSON has it."""
    bounds = {"minimum": parameter.bounds.low, "maximum": parameter.bounds.high}
    found: Json = {key: limit for key, limit in bounds.items() if limit is not None}
    if parameter.type in _TYPES:
        found["type"] = _TYPES[parameter.type]
    if parameter.choices:
        found["enum"] = list(parameter.choices)
    if isinstance(parameter.default, bool | int | str) or _is_finite(parameter.default):
        found["default"] = parameter.default
    others = [{"type": "null"}] if parameter.optional else []
    if parameter.dimension is not None:
        others.append(_quantity(parameter.dimension)({}))
    return {"anyOf": [found, *others]} if others else found


def _is_finite(value: object) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def _name(found: Json, key: str, names: Json) -> None:
    """Let a key have one of some names."""
    found["properties"][key] |= names
    found["properties"][key].pop("type", None)


def _if_named(key: str, names: list[str], properties: Json) -> Json:
    """Return the schema of a mapping that has some keys when another one has one of some names."""
    return {
        "if": {"properties": {key: {"enum": names}}, "required": [key]},
        "then": {"properties": properties},
    }


def _beside(found: Json, known: Mapping[str, Json]) -> None:
    """Accept, beside a name, the parameters of what it names, and only these."""
    found["properties"].pop("parameters")
    found.pop("additionalProperties")
    own = dict.fromkeys(found["properties"], True)
    # Presets of one class share its parameters: many names, one condition.
    groups: dict[str, tuple[list[str], Json]] = {}
    for key, parameters in known.items():
        groups.setdefault(repr(parameters), ([], parameters))[0].append(key)
    found["allOf"] = [
        _if_named("name", names, {**own, **parameters}) for names, parameters in groups.values()
    ]
    for condition in found["allOf"]:
        condition["then"]["additionalProperties"] = False


def _complete_machine_entry(found: Json) -> None:
    _name(found, "name", _machine_name())
    time, size = _quantity(units.TIME)({}), _quantity(units.SIZE)({})
    texts = parameter_texts(Costs)
    costs = {}
    for field in fields(RuntimeCosts):
        name = cost_name(field.name)
        one = {"title": name, "description": texts[name]}
        value = size if field.name.endswith("_bytes") else time
        several = isinstance(field.default, tuple)
        values = {"anyOf": [value, {"type": "array", "items": value}]} if several else value
        costs[f"costs.{name}"] = {**values, **one}
    costs[STORAGE] = {
        **_quantity(units.BANDWIDTH)({}),
        "title": STORAGE,
        "description": "Rate of the disk on which all data lie instead of memory.",
    }
    sections = [name for name in MachineFile.model_fields if name not in {"costs", "sources"}]
    found["properties"]["set"] |= {
        "properties": costs,
        "patternProperties": {rf"^({'|'.join(sections)})\\..": {}},
        "additionalProperties": False,
    }


def _complete_workload_entry(found: Json) -> None:
    _name(found, "name", _workload_name())
    known = {item.name: _parameters(item) for item in list_workloads()}
    presets = {name: known[preset.generator] for name, preset in _presets().items()}
    text = {"type": "string"}
    found["properties"][KEY] = {
        "title": KEY,
        "description": "Random durations of tasks, or of each class of them.",
        "anyOf": [text, {"type": "object", "additionalProperties": text}],
    }
    _beside(found, {**known, **presets})
    found["anyOf"] = [{"required": ["name"]}, {"required": ["file"]}]


def _complete_policy_entry(found: Json) -> None:
    _name(found, "name", _policy_name())
    _beside(found, {info.name: _parameters(info) for info in list_policies()})


def _complete_program_entry(found: Json) -> None:
    _name(found, "name", _program_name())
    _beside(found, {name: _parameters(item) for name, item in programs().items()})


def _complete_preset(found: Json) -> None:
    _name(found, "generator", _names({i.name: i.summary for i in list_workloads()}))
    found["allOf"] = [
        _if_named(
            "generator",
            [item.name],
            {
                "parameters": {
                    "title": "parameters",
                    "description": f"Parameters of {item.name}.",
                    "properties": _parameters(item),
                    "additionalProperties": False,
                }
            },
        )
        for item in list_workloads()
    ]


def _complete_machine_file(found: Json) -> None:
    found["properties"]["extends"] = {
        **_machine_name(),
        "title": "extends",
        "description": "A machine whose sections are taken where this file has none.",
    }
    required = found.pop("required")
    found["if"] = {"not": {"required": ["extends"]}}
    found["then"] = {"required": required}


def _complete_selection(found: Json) -> None:
    found["properties"]["experiment"] |= _named("experiments", _YAML)
    if "probe" in found["properties"]:
        found["properties"]["probe"] |= _named("probes")


#: What is added to the schemas of single models.
_COMPLETED: dict[type[BaseModel], Callable[[Json], None]] = {
    MachineEntry: _complete_machine_entry,
    WorkloadEntry: _complete_workload_entry,
    PolicyEntry: _complete_policy_entry,
    ProgramEntry: _complete_program_entry,
    Preset: _complete_preset,
    MachineFile: _complete_machine_file,
    claims_schema.Selection: _complete_selection,
    claims_schema.Term: _complete_selection,
    claims_schema.Claim: _complete_selection,
}


def _plain_references(value: Any) -> Any:
    """Return a schema in which nothing stands beside a reference, where draft 7 would ignore it."""
    if isinstance(value, list):
        return [_plain_references(item) for item in value]
    if not isinstance(value, dict):
        return value
    plain = {key: _plain_references(item) for key, item in value.items()}
    if isinstance(plain.get("$ref"), str) and len(plain) > 1:
        reference = plain.pop("$ref")
        plain["allOf"] = [{"$ref": reference}, *plain.get("allOf", [])]
    return plain
