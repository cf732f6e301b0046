"""What of a kind has a family, a source, a kind of machine, or fits a program on a machine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from simsched.engine.fit import machine_kinds, rehearse
from simsched.files.errors import ConfigurationError, SimschedError, unknown_name
from simsched.files.resources import shipped
from simsched.files.yaml_reader import read_document
from simsched.machine import Machine, list_machines, load_machine
from simsched.names.docstrings import section
from simsched.names.specs import split_outside
from simsched.policy import list_policies, make_policy
from simsched.policy.contract.fit import MACHINE_KINDS
from simsched.workload.graph import Workload
from simsched.workload.presets import list_presets, load_preset, make_workload
from simsched.workload.registry import find_workload, list_workloads


@dataclass(frozen=True)
class Facets:
    """What a thing can be chosen by."""

    families: tuple[str, ...]
    #: Where it comes from, as text.
    source: str
    machine_kinds: tuple[str, ...]


def names_with(
    kind: str, family: str | None, source: str | None, machine_kind: str | None
) -> set[str]:
    """Return the names of things of a kind that have all that is asked for."""
    asked = {"--family": family, "--source": source, "--machine-kind": machine_kind}
    option = next(name for name, value in asked.items() if value is not None)
    if kind not in FACETS:
        raise ConfigurationError(f"{option}: found with {kind}, accepted with {', '.join(FACETS)}")
    known = dict(FACETS[kind]())
    families = sorted({each for facets in known.values() for each in facets.families})
    if family is not None and family not in families:
        raise ConfigurationError(f"--family: {unknown_name('family', family, families)}")
    if machine_kind is not None and machine_kind not in MACHINE_KINDS:
        what = unknown_name("kind of machine", machine_kind, MACHINE_KINDS)
        raise ConfigurationError(f"--machine-kind: {what}")
    return {
        name
        for name, facets in known.items()
        if (family is None or family in facets.families)
        and (source is None or source.casefold() in facets.source.casefold())
        and (machine_kind is None or machine_kind in facets.machine_kinds)
    }


def fits_of_policies(place: str, among: set[str] | None = None) -> dict[str, tuple[str, ...]]:
    """Return why policies do not fit a program on a machine, nothing for those that do.

    `place` is ``WORKLOAD,MACHINE``; what a policy refuses does not fit either. All policies are
    tried, or those `among` some.
    """
    words = [word.strip() for word in split_outside(place, ",")]
    if len(words) != 2 or not all(words):
        raise ConfigurationError(f"--fits: found {place!r}, accepted WORKLOAD,MACHINE")
    try:
        workload, machine = make_workload(words[0]), load_machine(words[1])
    except SimschedError as error:
        raise type(error)(f"--fits: {error}") from error
    names = [info.name for info in list_policies() if among is None or info.name in among]
    return {name: _misfits(machine, workload, name) for name in names}


def _misfits(machine: Machine, workload: Workload, name: str) -> tuple[str, ...]:
    try:
        return rehearse(machine, workload, make_policy(name))
    except SimschedError as error:
        return (str(error).partition(": ")[2] or str(error),)


@cache
def _kinds_of_machines() -> Mapping[str, tuple[str, ...]]:
    return {name: machine_kinds(load_machine(name)) for name in list_machines()}


def _machines() -> Iterator[tuple[str, Facets]]:
    """Yield machines; their family is the machine whose file they extend in the end."""
    files = {name: read_document(path).data for name, path in shipped("machines").items()}
    for name, kinds in _kinds_of_machines().items():
        root, texts = name, []
        while True:
            texts.append(str(files[root].get("sources", "")))
            base = files[root].get("extends")
            if base not in files:
                break
            root = base
        yield name, Facets((root,), " ".join(texts), kinds)


def _policies() -> Iterator[tuple[str, Facets]]:
    """Yield policies; those without needs of machines have all kinds of them."""
    for info in list_policies():
        needed = tuple(need.machine_kind for need in info.cls.needs if need.machine_kind)
        text = f"{info.references} {info.source}"
        yield info.name, Facets((info.family,), text, needed or MACHINE_KINDS)


def _workloads() -> Iterator[tuple[str, Facets]]:
    """Yield presets and generators, with the kinds of machines of experiments that have them."""
    kinds = _used_on()
    for name in list_presets():
        preset = load_preset(name)
        family = _family(preset.generator)
        yield name, Facets((family,), preset.source, kinds.get(name, ()))
    for item in list_workloads():
        text = " ".join(section(item.function.__doc__ or "", "References"))
        yield item.name, Facets((_family(item.name),), text, kinds.get(item.name, ()))


def _family(generator: str) -> str:
    return find_workload(generator).home.__name__.rpartition(".")[2]


def _used_on() -> dict[str, tuple[str, ...]]:
    """Return the kinds of machines beside which experiments and claims name each workload."""
    generators = {name: load_preset(name).generator for name in list_presets()}
    names = {*generators, *(item.name for item in list_workloads())}
    found: dict[str, dict[str, None]] = {}
    for folder in ("", "claims"):
        for path in shipped("experiments", folder).values():
            words = _words(path)
            kinds = dict.fromkeys(_kinds_in(words))
            for name in words & names:
                found.setdefault(name, {}).update(kinds)
                found.setdefault(generators.get(name, name), {}).update(kinds)
    return {name: tuple(kinds) for name, kinds in found.items()}


def _files(folder: str, *, named: bool = False) -> Iterator[tuple[str, Facets]]:
    """Yield YAML files; their families are those of the policies that they name, or `named` ones.

    What they say in words is their source.
    """
    families = {info.name: info.family for info in list_policies()}
    for name, path in shipped("experiments", folder).items():
        words = _words(path)
        of = dict.fromkeys(families[word] for word in sorted(words & families.keys()))
        text = " ".join(path.read_text(encoding="utf-8").split())
        own = (name,) if named else ()
        yield name, Facets((*own, *of), text, _kinds_in(words))


def _kinds_in(words: set[str]) -> tuple[str, ...]:
    known = _kinds_of_machines()
    machines = sorted(words & known.keys())
    return tuple(dict.fromkeys(kind for name in machines for kind in known[name]))


def _words(path: Path) -> set[str]:
    return set(re.findall(r"\w+", path.read_text(encoding="utf-8")))


FACETS: dict[str, Callable[[], Iterator[tuple[str, Facets]]]] = {
    "machines": _machines,
    "workloads": _workloads,
    "policies": _policies,
    "experiments": lambda: _files(""),
    "measurements": lambda: _files("hardware"),
    "claims": lambda: _files("claims", named=True),
}
