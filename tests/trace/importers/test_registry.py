from __future__ import annotations

import inspect
from pathlib import Path
from typing import Literal

import pytest

from simsched.files.errors import ConfigurationError, ExtensionError, TraceError
from simsched.trace.importers import import_recording, registry, trace_importer, trace_importers


def test_every_importer_is_found_and_says_what_it_reads():
    known = trace_importers()
    assert {"mir", "starvz", "tasks_rec", "wfformat"} <= set(known)
    assert all(importer.summary for importer in known.values())
    assert [*known["mir"].parameters] == ["clock"]


def test_a_name_is_taken_once():
    with pytest.raises(ValueError, match=r"'starvz': registered twice, by simsched\."):
        trace_importer("starvz", recognises=lambda path: False)(lambda path: None)


def test_what_cannot_be_told_is_refused(tmp_path, write):
    with pytest.raises(TraceError, match="no such file"):
        import_recording(tmp_path / "missing")
    with pytest.raises(TraceError, match=r"contents of no known format; accepted .*starvz"):
        import_recording(tmp_path)
    path = write("x.csv", "a,b\n1,2\n")
    with pytest.raises(TraceError, match="contents of no known format"):
        import_recording(path)
    with pytest.raises(ConfigurationError, match="unknown format 'starvs'; did you mean 'starvz'"):
        import_recording(path, "starvs")
    with pytest.raises(ConfigurationError, match=r"format mir: unknown option 'clok'.*'clock'"):
        import_recording(path, "mir", clok="1 GHz")
    with pytest.raises(TraceError, match=r"neither rec\.tasks\.csv nor paje"):
        import_recording(tmp_path, "starvz")


def test_a_message_names_the_format_that_nobody_has_named(write):
    path = write("t.json", '{"traceEvents": []}')
    with pytest.raises(TraceError, match=r"no slices .* \(taken for chrome by its contents\)$"):
        import_recording(path)
    with pytest.raises(TraceError, match=r"no slices that are tasks, accepted at least one$"):
        import_recording(path, "chrome")


def test_a_csv_file_as_spreadsheets_save_it(write, events_of):
    """The mark of the byte order before its first column hid the format."""
    text = "JobId,StartTime,EndTime,WorkerId\n0_1,1.0,3.0,0\n"
    plain = import_recording(write("plain.csv", text))
    for name in ("m.csv", "m.csv.gz"):
        marked = import_recording(write(name, "\ufeff" + text))
        assert marked.details["format"] == "starvz"
        assert events_of(marked) == events_of(plain)


SEEDS = Path(__file__).parents[2] / "robustness" / "seeds"
OF_SEEDS = {"mir": {"clock": "2.1 GHz"}, "paje": {"unit": "us"}}


@pytest.mark.parametrize("name", ["chrome", "starvz_csv", "wfformat_run", *OF_SEEDS])
@pytest.mark.parametrize("before", ["\n", "\r\n \t\r\n", "\ufeff\n"])
def test_blank_lines_at_the_beginning_hide_no_format(before, name, events_of, tmp_path):
    """Formats in CSV were told by the first line."""
    path = min((SEEDS / name).iterdir())
    copy = tmp_path / path.name
    copy.write_bytes(before.encode() + path.read_bytes())
    expected, found = (import_recording(file, **OF_SEEDS.get(name, {})) for file in (path, copy))
    assert events_of(found) == events_of(expected)


def test_messages_count_blank_lines(write):
    text = "\n\nJobId,StartTime,EndTime,WorkerId\n\n0_1,1.0,3.0,0\n0_2,x,3.0,0\n"
    (warning,) = (w for w in import_recording(write("t.csv", text)).warnings if "StartT" in w)
    assert "t.csv:6: " in warning
    with pytest.raises(TraceError, match=r"t\.csv:3: found no column 'WorkerId'"):
        import_recording(write("t.csv", text.replace("WorkerId", "Worker")))


@pytest.mark.parametrize("name", ["t.csv", "t.rec", "t.json", "t.csv.gz"])
def test_an_empty_trace_is_called_empty(name, write):
    with pytest.raises(TraceError, match=f"{name}: found an empty file$"):
        import_recording(write(name, "\n"))


@pytest.fixture
def given(monkeypatch, tmp_path):
    """A format that keeps the options it gets."""
    monkeypatch.setattr(registry._importers, "_entries", trace_importers())
    (tmp_path / "t.acme").write_text("acme")
    found = {}

    @trace_importer("acme", recognises=lambda path: path.suffix == ".acme")
    def import_acme(
        path,
        *,
        scale: float = 1.0,
        first: int | None = None,
        kept: bool = False,
        name: str = "",
        unit: Literal["us", "ms"] = "us",
    ):
        """Acme."""
        found.update(scale=scale, first=first, kept=kept, name=name, unit=unit)
        return scale / 0

    found["line"] = inspect.getsourcelines(import_acme)[1] + 12
    found["path"] = tmp_path / "t.acme"
    return found


def test_options_arrive_as_their_annotations_say(given):
    with pytest.raises(ExtensionError) as caught:  # it divides by zero
        import_recording(given["path"], scale="2", first="3", kept="yes", name="4", unit="ms")
    assert str(caught.value) == (
        f"{given['path']}: importer acme: {__file__}:{given['line']}: import_acme: "
        "ZeroDivisionError: float division by zero"
    )
    options = [given[name] for name in ("scale", "first", "kept", "name", "unit")]
    assert options == [2.0, 3, True, "4", "ms"]
    assert [type(option) for option in options] == [float, int, bool, str, str]
    with pytest.raises(ExtensionError):
        import_recording(given["path"], scale=2, first="null")  # from Python
    assert (given["scale"], given["first"]) == (2.0, None)


@pytest.mark.parametrize(
    ("option", "value", "accepted"),
    [
        ("scale", "two", "a finite number"),
        ("first", "2.5", "a whole number"),
        ("kept", "perhaps", "true or false"),
        ("unit", "s", "accepted: ms, us"),
        ("scale", [1.0], "a finite number"),
    ],
)
def test_values_that_an_option_does_not_accept(given, option, value, accepted):
    with pytest.raises(
        ConfigurationError, match=rf"t\.acme: format acme: option {option}: .*{accepted}"
    ):
        import_recording(given["path"], **{option: value})
    assert "scale" not in given


def test_options_of_other_types_are_refused_at_registration(given):
    def listed(path, *, columns: list[str] = []):  # noqa: B006
        """Lists."""

    def required(path, *, unit: str):
        """Needs one."""

    with pytest.raises(ValueError, match=r"parameter columns: type list\[str\] is not supported"):
        trace_importer("listed", recognises=lambda path: False)(listed)
    with pytest.raises(ValueError, match="parameter unit has no default"):
        trace_importer("required", recognises=lambda path: False)(required)


def test_what_an_importer_returns_is_checked(given):
    def nothing(path):
        """Returns nothing."""

    trace_importer("nothing", recognises=lambda path: False)(nothing)
    with pytest.raises(ExtensionError, match="found nothing, accepted a Recording"):
        import_recording(given["path"], "nothing")
