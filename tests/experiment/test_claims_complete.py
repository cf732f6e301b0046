"""Every published row is a claim: evaluated, or left out with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from simsched.experiment.claims import families, ids_of, load_family
from simsched.yaml_reader import read_document

REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "reference"


@pytest.mark.parametrize("family", families())
def test_every_published_row_is_a_claim(family: str) -> None:
    path = REFERENCE / f"{family}.results.yaml"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    published = [row["id"] for row in read_document(path).data]
    claims = ids_of(family)
    assert sorted(set(published) - set(claims)) == []
    assert sorted(set(claims) - set(published)) == []


@pytest.mark.slow
@pytest.mark.parametrize("family", families())
def test_every_name_in_a_claims_file_exists(family: str) -> None:
    assert load_family(family).claims
