"""The guide: its file works as it stands, inside the package and outside."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import simsched
from simsched.engine.run import simulate
from simsched.policy import make_policy
from simsched.policy.parts.placement import list_placements
from simsched.testing import check_policy, small_machines, small_workloads
from simsched.trace.schema import EventKind

GUIDE = Path(__file__).parents[2] / "docs" / "adding-a-policy.md"
CODE = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def toy(tmp_path: Path):
    path = tmp_path / "near_stealing.py"
    path.write_text(CODE[0])
    return path


def test_the_file_is_a_policy_that_passes_the_battery(toy: Path, backends: list[str]) -> None:
    check_policy(make_policy(f"{toy}:NearStealing[steal_take=newest]"), backends=backends)
    assert make_policy(f"{toy}:near_stealing_h").parameters()["placement"] == "membind_hbm"


def saved(name: str, folder: Path) -> Path:
    """Save one of the guide's files, which is known by the first word of its docstring."""
    (text,) = (text for text in CODE if text.startswith(f'"""{name.capitalize()}:'))
    path = folder / f"{name}.py"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["gated", "roomy"])
def test_the_policies_with_hooks_pass_the_battery(
    name: str, tmp_path: Path, backends: list[str]
) -> None:
    check_policy(make_policy(str(saved(name, tmp_path))), backends=backends)


@pytest.fixture
def shortest(tmp_path: Path) -> Path:
    """Return the policy whose hook is in C, with its library."""
    (source,) = re.findall(r"^```c\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "shortest.c").write_text(source)
    (command,) = re.findall(r"^cc .*$", GUIDE.read_text(), re.MULTILINE)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    subprocess.run(["bash", "-euc", command], cwd=tmp_path, env=environment, check=True)
    return saved("shortest", tmp_path)


def test_the_policy_with_a_hook_in_c_passes_the_battery(
    shortest: Path, backends: list[str]
) -> None:
    check_policy(make_policy(str(shortest)), backends=backends)


def test_tasks_enter_the_shortest_queue(shortest: Path, backend: str) -> None:
    machine, workload = small_machines()["two_domains"], small_workloads()["dataflow"]
    run = simulate(machine, workload, make_policy(str(shortest)), backend=backend, events=True)
    assert run.trace is not None
    columns = (run.trace.events[name].tolist() for name in ("kind", "arg0", "arg1"))
    lengths, entered = [0] * 4, 0
    for kind, first, second in zip(*columns, strict=True):
        if kind == EventKind.TASK_READY:
            assert second == lengths.index(min(lengths))
            lengths[second] += 1
            entered += 1
        elif kind == EventKind.ACQUIRE:
            lengths[first % 2**32] -= 1
    assert entered == run.summary.n_tasks > 0


def test_numba_compiles_the_same_hook(shortest: Path, backends: list[str]) -> None:
    pytest.importorskip("numba")
    counted = make_policy(str(saved("counted", shortest.parent)))
    check_policy(counted, backends=backends)
    machine, workload = small_machines()["two_domains"], small_workloads()["dataflow"]
    traces = [
        simulate(machine, workload, policy, backend=backend, events=True).trace
        for policy in (make_policy(str(shortest)), counted)
        for backend in backends
    ]
    for trace in traces[1:]:
        assert all((trace.events[name] == traces[0].events[name]).all() for name in trace.events)


def test_tasks_are_let_go_at_fixed_times(tmp_path: Path) -> None:
    path = saved("gated", tmp_path)
    policy = make_policy(str(path), {"period_s": 3e-6})
    run = simulate(small_machines()["two_domains"], small_workloads()["single"], policy)
    assert run.summary.makespan_ps >= 3 * 10**6
    late = make_policy(str(path), {"period_s": 8e-6})
    later = simulate(small_machines()["two_domains"], small_workloads()["single"], late)
    assert later.summary.makespan_ps == run.summary.makespan_ps + 5 * 10**6


def test_the_other_code_runs(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(toy.parent)
    make_policy(str(toy))
    for block in CODE[1:2]:
        exec(block, {})
    assert "check_policy(make_policy" in CODE[2]


def test_in_the_package_it_is_found_by_its_name(tmp_path: Path) -> None:
    package = tmp_path / "simsched"
    shutil.copytree(
        Path(simsched.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    (package / "policy" / "algorithms" / "numa" / "near_stealing.py").write_text(CODE[0])
    program = (
        "from simsched.policy import *; import simsched; print(simsched.__file__);"
        "print(policy_info('near_stealing').source, make_policy('near_stealing_h').placement)"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-P",
            "-c",
            f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {program}",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(tmp_path) in done.stdout
    assert "simsched.policy.algorithms.numa.near_stealing membind_hbm" in done.stdout


def test_the_guide_names_every_placement() -> None:
    text = GUIDE.read_text()
    assert all(f"`{name}`" in text for name in list_placements())
