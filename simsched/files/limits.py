"""How much a file may ask for: every limit on what is read, in one place.

A file of a few bytes can ask for any amount of memory: aliases of aliases in YAML, a compressed
gigabyte of zeros, a number of tasks in a header. Readers compare with these limits before they
allocate. The environment variable ``SIMSCHED_MAX_`` and the name of a limit in capitals sets it,
as a whole number with or without one of the units KiB, MiB and GiB::

    SIMSCHED_MAX_TASKS=50000000 SIMSCHED_MAX_TEXT_BYTES="2 GiB" simsched import ...

docs/limits.md lists them.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import NoReturn

from simsched.files.errors import ConfigurationError, SimschedError

_UNITS = {None: 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_SETTING = re.compile(r"([1-9]\d{0,17})\s*(KiB|MiB|GiB)?")


@dataclass(frozen=True)
class Limit:
    """One limit."""

    #: In lower case.
    name: str
    default: int
    #: What is counted, as messages say it.
    what: str

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return f"SIMSCHED_MAX_{self.name.upper()}"

    @property
    def value(self) -> int:
        """What holds now, by default or by the environment."""
        text = os.environ.get(self.variable)
        if text is None:
            return self.default
        match = _SETTING.fullmatch(text.strip())
        if match is None:
            raise ConfigurationError(
                f"{self.variable}: found {text!r}, accepted a whole number above 0, with or "
                "without KiB, MiB or GiB"
            )
        return int(match[1]) * _UNITS[match[2]]

    def check(
        self, found: float, where: object, error: type[SimschedError] = ConfigurationError
    ) -> None:
        """Refuse a larger number that a file states or has; `where` is file and place."""
        if found > self.value:
            self.refuse(found, where, error)

    def refuse(
        self,
        found: float | None,
        where: object,
        error: type[SimschedError] = ConfigurationError,
    ) -> NoReturn:
        """Raise the error for a number above the limit; None where only that is known."""
        raise error(f"{where}: {self.message(found)}")

    def message(self, found: float | None) -> str:
        """Return what is wrong with a number above the limit, None where only that is known."""
        number = f"more than {self.value}" if found is None else f"{found:.12g}"
        return f"found {number} {self.what}, accepted at most {self.value} ({self.variable})"


YAML_BYTES = Limit("yaml_bytes", 2**20, "bytes of YAML")
YAML_VALUES = Limit("yaml_values", 100_000, "values, aliases expanded")
TEXT_BYTES = Limit("text_bytes", 2**29, "bytes of text, decompressed")
TABLE_BYTES = Limit("table_bytes", 2**33, "bytes in memory")
TASKS = Limit("tasks", 20_000_000, "tasks")
EDGES = Limit("edges", 50_000_000, "edges")
WORKERS = Limit("workers", 65_536, "workers or cores")
DOMAINS = Limit("domains", 256, "domains or memory nodes")

#: The environment variable; "no" forbids policies and workloads from files.
POLICY_FILES = "SIMSCHED_POLICY_FILES"


def policy_files_allowed() -> bool:
    """Return whether a policy or workload may be the path of a Python file, which is executed."""
    text = os.environ.get(POLICY_FILES, "yes")
    if text not in ("yes", "no"):
        raise ConfigurationError(f"{POLICY_FILES}: found {text!r}, accepted yes or no")
    return text == "yes"


LIMITS = (YAML_BYTES, YAML_VALUES, TEXT_BYTES, TABLE_BYTES, TASKS, EDGES, WORKERS, DOMAINS)
