"""Memory spaces: nodes whose data the same processors use in place; docs/semantics.md, rules CD."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def number_spaces(in_place: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return the space of every node, numbered by their first nodes.

    `in_place`, shape (n_domains, n_nodes), says which domains use the data of which nodes there.

    >>> number_spaces(np.array([[True, True, False], [False, False, True]])).tolist()
    [0, 0, 1]
    """
    known: dict[bytes, int] = {}
    users = [column.tobytes() for column in np.ascontiguousarray(in_place.T)]
    return np.array([known.setdefault(column, len(known)) for column in users], np.int32)
