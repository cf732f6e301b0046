"""What users' files register belongs to the file that a spec names, and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import simsched
from simsched.experiment.fingerprint import policy_digest
from simsched.files.errors import ConfigurationError
from simsched.names.loading import imports_watched
from simsched.policy import list_policies, make_policy, spec_of
from simsched.policy.contract.placements import list_placements, placements
from simsched.policy.contract.registry import policies
from simsched.workload import generate_workload, list_workloads
from simsched.workload.variants import variant

TASKS = """
from simsched.workload.builder import build_graph
from simsched.workload.graph import Workload
from simsched.workload.registry import generator

def tasks_of(number):
    return Workload("made", build_graph([1e6] * number))
"""
MADE = """
@generator("{name}")
def made(seed: int, *, tasks: int = {tasks}):
    '''Some tasks.'''
    return tasks_of(tasks)
"""
POLICY = """
from dataclasses import dataclass
from simsched.policy import param, preset, register
from simsched.policy.parts.placement import PlacedPolicy, placement, placement_rule
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing

@placement("test_near")
def near(view):
    '''Near.'''
    return placement_rule("{rule}")(view)

@register("test_mine")
@dataclass(frozen=True, kw_only=True)
class Mine(RandomStealing):
    '''Mine.'''
    depth: int = param({depth})
    placement: str = param("test_near")

preset("test_deep", Mine, "Deep.", depth={depth} + 1)
preset("test_plain", RandomStealing, "Shipped.", local_take="oldest")
"""


@pytest.fixture(autouse=True)
def _forget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget places and modules of a test."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def known() -> tuple[list[str], list[str], list[str]]:
    """Return everything that a name alone finds."""
    workloads = [item.name for item in list_workloads()]
    return [info.name for info in list_policies()], workloads, list(list_placements())


@pytest.mark.parametrize("first", ["made_below.py", "made_above.py"])
def test_a_workload_file_is_the_same_whether_it_is_imported_or_named(
    tmp_path: Path, first: str
) -> None:
    """What an imported file registers had a name everywhere, and could not be that of another."""
    before = known()
    below = TASKS + MADE.format(name="heat", tasks=3)
    above = "from made_below import made as below\n" + TASKS + MADE.format(name="up", tasks=5)
    above += "    return below(seed, tasks=2 * tasks)\n".replace("    ", "    ", 1)
    (tmp_path / "made_below.py").write_text(below)
    (tmp_path / "made_above.py").write_text(above.replace("    return tasks_of(tasks)\n", ""))
    found = {}
    for name in (first, "made_below.py", "made_above.py"):
        found[name] = generate_workload(str(tmp_path / name)).graph.n_tasks
    assert found == {"made_below.py": 3, "made_above.py": 10}
    assert generate_workload(f"{tmp_path}/made_below.py:heat", {"tasks": 1}).graph.n_tasks == 1
    assert known() == before
    assert (
        generate_workload("heat", {"rows": 8, "columns": 8}).graph.n_tasks == 1
    )  # the shipped one


def test_files_import_workloads_of_one_name(tmp_path: Path) -> None:
    """The second of two different modules was refused: its name was taken by the first."""
    before = known()
    for number in (1, 2):
        (tmp_path / f"part_{number}.py").write_text(TASKS + MADE.format(name="part", tasks=number))
        text = (
            f"from part_{number} import made as part\n" + TASKS + MADE.format(name="whole", tasks=0)
        )
        text = text.replace("return tasks_of(tasks)", f"return part(seed, tasks={number})")
        (tmp_path / f"whole_{number}.py").write_text(text)
        assert generate_workload(f"{tmp_path}/whole_{number}.py").graph.n_tasks == number
    assert known() == before


def test_copies_of_a_policy_file_are_two_policies(tmp_path: Path) -> None:
    """The second copy was refused: its name was taken by the first."""
    before, digests = known(), set()
    for folder, depth, rule in (("one", 1, "all_dram"), ("two", 7, "interleave")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(POLICY.format(depth=depth, rule=rule))
    for folder, depth in (("one", 1), ("two", 7), ("one", 1)):
        spec = f"{tmp_path / folder / 'mine.py'}"
        assert [make_policy(f"{spec}{name}").parameters()["depth"] for name in ("", ":Mine")] == [
            depth,
            depth,
        ]
        mine = make_policy(f"{spec}:test_mine")
        assert mine.parameters()["depth"] == depth
        assert make_policy(f"{spec}:test_deep").parameters()["depth"] == depth + 1
        assert make_policy(f"{spec}:test_plain").parameters()["local_take"] == "oldest"
        assert spec_of(mine).name == "test_mine"
        assert spec_of(make_policy(f"{spec}:test_deep")).name == "test_deep"
        digests.add(policy_digest(mine))
    assert len(digests) == 2
    assert known() == before
    for name in ("test_mine", "test_deep"):
        with pytest.raises(ConfigurationError, match=f"unknown policy {name!r}"):
            make_policy(name)
    with pytest.raises(ConfigurationError, match="unknown placement 'test_near'"):
        make_policy("cilk", {"placement": "test_near"})


def test_a_placement_in_a_file_is_named_by_its_path(tmp_path: Path) -> None:
    digests = []
    for folder, rule in (("one", "all_dram"), ("two", "interleave"), ("three", "all_dram")):
        (tmp_path / folder).mkdir()
        file = tmp_path / folder / "mine.py"
        file.write_text(POLICY.format(depth=1, rule=rule))
        named = make_policy("cilk", {"placement": f"{file}:test_near"})
        digests.append(policy_digest(named))
        assert make_policy("cilk", {"placement": str(file)}).parameters()["placement"] == str(file)
        with pytest.raises(
            ConfigurationError,
            match=r"policy cilk: parameter placement: .*mine\.py: unknown placement 'test_ner'; "
            "did you mean 'test_near'",
        ):
            make_policy("cilk", {"placement": f"{file}:test_ner"})
    assert digests[0] == digests[2]  # wherever the file is
    assert digests[0] != digests[1]
    with file.open("a") as more:
        more.write("\nplacement('test_other')(near)\n")
    with pytest.raises(
        ConfigurationError, match=r"more than one placement, accepted mine\.py:NAME with"
    ):
        make_policy("cilk", {"placement": str(file)})
    file.write_text("")
    with pytest.raises(ConfigurationError, match="found no placement, accepted a function below"):
        make_policy("cilk", {"placement": str(file)})


def test_a_policy_knows_placements_of_modules_that_its_file_imports(tmp_path: Path) -> None:
    text = POLICY.format(depth=1, rule="interleave").partition("@register")
    (tmp_path / "placing.py").write_text(text[0])
    lines = text[0].partition("@placement")[0] + "import placing\n"
    (tmp_path / "mine.py").write_text(lines + text[1] + text[2])
    mine = make_policy(f"{tmp_path}/mine.py")
    assert mine.chosen_placement().__module__ == "placing"


def test_a_module_of_the_same_name_explains_why_a_file_does_not_run(tmp_path: Path) -> None:
    """The message was that the name cannot be imported, from a file that nobody had in mind."""
    for folder, name in (("one", "FIRST"), ("two", "SECOND")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "shared_part.py").write_text(f"{name} = 1\n")
        text = f"from shared_part import {name}\n" + TASKS + MADE.format(name="made", tasks=1)
        (tmp_path / folder / "made.py").write_text(text)
    generate_workload(f"{tmp_path}/one/made.py")
    with pytest.raises(
        ConfigurationError, match=r"import of 'shared_part': found .*one.*two.*give one of them"
    ):
        generate_workload(f"{tmp_path}/two/made.py")


def comparison(policies: list[str], jobs: int) -> list[Any]:
    """Return what runs say that differs from policy to policy."""
    data: dict[str, Any] = {"machines": ["knl_snc4_flat"], "workloads": ["heat_small"], "seeds": 1}
    runs = simsched.run({"name": "x", **data, "policies": policies}, jobs=jobs).rows
    return [(run["makespan_s"], run["remote_percent"]) for run in runs]


def test_other_processes_find_policies_and_placements_of_files(tmp_path: Path) -> None:
    for folder, rule in (("one", "all_dram"), ("two", "interleave")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(POLICY.format(depth=1, rule=rule))
    named = [f"{folder}/mine.py{name}" for folder in ("one", "two") for name in ("", ":test_plain")]
    placed = [f"cilk[placement={folder}/mine.py:test_near]" for folder in ("one", "two")]
    shipped = ["cilk[placement=all_dram]", "cilk[placement=interleave]"]
    alone = comparison([*named, *placed, *shipped], 1)
    (tmp_path / "results").rename(tmp_path / "before")
    assert comparison([*named, *placed, *shipped], 2) == alone
    assert alone[4:6] == alone[6:]
    assert alone[6] != alone[7]


def write(**texts: str) -> None:
    """Write modules in the directory of a test."""
    for name, text in texts.items():
        Path(f"{name}.py").write_text(text)


HOME = """
from simsched.policy.parts.placement import placement, placement_rule
{imports}
@placement("test_home")
def {name}(view):
    '''Somewhere.'''
    return placement_rule("interleave")(view)
"""


def test_a_preset_has_the_placement_of_its_own_file() -> None:
    deep = 'preset("test_home_stealing", RandomStealing, "Ours.", placement="test_home")'
    imports = "from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing"
    text = HOME.format(imports=imports + "\nfrom simsched.policy import preset\n", name="home")
    write(ours=text + deep)
    policy: Any = make_policy("ours.py:test_home_stealing")
    assert policy.chosen_placement().__qualname__ == "home"


def test_of_placements_of_one_name_the_nearest_counts() -> None:
    write(
        test_far_away=HOME.format(imports="", name="far"),
        test_close_by=HOME.format(imports="import test_far_away", name="close"),
        pol=POLICY.format(rule="interleave", depth=1) + "\nimport test_close_by\n",
    )
    policy: Any = make_policy("pol.py:test_mine", {"placement": "test_home"})
    assert policy.chosen_placement().__qualname__ == "close"


def test_modules_that_hold_what_has_changed_run_again() -> None:
    made = TASKS + MADE
    write(
        test_lower="TASKS = 2",
        test_upper="from test_lower import TASKS",
        wl="from test_upper import TASKS\n" + made.format(name="test_made", tasks="TASKS"),
    )
    assert generate_workload("wl.py").graph.n_tasks == 2
    write(test_lower="TASKS = 3  # of another length")
    assert generate_workload("wl.py").graph.n_tasks == 3


def test_whose_names_they_are_is_decided_when_a_module_registers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for known in (policies, placements):
        monkeypatch.setattr(known, "_entries", known.all())
    sys.path.insert(0, ".")
    basis = POLICY.replace("test_", "test_basis_")
    write(test_first=basis.format(rule="interleave", depth=1))
    import test_first  # type: ignore[import-not-found] # as a script does

    before = spec_of(test_first.Mine())
    write(mine="import test_first\n" + TASKS + MADE.format(name="test_made", tasks=1))
    generate_workload("mine.py")
    assert spec_of(test_first.Mine()) == before
    assert "test_basis_mine" in {info.name for info in list_policies()}


def test_what_comes_from_another_process_keeps_its_names() -> None:
    sys.path.insert(0, ".")
    text = POLICY.format(rule="interleave", depth=1).replace("test_mine", "test_same")
    write(test_one=text, test_two=text)
    with imports_watched(of_user=True):
        import test_one  # type: ignore[import-not-found]
        import test_two  # type: ignore[import-not-found]

    assert test_one.Mine is not test_two.Mine
    assert "test_same" not in {info.name for info in list_policies()}


def test_another_version_of_a_program_is_one_of_its_file() -> None:
    program = """
@generator("jacobi")
def jacobi(seed: int, *, version: str = "dsa"):
    '''Three tasks, or five.'''
    return tasks_of(3 if version == "dsa" else 5)
"""
    write(ours=TASKS + program)
    found = variant(generate_workload("ours.py:jacobi"), version="shm")
    assert found.graph.n_tasks == 5


def test_a_thread_does_not_get_a_file_that_another_one_still_executes() -> None:
    write(slow="import time\ntime.sleep(0.5)\n" + TASKS + MADE.format(name="made", tasks=2))
    with ThreadPoolExecutor(2) as threads:
        found = threads.map(lambda _: generate_workload("slow.py").graph.n_tasks, range(2))
        assert list(found) == [2, 2]
