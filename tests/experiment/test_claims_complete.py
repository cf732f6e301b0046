"""Every published row is a claim: evaluated, or left out with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from simsched.experiment.claims import families, load_family
from simsched.yaml_reader import read_document

REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "reference"


@pytest.mark.parametrize("family", families())
def test_every_published_row_is_a_claim(family: str) -> None:
    path = REFERENCE / f"{family}.results.yaml"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    published = [row["id"] for row in read_document(path).data]
    claims = [planned.claim.id for planned in load_family(family).claims]
    assert sorted(set(published) - set(claims)) == []
    assert sorted(set(claims) - set(published)) == []
