"""Reading XML of tools: bounded, and without entities, so that none can expand."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

from simsched.files.bounded import read_text
from simsched.files.errors import ConfigurationError


def xml_root(path: Path, tag: str, tool: str) -> ET.Element:
    """Return the root of a file; a ConfigurationError says what is none of a tool's."""
    text = read_text(path)
    if "<!ENTITY" in text:
        raise ConfigurationError(f"{path}: found an XML entity, accepted none in a {tag}")
    try:
        root = ET.fromstring(text)  # noqa: S314 (no entities, and bounded in size)
    except ET.ParseError as error:
        raise ConfigurationError(f"{path}: found no XML: {error}") from error
    if root.tag != tag:
        raise ConfigurationError(f"{path}: found <{root.tag}>, accepted <{tag}> of {tool}")
    return root
