from __future__ import annotations

import pytest

from simsched.errors import ConfigurationError, TraceError
from simsched.trace.importers import import_recording, trace_importer, trace_importers


def test_every_importer_is_found_and_says_what_it_reads():
    known = trace_importers()
    assert {"mir", "starvz", "tasks_rec", "wfformat"} <= set(known)
    assert all(importer.summary for importer in known.values())
    assert known["mir"].options == ("clock",)


def test_a_name_is_taken_once():
    with pytest.raises(ValueError, match=r"'starvz': registered twice, by simsched\."):
        trace_importer("starvz", recognises=lambda path: False)(lambda path: None)


def test_what_cannot_be_told_is_refused(tmp_path, write):
    with pytest.raises(TraceError, match="found no such file or directory"):
        import_recording(tmp_path / "missing")
    with pytest.raises(TraceError, match=r"contents of no known format; accepted .*starvz"):
        import_recording(tmp_path)
    path = write("x.csv", "a,b\n1,2\n")
    with pytest.raises(TraceError, match="contents of no known format"):
        import_recording(path)
    with pytest.raises(ConfigurationError, match="unknown format 'starvs'; did you mean 'starvz'"):
        import_recording(path, "starvs")
    with pytest.raises(ConfigurationError, match=r"unknown option of format mir 'clok'.*'clock'"):
        import_recording(path, "mir", clok="1 GHz")
    with pytest.raises(TraceError, match=r"neither rec\.tasks\.csv nor paje"):
        import_recording(tmp_path, "starvz")


def test_a_csv_file_as_spreadsheets_save_it(write, events_of):
    """The mark of the byte order before its first column hid the format."""
    text = "JobId,StartTime,EndTime,WorkerId\n0_1,1.0,3.0,0\n"
    plain = import_recording(write("plain.csv", text))
    for name in ("m.csv", "m.csv.gz"):
        marked = import_recording(write(name, "\ufeff" + text))
        assert marked.details["format"] == "starvz"
        assert events_of(marked) == events_of(plain)


@pytest.mark.parametrize("name", ["t.csv", "t.rec", "t.json", "t.csv.gz"])
def test_an_empty_trace_is_called_empty(name, write):
    with pytest.raises(TraceError, match=f"{name}: found an empty file$"):
        import_recording(write(name, "\n"))
