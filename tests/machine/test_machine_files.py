"""Machine files: what the schema carries and what it refuses."""

import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from simsched.files.errors import ConfigurationError
from simsched.machine import check_machine, load_machine
from simsched.machine.draw import draw_machine
from simsched.report.show import describe
from simsched.report.terminal import text as as_text

GUIDE = Path(__file__).parents[2] / "docs" / "adding-a-machine.md"


@pytest.fixture
def example() -> str:
    """Return the complete example of the guide."""
    match = re.search(r"```yaml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert match is not None
    return match.group(1)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def _write(text: str, name: str = "server.yaml") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return _write


Write = Callable[..., Path]


def test_a_level_is_filled_by_misses_unless_it_says_evictions(example: str, write: Write) -> None:
    victim = "    shared_by: [4, vendor]\n    filled_by: [evictions, vendor]\n"
    path = write(example.replace("    shared_by: [4, vendor]\n", victim, 1))
    assert [level.filled_by for level in load_machine(path).caches] == ["misses", "evictions"]
    assert check_machine(path) == []


def test_nodes_share_controllers_and_rates_depend_on_flows(example: str, write: Write) -> None:
    extra = (
        "controllers:\n"
        "  both: {nodes: [[dram0, dram1], vendor], bandwidth: [40 GB/s, vendor],"
        " bandwidth_by_flows: [{1: 10 GB/s, 3: 40 GB/s}, vendor]}\n"
        "links:\n"
    )
    machine = load_machine(write(example.replace("links:\n", extra, 1)))
    assert [node.controller for node in machine.nodes] == [0, 0]
    assert machine.controllers[0].bandwidth_curve == (10e9, 25e9, 40e9)
    for old, new, message in (
        ("[dram0, dram1]", "[dram0, dram7]", "nodes[0][1]: unknown memory node 'dram7'"),
        ("[dram0, dram1]", "[dram0, dram0]", "found dram0 a second time, accepted: one"),
        ("{1: 10 GB/s", "{0: 10 GB/s", "accepted: numbers of flows from 1 to 65536"),
    ):
        with pytest.raises(ConfigurationError) as caught:
            load_machine(write(example.replace("links:\n", extra, 1).replace(old, new, 1)))
        assert message in str(caught.value)


def test_the_guides_example_loads_without_warnings(example: str, write: Write) -> None:
    path = write(example)
    machine = load_machine(path)
    assert check_machine(path) == []
    assert (machine.name, machine.n_sockets, machine.n_cores, machine.n_threads) == (
        "server",
        2,
        8,
        16,
    )
    assert [node.name for node in machine.nodes] == ["dram0", "dram1"]
    assert machine.nodes[0].bandwidth_bytes_per_s == 38e9
    assert machine.nodes[0].peak_bandwidth_bytes_per_s == 51.2e9
    local, remote = machine.paths[0]
    assert (local.latency_ps, local.links) == (85_000, ())
    assert (remote.latency_ps, len(remote.links)) == (140_000, 1)
    assert remote.core_cap_bytes_per_s == (12e9, 14e9)
    assert machine.sources["memory.dram.bandwidth"] == "stream"
    assert machine.sources["path.0.dram1.latency"] == "stream"
    assert machine.sources["sources.guess"].startswith("assumed: usual order")


def test_the_guide_describes_every_section_and_its_error_is_real(
    example: str, write: Write
) -> None:
    guide = GUIDE.read_text(encoding="utf-8")
    for section in ("cores", "sockets", "caches", "memory", "links", "hops", "paths", "costs"):
        assert f"\n`{section}`\n: " in guide
    with pytest.raises(ConfigurationError) as caught:
        load_machine(write(example.replace("    bandwidth: [38 GB/s", "    bandwith: [38 GB/s")))
    shown = "memory.dram.bandwith: unknown key 'bandwith'; did you mean 'bandwidth'? accepted: at, "
    assert shown in str(caught.value)
    assert shown in guide


EDITS = [
    (
        "bandwidth: [38 GB/s, stream]",
        "bandwidth: [38, stream]",
        "memory.dram.bandwidth[0]: found 38, accepted: a bandwidth above zero such as '96 GB/s'",
    ),
    (
        "bandwidth: [38 GB/s, stream]",
        "bandwidth: [-38 GB/s, stream]",
        "found '-38 GB/s', accepted: a bandwidth above zero",
    ),
    (
        "bandwidth: [38 GB/s, stream]",
        "bandwidth: [nan GB/s, stream]",
        "found 'nan GB/s', accepted: a bandwidth above zero",
    ),
    ("bandwidth: [38 GB/s, stream]", "bandwidth: [38 GB, stream]", "did you mean '38 GB/s'?"),
    (
        "bandwidth: [38 GB/s, stream]",
        "bandwidth: 38 GB/s",
        "memory.dram.bandwidth: found '38 GB/s', accepted: [value, source]",
    ),
    ("bandwidth: [38 GB/s, stream]", "bandwidth: [38 GB/s, '']", "accepted: [value, source]"),
    (
        "bandwidth: [38 GB/s, stream]",
        "bandwidth: [38 GB/s, steam]",
        "memory.dram.bandwidth[1]: unknown source 'steam'; did you mean 'stream'?",
    ),
    (
        "bandwidth: [38 GB/s, stream]",
        "bandwidth: [60 GB/s, stream]",
        "memory.dram.bandwidth[0]: found more than peak_bandwidth, accepted: at most that",
    ),
    (
        "capacity: [32 GiB, vendor]",
        "capacity: [0 GiB, vendor]",
        "memory.dram.capacity[0]: found zero, accepted: more than zero",
    ),
    (
        "    kind: DRAM\n",
        "    kind: DRAM\n    used_by: cpus\n",
        "memory.dram.used_by[0]: unknown processor 'cpus'; did you mean 'cpu'?",
    ),
    (
        "memory:\n",
        "memory:\n  far: {kind: NVM, at: machine, used_by: own, capacity: [1 GB, vendor], "
        "bandwidth: [1 GB/s, vendor], page: [4 KiB, vendor]}\n",
        "memory.far.used_by: found 'own' for a node of no domain, accepted: processors",
    ),
    (
        "    kind: DRAM\n",
        "    kind: DRAM\n    at: [0]\n    used_by: own\n",
        "memory: found no memory that domain 1 (cpu) uses in place",
    ),
    (
        "    kind: DRAM\n",
        "    kind: DRAM\n    managed_by: drivers\n",
        "memory.dram.managed_by: found 'drivers', accepted: 'system' or 'driver'; "
        "did you mean 'driver'?",
    ),
    (
        "    page: [4 KiB, vendor]\n",
        "    page: [4 KiB, vendor]\n    at: [0, 2]\n",
        "memory.dram.at: found domain 2, accepted: 0 to 1",
    ),
    (
        "latency: [85 ns, stream]",
        "latency: [-85 ns, stream]",
        "paths.local.latency[0]: found '-85 ns', accepted: a time",
    ),
    (
        "smt_throughput: [[1, 1.25], guess]",
        "smt_throughput: [[1, 0.9], guess]",
        "cores.x1.smt_throughput[0]: found [1.0, 0.9], accepted: non-decreasing",
    ),
    (
        "smt_throughput: [[1, 1.25], guess]",
        "smt_throughput: [[2, 2.5], guess]",
        "accepted: non-decreasing numbers that start with 1",
    ),
    (
        "smt_throughput: [[1, 1.25], guess]",
        "smt_throughput: [[1, .nan], guess]",
        "smt_throughput[0][1]: found nan, accepted: a finite number",
    ),
    (
        "smt_throughput: [[1, 1.25], guess]",
        "smt_throughput: [[], guess]",
        "accepted: non-decreasing",
    ),
    (
        "clock: [2.5 GHz, vendor]",
        "clok: [2.5 GHz, vendor]",
        "cores.x1.clok: unknown key 'clok'; did you mean 'clock'?",
    ),
    (
        "clock: [2.5 GHz, vendor]",
        "clock: [1e30 GHz, vendor]",
        "cores.x1.clock[0]: found 1e+39 Hz, accepted: 1 Hz to 1000 THz",
    ),
    (
        "  - count: [2, vendor]",
        "  - count: [0, vendor]",
        "sockets[0].count[0]: found 0, accepted: greater than or equal to 1",
    ),
    (
        "  - count: [2, vendor]",
        "  - count: [2.5, vendor]",
        "sockets[0].count[0]: found 2.5, accepted: an integer",
    ),
    (
        "cores: {x1: [4, vendor]}",
        "cores: {x2: [4, vendor]}",
        "sockets[0].cores.x2: unknown core kind 'x2'; did you mean 'x1'?",
    ),
    (
        "shared_by: [4, vendor]",
        "shared_by: [3, vendor]",
        "caches.L3.shared_by[0]: found 3, accepted: a divisor of the 4 cores of socket 0",
    ),
    (
        "    shared_by: [4, vendor]",
        "    shared_by: [4, vendor]\n    filled_by: [eviction, vendor]",
        "caches.L3.filled_by[0]: found 'eviction'",
    ),
    (
        "    shared_by: [1, vendor]",
        "    shared_by: [1, vendor]\n    filled_by: [evictions, vendor]",
        "caches.L2.filled_by[0]: found evictions in the first level, accepted: misses",
    ),
    (
        "    shared_by: [4, vendor]",
        "    shared_by: [4, vendor]\n    filled_by: [evictions, vendor]\n"
        "    transfer_bandwidth: [9 GB/s, vendor]\n    transfer_latency: [50 ns, vendor]",
        "caches.L3.transfer_bandwidth: found in a level filled by evictions",
    ),
    (
        "    shared_by: [1, vendor]\n  L3:\n    capacity: [16 MiB, vendor]\n"
        "    bandwidth: [20 GB/s, guess]\n    latency: [20 ns, vendor]\n    shared_by: [4, vendor]",
        "    shared_by: [4, vendor]\n  L3:\n    capacity: [16 MiB, vendor]\n"
        "    bandwidth: [20 GB/s, guess]\n    latency: [20 ns, vendor]\n"
        "    shared_by: [2, vendor]\n    filled_by: [evictions, vendor]",
        "caches.L3.shared_by[0]: found 2 in a level filled by evictions, accepted: a multiple of",
    ),
    (
        "connects: [[[0, 1]], vendor]",
        "connects: [[[0, 5]], vendor]",
        "links.upi.connects[0][0]: found domain 5, accepted: 0 to 1",
    ),
    (
        "connects: [[[0, 1]], vendor]",
        "connects: [[[1, 1]], vendor]",
        "links.upi.connects[0][0]: found domain 1 linked to itself",
    ),
    (
        "connects: [[[0, 1]], vendor]",
        "connects: [[[0, 1], [1, 0]], vendor]",
        "found domains 1 and 0 connected twice",
    ),
    (
        "connects: [[[0, 1]], vendor]",
        "duplex: half",
        "links.upi: found both or neither of connects and crossed_by",
    ),
    ("    hops: remote\n", "    hops: 2\n", "paths.remote: selects no path, accepted: hops 0 to 1"),
    ("    hops: remote\n", "    hops: remot\n", "did you mean 'remote'?"),
    (
        "    hops: remote\n",
        "    to: HBM\n",
        "paths.remote.to[0]: unknown memory 'HBM'; accepted: DRAM, dram, dram0, dram1",
    ),
    (
        "    hops: remote\n",
        "    to: dram7\n",
        "paths.remote.to[0]: unknown memory 'dram7'; did you mean 'dram",
    ),
    (
        "    hops: remote\n",
        "    domains: 3\n",
        "paths.remote.domains: found domain 3, accepted: 0 to 1",
    ),
    ("    hops: remote\n", "    hops: 0\n", "paths: no rule gives latency from domain 0 to dram1"),
    (
        "    hops: 0\n",
        "    hops: 0\n    os_distance: [10, vendor]\n",
        "paths: found os_distance for some paths, accepted: for all or none",
    ),
    (
        "steal: [[200 ns",
        "steel: [[200 ns",
        "costs.steel: unknown key 'steel'; did you mean 'steal'?",
    ),
    (
        "kind: measured",
        "kind: calibrated",
        "sources.stream.calibrated_on: missing, accepted: the data",
    ),
    ("kind: measured", "kind: measurd", "sources.stream.kind: found 'measurd'"),
    (
        "description: Two-socket",
        "descripton: Two-socket",
        "descripton: unknown key 'descripton'; did you mean 'description'?",
    ),
    (
        "\ncosts:",
        "\nhops: [[[0, 1]], vendor]\ncosts:",
        "hops[0]: accepted: 2 rows of 2 numbers, one per domain",
    ),
    (
        "\ncosts:",
        "\nhops: [[[0, 1], [2, 0]], vendor]\ncosts:",
        "hops[0][0][1]: found 1 there and 2 back, accepted: a symmetric matrix",
    ),
    (
        "\ncosts:",
        "\nhops: [[[0, 0], [0, 0]], vendor]\ncosts:",
        "hops[0][0][1]: found 0, accepted: zero on the diagonal and nowhere else",
    ),
    (
        "description:",
        "extends: 3\ndescription:",
        "extends: found 3, accepted: a machine name or a .yaml file",
    ),
    (
        "description:",
        "extends: knl_snc4_flt\ndescription:",
        "extends: unknown machine 'knl_snc4_flt'; did you mean 'knl_snc4_flat'?",
    ),
    (
        "description:",
        "extends: server.yaml\ndescription:",
        "extends: found 'server.yaml', accepted: a machine that does not extend this one",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), EDITS)
def test_bad_values_are_refused_with_place_and_remedy(
    example: str, write: Write, old: str, new: str, message: str
) -> None:
    assert example.count(old) >= 1
    path = write(example.replace(old, new, 1))
    with pytest.raises(ConfigurationError) as caught:
        load_machine(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}:")


def test_the_line_is_that_of_the_wrong_value(example: str, write: Write) -> None:
    text = example.replace("shared_by: [4, vendor]", "shared_by: [3, vendor]")
    line = 1 + text.split("shared_by: [3")[0].count("\n")
    path = write(text)
    with pytest.raises(ConfigurationError, match=rf"^{re.escape(str(path))}:{line}: caches\.L3"):
        load_machine(path)


def test_unknown_machine_names_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'knl_snc4_flat'") as caught:
        load_machine("knl_snc4_flatt")
    assert "or the path of a .yaml file" in str(caught.value)
    with pytest.raises(ConfigurationError, match=r"nowhere\.yaml: no such file"):
        load_machine("nowhere.yaml")


@pytest.mark.parametrize(
    ("old", "new", "warning"),
    [
        (
            "    page: [4 KiB, vendor]\n",
            "    page: [4 KiB, vendor]\n    bandwidth_by_flows: [{1: 1 GB/s, 4: 2 GB/s}, vendor]\n",
            "dram0: bandwidth 38 GB/s is outside bandwidth_by_flows, 1 GB/s to 2 GB/s",
        ),
        (
            "core_cap: [[12 GB/s, 14 GB/s]",
            "core_cap: [[1 GB/s, 1.5 GB/s]",
            "dram0: all cores together draw 12 GB/s, less than its 38 GB/s",
        ),
        (
            "latency: [140 ns",
            "latency: [80 ns",
            "domain 0 reaches dram1 in 80 ns, its own DRAM in 85 ns",
        ),
        ("latency: [20 ns", "latency: [5 ns", "cache L3 answers sooner than L2 inside it"),
        (
            "kind: DRAM",
            "kind: DRAMM",
            "memory.dram.kind: found 'DRAMM', a kind of its own; did you mean 'DRAM'?",
        ),
        (
            "clock: [2.5 GHz",
            "clock: [28 GHz",
            "cores.x1.clock: found 28 GHz, plausible: 10 MHz to 8 GHz, from a microcontroller to",
        ),
        (
            "bandwidth: [38 GB/s",
            "bandwidth: [1 B/s",
            "memory.dram.bandwidth: found 1 B/s, plausible: 100 kB/s to 100 TB/s, from a slow",
        ),
        (
            "peak_bandwidth: [51.2 GB/s",
            "peak_bandwidth: [1e18 B/s",
            "memory.dram.peak_bandwidth: found 1e18 B/s, plausible: 100 kB/s to 100 TB/s",
        ),
        (
            "latency: [20 ns",
            "latency: [20 s",
            "latency: found 20 s, plausible: 50 ps to 100 ms, from less than a cycle",
        ),
        (
            "bandwidth: [38 GB/s",
            "bandwidth: [42 MB/s",
            "memory.dram.bandwidth: found 42 MB/s, less than any DRAM has",
        ),
        ("  lock_hold: [100 ns, guess]\n", "", "costs: taken as zero: lock_hold"),
        (
            "sources:\n",
            "sources:\n  spare: {kind: assumed, reference: nobody}\n",
            "server.yaml:4: sources.spare: not used by any value",
        ),
        (
            "links:\n",
            "links:\n  cable: {crossed_by: listed, bandwidth: [1 GB/s, vendor]}\n",
            "cable: no rule of paths lists this link",
        ),
    ],
)
def test_odd_values_are_warned_about(
    example: str, write: Write, old: str, new: str, warning: str
) -> None:
    warnings = check_machine(write(example.replace(old, new, 1)))
    assert any(warning in text for text in warnings)


def test_extension_replaces_whole_sections_and_adds_sources(example: str, write: Write) -> None:
    write(example, "base.yaml")
    path = write(
        "extends: base.yaml\n"
        "description: slower\n"
        "sources: {lab: {kind: measured, reference: ours}}\n"
        "costs: {pop: [7 ns, lab]}\n",
        "variant.yaml",
    )
    base, variant = load_machine(path.with_name("base.yaml")), load_machine(path)
    assert (variant.name, variant.description) == ("variant", "slower")
    assert (variant.costs.pop_ps, variant.costs.push_ps) == (7_000, 0)
    assert variant.nodes == base.nodes
    assert variant.paths == base.paths
    assert variant.sources["sources.lab"] == "measured: ours"
    (warning,) = check_machine(path)
    assert warning.startswith("costs: taken as zero: spawn_child_first")


def test_errors_in_inherited_sources_name_the_inherited_file(example: str, write: Write) -> None:
    base = write(example.replace("kind: assumed", "kind: asumed"), "base.yaml")
    path = write(
        "extends: base.yaml\nsources: {lab: {kind: measured, reference: ours}}\n", "variant.yaml"
    )
    with pytest.raises(ConfigurationError) as caught:
        load_machine(path)
    assert str(caught.value).startswith(f"{base}:11: sources.guess.kind: found 'asumed'")


def test_errors_in_inherited_sections_name_the_inherited_file(example: str, write: Write) -> None:
    base = write(example, "base.yaml")
    path = write(
        "extends: base.yaml\nmemory: {ram: {kind: HBM, capacity: [1 GiB, vendor], "
        "bandwidth: [1 GB/s, vendor], page: [4 KiB, vendor]}}\n"
        "sockets: [{count: [3, vendor], domains: [1, vendor], cores: {x1: [2, vendor]}}]\n",
        "variant.yaml",
    )
    with pytest.raises(ConfigurationError) as caught:
        load_machine(path)
    assert str(caught.value).startswith(f"{base}:")


def test_calibrated_sources_say_on_what(example: str, write: Write) -> None:
    text = example.replace("kind: measured", "kind: calibrated\n    calibrated_on: run 7")
    assert load_machine(write(text)).sources["sources.stream"].endswith("; calibrated on run 7")


def _example_with(example: str, **sections: Any) -> str:
    """Return the example with whole sections replaced."""
    yaml = YAML()
    data = yaml.load(example)
    data.update(sections)
    stream = StringIO()
    yaml.dump(data, stream)
    return stream.getvalue()


def test_asymmetric_cores_share_a_domain(example: str, write: Write) -> None:
    speed = {"ops_per_cycle": [1, "guess"]}
    text = _example_with(
        example,
        cores={
            "big": {"clock": ["2.5 GHz", "vendor"], **speed, "smt_throughput": [[1, 1.3], "guess"]},
            "little": {"clock": ["0.8 GHz", "vendor"], **speed},
            "gpu": {
                "clock": ["1 GHz", "vendor"],
                "ops_per_cycle": [500, "guess"],
                "processor": "cuda",
            },
        },
        sockets=[
            {
                "count": [1, "vendor"],
                "domains": [1, "vendor"],
                "cores": {"big": [2, "vendor"], "little": [4, "vendor"]},
            },
            {"count": [1, "vendor"], "domains": [1, "vendor"], "cores": {"gpu": [1, "vendor"]}},
        ],
        caches={},
    )
    path = write(text)
    machine = load_machine(path)
    assert machine.core_group.tolist() == [0, 0, 1, 1, 1, 1, 2]
    assert machine.core_domain.tolist() == [0] * 6 + [1]
    assert machine.thread_core.tolist() == [0, 1, 2, 3, 4, 5, 6, 0, 1]
    assert [group.ops_per_s for group in machine.core_groups] == [2.5e9, 0.8e9, 500e9]
    assert machine.kinds == ("cpu", "cuda")
    picture = path.with_suffix(".png")
    draw_machine(machine, picture)
    assert picture.stat().st_size > 10_000
    assert "0 on socket 0: 2 big, 4 little cores each" in as_text(describe(machine))


def test_explicit_hops_nodes_and_pairwise_rules(example: str, write: Write) -> None:
    text = _example_with(
        example,
        sockets=[
            {"count": [3, "vendor"], "domains": [1, "vendor"], "cores": {"x1": [4, "vendor"]}}
        ],
        hops=[[[0, 1, 3], [1, 0, 1], [3, 1, 0]], "vendor"],
        links={"bus": {"crossed_by": "remote", "bandwidth": ["9 GB/s", "vendor"]}},
        memory={
            "near": {
                "kind": "HBM",
                "at": [0, 2],
                "capacity": ["1 GiB", "vendor"],
                "bandwidth": ["80 GB/s", "vendor"],
                "bandwidth_by_flows": [["30 GB/s", "60 GB/s"], "vendor"],
                "page": ["2 MiB", "vendor"],
            },
            "pool": {
                "kind": "NVM",
                "at": "machine",
                "capacity": ["1 TiB", "vendor"],
                "bandwidth": ["5 GB/s", "vendor"],
                "page": ["4 KiB", "vendor"],
            },
        },
        paths={
            "all": {"latency": ["100 ns", "guess"], "core_cap": ["3 GB/s", "guess"]},
            "far": {"hops": [3], "latency": ["400 ns", "guess"], "node_weight": [2, "guess"]},
            "pool": {"to": "pool", "latency": ["900 ns", "guess"]},
            "one": {"domains": [1], "to": "near2", "latency": ["150 ns", "guess"]},
        },
    )
    path = write(text)
    machine = load_machine(path)
    assert [(node.name, node.domain) for node in machine.nodes] == [
        ("near0", 0),
        ("near2", 2),
        ("pool", None),
    ]
    assert machine.nodes[0].bandwidth_curve == (30e9, 60e9)
    assert machine.nodes[0].page_bytes == 2 << 20
    latencies = [[p.latency_ps // 1000 for p in row] for row in machine.paths]
    assert latencies == [[100, 400, 900], [100, 150, 900], [400, 100, 900]]
    assert [[p.node_weight for p in row] for row in machine.paths][2] == [2.0, 1.0, 1.0]
    assert [[p.links for p in row] for row in machine.paths] == [
        [(), (0,), ()],
        [(0,), (0,), ()],
        [(0,), (), ()],
    ]
    assert machine.touch_order.tolist() == [[0, 1, 2], [0, 1, 2], [1, 0, 2]]
    draw_machine(machine, path.with_suffix(".png"))
    assert "pool (NVM): node 2, of the whole machine" in as_text(describe(machine))


def test_unconnected_domains_are_refused(example: str, write: Write) -> None:
    text = example.replace("count: [2, vendor]", "count: [3, vendor]")
    with pytest.raises(ConfigurationError, match="links: found no way from domain 0 to domain 2"):
        load_machine(write(text))


def test_half_duplex_links_carry_both_directions(example: str, write: Write) -> None:
    machine = load_machine(write(example.replace("  upi:\n", "  upi:\n    duplex: half\n")))
    assert [link.name for link in machine.links] == ["upi0-1"]
    assert machine.paths[0][1].links == machine.paths[1][0].links == (0,)
