"""Probes of asymmetric machines and programs."""

from typing import Any

import pytest

from simsched.files.errors import ConfigurationError
from simsched.reproduction.probes import ask

THREADS = {
    "machine": "a_4_0_0_12",
    "workload": "threads",
    "parameters": {"threads": 4, "stalling": 1, "phase_ops": 1e3, "phase_bytes": 2**30},
}
GA = {"workload": "ga_islands", "parameters": {"spread": 0.0}}


@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        ("candidate_allocations", {"items": 10, "groups": 4}, 84),
        ("preference_list", {"group": 2, "groups": 3}, "G2,G3,G1"),
        ("core_speed_ratio", {"machine": "a_4_0_0_12"}, 0.32),
        ("core_speed_ratio", {"machine": "a_16_0_0_0"}, 1.0),
        ("shipped_machines", {"names": ["a_4_0_0_12", "i_8_8_8_8", "a_4_0_0_12"]}, 2),
        ("function_time_s", {"machine": "a_4_0_0_12", "which": "longest", **GA}, 2.1e7 / 2.5e9),
        ("function_time_s", {"machine": "i_8_8_8_8", "which": "shortest", **GA}, 4.2e5 / 2.262e9),
        ("tasks_of_functions", GA, [10, 10, 10, 98]),
        ("utility_factor", {"speedup": 2.0, "threads": 5, "fast_cores": 4}, 0.5),
        ("speedup_factor", {**THREADS, "thread": "thread0"}, 2.5 / 0.8),
        ("speedup_factor", {**THREADS, "thread": "thread3"}, 1.0),
    ],
)
def test_probes_answer(name: str, arguments: dict[str, Any], answer: Any) -> None:
    assert ask(name, arguments) == (answer if isinstance(answer, str) else pytest.approx(answer))


def test_an_unknown_end_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="'longst'; did you mean 'longest'"):
        ask("function_time_s", {"machine": "a_4_0_0_12", "which": "longst", **GA})
