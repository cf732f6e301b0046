"""Results as tidy data frames: one observation a row, units in the names of columns.

The units are in ``frame.attrs["units"]`` too, by column.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from simsched.analysis.services import OF_SERVICE

if TYPE_CHECKING:
    import pandas as pd

Row = Mapping[str, Any]
#: Suffixes of columns and their units, longer ones first.
UNITS = (
    ("_bytes_per_s", "B/s"),
    ("_per_s", "1/s"),
    ("_per_wall_s", "1"),
    ("_percent", "%"),
    ("_bytes", "B"),
    ("_ps", "ps"),
    ("_hz", "Hz"),
    ("_s", "s"),
)
IDENTITY = ("experiment", "machine", "workload", "policy", "backend", "seed")


def units_of(columns: Iterable[str]) -> dict[str, str]:
    """Return the unit of every column that has one in its name.

    >>> units_of(["makespan_s", "dram_bytes_per_s", "steals", "makespan_s_ci95"])
    {'makespan_s': 's', 'dram_bytes_per_s': 'B/s', 'makespan_s_ci95': 's'}
    """
    found = {}
    for column in columns:
        for suffix, unit in UNITS:
            if column.removesuffix("_ci95").endswith(suffix):
                found[column] = unit
                break
    return found


def with_units(frame: pd.DataFrame) -> pd.DataFrame:
    """Note the units of a frame's columns in its `attrs`; return it."""
    frame.attrs["units"] = units_of(map(str, frame.columns))
    return frame


def parameter_columns(texts: Sequence[str | None]) -> dict[str, list[Any]]:
    """Return the policy parameters that are not the same in all runs, as columns ``policy.NAME``.

    >>> parameter_columns(['{"a": 1, "b": 2}', '{"a": 1, "b": 3}', None])
    {'policy.a': [1, 1, None], 'policy.b': [2, 3, None]}
    """
    parsed = {text: json.loads(text or "{}") for text in dict.fromkeys(texts)}
    names = dict.fromkeys(name for each in parsed.values() for name in each)
    missing = object()
    varied = [
        name
        for name in names
        if len({repr(each.get(name, missing)) for each in parsed.values()}) > 1
    ]
    return {f"policy.{name}": [parsed[text].get(name) for text in texts] for name in varied}


def parameters_of(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return for each row the :func:`parameter_columns` of all."""
    columns = parameter_columns([row.get("policy_parameters") for row in rows])
    return [{name: columns[name][index] for name in columns} for index in range(len(rows))]


def runs_frame(rows: Sequence[Row]) -> pd.DataFrame:
    """Return one row per run: which it is, then its metrics that are single values."""
    import pandas as pd

    single = [{key: row[key] for key in row if not isinstance(row[key], list)} for row in rows]
    return arranged(pd.DataFrame(single))


def arranged(frame: pd.DataFrame) -> pd.DataFrame:
    """Return runs with what identifies them first and the parameters that differ as columns."""
    import pandas as pd

    texts = frame["policy_parameters"].tolist() if "policy_parameters" in frame else []
    parameters = pd.DataFrame(parameter_columns(texts), index=frame.index)
    first = [name for name in IDENTITY if name in frame]
    first += [str(name) for name in frame if str(name).startswith("sweep.")]
    rest = frame.drop(columns=first)
    return with_units(pd.concat([frame[first], parameters, rest], axis=1))


def frame_of(rows: Sequence[Row], parts: Callable[[Row], Iterable[dict[str, Any]]]) -> pd.DataFrame:
    """Return one row per part of every run, after the columns that say which run it is."""
    import pandas as pd

    found = []
    for row, parameters in zip(rows, parameters_of(rows), strict=True):
        identity = {key: row[key] for key in IDENTITY if key in row}
        swept = {key: value for key, value in row.items() if key.startswith("sweep.")}
        found += [identity | swept | parameters | one for one in parts(row)]
    return with_units(pd.DataFrame(found))


def iterations(row: Row) -> Iterator[dict[str, Any]]:
    """Yield the iterations of a run; 0 is the initialisation.

    For every memory kind, and for the `local` memory of the domains and that of others (`remote`),
    there are `<kind>_bytes` and `<kind>_bytes_per_s`.
    """
    first = 0 if row.get("initialisation_s", 0.0) > 0.0 else 1
    kinds = [
        key.removeprefix("iteration_").removesuffix("_bytes")
        for key, value in row.items()
        if key.startswith("iteration_") and key.endswith("_bytes") and value is not None
    ]
    for index, duration in enumerate(row["iteration_s"]):
        one = {"iteration": first + index, "duration_s": duration}
        for kind in kinds:
            moved = row[f"iteration_{kind}_bytes"][index]
            rate = moved / duration if duration > 0 else 0.0
            one |= {f"{kind}_bytes": moved, f"{kind}_bytes_per_s": rate}
        everything = one["local_bytes"] + one["remote_bytes"]
        yield one | {"remote_percent": 100.0 * one["remote_bytes"] / max(1, everything)}


def workers(row: Row) -> Iterator[dict[str, Any]]:
    """Yield the workers of a run with their times."""
    columns = (row["worker_busy_s"], row["worker_acquire_s"], row["worker_idle_s"])
    for worker, (busy, acquire, idle) in enumerate(zip(*columns, strict=True)):
        yield {"worker": worker, "busy_s": busy, "acquire_s": acquire, "idle_s": idle}


def links(row: Row) -> Iterator[dict[str, Any]]:
    """Yield the links of a run's machine with the bytes on them and the share in use."""
    columns = (row["link_name"], row["link_bytes"], row["link_percent"])
    for link, n_bytes, percent in zip(*columns, strict=True):
        yield {"link": link, "carried_bytes": n_bytes, "used_percent": percent}


def jobs(row: Row) -> Iterator[dict[str, Any]]:
    """Yield the MapReduce jobs of a run, in the order of their first tasks."""
    times, counts = ("arrival_s", "maps_end_s", "end_s"), ("maps", "local_maps")
    numbers = row.get("job_iteration") or []
    for index, number in enumerate(numbers):
        one = {"iteration": number, "job": index - numbers.index(number)}
        one |= {name: row[f"job_{name}"][index] for name in ("user", "application", *times)}
        one["response_s"] = one["end_s"] - one["arrival_s"]
        yield one | {name: row[f"job_{name}"][index] for name in counts}


def services(row: Row) -> Iterator[dict[str, Any]]:
    """Yield the latency-critical services of a run, with their queries that count."""
    for index, service in enumerate(row.get("service_name") or ()):
        of_service = {name: row[f"service_{name}"][index] for name in OF_SERVICE}
        yield {"service": service} | of_service
