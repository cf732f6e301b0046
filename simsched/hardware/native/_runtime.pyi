"""Types of the compiled binding."""

import numpy as np

from simsched.hardware.outcome import Job, Outcome

RECORD: np.dtype[np.void]

def program_classes() -> dict[str, tuple[str, ...]]: ...
def run(job: Job) -> Outcome: ...
