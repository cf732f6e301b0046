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


def identities(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return for each row the columns that say which run it is."""
    parameters = parameter_columns([row.get("policy_parameters") for row in rows])
    return [
        {
            **{key: row[key] for key in IDENTITY if key in row},
            **{key: value for key, value in row.items() if key.startswith("sweep.")},
            **{name: values[index] for name, values in parameters.items()},
        }
        for index, row in enumerate(rows)
    ]


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


def iterations_frame(rows: Sequence[Row]) -> pd.DataFrame:
    """Return one row per iteration of every run; 0 is the initialisation.

    For every memory kind, and for the `local` memory of the domains and that of others (`remote`),
    there are `<kind>_bytes` and `<kind>_bytes_per_s`.
    """
    return _frame_of(rows, _iterations)


def workers_frame(rows: Sequence[Row]) -> pd.DataFrame:
    """Return one row per worker of every run with its times."""
    return _frame_of(rows, _workers)


def jobs_frame(rows: Sequence[Row]) -> pd.DataFrame:
    """Return one row per MapReduce job of every run, in the order of their first tasks.

    `response_s` is from the arrival to the end; `local_maps` ran on a node with a replica of their
    split.
    """
    return _frame_of(rows, _jobs)


def services_frame(rows: Sequence[Row]) -> pd.DataFrame:
    """Return one row per latency-critical service of every run, on its queries that count."""
    return _frame_of(rows, _services)


def _frame_of(
    rows: Sequence[Row], parts: Callable[[Row], Iterable[dict[str, Any]]]
) -> pd.DataFrame:
    """Return one row per part of every run, after the columns that say which run it is."""
    import pandas as pd

    runs = zip(rows, identities(rows), strict=True)
    found = [identity | one for row, identity in runs for one in parts(row)]
    return with_units(pd.DataFrame(found))


def _iterations(row: Row) -> Iterator[dict[str, Any]]:
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


def _workers(row: Row) -> Iterator[dict[str, Any]]:
    columns = (row["worker_busy_s"], row["worker_acquire_s"], row["worker_idle_s"])
    for worker, (busy, acquire, idle) in enumerate(zip(*columns, strict=True)):
        yield {"worker": worker, "busy_s": busy, "acquire_s": acquire, "idle_s": idle}


def _jobs(row: Row) -> Iterator[dict[str, Any]]:
    times, counts = ("arrival_s", "maps_end_s", "end_s"), ("maps", "local_maps")
    numbers = row.get("job_iteration") or []
    for index, number in enumerate(numbers):
        one = {"iteration": number, "job": index - numbers.index(number)}
        one |= {name: row[f"job_{name}"][index] for name in ("user", "application", *times)}
        one["response_s"] = one["end_s"] - one["arrival_s"]
        yield one | {name: row[f"job_{name}"][index] for name in counts}


def _services(row: Row) -> Iterator[dict[str, Any]]:
    for index, service in enumerate(row.get("service_name") or ()):
        of_service = {name: row[f"service_{name}"][index] for name in OF_SERVICE}
        yield {"service": service} | of_service
