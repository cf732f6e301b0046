"""Bad input of any kind ends with exit code 2 and one message, and leaves nothing behind.

A message names the file, the line or key, what was found, what is accepted and, for a name, the
nearest one. There is no traceback and no partial output.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Command

ROOT = Path(__file__).resolve().parents[2]
MACHINE = ROOT / "machines" / "knl_snc4_flat.yaml"
LINES = {
    "name": "bad",
    "machines": "[knl_snc4_flat]",
    "workloads": "[{name: heat, rows: 64, columns: 64}]",
    "policies": "[cilk]",
}

Refused = Callable[..., str]


@pytest.fixture
def refused(simsched: Command, tmp_path: Path) -> Refused:
    """Run a command that must fail; return its message after checking its form."""

    def command(*words: object) -> str:
        before = sorted(tmp_path.rglob("*"))
        code, output, messages = simsched(*words)
        assert code == 2
        assert output == ""
        assert messages.startswith("simsched: error: ")
        assert messages.count("\n") == 1
        assert "Traceback" not in messages
        assert sorted(tmp_path.rglob("*")) == before
        return messages

    return command


def write(folder: Path, *, lines: dict[str, str] | None = None) -> Path:
    """Write an experiment, one key per line: name 1, machines 2, workloads 3, policies 4."""
    content = {**LINES, **(lines or {})}
    path = folder / "bad.yaml"
    path.write_text("".join(f"{key}: {value}\n" for key, value in content.items()))
    return path


@pytest.mark.parametrize(
    ("lines", "pattern"),
    [
        ({"seedz": "3"}, r"bad\.yaml:5: seedz: unknown key 'seedz'; did you mean 'seeds'\?"),
        (
            {"machines": "[knl_snc4_flt]"},
            r"bad\.yaml:2: machines\[0\]: unknown machine .*did you mean 'knl_snc4_flat'.*accepted",
        ),
        ({"machines": "[missing.yaml]"}, r"bad\.yaml:2: .*missing\.yaml: no such file"),
        (
            {"policies": "['bats[sample_pages=0]']"},
            r"bad\.yaml:4: policies\[0\]\S*: .*sample_pages: found 0, accepted a whole number, 1",
        ),
        (
            {"policies": "['bats[sample_page=4]']"},
            r"bad\.yaml:4: .*unknown parameter 'sample_page'; did you mean 'sample_pages'",
        ),
        ({"policies": "[cilck]"}, r"bad\.yaml:4: .*'cilck'; did you mean 'cilk'"),
        (
            {"policies": "\n  - cilk\n  - {name: cilk_a, label: cilk}"},
            r"bad\.yaml:6: policies\[1\]: found 'cilk' twice, .* at \S*bad\.yaml:5: policies\[0\]",
        ),
        (
            {"sweep": "{product: {machines.0.workers: [2, 2]}}"},
            r"bad\.yaml:5: sweep\.product\.machines\.0\.workers\[1\]: found 2 twice, accepted",
        ),
        (
            {"policies": "['cilk[placement=interleav]']"},
            r"bad\.yaml:4: .*'interleav'; did you mean 'interleave'",
        ),
        (
            {"workloads": "[{name: heat, rows: none}]"},
            r"bad\.yaml:3: workloads\[0\]\.rows: .*found 'none', accepted a whole number",
        ),
        (
            {"workloads": "[{name: heat, leaf_bytes: 2 KB}]"},
            r"bad\.yaml:3: workloads\[0\]\.leaf_bytes: .*found '2 KB', acc.*did you mean '2 [kK]",
        ),
        (
            {"workloads": "[{name: heat, iterations: 0}]"},
            r"iterations: found 0, accepted a whole number, 1",
        ),
        ({"backend": "C"}, r"bad\.yaml:5: backend: found 'C', accepted: 'native' or 'simpy'"),
        ({"seeds": "-1"}, r"bad\.yaml:5: seeds: found -1, accepted: 1 to"),
        ({"seeds": ".nan"}, r"bad\.yaml:5: seeds: found nan, accepted"),
        (
            {"metrics": "[stealz]"},
            r"bad\.yaml:5: metrics\[0\]: unknown metric 'stealz'; did you mean 'steals'",
        ),
        (
            {"machines": "{name: ''}"},
            r"bad\.yaml:2: .*found nothing, accepted: at least 1 character$",
        ),
        ({"sweep": "{zip: {a: []}}"}, r"bad\.yaml:5: .*found \[\], accepted: at least 1 item$"),
        ({"name": "[unclosed"}, r"bad\.yaml:\d: not valid YAML"),
        ({"name": "!!python/object:os.system x"}, r"bad\.yaml:1: .*found the tag.*accepted: plain"),
        ({"baseline": "ckil"}, r"bad\.yaml:5: baseline: .*did you mean 'cilk'"),
        (
            {"policies": "[cylk]", "baseline": "cilk"},
            r"bad\.yaml:4: policies\[0\]: unknown policy 'cylk'; did you mean 'cilk'",
        ),
    ],
)
def test_experiments(refused: Refused, tmp_path: Path, lines: dict[str, str], pattern: str) -> None:
    message = refused("run", write(tmp_path, lines=lines))
    assert re.search(pattern, message), message


@pytest.mark.parametrize(
    ("content", "pattern"),
    [
        (b"", r"bad\.yaml: found an empty file, accepted: a mapping of keys to values"),
        (
            b"name: x\n\xff\xfe",
            r"bad\.yaml:2: found bytes that are not UTF-8 text, accepted: UTF-8",
        ),
        ("name: x\n".encode("utf-16"), r"bad\.yaml:1: found UTF-16, accepted: UTF-8"),
        (b"just text", r"bad\.yaml:1: found 'just text', accepted: a mapping of keys to values"),
        (b"a: &x [*x]\n", r"bad\.yaml:1: a\[0\]: found an alias that contains itself"),
        (b"a: 1\na: 2\n", r"bad\.yaml:2: a: duplicate key, first given in line 1"),
    ],
)
def test_files_that_are_no_experiment(
    refused: Refused, tmp_path: Path, content: bytes, pattern: str
) -> None:
    (tmp_path / "bad.yaml").write_bytes(content)
    assert re.search(pattern, refused("run", "bad.yaml"))
    refused("check", "bad.yaml")
    assert re.search(pattern, refused("compare", "cilk", "laws", "-e", "bad.yaml"))


def test_a_missing_experiment(refused: Refused, tmp_path: Path) -> None:
    write(tmp_path)
    assert "bda.yaml: no such file; did you mean 'bad.yaml'?" in refused("run", "bda.yaml")
    assert "'quickstrat'; did you mean 'quickstart'?" in refused("run", "quickstrat")
    assert "cannot be read" in refused("run", tmp_path / "bad.yaml" / "x.yaml")


@pytest.mark.parametrize(
    ("application", "weights", "pattern"),
    [
        ("wordcount", "{M1: 0.8, M2: 0.2}", r"h\.yaml:1: \S*: history of another job: .*: sort$"),
        ("sort", "{M1: 0.8, M2: 0.3}", r"bad\.yaml:4: policies\[0\]\S*: .*h\.yaml:1: .*found 1\.1"),
    ],
)
def test_history_of_an_earlier_run(
    refused: Refused, tmp_path: Path, application: str, weights: str, pattern: str
) -> None:
    (tmp_path / "h.yaml").write_text(f"applications: {{{application}: {{0: {weights}}}}}\n")
    lines = {
        "machines": "[samr_cluster_slow]",
        "workloads": "['sort_mapreduce[splits=2,reduces=2]']",
        "policies": "['samr[history=h.yaml]']",
        "output": "results",
    }
    message = refused("run", write(tmp_path, lines=lines), "-j", 1, "--quiet")
    assert re.search(pattern, message, re.MULTILINE), message


# Machine files ----------------------------------------------------------------------------------


def machine_with(folder: Path, old: str, new: str) -> Path:
    """Write the Knights Landing machine with one change."""
    text = MACHINE.read_text()
    assert re.search(old, text), f"{old} is no longer in {MACHINE.name}"
    path = folder / "machine.yaml"
    path.write_text(re.sub(old, new, text, count=1))
    return path


@pytest.mark.parametrize(
    ("old", "new", "pattern"),
    [
        (r"(?m)^caches:", "cashes:", r"cashes: unknown key 'cashes'; did you mean 'caches'"),
        (r"bandwidth: \[[^,]*,", "bandwidth: [96 GB,", r"bandwidth.*found '96 GB'.*GB/s"),
        (r"bandwidth: \[[^,]*,", "bandwidth: [-96 GB/s,", r"bandwidth.*found '-96 GB/s'.*above"),
        (r"bandwidth: \[[^,]*,", "bandwidth: [.nan,", r"bandwidth.*found nan"),
        (r"capacity: \[[^,]*,", "capacity: [4 ns,", r"capacity.*found '4 ns'"),
    ],
)
def test_machine_files(refused: Refused, tmp_path: Path, old: str, new: str, pattern: str) -> None:
    path = machine_with(tmp_path, old, new)
    for words in (("check", path), ("show", "machine", path)):
        message = refused(*words)
        assert re.search(r"machine\.yaml:\d+: " + ".*" + pattern, message), message
    experiment = write(tmp_path, lines={"machines": f"[{path}]"})
    message = refused("run", experiment)
    assert re.search(r"bad\.yaml:2: machines\[0\]: .*machine\.yaml:\d+: .*" + pattern, message)


def test_a_missing_machine(refused: Refused) -> None:
    message = refused("show", "machine", "knl_snc4_flatt")
    assert "unknown machine 'knl_snc4_flatt'; did you mean 'knl_snc4_flat'?" in message
    assert "no such file" in refused("show", "machine", "missing.yaml")


# Task graphs ------------------------------------------------------------------------------------


GRAPHML = """<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="c" for="node" attr.name="cost" attr.type="{kind}"/>
<graph edgedefault="directed">{content}</graph></graphml>
"""
NODES = '<node id="a"><data key="c">1</data></node><node id="b"><data key="c">{cost}</data></node>'
TAKES = "cost: cost, cost_unit: ops"


def graphml(folder: Path, edges: str, cost: str = "2") -> Path:
    path = folder / "g.graphml"
    content = NODES.format(cost=cost) + edges
    path.write_text(GRAPHML.format(kind="double", content=content))
    return path


def edge(source: str, target: str) -> str:
    return f'<edge source="{source}" target="{target}"/>'


@pytest.mark.parametrize(
    ("edges", "cost", "pattern"),
    [
        (edge("a", "b") + edge("b", "a"), "2", r"cycle of 2 tasks: a -> b -> a; accepted an acycl"),
        (edge("a", "a"), "2", r"cycle of 1 tasks?: a -> a|self-loop"),
        (edge("a", "c"), "2", r"edge 'a' -> 'c': node 'c': found no attributes, as where"),
        (edge("a", "b"), "nan", r"node 'b': attribute 'cost': found nan, accepted a finite"),
        (edge("a", "b"), "-1", r"node 'b': attribute 'cost': found -1.0, accepted .* at least 0"),
    ],
)
def test_task_graphs(refused: Refused, tmp_path: Path, edges: str, cost: str, pattern: str) -> None:
    graphml(tmp_path, edges, cost)
    experiment = write(tmp_path, lines={"workloads": f"[{{file: g.graphml, {TAKES}}}]"})
    message = refused("run", experiment)
    assert re.search(r"bad\.yaml:3: workloads\[0\]\S*: .*g\.graphml", message), message
    assert re.search(pattern, message), message


def test_a_correct_task_graph_runs(simsched: Command, tmp_path: Path) -> None:
    """The graphs above are refused for what is wrong with them and for nothing else."""
    graphml(tmp_path, edge("a", "b"))
    experiment = write(tmp_path, lines={"workloads": f"[{{file: g.graphml, {TAKES}}}]"})
    code, _, messages = simsched("run", experiment, "-j", 1, "--backend", "simpy", "--quiet")
    assert code == 0, messages


def test_a_graph_without_tasks(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "g.graphml").write_text(GRAPHML.format(kind="double", content=""))
    assert "g.graphml: found no nodes, accepted at least one" in refused("check", "g.graphml")
    (tmp_path / "g.dot").write_text("digraph g {}")
    assert "g.dot: found no nodes, accepted at least one" in refused("check", "g.dot")


@pytest.mark.parametrize(
    ("content", "pattern"),
    [
        ('{"name": "x", "workflow": {"tasks": [', r"w\.json:1: column 38: not JSON: .*truncated"),
        ("", r"w\.json: found an empty file"),
        ("[1, 2]", r"w\.json: top level: found a list, accepted an object"),
        ('{"schemaVersion": "9.9", "workflow": {}}', r"w\.json: schemaVersion: found '9\.9', acc"),
        ("\x00\x01", r"w\.json:1: column 1: not JSON"),
    ],
)
def test_workflow_files(refused: Refused, tmp_path: Path, content: str, pattern: str) -> None:
    (tmp_path / "w.json").write_text(content)
    for words in (
        ("check", "w.json"),
        ("run", write(tmp_path, lines={"workloads": "[{file: w.json}]"})),
    ):
        message = refused(*words)
        assert re.search(pattern, message), message


def test_a_truncated_measurement(refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "task-stats.csv.gz"
    path.write_bytes(gzip.compress(b'"task","parent"\n1,0\n' * 100)[:-20])
    assert "truncated gzip" in refused("check", path)
    assert "no such file" in refused("check", tmp_path / "none.csv.gz")
    path.write_bytes(gzip.compress(b'"task","parent"\n1,0\n'))
    assert "task-stats.csv.gz: found no column 'child_number'" in refused("check", path)


# Fit of the parts, and places to write ----------------------------------------------------------


def test_data_larger_than_all_memory(refused: Refused, tmp_path: Path) -> None:
    large = (
        "[{name: heat, rows: 4000000, columns: 4096, leaf_bytes: 256 MiB, block_bytes: 256 MiB}]"
    )
    message = refused("run", write(tmp_path, lines={"workloads": large}))
    found = re.search(r"bad\.yaml:3: .*found (\d+) bytes of data, accepted at most (\d+)", message)
    assert found, message
    assert int(found[1]) > int(found[2]) == (4 * 32 + 4 * 4) * 2**30
    assert "knl_snc4_flat" in message


def test_data_larger_than_the_memory_that_a_policy_uses(refused: Refused, tmp_path: Path) -> None:
    large = "[{name: heat, rows: 400000, columns: 4096, leaf_bytes: 16 MiB, block_bytes: 16 MiB}]"
    experiment = write(tmp_path, lines={"workloads": large, "policies": "[cilk_h]"})
    message = refused("run", experiment)
    assert re.search(r"cilk_h seed 0: .*found \d+ bytes.*accepted at most \d+", message), message


@pytest.mark.parametrize("option", ["--output", "--set"])
def test_a_directory_that_cannot_be_written(refused: Refused, tmp_path: Path, option: str) -> None:
    (tmp_path / "file").touch()
    words = ("--output", "file/out") if option == "--output" else ("--set", "output=file/out")
    message = refused("run", write(tmp_path), *words)
    assert "file/out: cannot be written: Not a directory; accepted: a directory" in message


@pytest.mark.parametrize(
    "words",
    [
        ("show", "machine", "knl_snc4_flat", "--draw", "file/m.png"),
        ("export", "cholesky_small", "file/g.graphml"),
        ("export", "cholesky_small", "file/g.dot"),
    ],
)
def test_files_that_cannot_be_written(
    refused: Refused, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "file").touch()
    assert re.search(r"file/\S+: cannot be written: Not a directory", refused(*words))


# The command line itself ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "pattern"),
    [
        (("rnu", "x"), r"'rnu'.*'run'"),
        (("run",), r"Missing argument"),
        (("run", "quickstart", "--sed", "3"), r"unknown option '--sed'; did you mean '--set'"),
        (("run", "quickstart", "--set", "seedz=3"), r"--set seedz=3: .*did you mean 'seeds'"),
        (("run", "quickstart", "--set", "seeds"), r"accepted KEY=VALUE"),
        (("run", "quickstart", "--set", "seeds=x"), r"--set seeds=x: seeds: found 'x'"),
        (
            ("run", "quickstart", "--set", "seeds="),
            r"seeds=: seeds: found nothing, accepted: a num",
        ),
        (("run", "quickstart", "--set", "policies.0="), r"found nothing, accepted: a name"),
        (("run", "quickstart", "--jobs", "0"), r"--jobs: found 0, accepted: a whole number, 1 or"),
        (("run", "quickstart", "-j", "1.5"), r"--jobs: found '1.5', accepted: a whole number, 1"),
        (("run", "quickstart", "-o", ""), r"found an empty word after '-o', accepted: words with"),
        (("", "run"), r"found an empty word after 'simsched', accepted"),
        (("schema", "machine", "-o", "."), r"error: \.: cannot be written: it is a directory$"),
        (
            ("run", "quickstart", "--set", "seeds=[1"),
            r"not YAML: while parsing .* expected ',' or ']'",
        ),
        (("reproduce", "-j", "two"), r"--jobs: found 'two', accepted: a whole number, 1 or more$"),
        (
            ("references", "x.csv", "--seeds", "no"),
            r"--seeds: found 'no', accepted: a whole number",
        ),
        (("validate", "x", "--runs", "0"), r"--runs: found 0, accepted: a whole number, 1 or more"),
        (
            ("run", "quickstart", "--backend", "simpi"),
            r"--backend: found 'simpi', accepted: 'native' or 'simpy'; did you mean 'simpy'",
        ),
        (("list", "machine"), r"unknown kind 'machine'; did you mean 'machines'"),
        (("show", "policy", "batz"), r"'batz'; did you mean 'bats'"),
        (("show", "workload", "heet"), r"'heet'; did you mean 'heat'"),
        (("show", "machine", "knl_snc4_flat", "--draw", "m.bmp"), r"found 'm.bmp', accepted"),
        (("export", "heat_small", "g.txt"), r"found the suffix '.txt', accepted"),
        (("export", "heet_small", "g.dot"), r"did you mean 'heat_small'"),
        (("validate", "g", "--machine", "opteron8"), r"'opteron8'; did you mean 'opteron48'"),
        (("check", "none.json"), r"none\.json: no such file"),
        (("conformance", "--policy", "batz"), r"'batz'; did you mean 'bats'"),
        (("conformance", "--workload", "heet"), r"'heet'; did you mean 'heat'"),
    ],
)
def test_commands(refused: Refused, words: tuple[str, ...], pattern: str) -> None:
    message = refused(*words)
    assert re.search(pattern, message), message


def test_a_policy_file_with_a_fault(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import no_such_module\n")
    message = refused("run", write(tmp_path, lines={"policies": "[mine.py]"}))
    assert re.search(r"bad\.yaml:4: .*mine\.py, line 1: .*no_such_module", message), message


def test_the_message_is_the_same_with_json(refused: Refused, tmp_path: Path) -> None:
    path = write(tmp_path, lines={"machines": "[knl]"})
    assert refused("run", path, "--json") == refused("run", path)
    assert json.dumps(str(path))[1:-1] in refused("run", path)


def test_a_run_that_does_not_get_on(refused: Refused, tmp_path: Path) -> None:
    words = ["run", "quickstart", "-o", tmp_path / "out"]
    words += ["-m", "toy_1fast_3slow", "-w", "independent[tasks=2,mean_ops=1e15]", "-p", "linux_lb"]
    message = refused(*words, "--set", "progress_limit_s=1", "-q")
    assert "no task ends for 1 s (progress_limit_s; a larger one lets it go on): worker" in message
    assert "progress_limit_s" in refused(*words, "--set", "progress_limit_s=0", "-q")


@pytest.mark.parametrize(
    ("assignment", "pattern"),
    [
        ("workers=99999", r"machines\[0\]\.workers: .*workers: found 99999, accepted 1 to 256 "),
        ("name=opteron8", r"machines\[0\]\.name: unknown machine 'opteron8'; did you mean 'opt"),
        (
            "set.memory.dram.capacity=no",
            r"machines\[0\]\.set\.memory\.dram\.capacity: .*found 'no'",
        ),
    ],
)
def test_what_the_command_line_sets_is_not_blamed_on_the_file(
    refused: Refused, tmp_path: Path, assignment: str, pattern: str
) -> None:
    """Messages used to name the line of the machine in the file."""
    text = f"--set machines.0.{assignment}"
    message = refused("run", write(tmp_path), *text.split(" ", 1))
    assert re.match(f"simsched: error: {re.escape(text)}: {pattern}", message), message


def test_workers_have_their_own_line(refused: Refused, tmp_path: Path) -> None:
    path = write(tmp_path, lines={"machines": "\n  - name: knl_snc4_flat\n    workers: 257"})
    assert re.search(r"bad\.yaml:4: machines\[0\]\.workers: .* found 257", refused("run", path))


# Directories where files are accepted ------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["", ".yaml", ".py", ".graphml", ".parquet"])
@pytest.mark.parametrize(
    "words",
    [
        ("run", "FOLDER"),
        ("run", "quickstart", "-m", "FOLDER"),
        ("run", "quickstart", "-w", "FOLDER"),
        ("run", "quickstart", "-p", "FOLDER"),
        ("show", "machine", "FOLDER"),
        ("show", "workload", "FOLDER"),
        ("show", "policy", "FOLDER"),
        ("reproduce", "FOLDER"),
        ("check", "FOLDER"),
        ("compare", "cilk", "laws", "-e", "FOLDER"),
        ("measure", "FOLDER"),
        ("references", "FOLDER"),
        ("export", "FOLDER", "out.dot"),
    ],
    ids=" ".join,
)
def test_directories_in_place_of_files(
    refused: Refused, tmp_path: Path, words: tuple[str, ...], suffix: str
) -> None:
    folder = f"folder{suffix}"
    (tmp_path / folder).mkdir()
    message = refused(*(folder if word == "FOLDER" else word for word in words))
    assert re.search(rf"{re.escape(folder)}: found a directory, accepted: \w+ ", message), message


def test_a_directory_beside_a_known_name_is_of_no_interest(
    simsched: Command, refused: Refused, tmp_path: Path
) -> None:
    (tmp_path / "heat").mkdir()
    assert simsched("show", "workload", "heat")[0] == 0
    assert "found 0, accepted" in refused("show", "workload", "heat[rows=0]")


@pytest.mark.parametrize("target", ["run.json", "run.graphml"])
@pytest.mark.parametrize("source", ["results", "results/small"])
def test_results_are_no_run(
    simsched: Command, refused: Refused, experiment: Path, source: str, target: str
) -> None:
    assert simsched("run", experiment, "-j", 1, "-q", "--set", "seeds=1")[0] == 0
    message = refused("export", source, target)
    accepted = r"one run of it, such as events/KEY\.parquet \(simsched run --events"
    assert re.search(f"{source}: found a directory of results, accepted: {accepted}", message)


# Timings of a machine ---------------------------------------------------------------------------


def test_sizes_of_tiles_without_timings(refused: Refused, tmp_path: Path) -> None:
    """The machine's file has timings for 4096, 409600, 1638400 and 3686400 bytes, of floats."""
    lines = {"machines": "mirage", "workloads": "\n  - {name: cholesky, costs: measured}"}
    message = refused("run", write(tmp_path, lines=lines))
    found = r"bad\.yaml:4: .*: tile_size: found 256 with element_bytes=8"
    accepted = "accepted on machine mirage: 32, 320, 640, 960 with element_bytes=4 "
    assert re.search(f"{found}, {accepted}.*found no timing for 524288 bytes", message), message
    lines["workloads"] = "\n  - name: lu\n    costs: measured\n    tile_size: 961"
    lines["machines"] = "idgraf"
    message = refused("run", write(tmp_path, lines=lines))
    assert re.search(r"bad\.yaml:6: .*found 961 with precision=double, accepted", message), message
    assert "on machine idgraf: 320, 640, 960 with precision=single (" in message


def test_other_errors_of_measured_programs_say_nothing_of_tiles(
    refused: Refused, tmp_path: Path
) -> None:
    lines = {"workloads": "[{name: cholesky, costs: measured}]"}
    message = refused("run", write(tmp_path, lines=lines))
    assert "knl_snc4_flat has none" in message
    assert "tile_size" not in message
