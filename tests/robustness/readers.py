"""Every reader of files, with inputs to start from.

A reader takes the directory in which the files of an input lie and reads them as a command would.
It returns or raises; what it returns is used as far as every command uses it.
"""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from zlib import crc32

from tests.robustness import binding, tables, trees
from tests.robustness.mutate import Files, mutated

SEEDS = Path(__file__).with_name("seeds")
LONG_RUN_S = 0.1  # of a simulation with random arguments
Vary = Callable[[Random, list[Files]], Files]


class Hang(BaseException):
    """An input takes too long; no reader may catch it."""


@dataclass(frozen=True)
class Reader:
    """One reader.

    Parameters
    ----------
    name : str
        Also the folder of its inputs.
    read : callable
        Takes the directory with the files of an input.
    seeds : callable
        Returns inputs that are accepted, most of them.
    vary : callable
        Takes a generator and the pool of inputs, returns a new one.
    """

    name: str
    read: Callable[[Path], object]
    seeds: Callable[[], list[Files]]
    vary: Vary


READERS: dict[str, Reader] = {}


def load(folder: Path) -> list[Files]:
    """Return the inputs in a folder: files, and folders of the files of one input."""
    found = []
    for entry in sorted(folder.iterdir()) if folder.is_dir() else []:
        if entry.is_file():
            found.append({entry.name: entry.read_bytes()})
        else:
            parts = sorted(path for path in entry.rglob("*") if path.is_file())
            found.append({path.relative_to(entry).as_posix(): path.read_bytes() for path in parts})
    return found


def write(folder: Path, files: Files) -> None:
    """Write the files of an input."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _json_or_bytes(is_json: bool) -> Vary:
    return lambda rng, pool: mutated(rng, pool, is_json=is_json)


def reader(
    name: str,
    *,
    is_json: bool = False,
    seeds: Callable[[], list[Files]] | None = None,
    vary: Vary | None = None,
) -> Callable[[Callable[[Path], object]], Callable[[Path], object]]:
    """Register the decorated function as what reads the inputs of a name."""

    def register(read: Callable[[Path], object]) -> Callable[[Path], object]:
        READERS[name] = Reader(
            name,
            read,
            seeds or (lambda: load(SEEDS / name)),
            vary or _json_or_bytes(is_json),
        )
        return read

    return register


def document_reader(name: str) -> Callable[[Callable[[Path], object]], Callable[[Path], object]]:
    """Register the decorated function as what reads YAML, mostly of files that JSON can write."""

    def register(read: Callable[[Path], object]) -> Callable[[Path], object]:
        def read_quickly(folder: Path) -> object:
            with trees.short_way():
                return read(folder)

        def seeds() -> list[Files]:
            texts = load(SEEDS / name)
            return [*texts, *map(trees.as_json, texts)]

        reader(name, seeds=seeds, vary=trees.vary)(read_quickly)
        return read

    return register


def _only(folder: Path) -> Path:
    """Return the one file of an input."""
    return min(path for path in folder.iterdir())


@reader("yaml")
def read_plain_yaml(folder: Path) -> object:
    from simsched.files.yaml_reader import read_document

    return read_document(_only(folder))


@document_reader("machine")
def read_machine(folder: Path) -> object:
    from simsched.machine import check_machine

    return check_machine(folder / "m.yaml")  # loads it, too


@document_reader("experiment")
def read_experiment(folder: Path) -> object:
    from simsched.experiment.study import Study
    from simsched.files.yaml_reader import read_document

    return Study.from_yaml(read_document(_only(folder)))


@document_reader("claims")
def read_claims(folder: Path) -> object:
    from simsched.files.yaml_reader import read_document
    from simsched.reproduction.claims import load_family

    return load_family(read_document(_only(folder)))


@document_reader("measurement")
def read_measurement(folder: Path) -> object:
    from simsched.hardware.measure import number_of_runs
    from simsched.hardware.measure_schema import load_matrix

    return number_of_runs(load_matrix(_only(folder)))


@document_reader("preset")
def read_preset(folder: Path) -> object:
    from simsched.workload.presets import load_preset

    return load_preset(_only(folder))


def _recording(path: Path, format: str, **options: object) -> object:  # noqa: A002 (as users know)
    """Import a trace as the command does, its summary included."""
    from simsched.cli.imports import _content, _summary
    from simsched.trace.exporters._source import check_recording
    from simsched.trace.importers import import_recording

    recording = import_recording(path, format, **options)
    check_recording(recording)
    return _summary(_content(path, recording))


@reader("wfformat", is_json=True)
def read_wfformat(folder: Path) -> object:
    from simsched.workload.importers import import_workload

    return import_workload(_only(folder), "wfformat")


@reader("wfformat_run", is_json=True)
def read_wfformat_run(folder: Path) -> object:
    from simsched.files.errors import TraceError

    try:
        return _recording(_only(folder), "wfformat")
    except TraceError:
        return _recording(_only(folder), "wfformat", starts="earliest")


def _own_graph(write_graph: str) -> Files:
    """Return a small task graph in a format of ours."""
    from simsched.workload import importers
    from simsched.workload.registry import generate_workload

    with TemporaryDirectory() as folder:
        path = Path(folder) / "own"
        getattr(importers, write_graph)(generate_workload("fork_join", {"depth": 2}), path)
        return {"own": path.read_bytes()}


OPTIONS = {"cost": "w", "cost_unit": "us", "edge_bytes": "size", "task_class": "k"}


def _graph(folder: Path, format: str) -> object:  # noqa: A002 (as users know)
    from simsched.workload.importers import import_workload

    path = _only(folder)
    given = OPTIONS if b"simsched_format" not in path.read_bytes() else {}
    return import_workload(path, format, **given)


@reader("dot", seeds=lambda: [*load(SEEDS / "dot"), _own_graph("write_dot")])
def read_dot(folder: Path) -> object:
    return _graph(folder, "dot")


@reader("graphml", seeds=lambda: [*load(SEEDS / "graphml"), _own_graph("write_graphml")])
def read_graphml(folder: Path) -> object:
    return _graph(folder, "graphml")


@reader("node_link", is_json=True)
def read_node_link(folder: Path) -> object:
    return _graph(folder, "node_link")


def _importable(name: str, options: dict[str, object], like: str = "", **about: bool) -> None:
    """Register the reader of task graphs of a format, with options that seeds need."""

    def read(folder: Path) -> object:
        from simsched.workload.importers import import_workload

        return import_workload(_only(folder), like or name, **options)

    reader(name, **about)(read)


_importable("dax", {})
_importable("dot_dump", {"task_cost": "1 ms"}, like="dot")
_importable("stg", {"cost_unit": "us", "bytes_per_unit": 3.5})
_importable("tgff", {"cost": "time", "cost_unit": "us", "edge_bytes": "quantity"})
_importable("alibaba", {})


@reader("mir")
def read_mir(folder: Path) -> object:
    return _recording(_only(folder), "mir", clock="2.1 GHz")


@reader("tasks_rec")
def read_tasks_rec(folder: Path) -> object:
    return _recording(folder / "tasks.rec", "tasks_rec")


@reader("starvz_csv")
def read_starvz_csv(folder: Path) -> object:
    return _recording(_only(folder), "starvz")


@reader("starvz")
def read_starvz(folder: Path) -> object:
    return _recording(folder, "starvz")


@reader(
    "chrome",
    is_json=True,
    seeds=lambda: [*load(SEEDS / "chrome"), {"own.json": tables.own_chrome()}],
)
def read_chrome(folder: Path) -> object:
    return _recording(_only(folder), "chrome")


@reader("paje", seeds=lambda: [*load(SEEDS / "paje"), {"own.paje": tables.own_paje()}])
def read_paje(folder: Path) -> object:
    return _recording(_only(folder), "paje", unit="us")


if find_spec("otf2") is not None:  # the package that reads it, an extra

    @reader("otf2")
    def read_otf2(folder: Path) -> object:
        return _recording(folder, "otf2")


@reader("sampling")
def read_sampling_as_machine(folder: Path) -> object:
    from simsched.machine import load_machine
    from simsched.machine.importers import machine_yaml, read_sampling

    found = read_sampling(folder)
    text = machine_yaml(found.bus, found.costs)
    if crc32(text.encode()) % 16 == 0:  # reading YAML takes longer than everything else
        (folder / "machine.yaml").write_text(text)
        return load_machine(folder / "machine.yaml")
    return text


ALONE = ("hwloc", "lscpu", "simgrid")  # formats of files that describe whole machines


def _facts() -> list[Files]:
    """Return a file of each format of facts about machines, named like the format."""
    from tests.machine.facts import samples

    texts = {
        "hwloc": samples.hwloc_2(),
        "lscpu": samples.LSCPU,
        "numactl": samples.NUMACTL,
        "mlc": samples.MLC,
        "stream": samples.STREAM,
        "bandwidth_table": samples.TABLE,
        "core_to_core": samples.CORE_TO_CORE,
        "nvidia_topo": samples.NVIDIA_TOPO,
        "simgrid": samples.SIMGRID,
        "cuda_copies": samples.NVBANDWIDTH,
    }
    return [{name: text.encode()} for name, text in texts.items()]


@reader("facts", seeds=_facts)
def read_facts_file(folder: Path) -> object:
    from simsched.machine.facts import described
    from tests.machine.facts import samples

    path, base = _only(folder), folder / "base"
    if path.name in ALONE:
        return described([path])
    base.write_text(samples.hwloc_2())
    paths = [path, base]
    if path.name == "cuda_copies":  # of devices, which a topology may not have
        paths.append(folder / "devices")
        paths[-1].write_text(samples.NVIDIA_TOPO)
    return described(paths)


@reader("references")
def read_references_file(folder: Path) -> object:
    from simsched.reproduction.references import read_references

    return read_references(_only(folder))


@reader("store")
def read_store(folder: Path) -> object:
    from simsched.experiment.store import Store

    return Store(folder).load("k")


@reader("measurements", is_json=True)
def read_measurement_set(folder: Path) -> object:
    from simsched.hardware.measurements import read_measurements, specs

    found = read_measurements(folder)
    found.cells()
    return specs(found.runs)


@reader("events", seeds=tables.event_seeds, vary=tables.varied_events)
def read_event_file(folder: Path) -> object:
    from simsched.trace.exporters import open_recording

    return open_recording(_only(folder))


@reader("recording", seeds=tables.recording_seeds, vary=tables.varied_recording)
def read_recording_file(folder: Path) -> object:
    from simsched.trace.exporters import open_recording

    recording = open_recording(_only(folder))
    recording.details.setdefault("format", "")
    recording.details.setdefault("set_aside", {})
    return recording


@reader("export", seeds=tables.recording_seeds, vary=tables.varied_recording)
def export_recording_file(folder: Path) -> object:
    """Exporters are given what recordings hold."""
    from simsched.trace.exporters import export_recording, open_recording

    recording = open_recording(_only(folder))
    (folder / "out").mkdir()
    for name in ("run.json", "run.paje", "run.parquet"):
        export_recording(recording, folder / "out" / name)
    if recording.workload is not None:
        export_recording(recording, folder / "out" / "run.graphml")
    return None


SPECS = b"bats[sample_pages=8]\ncilk_a\nhats[threads=2,variance=sample]\n"


@reader("specs", seeds=lambda: [{"specs": SPECS}])
def read_specs(folder: Path) -> object:
    """Policies and values as the command line has them, one in each line."""
    from simsched.experiment.overrides import parse_assignment
    from simsched.files.errors import SimschedError
    from simsched.policy.contract.registry import make_policy

    refused: SimschedError | None = None
    for line in _only(folder).read_bytes().decode("utf-8", "replace").splitlines()[:5]:
        for text, parse in ((line, make_policy), (f"a={line}", parse_assignment)):
            try:
                if parse is parse_assignment or ".py" not in text:
                    parse(text)
            except SimschedError as error:
                refused = error
    if refused is not None:
        raise refused
    return None


@reader("binding", seeds=binding.seeds, vary=binding.vary)
def run_binding(folder: Path) -> object:
    """The binding of the C kernel, which reads no file but is treated as if."""
    gc.disable()  # what a signal raises inside a callback of the collector would be lost
    signal.setitimer(signal.ITIMER_PROF, LONG_RUN_S)
    try:
        try:
            return binding.run_case(int(_only(folder).read_bytes()))
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)  # below, for it may arrive just here
    except Hang:
        return None  # a long run may be asked for; the kernel has looked at signals
    finally:
        gc.enable()


@cache
def seeds_of(name: str) -> list[Files]:
    """Return the inputs that a reader starts from: seeds, and what once went wrong."""
    return [*READERS[name].seeds(), *load(SEEDS.with_name("inputs") / name)]
