"""Feeds mutated inputs to the readers of files and says what came of it.

``python -m tests.robustness.campaign --count 100000 --seed 1 [READER ...]``

Each input is accepted, refused by an error of simsched, or a finding: another exception, more than
``--seconds`` of processor time, or the end of the process. New inputs are made from accepted ones
and from the first that was refused with each message. Findings are kept in ``--keep``.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import FrameType

from simsched.files.errors import ExtensionError, SimschedError
from tests.robustness.mutate import Files
from tests.robustness.readers import READERS, Hang, seeds_of, write

SECONDS = 10.0
TELLING_S = 60.0  # between words about how far it is
ADDRESS_SPACE = 4 << 30  # bytes beyond what the process has when it begins
TASKS = "20000"  # of a graph; building the largest that is accepted takes minutes
POOL = 200  # inputs of a kind that the next ones are made from
LARGEST = 3  # times the longest seed: so long is such an input at most
REFUSED = 0.3  # share of inputs made from one that was refused
VARYING = re.compile(r"'[^']*'|\"[^\"]*\"|[0-9.]+|/\S+")


def _too_long(number: int, frame: FrameType | None) -> None:
    raise Hang("took too much processor time")


@dataclass
class Outcome:
    """What inputs have led to.

    Parameters
    ----------
    accepted, refused : int
        Inputs that a reader has taken, and those that it has refused as it should.
    findings : dict of str to Files
        The first input of each kind of failure.
    counts : Counter
        How many inputs each kind has.
    """

    accepted: int = 0
    refused: int = 0
    findings: dict[str, Files] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)


def place_of(error: BaseException) -> str:
    """Return exception and innermost line of simsched, which tell failures apart."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "/simsched/" in f.filename] or list(frames)
    where = own[-1]
    return f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno} ({where.name})"


def attempt(
    name: str, files: Files, folder: Path, seconds: float = SECONDS
) -> tuple[str, BaseException | None]:
    """Read one input in so many seconds of processor time.

    Returns
    -------
    tuple of str and exception or None
        What tells outcomes apart, and the exception unless the input was accepted.
    """
    write(folder, files)
    signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_VIRTUAL, 6 * seconds)  # for C code: ends the process
    try:
        try:
            READERS[name].read(folder)
        finally:  # before anything else: the time is the reader's
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    except ExtensionError as error:  # a shipped reader has raised another exception: a finding
        return place_of(error.__cause__ or error), error.__cause__ or error
    except SimschedError as error:
        return VARYING.sub("", str(error))[:200], error
    except (Exception, Hang) as error:
        return place_of(error), error
    finally:
        for entry in folder.iterdir():
            entry.unlink() if not entry.is_dir() else shutil.rmtree(entry)
    return "", None


def feed(name: str, count: int, seed: int, folder: Path, seconds: float = SECONDS) -> Outcome:
    """Read mutated inputs.

    Parameters
    ----------
    name : str
        The reader.
    count, seed : int
        How many, and what they follow from.
    folder : Path
        An empty directory; it has the present input while that is read.
    seconds : float
        Processor time after which reading one of them is a finding.
    """
    rng = Random(f"{seed} {name}")
    good, bad = list(seeds_of(name)), []
    seen: set[str] = set()
    n_seeds, told = len(good), time.monotonic()
    largest = LARGEST * max(sum(map(len, files.values())) for files in good)
    result = Outcome()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in range(count):
            if time.monotonic() - told > TELLING_S:
                told = time.monotonic()
                sys.stderr.write(f"{name}: {number} inputs, {sum(result.counts.values())} other\n")
            pool = bad if bad and rng.random() < REFUSED else good
            files = good[number] if number < n_seeds else READERS[name].vary(rng, pool)
            outcome, error = attempt(name, files, folder, seconds)
            small = sum(map(len, files.values())) < largest
            if error is None:
                result.accepted += 1
                if small and len(good) < POOL:
                    good.append(files)
                elif small:
                    good[rng.randrange(n_seeds, POOL)] = files
            elif isinstance(error, SimschedError):
                result.refused += 1
                if small and outcome not in seen and len(bad) < POOL:
                    seen.add(outcome)
                    bad.append(files)
            else:
                if outcome not in result.findings:
                    sys.stderr.write(f"{name}: {outcome}\n")
                    result.findings[outcome] = files
                result.counts[outcome] += 1
    return result


def main() -> int:
    """Run the campaign; every reader in a process of its own."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("readers", nargs="*", help=f"all by default: {', '.join(READERS)}")
    parser.add_argument("--count", type=int, default=100_000, help="inputs of each reader")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of an input")
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="for findings")
    parser.add_argument("--here", action="store_true", help="in this process")
    given = parser.parse_args()
    if given.here:
        return _one(given.readers[0], given)
    status = 0
    for name in given.readers or READERS:
        command = [sys.executable, "-m", __spec__.name, "--here", name, "--keep", str(given.keep)]
        command += ["--count", str(given.count), "--seed", str(given.seed)]
        command += ["--seconds", str(given.seconds)]
        code = subprocess.run(command, check=False).returncode
        if code not in (0, 1):
            _say(f"{name}: the process ended with {code}; its input is in {given.keep}/{name}.last")
        status = max(status, int(code != 0))
    return status


def _say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _one(name: str, given: argparse.Namespace) -> int:
    """Feed one reader, print a line for it and keep its findings."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    os.environ.setdefault("SIMSCHED_MAX_TASKS", TASKS)
    resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESS_SPACE, resource.RLIM_INFINITY))
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
    # OTF2's library leaves anchor files open that it refuses, one in ten inputs.
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    count, keep = given.count, given.keep
    last = keep / f"{name}.last"
    shutil.rmtree(last, ignore_errors=True)
    last.mkdir(parents=True)
    begin, cpu = time.perf_counter(), time.process_time()
    result = feed(name, count, given.seed, last, given.seconds)
    wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
    last.rmdir()
    found = sum(result.counts.values())
    _say(
        f"{name:14s} {count:8d} inputs {result.accepted:8d} accepted {result.refused:8d} refused "
        f"{found:6d} other {cpu:8.0f} s cpu {wall:8.0f} s"
    )
    for number, (what, files) in enumerate(result.findings.items()):
        folder = keep / "findings" / name / str(number)
        write(folder, files)
        _say(f"    {result.counts[what]:6d} {what}: {folder}")
    return int(found > 0)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
