"""Replicas of blocks: what a placement may say about them, and which of them is near."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import PolicyError
from simsched.machine.model import Machine
from simsched.policy.contract.base import Placement

FOLLOWS = ("stays", "at_writes", "at_accesses")  #: which accesses give a block a new home
STAYS, AT_WRITES, AT_ACCESSES = range(3)


def refuse_copied(where: str, what: str) -> None:
    """Raise PolicyError for what a policy does on a machine whose data are copied to devices."""
    raise PolicyError(
        f"{where}: {what}, accepted only on machines that do not copy data to the memories of "
        "their devices (data: copied)"
    )


def check_replicas(placement: Placement, machine: Machine) -> None:
    """Raise PolicyError unless the replicas of a placement can be.

    Each is on a node that holds the block only once; the block has a home from the
    start, and neither comes from a pool nor is copied by the engine.
    """
    replicas, home = placement.replicas, placement.home
    if replicas is None:
        return
    if machine.copies_data:
        refuse_copied("replicas", "keeps replicas of blocks")
    held = np.sort(np.column_stack((replicas, home)), axis=1)
    twice = ((np.diff(held, axis=1) == 0) & (held[:, 1:] >= 0)).any(axis=1)
    pooled = np.zeros(len(home), bool) if placement.pools is None else placement.pools.is_pooled
    follows = followed(placement) != STAYS
    has_some = (replicas >= 0).any(axis=1)
    for wrong, text in (
        (twice, "found a node twice, accepted different ones"),
        (has_some & (home < 0), "found no home, accepted a node"),
        (has_some & pooled, "found a block of a pool, accepted others"),
        (has_some & follows, "found a block that follows accesses, accepted others"),
    ):
        if wrong.any():
            raise PolicyError(f"replicas: block {int(wrong.argmax())}: {text}")


def followed(placement: Placement) -> NDArray[np.uint8]:
    """Return which accesses give each block a new home: `STAYS`, `AT_WRITES` or `AT_ACCESSES`."""
    following = np.full(len(placement.home), STAYS, np.uint8)
    if placement.follows_writes is not None:
        following[placement.follows_writes] = AT_WRITES
    if placement.follows_accesses is not None:
        following[placement.follows_accesses] = AT_ACCESSES
    return following


def make_replicas(placement: Placement) -> NDArray[np.int32]:
    """Return the replicas of all blocks; shape (n_blocks, 0) when there are none."""
    replicas = placement.replicas
    if replicas is None or not (replicas >= 0).any():
        return np.zeros((len(placement.home), 0), np.int32)
    return np.ascontiguousarray(replicas, np.int32)


def node_ranks(machine: Machine) -> NDArray[np.int32]:
    """Return how near nodes are, 0 the nearest; shape (n_domains, n_nodes).

    Nodes of the own domain come first, then those with the shorter latency, of these the one from
    which a core draws more, of equal ones the lower.
    """
    ranks = np.zeros((machine.n_domains, len(machine.nodes)), np.int32)
    for domain, paths in enumerate(machine.paths):
        order = sorted(
            range(len(paths)),
            key=lambda node, domain=domain, paths=paths: (  # type: ignore[misc]
                machine.nodes[node].domain != domain,
                paths[node].latency_ps,
                -paths[node].core_cap_bytes_per_s[0],
                node,
            ),
        )
        ranks[domain, order] = np.arange(len(order))
    return ranks
