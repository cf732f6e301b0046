"""A machine file from files about the machine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from simsched.files.errors import ConfigurationError
from simsched.machine.facts.content import most_important
from simsched.machine.facts.contents import Assumed, Whole
from simsched.machine.facts.document import Document
from simsched.machine.facts.gathered import CONTRADICTION, Gathered, gather, located
from simsched.machine.facts.registry import read_facts
from simsched.machine.load import check_machine
from simsched.machine.written import document_yaml

ODD_NS = 5.0, 1e5  #: memory answers within these
MOST = 3  #: assumed values that are named


@dataclass(frozen=True)
class Described:
    """A machine file's text, with what is in it.

    Parameters
    ----------
    text : str
        YAML.
    summary : dict of str to object
        Numbers of packages, domains, cores, hardware threads and memory nodes, and the formats.
    assumed : tuple of Assumed
        Every assumed value.
    warnings : tuple of str
        What a user should know.
    """

    text: str
    summary: dict[str, Any]
    assumed: tuple[Assumed, ...]
    warnings: tuple[str, ...]

    @property
    def remark(self) -> str:
        """How many values are assumed, and which of them matter most."""
        if not self.assumed:
            return "no value assumed"
        named = "; ".join(f"{a.what} ({a.value})" for a in most_important(self.assumed, MOST))
        return (
            f"{len(self.assumed)} values assumed; those that matter most for bandwidth-bound "
            f"programs: {named}"
        )


def described(paths: Sequence[Path], format_name: str | None = None) -> Described:
    """Return one machine from files about it.

    Parameters
    ----------
    paths : sequence of Path
        Files of any formats of `fact_formats`; one of them has a topology.
    format_name : str, optional
        Of all of them; by default it follows from the content of each.

    Returns
    -------
    Described
        The file, and what is assumed in it.

    Raises
    ------
    ConfigurationError
        A file cannot be read, has another format, or contradicts another one.
    """
    twice = [path for i, path in enumerate(paths) if path in paths[:i]]
    if twice:
        raise ConfigurationError(f"{twice[0]}: found twice, accepted each file once")
    facts = [(path, read_facts(path, format_name)) for path in paths]
    for path, found in facts:
        if found.whole is not None:
            return _alone(path, found.whole, found.warnings, len(facts))
    gathered = gather(facts)
    topology = gathered.topology
    content = Document(gathered)
    n_packages = len({core.package for core in topology.cores})
    summary = {
        "packages": n_packages,
        "domains": topology.n_domains,
        "cores": len(topology.cores),
        "threads": sum(len(core.threads) for core in topology.cores),
        "memory_nodes": len(topology.nodes),
        "devices": len(gathered.devices),
        "formats": list(gathered.files),
    }
    model = gathered.model or "unnamed processor"
    packages = f"{n_packages} x " if n_packages > 1 else ""
    try:
        document = content.document(
            f"{packages}{model}, {summary['cores']} cores, from {', '.join(gathered.files)}"
        )
    except (ArithmeticError, ValueError) as error:
        raise ConfigurationError(
            f"{', '.join(map(str, paths))}: found values that make no machine: {error}"
        ) from error
    text = document_yaml(document)
    warnings = (*gathered.warnings, *content.warnings, *_odd_units(gathered))
    more = _checked(paths, text)
    if any(CONTRADICTION in warning for warning in warnings):  # one warning is enough
        more = [warning for warning in more if " reaches " not in warning]
    return Described(text, summary, tuple(content.assumed), (*warnings, *more))


def _odd_units(gathered: Gathered) -> list[str]:
    """Warn of latencies that memory has not, so that their unit may be another one."""
    latency = gathered.matrix("latency_ns")
    if latency is None:
        return []
    values = [ns for row in latency.value.values for ns in row]
    odd = [ns for ns in values if not ODD_NS[0] <= ns <= ODD_NS[1]]
    if not odd:
        return []
    place = located(gathered.files[latency.key][0], latency.place)
    return [f"{place}: found a latency of {odd[0]:g} ns; is the unit another one?"]


def _alone(path: Path, whole: Whole, warnings: tuple[str, ...], n_files: int) -> Described:
    """Return the machine of a file that says everything; refuse others beside it."""
    if n_files > 1:
        raise ConfigurationError(
            f"{path}: found {n_files - 1} more files beside a whole machine, accepted it alone"
        )
    text = document_yaml(whole.document)
    warnings = (*warnings, *_checked([path], text))
    return Described(text, whole.summary, whole.assumed, warnings)


def _checked(paths: Sequence[Path], text: str) -> list[str]:
    """Return warnings about a machine file; one that cannot be loaded is refused.

    What stands in the files where, the message says by the source of the value.
    """
    with TemporaryDirectory() as folder:
        file = Path(folder) / "machine.yaml"
        file.write_text(text, encoding="utf-8")
        try:
            return [warning.replace(f"{file}:", "line ") for warning in check_machine(file)]
        except ConfigurationError as error:
            line = re.match(rf"{re.escape(str(file))}:(\d+):", str(error))
            said = text.splitlines()[int(line[1]) - 1].strip() if line is not None else ""
            reason = str(error).replace(f"{file}:", "line ")
            raise ConfigurationError(
                f"{', '.join(map(str, paths))}: found values that make no machine: {reason}"
                + (f" ({said})" if said else "")
            ) from error
