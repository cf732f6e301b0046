"""Types of the compiled binding."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.hardware.outcome import Job, Outcome

RECORD: np.dtype[np.void]

def program_classes() -> dict[str, tuple[str, ...]]: ...
def run(job: Job) -> Outcome: ...
def page_bytes() -> int: ...
def bind_pages(array: NDArray[Any], first: int, last: int, node: int, strictly: bool) -> int: ...
def locate_pages(array: NDArray[Any], offsets: NDArray[np.int64]) -> NDArray[np.int32]: ...
def measure_primitives(owner: int, thief: int, rounds: int) -> dict[str, float]: ...
def measure_stream(
    cpus: NDArray[np.int32],
    kind: int,
    node: int,
    items: int,
    parts: int,
    sweeps: int,
    rounds: int,
) -> NDArray[np.int64]: ...
def measure_chase(
    cpus: NDArray[np.int32],
    node: int,
    lines: int,
    warm: int,
    steps: int,
    rounds: int,
    evict: int,
    load_items: int,
) -> NDArray[np.int64]: ...
