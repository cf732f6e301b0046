"""What an experiment file may say, and what happens when it says something else."""

from __future__ import annotations

from typing import Any

import pytest

from simsched.experiment.schema import Experiment, labels
from simsched.files.errors import ConfigurationError
from simsched.files.yaml_reader import validate

MINIMAL: dict[str, Any] = {
    "name": "x",
    "machines": ["knl_snc4_flat"],
    "workloads": ["heat_small"],
    "policies": ["bats"],
}


def read(**changes: Any) -> Experiment:
    return validate({**MINIMAL, **changes}, Experiment, "test")


def test_names_alone_are_enough() -> None:
    experiment = read(machines="knl_snc4_flat", workloads="heat_small", policies="bats")
    assert labels(experiment.machines) == ["knl_snc4_flat"]
    assert experiment.seeds == [0]
    assert experiment.backend == "native"


def test_a_number_of_seeds_counts_from_zero_and_a_list_is_taken_as_it_is() -> None:
    assert read(seeds=3).seeds == [0, 1, 2]
    assert read(seeds=[7, 3]).seeds == [7, 3]


def test_policy_specs_and_mappings_mean_the_same() -> None:
    one, two = read(policies=["bats[sample_pages=8]", {"name": "bats", "sample_pages": 9}]).policies
    assert (one.name, one.parameters) == ("bats", {"sample_pages": 8})
    assert two.parameters == {"sample_pages": 9}
    assert labels([one, two]) == ["bats[sample_pages=8]", "bats[sample_pages=9]"]


def test_workload_labels_come_from_name_or_file() -> None:
    found = read(workloads=[{"file": "a/montage.json"}, {"file": "b.csv.gz"}, "heat_small"])
    assert labels(found.workloads) == ["montage", "b", "heat_small"]


def test_files_of_one_name_are_labelled_by_their_paths() -> None:
    found = read(
        machines=["a/host.yaml", "b/host.yaml", "c.yaml"],
        workloads=["a/w.py", "b/w.py", {"file": "a/g.dot"}, {"file": "b/g.dot", "label": "x"}],
    )
    assert labels(found.machines) == ["a/host.yaml", "b/host.yaml", "c"]
    assert labels(found.workloads) == ["a/w.py", "b/w.py", "g", "x"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"machine": []}, "unknown key 'machine'; did you mean 'machines'"),
        ({"workers": 8}, "unknown key 'workers'.*; in machines there is 'workers'$"),
        ({"label": "x"}, "; in machines or workloads or policies there is 'label'$"),
        ({"seeds": 0}, "seeds: found 0, accepted: 1 to 100000 seeds"),
        ({"seeds": [3, 1, 3]}, r"seeds\[2\]: found 3 twice, .*; also at .*seeds\[0\]"),
        ({"seeds": [-1]}, "seeds"),
        ({"seeds": "many"}, "seeds: found 'many'"),
        ({"backend": "nativ"}, "backend: found 'nativ'.*did you mean 'native'"),
        ({"policies": []}, "policies: found an empty list, accepted: at least one entry"),
        ({"metrics": []}, "metrics: found an empty list, accepted: at least one entry"),
        ({"seeds": []}, r"seeds: found \[\], accepted: a number of seeds, or a list of seeds"),
        ({"seeds": 1.5}, r"seeds: found 1.5, accepted: a number of seeds, or a list of seeds"),
        ({"machines": [3]}, r"machines\[0\]: found 3, accepted: a name, or a mapping with"),
        ({"name": "../x"}, r"name: found '../x', accepted: 1 to 80 letters, digits and"),
        ({"policies": [5]}, "policies\\[0\\]: found 5, accepted: a name"),
        ({"policies": ["bats[x"]}, "policies\\[0\\]: policy 'bats\\[x': character 7: "),
        ({"policies": ["bats", "bats"]}, "policies\\[1\\]: found 'bats' twice.*label"),
        ({"policies": [{"name": "bats[a=1]", "a": 2}]}, "parameter a: found in the name and"),
        ({"policies": [{"label": "x"}]}, "policies\\[0\\].name: missing"),
        ({"workloads": [{"label": "x"}]}, "found both or neither of name and file"),
        ({"workloads": [{"name": "a", "parameters": {}}]}, "parameters stand beside the name"),
        ({"workloads": [{"name": "a", "format": "dot"}]}, "format: found without file"),
        ({"machines": [{"name": "k", "worker": 3}]}, "unknown key 'worker'.*'workers'"),
        ({"machines": [{"name": "k", "workers": 0}]}, "workers: found 0"),
        ({"machines": [{"name": "k", "pinning": "scater"}]}, "did you mean 'scatter'"),
        ({"baseline": "batz"}, "baseline: unknown policy label 'batz'; did you mean 'bats'"),
        ({"name": "a/b"}, "name: found 'a/b'"),
        ({"sweep": {"zip": {"a": [1], "b": [1, 2]}}}, "a: 1, b: 2, accepted: equal lengths"),
        ({"sweep": {"product": {"a": []}}}, "sweep.product.a"),
        (
            {"sweep": {"zip": {"a": [1]}, "product": {"a": [1]}}},
            r"sweep\.zip\.a: found in product too, .*; also at .*sweep\.product\.a",
        ),
        (
            {"sweep": {"product": {"a": [4, 5, 4.0]}}},
            r"sweep\.product\.a\[2\]: found 4.0 twice, .*; also at .*sweep\.product\.a\[0\]",
        ),
        ({"sweep": {"product": {"a": [["x"], ["x"]]}}}, r"sweep\.product\.a\[1\]: found .* twice"),
        (
            {"sweep": {"zip": {"a": [1, 1, 1], "b": [2, 3, 2]}}},
            r"sweep\.zip\.a\[2\]: found \(1, 2\) twice, .*; also at .*sweep\.zip\.a\[0\]",
        ),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        read(**changes)
    assert "\n" not in str(caught.value)


def test_options_in_a_name_are_kept_beside_the_short_name() -> None:
    """The whole path was the label of a file with options, and of a policy in a file."""
    graphs = ["runs/my.dot[cost=size]", "runs/other.dot[format=dot]", "lib/made.py:many[tasks=5]"]
    found = read(workloads=graphs, policies=["lib/mine.py:Mine[x=1]", "./plain.py"])
    assert labels(found.workloads) == ["my[cost=size]", "other", "many[tasks=5]"]
    assert labels(found.policies) == ["Mine[x=1]", "plain"]
    twice = read(
        workloads=["a/my.dot[cost=size]", "b/my.dot[cost=size]"],
        policies=["a/mine.py:Mine[x=1]", "b/mine.py:Mine[x=1]"],
    )
    assert labels(twice.workloads) == ["a/my.dot[cost=size]", "b/my.dot[cost=size]"]
    assert labels(twice.policies) == ["a/mine.py:Mine[x=1]", "b/mine.py:Mine[x=1]"]
