"""SAMR's history between runs: what is read, what is written, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.experiment.fingerprint import policy_digest
from simsched.files.errors import ConfigurationError
from simsched.machine.model import Machine
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.contract.base import PlanView
from simsched.policy.parts.mapreduce_history import write_history
from simsched.policy.parts.mapreduce_speculation import History
from simsched.policy.parts.mapreduce_tracker import Attempt
from simsched.trace.run import Run
from simsched.workload.mapreduce_job import MAP, REDUCE
from simsched.workload.registry import generate_workload

#: Rows of table 7.2 of the source, as recorded by the nodes: M1, M2, R1, R2, R3.
TABLE = {
    0: (0.8, 0.2, 0.59, 0.19, 0.22),
    1: (0.77, 0.23, 0.46, 0.06, 0.48),
    3: (0.74, 0.26, 0.62, 0.13, 0.25),
}
#: The third row as it is printed: 0.44, 0.43 and 0.24.
MISPRINT = {2: (0.75, 0.25, 0.44, 0.43, 0.24)}
NAMES = ("M1", "M2", "R1", "R2", "R3")
SORT = {"splits": 12, "reduces": 4, "split_bytes": 10**6, "map_ops_per_byte": 10.0}

Write = Callable[..., str]


@pytest.fixture
def file(tmp_path: Path) -> Write:
    """Write rows of weights, by node, as an application's history; return the path."""

    def write(rows: dict[int, tuple[float, ...]], application: str = "sort") -> str:
        nodes = {node: dict(zip(NAMES, row, strict=True)) for node, row in rows.items()}
        lines = [f"    {node}: {json.dumps(weights)}" for node, weights in nodes.items()]
        text = "\n".join(["applications:", f"  {application}:", *lines, ""])
        (tmp_path / "history.yaml").write_text(text)
        return str(tmp_path / "history.yaml")

    return write


def cluster() -> Machine:
    """Return four nodes with four slots each."""
    return make_machine(
        domains=4, cores_per_domain=4, dram_bandwidth_bytes_per_s=50e6, ops_per_s=1e6
    )


def run(backend: str = "native", **params: Any) -> Run:
    """Simulate a small job."""
    policy = make_policy("samr", {"heartbeat_s": 1.0, "sample_s": 0.5, **params})
    workload = generate_workload("sort_mapreduce", SORT)
    return simulate(cluster(), workload, policy, backend=backend, events=True)


def begin(generator: str = "sort_mapreduce", **params: Any) -> tuple[Any, PlanView, History]:
    """Return a policy, what it sees at the beginning of a run, and what it knows then."""
    policy, machine = make_policy("samr", params), cluster()
    threads = machine.place_workers()
    domains = machine.core_domain[machine.thread_core[threads]]
    workload = generate_workload(generator, SORT)
    view = PlanView(machine, workload, threads, domains, np.random.default_rng(0))
    return policy, view, policy.start(view)


def expected(rows: dict[int, tuple[float, ...]]) -> dict[tuple[int, str, int], tuple[float, ...]]:
    weights = {}
    for node, row in rows.items():
        weights[node, "sort", MAP], weights[node, "sort", REDUCE] = row[:2], row[2:]
    return weights


def test_a_run_begins_with_the_weights_of_the_file(file: Write, backends: list[str]) -> None:
    """Weights that are never updated are at the end what they were when the run began."""
    path = file(TABLE)
    for backend in backends:
        state = run(backend, history=path, history_weight=1.0).state
        assert {k: state.weights[k] for k in expected(TABLE)} == expected(TABLE)
        # The third node knew nothing and begins as Hadoop.
        assert state.weights[2, "sort", MAP] == (1.0, 0.0)


def test_remaining_time_follows_from_the_weights_of_the_file(file: Write) -> None:
    """A reduce task has just copied for 30 s; 0.4 / 0.6 of that remain, not 2 / 1."""

    class Clock:
        def now_ps(self) -> int:
            return 30 * 10**12

    def remaining_s(**params: Any) -> float:
        policy, view, state = begin(**params)
        task = int((state.tasks.kind == REDUCE).argmax())
        attempt = Attempt(task, 2, 0, 0, phase=1, entered_ps=[0, 30 * 10**12])
        return float(policy.remaining_s(view.during(Clock()), state, attempt))

    path = file({0: (1.0, 0.0, 0.6, 0.2, 0.2)})
    assert remaining_s(history=path) == pytest.approx(20.0)
    assert remaining_s() == pytest.approx(60.0)


def test_a_run_goes_on_with_what_an_earlier_one_has_left(
    tmp_path: Path, backends: list[str]
) -> None:
    first = run()
    write_history(tmp_path / "kept.yaml", first.state)
    _, _, second = begin(history=str(tmp_path / "kept.yaml"))
    assert second.weights == first.state.weights
    assert len({w for key, w in second.weights.items() if key[2] == REDUCE}) > 1
    runs = [run(name, history=str(tmp_path / "kept.yaml")) for name in backends]
    assert runs[-1].makespan_s == runs[0].makespan_s
    assert runs[-1].state.weights == runs[0].state.weights != first.state.weights


@pytest.mark.parametrize("weight", [1e-05, 1 / 3, 5e-324, 0.1 + 0.2])
def test_written_weights_are_read_as_they_were(tmp_path: Path, weight: float) -> None:
    _, _, state = begin()
    state.weights = {(1, 'a "b"\nc', MAP): (1.0 - weight, weight)}
    write_history(tmp_path / "kept.yaml", state)
    recorded = make_policy("samr", {"history": str(tmp_path / "kept.yaml")}).recorded
    assert recorded.weights(['a "b"\nc'], 2) == state.weights


def test_nothing_is_written_without_weights(tmp_path: Path) -> None:
    for state in (begin()[2], None):
        with pytest.raises(ConfigurationError, match=r"kept\.yaml: found no weights"):
            write_history(tmp_path / "kept.yaml", state)
    assert not list(tmp_path.iterdir())


def test_stored_results_depend_on_the_content_of_the_file(file: Write) -> None:
    digests = [policy_digest(make_policy("samr", {"history": file(TABLE)}))]
    changed = {**TABLE, 0: (0.7, 0.3, *TABLE[0][2:])}
    digests.append(policy_digest(make_policy("samr", {"history": file(changed)})))
    digests.append(policy_digest(make_policy("samr", {"history": file(TABLE)})))
    assert digests[0] == digests[2] != digests[1]


def test_history_of_another_job_is_refused(file: Write) -> None:
    path = file(TABLE, "wordcont")
    with pytest.raises(ConfigurationError) as found:
        begin("wordcount", history=path)
    assert f"{path}:2: applications.wordcont: history of another job: " in str(found.value)
    assert "'wordcont'; did you mean 'wordcount'?" in str(found.value)


def test_nodes_that_the_cluster_lacks_are_refused(file: Write) -> None:
    path = file({**TABLE, 4: TABLE[0]})
    with pytest.raises(ConfigurationError) as found:
        begin(history=path)
    assert str(found.value) == (
        f"{path}:6: applications.sort[4]: found node 4, accepted 0 to 3 (nodes of the run)"
    )


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("{0: {M1: 1.5, M2: -0.5}}", r"applications\.sort\[0\]\.M1: found 1\.5, accepted: "),
        ("{0: {M1: high, M2: 0}}", r"applications\.sort\[0\]\.M1: found 'high', accepted: a"),
        ("{0: {M1: .nan, M2: 0}}", r"applications\.sort\[0\]\.M1: found nan, accepted: a"),
        ("{0: {M1: 0.5, M2: 0.4}}", r"applications\.sort\[0\]: M1 \+ M2: found 0\.9, accepted 1"),
        (
            "{0: {R1: 0.5, R3: 0.5}}",
            r"applications\.sort\[0\]\.R2: missing, accepted: all of R1, R2",
        ),
        ("{0: {M1: 1, M2x: 0}}", r"\S*sort\[0\]\.M2x: unknown key 'M2x'; did you mean 'M2'"),
        ("{first: {M1: 1, M2: 0}}", r"applications\.sort\.first\S*: found 'first', accepted: an i"),
        ("{0: {M1: 1.0, M2: 0.0},", r"not valid YAML"),
        ("", r"applications\.sort: found nothing, accepted: "),
    ],
)
def test_bad_files_are_refused_by_key(tmp_path: Path, text: str, pattern: str) -> None:
    (tmp_path / "bad.yaml").write_text(f"applications: {{sort: {text}}}\n")
    with pytest.raises(ConfigurationError, match=rf"bad\.yaml:\d: {pattern}") as found:
        make_policy("samr", {"history": str(tmp_path / "bad.yaml")})
    assert str(found.value).startswith("policy samr: parameter history: ")


def test_a_row_as_misprinted_does_not_sum_to_one(file: Write) -> None:
    with pytest.raises(ConfigurationError, match=r"R1 \+ R2 \+ R3: found 1\.11, accepted 1"):
        make_policy("samr", {"history": file(MISPRINT)})


def test_unknown_keys_have_the_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("application: {}\n")
    with pytest.raises(ConfigurationError, match="'application'; did you mean 'applications'"):
        make_policy("samr", {"history": str(tmp_path / "bad.yaml")})


def test_files_that_are_missing_cut_off_or_too_large_are_refused(
    tmp_path: Path, file: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kept.yaml"
    _, _, state = begin(history=file(TABLE))
    write_history(path, state)
    whole = path.read_text()
    for length in range(len(whole) // 4, len(whole) - 4, len(whole) // 8):
        path.write_text(whole[:length])
        with pytest.raises(ConfigurationError, match=r"kept\.yaml:\d+: not valid YAML"):
            make_policy("samr", {"history": str(path)})
    path.write_bytes(b"applications: \xff\n")
    with pytest.raises(ConfigurationError, match=r"kept\.yaml:1: found bytes that are not UTF-8"):
        make_policy("samr", {"history": str(path)})
    path.write_text(whole)
    with pytest.raises(ConfigurationError, match=r"kept\.yml: no such file; did you mean"):
        make_policy("samr", {"history": str(tmp_path / "kept.yml")})
    monkeypatch.setenv("SIMSCHED_MAX_YAML_BYTES", "100")
    with pytest.raises(ConfigurationError, match=r"SIMSCHED_MAX_YAML_BYTES"):
        make_policy("samr", {"history": str(path)})


def test_history_that_would_not_be_used_is_refused(file: Write) -> None:
    with pytest.raises(ConfigurationError, match="accepted none without tuned_weights"):
        make_policy("samr", {"history": file(TABLE), "tuned_weights": False})
