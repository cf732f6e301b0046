"""Finding policies by name, by text and by file."""

import multiprocessing
import pickle
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from simsched.experiment.fingerprint import policy_digest
from simsched.files.errors import ConfigurationError, ExtensionError, PolicyError
from simsched.names.specs import parse_spec
from simsched.policy import (
    Policy,
    list_policies,
    make_policy,
    param,
    policy_info,
    preset,
    register,
)
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing
from simsched.policy.contract.registry import policies

PUBLISHED = {
    *("cilk", "cilk_a", "cilk_h", "cilk_interleave", "cilk_dram", "pfws"),
    *("random_stealing", "work_sharing", "task_sharing", "openmp_static", "openmp_static_h"),
    *("bats", "bats_nh", "bats_nb", "bats_nl", "bats_h", "bats_b", "bats_l"),
    *("random_ws_parent_first", "smk_drf", "smk_wq"),
}

MINE = '''
"""Mine."""
from dataclasses import dataclass
from simsched.policy import Policy, param

@dataclass(frozen=True, kw_only=True)
class Mine(Policy):
    """One of mine."""
    depth: int = param(2, low=1)
'''


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what a test registers."""
    monkeypatch.setattr(policies, "_entries", policies.all())


def test_the_published_names_are_there() -> None:
    assert {info.name for info in list_policies()} >= PUBLISHED


@pytest.mark.parametrize(
    ("name", "told"),
    [
        # Cilk's ends of the pools, the other order of spawns; pfws takes the oldest everywhere.
        (
            "random_ws_parent_first",
            {"spawn": "parent_first", "local_take": "newest", "steal_take": "oldest"},
        ),
        ("smk_drf", {"allocation": "drf"}),  # thread blocks are shared out, instruction issues not
        ("smk_wq", {"allocation": "wq"}),
    ],
)
def test_published_variants_are_told_apart_by_their_parameters(
    name: str, told: dict[str, str]
) -> None:
    assert make_policy(name).parameters().items() >= told.items()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "    def __post_init__(self):\n        [].pop()\n",
            r":11: __post_init__: IndexError: pop from empty",
        ),
        # What another file raises is said with the line that has called it.
        (
            "    def __post_init__(self):\n        __import__('json').loads('')\n",
            r":11: __post_init__: JSONDecodeError: Expecting value",
        ),
        # Dataclasses make __init__, which is in no file.
        ("    needed: int\n", r"mine\.py: Mine: TypeError: .*missing 1 required"),
    ],
)
def test_a_fault_in_the_constructor_of_a_file_names_its_line(
    tmp_path: Path, body: str, message: str
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(MINE + body)
    with pytest.raises(ExtensionError, match=message):
        make_policy(f"{path}:Mine")


def test_every_entry_says_what_it_is_and_where_it_comes_from() -> None:
    for info in list_policies():
        assert info.description
        assert info.references, info.name
        assert info.cls.__module__ == info.source


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cilk_h", {"placement": "membind_hbm"}),
        ("pfws", {"spawn": "parent_first", "local_take": "oldest", "steal_take": "oldest"}),
        ("bats", {"allocation": "weighted", "balancer": True, "scheduler": "hierarchical"}),
        ("bats_nh", {"allocation": "even", "balancer": True, "scheduler": "hierarchical"}),
        ("bats_nb", {"allocation": "weighted", "balancer": False, "scheduler": "hierarchical"}),
        ("bats_nl", {"allocation": "weighted", "balancer": True, "scheduler": "random"}),
        ("bats_h", {"allocation": "weighted", "balancer": False, "scheduler": "random"}),
        ("bats_b", {"allocation": "even", "balancer": True, "scheduler": "random"}),
        ("bats_l", {"allocation": "even", "balancer": False, "scheduler": "hierarchical"}),
    ],
)
def test_presets_are_what_the_literature_calls_so(name: str, expected: dict[str, Any]) -> None:
    values = make_policy(name).parameters()
    assert {key: values[key] for key in expected} == expected


def test_parameters_override_those_of_a_preset() -> None:
    assert make_policy("cilk_h", {"placement": "even"}).parameters()["placement"] == "even"


def test_an_int_becomes_a_float_where_one_is_declared() -> None:
    value = make_policy("bats", {"analysis_s_per_item": 0}).parameters()["analysis_s_per_item"]
    assert isinstance(value, float)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("batz", {}, "unknown policy 'batz'; did you mean 'bats'[?] accepted: bats, .* more"),
        ("bats", {"sample_page": 1}, "policy bats: unknown parameter 'sample_page'; did you mean"),
        (
            "bats",
            {"sample_pages": 0},
            "sample_pages: found 0, accepted a whole number, 1 to 1000000",
        ),
        ("bats", {"sample_pages": 2.5}, "found 2.5, accepted a whole number"),
        ("bats", {"balancer": 1}, "found 1, accepted true or false"),
        ("bats", {"scheduler": "randum"}, "did you mean 'random'"),
        ("cilk", {"placement": "evn"}, "parameter placement: unknown placement 'evn'; .*'even'"),
    ],
)
def test_what_is_not_accepted(name: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make_policy(name, params)


@pytest.mark.parametrize(
    "params", [{"placement": "evn"}, {"steal_take": "haf"}, {"user_ops": "x"}], ids=str
)
def test_messages_name_what_was_typed(params: dict[str, Any]) -> None:
    """The class behind a preset, which users need not know, was once named instead."""
    (parameter,) = params
    with pytest.raises(ConfigurationError, match=f"^policy cilk: parameter {parameter}: "):
        make_policy("cilk", params)


@pytest.mark.parametrize(
    ("text", "name", "params"),
    [
        ("cilk", "cilk", {}),
        ("bats[]", "bats", {}),
        (" bats [ sample_pages = 8 ] ", "bats", {"sample_pages": 8}),
        (
            "b[a=true,b=FALSE,c=1e-3,d=-2,e=even]",
            "b",
            {"a": True, "b": False, "c": 1e-3, "d": -2, "e": "even"},
        ),
        ("dir/my.py:Mine[depth=3]", "dir/my.py:Mine", {"depth": 3}),
    ],
)
def test_specs(text: str, name: str, params: dict[str, Any]) -> None:
    found = parse_spec("policy", text)
    assert found == (name, params)
    assert [type(v) for v in found.params.values()] == [type(v) for v in params.values()]


@pytest.mark.parametrize(
    "text", ["", "[a=1]", "bats[a]", "bats[a=]", "bats[=1]", "bats[a=1", "b[a=1]c", "b[a=1,a=2]"]
)
def test_malformed_specs(text: str) -> None:
    with pytest.raises(ConfigurationError, match="policy"):
        parse_spec("policy", text)


@pytest.mark.usefixtures("registered")
class TestNames:
    def test_a_second_class_of_the_same_name_is_refused(self) -> None:
        @register("twice")
        class First(RandomStealing):
            """First."""

        with pytest.raises(PolicyError, match="'twice': registered twice"):

            @register("twice")
            class Second(RandomStealing):
                """Second."""

    def test_a_preset_cannot_take_a_name(self) -> None:
        with pytest.raises(PolicyError, match="'cilk': registered twice"):
            preset("cilk", RandomStealing, "Another.")

    def test_presets_are_checked_when_they_are_made(self) -> None:
        with pytest.raises(ConfigurationError, match="unknown parameter 'sapwn'"):
            preset("fresh", RandomStealing, "Fresh.", sapwn="child_first")

    @pytest.mark.parametrize("name", ["Upper", "with-dash", "9", ""])
    def test_malformed_names(self, name: str) -> None:
        with pytest.raises(PolicyError, match="accepted names"):
            preset(name, RandomStealing, "Odd.")

    def test_a_description_is_required(self) -> None:
        with pytest.raises(PolicyError, match="description"):
            preset("silent", RandomStealing, " ")

    def test_entry_points_are_registered_under_their_names(self) -> None:
        class Point:
            name, value = "from_afar", "afar:Far"

            def load(self) -> type[Policy]:
                @dataclass(frozen=True, kw_only=True)
                class Far(RandomStealing):
                    """From another distribution."""

                return Far

        policies._load(Point())
        assert policy_info("from_afar").description == "From another distribution."
        assert make_policy("from_afar").name == "from_afar"

    def test_a_broken_entry_point_is_reported_and_left_out(self) -> None:
        class Point:
            name, value = "broken", "afar:Gone"

            def load(self) -> type[Policy]:
                raise ImportError("no module named afar")

        with pytest.warns(UserWarning, match="'broken' .* left out: no module named afar"):
            policies._load(Point())
        assert "broken" not in policies.all()


class TestFiles:
    def test_a_file_is_a_policy(self, tmp_path: Path) -> None:
        path = tmp_path / "my_policy.py"
        path.write_text(MINE)
        assert make_policy(str(path), {"depth": 3}).parameters()["depth"] == 3
        assert make_policy(f"{path}:Mine[depth=4]").parameters()["depth"] == 4
        with pytest.raises(
            ConfigurationError, match="depth: found 0, accepted a whole number, 1 or more"
        ):
            make_policy(str(path), {"depth": 0})

    def test_an_edited_file_is_read_again(self, tmp_path: Path) -> None:
        path = tmp_path / "my_policy.py"
        path.write_text(
            MINE.replace(
                "\n@data", "\nfrom simsched.policy import register\n@register('edited')\n@data"
            )
        )
        make_policy(str(path))
        path.write_text(path.read_text().replace("param(2", "param(77"))
        assert make_policy(str(path)).parameters()["depth"] == 77

    def test_its_presets_are_found_by_its_name(self, tmp_path: Path) -> None:
        """They were known only after another name had loaded the file."""
        path = tmp_path / "my_policy.py"
        text = MINE.replace(
            "\n@data", "\nfrom simsched.policy import preset, register\n@register('m')\n@data"
        )
        path.write_text(text + "preset('deep_m', Mine, 'Deep.', depth=9)\n")
        assert make_policy(f"{path}:deep_m").parameters()["depth"] == 9
        assert make_policy(f"{path}:deep_m", {"depth": 4}).parameters()["depth"] == 4
        assert make_policy(f"{path}:m") == make_policy(f"{path}:Mine") == make_policy(str(path))
        assert policy_info(f"{path}:deep_m").params == {"depth": 9}
        with pytest.raises(
            ConfigurationError, match="class or preset 'deepm'; did you mean 'deep_m'"
        ):
            make_policy(f"{path}:deepm")

    def test_a_module_beside_it_can_be_imported(self, tmp_path: Path) -> None:
        """Also after it has changed; both results would have the key of the new one."""
        path = tmp_path / "my_policy.py"
        path.write_text(
            MINE.replace("param(2", "param(HELPED").replace(
                "\n@data", "\nfrom test_beside_helper import HELPED\n@data"
            )
        )
        for value in (5, 71):
            (tmp_path / "test_beside_helper.py").write_text(f"HELPED = {value}\n")
            assert make_policy(str(path)).parameters()["depth"] == value
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "test_beside_helper.py").write_text("HELPED = 6\n")
        other = shutil.copy(path, tmp_path / "other")
        with pytest.raises(
            ConfigurationError, match=r"import of 'test_beside_helper': found .*give one"
        ):
            make_policy(str(other))
        sys.modules.pop("test_beside_helper")
        sys.path.remove(str(tmp_path))
        sys.path.remove(str(tmp_path / "other"))

    def test_its_policies_pickle_into_other_processes(self, tmp_path: Path) -> None:
        path = tmp_path / "my_policy.py"
        path.write_text(MINE)
        policy = make_policy(str(path), {"depth": 5})
        assert pickle.loads(pickle.dumps(policy)) == policy
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            assert pool.apply(_depth, (policy,)) == 5

    def test_policies_that_a_function_makes_go_by_their_names_there(self, tmp_path: Path) -> None:
        path = tmp_path / "made.py"
        body = MINE[MINE.index("@dataclass") :].replace("\n", "\n    ")
        path.write_text(
            MINE[: MINE.index("@dataclass")]
            + f"def made(number):\n    {body}\n    Mine.number = number\n    return Mine\n"
            + "One, Two = made(1), made(2)\n"
        )
        one, two = (make_policy(f"{path}:{name}") for name in ("One", "Two"))
        assert [pickle.loads(pickle.dumps(policy)).number for policy in (one, two)] == [1, 2]
        assert policy_digest(one) != policy_digest(two)
        with pytest.raises(ConfigurationError, match=r"'Mine'.*accepted: One, Two"):
            make_policy(f"{path}:Mine")

    @pytest.mark.parametrize(
        ("text", "spec", "message"),
        [
            (None, "", "no such file"),
            ("x = 1", "", "found no policy"),
            (MINE, ":Mien", "unknown policy class or preset 'Mien'; did you mean 'Mine'"),
            (
                MINE + MINE.replace("Mine", "Other"),
                "",
                r"more than one policy, accepted .*'Mine', 'Other'",
            ),
            ("x = 1\ny = (", "", "line 2: SyntaxError"),
            ("x = 1\n\nz = y", "", "line 3: NameError: name 'y'"),
        ],
    )
    def test_what_can_be_wrong_with_it(
        self, tmp_path: Path, text: str | None, spec: str, message: str
    ) -> None:
        path = tmp_path / "my_policy.py"
        if text is not None:
            path.write_text(text)
        with pytest.raises(ConfigurationError, match=message):
            make_policy(f"{path}{spec}")


def _depth(policy: Any) -> int:
    return policy.depth


def test_param_is_part_of_the_public_interface() -> None:
    assert param(1, low=0).metadata["low"] == 0


@pytest.mark.parametrize("value", [float("inf"), 1e300, float("nan")])
def test_numbers_are_finite_where_no_limit_is_declared(value: float) -> None:
    with pytest.raises(
        ConfigurationError, match=r"_op: found .*, accepted a finite number, 0\.0 to 1e\+18"
    ):
        make_policy("cab_gto_profile", {"cpu_bound_bytes_per_op": value})
    with pytest.raises(
        ConfigurationError,
        match=r"profile_s: found .*, accepted a finite number, 0\.0 to 1000000\.0",
    ):
        make_policy("cab_gto_profile", {"profile_s": value})
