"""The scheduler of Hadoop for several jobs: first come, first served."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.policy import register
from simsched.policy.parts.mapreduce import MapReducePolicy
from simsched.policy.parts.mapreduce_tracker import Tracker


@register("hadoop_fifo")
@dataclass(frozen=True, kw_only=True)
class HadoopFifo(MapReducePolicy[Tracker]):
    """Jobs in the order of their arrival, without priorities or shares.

    Notes
    -----
    A free slot gets a task of the first job that has one waiting; among its map tasks one whose
    split is on the node's disk, if there is any. No speculation.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, section 7.2.
    """
