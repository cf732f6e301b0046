"""OTF2 through the package of its makers, which may be absent; values are worked out by hand."""

import sys
from pathlib import Path

import pytest

from simsched.files.errors import ConfigurationError, TraceError
from simsched.trace.importers import import_recording
from tests.trace.exporters.runs import task_times


@pytest.fixture
def trace(tmp_path):
    """Ticks are microseconds; inner runs in solve and on thread 1, where one enter has no leave."""
    otf2 = pytest.importorskip("otf2", reason="otf2 is an extra")
    with otf2.writer.open(str(tmp_path / "t"), timer_resolution=1_000_000) as written:
        root = written.definitions.system_tree_node("node")
        group = written.definitions.location_group("process 0", system_tree_parent=root)
        solve, inner = (written.definitions.region(name) for name in ("solve", "inner"))
        one = written.event_writer("thread 0", group=group)
        one.enter(100, solve)
        one.enter(102, inner)
        one.leave(103, inner)
        one.leave(110, solve)
        two = written.event_writer("thread 1", group=group)
        two.enter(105, inner)
        two.leave(107, inner)
        two.enter(108, inner)
    return tmp_path / "t"


@pytest.mark.parametrize("name", ["", "traces.otf2"])
def test_regions_are_tasks(name, trace):
    found = import_recording(trace / name)
    us = 10**6
    assert sorted(task_times(found).values()) == [
        ("inner", 0, 0, 2 * us, 3 * us),
        ("inner", 1, 1, 5 * us, 7 * us),
        ("solve", 0, 0, 0, 10 * us),
    ]
    assert found.worker_names == ("thread 0", "thread 1")
    assert found.details["set_aside"] == {"enter of a region without its leave": 1}
    assert found.workload is None


def test_some_regions_are_tasks(trace):
    found = import_recording(trace, regions="sol*, x")
    assert [row[0] for row in task_times(found).values()] == ["solve"]
    with pytest.raises(
        TraceError, match="found no regions 'x' that are tasks, accepted: inner, solv"
    ):
        import_recording(trace, regions="x")


@pytest.mark.parametrize(
    ("options", "edges", "kinds"),
    [
        # kernels one after the other, 1 us apart; what the host did is told by an option
        ({}, 2, ("cpu", "gpu")),
        ({"ordered": "*"}, 4, ("cpu", "gpu")),
        ({"ordered": "host", "devices": ""}, 2, ("cpu",)),
    ],
)
def test_locations_of_accelerators_are_ordered_and_devices(options, edges, kinds, tmp_path):
    otf2 = pytest.importorskip("otf2", reason="otf2 is an extra")
    with otf2.writer.open(str(tmp_path / "t"), timer_resolution=1_000_000) as written:
        root = written.definitions.system_tree_node("node")
        group = written.definitions.location_group("process 0", system_tree_parent=root)
        region = written.definitions.region("work")
        types = {"host": otf2.LocationType.CPU_THREAD, "CUDA[0:7]": otf2.LocationType.GPU}
        for name, kind in types.items():
            writer = written.event_writer(name, type=kind, group=group)
            for enter, leave in ((0, 2), (3, 5)):
                writer.enter(enter, region)
                writer.leave(leave, region)
    graph = import_recording(tmp_path / "t", **options).workload.graph
    assert (graph.n_edges, graph.kinds) == (edges, kinds)


def test_damaged_traces_are_refused_in_one_message(trace, capfd):
    (trace / "traces" / "0.evt").unlink()
    with pytest.raises(TraceError, match=r"t: not OTF2 as its library reads it: Error: ") as caught:
        import_recording(trace)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""


def test_an_archive_whose_definitions_are_wrong_is_closed(trace):
    definitions = (trace / "traces.def").read_bytes()
    (trace / "traces.def").write_bytes(definitions[:40] + bytes(20) + definitions[60:])
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        with pytest.raises(TraceError, match="not OTF2 as its library reads it"):
            import_recording(trace)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize(("end", "order"), [(b"B", "little"), (b"#", "big")])
def test_an_anchor_cannot_ask_for_memory(end, order, trace):
    """The number of properties is at byte 49, after 46 bytes and three strings, empty here."""
    anchor = trace / "traces.otf2"
    data = anchor.read_bytes()
    anchor.write_bytes(data[:1] + end + data[2:49] + (2**27).to_bytes(4, order) + data[53:])
    with pytest.raises(TraceError, match=r"states 134217728 properties in 72 bytes"):
        import_recording(trace)


def test_what_the_library_reads_beyond_the_end_of_a_file_is_refused(trace, monkeypatch):
    """After many archives it gives a hundred thousand events for some that are damaged."""
    otf2 = pytest.importorskip("otf2")
    with otf2.reader.open(str(trace / "traces.otf2")) as opened:
        events = list(opened.events)
    monkeypatch.setattr(otf2.reader.Reader, "events", events * 1000)
    with pytest.raises(TraceError, match="found more events than its files have bytes"):
        import_recording(trace)


def test_without_the_package_it_is_said_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "otf2", None)
    (tmp_path / "traces.otf2").write_bytes(b"\x03BOTF2\x00")
    with pytest.raises(ConfigurationError, match=r"pip install 'simsched\[otf2\]'"):
        import_recording(tmp_path)
