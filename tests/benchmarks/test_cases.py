from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import __main__ as program
from benchmarks import document, table
from benchmarks.cases import CASES, FLOWS_AT_HOME, GROWTH, TOLERANCE, Budget, Case, Size
from benchmarks.child import measure
from benchmarks.peer import build_peer, run_peer
from benchmarks.rows import FIELDS, Row, _mistakes, growth, measure_case, missed_budgets
from simsched.workload.bench import OWN_CONTROLLER, bench_flows

NAMED = (
    "case",
    "workers",
    "tasks",
    "tasks_per_cpu_s",
    "cpu_s",
    "wall_s",
    "peak_rss_bytes",
    "makespan_s",
    "expected_makespan_s",
)
SIZES = {(case.build.func, case.small): case for case in CASES if not case.trace}


def case_named(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


def row_of(name: str, cpu_s: float, tasks: int = 1000) -> Row:
    return Row(
        case=name,
        workers=1,
        tasks=tasks,
        tasks_per_cpu_s=tasks / cpu_s,
        cpu_s=cpu_s,
        wall_s=cpu_s,
        peak_rss_bytes=10**9,
        makespan_s=2.0,
        expected_makespan_s=None,
        tolerance=TOLERANCE,
        engine_cpu_s=cpu_s,
        cpu_s_runs=[cpu_s],
        events=1,
        expected_events=None,
        events_recorded=False,
        graph_tasks=tasks,
        graph_edges=0,
        input_bytes=1,
        bytes_per_task=50.0,
        engine_bytes_per_task=30.0,
        simulated_per_cpu_s=2.0 / cpu_s,
    )


def test_names_are_unique_and_growth_knows_them() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    assert {name for item in GROWTH for name in item.cases} <= set(names)


@pytest.mark.parametrize("case", SIZES.values(), ids=lambda case: case.name)
def test_small_sizes_give_what_is_expected(case: Case) -> None:
    measured = measure(case, case.small, "native")
    assert _mistakes(case.name, case.small, [measured]) == []
    assert measured["engine_cpu_s"] <= measured["cpu_s"]
    assert measured["input_bytes"] > 0


def test_trace_is_written() -> None:
    measured = measure(case_named("heat-bats-trace"), case_named("heat-bats").small, "native")
    assert measured["trace_bytes"] > measured["events"]


def test_flows_at_home_are_counted() -> None:
    for tasks, at_home in FLOWS_AT_HOME.items():
        drawn = bench_flows(tasks, remote=True).controller
        assert (drawn == OWN_CONTROLLER).sum() == at_home


def test_mistakes_are_told_in_words() -> None:
    right = {"tasks": 10, "events": 42, "makespan_s": 1.0}
    size = Size(10, 10, 1.0, 42)
    assert _mistakes("c", size, [right]) == []
    assert _mistakes("c", size, [right | {"makespan_s": 1.0 + 5e-9}]) == []
    (message,) = _mistakes("c", size, [right | {"makespan_s": 1.0 + 5e-8}])
    assert "expected 1.0 s: off by 5.0e-08" in message
    assert _mistakes("c", replace(size, recorded=True), [right | {"events": 43}]) == [
        "c: found 43 trace events, recorded 42"
    ]
    (message,) = _mistakes("c", Size(10, 10), [right, right | {"events": 43}])
    assert message == "c: runs and backends differ in events: [42, 43]"


def test_a_wrong_result_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def wrong(case: Case, *, quick: bool, repeat: int) -> Row:
        return replace(row_of(case.name, 0.1), wrong=[f"{case.name}: off"])

    monkeypatch.setattr(program, "measure_case", wrong)
    assert program.main(["--quick", "--only", "hooks-64"]) == 1
    assert "WRONG: hooks-64: off" in capsys.readouterr().out


def test_only_and_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["--list", "--only", "heat-*", "hooks-64"]) == 0
    listed = capsys.readouterr().out.split()
    assert listed[0] == "hooks-64"
    assert "heat-bats" in listed
    assert program.main(["--only", "nothing"]) == 2


def test_one_case_in_a_process_of_its_own() -> None:
    row = measure_case(case_named("stealing-64"), quick=True, repeat=2)
    assert len(row.cpu_s_runs) == 2
    assert row.cpu_s == min(row.cpu_s_runs)
    assert row.wrong == row.missed == []
    assert len(table.line(row)) <= len(table.heading())


def test_budgets() -> None:
    assert Budget("bytes_per_task", 100).is_met(99)
    assert not Budget("bytes_per_task", 100).is_met(101)
    case = replace(case_named("stencil-64"), budgets=(Budget("tasks_per_cpu_s", 4e6),))
    assert missed_budgets(case, row_of("stencil-64", 1e-4)) == []
    assert missed_budgets(case, row_of("stencil-64", 1e-3)) == [
        "stencil-64: tasks_per_cpu_s is 1e+06, budget 4e+06"
    ]


def test_growth_is_relative_to_the_first_case() -> None:
    found = growth([row_of("stencil-64", 1.0), row_of("stencil-64-1e7", 2.5, 2000)])
    assert [(item.what, factors) for item, factors in found] == [("tasks, stencil", [1.0, 1.25])]


def test_results_have_all_fields(tmp_path: Path) -> None:
    assert FIELDS[: len(NAMED)] == NAMED
    table.write_results(tmp_path, [row_of("a", 1.0)])
    (written,) = json.loads((tmp_path / "latest.json").read_text(encoding="utf-8"))
    assert tuple(written) == FIELDS
    assert "cpu" in json.loads((tmp_path / "machine.json").read_text(encoding="utf-8"))


def test_recorded_results_are_of_these_cases() -> None:
    written, _ = document.read_results()
    assert [row.case for row in written] == [case.name for case in CASES]


def test_page_has_the_recorded_results() -> None:
    page = document.PAGE.read_text(encoding="utf-8")
    texts = document.sections(*document.read_results())
    assert all(f"<!-- begin {name} -->" in page for name in texts)
    assert document.render(page, texts) == page, "run: python -m benchmarks.document"


@pytest.mark.slow
def test_comparison_program_gives_the_same_makespan(tmp_path: Path) -> None:
    peer = build_peer(tmp_path)
    if peer.program is None:
        pytest.skip(peer.note)
    for name in ("independent-64", "local-flows-256", "remote-flows-1024", "stencil-64"):
        case = case_named(name)
        run = run_peer(peer, replace(case, peer_size=case.small.value), 1)
        assert run is not None
        assert run["makespan_s"] == pytest.approx(case.small.makespan_s, rel=TOLERANCE)
