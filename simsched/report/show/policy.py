"""Policies for notebooks."""

from __future__ import annotations

from simsched.names.docstrings import parameter_texts, section, summary
from simsched.names.markup import facts, table
from simsched.names.parameters import parameters_of
from simsched.names.specs import format_spec
from simsched.policy.contract.base import Policy
from simsched.policy.contract.registry import spec_of


def policy_html(policy: Policy) -> str:
    """Return what a policy is, its parameters, and where it was published."""
    cls = type(policy)
    texts = parameter_texts(cls)
    rows = [
        (name, str(getattr(policy, name)), str(p.default), p.accepted, texts.get(name, ""))
        for name, p in parameters_of(cls).items()
    ]
    html = facts(f"policy {format_spec(*spec_of(policy))}", [], summary(cls))
    html += table(("parameter", "value", "default", "accepted", "meaning"), rows)
    references = " ".join(section(cls.__doc__ or "", "References"))
    return html + facts("References", [], references) if references else html
