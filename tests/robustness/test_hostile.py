"""Files that want to run something, to read something else, or to take all memory."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from simsched.cli.app import main
from simsched.files.errors import ConfigurationError, GraphError, SimschedError, TraceError
from simsched.files.limits import LIMITS, POLICY_FILES, TEXT_BYTES, YAML_VALUES
from simsched.files.yaml_reader import read_document
from simsched.hardware.measurements import Measurement, MeasurementSet
from simsched.machine import load_machine
from simsched.machine.importers import read_codelet, read_sampling
from simsched.policy import make_policy
from simsched.trace.exporters import open_recording
from simsched.trace.importers import import_recording
from simsched.trace.schema import EVENT_COLUMNS
from simsched.workload.importers import import_workload
from tests.robustness import tables
from tests.robustness.readers import SEEDS, load, write

DOCS = Path(__file__).resolve().parents[2] / "docs" / "limits.md"


def put(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_aliases_of_aliases(tmp_path):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    with pytest.raises(ConfigurationError, match=YAML_VALUES.variable):
        read_document(put(tmp_path / "laughs.yaml", "\n".join(lines)))


@pytest.mark.parametrize(
    "text",
    [
        "a: !!python/object/apply:os.system ['touch owned']",
        "a: !!python/name:os.system",
        "!!python/module:os",
        "a: !include /etc/passwd",
        "a: !!binary aGVsbG8=",
        "<<: {a: 1}",
    ],
)
def test_yaml_has_no_tags(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match="accepted: plain values without tags"):
        read_document(put(tmp_path / "tag.yaml", text))
    assert not (tmp_path / "owned").exists()


def test_yaml_that_is_deep_long_or_large(tmp_path):
    for text in ("[" * 5000, "a: " + "[" * 60 + "]" * 60, "- " * 5000, "{a: " * 3000):
        with pytest.raises(ConfigurationError, match=r"nested too deeply|not valid YAML"):
            read_document(put(tmp_path / "deep.yaml", text))
    with pytest.raises(ConfigurationError, match="SIMSCHED_MAX_YAML_BYTES"):
        read_document(put(tmp_path / "long.yaml", "a: " + "x" * 2**20))
    machine = (SEEDS / "machine" / "one" / "m.yaml").read_text()
    for old, new in (
        ("count: [2, book]", "count: [60000, book]"),
        ("cores: {big: [2, book]}", "cores: {big: [60000, book]}"),
    ):
        with pytest.raises(ConfigurationError, match=r"sockets: found .* accepted at most"):
            load_machine(put(tmp_path / "large.yaml", machine.replace(old, new)))


@pytest.mark.parametrize("value", ["9" * 5000, "1e999", ".nan", "-.inf", "9" * 400])
def test_numbers_in_yaml_that_are_none(value, tmp_path):
    text = (SEEDS / "machine" / "one" / "m.yaml").read_text()
    assert "ops_per_cycle: [1, assumed]" in text
    path = put(tmp_path / "m.yaml", text.replace("ops_per_cycle: [1,", f"ops_per_cycle: [{value},"))
    with pytest.raises(ConfigurationError, match=r"m\.yaml:6: "):
        load_machine(path)


def test_json_that_is_deep(tmp_path):
    for text in ('{"workflow":' * 100_000, '{"workflow":' + "[" * 100_000):
        with pytest.raises(GraphError, match=r"not usable JSON|not JSON"):
            import_workload(put(tmp_path / "deep.json", text), "wfformat")
    with pytest.raises(TraceError, match="nested too deeply"):
        import_recording(put(tmp_path / "deep.json", "[" + '{"a":' * 100_000), "chrome")


def test_tasks_and_workers_of_a_header(tmp_path):
    own = json.loads(tables.own_chrome())
    own["otherData"]["simsched"]["tasks"] = 10**9
    with pytest.raises(TraceError, match="SIMSCHED_MAX_TASKS"):
        import_recording(put(tmp_path / "t.json", json.dumps(own)), "chrome")
    for column, variable in (("task", "TASKS"), ("worker", "WORKERS")):
        table = pa.table({n: np.zeros(3, kind) for n, kind in EVENT_COLUMNS.items()})
        index = table.column_names.index(column)
        large = pa.array([0, 2**31 - 1, 0], pa.int32())
        pq.write_table(table.set_column(index, column, large), tmp_path / "t.parquet")
        with pytest.raises(ConfigurationError, match=f"SIMSCHED_MAX_{variable}"):
            open_recording(tmp_path / "t.parquet")


def test_parquet_with_more_rows_than_bytes(tmp_path, monkeypatch):
    n = 2**22
    table = pa.table({name: np.zeros(n, kind) for name, kind in EVENT_COLUMNS.items()})
    pq.write_table(table, tmp_path / "zeros.parquet", compression="zstd")
    size = (tmp_path / "zeros.parquet").stat().st_size
    monkeypatch.setenv("SIMSCHED_MAX_TABLE_BYTES", "100 MiB")
    assert size < 2**20 < 100 * 2**20 < table.nbytes
    with pytest.raises(ConfigurationError, match=r"found 1.* bytes in memory, accepted at most"):
        open_recording(tmp_path / "zeros.parquet")


@pytest.mark.parametrize("reader", ["chrome", "wfformat", "mir", "starvz", "tasks_rec"])
def test_decompression_bombs(reader, tmp_path, monkeypatch):
    monkeypatch.setenv(TEXT_BYTES.variable, "1 MiB")
    header = b"JobId,StartTime,EndTime,WorkerId\n" if reader == "starvz" else b'[{"ph": "X"'
    path = put(tmp_path / "bomb.gz", gzip.compress(header + bytes(50 * 2**20), 9))
    assert path.stat().st_size < 100_000
    options = {"clock": "1 GHz"} if reader == "mir" else {}
    with pytest.raises(SimschedError, match=TEXT_BYTES.variable):
        import_recording(path, reader, **options)


def _with_graph(tmp_path: Path, **arrays: np.ndarray) -> Path:
    """Write a recording whose graph has other arrays."""
    data = tables.recording_seeds()[0]["run.parquet"]
    table = pq.read_table(io.BytesIO(data))
    metadata = dict(table.schema.metadata)
    with np.load(io.BytesIO(metadata[b"graph"])) as archive:
        known = {name: archive[name] for name in archive.files}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **{**known, **arrays})
    metadata[b"graph"] = buffer.getvalue()
    pq.write_table(table.replace_schema_metadata(metadata), tmp_path / "run.parquet")
    return tmp_path / "run.parquet"


class _Touch:
    """What creates a file when it is unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, ("owned",)


def test_arrays_in_a_recording(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match=r"allow_pickle=False"):
        open_recording(_with_graph(tmp_path, ops=np.array([_Touch()], object)))
    assert not (tmp_path / "owned").exists()
    monkeypatch.setenv("SIMSCHED_MAX_TABLE_BYTES", "10 MiB")
    path = _with_graph(tmp_path, ops=np.zeros((1, 2**22)))
    assert path.stat().st_size < 2**20
    with pytest.raises(ConfigurationError, match="SIMSCHED_MAX_TABLE_BYTES"):
        open_recording(path)


def test_graphml_with_entities(tmp_path):
    (seed,) = load(SEEDS / "graphml")[0].values()
    secret = put(tmp_path / "secret", "s3cret")
    for entity in (f'<!ENTITY x SYSTEM "file://{secret}">', '<!ENTITY x "ha">'):
        text = f"<!DOCTYPE g [{entity}]>".encode() + seed.partition(b"?>")[2]
        path = put(tmp_path / "g.graphml", text.replace(b">x<", b">&x;<"))
        with pytest.raises(GraphError, match="found an entity declaration"):
            import_workload(path, cost="w", cost_unit="ops")


def test_links_that_lead_out_of_a_directory(tmp_path):
    secret = put(tmp_path / "secret", "JobId,StartTime,EndTime,WorkerId\n1,1,2,3\n")
    trace = tmp_path / "trace"
    trace.mkdir()
    (trace / "rec.tasks.csv").symlink_to(secret)
    with pytest.raises(TraceError, match=r"rec\.tasks\.csv: found a link to .*secret"):
        import_recording(trace)
    sampling = tmp_path / "sampling"
    write(sampling, load(SEEDS / "sampling")[0])
    codelets = sampling / "codelets" / "45"
    (codelets / "out.box").symlink_to(secret)
    (codelets / "up.box").write_text("..")
    (codelets / "inside.box").symlink_to(codelets / "gemm.box")
    refused = read_sampling(sampling).costs.refused
    assert sorted(refused) == ["out", "up"]
    assert "found a link to" in refused["out"]
    assert {cost.codelet for cost in read_sampling(sampling).costs.costs} == {
        "gemm",
        "inside",
        "link",
    }
    assert read_codelet(codelets / "gemm.box", "gemm")
    run = Measurement("../secret", "heat", {}, "h", "cilk_a", 1, 0, 0, 1.0, 1.0)
    with pytest.raises(ConfigurationError, match="found a link to"):
        MeasurementSet(trace, "n", (run,)).recording(run)


def test_policy_files_can_be_forbidden(tmp_path, monkeypatch):
    path = put(tmp_path / "evil.py", "raise SystemError('it ran')\n")
    with pytest.raises(ConfigurationError, match="it ran"):
        make_policy(str(path))
    monkeypatch.setenv(POLICY_FILES, "no")
    with pytest.raises(ConfigurationError, match=r"found a file, .*SIMSCHED_POLICY_FILES=no"):
        make_policy(str(path))
    monkeypatch.setenv(POLICY_FILES, "perhaps")
    with pytest.raises(ConfigurationError, match="found 'perhaps', accepted yes or no"):
        make_policy(str(path))


@pytest.mark.parametrize("text", ["", "0", "-1", "1e6", "many", "1 GB", "9" * 30])
def test_settings_that_are_no_limit(text, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("SIMSCHED_MAX_YAML_BYTES", text)
    path = put(tmp_path / "m.yaml", "a: 1")
    assert main(["check", str(path)]) == 2
    assert capsys.readouterr().err == (
        f"simsched: error: SIMSCHED_MAX_YAML_BYTES: found {text!r}, accepted a whole number above "
        "0, with or without KiB, MiB or GiB\n"
    )


@pytest.mark.parametrize("command", ["check", "import", "run", "measure", "validate"])
def test_names_that_are_too_long(command, capsys):
    assert main([command, "x" * 300]) == 2
    assert re.fullmatch(r"simsched: error: [^\n]*\bx{50}[^\n]*\n", capsys.readouterr().err)


def test_every_limit_is_documented():
    rows = dict(re.findall(r"\| `(SIMSCHED_MAX_\w+)` \| ([^|]+) \|", DOCS.read_text()))
    units = {"": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
    stated = {}
    for variable, text in rows.items():
        number, _, unit = text.strip().partition(" ")
        stated[variable] = int(number) * units[unit]
    assert stated == {limit.variable: limit.default for limit in LIMITS}
