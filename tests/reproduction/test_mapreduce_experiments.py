"""What the experiments on MapReduce have to have in common with the study."""

from __future__ import annotations

import pytest

from simsched.experiment.study import Study
from simsched.files.yaml_reader import read_document, validate_document
from simsched.reproduction.claims import claims_dir
from simsched.reproduction.schema import ClaimsFile
from simsched.workload.mapreduce_job import REDUCE, JobTasks

# Two reduce slots on each of eight and nine nodes. One wave of reduce tasks, or for Hadoop's Sort
# 0.9 of the slots: 14.4 and 16.2.
REDUCES = {
    "samr_cluster_slow": {"sort": 14, "wordcount": 16},
    "samr_cluster_fast": {"sort": 16, "wordcount": 18},
}
FIGURES = [
    "mapreduce_fig7_6",
    "mapreduce_fig7_6_fast",
    "mapreduce_fig7_7",
    "mapreduce_fig7_7_fast",
    "mapreduce_fig7_8",
    "mapreduce_fig7_9",
    "mapreduce_fig7_10",
]


@pytest.mark.parametrize("name", FIGURES)
def test_reduce_tasks_are_one_wave_on_the_cluster(name: str) -> None:
    plan = Study.from_yaml(read_document(claims_dir().parent / f"{name}.yaml"))
    found = {
        (use.machine.thing.name, use.workload.entry.label or ""): use.source.build().graph
        for use in plan.uses
    }
    for (machine, workload), graph in found.items():
        assert (JobTasks(graph).kind == REDUCE).sum() == REDUCES[machine][workload]


@pytest.mark.parametrize("claim", ["mr-r01", "mr-r03", "mr-r04", "mr-r05", "mr-r06", "mr-r08"])
def test_schedulers_are_compared_after_training(claim: str) -> None:
    """As in the study, where a job runs ten times; the first one finds no history."""
    path = claims_dir() / "mapreduce.yaml"
    (found,) = (
        c for c in validate_document(read_document(path), ClaimsFile).claims if c.id == claim
    )
    assert (found.metric, found.item) == (["iteration_s"], -1)
    plan = Study.from_yaml(read_document(claims_dir().parent / f"{found.experiment}.yaml"))
    assert all(use.source.build().iterations > 1 for use in plan.uses)
