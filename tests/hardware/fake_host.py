"""A host whose clocks and speed are what a test says, and runs that take no time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle, repeat

import pytest

from simsched.files.yaml_reader import Document
from simsched.hardware import measure as measuring
from simsched.hardware.host import Host, Load, Sample
from simsched.hardware.measure_schema import Matrix, read_matrix

QUIET_OVERHEAD = {"task_us": 20, "overhead": 0.004, "pairs": 32, "workers": 2, "tasks": 500}


class FakeHost(Host):
    """Each run takes a second, of which others and the hypervisor use what they are given.

    Parameters
    ----------
    others, stolen : float
        Cores that are used during the runs.
    before, after : float
        Cores that others use at other times.
    probes : sequence of float
        Times of the speed probe; the last one lasts.
    """

    def __init__(
        self,
        *,
        others: float = 0.0,
        stolen: float = 0.0,
        before: float = 0.0,
        after: float = 0.0,
        probes: Sequence[float] = (1e-3,),
    ) -> None:
        self.others, self.stolen = others, stolen
        self._watched: Iterator[float] = cycle((before, after))
        self._probes = iter([*probes, *repeat(probes[-1], 1000)])
        self._seconds = 0.0

    @property
    def threads(self) -> int:
        return 2

    @property
    def cores(self) -> list[int]:
        return [0, 1]

    def sample(self) -> Sample:
        now = self._seconds
        self._seconds += 1.0
        return Sample(now, now * (self.others + 2.0), now * self.stolen, now * 2.0)

    def idle_load(self, seconds: float) -> Load:
        return Load(seconds, next(self._watched) * seconds, 0.0)

    def probe(self) -> float:
        return next(self._probes)

    def describe(self) -> dict[str, object]:
        return {"name": "fake"}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the measurement of the overhead, and repetitions because of what else runs."""
    monkeypatch.setattr(measuring, "MAX_REPEATS", 0)
    monkeypatch.setattr(measuring, "tracing_overhead", lambda workers: dict(QUIET_OVERHEAD))


def matrix(**changes: object) -> Matrix:
    """Return a small matrix, with other values where given."""
    data: dict[str, object] = {
        "name": "small",
        "programs": [{"name": "empty", "tasks": 20}, {"name": "heat", "rows": 32, "columns": 16}],
        "policies": ["cilk_a", "work_sharing"],
        "workers": [1, 2],
        "repetitions": 2,
    }
    data["programs"][1]["iterations"] = 3  # type: ignore[index]
    return read_matrix(Document(None, data | changes))
