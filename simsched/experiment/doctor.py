"""Whether this installation and this host have what simsched needs, and what they lack."""

from __future__ import annotations

import importlib
import os
import platform
import re
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import simsched
from simsched.files.errors import SimschedError
from simsched.files.units import format_size

Status = Literal["ok", "note", "broken"]
#: Names under which distributions are imported, where these differ.
MODULES = {"scikit-learn": "sklearn", "ruamel.yaml.clib": "_ruamel_yaml"}
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)\s*(?:>=\s*([0-9.]+))?\s*$")
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    #: What: ``"dependencies"``, ``"numpy"``.
    area: str
    name: str
    found: str
    #: A note is about something that simsched can do without.
    status: Status = "ok"
    #: What to do about it, or what does not work without it.
    advice: str = ""


def examine() -> list[Finding]:
    """Look at the installation and at the host; nothing is changed.

    Findings are in the order in which they are best read. A part that fails is a broken one itself.
    """
    parts: list[tuple[str, Callable[[], Iterator[Finding]]]] = [
        ("program", _program),
        ("dependencies", _dependencies),
        ("kernel", _kernel),
        ("data", _data),
        ("host", _host),
        ("counters", _counters),
        ("places", _places),
    ]
    found: list[Finding] = []
    for area, part in parts:
        try:
            found += part()
        except Exception as error:  # whatever it is, the other parts are still worth knowing
            text = f"{type(error).__name__}: {error}"
            found.append(Finding(area, "examination", text, "broken", "install simsched again"))
    return found


def is_broken(findings: list[Finding]) -> bool:
    """Return whether something is broken."""
    return any(finding.status == "broken" for finding in findings)


def _program() -> Iterator[Finding]:
    """Look at simsched itself and at Python."""
    yield Finding("program", "simsched", simsched.__version__)
    yield Finding("program", "installed in", str(Path(simsched.__file__).parent))
    version = platform.python_version()
    yield Finding("program", "python", f"{platform.python_implementation()} {version}")
    yield Finding("program", "interpreter", sys.executable)


def _dependencies() -> Iterator[Finding]:
    """Import everything that simsched asks for and compare versions."""
    for text in metadata.requires("simsched") or ():
        requirement, _, marker = text.partition(";")
        match = _REQUIREMENT.match(requirement)
        if match is None:
            continue
        optional = "extra ==" in marker
        if not optional or match[1] == "dask":
            yield _dependency(match[1], match[2] or "0", optional=optional)


def _dependency(name: str, least: str, *, optional: bool) -> Finding:
    lacking: Status = "note" if optional else "broken"
    advice = f"pip install '{name}>={least}'"
    if optional:
        advice = f"without it there is no simsched run --dask: {advice}"
    try:
        version = metadata.version(name)
        importlib.import_module(MODULES.get(name, name))
    except metadata.PackageNotFoundError:
        return Finding("dependencies", name, "not installed", lacking, advice)
    except Exception as error:
        return Finding("dependencies", name, f"cannot be imported: {error}", lacking, advice)
    if _numbers(version) < _numbers(least):
        return Finding(
            "dependencies", name, f"{version}, accepted {least} or newer", lacking, advice
        )
    return Finding("dependencies", name, version)


def _numbers(version: str) -> list[int]:
    """Return the leading numbers of a version."""
    return [int(part) for part in re.findall(r"\d+", version.split("+")[0])[:3]]


def _kernel() -> Iterator[Finding]:
    """Look at the compiled kernel, and let both backends run the same."""
    again = "make setup in a checkout, or pip install --force-reinstall simsched"
    try:
        from simsched.engine.native import build_config, version
    except ImportError as error:
        yield Finding("kernel", "binding", f"cannot be imported: {error}", "broken", again)
        return
    config = build_config()
    same = version() == simsched.__version__
    yield Finding("kernel", "version", version(), "ok" if same else "broken", "" if same else again)
    yield Finding("kernel", "compiler", str(config["compiler"]))
    yield Finding("kernel", "flags", str(config["flags"]))
    slow = bool(config["debug"])
    how = "on: runs take longer" if slow else "off"
    yield Finding("kernel", "assertions", how, "note" if slow else "ok")
    from simsched.engine.conformance import compare
    from simsched.machine import load_machine
    from simsched.policy import make_policy
    from simsched.workload.registry import make_small_workload

    machine = load_machine("toy_1fast_3slow")
    case = compare(machine, make_small_workload("fork_join"), make_policy("cilk"))
    if case.difference:
        yield Finding("kernel", "backends", f"differ: {case.difference}", "broken", again)
    else:
        yield Finding("kernel", "backends", f"agree on {case.events} events of a small run")


def _data() -> Iterator[Finding]:
    from simsched.files.resources import DATA_KINDS, data_dir, shipped

    for kind in DATA_KINDS:
        count = len(shipped(kind))
        status: Status = "ok" if count else "broken"
        advice = "" if count else "install simsched again"
        yield Finding("data", kind, f"{count} in {data_dir(kind)}", status, advice)


def _host() -> Iterator[Finding]:
    yield Finding(
        "host", "system", f"{platform.system()} {platform.release()}, {platform.machine()}"
    )
    if sys.platform != "linux":
        advice = "simsched measure and calibrate need Linux; simulations do not"
        yield Finding("host", "topology", "not known", "note", advice)
        return
    from simsched.hardware.topology import allowed_cores, processor_name, read_topology

    topology, allowed = read_topology(), allowed_cores()
    sites = topology.sites.values()
    yield Finding("host", "processor", processor_name() or "not known")
    cores = len({site.core for site in sites})
    yield Finding("host", "cores", f"{cores}, {len(sites)} hardware threads")
    usable = len(allowed)
    few = usable < len(sites)
    advice = "taskset, a container or the like keeps this program off the others" if few else ""
    yield Finding("host", "usable threads", f"{usable}", "note" if few else "ok", advice)
    quota = _quota()
    if quota is not None and quota < usable:
        advice = "the container gets less time than that: measurements would be disturbed"
        yield Finding("host", "quota", f"{quota:g} cores", "note", advice)
    sockets = len({site.socket for site in sites})
    yield Finding("host", "sockets", f"{sockets}, memory nodes {len(topology.nodes)}")
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    yield Finding("host", "memory", format_size(memory))
    if limit != resource.RLIM_INFINITY:
        yield Finding("host", "memory limit", format_size(limit), "note", "see ulimit -v")


def _quota(folder: Path = Path("/sys/fs/cgroup")) -> float | None:
    """Return how many cores' time a container gets, None without a limit."""
    try:
        used, _, period = (folder / "cpu.max").read_text(encoding="utf-8").partition(" ")
        return None if used == "max" else int(used) / int(period)
    except (OSError, ValueError):
        return None


def _counters() -> Iterator[Finding]:
    """Run a program for some milliseconds and see which events the processor counts."""
    without = "simsched measure works without; recordings then lack these counts"
    if sys.platform != "linux":
        return
    from simsched.hardware.program import make_program, programs
    from simsched.hardware.runtime import execute

    try:
        recording = execute(make_program("empty", programs()["empty"].small), workers=1)
    except SimschedError as error:
        yield Finding("counters", "task runtime", str(error), "broken", "install simsched again")
        return
    yield Finding("counters", "task runtime", f"{recording.n_tasks} tasks of a small program")
    counted = ", ".join(sorted(recording.details["processor_events"][0]))
    lacking = recording.details["processor_events_error"]
    if lacking:
        yield Finding("counters", "processor", counted or f"none: {lacking}", "note", without)
    else:
        yield Finding("counters", "processor", counted)
    try:
        level = _PARANOID.read_text(encoding="utf-8").strip()
    except OSError:
        level = "not known"
    yield Finding("counters", "perf_event_paranoid", level)


def _places() -> Iterator[Finding]:
    where = "results go to --output then"
    yield _writable("working directory", Path.cwd(), "note", where)
    yield _writable("temporary files", Path(tempfile.gettempdir()), "broken", "set TMPDIR")
    import matplotlib as mpl

    advice = "set MPLCONFIGDIR; without a cache of fonts every picture takes a second longer"
    yield _writable("cache of fonts", Path(mpl.get_cachedir()), "note", advice)


def _writable(name: str, folder: Path, lacking: Status, advice: str) -> Finding:
    """Look whether a file can be made in a folder."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"simsched")
            file.flush()
    except OSError as error:
        found = f"{folder}: cannot be written: {error.strerror}"
        return Finding("places", name, found, lacking, advice)
    return Finding("places", name, str(folder))


def document(findings: list[Finding]) -> dict[str, Any]:
    """Return findings as plain data."""
    return {
        "version": simsched.__version__,
        "broken": is_broken(findings),
        "findings": [asdict(finding) for finding in findings],
    }
