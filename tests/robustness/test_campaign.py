"""What once went wrong, and some hundred mutated inputs of every reader of files."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from simsched.files.errors import SimschedError
from simsched.files.yaml_reader import read_document
from simsched.machine.facts import fact_formats
from simsched.trace.importers import trace_importers
from simsched.workload.importers import importers
from tests.robustness import trees
from tests.robustness.campaign import attempt, feed
from tests.robustness.mutate import mutated
from tests.robustness.readers import READERS, SEEDS, load

INPUTS = Path(__file__).with_name("inputs")
KEPT = [(name, number) for name in READERS for number in range(len(load(INPUTS / name)))]
SLOW = {
    "claims",
    "experiment",
    "export",
    "facts",
    "machine",
    "sampling",
    "starvz",
    "starvz_csv",
    "tasks_rec",
}  # some 10 ms an input


def test_every_format_has_a_reader_here():
    formats = {*importers(), *trace_importers()} - ({"otf2"} - {*READERS})  # an extra
    assert formats <= {*READERS}
    assert {name for files in READERS["facts"].seeds() for name in files} == {*fact_formats()}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("name", "number"), KEPT)
def test_what_went_wrong_once_is_accepted_or_refused(name, number, tmp_path):
    _, error = attempt(name, load(INPUTS / name)[number], tmp_path)
    assert error is None or isinstance(error, SimschedError)


@pytest.mark.parametrize("name", READERS)
def test_mutated_inputs_are_accepted_or_refused(name, tmp_path):
    result = feed(name, 40 if name in SLOW else 200, 2026, tmp_path)
    assert result.counts == {}
    assert result.accepted > 0  # mutations that nobody accepts would test only the first check


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_more_mutated_inputs_are_accepted_or_refused(name, tmp_path):
    result = feed(name, 2000, 7, tmp_path)
    assert result.counts == {}


@pytest.mark.parametrize("name", [name for name in READERS if (SEEDS / name).is_dir()])
def test_most_seeds_are_accepted(name, tmp_path):
    outcomes = [attempt(name, files, tmp_path)[1] for files in READERS[name].seeds()]
    assert sum(error is None for error in outcomes) >= len(outcomes) / 2


def test_a_seed_gives_the_same_inputs_again():
    pool = load(SEEDS / "chrome")
    first, again = ([mutated(Random(3), pool, is_json=True)] for _ in "ab")
    assert first == again


@pytest.mark.parametrize("path", sorted(SEEDS.glob("[!y]*/**/*.yaml")), ids=lambda path: path.stem)
def test_the_short_way_reads_what_the_scanner_reads(path, tmp_path):
    (as_json,) = trees.as_json({path.name: path.read_bytes()}).values()
    written = tmp_path / path.name
    written.write_bytes(as_json)
    with trees.short_way():
        found = read_document(written)
    assert found == read_document(written)
    assert found.data == read_document(path).data
