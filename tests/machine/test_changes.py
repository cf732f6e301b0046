"""Machines with values that an experiment changes."""

from pathlib import Path
from typing import Any

import pytest

from simsched import run
from simsched.files.errors import ConfigurationError
from simsched.machine import load_machine


def test_a_value_is_changed_and_nothing_else() -> None:
    plain = load_machine("knl_snc4_flat")
    found = load_machine("knl_snc4_flat", {"paths.remote_dram.node_weight": 1.5})
    remote = [found.paths[i][j].node_weight for i in range(4) for j in range(4) if i != j]
    assert set(remote) == {1.5}
    assert [found.paths[i][i] for i in range(4)] == [plain.paths[i][i] for i in range(4)]
    assert (found.nodes, found.caches[1].name, found.costs) == (plain.nodes, "L2", plain.costs)
    told = found.sources
    assert told["sources.experiment"] == "assumed: set by an experiment"
    by_experiment = [key for key in told if told[key] == "experiment"]
    assert (
        len(by_experiment) == 1 + 12
    )  # the rule, and paths from four domains to the DRAM of the others
    assert all(key.endswith(".node_weight") for key in by_experiment)


def test_values_in_lists_and_values_that_others_follow_from() -> None:
    found = load_machine("knl_snc2_flat", {"sockets.0.cores.knl": 4, "sockets.0.count": 2})
    assert (found.n_sockets, found.n_cores, found.n_threads) == (2, 8, 32)
    assert len(found.nodes) == 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"caches.L2.capacty": "1 MiB"}, "set: unknown key .*did you mean 'caches.L2.capacity'"),
        ({"sources.bats.kind": "x"}, "set: unknown key 'sources.bats.kind'"),
        ({"paths.remote_dram.hops": 2}, "set: unknown key"),
        ({"caches.L2.capacity": "2 MiB/s"}, r"set: caches.L2.capacity\[0\]: found '2 MiB/s'"),
        ({"memory.dram.bandwidth": 0}, "set: memory.dram.bandwidth.*above zero"),
    ],
)
def test_what_is_wrong_is_told_in_the_name_of_the_machine(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"machine knl_snc4_flat: {message}"):
        load_machine("knl_snc4_flat", changes)


def test_experiments_sweep_them(tmp_path: Path) -> None:
    experiment: dict[str, Any] = {
        "name": "sweep",
        "machines": [{"name": "amd_4x_opteron8380", "label": "amd"}],
        "workloads": ["heat_small"],
        "policies": ["cilk_a"],
        "sweep": {"product": {"machines.amd.set.memory.dram.bandwidth": ["2 GB/s", "10 GB/s"]}},
    }
    slow, fast = run(experiment, output=tmp_path).runs["makespan_s"]
    assert slow > 1.2 * fast  # bound by memory
    changed = {"memory.dram.bandwidth": "2 GB/s"}
    machine = {"name": "amd_4x_opteron8380", "label": "amd", "set": changed}
    again = run({**experiment, "machines": [machine], "sweep": {}}, output=tmp_path)
    assert again.runs["makespan_s"].tolist() == [slow]
