"""Machine files from files about a machine; every expected number stands in the samples."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from simsched.files.errors import ConfigurationError
from simsched.machine import check_machine, load_machine
from simsched.machine.facts import described, fact_formats, recognised
from simsched.machine.facts.registry import read_facts
from simsched.machine.model import Machine
from tests.machine.facts import samples

TOPOLOGIES = Path(__file__).resolve().parents[4] / "shared/data/measured/topologies"
MLC = TOPOLOGIES.parent / "mlc"

FORMATS = {
    "hwloc": samples.hwloc_2(),
    "lscpu": samples.LSCPU,
    "numactl": samples.NUMACTL,
    "mlc": samples.MLC,
    "stream": samples.STREAM,
    "bandwidth_table": samples.TABLE,
    "core_to_core": samples.CORE_TO_CORE,
    "nvidia_topo": samples.NVIDIA_TOPO,
    "simgrid": samples.SIMGRID,
    "cuda_copies": samples.NVBANDWIDTH,
}

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def _write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return _write


def machine_of(tmp_path: Path, *paths: Path) -> Machine:
    """Return the machine of a file; it may have more bandwidth than its cores draw."""
    path = tmp_path / "found.yaml"
    path.write_text(described(paths).text, encoding="utf-8")
    assert [text for text in check_machine(path) if "all cores together" not in text] == []
    return load_machine(path)


def test_every_format_is_recognised_by_its_content(write: Write) -> None:
    assert sorted(FORMATS) == list(fact_formats())
    for name, text in FORMATS.items():
        assert recognised(write("file", text)) == name
    packed = write("x", "").with_suffix(".xml.gz")
    packed.write_bytes(gzip.compress(samples.HWLOC_1.encode()))
    assert recognised(packed) == "hwloc"
    assert recognised(write("other", "task,start,end\n1,2,3\n")) is None


def test_a_topology_alone_makes_a_machine(write: Write, tmp_path: Path) -> None:
    machine = machine_of(tmp_path, write("a.xml", samples.hwloc_2()))
    assert (machine.n_sockets, machine.n_domains, machine.n_cores, machine.n_threads) == (
        2,
        2,
        4,
        8,
    )
    assert [level.capacity_bytes for level in machine.caches] == [1 << 20, 8 << 20]
    assert [len(set(level.core_instance.tolist())) for level in machine.caches] == [4, 2]
    assert [node.capacity_bytes for node in machine.nodes] == [8 << 30] * 2
    assert machine.os_distance is not None
    assert machine.os_distance.tolist() == [[10, 21], [21, 10]]
    # What is assumed: 89 ns, and 5 ns for each unit of distance beyond 10.
    assert [path.latency_ps for path in machine.paths[0]] == [89_000, 144_000]
    assert machine.core_groups[0].ops_per_s == 2e9  # of the name of the model


def test_version_1_has_nodes_above_cores_and_memory_without_cores(
    write: Write, tmp_path: Path
) -> None:
    machine = machine_of(tmp_path, write("a.xml", samples.HWLOC_1))
    assert (machine.n_sockets, machine.n_domains, machine.n_cores) == (1, 2, 4)
    assert [(node.kind, node.domain) for node in machine.nodes] == [
        ("DRAM", 0),
        ("DRAM", 1),
        ("HBM", 0),
    ]
    assert machine.os_distance is not None
    assert machine.os_distance.tolist() == [[10, 21, 31], [21, 10, 41]]


def test_measured_values_are_taken_and_say_where_they_stand(write: Write, tmp_path: Path) -> None:
    files = write("a.xml", samples.hwloc_2()), write("mlc.txt", samples.MLC)
    machine = machine_of(tmp_path, *files)
    latency = [[path.latency_ps for path in row] for row in machine.paths]
    assert latency == [[80_000, 140_000], [141_000, 81_000]]
    assert machine.nodes[0].bandwidth_bytes_per_s == 40e9  # the least of the local ones
    assert {link.bandwidth_bytes_per_s for link in machine.links} == {16e9}
    assert machine.sources["memory.dram.bandwidth"] == "mlc: line 12, the least of local ones"
    assert machine.sources["sources.mlc"].startswith("measured: mlc.txt: Intel(R) Memory Latency")
    # A probe is a line there and back: half of the latency is one way.
    assert machine.costs.steal_probe_ps == (50_000, 50_000, 122_000)
    assert machine.costs.steal_ps == (100_000, 100_000, 244_000)


@pytest.mark.parametrize("text", [samples.STREAM, samples.TABLE])
def test_tables_by_threads_give_the_rate_of_one_core_and_of_the_node(
    write: Write, tmp_path: Path, text: str
) -> None:
    machine = machine_of(tmp_path, write("a.xml", samples.hwloc_2()), write("table", text))
    assert machine.nodes[0].bandwidth_bytes_per_s == 22e9
    assert machine.paths[0][0].core_cap_bytes_per_s == (12e9,)
    # From the other node with as many lines in flight: 12 GB/s times 89 over 144 ns.
    assert machine.paths[0][1].core_cap_bytes_per_s[0] == pytest.approx(12e9 * 89 / 144, rel=1e-5)


def test_latencies_between_cores_become_costs_by_distance(write: Write, tmp_path: Path) -> None:
    machine = machine_of(
        tmp_path, write("a.xml", samples.hwloc_2()), write("c.csv", samples.CORE_TO_CORE)
    )
    # Cores 0 and 1 are of one package, 2 and 3 of the other: 21 ns inside, 61.5 between on average.
    assert machine.costs.steal_probe_ps == (42_000, 42_000, 123_000)
    assert machine.costs.lock_hold_ps == 123_000


def test_lscpu_and_numactl_make_machines_too(write: Write, tmp_path: Path) -> None:
    sizes = write("n", samples.NUMACTL.replace("8192 MB", "6144 MB"))
    machine = machine_of(tmp_path, write("l.json", samples.LSCPU), sizes)
    assert (machine.n_domains, machine.n_cores, machine.n_threads) == (2, 4, 8)
    assert [level.capacity_bytes for level in machine.caches] == [32 << 10, 1 << 20, 8 << 20]
    assert machine.os_distance is not None
    assert [node.capacity_bytes for node in machine.nodes] == [6 << 30] * 2  # lscpu has none
    alone = described([write("n", samples.NUMACTL)])
    assert "each is taken for one" in alone.warnings[0]
    old = machine_of(tmp_path, write("old.json", samples.OLD_LSCPU))
    assert [level.capacity_bytes for level in old.caches] == [32 << 10, 8 << 20]
    assert [len(set(level.core_instance.tolist())) for level in old.caches] == [4, 2]


def test_plain_lscpu_says_what_its_json_says(write: Write) -> None:
    plain, structured = write("l.txt", samples.PLAIN_LSCPU), write("l.json", samples.LSCPU)
    assert read_facts(plain, None) == read_facts(structured, None)
    missing = write("m.txt", samples.PLAIN_LSCPU.replace("Socket(s)", "Sockets"))
    with pytest.raises(ConfigurationError, match=r"m\.txt: Socket\(s\): missing, accepted a"):
        read_facts(missing, None)


def test_devices_become_sockets_with_memory_of_their_own(write: Write, tmp_path: Path) -> None:
    machine = machine_of(
        tmp_path, write("a.xml", samples.hwloc_2()), write("topo", samples.NVIDIA_TOPO)
    )
    assert machine.node_space.tolist() == [0, 0, 1, 2]
    assert [node.has_driver for node in machine.nodes] == [False, False, True, True]
    names = [link.name for link in machine.links]
    assert "to_devices0>2" in names
    assert "to_devices1>3" in names
    peers = next(link for link in machine.links if link.name == "peers_42>3")
    assert peers.bandwidth_bytes_per_s == 4 * 25e9


def test_what_is_assumed_is_listed_with_what_matters_most(write: Write) -> None:
    topology, mlc = write("a.xml", samples.hwloc_2()), write("mlc.txt", samples.MLC)
    found = described([topology])
    text = found.text
    assert text.count("assumed: ") == len(found.assumed)
    assert found.remark.endswith(
        "values assumed; those that matter most for bandwidth-bound programs: bandwidth of dram "
        "(10 GB/s); core_cap: what one core draws (14.382 GB/s); bandwidth between domains, "
        "between packages (4.5 GB/s)"
    )
    assert "bandwidth of dram" not in described([topology, mlc]).remark


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.xml": "<other><object/></other>"}, "found contents of no known format"),
        (
            {
                "a.xml": samples.hwloc_2()
                .replace("<topology", "<topologie")
                .replace("/topology", "/topologie")
            },
            "found contents of no known format",
        ),
        ({"a.xml": samples.hwloc_2()[:-20]}, "a.xml: found no XML: "),
        (
            {"a.xml": samples.hwloc_2().replace('hwloc2.dtd">', 'hwloc2.dtd" [<!ENTITY a "b">]>')},
            "found an XML entity, accepted none",
        ),
        (
            {"a.xml": samples.hwloc_2().replace('cpuset="0x000000ff"', 'cpuset="0xzz"')},
            "object Machine: cpuset: found '0xzz', accepted hexadecimal words",
        ),
        (
            {"a.xml": samples.hwloc_2().replace("10 21 21 10", "10 21 21")},
            "distances: found 3 values, accepted 4: 2 memory nodes",
        ),
        ({"m.txt": samples.MLC}, "m.txt: found no topology, accepted one file of hwloc"),
        (
            {"a.xml": samples.hwloc_2(), "m.txt": samples.MLC[: samples.MLC.index("141.0")]},
            "m.txt:6: idle latency in ns: row 1: found 0 numbers, accepted 2",
        ),
        (
            {"a.xml": samples.hwloc_2(), "m.txt": samples.MLC.replace("140.0", "fast")},
            "m.txt:5: idle latency in ns: found 'fast', accepted a number from 1e-06",
        ),
        (
            {"a.xml": samples.HWLOC_1, "l.json": samples.LSCPU},
            "l.json: found 8 hardware threads, accepted as many as ",
        ),
        (
            {"a.xml": samples.hwloc_2(), "c.csv": ",,\n20,,\n60,61,\n"},
            "c.csv:1: found 3 rows, accepted 4 or 8: ",
        ),
        (
            {"a.xml": samples.hwloc_2(), "t.csv": "threads,copy_GBps\n1,12000\n"},
            "t.csv:2: found 12000 GB/s with 1 threads, accepted up to 1000; is the unit another",
        ),
        (
            {
                "a.xml": samples.hwloc_2(),
                "t": samples.NVIDIA_TOPO.replace("\t1\t\tN/A", "\t7\t\tN/A"),
            },
            "device gpu1: found memory node 7, accepted one of the topology: 0, 1",
        ),
        (
            {"a.xml": samples.hwloc_2(), "b.xml": samples.hwloc_2()},
            "b.xml: found a second topology of format hwloc, accepted one",
        ),
        (
            {
                "l.json": samples.LSCPU.replace('"2 MiB', "2").replace(
                    '"Socket(s):", "data": "2"', '"Socket(s):", "data": "none"'
                )
            },
            "l.json: Socket(s): found 'none', accepted a count from 1 to 65536",
        ),
        (
            {"n": samples.NUMACTL.replace("node   0   1", "node   0   1   2")},
            "n:9: distances: found nodes 0, 1, 2, accepted those with cpus: 0, 1",
        ),
    ],
)
def test_bad_files_are_refused_with_place_and_remedy(
    write: Write, files: dict[str, str], message: str
) -> None:
    paths = [write(name, text) for name, text in files.items()]
    with pytest.raises(ConfigurationError) as error:
        described(paths)
    assert message in str(error.value)


def test_latencies_that_contradict_the_distances_are_warned_of(write: Write) -> None:
    swapped = samples.MLC.replace("80.0\t 140.0", "140.0\t 80.0")
    found = described([write("a.xml", samples.hwloc_2()), write("m.txt", swapped)])
    (warning,) = (text for text in found.warnings if "draw" not in text)
    assert "m.txt:5: latencies contradict the distances of the system by up to 43%" in warning


def loaded(slope: float, bend: float) -> str:
    """Return loaded latencies as the generator prints them: 80 ns idle, 100 GB/s at most."""
    rows = []
    for place, share in enumerate((1.0, 0.95, 0.85, 0.7, 0.5, 0.3, 0.1, 0.01)):
        ns = 300.0 if share > 0.9 else 80.0 * (1 + slope * share / (1 - bend * share))
        rows.append(f" {place * 100:05d}\t{ns:.3f}\t {1e5 * share:.1f}")
    head = "Measuring Loaded Latencies for the system\nInject\tLatency\tBandwidth\n======\n"
    return head + "\n".join(rows) + "\n\n"


def test_loaded_latencies_say_how_latency_grows(write: Write, tmp_path: Path) -> None:
    text = samples.MLC.replace("Measuring cache", loaded(0.4, 0.5) + "Measuring cache")
    machine = machine_of(tmp_path, write("a.xml", samples.hwloc_2()), write("m.txt", text))
    for node in machine.nodes:
        assert node.latency_under_load == pytest.approx((0.4, 0.5), abs=0.02)
    few = samples.MLC + "Measuring Loaded Latencies\n======\n 00000\t200.0\t 9000.0\n\n"
    machine = machine_of(tmp_path, write("a.xml", samples.hwloc_2()), write("m.txt", few))
    assert machine.nodes[0].latency_under_load == (0.3, 0.6)


@pytest.mark.parametrize(
    ("gib", "kind", "miss_ns", "behind"), [(1, "DRAM", 180, 10e9), (64, "NVM", 300, 3e9)]
)
def test_caches_in_front_of_memory_have_what_was_measured(
    write: Write, tmp_path: Path, gib: int, kind: str, miss_ns: int, behind: float
) -> None:
    side = f'<object type="MemCache" cache_size="{gib << 30}" depth="1">\\1</object>'
    text = re.sub(r'(<object type="NUMANode"[^>]*/>)', side, samples.hwloc_2())
    machine = machine_of(tmp_path, write("a.xml", text), write("m.txt", samples.MLC))
    node = machine.nodes[0]
    cache = node.memory_side_cache
    assert cache is not None
    assert (cache.capacity_bytes, node.kind) == (gib << 30, kind)
    assert cache.bandwidth_bytes_per_s == 40e9  # the least that a domain reads from its own node
    assert (cache.hit_latency_ps, cache.miss_latency_ps) == (80_000, miss_ns * 1000)
    assert node.bandwidth_bytes_per_s > behind * 0.99


#: packages, domains, cores, hardware threads, memory nodes as lstopo draws them
REAL = {
    "16amd64-4distances": (8, 8, 16, 16, 8),
    "64amd64-4p2n4ca2co": (4, 8, 64, 64, 8),
    "AMD-19h-Zen3-2xEpyc-7763": (2, 1, 128, 128, 1),
    "Intel-KnightsLanding-XeonPhi-7210": (1, 1, 64, 256, 1),
    "Intel-RaptorLake-Corei7-1370P": (1, 1, 14, 20, 1),
    "coral-lassen": (2, 2, 40, 160, 2),
    "cts1-quartz-smt1": (2, 2, 36, 36, 2),
    "epyc-corona": (2, 8, 48, 96, 8),
    "epyc-dual-sock-hwloc1": (2, 8, 64, 128, 8),
    "knl-quad-cache-hwloc1": (1, 1, 68, 272, 1),
    "knl-snc4-flat-hwloc1": (1, 4, 68, 272, 8),
    "memorysidecaches": (2, 4, 40, 80, 4),
    "nvidia-dgx-gb10": (1, 1, 20, 20, 1),
    "power8gpudistances": (2, 2, 8, 16, 2),
}


@pytest.mark.skipif(not TOPOLOGIES.is_dir(), reason="needs topologies of real machines")
@pytest.mark.parametrize("name", REAL)
def test_topologies_of_real_machines_make_machines(name: str, tmp_path: Path) -> None:
    path = TOPOLOGIES / f"{name}.xml.gz"
    found = described([path])
    keys = ("packages", "domains", "cores", "threads", "memory_nodes")
    assert tuple(found.summary[key] for key in keys) == REAL[name]
    machine = machine_of(tmp_path, path)
    n_devices = found.summary["devices"]
    assert machine.n_cores == REAL[name][2] + n_devices
    assert len(machine.nodes) == REAL[name][4] + n_devices


@pytest.mark.skipif(not MLC.is_dir(), reason="needs measurements of real machines")
def test_latencies_of_a_real_machine_are_those_of_the_file(tmp_path: Path) -> None:
    paths = TOPOLOGIES / "cts1-quartz-smt1.xml.gz", MLC / "icelake_mlc.txt"
    machine = machine_of(tmp_path, *paths)
    assert [path.latency_ps for path in machine.paths[0]] == [89_200, 142_700]


def test_written_bytes_cost_what_the_mixes_of_the_generator_say(
    write: Write, tmp_path: Path
) -> None:
    # One write with one read: 2 / (1 + w) of the reading peak; w = 1.5 here, and with three reads
    # 4 / (3 + w), w = 1.3. The fetch of a written line comes on top.
    mixes = (
        "Measuring Peak Injection Memory Bandwidths for the system\n"
        "ALL Reads        :\t80000.0\n"
        f"3:1 Reads-Writes :\t{80000.0 * 4 / 4.3:.1f}\n"
        f"1:1 Reads-Writes :\t{80000.0 * 2 / 2.5:.1f}\n"
    )
    text = samples.MLC.replace("Measuring Memory", mixes + "\nMeasuring Memory")
    machine = machine_of(tmp_path, write("a.xml", samples.hwloc_2()), write("mlc.txt", text))
    assert machine.paths[0][1].write_weight == pytest.approx(2.4, abs=0.005)
    (source,) = {text for key, text in machine.sources.items() if key.endswith(".write_weight")}
    assert source == "mlc: line 9, mixes of reads and writes"


def test_loads_beside_copies_say_what_written_bytes_cost(write: Write, tmp_path: Path) -> None:
    # Copies reach 2 / (1 + w) of the loads: 16 of 24, so w = 2.
    table = write("t.csv", "cores,copy_GBps,load_GBps\n1,9,12\n2,16,24\n")
    machine = machine_of(tmp_path, write("a.xml", samples.hwloc_2()), table)
    assert machine.nodes[0].bandwidth_bytes_per_s == 24e9
    assert machine.paths[0][0].write_weight == 2.0
    assert machine.paths[0][0].write_core_cap == (0.8 * 12e9,)


def test_rates_of_programs_that_write_hold_for_them(write: Write, tmp_path: Path) -> None:
    machine = machine_of(tmp_path, write("a.xml", samples.hwloc_2()), write("s", samples.STREAM))
    assert machine.paths[0][0].write_weight == 1.0
    assert machine.paths[0][0].write_core_cap == (12e9,)


def test_memory_saturates_gradually_or_as_a_table_that_falls(write: Write, tmp_path: Path) -> None:
    topology = write("a.xml", samples.hwloc_2())
    rising = machine_of(tmp_path, topology, write("t.csv", "cores,load_GBps\n1,12\n2,22\n"))
    # 24 could be drawn, 22 are sustained.
    ceiling = 24e9 / ((24 / 22) ** 4 - 1) ** 0.25
    assert rising.nodes[0].ceiling_bytes_per_s == pytest.approx(ceiling)
    assert rising.nodes[0].bandwidth_curve == ()
    one = samples.LSCPU.replace('"Socket(s):", "data": "2"', '"Socket(s):", "data": "1"')
    one = one.replace('"NUMA node(s):", "data": "2"', '"NUMA node(s):", "data": "1"')
    one = one.replace("(4 instances)", "(2 instances)").replace(
        '(2 instances)"}]},', '(1 instances)"}]},'
    )
    falling = "cores,load_GBps\n1,12\n2,22\n4,16\n"
    machine = machine_of(tmp_path, write("l.json", one), write("f.csv", falling))
    assert machine.nodes[0].bandwidth_curve == (12e9, 22e9, 19e9, 16e9)
    assert machine.nodes[0].ceiling_bytes_per_s is None


def test_rows_of_more_threads_than_a_domain_has_cores_are_not_its_own(
    write: Write, tmp_path: Path
) -> None:
    topology = write("a.xml", samples.hwloc_2())  # two domains of two cores, four threads each
    table = write("t.csv", "threads,load_GBps\n1,12\n2,22\n3,33\n4,44\n")
    assert machine_of(tmp_path, topology, table).nodes[0].bandwidth_bytes_per_s == 22e9


def test_bits_are_no_bytes(write: Write) -> None:
    for unit in ("Gbps", "Gb/s", "Mbps"):
        table = write("t.csv", f"threads,copy_{unit}\n1,96\n2,176\n")
        with pytest.raises(
            ConfigurationError, match=r"t.csv:1: copy_.*which are bits, accepted .B/s"
        ):
            described([write("a.xml", samples.hwloc_2()), table])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.xml", samples.hwloc_2().replace("10 21 21 10", "10 nan 21 10"), "a.xml"),
        ("a.xml", samples.hwloc_2().replace("10 21 21 10", "10 1e30 21 10"), "a.xml"),
        ("a.xml", samples.hwloc_2().replace("@ 2.00GHz", "@ 0.0GHz"), "a.xml"),
        ("a.xml", samples.hwloc_2().replace("8589934592", "8" * 21), "a.xml"),
        ("m", samples.MLC.replace("80.0", "1e300"), "m:5: idle latency in ns: found '1e300'"),
        ("c", samples.CORE_TO_CORE.replace("61", "1e308"), "column"),
        ("t", "threads,load_GBps\n1,1e-12\n", "t:2: load_GBps: found '1e-12', accepted"),
        ("t", "threads,load_GBps\n1.5,12\n", "t:2: threads: found '1.5', accepted a whole number"),
        ("s", samples.STREAM.replace("12000.0", "-1"), "s:4: rate in MB/s: found '-1'"),
    ],
)
def test_values_that_no_machine_has_are_refused(
    write: Write, name: str, text: str, message: str
) -> None:
    paths = [write(name, text)]
    if name != "a.xml":
        paths.append(write("a.xml", samples.hwloc_2()))
    with pytest.raises(ConfigurationError) as caught:
        described(paths)
    assert message in str(caught.value)


def test_a_file_counts_once(write: Write) -> None:
    mlc = write("m", samples.MLC)
    with pytest.raises(ConfigurationError, match="m: found twice, accepted each file once"):
        described([write("a.xml", samples.hwloc_2()), mlc, mlc])


def test_latencies_of_another_unit_are_warned_of(write: Write) -> None:
    micro = samples.MLC.replace("80.0\t 140.0", "0.08\t 0.14").replace(
        "141.0\t  81.0", "0.14\t0.08"
    )
    found = described([write("a.xml", samples.hwloc_2()), write("m", micro)])
    assert any("m:5: found a latency of 0.08 ns; is the unit" in text for text in found.warnings)


def test_what_looks_like_a_mistake_is_warned_of_at_once(write: Write) -> None:
    small = samples.MLC.replace("40000.0", "40.0").replace("41000.0", "41.0")
    found = described([write("a.xml", samples.hwloc_2()), write("m", small)])
    assert any("bandwidth" in warning for warning in found.warnings)


def test_more_threads_than_one_domain_has_are_on_others(write: Write, tmp_path: Path) -> None:
    topology = write("a.xml", samples.hwloc_2())  # two domains of two cores, four threads each
    both = machine_of(tmp_path, topology, write("t.csv", "cores,load_GBps\n1,12\n2,22\n8,44\n"))
    assert both.nodes[0].bandwidth_bytes_per_s == 22e9
    part = machine_of(tmp_path, topology, write("p.csv", "cores,load_GBps\n1,12\n8,40\n"))
    assert part.nodes[0].bandwidth_bytes_per_s == 40e9 * 2 / 4
