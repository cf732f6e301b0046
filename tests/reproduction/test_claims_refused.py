"""Wrong claims are refused before anything runs, with one message that names the place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simsched.experiment.runner import RunOptions
from simsched.files.errors import ConfigurationError
from simsched.reproduction.claims import load_families, reproduce

from .claim_cases import AT_ONE, EXPERIMENT, SERIES, SIZE, Load


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ({**AT_ONE, "policy": "cilc", "value": 1}, "policy: unknown policy label 'cilc'; did you"),
        (
            {**AT_ONE, "workload": "heet", "policy": "cilk", "value": 1},
            "workload: unknown workload",
        ),
        ({**AT_ONE, "machine": "opter", "policy": "cilk", "value": 1}, "did you mean 'opteron'?"),
        ({**AT_ONE, "value": 1}, "policy: missing, accepted: one or more of cilk, cilk_a"),
        (
            {**AT_ONE, "metric": "makespan", "policy": "cilk", "value": 1},
            "did you mean 'makespan_s'",
        ),
        ({"policy": "cilk", "value": 1}, "metric: missing"),
        ({**AT_ONE, "metric": "iteration_s", "policy": "cilk", "value": 1}, "item: missing"),
        ({**AT_ONE, "item": 0, "policy": "cilk", "value": 1}, "item: found a position"),
        ({**AT_ONE, "at": {"leaf": 1.0}, "policy": "cilk", "value": 1}, "unknown swept key 'leaf'"),
        (
            {**AT_ONE, "at": {SIZE: 3.0}, "policy": "cilk", "value": 1},
            "found 3.0, accepted: 1.0, 2.0",
        ),
        (
            {**AT_ONE, "policy": "cilk", "versus": "cilc", "as": "ratio", "value": 1},
            "versus[0].policy: unknown policy label 'cilc'",
        ),
        (
            {**AT_ONE, "policy": "cilk", "versus": "cilk", "as": "ratio", "value": 1},
            "found nothing to compare",
        ),
        ({**AT_ONE, "policy": "cilk", "versus": "cilk_a", "value": 1}, "as: missing"),
        ({**AT_ONE, "policy": "cilk"}, "found no predicate"),
        ({**AT_ONE, "policy": "cilk", "value": 1, "min": 0}, "found value and min/max"),
        (
            {**AT_ONE, "policy": "cilk", "min": 2, "max": 1},
            "min: found 2, accepted: at most max, 1",
        ),
        ({**AT_ONE, "policy": "cilk", "value": 1, "tolerance": "5 %"}, "tolerance_reason: missing"),
        (
            {**AT_ONE, "policy": "cilk", "value": 1, "tolerance": "x"},
            "tolerance: found 'x', accepted",
        ),
        ({**AT_ONE, "order": "cilk < < cilk_a"}, "order: found 'cilk < < cilk_a', accepted: NAME"),
        ({**AT_ONE, "order": "cilk < cilk_a", "margin": "100 %"}, "margin: found 100 %, accepted"),
        ({**AT_ONE, "order": "cilk cilk_a"}, "order: found"),
        (
            {**AT_ONE, "order": "cilk < cilk"},
            "order: found 'cilk < cilk', which compares cilk with itself, accepted: different",
        ),
        ({**AT_ONE, "order": "cilk_a <= {cilk, cilk_a}"}, "compares cilk_a with itself"),
        ({**AT_ONE, "order": "cilk < fast"}, "order.policy: unknown policy label 'fast'"),
        (
            {**AT_ONE, "order": "cilk < cilk_a", "terms": {"slow": {"policy": "cilk"}}},
            "terms.slow: unknown name in order 'slow'",
        ),
        (
            {
                "metric": "makespan_s",
                "terms": {
                    "a": {"policy": "cilk", "workload": ["heat", "sor"]},
                    "b": {"policy": "cilk_a", "workload": "sor"},
                },
                "order": "a < b",
            },
            "terms.a: found 2 values for a, accepted: one",
        ),
        ({**AT_ONE, "policy": "cilk", "trend": "linear"}, "along: missing"),
        ({**SERIES, "along": "size", "policy": "cilk", "trend": "linear"}, "unknown axis 'size'"),
        ({**AT_ONE, "along": SIZE, "policy": "cilk", "trend": "linear"}, "found 1 point along"),
        ({**SERIES, "policy": "cilk", "trend": "linear", "x": [1.0]}, "x: found 1 places for 3"),
        ({**AT_ONE, "policy": "cilk", "over": "slope", "value": 1}, "along: missing"),
        (
            {**AT_ONE, "policy": "cilk", "above": 1, "value": 1},
            "above: found without one number of the cases, accepted: only beside over: mean, min",
        ),
        (
            {**AT_ONE, "above": 1, "order": "cilk < cilk_a"},
            "above: found beside order, accepted: only beside a quantity",
        ),
        ({"probe": "cores", "value": 1}, "unknown probe 'cores'"),
        (
            {"probe": "machine_count", "arguments": {"machin": "x"}, "value": 1},
            "did you mean 'machine'",
        ),
        (
            {"probe": "machine_count", "arguments": {"machine": 3, "what": "x"}, "value": 1},
            "machine: found 3, accepted text",
        ),
        (
            {"probe": "machine_count", "arguments": {"what": "cores"}, "value": 1},
            "machine: missing",
        ),
        (
            {
                "probe": "machine_count",
                "arguments": {"machine": "knl_snc4_flat", "what": "cors"},
                "value": 1,
            },
            "unknown what 'cors'; did you mean 'cores'?",
        ),
        (
            {"experiment": "sizse.yaml", **AT_ONE, "policy": "cilk", "value": 1},
            "no such file; did you mean 'sizes.yaml'?",
        ),
        (
            {"experiment": "quickstrat", **AT_ONE, "policy": "cilk", "value": 1},
            "unknown experiment 'quickstrat'; did you mean 'quickstart'?",
        ),
        (
            {"source": "Paper §1", "not_evaluable": "lost"},
            "source: found 'Paper §1', accepted: text",
        ),
        ({"kind": "figure", "not_evaluable": "lost"}, "kind: found 'figure'"),
        ({"not_evaluable": "lost", "order": "a < b"}, "order: found beside not_evaluable"),
        ({"polcy": "cilk", "not_evaluable": "lost"}, "unknown key 'polcy'; did you mean 'policy'?"),
    ],
)
def test_a_wrong_claim_is_refused_before_anything_runs(
    load: Load, claim: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(claim)
    assert message in str(caught.value)
    assert "claims[0]" in str(caught.value)


def test_an_id_is_given_once(load: Load) -> None:
    claim = {"id": "same", "not_evaluable": "lost"}
    with pytest.raises(ConfigurationError, match=r"claims\[1\]: found 'same' twice, .*claims\[0\]"):
        load(claim, claim)


def test_families_and_experiments_do_not_replace_each_other(tmp_path: Path) -> None:
    """Verdicts go by the name of the family, results into a directory named by the experiment."""
    files = []
    for folder, name in (("one", "claims"), ("two", "claims"), ("two", "others")):
        file = tmp_path / folder / f"{name}.yaml"
        file.parent.mkdir(exist_ok=True)
        (file.parent / "sizes.yaml").write_text(EXPERIMENT)
        claim = {**AT_ONE, "id": "c", "kind": "absolute", "experiment": "sizes.yaml"}
        claim |= {"source": "Book §1", "policy": "cilk", "value": 1}
        file.write_text(json.dumps({"sources": {"Book": "A book"}, "claims": [claim]}))
        files.append(str(file))
    with pytest.raises(ConfigurationError, match=r"two/claims\.yaml' beside .*one/claims\.yaml'"):
        load_families(files[:2])
    same = r"two/sizes\.yaml:1: name: found 'sizes', accepted: another .*one/sizes\.yaml:1"
    with pytest.raises(ConfigurationError, match=same):
        reproduce(load_families([files[0], files[2]]), RunOptions(output=tmp_path / "results"))
    assert not (tmp_path / "results").exists()
