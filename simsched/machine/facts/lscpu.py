"""Output of ``lscpu``, plain or as JSON: model, counts of sockets, cores and threads, caches."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from simsched.files.bounded import parse_json, read_text
from simsched.files.errors import ConfigurationError, shown
from simsched.machine.facts.contents import (
    CacheInstance,
    Core,
    Fact,
    Facts,
    Node,
    Topology,
)
from simsched.machine.facts.registry import fact_format

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*([KMG]?)(?:iB|B)?(?:\s*\((\d+) instances?\))?")
LEAST_SIZE = 1e-3
_PLAIN = re.compile(rb"\s*Architecture:[^\n]*\n(?:.*\n)*?\s*CPU\(s\):")
_LEVELS = {"L1d": 1, "L2": 2, "L3": 3}


def _looks_like_lscpu(head: bytes) -> bool:
    return b'"lscpu"' in head[:256] or _PLAIN.match(head) is not None


@fact_format("lscpu", recognises=_looks_like_lscpu)
def read_lscpu(path: Path) -> Facts:
    """Return what ``lscpu`` or ``lscpu -J`` says; old versions give no counts of caches."""
    text = read_text(path)
    try:
        if _PLAIN.match(text.encode()):
            values = dict(_lines(text))
        else:
            values = dict(_fields(parse_json(text)["lscpu"]))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ConfigurationError(f"{path}: found no JSON: {error}") from error
    except (TypeError, KeyError, AttributeError) as error:
        raise ConfigurationError(
            f"{path}: lscpu: found another form, accepted a list of field and data"
        ) from error
    sockets = _count(path, values, "Socket(s)")
    per_socket = _count(path, values, "Core(s) per socket")
    threads = _count(path, values, "Thread(s) per core")
    domains = max(1, _count(path, values, "NUMA node(s)", 1))
    n_cores = sockets * per_socket
    if n_cores % domains:
        raise ConfigurationError(
            f"{path}: NUMA node(s): found {domains}, accepted a divisor of {n_cores} cores"
        )
    per_domain = n_cores // domains
    cores = tuple(
        Core(
            core // per_socket,
            core // per_domain,
            tuple(core + way * n_cores for way in range(threads)),
        )
        for core in range(n_cores)
    )
    nodes = tuple(Node(number, number, None) for number in range(domains))
    caches = tuple(_caches(path, values, n_cores, per_socket))
    clock = values.get("CPU max MHz") or values.get("CPU MHz")
    return Facts(
        "lscpu",
        "lscpu",
        model=values.get("Model name"),
        clock_hz=None if clock is None else Fact(_number(path, "clock", clock) * 1e6, "clock"),
        topology=Topology(cores, caches, nodes),
    )


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield names and values of plain output, however far they are indented."""
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon and value.strip():
            yield name.strip(), value.strip()


def _fields(items: Any) -> Iterator[tuple[str, str]]:
    """Yield all fields, however deep."""
    for item in items:
        yield item["field"].rstrip(":").strip(), str(item.get("data"))
        yield from _fields(item.get("children", []))


def _number(path: Path, key: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1.0 <= value <= 1e5:
        raise ConfigurationError(f"{path}: {key}: found {shown(text)} MHz, accepted 1 to 100000")
    return value


def _count(path: Path, values: dict[str, str], key: str, default: int | None = None) -> int:
    if key not in values and default is not None:
        return default
    text = values.get(key, "")
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 0 < int(text) <= 65536:
        found = f"found {shown(text)}" if key in values else "missing"
        raise ConfigurationError(f"{path}: {key}: {found}, accepted a count from 1 to 65536")
    return int(text)


def _caches(
    path: Path, values: dict[str, str], n_cores: int, per_socket: int
) -> Iterator[CacheInstance]:
    """Yield the instances of all levels of data caches."""
    for name, level in _LEVELS.items():
        text = values.get(f"{name} cache", values.get(name))
        if text is None or text == "None":
            continue
        match = _SIZE.fullmatch(text.strip())
        if match is None or float(match[1]) < LEAST_SIZE:
            raise ConfigurationError(
                f"{path}: {name}: found {shown(text)}, accepted a size such as '32 KiB'"
            )
        size = float(match[1]) * _UNITS[match[2]]
        if match[3] is not None:  # newer versions give the sum of all instances
            instances = int(match[3])
            size /= max(1, instances)
        else:
            instances = n_cores // (per_socket if level == 3 else 1)
        if instances < 1 or n_cores % instances:
            raise ConfigurationError(
                f"{path}: {name}: found {instances} instances, accepted a divisor of {n_cores}"
            )
        each = n_cores // instances
        for instance in range(instances):
            sharing = range(instance * each, (instance + 1) * each)
            yield CacheInstance(level, int(size), frozenset(sharing))
