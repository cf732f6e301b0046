"""Rates of copies between host and devices; every expected number stands in the samples."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from simsched.files.errors import ConfigurationError
from simsched.machine import load_machine
from simsched.machine.facts import described, recognised
from simsched.machine.model import Machine
from tests.machine.facts import samples

Load = Callable[..., Machine]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Return the machine of two packages with a device each, and of outputs of tools."""

    def _load(*texts: str, topo: str | None = samples.NVIDIA_TOPO) -> Machine:
        files = [samples.hwloc_2(), *([] if topo is None else [topo]), *texts]
        paths = [tmp_path / f"file{i}" for i in range(len(files))]
        for path, text in zip(paths, files, strict=True):
            path.write_text(text, encoding="utf-8")
        file = tmp_path / "found.yaml"
        file.write_text(described(paths).text, encoding="utf-8")
        return load_machine(file)

    return _load


def links(machine: Machine) -> dict[str, float]:
    return {link.name: link.bandwidth_bytes_per_s / 1e9 for link in machine.links}


def gb_per_s(machine: Machine, domain: int, node: int) -> float:
    return machine.paths[domain][node].core_cap_bytes_per_s[0] / 1e9


def test_links_and_copies_have_the_rates_of_their_direction(load: Load) -> None:
    machine = load(samples.NVBANDWIDTH)
    # Domains 0 and 1 are of the host, 2 and 3 are devices; links are as wide as the faster way.
    found = links(machine)
    assert (found["to_devices0>2"], found["to_devices_21>3"]) == (26.03, 24.5)
    assert found["peers_42>3"] == found["peers_43>2"] == 91.1
    assert [gb_per_s(machine, device, 0) for device in (2, 3)] == [26.03, 24.5]
    assert [gb_per_s(machine, 0, device) for device in (2, 3)] == [22.0, 21.0]


def test_of_several_rows_of_the_host_the_best_counts(load: Load) -> None:
    row = " 0     26.03     24.50\n"
    assert row in samples.NVBANDWIDTH
    for more in (f"{row} 1     12.00     30.00\n", f" 1     12.00     30.00\n{row}"):
        machine = load(samples.NVBANDWIDTH.replace(row, more))
        assert [gb_per_s(machine, device, 0) for device in (2, 3)] == [26.03, 30.0]


def test_samples_of_cuda_say_what_devices_do_inside(load: Load) -> None:
    machine = load(samples.P2P)
    assert [node.bandwidth_bytes_per_s for node in machine.nodes[2:]] == [1180e9] * 2
    assert gb_per_s(machine, 2, 2) == 1180.0
    assert links(machine)["peers_42>3"] == 91.1


def test_one_device_is_measured_at_a_time(load: Load) -> None:
    machine = load(samples.BANDWIDTH_TEST, samples.BANDWIDTH_TEST.replace("Device 1", "Device 0"))
    assert gb_per_s(machine, 3, 0) == gb_per_s(machine, 2, 0) == 25.3  # of the largest copies
    assert gb_per_s(machine, 0, 3) == 20.5
    assert machine.nodes[3].bandwidth_bytes_per_s == 1173.2e9


def test_every_output_is_recognised(tmp_path: Path) -> None:
    for text in (samples.NVBANDWIDTH, samples.P2P, samples.BANDWIDTH_TEST):
        path = tmp_path / "file"
        path.write_text(text, encoding="utf-8")
        assert recognised(path) == "cuda_copies"


def test_devices_of_two_files_are_the_same_ones(load: Load) -> None:
    assert load(samples.NVIDIA_TOPO.replace("GPU NUMA ID", "GPU NUMA  ID")).n_domains == 4


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("26.03     24.50", "26.03", "file2:5: found 1 rates, accepted 2, as in the header"),
        ("26.03", "fast", "file2:5: rate in GB/s: found 'fast', accepted a number from 1e-06"),
        ("26.03", "-1", "file2:5: rate in GB/s: found '-1'"),
        ("           0         1\n 0     26", "\n 0     26", "file2:4: found no header of devices"),
        (" 0     26.03     24.50\n", "", "file2:5: found no row of a device"),
        (
            "           0         1\n 0     26.03",
            "           0         5\n 0     26.03",
            "device 5",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(load: Load, old: str, new: str, message: str) -> None:
    assert old in samples.NVBANDWIDTH
    with pytest.raises(ConfigurationError) as caught:
        load(samples.NVBANDWIDTH.replace(old, new, 1))
    assert message in str(caught.value)


def test_older_samples_print_megabytes(load: Load) -> None:
    old = samples.BANDWIDTH_TEST.replace("(GB/s)", "(MB/s)").replace("25.3", "12300.4")
    old = old.replace("24.1", "12000.0").replace("20.5", "12800").replace("1173.2", "550000")
    assert gb_per_s(load(old), 3, 0) == 12.3004
    with pytest.raises(ConfigurationError, match=r"file2:6: found 'GiB', accepted GB/s or MB/s"):
        load(samples.BANDWIDTH_TEST.replace("(GB/s)", "(GiB)"))


def test_tables_copied_from_a_terminal_have_spaces(load: Load) -> None:
    machine = load(topo=samples.NVIDIA_TOPO.replace("\t", "    "))
    assert "to_devices1>3" in links(machine)
    assert "peers_42>3" in links(machine)


def test_rates_between_devices_without_links_are_left_out_with_a_warning(tmp_path: Path) -> None:
    texts = samples.hwloc_2(), samples.NVIDIA_TOPO.replace("NV4", "SYS"), samples.P2P
    paths = [tmp_path / f"file{i}" for i in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    assert any("2 rates between devices are left out" in w for w in described(paths).warnings)


def test_a_matrix_has_a_row_for_each_device(load: Load) -> None:
    cut = samples.P2P[: samples.P2P.rindex("     1  91.10")]
    with pytest.raises(ConfigurationError, match="found 1 rows, accepted 2, one for each device"):
        load(cut)


def test_rates_without_devices_and_outputs_without_rates_are_refused(load: Load) -> None:
    with pytest.raises(ConfigurationError, match="found rates of devices, accepted with a topolo"):
        load(samples.NVBANDWIDTH, topo=None)
    with pytest.raises(ConfigurationError, match="found no table of rates, accepted one"):
        load("nvbandwidth Version: v0.4\nnothing\n")
    one = "\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0-1\t0\n"
    with pytest.raises(ConfigurationError, match="file2: found 1 devices, accepted as many as"):
        load(one)
