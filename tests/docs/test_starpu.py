"""The sizes of tiles in docs/starpu.md are those that the machines have timings of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simsched.engine.processors import check_processors
from simsched.engine.timings import timed
from simsched.files.errors import ModelError
from simsched.machine import load_machine
from simsched.machine.model import Machine
from simsched.workload.registry import generate_workload

GUIDE = Path(__file__).parents[2] / "docs" / "starpu.md"
MACHINES = ("mirage", "sirocco", "idgraf", "attila", "hannibal")
PROGRAMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("cholesky", {"tiles": 3, "element_bytes": 4}),
    ("lu", {"tiles": 3, "precision": "single"}),
    ("lu", {"tiles": 3, "precision": "double"}),
    ("gemm", {"tiles_x": 2, "tiles_y": 2, "precision": "single"}),
    ("gemm", {"tiles_x": 2, "tiles_y": 2, "precision": "double"}),
)
TRIED = (16, 32, 64, 160, 192, 256, 320, 480, 512, 640, 768, 960, 1024, 1280, 1440, 1920)


def listed(machine: str) -> list[list[int]]:
    """Sizes of each program in the row of a machine in the table of sizes."""
    table = GUIDE.read_text().split("which `costs: measured` accepts as `tile_size`:")[1]
    row = next(line for line in table.splitlines() if line.startswith(f"| {machine} |"))
    cells = [cell.strip() for cell in row.strip("|").split("|")[1:]]
    return [[int(size) for size in cell.split(", ")] if cell else [] for cell in cells]


def runs(machine: Machine, name: str, parameters: dict[str, Any]) -> bool:
    workload = generate_workload(name, {**parameters, "costs": "measured"})
    try:
        check_processors(machine, timed(machine, workload), machine.place_workers())
    except ModelError:
        return False
    return True


@pytest.mark.parametrize("name", MACHINES)
def test_sizes_of_tiles(name: str) -> None:
    machine = load_machine(name)
    for (program, parameters), sizes in zip(PROGRAMS, listed(name), strict=True):
        found = []
        for size in TRIED:
            depths = [{"depth": depth} for depth in (3840, size)] if program == "gemm" else [{}]
            given = {**parameters, "tile_size": size}
            if any(runs(machine, program, {**given, **depth}) for depth in depths):
                found.append(size)
        assert found == sizes, program
