"""No order of a set or a hash reaches a decision."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import hashlib
import sys
from simsched.engine.run import simulate
from simsched.files.errors import ModelError
from simsched.machine import load_machine
from simsched.policy import list_policies, make_policy
from simsched.workload.registry import make_small_workload

digest = hashlib.sha256()
machine = load_machine("knl_snc4_hybrid")  # has all kinds of memory
for info in list_policies():
    if info.is_preset and sys.argv[1] == "classes":
        continue
    for family, backend in (("heat", sys.argv[2]), ("pagerank", "native"), ("cholesky", "native")):
        try:
            run = simulate(
                machine, make_small_workload(family), make_policy(info.name),
                workers=8, seed=3, backend=backend, events=True,
            )
        except ModelError as refusal:  # policies that refuse spawn trees
            assert "found a spawn tree" in str(refusal)
            continue
        for column in run.trace.events.values():
            digest.update(column.tobytes())
print(digest.hexdigest())
"""


@pytest.mark.parametrize(
    ("chosen", "backend"),
    [("classes", "native"), pytest.param("all", "simpy", marks=pytest.mark.slow)],
)
def test_traces_do_not_depend_on_the_hash_seed(chosen: str, backend: str) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, chosen, backend],
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("0", "1", "31337")
    ]
    digests = [process.communicate()[0].strip() for process in processes]
    assert all(process.returncode == 0 for process in processes)
    assert len(digests[0]) == 64
    assert len(set(digests)) == 1
