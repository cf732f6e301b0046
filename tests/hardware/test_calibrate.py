"""Calibration of a host, all of it; times need only be there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import simsched.hardware.calibrate as module
import simsched.hardware.calibrate_memory as memory
import simsched.hardware.host as hosts
from simsched.files.errors import ConfigurationError
from simsched.hardware.calibrate import calibrate_machine
from simsched.hardware.calibrate_document import machine_document
from simsched.hardware.calibrate_host import HostCache, read_host
from simsched.hardware.calibrate_probes import Measured
from simsched.hardware.calibrate_report import measured_rows
from simsched.hardware.host import Load
from simsched.hardware.topology import allowed_cores
from simsched.machine.written import document_yaml
from simsched.report.check import check_file

from .calibrations import GB, TINY, calibration, is_plausible, measured, small, two_nodes
from .support import needs_linux

pytestmark = needs_linux

FIRST = allowed_cores()[0]


def test_caches_are_compared_with_memory_as_one_core_reads_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[Measured, Measured]] = []

    def caches(host, effort, sweep, of_memory, warnings):
        asked.append(of_memory)
        return ()

    def rate(threads, operation, total, *, node=-1, rounds):
        return measured(GB, f"{operation} {len(threads)} {total}")

    def time(threads, size, *, rounds, evict_bytes=0, **others):
        return measured(1e-9, f"{len(threads)} {evict_bytes > 0}")

    monkeypatch.setattr(memory, "stream_rate", rate)
    monkeypatch.setattr(module, "stream_rate", rate)
    monkeypatch.setattr(memory, "chase_time", time)
    monkeypatch.setattr(module, "measure_caches", caches)
    monkeypatch.setattr(module, "task_costs", lambda timed: ({"pop": measured(1e-9)}, ()))
    monkeypatch.setattr(module, "contended_lock", lambda *a: measured(1e-9))
    monkeypatch.setattr(module, "barrier_cost", lambda *a: measured(1e-9))
    monkeypatch.setattr(module, "steal_costs", lambda *a: ({}, {}))
    monkeypatch.setattr(module, "smt_throughput", lambda *a: (measured(1.0),))
    module._measure(two_nodes(), TINY, lambda what: None)
    ((latency, read),) = asked
    assert latency.how == "1 True"
    assert read.how == f"read 1 {2**21}"


def test_disturbances() -> None:
    assert module._disturbed(Load(4.0, 0.1, 0.0), 2) == []
    found = module._disturbed(Load(4.0, 4.0, 1.0), 2)
    assert found == [
        "host: other programs used 50% of the cores meanwhile",
        "host: the hypervisor took away 12% of the cores' time meanwhile",
    ]


def test_use_of_chosen_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stat = tmp_path / "stat"
    values = "100 200 300 999 999 10 20 50 7 7"
    lines = ["cpu  9 9 9 9 9 9 9 9 9 9", f"cpu0 {values}", f"cpu1 {values}", "intr 5"]
    stat.write_text("\n".join(lines), encoding="ascii")
    tick = 0.01
    monkeypatch.setattr(hosts, "STAT", stat)
    usage = module.sample([1])
    assert (usage.busy_s, usage.stolen_s) == (pytest.approx(630 * tick), pytest.approx(50 * tick))
    assert usage.own_s > 0
    assert module.sample([7]).busy_s == pytest.approx(module.sample([7]).own_s, abs=0.1)


@pytest.mark.parametrize(
    ("cores", "found"),
    [
        ([10**6], r"\[1000000\]"),
        ([FIRST, -1], r"\[-1\]"),
        ([], "none"),
        (range(10**6, 10**6 + 11), r"\[1000000, .*, 1000007\] and 3 more"),
    ],
)
def test_cores_that_may_not_be_used(cores: Sequence[int], found: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"cores: found {found}, accepted \["):
        calibrate_machine(list(cores))


def test_this_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All of it, in small: with little effort and caches that need little."""
    real = read_host(allowed_cores())
    caches = (HostCache(1, 2**15, 1), HostCache(2, 2**18, 1))
    monkeypatch.setattr(module, "read_host", lambda cores: replace(real, caches=caches))
    monkeypatch.setattr(module, "QUICK", TINY)
    told: list[str] = []
    found = calibrate_machine(quick=True, progress=told.append)
    assert told[0] == "scheduling"
    assert found.is_quick
    assert found.duration_s > 0
    assert found.started.endswith("UTC")
    rows = {row.name: row for row in measured_rows(found)}
    for row in rows.values():
        if row.name in {"push", "spawn_child_first", "spawn_parent_first", "lock_hold"}:
            assert 0 <= row.value < 1, row  # differences, for which there may be nothing left
        else:
            assert is_plausible(row.value, 10e12 if row.unit == "B/s" else 100), row
        assert row.spread >= 0
        assert row.rounds >= 1
    for operation in ("read", "write", "copy", "triad"):
        assert any(name.startswith(f"{operation} ") for name in rows)
    assert "steal, distance 1" in rows or len(allowed_cores()) == 1
    file = tmp_path / "host.yaml"
    file.write_text(document_yaml(machine_document(found)), encoding="utf-8")
    lines, _ = check_file(str(file))  # with so little effort, values may look odd
    assert lines[0].startswith(f"{file}: machine, {len(real.threads)} cores")


def test_values_that_are_hard_to_repeat_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = calibration(small())
    assert module._loose(found) == []
    loose = {name: replace(cost, spread=0.4) for name, cost in found.costs.items()}
    text = module._loose(replace(found, costs={**loose, "pop": found.costs["pop"]}))
    assert text == [
        "spread above 25%: push; spawn_child_first; spawn_parent_first; lock_hold; barrier"
    ]
