"""How long a line takes from one core to another, by how far these are apart."""

from __future__ import annotations

import math
from itertools import combinations

from simsched.machine.facts.gathered import Gathered, Stated

LOCAL, NEAR, FAR = "local", "near", "far"


def transfer_ns(gathered: Gathered) -> dict[str, Stated[float]]:
    """Return the one-way latency between cores of a domain, of a package, and of packages.

    Of a matrix between hardware threads the mean of each of these counts; otherwise what a file
    says of cores of one package stands for those of a domain, too.
    """
    matrix = gathered.matrix("one_way_ns")
    if matrix is None:
        found = {str(key): stated for key, stated in gathered.mapped("transfer_ns").items()}
        if NEAR in found:
            found.setdefault(LOCAL, found[NEAR])
        return found
    cores = gathered.topology.cores
    by_thread = {thread: core for core in cores for thread in core.threads}
    if matrix.value.shape[0] == len(cores):  # one thread of each core
        by_thread = dict(enumerate(cores))
    sums: dict[str, list[float]] = {LOCAL: [], NEAR: [], FAR: []}
    for one, other in combinations(range(matrix.value.shape[0]), 2):
        left, right = by_thread.get(one), by_thread.get(other)
        value = matrix.value.values[other][one]
        if left is None or right is None or left is right or math.isnan(value):
            continue
        if left.domain == right.domain:
            sums[LOCAL].append(value)
        else:
            sums[NEAR if left.package == right.package else FAR].append(value)
    return {
        reach: Stated(
            math.fsum(values) / len(values), f"{matrix.place}, mean of {len(values)}", matrix.key
        )
        for reach, values in sums.items()
        if values
    }
