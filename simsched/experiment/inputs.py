"""From what an experiment names to what is simulated: machines, workloads, policies."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

import numpy as np

from simsched.engine.processors import check_processors, used_threads
from simsched.engine.timings import timed
from simsched.experiment.fingerprint import (
    content_key,
    file_digest,
    module_digest,
    source_digest,
    typed_digest,
)
from simsched.experiment.schema import MachineEntry, WorkloadEntry
from simsched.files.bounded import is_there
from simsched.files.errors import ConfigurationError, unknown_name
from simsched.files.resources import data_dir
from simsched.files.units import parse_size, parse_time
from simsched.files.yaml_reader import validate
from simsched.machine import load_machine
from simsched.machine.model import Machine, RuntimeCosts, cost_name
from simsched.names.parameters import parameters_of
from simsched.names.registry import place_of
from simsched.names.typed_in import parts_of
from simsched.names.user_code import is_file_spec, split_file_spec
from simsched.policy import Policy, make_policy
from simsched.policy.contract.registry import policy_info
from simsched.workload.durations import parse_durations, split_durations
from simsched.workload.graph import Workload
from simsched.workload.graph_files import read_graph_file
from simsched.workload.importers import importers
from simsched.workload.presets import Preset, is_preset_file, list_presets, load_preset
from simsched.workload.registry import (
    find_workload,
    generate_workload,
    is_found_anywhere,
    list_workloads,
    resolve_parameters,
)

LARGEST_BLOCK_BYTES = 2**52  #: of which engines know every byte
CHANGED = (
    "found another content than when the experiment began, or other versions of packages that it "
    "imports; run it again, on a cluster with the same packages everywhere"
)


def build_machine(entry: MachineEntry, base: Path, made: Machine | None = None) -> Machine:
    """Return the machine of an experiment's entry; `made` is the object that its name means."""
    is_file = entry.name.endswith((".yaml", ".yml"))
    name: str | Path = located(entry.name, base) if is_file else entry.name
    costs = {key: value for key, value in entry.set.items() if key.startswith("costs.")}
    others = {key: value for key, value in entry.set.items() if key not in costs}
    if made is None:
        made = _loaded(name, _stamp(name), json.dumps(others, default=str))
    if entry.workers is not None:
        made.place_workers(entry.workers, entry.pinning)
    return with_costs(made, costs) if costs else made


def machine_named(name: str, base: Path) -> Machine:
    """Return a machine as it ships, or as its file says, relative to a directory."""
    return build_machine(validate({"name": name}, MachineEntry, "machine"), base)


def located(name: str, base: Path) -> Path:
    """Return a file that an experiment names: beside it, or from the working directory.

    One that is in neither is looked for beside the user's experiment; nobody adds to what ships.
    """
    named = Path(name).expanduser()
    places = base / named, named
    missing = places[base == data_dir("experiments")]
    return next(filter(is_there, places), missing)


def located_code(spec: str, base: Path) -> str:
    """Return a name; of ``FILE.py`` and ``FILE.py:NAME`` with the place of the file.

    See :func:`located`.
    """
    if not is_file_spec(spec):
        return spec
    file, name = split_file_spec(spec)
    found = located(str(file), base)
    return f"{found}:{name}" if name else str(found)


def policy_named(name: str, parameters: Mapping[str, Any], base: Path) -> Policy:
    """Return a policy; files that its name and its parameters name are :func:`located`."""
    name = located_code(name, base)
    declared = parameters_of(policy_info(name).cls)
    values = dict(parameters)
    for key, value in parameters.items():
        if isinstance(value, str) and value:
            is_file = key in declared and declared[key].is_file
            values[key] = str(located(value, base)) if is_file else located_code(value, base)
    return make_policy(name, values)


@lru_cache(maxsize=64)
def _loaded(name: str | Path, _stamp: float, changes: str) -> Machine:
    return load_machine(name, json.loads(changes))


def _stamp(name: str | Path) -> float:
    """Return when a file has changed last; 0 for a shipped machine or a file that is missing."""
    try:
        return name.stat().st_mtime if isinstance(name, Path) else 0.0
    except OSError:
        return 0.0


def with_costs(machine: Machine, changes: dict[str, Any]) -> Machine:
    """Return a machine with other runtime costs, by ``costs.NAME``.

    They are times (of ``device_chunk`` a size) with units; a list by distance where the cost
    depends on it.
    """
    known = {f"costs.{cost_name(f.name)}": f for f in fields(RuntimeCosts)}
    costs: dict[str, Any] = {}
    for key, value in changes.items():
        where = f"machine {machine.name}: set: {key}"
        if key not in known:
            raise ConfigurationError(
                f"machine {machine.name}: set: {unknown_name('key', key, known)}"
            )
        by_distance = isinstance(known[key].default, tuple)
        is_size = known[key].name.endswith("_bytes")
        values = value if isinstance(value, list) else [value]
        if not values or (len(values) > 1 and not by_distance):
            raise ConfigurationError(f"{where}: found {value!r}, accepted: one value")
        try:
            found = tuple((parse_size if is_size else parse_time)(item) for item in values)
        except ValueError as error:
            raise ConfigurationError(f"{where}: {error}") from error
        costs[known[key].name] = found if by_distance else found[0]
    return replace(machine, costs=replace(machine.costs, **costs))


@dataclass(frozen=True)
class WorkloadSource:
    """A workload that can be built, here or in another process."""

    #: Preset or generator; empty for a file.
    name: str
    #: The generator, or ``FILE.py:NAME``; empty for a task graph file.
    generator: str
    #: Task graph file.
    path: Path | None
    #: Its format, where the name does not tell.
    format: str | None
    #: All parameters of the generator, or options of the format.
    parameters: dict[str, Any]
    #: Hash of the file, or of the code of a generator from outside the package.
    origin: str
    #: Random durations that are laid over it, as the experiment says.
    durations: Any = None
    seed: int = 0
    #: Hash of everything that determines the task graph.
    content: str = ""

    def seeded(self, seed: int) -> WorkloadSource:
        """Return the workload for a seed: the same for all without anything random in it."""
        if not self.is_random:
            seed = 0
        return replace(self, seed=seed, content=content_key(self._decisive(seed)))

    @property
    def is_random(self) -> bool:
        """Whether it differs from seed to seed."""
        if self.durations is not None:
            return True
        return self.path is None and find_workload(self.generator).is_random(self.parameters)

    def _decisive(self, seed: int) -> dict[str, Any]:
        laid = {} if self.durations is None else {"durations": self.durations, "seed": seed}
        return {**self._made_of(seed), **laid}

    def _made_of(self, seed: int) -> dict[str, Any]:
        if self.path is not None:
            reader = self.format or _suffix(self.path)
            return {"file": self.origin, "format": reader, **self.parameters}
        generator = self.generator.rpartition(":")[2]  # wherever its file may be
        parts = {"generator": generator, "seed": seed, "parameters": self.parameters}
        return {**parts, "origin": self.origin} if self.origin else parts

    @property
    def in_files(self) -> bool:
        """Whether all that makes it was read from files, so that `content` tells all of it."""
        return self.path is not None or find_workload(self.generator).in_files

    @property
    def file(self) -> Path | None:
        """Task graph file, or the Python file of the generator when that is known by its path."""
        in_file = is_file_spec(self.generator)
        return split_file_spec(self.generator)[0] if in_file else self.path

    def moved(self, file: Path) -> WorkloadSource:
        """Return the workload with its file in another place."""
        if self.path is not None:
            return replace(self, path=file)
        generator = f"{file}:{split_file_spec(self.generator)[1]}"
        name = generator if self.name == self.generator else self.name
        return replace(self, name=name, generator=generator)

    @property
    def portable(self) -> bool:
        """Whether another process can build it."""
        return self.path is not None or is_found_anywhere(self.generator)

    def build(self) -> Workload:
        """Return the workload; the last one built is kept.

        It is refused if file or generator is not the one that the experiment was planned with.
        """
        with _building:
            if self.content not in _built:
                _built.clear()
                made, laid = self._build(), self.durations
                if laid is not None:
                    made = made.with_durations(laid, seed=self.seed)
                _built[self.content] = made
            return _built[self.content]

    def _build(self) -> Workload:
        if self.path is None:
            if _generator_origin(self.generator) != self.origin:
                raise ConfigurationError(f"workload generator {self.generator}: {CHANGED}")
            workload = generate_workload(self.generator, self.parameters, self.seed)
            return workload if self.name == self.generator else replace(workload, name=self.name)
        if file_digest(self.path) != self.origin:
            raise ConfigurationError(f"{self.path}: {CHANGED}")
        return read_graph_file(self.path, {**self.parameters, "format": self.format})


@dataclass(frozen=True)
class GivenWorkload:
    """A workload that somebody has made already, the same for every seed."""

    workload: Workload = field(repr=False)
    #: Hash of everything that determines what is executed.
    content: str
    #: `content` tells all that makes it: its arrays do.
    in_files: ClassVar[bool] = True
    #: It is sent to other processes.
    portable: ClassVar[bool] = True
    path: ClassVar[None] = None

    @property
    def is_random(self) -> bool:
        """Whether it differs from seed to seed: with random durations."""
        return self.workload.durations is not None

    def seeded(self, seed: int) -> GivenWorkload:
        """Return the workload for a seed; only random durations differ."""
        durations = self.workload.durations
        if durations is None:
            return self
        return given_workload(replace(self.workload, durations=replace(durations, seed=seed)))

    def build(self) -> Workload:
        """Return the workload."""
        return self.workload


def given_workload(workload: Workload) -> GivenWorkload:
    """Return a workload that can be executed as cells refer to it."""
    workload.validate()
    decisive = [f.name for f in fields(workload) if f.name not in ("name", "parameters")]
    content = content_key({name: getattr(workload, name) for name in decisive})
    return GivenWorkload(workload, content)


_built: dict[str, Workload] = {}
_building = Lock()


def workload_source(entry: WorkloadEntry, base: Path) -> WorkloadSource:
    """Return the workload that an experiment's entry means, for no seed yet."""
    where = f"workload {entry.name or entry.file}"
    parameters, durations = split_durations(entry.parameters, where)
    if durations is not None:
        parse_durations(durations, where)  # a wrong one is told before anything is built
    if entry.file is not None:
        path = located(entry.file, base)
        digest = file_digest(path)
        return WorkloadSource("", "", path, entry.format, parameters, digest, durations)
    name = str(entry.name)
    presets, generators = list_presets(), [item.name for item in list_workloads()]
    if is_file_spec(name):
        spec = located_code(name, base)
        name = f"{split_file_spec(spec)[0].absolute()}:{find_workload(spec).name}"
    elif name not in presets and name not in generators and not is_preset_file(name):
        raise ConfigurationError(unknown_name("workload", name, [*presets, *generators]))
    generator = name
    if name in presets or is_preset_file(name):
        own, shipped = is_preset_file(name), data_dir("workloads") / f"{name}.yaml"
        found = located(name, base) if own else shipped
        preset = _preset(found, _stamp(found))
        generator, parameters = preset.generator, {**preset.parameters, **parameters}
        name = found.stem
    resolved = resolve_parameters(find_workload(generator), parameters)
    origin = _generator_origin(generator)
    return WorkloadSource(name, generator, None, None, resolved, origin, durations)


@lru_cache(maxsize=64)
def _preset(path: Path, _stamp: float) -> Preset:
    return load_preset(path)


def _generator_origin(name: str) -> str:
    """Return a hash of a generator's code, nothing when it is the package's own."""
    chosen = find_workload(name)
    if not chosen.in_files:
        return typed_digest(chosen.function)
    function, maker = inspect.unwrap(chosen.function), chosen.home
    own = "" if function.__module__.startswith("simsched.") else source_digest(function)
    if maker.__name__ == function.__module__ or maker.__name__.startswith("simsched."):
        return own
    # A function of another module, or a variant of one: what is bound may have been typed in.
    plain = bool | int | float | str
    bound = [part for part in parts_of(chosen.function) if isinstance(part, plain)]
    parts = {"function": own, "place": place_of(function), "bound": bound}
    return content_key({**parts, "variant": module_digest(maker)})


def _suffix(path: Path) -> str:
    """Return the ending of a file's name as far as it decides how the file is read."""
    endings = [ending for item in importers().values() for ending in item.suffixes]
    return max((end for end in endings if path.name.lower().endswith(end)), key=len, default="")


def check_executable(
    machine: Machine, workload: Workload, workers: int | None, pinning: str
) -> None:
    """Check what no policy can change: that the workers can execute every task.

    What is missing then is costs for a kind of processor, or timings for a size of task.
    """
    program = timed(machine, workload)
    threads = used_threads(machine, program, machine.place_workers(workers, pinning))
    check_processors(machine, program, threads)


def check_fits(machine: Machine, workload: Workload) -> None:
    """Check what no policy can change: that the data fit into memory."""
    capacity = sum(node.capacity_bytes for node in machine.nodes)
    sizes = workload.graph.block_bytes
    if workload.graph.detached is not None:
        # Control programs create tasks in flight, and runtimes the buffers of these: what has to be
        # there at the same time depends on the policy.
        lasting = np.zeros(len(sizes), bool)
        if workload.init is not None:
            lasting[workload.init.access_block] = True
        sizes = sizes[lasting]
    size = int(sizes.sum())
    if float(sizes.sum(dtype=np.float64)) > 2.0**62:  # the other sum may be beyond 64 bits
        size = sum(sizes.tolist())
    if size > capacity:
        raise ConfigurationError(
            f"workload {workload.name}: found {size} bytes of data, accepted at most {capacity}: "
            f"all memory of machine {machine.name}; with the machine's set: {{storage: 500 MB/s}} "
            "they lie on a disk of that rate"
        )
    largest = int(sizes.max(initial=0))
    if largest > LARGEST_BLOCK_BYTES:
        raise ConfigurationError(
            f"workload {workload.name}: found a block of {largest} bytes, accepted at most "
            f"{LARGEST_BLOCK_BYTES}"
        )
