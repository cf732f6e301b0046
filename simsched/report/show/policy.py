"""What there is to say about a policy."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

from simsched.names.docstrings import section, summary
from simsched.names.specs import format_spec, parse_spec
from simsched.policy.contract.base import Policy, own_name
from simsched.policy.contract.registry import (
    PolicyInfo,
    make_policy,
    policy_info,
    spec_of,
)
from simsched.report.description import Description, Fact, parameter_rows


def policy_description(policy: Policy) -> Description:
    """Return a policy, its parameters, and where it was published."""
    cls = type(policy)
    info = PolicyInfo(cls.name, cls, {}, summary(cls), "", cls.__module__)
    return _described(format_spec(*spec_of(policy)), info, policy.parameters(), {})


def named_policy(text: str) -> Description:
    """Return a policy, a preset or a spec."""
    name, given = parse_spec("policy", text)
    info = policy_info(name)
    values = make_policy(name, given).parameters() if given else info.params
    cls = info.cls
    figures = {} if cls.figures is Policy.figures else dict(cls(**values).figures())
    return _described(name, info, values, figures)


def _described(
    name: str, info: PolicyInfo, values: Mapping[str, Any], figures: Mapping[str, float]
) -> Description:
    cls, rows = info.cls, parameter_rows(info, values)
    of = own_name(cls)
    facts = [Fact("preset of", of)] if info.is_preset and name != of else []
    facts += [Fact("module", info.source), Fact("published in", info.references)]
    facts.append(Fact("needs", "; ".join(need.what for need in cls.needs)))
    return Description(
        f"policy {name}",
        info.description,
        [fact for fact in facts if fact.value],
        text=_documentation(cls, info.description),
        parameters=rows,
        figures=figures,
        data={
            "name": name,
            "policy": of,
            "description": info.description,
            "family": info.family,
            "references": info.references,
            "needs": [need.what for need in cls.needs],
            "source": info.source,
            "parameters": rows,
            "figures": figures,
        },
    )


def _documentation(cls: type[Policy], gloss: str) -> str:
    """Return what a docstring says besides its first paragraph, parameters and references."""
    said = re.split(r"\n\n\w+\n---", inspect.cleandoc(cls.__doc__ or ""), maxsplit=1)[0]
    if summary(cls) == gloss:
        said = said.partition("\n\n")[2]
    return "\n\n".join(filter(None, (said, "\n".join(section(cls.__doc__ or "", "Notes")))))
