"""StarPU samplings as machines and tables of costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from simsched.files.errors import ConfigurationError
from simsched.files.resources import data_dir
from simsched.machine import check_machine, load_machine
from simsched.machine.importers import (
    is_sampling,
    machine_yaml,
    read_bus,
    read_codelet,
    read_sampling,
)
from simsched.machine.importers.starpu_links import crossed_links, parse_roots

MEASURED = Path(__file__).resolve().parents[4] / "shared" / "data" / "starpu_sampling"
CONFIG = """# Current configuration
4 # Number of CPUs
2 # Number of CUDA devices
1 # Number of OpenCL devices
0 # Number of MIC devices
"""
BANDWIDTH = """# to 0\t\tto 1\t\tto 2\t\tto 3\t\tto 4
0.000000\t6000.5\t6100.0\t50.0\tnan
6500.25\t0.000000\t3000.0\t50.0\tnan
4000.0\t3100.0\t0.000000\t50.0\tnan
50.0\t50.0\t50.0\t0.000000\tnan
nan\tnan\tnan\tnan\tnan
"""
LATENCY = BANDWIDTH.replace("6000.5", "9.25").replace("6500.25", "10.5").replace("3000.0", "24.5")
AFFINITY = "# GPU\tCPU0\tCPU1\tCPU2\tCPU3\n0\t0\t1\t2\t3\n1\t2\t3\t0\t1\n0\t0\t1\t2\t3\n"
ROW = "f00d\t1024\t1e6\t2.0e+02\t0.0\t2000.0\t4.0e5\t10"


def model(*combinations: tuple[int, int, list[str]], unit: str = "(us)") -> str:
    """Return a timing file: device type, device, rows of each combination."""
    text = f"##################\n# Performance Model Version\n45\n\n# COMBs\n{len(combinations)}\n"
    for kind, device, rows in combinations:
        text += (
            f"####################\n# COMB_0\n# number of types devices\n1\n# DEV_0\n{kind}\n"
            f"# device id\n{device}\n# number of cores\n1\n# number of implementations\n1\n"
            f"# number of entries\n{len(rows)}\n# sumlnx\n0.0 0.0 0.0 0.0 nan nan 0 0 0\n"
            f"# a b c\nnan nan nan\n# not multiple-regression-base\n0\n"
            f"# hash\t\tsize\t\tflops\t\tmean {unit}\tdev {unit}\tsum\t\tsum2\t\tn\n"
            + "".join(f"{row}\n" for row in rows)
        )
    return text


@pytest.fixture
def sampling(tmp_path: Path) -> Path:
    texts = {"config": CONFIG, "bandwidth": BANDWIDTH, "latency": LATENCY, "affinity": AFFINITY}
    (tmp_path / "bus").mkdir()
    for suffix, text in texts.items():
        (tmp_path / "bus" / f"box.{suffix}").write_text(text)
    codelets = tmp_path / "codelets" / "45"
    codelets.mkdir(parents=True)
    other = ROW.replace("f00d\t1024", "cafe\t4096").replace("2.0e+02", "8.0e+02")
    other = other.replace("2000.0\t4.0e5", "8000.0\t6.4e6")
    (codelets / "gemm.box").write_text(model((0, 0, [ROW, other]), (1, 1, [ROW])))
    (codelets / "gemm_blas.box").write_text("gemm.box")
    (codelets / "null.box").write_text(model())
    return tmp_path


def write_machine(path: Path, **options) -> Path:
    file = path / "box.yaml"
    found = read_sampling(path)
    file.write_text(machine_yaml(found.bus, found.costs, **options))
    return file


def test_a_machine_has_cores_devices_and_measured_paths(sampling):
    assert is_sampling(sampling)
    file = write_machine(sampling)
    assert all(warning.startswith("costs: taken as zero") for warning in check_machine(file))
    machine = load_machine(file)
    assert machine.kinds == ("cpu", "cuda0", "cuda1")
    assert machine.core_domain.tolist() == [0, 0, 0, 0, 1, 2]
    assert [(node.kind, node.domain) for node in machine.nodes] == [
        ("DRAM", 0),
        ("GPU", 1),
        ("GPU", 2),
    ]
    # Row is source, column destination; MB/s are 10**6 bytes per second, latencies microseconds.
    to_device, to_host = machine.paths[1][0], machine.paths[0][1]
    assert to_device.core_cap_bytes_per_s == (6000.5e6,)
    assert to_device.latency_ps == 9_000_000
    assert to_host.core_cap_bytes_per_s == (6500.25e6,)
    assert to_host.latency_ps == 10_000_000
    between = machine.paths[2][1]
    assert between.core_cap_bytes_per_s == (3000e6,)
    assert between.latency_ps == 24_000_000
    # One link for all, as wide as the fastest transfer from or to main memory.
    assert [(link.name, link.bandwidth_bytes_per_s) for link in machine.links] == [
        ("host", 6500.25e6)
    ]
    assert between.links == to_device.links == to_host.links == (0,)
    assert machine.paths[1][1].latency_ps == 0
    sources = " ".join(machine.sources.values())
    assert "measured: StarPU sampling of box" in sources


def test_options_of_a_machine(sampling):
    machine = load_machine(
        write_machine(sampling, per_device=False, reserve_drivers=True, device_memory="6 GiB")
    )
    assert machine.kinds == ("cpu", "cuda")
    assert machine.n_cores == 4
    assert machine.nodes[1].capacity_bytes == 6 * 2**30
    opencl = load_machine(write_machine(sampling, devices="opencl"))
    assert opencl.kinds == ("cpu", "opencl0")
    assert opencl.paths[1][0].core_cap_bytes_per_s == (50e6,)
    with pytest.raises(ConfigurationError, match="unknown kind of devices 'cud'; did you mean"):
        write_machine(sampling, devices="cud")
    with pytest.raises(ConfigurationError, match="main_memory: found '3 GHz'"):
        write_machine(sampling, main_memory="3 GHz")


def test_devices_of_one_root_spare_the_link_of_the_host(sampling):
    def links(roots):
        machine = load_machine(write_machine(sampling, roots=roots))
        names = [link.name for link in machine.links]
        width = {link.name: link.bandwidth_bytes_per_s for link in machine.links}
        crossed = {
            (source, target): [names[i] for i in machine.paths[target][source].links]
            for source, target in ((0, 1), (2, 0), (1, 2))
        }
        return width, crossed

    devices = {
        "device1_up": 6500.25e6,
        "device1_down": 6000.5e6,
        "device2_up": 4000e6,
        "device2_down": 6100e6,
    }
    width, crossed = links("0|1")
    assert width == {"host": 6500.25e6, **devices}
    assert crossed == {
        (0, 1): ["host", "device1_down"],
        (2, 0): ["device2_up", "host"],
        (1, 2): ["device1_up", "host", "host", "device2_down"],
    }
    width, crossed = links("0,1")
    root = {"root0_up": 6500.25e6, "root0_down": 6100e6, "root0_through": 2 * 6500.25e6}
    assert width == {"host": 6500.25e6, **devices, **root}
    assert crossed == {
        (0, 1): ["host", "root0_down", "root0_through", "device1_down"],
        (2, 0): ["device2_up", "root0_through", "root0_up", "host"],
        (1, 2): ["device1_up", "root0_through", "device2_down"],
    }
    for roots in ("0", "0|0,1", "0|2", "0 1", "|0,1", "(0,1", "((0,1))", "()|0,1"):
        with pytest.raises(ConfigurationError, match=r"roots: found .*accepted: devices 0 to 1"):
            write_machine(sampling, roots=roots)


def test_what_stays_below_a_switch_spares_it():
    # As StarPU's platform file of idgraf has it: two pairs of devices below a root.
    tree = parse_roots("(0,1),(2,3)|4", 5)
    assert crossed_links(1, 2, tree) == ["device1_up", "device2_down"]
    out = ["device1_up", "switch0_through", "switch0_up", "root0_through"]
    into = ["switch1_down", "switch1_through", "device4_down"]
    assert crossed_links(1, 4, tree) == [*out, *into]
    assert crossed_links(1, 5, tree) == [*out, "root0_up", "host", "host", "device5_down"]
    assert crossed_links(0, 4, tree) == ["host", "root0_down", "root0_through", *into]


def test_transfers_share_links_by_their_latency(sampling):
    assert load_machine(write_machine(sampling)).shares_by_latency
    assert not load_machine("a_4_0_0_12").shares_by_latency


def test_a_machine_has_the_durations_of_its_codelets(sampling):
    machine = load_machine(write_machine(sampling))
    gemm = machine.timings["gemm"]
    assert {kind: sorted(sizes) for kind, sizes in gemm.items()} == {
        "cpu": [1024, 4096],
        "cuda1": [1024],
    }
    assert gemm["cpu"][4096].mean_s == pytest.approx(800e-6)
    assert sorted(machine.timings) == ["gemm", "gemm_blas"]
    chosen = load_machine(write_machine(sampling, codelets="gemm_*"))
    assert sorted(chosen.timings) == ["gemm_blas"]
    with pytest.raises(ConfigurationError, match=r"no codelet like 'potrf'.*accepted: gemm"):
        write_machine(sampling, codelets="gemm,potrf")


def test_shapes_with_one_size_and_several_durations_are_told(sampling):
    path = sampling / "codelets" / "45" / "gemm.box"
    other = ROW.replace("f00d", "beef").replace("2.0e+02", "4.0e+02").replace("2000.0", "4000.0")
    path.write_text(model((0, 0, [ROW, other.replace("4.0e5", "1.6e6")])))
    found = read_sampling(sampling)
    assert any("gemm (1024 bytes)" in w and "not in timings" in w for w in found.warnings)
    assert "\ntimings:" not in machine_yaml(found.bus, found.costs)


def test_costs_are_found_by_codelet_processor_and_size(sampling):
    costs = read_sampling(sampling).costs
    assert costs.codelets == ["gemm", "gemm_blas"]
    assert costs.empty == ["null"]
    cost = costs.lookup("gemm", "cuda1", 1024)
    assert (cost.mean_us, cost.dev_us, cost.samples, cost.footprint) == (200.0, 0.0, 10, "f00d")
    assert cost.sums_agree
    line = int(cost.source.rpartition(":")[2])
    text = (sampling / "codelets" / "45" / "gemm.box").read_text()
    assert text.splitlines()[line - 1] == ROW
    assert costs.lookup("gemm", "cpu0", footprint="cafe").mean_us == 800.0
    assert costs.lookup("gemm_blas", "cpu0", 4096).mean_us == 800.0
    assert len(costs.rows()) == 6


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (("gem", "cpu0", 1024), "unknown codelet 'gem'; did you mean 'gemm'"),
        (("gemm", "cuda0", 1024), "gemm: unknown processor 'cuda0'; did you mean 'cuda1'"),
        (("gemm", "cpu0", 3000), "no samples for 3000 bytes; the nearest is 4096"),
        (("gemm", "cpu0"), "found several costs, accepted a footprint: f00d"),
    ],
)
def test_unknown_combinations_name_the_nearest(question, message, sampling):
    with pytest.raises(ConfigurationError, match=message):
        read_sampling(sampling).costs.lookup(*question)
    with pytest.raises(ConfigurationError, match="unknown footprint 'caff'; the nearest is 'cafe'"):
        read_sampling(sampling).costs.lookup("gemm", "cpu0", footprint="caff")


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("bandwidth", "6500.25", "nan", r":3: from node 1 to node 0 \(MB/s\): found 'nan'"),
        ("bandwidth", "6500.25", "-1", r":3: .*found '-1'"),
        ("bandwidth", "6500.25", "0", r":3: .*more than 0"),
        ("bandwidth", "6500.25", "6.5GB/s", r":3: .*found '6\.5GB/s'"),
        ("latency", "10.5", "inf", r":3: from node 1 to node 0 \(us\): found 'inf'"),
        ("latency", "9.25\t6100.0\t50.0\tnan", "9.25", ":2: found 2 columns, accepted at least 4"),
        ("latency", LATENCY, "", "found an empty file"),
        ("bandwidth", BANDWIDTH.partition("\n")[2], "", "accepted row 0 of 4"),
        ("config", "4 # Number of CPUs", "four # Number of CPUs", ":2: found 'four # Number"),
        ("config", "4 # Number of CPUs", "0 # Number of CPUs", "found no CPU"),
        ("config", "4 # Number of CPUs\n", "", "found no line '... # Number of CPUs'"),
        ("config", "0 # Number of MIC", "2 # Number of NUMA nodes\n0 # Number of MIC", "2 NUMA"),
        ("config", "0 # Number of MIC", "3 # Number of FPGA", ":5: unknown kind of processor"),
        (
            "affinity",
            "1\t2\t3\t0\t1",
            "1\t2\t3\t0\t9",
            ":3: found 4 cores, accepted each of 0 to 3",
        ),
    ],
)
def test_wrong_bus_files_name_file_and_line(file, old, new, message, sampling):
    path = sampling / "bus" / f"box.{file}"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ConfigurationError, match=message) as raised:
        read_bus(sampling / "bus", "box")
    assert str(path) in str(raised.value)


def test_links_that_were_stored_as_text_are_followed(sampling):
    bus = sampling / "bus"
    for suffix in ("config", "bandwidth", "latency", "affinity"):
        (bus / f"twin.{suffix}").write_text(f"box.{suffix}")
    assert read_bus(bus, "twin").latency_us.tolist() == read_bus(bus, "box").latency_us.tolist()
    with pytest.raises(ConfigurationError, match="found 2 machines, accepted one of them"):
        read_sampling(sampling)
    (bus / "twin.config").write_text("nowhere.config")
    with pytest.raises(ConfigurationError, match=r"twin\.config:1: found a link to 'nowhere"):
        read_bus(bus, "twin")
    (bus / "twin.config").write_text("twin.config")
    with pytest.raises(ConfigurationError, match="links that lead in a circle"):
        read_bus(bus, "twin")
    (bus / "twin.latency").unlink()
    (bus / "twin.config").write_text("box.config")
    with pytest.raises(ConfigurationError, match=r"twin\.latency: no such file"):
        read_bus(bus, "twin")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\t10\n", "\t0\n", r":28: number of samples: found '0', accepted a number of at least 1"),
        ("2.0e+02", "nan", r":28: mean: found 'nan'"),
        ("2.0e+02", "0", r":28: mean: found '0', accepted a number of more than 0"),
        ("\t0.0\t2000", "\t-1\t2000", r":28: deviation: found '-1'"),
        ("\t1024\t", "\t10.5\t", r":28: found size 10\.5"),
        ("\t10\n", "\n", r":28: found 7 fields, accepted 8"),
        ("mean (us)", "mean (ms)", r":27: found columns 'hash size flops mean \(ms\)"),
        ("\n45\n", "\n44\n", ":3: found version 44"),
        ("DEV_0\n0\n", "DEV_0\n7\n", "found device type 7, accepted 0 \\(cpu\\)"),
        (ROW + "\n", "", r"found the end of the file, accepted entry 1 of 1"),
        ("base\n0\n", "base\n1\n", "found a model of multiple regression"),
        ("\n# COMBs\n1\n", "\n# COMBs\n2\n", "end of the file, accepted the number of device"),
    ],
)
def test_wrong_timings_name_file_and_line(old, new, message, tmp_path):
    text = model((0, 0, [ROW]))
    assert old in text
    path = tmp_path / "gemm.box"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ConfigurationError, match=message) as raised:
        read_codelet(path, "gemm")
    assert str(path) in str(raised.value)


def test_a_footprint_is_listed_once(tmp_path):
    path = tmp_path / "gemm.box"
    path.write_text(model((0, 0, [ROW, ROW])))
    with pytest.raises(ConfigurationError, match="footprint f00d on cpu0 a second time"):
        read_codelet(path, "gemm")


def test_files_cut_after_any_line_are_refused(tmp_path):
    path = tmp_path / "gemm.box"
    lines = model((0, 0, [ROW]), (1, 0, [ROW])).splitlines(keepends=True)
    for count in range(1, len(lines)):
        path.write_text("".join(lines[:count]))
        with pytest.raises(ConfigurationError, match=r"gemm\.box"):
            read_codelet(path, "gemm")


def test_a_wrong_codelet_is_set_aside_with_its_reason(sampling):
    bad = sampling / "codelets" / "45" / "bad.box"
    bad.write_text(model((0, 0, [ROW.replace("\t10", "\t0")])))
    found = read_sampling(sampling)
    assert any(str(bad) in w and "file set aside" in w for w in found.warnings)
    with pytest.raises(ConfigurationError, match=r"codelet bad: .*number of samples: found '0'"):
        found.costs.lookup("bad", "cpu0", 1024)
    for name in ("gemm", "gemm_blas"):
        (bad.parent / f"{name}.box").unlink()
    with pytest.raises(ConfigurationError, match="number of samples: found '0'"):
        read_sampling(sampling)


def test_edited_rows_are_told(sampling):
    path = sampling / "codelets" / "45" / "gemm.box"
    path.write_text(model((0, 0, [ROW.replace("4.0e5", "5.0e5")]), unit="(us or J)"))
    found = read_sampling(sampling)
    assert any(
        "mean and deviation do not follow" in w and "2 of 2 rows" in w for w in found.warnings
    )
    assert not found.costs.lookup("gemm", "cpu0", 1024).sums_agree


@pytest.mark.validation
@pytest.mark.parametrize(
    "name", ["attila", "hannibal", "hannibal-pitch", "idgraf", "mirage", "sirocco"]
)
def test_published_samplings_are_valid_machines(name, tmp_path):
    if not MEASURED.is_dir():
        pytest.skip(f"no measured data in {MEASURED}")
    found = read_sampling(MEASURED, name)
    file = tmp_path / "m.yaml"
    file.write_text(machine_yaml(found.bus, found.costs))
    machine = load_machine(file)
    assert bool(machine.timings) == any(c.size_bytes for c in found.costs.costs)
    assert machine.n_cores == found.bus.n_cpus + found.bus.devices["cuda"]
    assert found.costs.costs
    assert len(found.costs.refused) == (4 if name == "idgraf" else 0)


@pytest.mark.validation
def test_published_timings_of_mirage():
    if not MEASURED.is_dir():
        pytest.skip(f"no measured data in {MEASURED}")
    found = read_sampling(MEASURED, "mirage")
    cost = found.costs.lookup("chol_model_potrf", "cpu0", 3686400)
    assert (cost.mean_us, cost.dev_us, cost.samples) == (18849.69, 737.0619, 112)
    assert found.costs.lookup("chol_model_potrf", "cuda0", 3686400).mean_us == 5366.74
    assert found.bus.bandwidth_mb_per_s[0, 1] == 6030.996807
    assert found.bus.latency_us[1, 0] == 10.565859


SHIPPED = {
    "mirage": ("0|1,2", "5072899276 B"),
    "attila": ("0,1|2", "2898808012 B"),
    "idgraf": ("(0,1),(2,3)|(4,5),(6,7)", "2536184217 B"),
    "sirocco": (None, "10871223091 B"),
    "hannibal": (None, "2831155200 B"),
}


@pytest.mark.validation
@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_machines_are_what_import_writes(name):
    if not MEASURED.is_dir():
        pytest.skip(f"no measured data in {MEASURED}")
    found = read_sampling(MEASURED, name)
    roots, memory = SHIPPED[name]
    gemm = "" if name == "hannibal" else "starpu_?gemm_gemm,"
    lu = ",".join(f"starpu_?lu_lu_model_{part}" for part in ("gemm", "getrf", "trsm_??"))
    text = machine_yaml(
        found.bus,
        found.costs,
        roots=roots,
        codelets=f"chol_model_*,{gemm}{lu}",
        device_memory=memory,
    )
    assert text == (data_dir("machines") / f"{name}.yaml").read_text(encoding="utf-8")
