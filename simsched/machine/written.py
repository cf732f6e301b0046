"""Machine documents as the text of a file."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedSeq


def document_yaml(document: Mapping[str, Any]) -> str:
    """Return a machine document as the text of a file; lists are written in one line."""
    yaml = YAML()
    yaml.width = 120
    yaml.indent(mapping=2, sequence=4, offset=2)
    stream = StringIO()
    yaml.dump(_in_one_line(document), stream)
    return stream.getvalue()


def _in_one_line(value: Any) -> Any:
    """Return a copy in which lists are marked as to be written in one line, unless of mappings."""
    if isinstance(value, Mapping):
        return {key: _in_one_line(item) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    copy = CommentedSeq(_in_one_line(item) for item in value)
    if not any(isinstance(item, Mapping) for item in value):
        copy.fa.set_flow_style()
    return copy
