"""The shape of links and of shared controllers in a machine file."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from simsched.files.yaml_reader import FieldError, Section
from simsched.machine.values import Bandwidth, Curve, Index, Name, Size, Sourced, value_or


class Snooping(Section):
    """Messages with which caches stay coherent by asking each other about every line.

    Whoever misses a line sends a request to its home, the domain of its memory. The home sends a
    probe to every other domain that it reaches over such links, and all of them but the reader, and
    the home, answer to the reader. The home sends the line behind a head, and at the end the reader
    tells it so. All of these cross the links between their domains, also those of a domain that
    reads its own memory. Memory that belongs to no domain has no messages.

    Parameters
    ----------
    line : size
        Bytes of data that come at a time.
    request : size
        Of a request and of a probe, which have an address.
    response : size
        Of an answer to a probe, the head of the data, and the end.
    """

    line: Sourced[Size]
    request: Sourced[Size]
    response: Sourced[Size]


class ControllerSpec(Section):
    """A memory controller that several nodes share, besides what each of them sustains.

    Parameters
    ----------
    nodes : list of str
        Names of the nodes, for instance ``dram0`` and ``dram1``; each is behind one controller at
        most.
    bandwidth : bandwidth
        What it sustains for all of them together.
    bandwidth_by_flows : list of bandwidths, or mapping of int to bandwidth, optional
        The same by the number of accesses at the same time, as for memory.
    peak_bandwidth : bandwidth, optional
        What the data sheet says; policies that read data sheets see each node's part of it.
    """

    nodes: Sourced[Annotated[list[Name], Field(min_length=1)]]
    bandwidth: Sourced[Bandwidth]
    bandwidth_by_flows: Sourced[Curve] | None = None
    peak_bandwidth: Sourced[Bandwidth] | None = None


def check_saturation(by_flows: object, saturates: str) -> None:
    """Refuse two ways of saying how a rate depends on the number of flows."""
    if by_flows is not None and saturates != "at_once":
        raise FieldError(("saturates",), "found beside bandwidth_by_flows, accepted: one of them")


class LinkSpec(Section):
    """Links between pairs of domains, or one link that many paths share.

    Parameters
    ----------
    bandwidth : bandwidth
        Of each link; of each direction when `duplex` is full.
    connects : list of pairs of int
        One link per pair of domains; routes are the shortest over all of them.
    crossed_by : {"remote", "all", "other sockets", "listed"}
        One shared link, crossed by the paths to other domains' nodes or by all paths; or one link
        out of each socket and one into it, crossed by the paths between it and others: network
        cards of computers at a switch that is never full; or one shared link that those paths
        cross whose rules list it.
    bandwidth_by_flows : list of bandwidths, or mapping of int to bandwidth, optional
        Of each link by the number of flows on it, as for memory.
    saturates : {"at_once", "gradually"}
        As for memory; `bandwidth` is what all cores of a domain get over it together.
    duplex : {"full", "half"}
        Whether `connects` makes one link per direction or one for both.
    snooping : mapping, optional
        Messages of coherence that cross these links beside data; none by default, which stands for
        directories that know where copies are.
    """

    bandwidth: Sourced[Bandwidth]
    connects: (
        Sourced[
            Annotated[
                list[Annotated[list[Index], Field(min_length=2, max_length=2)]], Field(min_length=1)
            ]
        ]
        | None
    ) = None
    crossed_by: Literal["remote", "all", "other sockets", "listed"] | None = None
    bandwidth_by_flows: Sourced[Curve] | None = None
    saturates: Literal["at_once", "gradually"] = "at_once"
    duplex: Literal["full", "half"] = "full"
    snooping: Snooping | None = None

    @model_validator(mode="after")
    def _check_ends(self) -> Self:
        check_saturation(self.bandwidth_by_flows, self.saturates)
        if (self.connects is None) == (self.crossed_by is None):
            raise FieldError(
                (), "found both or neither of connects and crossed_by, accepted: one of them"
            )
        if self.snooping is not None and self.connects is None:
            raise FieldError(("snooping",), "accepted: only in links that connect domains")
        for position, (left, right) in enumerate(value_or(self.connects, ())):
            if left == right:
                raise FieldError(("connects", 0, position), f"found domain {left} linked to itself")
        return self
