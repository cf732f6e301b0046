"""The option `iterations` of task graph files that state their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simsched.workload.builder import build_graph
from simsched.workload.graph import Workload
from simsched.workload.graph_files import read_graph_file
from simsched.workload.importers import write_graphml


@pytest.mark.parametrize(("options", "iterations"), [({}, 3), ({"iterations": 1}, 1)])
def test_iterations_of_the_file_or_of_the_option(
    tmp_path: Path, options: dict[str, object], iterations: int
) -> None:
    write_graphml(Workload("w", build_graph(np.ones(2)), iterations=3), tmp_path / "w.graphml")
    assert read_graph_file(tmp_path / "w.graphml", options).iterations == iterations
