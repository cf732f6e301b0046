"""Policies for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from simsched.names.docstrings import parameter_texts, section, summary
from simsched.names.markup import facts, table
from simsched.names.specs import format_spec
from simsched.policy.contract.base import Policy
from simsched.policy.contract.registry import spec_of


def policy_html(policy: Policy) -> str:
    """Return what a policy is, its parameters, and where it was published."""
    cls = type(policy)
    texts = parameter_texts(cls)
    rows = [
        (
            f.name,
            str(getattr(policy, f.name)),
            str(f.default),
            _accepted(f.metadata),
            texts.get(f.name, ""),
        )
        for f in fields(policy)
    ]
    html = facts(f"policy {format_spec(*spec_of(policy))}", [], summary(cls))
    html += table(("parameter", "value", "default", "accepted", "meaning"), rows)
    references = " ".join(section(cls.__doc__ or "", "References"))
    return html + facts("References", [], references) if references else html


def _accepted(metadata: Mapping[str, Any]) -> str:
    """Return what a parameter accepts, as far as it says so."""
    choices, low, high = (metadata.get(key) for key in ("choices", "low", "high"))
    if choices is not None:
        return ", ".join(map(str, choices))
    if low is None and high is None:
        return ""
    if high is None:
        return f"{low} or more"
    return f"at most {high}" if low is None else f"{low} to {high}"
