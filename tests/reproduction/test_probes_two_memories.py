"""Probes of programs and policies for two memories, against counts made by hand."""

import pytest

from simsched.files.errors import ConfigurationError
from simsched.reproduction.probes import ask

NODE = {"machine": "knl_a2a_flat_charm", "workload": "stencil3d_charm_small"}
MIB = 2**20


def test_bytes_that_a_policy_places_on_fast_memory() -> None:
    def placed(policy: str) -> object:
        return ask("placed_bytes", {**NODE, "policy": policy, "kind": "HBM"})

    messages = 2 * (7 * 16 + 2 * 8 * 12) * 64 * 64 * 8
    assert placed("charm_naive") == 512 * MIB + messages
    assert placed("charm_naive[least_block_bytes=1048576]") == 512 * MIB
    # 1/256 of 16 GiB are 64 MiB, 16 blocks of 4 MiB.
    assert placed("charm_naive[usable_share=0.00390625]") == 64 * MIB
    assert placed("charm_ddr4_only") == 0


def test_bytes_that_processing_elements_use_together() -> None:
    whole = ask("concurrent_bytes", {"workload": "matmul_charm_small", "pes": 256})
    assert whole == 3 * 2048 * 2048 * 8
    # One of 32 panels of A, one of 8 of B, one block of C.
    one = ask("concurrent_bytes", {"workload": "matmul_charm_small", "pes": 1})
    assert one == (64 * 2048 + 256 * 2048 + 64 * 256) * 8


def test_tasks_that_find_room_together() -> None:
    policy = "charm_single_io[usable_share=0.00390625,least_block_bytes=1048576]"
    assert ask("admitted_tasks", {**NODE, "policy": policy, "workers": 136}) == 16
    with pytest.raises(ConfigurationError, match="accepted one that moves data"):
        ask("admitted_tasks", {**NODE, "policy": "cilk", "workers": 8})
