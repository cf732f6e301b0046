"""Keys: whatever determines a result changes the key of its row, and nothing else does."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import simsched
from simsched.experiment.cells import Cell
from simsched.experiment.fingerprint import (
    _digest_of_rooms,
    content_key,
    is_in_files,
    policy_digest,
    source_digest,
)
from simsched.experiment.inputs import WorkloadSource
from simsched.experiment.pool import is_portable
from simsched.experiment.study import Study
from simsched.files.errors import ConfigurationError, PolicyError
from simsched.files.resources import data_dir
from simsched.files.yaml_reader import Document, read_document
from simsched.names.registry import Entry
from simsched.policy import make_policy
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing
from simsched.policy.contract.placements import placements
from simsched.policy.parts.placement import first_touch
from simsched.workload import registry

GRAPH = 'digraph g {{ a [cost="{cost}"]; b [cost="2"]; a -> b; }}'
MACHINE = (data_dir("machines") / "amd_4x_opteron8380.yaml").read_text()
POLICY = """
from helper import number
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing

class Mine(RandomStealing):
    helped = number
"""


def cells(data: dict[str, Any], folder: Path | None = None) -> list[Cell]:
    path = None if folder is None else folder / "x.yaml"
    return Study.from_yaml(Document(path, data)).cells


def keys(data: dict[str, Any]) -> list[str]:
    return [cell.key for cell in cells(data)]


@pytest.mark.parametrize(
    "changes",
    [
        {"machines": [{"name": "opteron48", "workers": 4}]},
        {"machines": [{"name": "amd_4x_opteron8380", "workers": 5}]},
        {"machines": [{"name": "amd_4x_opteron8380", "workers": 4, "pinning": "compact"}]},
        {"machines": [{"name": "amd_4x_opteron8380", "workers": 4, "set": {"costs.pop": "7 ns"}}]},
        {"workloads": [{"name": "fork_join", "depth": 4}]},
        {"workloads": [{"name": "fork_join", "depth": 3, "leaf_costs": "uniform"}]},
        {"policies": ["cilk_a[placement=interleave]", "work_sharing[placement=interleave]"]},
        {"seeds": [5, 6]},
        {"backend": "native"},
    ],
)
def test_whatever_determines_a_result_changes_its_key(
    make_plain: Any, changes: dict[str, Any]
) -> None:
    assert not set(keys(make_plain())) & set(keys(make_plain(**changes)))


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "other"},
        {"workloads": [{"name": "fork_join", "depth": 3, "label": "FJ"}]},
        {"workloads": [{"name": "fork_join", "depth": 3, "degree": 2}]},
        {"baseline": "work_sharing"},
        {"output": "elsewhere"},
    ],
)
def test_labels_and_spelt_out_defaults_do_not_change_keys(
    make_plain: Any, changes: dict[str, Any]
) -> None:
    assert keys(make_plain()) == keys(make_plain(**changes))


def test_keys_tell_numbers_and_types_apart() -> None:
    values = [1, 1.0, "1", True, None, [1], {"a": 1}, float("nan"), float("inf"), -0.0, 0.0]
    assert len({content_key({"x": value}) for value in values}) == len(values)


def test_a_changed_graph_file_has_another_key(make_plain: Any, tmp_path: Path) -> None:
    data = make_plain(workloads=[{"file": "g.dot", "cost": "cost", "cost_unit": "ops"}], seeds=1)
    (tmp_path / "g.dot").write_text(GRAPH.format(cost=1))
    first = cells(data, tmp_path)[0].key
    (tmp_path / "g.dot").write_text(GRAPH.format(cost=3))
    assert cells(data, tmp_path)[0].key != first


def test_the_name_of_a_graph_file_does_not_matter_unless_it_says_the_format(
    make_plain: Any, tmp_path: Path
) -> None:
    found = []
    for name, given in (("g.dot", None), ("h.dot", None), ("g.gv", None), ("g.txt", "dot")):
        (tmp_path / name).write_text(GRAPH.format(cost=1))
        entry = {"file": name, "cost": "cost", "cost_unit": "ops"}
        entry |= {"format": given} if given else {}
        found.append(cells(make_plain(workloads=[entry], seeds=1), tmp_path)[0].key)
    assert found[0] == found[1]
    assert len(set(found)) == 3


def test_the_content_of_a_machine_counts_not_its_place(make_plain: Any, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    head, _, rest = MACHINE.partition("\n")
    files = {
        "same.yaml": MACHINE,
        "elsewhere/renamed.yaml": f"{head}\n# a comment\n{rest}",
        "different.yaml": MACHINE.replace("pop: [10 ns", "pop: [11 ns"),
    }
    found = [keys(make_plain(seeds=1))[0]]
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        machine = {"name": str(tmp_path / name), "workers": 4}
        found.append(keys(make_plain(machines=[machine], seeds=1))[0])
    assert len(set(found[:3])) == 1
    assert found[3] != found[0]


def test_the_order_of_keys_in_a_file_does_not_matter(tmp_path: Path) -> None:
    lines = [
        "name: x",
        "machines: [{name: amd_4x_opteron8380, workers: 4}]",
        "workloads: [{name: fork_join, depth: 3, phases: 2}]",
        "policies: [cilk_a]",
        "seeds: 2",
    ]
    found = []
    for order in (lines, lines[::-1]):
        path = tmp_path / "x.yaml"
        path.write_text("\n".join(order))
        found.append([cell.key for cell in Study.from_yaml(read_document(path)).cells])
        lines[2] = "workloads: [{phases: 2, depth: 3, name: fork_join}]"
    assert found[0] == found[1]


def test_the_code_of_the_package_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for room in ("policy", "engine", "report"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "module.py").write_text("one = 1\n")
    (tmp_path / "engine" / "kernel.so").write_bytes(b"one")
    before = _digest_of_rooms(tmp_path)
    (tmp_path / "report" / "module.py").write_text("one = 2\n")  # changes no result
    assert _digest_of_rooms(tmp_path) == before
    found = {before}
    for name, content in (("policy/module.py", "one = 2\n"), ("engine/kernel.so", "two")):
        (tmp_path / name).write_text(content)
        found.add(_digest_of_rooms(tmp_path))
    monkeypatch.setattr(simsched, "__version__", "0.0.0")
    found.add(_digest_of_rooms(tmp_path))
    assert len(found) == 4


def test_a_policy_file_counts_by_content_not_by_place(tmp_path: Path) -> None:
    """Moving a project to another directory must not make its stored rows obsolete."""
    text = "from simsched.policy import Policy\nclass Mine(Policy):\n    pass\n"
    digests = []
    for folder, addition in (("one", ""), ("two", ""), ("three", "# edited\n")):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "mine.py"
        path.write_text(text + addition)
        digests.append(policy_digest(make_policy(str(path))))
    assert digests[0] == digests[1]
    assert digests[0] != digests[2]


def test_inputs_of_a_policy_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "from simsched.policy import Policy\n"
        "class Mine(Policy):\n"
        "    def inputs(self):\n"
        "        return {'file': open('/missing').read()}\n"
    )
    with pytest.raises(PolicyError, match=r"policy Mine: .*mine.py:4: inputs: FileNotFoundError"):
        policy_digest(make_policy(str(path)))


def test_a_module_that_a_policy_file_imports_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    digests = set()
    for number in (1, 2):
        (tmp_path / "helper.py").write_text(f"def number():\n    return {number}\n")
        (tmp_path / "mine.py").write_text(POLICY)
        monkeypatch.delitem(sys.modules, "helper", raising=False)
        importlib.invalidate_caches()
        digests.add(policy_digest(make_policy(str(tmp_path / "mine.py"))))
    monkeypatch.delitem(sys.modules, "helper")
    assert len(digests) == 2


# What a helper module can hand over, and where the import can stand: all of it decides what the
# policy does, though only classes, functions and modules say where they come from.
IMPORTS = {
    "by its name as keyword": "import importlib\nimportlib.import_module(name='helper')",
    "a constant": "from helper import NUMBER",
    "everything": "from helper import *",
    "inside a function": "def later():\n    from helper import NUMBER\n    return NUMBER",
    "by its name as text": "import importlib\nfound = importlib.import_module('helper').NUMBER",
    "through another": "from between import NUMBER",
    "a module of a package": "from parts.deeper import NUMBER",
    "relatively inside a package": "from parts import NUMBER",
    "what a package lists": "from listed import *",
    "what a package adds to its list": "from added import *",
    "what a package lists by a rule": "from computed import *",
}
#: A package with a module that nothing names but its ``__all__``.
LISTING = {
    "listed": "__all__ = ['deeper']",
    "added": "__all__ = []\n__all__.append('deeper')",
    "computed": "__all__ = [name for name in ['deep' + 'er']]",
}


@pytest.mark.parametrize("how", IMPORTS.values(), ids=IMPORTS)
def test_whatever_a_policy_file_imports_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "between.py").write_text("from helper import NUMBER\n")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").write_text("from .deeper import NUMBER\n")
    for package, text in LISTING.items():
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text(text)
    packages = ["parts", *LISTING]
    modules = ["helper", "between", *packages, *(f"{package}.deeper" for package in packages)]
    mine = "from simsched.policy import Policy\nclass Mine(Policy):\n    pass\n"
    digests = []
    for number in (1, 2, 1):
        for name in ["helper.py", *(f"{package}/deeper.py" for package in packages)]:
            (tmp_path / name).write_text(f"NUMBER = {number}\n")
        (tmp_path / "unused.py").write_text(f"NUMBER = {len(digests)}\n")
        (tmp_path / "mine.py").write_text(f"{how}\n{mine}")
        for name in modules:
            monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
        digests.append(policy_digest(make_policy(str(tmp_path / "mine.py"))))
    for name in modules:
        sys.modules.pop(name, None)
    assert digests[0] == digests[2]
    assert digests[0] != digests[1]


def test_imported_modules_count_by_name_not_by_place_or_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two helpers that swap their contents swap what the policy does."""
    mine = "from simsched.policy import Policy\nclass Mine(Policy):\n    pass\n"
    digests = []
    for folder, first in (("one", 1), ("two", 1), ("swapped", 2)):
        place = tmp_path / folder
        place.mkdir()
        with monkeypatch.context() as patched:
            patched.syspath_prepend(place)
            (place / "first_helper.py").write_text(f"NUMBER = {first}\n")
            (place / "second_helper.py").write_text(f"NUMBER = {3 - first}\n")
            lines = ["import first_helper", "import second_helper"]
            (place / "mine.py").write_text("\n".join([*lines, mine]))
            digests.append(policy_digest(make_policy(str(place / "mine.py"))))
        for name in ("first_helper", "second_helper"):
            sys.modules.pop(name)
    assert digests[0] == digests[1]
    assert digests[0] != digests[2]


def test_the_version_of_an_installed_package_that_a_policy_file_imports_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "def later():\n    import scipy\nfrom simsched.policy import Policy\n"
    (tmp_path / "mine.py").write_text(text + "class Mine(Policy):\n    pass\n")
    before = policy_digest(make_policy(str(tmp_path / "mine.py")))
    assert policy_digest(make_policy(str(tmp_path / "mine.py"))) == before
    monkeypatch.setattr("simsched.names.imports.version", lambda name: "0.1")
    assert policy_digest(make_policy(str(tmp_path / "mine.py"))) != before


PLACED = """
from simsched.policy.parts.placement import placement, placement_rule
@placement("test_keys_mine")
def mine(view):
    return placement_rule("{rule}")(view)
"""


def test_the_code_of_a_placement_that_a_policy_names_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The policy ships, the placement is the user's: both determine the result."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path)
    cilk, digests, portable = "cilk[placement=test_keys_mine]", [], []
    for rule in ("all_dram", "interleave"):
        (tmp_path / "own_placement.py").write_text(PLACED.format(rule=rule))
        sys.modules.pop("own_placement", None)
        importlib.invalidate_caches()
        importlib.import_module("own_placement")
        policy = make_policy("cilk", {"placement": "test_keys_mine"})
        digests.append(policy_digest(policy))
        data = {"machines": ["opteron48"], "workloads": ["chain"], "policies": [cilk]}
        portable.append(is_portable(cells({"name": "x", "seeds": 1, **data})[0]))
    sys.modules.pop("own_placement")
    del placements._entries["test_keys_mine"]
    assert digests[0] != digests[1]
    assert portable == [False, False]  # a worker process would not know the placement
    assert policy_digest(make_policy("cilk")) == policy_digest(make_policy("cilk"))


def test_what_is_typed_in_is_not_taken_from_the_store(make_plain: Any) -> None:
    """Nobody knows what else the code in a notebook's cells uses."""
    names: dict[str, Any] = {"__name__": "__main__", "first_touch": first_touch}
    exec("def typed(view):\n    return first_touch(view)", names)
    exec("def generated(seed):\n    return None", names)
    generator = registry.WorkloadGenerator("typed", names["generated"])
    source = WorkloadSource("typed", "test_keys_typed", None, None, {}, "")
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(placements._entries, "test_keys_typed", Entry("x", names["typed"]))
        patched.setitem(registry.generators._entries, "test_keys_typed", generator)
        assert not is_in_files(make_policy("cilk", {"placement": "test_keys_typed"}))
        assert not source.in_files
        assert not source.portable
    assert is_in_files(make_policy("cilk"))
    shipped = cells(make_plain())[0]
    assert shipped.workload_source.in_files
    assert is_portable(shipped)


def test_a_policy_typed_into_a_notebook_counts_by_its_code() -> None:
    def typed(body: str, line: int = 0) -> str:
        names = {"RandomStealing": RandomStealing, "__name__": "__main__"}
        text = "\n" * line + f"class Own(RandomStealing):\n def start(self, view):\n  {body}"
        exec(text, names)
        return policy_digest(names["Own"]())

    assert typed("return 1") == typed("return 1", line=7)
    assert len({typed("return 1"), typed("return 2"), typed("return view")}) == 3


def test_a_generator_of_another_package_counts_by_its_code(
    make_plain: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for text in ("", "# edited\n"):
        (tmp_path / "other.py").write_text(
            "from simsched.workload.generators.fork_join import fork_join\n"
            "def other(seed, **given):\n    return fork_join(seed, **given)\n" + text
        )
        module = ModuleType("other")
        module.__file__, names = str(tmp_path / "other.py"), vars(module)
        exec(compile((tmp_path / "other.py").read_text(), module.__file__, "exec"), names)
        known = registry.find_workload("fork_join")
        other = registry.WorkloadGenerator("other", names["other"], home=module)
        vars(other)["parameters"] = known.parameters
        monkeypatch.setitem(registry.generators._entries, "other", other)
        cell = cells(make_plain(workloads=["other"], seeds=1))[0]
        assert cell.workload_source.build().graph.n_tasks > 1
        found.append(cell)
    assert found[0].key != found[1].key
    assert source_digest(names["other"]) == found[1].workload_source.origin


GENERATOR = """
from simsched.workload.builder import build_graph
from simsched.workload.graph import Workload
from simsched.workload.registry import generator
{more}

@generator("{name}")
def made(seed: int, *, tasks: int = 3):
    '''Some tasks.'''
    return Workload("{name}", build_graph([{ops}] * tasks))
"""


@pytest.fixture
def own_generators(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    places = list(sys.path)
    monkeypatch.setattr(registry.generators, "_entries", registry.generators.all())
    yield
    sys.path[:] = places


def test_a_generator_file_counts_by_content_not_by_place(
    make_plain: Any, tmp_path: Path, own_generators: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    found = []
    for folder, ops in (("one", "1e6"), ("two", "1e6"), ("three", "2e6"), ("three", "1e6")):
        (tmp_path / folder).mkdir(exist_ok=True)
        text = GENERATOR.format(name="test_keys_made", ops=ops, more="")
        (tmp_path / folder / "made.py").write_text(text)
        cell = cells(make_plain(workloads=["made.py"], seeds=1), tmp_path / folder)[0]
        assert cell.workload == "made"
        assert is_portable(cell)
        assert cell.workload_source.build().graph.ops.sum() == 3 * float(ops)
        found.append(cell.key)
    assert found[0] == found[1] == found[3]
    assert found[0] != found[2]


def test_a_module_that_another_file_has_imported_is_loaded_again_when_it_has_changed(
    make_plain: Any, tmp_path: Path, own_generators: None
) -> None:
    """The second file used to run with what the first one had imported, under another key."""
    text = GENERATOR.format(name="NAME", ops="OPS", more="from keys_shared import OPS")
    for name, ops in (("first", 1.5), ("second", 22.25)):
        (tmp_path / f"{name}.py").write_text(text.replace("NAME", f"test_keys_{name}"))
        (tmp_path / "keys_shared.py").write_text(f"OPS = {ops}\n")
        cell = cells(make_plain(workloads=[f"{name}.py"], seeds=1), tmp_path)[0]
        assert cell.workload_source.build().graph.ops.sum() == 3 * ops
    sys.modules.pop("keys_shared")


def test_packages_of_one_name_beside_two_files_are_refused(
    make_plain: Any, tmp_path: Path, own_generators: None
) -> None:
    text = GENERATOR.format(name="NAME", ops="OPS", more="from keys_parts import OPS")
    for folder in ("here", "there"):
        (tmp_path / folder / "keys_parts").mkdir(parents=True)
        (tmp_path / folder / "keys_parts" / "__init__.py").write_text("OPS = 1.0\n")
        (tmp_path / folder / "made.py").write_text(text.replace("NAME", f"test_keys_{folder}"))
    cells(make_plain(workloads=["made.py"], seeds=1), tmp_path / "here")
    with pytest.raises(ConfigurationError, match=r"import of .keys_parts.: found .*here"):
        cells(make_plain(workloads=["made.py"], seeds=1), tmp_path / "there")
    sys.modules.pop("keys_parts")


def test_what_a_generator_file_imports_counts_and_lies_beside_it(
    make_plain: Any, tmp_path: Path, own_generators: None
) -> None:
    text = GENERATOR.format(name="test_keys_helped", ops="OPS", more="from keys_beside import OPS")
    (tmp_path / "made.py").write_text(text)
    found = []
    for ops in (1.5, 22.25):
        (tmp_path / "keys_beside.py").write_text(f"OPS = {ops}\n")
        entry = {"name": "./made.py", "tasks": 2}
        cell = cells(make_plain(workloads=[entry], seeds=1), tmp_path)[0]
        assert cell.workload_source.build().graph.ops.sum() == 2 * ops
        found.append(cell.key)
    sys.modules.pop("keys_beside")
    assert found[0] != found[1]


def test_a_variant_in_a_file_of_a_shipped_function_counts(
    make_plain: Any, tmp_path: Path, own_generators: None
) -> None:
    """What is bound in the file is no parameter and no code of the function."""
    found = []
    for depth in (2, 3):
        (tmp_path / "made.py").write_text(
            "from simsched.workload.generators.fork_join import fork_join\n"
            "from simsched.workload.registry import variant\n"
            "def shared(name, depth, seed, *, degree: int = 2):\n"
            "    return fork_join(seed, depth=depth, degree=degree)\n"
            "shared.__module__ = fork_join.__module__\n"
            f"variant('test_keys_variant', shared, 'Deep.', {depth:2d})\n"
        )
        os.utime(tmp_path / "made.py", ns=(10**18 + depth, 10**18 + depth))  # in one second
        cell = cells(make_plain(workloads=["made.py"], seeds=1), tmp_path)[0]
        found.append((cell.key, cell.workload_source.build().graph.n_tasks))
    assert found[0][1] < found[1][1]
    assert found[0][0] != found[1][0]


def test_a_generator_file_is_built_from_where_it_was_moved_to(
    make_plain: Any, tmp_path: Path, own_generators: None
) -> None:
    """Workers of a cluster get a copy of the file."""
    (tmp_path / "elsewhere").mkdir()
    text = GENERATOR.format(name="test_keys_moved", ops="4.0", more="")
    (tmp_path / "made.py").write_text(text)
    source = cells(make_plain(workloads=["made.py"], seeds=1), tmp_path)[0].workload_source
    assert isinstance(source, WorkloadSource)
    assert source.file == tmp_path / "made.py"
    copy = tmp_path / "elsewhere" / "made.py"
    copy.write_text(text)
    moved = source.moved(copy)
    assert moved.content == source.content
    assert moved.build().graph.n_tasks == 3
    assert moved._build().name == "test_keys_moved"


def test_policies_that_a_function_makes_of_one_source_have_keys_of_their_own(
    make_plain: Any, tmp_path: Path
) -> None:
    (tmp_path / "made.py").write_text(
        "from simsched.policy import register\n"
        "from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing\n"
        "def make(name, spawn):\n"
        "    @register(name)\n"
        "    class Made(RandomStealing):\n"
        "        'Of a function.'\n"
        "        def start(self, view):\n"
        "            return spawn\n"
        "make('test_keys_a', 1)\n"
        "make('test_keys_b', 2)\n"
    )
    made = [f"{tmp_path}/made.py:test_keys_{end}" for end in "ab"]
    first, second = cells(make_plain(policies=made, seeds=1), tmp_path)[:2]
    assert first.key != second.key


READER = """
from dataclasses import dataclass
from simsched.policy import param
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing

@dataclass(frozen=True, kw_only=True)
class Reader(RandomStealing):
    table: str = param("", is_file=True)
"""
PLACEMENT = """
from simsched.policy import placement, placement_rule

@placement("mine")
def mine(view):
    return placement_rule("first_touch")(view)
"""


def test_files_that_parameters_name_lie_beside_the_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_plain: Any
) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    for name, text in (("r.py", READER), ("p.py", PLACEMENT), ("t.txt", "1")):
        (folder / name).write_text(text)
    policies = ["r.py[table=t.txt]", "cilk[placement=p.py:mine]", "cilk[placement=p.py]"]
    data = {**make_plain(), "policies": policies, "seeds": [3], "workloads": ["fork_join"]}
    monkeypatch.chdir(tmp_path)
    found = cells(data, folder)
    assert found[0].policy_model.parameters()["table"] == str(folder / "t.txt")
    monkeypatch.chdir(folder)
    assert [cell.key for cell in cells(data, Path())] == [cell.key for cell in found]
    (folder / "t.txt").write_text("2")
    after = [cell.key for cell in cells(data, folder)]
    assert after[0] != found[0].key
    assert after[1:] == [cell.key for cell in found[1:]]
    (tmp_path / "t.txt").write_text("1")  # from the working directory where none is beside it
    (folder / "t.txt").unlink()
    monkeypatch.chdir(tmp_path)
    assert cells(data, folder)[0].key == found[0].key
    (tmp_path / "t.txt").unlink()
    with pytest.raises(ConfigurationError, match=r"parameter table: .*here/t\.txt: no such file"):
        cells(data, folder)
