"""Builds and runs the comparison program in simgrid/, where SimGrid's C++ library is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.cases import Case

SOURCE = Path(__file__).resolve().parent / "simgrid" / "peer.cpp"
_HEADERS = ("-include", "simgrid/s4u.hpp", "-include", "simgrid/version.h")

#: The plain models: max-min fair sharing, no TCP; times that differ count as different.
_OPTIONS = (
    "--log=root.threshold:error",
    "--cfg=network/model:CM02",
    "--cfg=network/crosstraffic:0",
    "--cfg=surf/precision:1e-12",
)


@dataclass(frozen=True)
class Peer:
    """The comparison program, or the reason why there is none.

    Parameters
    ----------
    program : Path or None
        What to run.
    note : str
        SimGrid's version, or what is missing.
    """

    program: Path | None
    note: str


def build_peer(folder: Path) -> Peer:
    """Compile the comparison program into a folder."""
    compiler = shutil.which(os.environ.get("CXX", "g++").split()[0])
    if compiler is None:
        return Peer(None, "not compared with SimGrid: no C++ compiler")
    probe = [compiler, "-xc++", "-std=c++17", "-E", *_HEADERS, "-dM", os.devnull]
    found = subprocess.run(probe, capture_output=True, text=True, check=False)
    if found.returncode != 0:
        return Peer(None, "not compared with SimGrid: libsimgrid-dev is not installed")
    program = folder / "peer"
    command = [compiler, "-std=c++17", "-O3", str(SOURCE), "-o", str(program), "-lsimgrid"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        first = next((line for line in done.stderr.splitlines() if "error" in line), "")
        return Peer(None, f"not compared with SimGrid: this version does not compile: {first}")
    return Peer(program, f"SimGrid {_version(found.stdout)}, C++, -O3")


def run_peer(peer: Peer, case: Case, repeat: int) -> dict[str, Any] | None:
    """Return the fastest run of a case in the comparison program, None if it cannot be run.

    Parameters
    ----------
    peer : Peer
        The program.
    case : Case
        With its name, parameters and size there.
    repeat : int
        How many runs.
    """
    if peer.program is None or case.peer is None:
        return None
    command = [str(peer.program), *case.peer.split(), str(case.peer_size), *_OPTIONS]
    runs: list[dict[str, Any]] = []
    for _ in range(repeat):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return None
        runs.append(json.loads(done.stdout))
    return min(runs, key=lambda run: float(run["cpu_s"]))


def _version(macros: str) -> str:
    """Return SimGrid's version from its macros."""
    values = {
        words[1]: words[2]
        for words in (line.split() for line in macros.splitlines())
        if len(words) == 3 and words[1].startswith("SIMGRID_VERSION_")
    }
    return ".".join(values.get(f"SIMGRID_VERSION_{part}", "?") for part in ("MAJOR", "MINOR"))
