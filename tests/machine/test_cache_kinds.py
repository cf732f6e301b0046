"""Machine files whose kinds of cores have other caches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from simsched.engine.run import simulate
from simsched.files.errors import ConfigurationError, ModelError
from simsched.machine import load_machine
from simsched.machine.caches import CacheInstance
from simsched.machine.draw import _legend, _levels
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.report.show import describe
from simsched.report.terminal import text as as_text
from simsched.workload.presets import make_workload

FILE = """\
description: two sockets of two large and four small cores each
sources:
  vendor: {kind: datasheet, reference: Example Corp.}
cores:
  large: {clock: [3 GHz, vendor], ops_per_cycle: [2, vendor]}
  small: {clock: [2 GHz, vendor], ops_per_cycle: [1, vendor]}
sockets:
  - {count: [2, vendor], domains: [1, vendor], cores: {large: [2, vendor], small: [4, vendor]}}
caches:
  L1:
    capacity: [32 KiB, vendor]
    bandwidth: [100 GB/s, vendor]
    latency: [1 ns, vendor]
    shared_by: [1, vendor]
  L2:
    capacity: [2 MiB, vendor]
    bandwidth: [40 GB/s, vendor]
    latency: [5 ns, vendor]
    shared_by: [1, vendor]
    cores:
      small: {capacity: [1 MiB, "vendor: of four"], latency: [7 ns, vendor], shared_by: [4, vendor]}
  L3:
    capacity: [12 MiB, vendor]
    bandwidth: [20 GB/s, vendor]
    latency: [20 ns, vendor]
    shared_by: [6, vendor]
memory:
  dram: {kind: DRAM, capacity: [8 GiB, vendor], bandwidth: [30 GB/s, vendor], page: [4 KiB, vendor]}
paths:
  all: {core_cap: [10 GB/s, vendor], latency: [90 ns, vendor]}
"""

SMALL = next(line for line in FILE.splitlines() if line.startswith("      small:"))


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def _write(text: str) -> Path:
        path = tmp_path / "hybrid.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return _write


Write = Callable[[str], Path]


def test_instances_of_kinds(write: Write) -> None:
    machine = load_machine(write(FILE))
    inner, middle, outer = machine.caches
    assert inner.core_instance.tolist() == list(range(12))
    assert middle.core_instance.tolist() == [0, 1, 2, 2, 2, 2, 3, 4, 5, 5, 5, 5]
    assert outer.core_instance.tolist() == [0] * 6 + [1] * 6
    assert (inner.differing, outer.differing) == ({}, {})
    assert machine.other_caches(middle) == {"small": 2}
    large, small = middle.instance(4), middle.instance(5)
    assert (large.capacity_bytes, large.latency_ps) == (2 << 20, 5000)
    assert (small.capacity_bytes, small.latency_ps) == (1 << 20, 7000)
    assert small.bandwidth_bytes_per_s == large.bandwidth_bytes_per_s == 40e9


def test_slices_of_a_kind_are_those_of_its_level_unless_it_has_own(write: Write) -> None:
    own = "    effective_capacities: [[1 MiB, 3 MiB], vendor]"
    machine = load_machine(
        write(FILE.replace(SMALL, f"      large: {{latency: [4 ns, vendor]}}\n{own}"))
    )
    level = machine.caches[1]
    assert level.differing.keys() == {0, 1, 6, 7}
    assert level.instance(6).effective_capacities_bytes == (1 << 20, 3 << 20)


def test_small_cores_of_the_board_have_the_small_cache() -> None:
    machine = load_machine("odroid_xu3")
    level = machine.caches[1]
    assert [level.instance(i).capacity_bytes for i in (0, 1)] == [2 << 20, 512 << 10]
    assert level.core_instance.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


def test_what_is_shown_of_them(write: Write) -> None:
    machine = load_machine(write(FILE))
    text = as_text(describe(machine))
    after = text[text.index("of small cores") :]
    assert "capacity 1 MiB  [vendor: of four]" in after
    assert "latency 7 ns  [vendor]" in after
    assert "shared by 4 cores  [vendor]" in after
    assert "bandwidth" not in after[: after.index("L3")]
    legend = [line for _, line in _legend(machine)]
    assert "L2: 2 MiB per core, 40 GB/s, 5 ns" in legend
    assert "L2: 1 MiB per 4 cores, 40 GB/s, 7 ns (small)" in legend
    level = describe(machine).data["caches"][1]
    assert level["instances"] == 6
    assert (level["shared_by"], level["cores"]["small"]["shared_by"]) == (1, 4)
    assert level["cores"]["small"]["capacity_bytes"] == 1 << 20


@pytest.mark.parametrize(("columns", "strips"), [(6, [0, 1, 2]), (3, [0]), (2, [0]), (1, [0])])
def test_a_cache_is_drawn_under_one_row_or_beside_all(
    write: Write, columns: int, strips: list[int]
) -> None:
    machine = load_machine(write(FILE))
    others = [level for level in range(3) if level not in strips]
    assert _levels(machine, 1, columns) == (strips, others)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "      small: {",
            "      smal: {",
            "L2.cores.smal: unknown core kind 'smal'; did you mean",
        ),
        (
            SMALL,
            SMALL + "\n      large: {latency: [4 ns, vendor]}",
            "L2.cores: found all kinds of core, accepted: all but one, which the level describes",
        ),
        (
            "capacity: [1 MiB, ",
            "capacity: [0 B, ",
            "L2.cores.small.latency: found beside a capacity of 0 B, accepted: with cores that",
        ),
        (SMALL, "      small: {}", "L2.cores.small: found nothing, accepted: capacity, bandwidth,"),
        (
            "shared_by: [4, vendor]}",
            "shared_by: [3, vendor]}",
            "L2.cores.small.shared_by[0]: found 3, accepted: a divisor of the 4 cores (small) that",
        ),
        (
            SMALL,
            SMALL + "\n    effective_capacities: [[1 MiB, 2 MiB], vendor]",
            "L2.cores.small.capacity: found without effective_capacities, accepted: both",
        ),
        (
            SMALL,
            "      small: {effective_capacities: [[1 MiB], vendor]}\n"
            "    effective_capacities: [[1 MiB, 2 MiB], vendor]",
            "L2.cores.small.effective_capacities[0]: found 1, accepted: 2, as in the level",
        ),
        (
            SMALL,
            "      small: {effective_capacities: [[1 MiB], vendor]}",
            "L2.cores.small.effective_capacities: found in a level without, accepted: in one",
        ),
        (
            "    shared_by: [6, vendor]",
            "    shared_by: [2, vendor]\n    filled_by: [evictions, vendor]",
            "L3.shared_by[0]: found 2 in a level filled by evictions, accepted: a multiple of the",
        ),
        (
            "    shared_by: [1, vendor]\n    cores:",
            "    shared_by: [3, vendor]\n    cores:",
            "L2.shared_by[0]: found 3, accepted: a divisor of the 2 cores (others) that follow one",
        ),
    ],
)
def test_what_does_not_fit_is_refused(
    write: Write, old: str, new: str, message: str | None
) -> None:
    assert FILE.count(old) == 1
    path = write(FILE.replace(old, new))
    with pytest.raises(ConfigurationError) as caught:
        load_machine(path)
    assert f"caches.{message}" in str(caught.value)


def test_a_level_is_shared_by_as_many_as_it_says(write: Write) -> None:
    machine = load_machine(write(FILE))
    assert [level.shared_by for level in machine.caches] == [1, 1, 6]
    text = as_text(describe(machine))
    own = text[text.index("L2: 6 instances") : text.index("of small cores")]
    assert "shared by 1 core  [vendor]" in own


APART = FILE.replace(
    "{count: [2, vendor], domains: [1, vendor], cores: {large: [2, vendor], small: [4, vendor]}}",
    "{count: [1, vendor], domains: [1, vendor], cores: {small: [4, vendor]}}\n"
    "  - {count: [1, vendor], domains: [1, vendor], cores: {large: [2, vendor]}}",
).replace("[6, vendor]", "[2, vendor]")


@pytest.mark.parametrize("filled_by", ["misses", "evictions"])
@pytest.mark.parametrize("backend", ["native", "simpy"])
def test_cores_without_a_level_run_as_on_a_machine_without_it(
    write: Write, backend: str, filled_by: str
) -> None:
    absent = (
        f"    filled_by: [{filled_by}, vendor]\n    cores: {{small: {{capacity: [0 B, vendor]}}}}\n"
    )
    with_level = APART.replace("memory:\n", f"{absent}memory:\n")
    level = APART[APART.index("  L3:") : APART.index("memory:\n")]
    sizes = {"leaf_bytes": 16384, "block_bytes": 16384, "iterations": 3}
    heat = make_workload("heat", {"rows": 128, "columns": 64, **sizes})
    results = [
        simulate(
            load_machine(write(text)),
            heat,
            make_policy("cilk"),
            workers=4,
            pinning="compact",
            backend=backend,
        ).summary
        for text in (with_level, APART.replace(level, ""))
    ]
    assert results[0].makespan_ps == results[1].makespan_ps
    assert results[0].node_bytes.tolist() == results[1].node_bytes.tolist()
    missing = results[0].cache_missing_bytes.sum(axis=(0, 1)).tolist()
    assert missing[2] == missing[1] > 0
    assert missing[:2] == results[1].cache_missing_bytes.sum(axis=(0, 1)).tolist()


def test_what_is_shown_of_cores_without_a_level(write: Write) -> None:
    machine = load_machine(
        write(
            APART.replace("memory:\n", "    cores: {small: {capacity: [0 B, vendor]}}\nmemory:\n")
        )
    )
    text = as_text(describe(machine))
    assert "of small cores" in text[text.index("L3") :]
    assert "capacity none  [vendor]" in text
    assert [bars for _, bars in (_levels(machine, 0, 4), _levels(machine, 1, 2))] == [[], []]
    assert [strips for strips, _ in (_levels(machine, 0, 4), _levels(machine, 1, 2))] == [
        [0, 1],
        [0, 1, 2],
    ]
    assert not any("L3: 0" in line for _, line in _legend(machine))


def test_who_extends_a_machine_leaves_out_caches_of_kinds_that_it_has_not(
    tmp_path: Path, write: Write
) -> None:
    write(FILE)
    path = tmp_path / "large.yaml"
    sockets = "[{count: [1, vendor], domains: [1, vendor], cores: {large: [6, vendor]}}]"
    path.write_text(f"extends: hybrid.yaml\nsockets: {sockets}\n", encoding="utf-8")
    machine = load_machine(path)
    assert machine.caches[1].differing == {}
    assert machine.caches[1].core_instance.tolist() == [0, 1, 2, 3, 4, 5]


def test_a_victim_cache_takes_whole_instances_of_the_level_before(write: Write) -> None:
    # Two large and three small cores: the second instance of L2 would begin inside one of L1.
    victim = "    shared_by: [4, vendor]\n    filled_by: [evictions, vendor]\n  L3:"
    by_kind = "    shared_by: [2, vendor]\n    cores: {small: {shared_by: [1, vendor]}}\n  L2:"
    one = "    shared_by: [1, vendor]\n"
    text = FILE.replace(f"    cores:\n{SMALL}\n", "").replace(f"{one}  L2:", by_kind)
    text = text.replace(f"{one}  L3:", victim).replace("small: [4, vendor]", "small: [3, vendor]")
    text = text.replace("count: [2, vendor], domains: [1", "count: [1, vendor], domains: [4")
    text = text.replace("shared_by: [6, vendor]", "shared_by: [20, vendor]")
    with pytest.raises(ConfigurationError) as caught:
        load_machine(write(text))
    assert "caches.L2.shared_by[0]: found 4 in a level filled by evictions" in str(caught.value)


@pytest.mark.parametrize(
    ("number", "own"),
    [
        (7, CacheInstance(1000, 1e9, 0)),
        (1, CacheInstance(-1, 1e9, 0)),
        (1, CacheInstance(1000, 0.0, 0)),
        (1, CacheInstance(1000, 1e9, 0, (500, 500))),
    ],
)
def test_instances_that_cannot_be_are_refused(number: int, own: CacheInstance) -> None:
    plain = ("L1", 1000, 1e9, 0, 1, 0.0, 0, 0.0, 1.0, (), 1.0, "misses", 0.0)
    with pytest.raises(ModelError, match=f"cache L1: instance {number}: found"):
        make_machine(domains=1, cores_per_domain=2, caches=[(*plain, {number: own})])
