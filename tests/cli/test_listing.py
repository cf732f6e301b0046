"""Lists of what there is by name, and their filters."""

from __future__ import annotations

import json

import pytest

from simsched.engine.fit import machine_kinds
from simsched.machine import load_machine
from simsched.policy import list_policies

from .conftest import Command


def listed(simsched: Command, *words: str) -> list[str]:
    code, output, messages = simsched("list", *words, "--json", "--quiet")
    assert (code, messages) == (0, "")
    return [row["name"] for row in json.loads(output)]


def test_policies_by_family_and_source(simsched: Command) -> None:
    wanted = [info.name for info in list_policies() if info.family == "mapreduce"]
    assert listed(simsched, "policies", "--family", "mapreduce") == wanted
    found = listed(simsched, "policies", "--source", "osdi 2008")
    assert "late" in found
    assert "cilk" not in found
    both = listed(simsched, "policies", "--source", "OSDI 2008", "--family", "mapreduce")
    assert set(both) == set(found) & set(wanted)


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("opteron48", ("numa",)),
        ("knl_snc4_flat", ("numa", "hybrid_memory")),
        ("knl_a2a_flat", ("hybrid_memory",)),
        ("odroid_xu3", ("asymmetric",)),
        ("e5620_m2090", ("accelerator",)),
        ("graviton3", ("uniform",)),
    ],
)
def test_machines_are_of_kinds(name: str, kinds: tuple[str, ...]) -> None:
    assert machine_kinds(load_machine(name)) == kinds


def test_all_kinds_of_things_by_kind_of_machine(simsched: Command) -> None:
    by_kind = {
        what: listed(simsched, what, "--machine-kind", "accelerator")
        for what in ("machines", "policies", "workloads", "experiments", "claims")
    }
    assert {"e5620_m2090", "k40_server"} <= set(by_kind["machines"])
    assert "opteron48" not in by_kind["machines"]
    assert {"hats", "baymax", "heft"} <= set(by_kind["policies"])
    assert not {"laws", "bats", "camp"} & set(by_kind["policies"])
    assert {"spmv", "accelerator_mix"} <= set(by_kind["workloads"])
    assert "hats_fig6_8" in by_kind["experiments"]
    assert "quickstart" not in by_kind["experiments"]
    assert by_kind["claims"] == ["accelerator_qos", "cpu_gpu"]


def test_machines_and_workloads_by_family(simsched: Command) -> None:
    found = listed(simsched, "machines", "--family", "amd_4x_opteron8380")
    assert {"amd_4x_opteron8380", "a_4_4_4_4", "a_2_0_0_14"} <= set(found)
    assert listed(simsched, "workloads", "--family", "spmv") == ["spmv_rmat_14", "spmv"]
    assert "bats_fig12" in listed(simsched, "experiments", "--family", "heterogeneous_memory")
    assert "knl_hbm" in listed(simsched, "claims", "--family", "knl_hbm")


def test_policies_that_fit(simsched: Command) -> None:
    place = "heat[rows=64,columns=64,leaf_bytes=4 KiB,iterations=3], opteron48"
    words = ["list", "policies", "--family", "numa", "--fits", place]
    code, output, messages = simsched(*words)
    assert code == 0
    names = [line.split()[0] for line in output.splitlines()[3:] if line.strip()]
    assert {"laws", "cab", "pinned_threads"} <= set(names)
    assert "laws_h" not in names
    assert "simsched: warning: left out: laws_h: " in messages
    assert "samr" not in messages
    assert simsched(*words, "--quiet")[2] == ""
    names = listed(simsched, "policies", "--family", "mapreduce", "--fits", place)
    assert names == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("policies --family numb", "--family: unknown family 'numb'; did you mean 'numa'?"),
        ("machines --machine-kind gpu", "--machine-kind: unknown kind of machine 'gpu'"),
        ("metrics --source x", "--source: found with metrics, accepted with machines"),
        ("machines --fits heat,opteron48", "--fits: found with machines, accepted with policies"),
        ("policies --fits heat", "--fits: found 'heat', accepted WORKLOAD,MACHINE"),
        ("policies --fits heta,opteron48", "--fits: unknown workload 'heta'"),
        ("policies --fits heat,opteron49", "--fits: unknown machine 'opteron49'"),
    ],
)
def test_wrong_filters_are_refused(simsched: Command, words: str, message: str) -> None:
    code, output, messages = simsched("list", *words.split())
    assert (code, output) == (2, "")
    assert f"simsched: error: {message}" in messages


def test_formats_with_their_endings(simsched: Command) -> None:
    code, output, _ = simsched("list", "formats", "--json")
    assert code == 0
    rows = {(row["kind"], row["name"]): row["endings"] for row in json.loads(output)}
    assert rows["graph", "dax"] == ".dax, .dax.gz"
    assert {("trace", "paje"), ("trace", "otf2"), ("export", "paje")} <= set(rows)
