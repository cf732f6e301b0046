"""Bounds of a program are reckoned once, and anew for whatever differs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simsched.analysis import bounds
from simsched.analysis.bounds import lower_bounds
from simsched.analysis.digest import content_digest
from simsched.machine.synthetic import make_machine
from simsched.workload import variants
from simsched.workload.builder import build_graph
from simsched.workload.graph import Workload
from simsched.workload.registry import generate_workload, generated

JACOBI = {"size_x": 32, "block_x": 8, "sweeps": 1}


@pytest.fixture
def made(monkeypatch):
    """Versions of programs that are generated, counted from nothing."""
    monkeypatch.setattr(bounds, "_kept", {})
    names = []

    def make(maker, *rest):
        names.append(maker.name)
        return generated(maker, *rest)

    monkeypatch.setattr(variants, "generated", make)
    return names


def test_ten_runs_of_a_program_generate_its_versions_once(made):
    """Each run generated both versions again, a second for 180,000 tasks."""
    machine = make_machine(domains=1, cores_per_domain=4, ops_per_s=1e9)
    found = [
        lower_bounds(machine, generate_workload("jacobi", JACOBI), machine.place_workers())
        for _ in range(10)
    ]
    assert made == ["jacobi"] * 2  # private and shared, with sequential control
    # 32 elements of 7 operations on four cores of 10**9 a second, shared; private ones copy, too.
    assert {each.work_s for each in found} == {32 * 7 / 4e9}


def test_other_programs_machines_and_workers_have_bounds_of_their_own(made):
    machine = make_machine(domains=1, cores_per_domain=4, ops_per_s=1e9)
    twice = make_machine(domains=1, cores_per_domain=4, ops_per_s=2e9)
    program = Workload("p", build_graph([4e9] * 4))
    every = machine.place_workers()
    assert lower_bounds(machine, program, every).best_s == 4.0
    assert lower_bounds(twice, program, every).best_s == 2.0
    assert lower_bounds(machine, program, machine.place_workers(1)).best_s == 16.0
    assert lower_bounds(machine, replace(program, iterations=3), every).best_s == 12.0
    ops = np.array([[4e9, 4e9, 4e9, 8e9]])
    changed = replace(program, graph=replace(program.graph, ops=ops))
    assert lower_bounds(machine, changed, every).best_s == 8.0
    assert lower_bounds(machine, program, every).best_s == 4.0


def test_few_results_are_kept(made, monkeypatch):
    monkeypatch.setattr(bounds, "MAX_KEPT", 2)
    machine = make_machine(domains=1, cores_per_domain=1, ops_per_s=1e9)
    for seconds in (1, 2, 3, 1, 2):
        program = Workload("p", build_graph([seconds * 1e9]))
        assert lower_bounds(machine, program, machine.place_workers()).best_s == seconds
    assert len(bounds._kept) == 2


def test_what_has_no_content_is_not_kept(made):
    machine = make_machine(domains=1, cores_per_domain=1, ops_per_s=1e9)
    program = Workload("p", build_graph([1e9]), parameters={"who": object()})
    assert lower_bounds(machine, program, machine.place_workers()).best_s == 1.0
    assert bounds._kept == {}


def test_values_that_read_alike_differ():
    values = [1, 1.0, True, "1", b"1", (1,), [1], {1: 1}, ("1", ""), ("", "1"), None, "None"]
    values += [np.array([1]), np.array([1.0]), np.array([[1]]), np.array([1, 0], np.int32)]
    assert len({content_digest(value) for value in values}) == len(values)
    assert content_digest(np.array(["a"], object)) is None
