"""What nodes keep between jobs: the weights of phases by application, in a file.

One mapping per node::

    applications:
      sort: {
        0: {M1: 0.8, M2: 0.2, R1: 0.59, R2: 0.19, R3: 0.22},
        1: {M1: 0.77, M2: 0.23},
      }

Nodes have the numbers of the run, from 0. A node that is missing knows nothing of the application,
one without the weights of a kind nothing of tasks of that kind. Braces make a file that has been
cut off no YAML at all.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator

from simsched.files.atomic import write_text
from simsched.files.errors import ConfigurationError, unknown_name
from simsched.files.yaml_reader import (
    Document,
    FieldError,
    Section,
    read_document,
    validate_document,
)
from simsched.policy.parts.mapreduce_formulas import Weights
from simsched.policy.parts.mapreduce_speculation import History
from simsched.workload.mapreduce_job import MAP, REDUCE

NAMES = {MAP: ("M1", "M2"), REDUCE: ("R1", "R2", "R3")}  #: of the weights, by kind of task
MOST_OFF = 1e-6  #: that a sum of weights may differ from 1

_Weight = Annotated[float, Field(ge=0.0, le=1.0)]


class NodeWeights(Section):
    """Weights of one node for one application."""

    m1: _Weight | None = Field(default=None, alias="M1")
    m2: _Weight | None = Field(default=None, alias="M2")
    r1: _Weight | None = Field(default=None, alias="R1")
    r2: _Weight | None = Field(default=None, alias="R2")
    r3: _Weight | None = Field(default=None, alias="R3")

    @model_validator(mode="after")
    def _check_sums(self) -> NodeWeights:
        for names in NAMES.values():
            given = {n: getattr(self, n.lower()) for n in names}
            missing = [n for n, weight in given.items() if weight is None]
            if missing and len(missing) < len(names):
                accepted = f"all of {', '.join(names)} or none"
                raise FieldError((missing[0],), f"missing, accepted: {accepted}")
            total = 1.0 if missing else math.fsum(given.values())
            if abs(total - 1.0) > MOST_OFF:
                raise FieldError((), f"{' + '.join(names)}: found {total:.6g}, accepted 1")
        return self

    def of(self, kind: int) -> Weights:
        """Return the weights of a kind of task; empty where there are none."""
        weights = (getattr(self, name.lower()) for name in NAMES[kind])
        return tuple(weight for weight in weights if weight is not None)


class HistoryFile(Section):
    """A file with history."""

    #: by application and node
    applications: Annotated[dict[str, dict[int, NodeWeights]], Field(min_length=1)]


@dataclass(frozen=True, eq=False)
class Recorded:
    """History that has been read."""

    document: Document  # content and places
    file: HistoryFile  # the same, checked as far as it can be without a run

    def weights(self, applications: list[str], n_nodes: int) -> dict[tuple[int, str, int], Weights]:
        """Return the weights with which a run begins, by node, application and kind of task."""
        found: dict[tuple[int, str, int], Weights] = {}
        for application, nodes in self.file.applications.items():
            loc: tuple[str | int, ...] = ("applications", application)
            if application not in applications:
                message = unknown_name("application", application, dict.fromkeys(applications))
                self.document.fail(loc, f"history of another job: {message}")
            for node, weights in nodes.items():
                if not 0 <= node < n_nodes:
                    message = f"found node {node}, accepted 0 to {n_nodes - 1} (nodes of the run)"
                    self.document.fail((*loc, node), message)
                for kind in NAMES:
                    if weights.of(kind):
                        found[node, application, kind] = weights.of(kind)
        return found


def read_history(path: str | Path) -> Recorded:
    """Return the history in a file."""
    document = read_document(Path(path).expanduser())
    return Recorded(document, validate_document(document, HistoryFile))


def write_history(path: str | Path, state: Any) -> None:
    """Write what the nodes have learnt in a run, for the parameter `history` of the next one.

    Parameters
    ----------
    path : str or Path
        The file; it is replaced if it is there.
    state : History
        What the policy knows at the end of the run, `Run.state`.

    Raises
    ------
    ConfigurationError
        Nothing has been learnt, or the file cannot be written.
    """
    if not isinstance(state, History) or not state.weights:
        raise ConfigurationError(
            f"{path}: found no weights to be written, "
            "accepted: the state of a run of samr with tuned_weights in which tasks have ended"
        )
    lines = ["applications:"]
    for application in sorted({key[1] for key in state.weights}):
        lines.append(f"  {json.dumps(application)}: {{")
        for node in sorted({key[0] for key in state.weights if key[1] == application}):
            values = [
                f"{name}: {weight!r}"
                for kind, names in NAMES.items()
                for name, weight in zip(
                    names, state.weights.get((node, application, kind), ()), strict=False
                )
            ]
            lines.append(f"    {node}: {{{', '.join(values)}}},")
        lines.append("  }")
    write_text(Path(path), "\n".join(lines) + "\n")
