"""What there is by name, for the Tab key, and how things look in notebooks."""

from __future__ import annotations

import inspect
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

import simsched
from simsched.files.errors import ConfigurationError
from simsched.policy import list_policies


def test_names_are_attributes_and_keys() -> None:
    assert "knl_snc4_flat" in dir(simsched.machines)
    assert simsched.machines.knl_snc4_flat.n_cores == 64
    assert simsched.machines["knl_snc4_flat"].name == "knl_snc4_flat"
    assert dir(simsched.policies) == sorted(info.name for info in list_policies())
    assert "heat" in simsched.workloads
    assert simsched.experiments.quickstart.name == "quickstart.yaml"
    assert len(list(simsched.workloads)) == len(simsched.workloads)


def test_unknown_names_are_named_with_the_nearest() -> None:
    with pytest.raises(AttributeError, match="unknown policy 'batz'; did you mean 'bats'"):
        _ = simsched.policies.batz
    with pytest.raises(ConfigurationError, match="unknown machine 'opteron46'; did you mean"):
        simsched.machines["opteron46"]
    assert not hasattr(simsched.machines, "_repr_png_")


def test_entries_show_their_parameters_and_make_things() -> None:
    entry = simsched.policies.cilk_h
    assert inspect.signature(entry).parameters["placement"].default == "membind_hbm"
    assert entry().placement == "membind_hbm"
    assert entry(placement="interleave").placement == "interleave"
    heat = simsched.workloads.heat
    assert {"rows", "seed"} <= set(inspect.signature(heat).parameters)
    assert heat(rows=64, columns=64).parameters["rows"] == 64
    assert heat.__doc__


@pytest.mark.parametrize(
    "thing",
    [
        simsched.machines.knl_snc4_flat,
        simsched.workloads.heat(rows=64, columns=64),
        simsched.workloads.heat(rows=64, columns=64).graph,
        simsched.policies.bats(sample_pages=8),
        simsched.policies.bats,
        simsched.experiments,
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_html_is_well_formed(thing: object) -> None:
    html = thing._repr_html_()  # type: ignore[attr-defined]
    ET.fromstring(f"<body>{html}</body>")
    assert "<table" in html


def test_machines_are_drawn() -> None:
    html = simsched.machines.knl_snc4_flat._repr_html_()
    assert "<svg" in html
    assert "domain 3" in html
    assert "64 cores" in html
    assert len(html) < 1_000_000


def test_text_from_files_is_no_markup() -> None:
    evil = "<script>alert(1)</script>"
    machine = replace(simsched.machines.toy_1fast_3slow, name=evil, description=evil)
    workload = replace(simsched.workloads.fork_join(depth=2), name=evil, parameters={evil: evil})
    result = simsched.run({evil: machine}, {evil: workload}, {evil: "cilk_a"}, jobs=1)
    for thing in (machine, workload, result):
        html = thing._repr_html_()
        assert "<script" not in html
        assert "&lt;script" in html


def test_representations_are_short() -> None:
    assert len(repr(simsched.machines.knl_snc4_flat)) < 300
    assert len(repr(simsched.workloads.heat(rows=64, columns=64))) < 300
