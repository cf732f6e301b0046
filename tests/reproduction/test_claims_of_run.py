"""A run of a shipped experiment shows the claims that need nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

import simsched
from simsched import api
from simsched.files import resources
from simsched.reproduction import claims
from tests.experiment.conftest import SMALL

CLAIMS = """\
sources: {Book: A book}
claims:
  - {id: one, source: Book §1, kind: absolute, experiment: small, metric: tasks, policy: cilk_a,
     value: 15}
  - {id: two, source: Book §2, kind: ordering, metric: tasks, order: a > b,
     terms: {a: {experiment: small, policy: cilk_a}, b: {experiment: large, policy: cilk_a}}}
  - {id: three, source: Book §3, kind: absolute, experiment: large, metric: tasks, policy: cilk_a,
     value: 15}
"""


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "experiments"
    (folder / "claims").mkdir(parents=True)
    (folder / "small.yaml").write_text(SMALL)
    (folder / "large.yaml").write_text(SMALL.replace("depth: 3", "depth: 4"))
    (folder / "claims" / "book.yaml").write_text(CLAIMS)
    for module in (api, claims, resources):
        monkeypatch.setattr(module, "data_dir", lambda kind: tmp_path / kind)
    return tmp_path


def test_a_run_shows_the_claims_about_it(shipped: Path) -> None:
    result = simsched.run("small", output=shipped / "out", jobs=1)
    assert [(verdict.claim.id, verdict.holds) for verdict in result.claims] == [("one", True)]
    assert [claim["id"] for claim in result.document()["claims"]] == ["one"]
    assert "tasks, cilk_a" in result.text()


def test_a_changed_experiment_is_not_what_claims_are_about(shipped: Path) -> None:
    changes = {"workloads.0.depth": 4}
    assert simsched.run("small", output=shipped / "out", jobs=1, set=changes).claims == []
