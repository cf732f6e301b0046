"""Machines from what users have: topologies, latencies, bandwidths of the machine itself."""

from simsched.machine.facts.described import described
from simsched.machine.facts.registry import fact_formats, recognised

__all__ = ["described", "fact_formats", "recognised"]
