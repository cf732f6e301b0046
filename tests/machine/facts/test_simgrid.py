"""Platforms of SimGrid as clusters; every expected number follows from the samples by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from simsched.files.errors import ConfigurationError
from simsched.machine import load_machine
from simsched.machine.facts import described
from simsched.machine.model import Machine
from tests.machine.facts import samples

Load = Callable[[str], Machine]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Return the machine of a platform."""

    def _load(text: str) -> Machine:
        path, file = tmp_path / "platform.xml", tmp_path / "found.yaml"
        path.write_text(text, encoding="utf-8")
        file.write_text(described([path]).text, encoding="utf-8")
        return load_machine(file)

    return _load


def crossed(machine: Machine, near: int, far: int) -> list[tuple[str, float]]:
    """Return names and GB/s of the links between a domain and another one's memory."""
    links = [machine.links[link] for link in machine.paths[near][far].links]
    return [(link.name, link.bandwidth_bytes_per_s / 1e9) for link in links]


def test_hosts_links_and_routes(load: Load) -> None:
    machine = load(samples.SIMGRID)
    assert machine.core_domain.tolist() == [0, 1, 1, 1, 1, 2, 2, 2, 2]
    assert [group.ops_per_s for group in machine.core_groups] == [98.095e6, 76.296e6]
    # What host 0 reads of host 2 comes over link 7, downwards, after link 3 of 34.285625 MB/s.
    assert crossed(machine, 0, 2) == [("link_3", 0.034285625), ("link_7_DOWN", 0.0125)]
    assert crossed(machine, 2, 0) == [("link_7_UP", 0.0125), ("link_3", 0.034285625)]
    # A link of policy FATPIPE is shared by nobody: it bounds a route, and is none of its links.
    assert crossed(machine, 1, 0) == [("link_6", 0.041279125)]
    path = machine.paths[1][0]
    assert (path.latency_ps, path.core_cap_bytes_per_s) == (69_904_000, (41279125.0,))
    assert machine.paths[0][2].core_cap_bytes_per_s == (12.5e6,)  # 100 Mbps are bits


def test_one_cluster_has_cards_and_a_backbone(load: Load) -> None:
    machine = load(samples.SIMGRID_CLUSTER)
    assert (machine.n_sockets, machine.n_cores) == (94, 752)
    cards = [link for link in machine.links if link.name != "backbone"]
    assert len(cards) == 2 * 94
    assert {link.bandwidth_bytes_per_s for link in cards} == {125e6}
    names = [name for name, _ in crossed(machine, 3, 70)]
    assert len(names) == 3
    assert "backbone" in names
    assert machine.paths[3][70].latency_ps == 600_000_000  # 50 + 500 + 50 us
    assert crossed(machine, 3, 3) == []


def test_clusters_joined_by_a_link(load: Load) -> None:
    machine = load(samples.SIMGRID_TWO)
    assert machine.n_sockets == 5
    # From b-1 to a-0: its card, b's backbone, the link between, the card of a-0.
    assert sorted(crossed(machine, 0, 4)) == [
        ("a-0_link_DOWN", 0.125),
        ("b-1_link_UP", 1.25),
        ("b_backbone", 10.0),
        ("wan", 1.0),
    ]
    assert sorted(name for name, _ in crossed(machine, 4, 0)) == [
        "a-0_link_UP",
        "b-1_link_DOWN",
        "b_backbone",
        "wan",
    ]
    assert machine.paths[0][4].latency_ps == 10_065_000_000  # 50 us + 5 us + 10 ms + 10 us
    assert sorted(crossed(machine, 0, 1)) == [("a-0_link_DOWN", 0.125), ("a-1_link_UP", 0.125)]


def test_shortest_routes_are_found(load: Load) -> None:
    machine = load(samples.SIMGRID.replace("Full", "Floyd").replace(samples.SIMGRID_DIRECT, ""))
    assert crossed(machine, 2, 1) == [
        ("link_6", 0.041279125),
        ("link_7_UP", 0.0125),
        ("link_3", 0.034285625),
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('speed="98.095Mf"', "", "host Tremblay: found no attribute power"),
        ("98.095Mf", "98.095 MB", "host Tremblay: speed: found '98.095 MB', accepted a number"),
        ("98.095Mf", "0f", "host Tremblay: speed: found '0f', accepted 1 to 1e+15 f"),
        ("98.095Mf", "1.2.3Mf", "host Tremblay: speed: found '1.2.3Mf', accepted a number"),
        ('core="4"', 'core="\u00b2"', "host Jupiter: core: found '\u00b2'"),
        ('direction="UP"', 'direction="up"', "unknown direction 'up'; accepted: DOWN, NONE, UP"),
        ('core="4"', 'core="0"', "host Jupiter: core: found '0', accepted 1 or more"),
        ("100Mbps", "100", None),
        ("100Mbps", "100Mhz", "link 7: bandwidth: found '100Mhz'"),
        (
            'link_ctn id="6"',
            'link_ctn id="66"',
            "route from Tremblay to Jupiter: unknown link '66'",
        ),
        ('dst="Jupiter"', 'dst="Jupitre"', "unknown host 'Jupitre'; did you mean 'Jupiter'?"),
        ('id="Fafard"', 'id="Jupiter"', "host Jupiter: found a second one"),
        ('id="3" b', 'id="6" b', "link 6: found a second one"),
        ('routing="Full"', 'routing="Vivaldi"', "zone0: routing: unknown routing 'Vivaldi'"),
        ("SPLITDUPLEX", "SPLIT", "link 7: unknown sharing policy 'SPLIT'"),
        ("</platform>", "", "found no XML"),
        ("<zone ", '<!ENTITY a "b"><zone ', "found an XML entity"),
        (samples.SIMGRID_DIRECT, "", "zone0: found no route from Fafard to Jupiter"),
    ],
)
def test_what_is_wrong_is_said(load: Load, old: str, new: str, message: str | None) -> None:
    assert old in samples.SIMGRID
    text = samples.SIMGRID.replace(old, new, 1)
    if message is None:
        load(text)
        return
    with pytest.raises(ConfigurationError) as caught:
        load(text)
    assert message in str(caught.value)
    assert "platform.xml: " in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('radical="1-94"', 'radical="9-1"', "cluster griffon: radical: found '9-1'"),
        ('bw="125MBps"', "", "cluster griffon: found no attribute bw"),
        (
            'radical="1-94"',
            'radical="1-94" topology="TORUS"',
            "found topology TORUS, accepted FLAT",
        ),
        ('radical="1-94"', 'radical="1-94" sharing_policy="SHARED"', "found 94 hosts, accepted 64"),
        (
            'radical="1-94"',
            'radical="1-100000"',
            "found 100000 domains or memory nodes, accepted at most 256",
        ),
    ],
)
def test_clusters_that_cannot_be_are_refused(load: Load, old: str, new: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(samples.SIMGRID_CLUSTER.replace(old, new))
    assert message in str(caught.value)


def test_a_platform_comes_alone(tmp_path: Path) -> None:
    path, other = tmp_path / "p.xml", tmp_path / "numactl.txt"
    path.write_text(samples.SIMGRID, encoding="utf-8")
    other.write_text(samples.NUMACTL, encoding="utf-8")
    with pytest.raises(ConfigurationError, match="found 1 more files beside a whole machine"):
        described([other, path])


def test_what_is_assumed_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "p.xml"
    path.write_text(samples.SIMGRID, encoding="utf-8")
    found = described([path])
    assert found.summary == {"hosts": 3, "cores": 9, "links": 4, "formats": ["simgrid"]}
    assert found.text.count("'assumed: ") == len(found.assumed)
