"""Every published row is a claim: evaluated, or left out with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from simsched.api import load_experiment
from simsched.experiment.cells import plan_experiment
from simsched.experiment.claims import claims_dir, families, ids_of, load_family
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


@pytest.mark.parametrize("family", ["knl_hbm", "numa_dataflow"])
def test_a_parameter_is_not_claimed_as_a_result(family: str) -> None:
    """Rows that look up the value of a preset cannot fail."""
    claims = read_document(claims_dir() / f"{family}.yaml").data["claims"]
    assert [claim["id"] for claim in claims if claim.get("probe") == "policy_parameter"] == []


def test_kmeans_makes_the_rounds_that_the_study_suggests() -> None:
    """The reference suggests 20; with 10, filling buffers at the start decided two claims."""
    for name in ("fig5", "fig7", "fig8", "fig9", "fig9_sgi", "fig10", "fig10_sgi"):
        sources = {
            cell.workload: cell.workload_source
            for cell in plan_experiment(load_experiment(f"dataflow_{name}")).cells
        }
        assert sources["kmeans"].parameters["rounds"] == 20


def test_control_is_compared_over_the_published_sweeps() -> None:
    """Table 3 has 60; with 12, the start under one creator decided the claim."""
    cells = plan_experiment(load_experiment("dataflow_control")).cells
    assert {cell.workload for cell in cells} == {"jacobi_2d", "jacobi_3d"}
    assert {cell.workload_source.parameters["sweeps"] for cell in cells} == {60}
