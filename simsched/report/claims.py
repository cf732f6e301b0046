"""Claims beside simulated values: their texts, tables for the terminal, and plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

import simsched
from simsched.experiment.progress import duration
from simsched.files.units import plural
from simsched.report.json_document import finite
from simsched.report.tables import number
from simsched.report.terminal import plain_table
from simsched.reproduction.claims import DIRECTED, Reproduction, by_source, summary
from simsched.reproduction.judge import CaseVerdict, Verdict
from simsched.reproduction.schema import KINDS, VALUE_TOLERANCE, Claim, Term

UNDIAGNOSED = "undiagnosed"
#: What is counted, in the order of :func:`shares`.
COUNTED = (
    "orderings",
    "comparative numbers",
    "same direction",
    "within a factor of 2",
    "within 15 %",
    "absolute numbers",
    "constants",
    "derived, not counted",
    "not evaluable",
    "calibration",
)
#: Numbers of one case that tables show; the JSON document has all.
MAX_SHOWN = 6


def figure(value: float) -> str:
    """Return a number with four significant digits and, if large or small, an exponent.

    >>> figure(398_901_632.0), figure(3e-6), figure(1.5), figure(0.0)
    ('398.9e6', '3e-6', '1.5', '0')
    """
    if not math.isfinite(value) or value == 0.0 or 1e-3 <= abs(value) < 1e6:
        return number(value)
    exponent = 3 * math.floor(math.log10(abs(value)) / 3)
    return f"{value / 10.0**exponent:.4g}e{exponent}"


def published_text(claim: Claim) -> str:
    """Return what is published, as text."""
    if claim.order is not None:
        return "; ".join(claim.order)
    if claim.trend is not None:
        return f"{claim.trend.replace('_', '-')} along {claim.along}"
    if claim.equals is not None:
        return claim.equals
    if claim.value is not None:
        return ", ".join(map(figure, claim.value))
    if claim.min is not None and claim.max is not None:
        return f"{figure(claim.min)} to {figure(claim.max)}"
    if claim.min is not None:
        return f"at least {figure(claim.min)}"
    return f"at most {figure(claim.max)}" if claim.max is not None else ""


def simulated_text(verdict: Verdict) -> str:
    """Return what is simulated, as text: a number, a range, or how many cases hold."""
    if verdict.text or not verdict.cases:
        return verdict.text
    claim, cases = verdict.claim, verdict.cases
    if claim.order is None and claim.trend is None:
        values = [value for case in cases for value in case.simulated[""]]
        if claim.value is not None and len(claim.value) > 1:
            return ", ".join(map(figure, values))
        low, high = min(values), max(values)
        shown = figure(low) if low == high or len(values) == 1 else ""
        return shown or f"{figure(low)} to {figure(high)}"
    if len(cases) == 1:
        return _shown(cases[0])
    holding = sum(case.holds for case in cases)
    text = f"{holding} of {len(cases)} cases"
    against = next((case for case in cases if not case.holds), None)
    if against is None:
        return text
    return f"{text}; not {' '.join(against.where.values())}: {_shown(against)}"


def _shown(case: CaseVerdict) -> str:
    """Return the numbers of one case, the first ones of many."""
    if list(case.simulated) == [""]:
        shown = list(map(figure, case.simulated[""]))
    else:
        shown = [f"{name} {figure(values[0])}" for name, values in case.simulated.items()]
    return ", ".join(shown[:MAX_SHOWN] + ["..."] * (len(shown) > MAX_SHOWN))


def what_text(claim: Claim) -> str:
    """Return what a claim is about."""
    terms = [claim, *claim.terms.values()]
    parts = list(dict.fromkeys(text for term in terms if (text := _term_text(term))))
    return "; ".join(parts) or claim.note


def _term_text(term: Term) -> str:
    """Return what one quantity is."""
    if term.probe is not None:
        inside = ", ".join(str(value) for value in (term.arguments or {}).values())
        return f"{term.probe.replace('_', ' ')} ({inside})" if inside else term.probe
    parts = [" + ".join(term.metric)] if term.metric else []
    if term.per:
        parts.append(f"per {' + '.join(term.per)}")
    if term.item is not None:
        parts.append(f"[{term.item}]")
    if term.over not in (None, "every"):
        limit = term.above if isinstance(term, Claim) else None
        parts.append(f"({term.over}{'' if limit is None else f' of those above {limit:g}'})")
    if term.as_:
        parts.append(term.as_.replace("_", " "))
    if term.policy:
        parts.append(_some(term.policy))
    if term.versus:
        against = [item.policy or item.machine or item.workload or [] for item in term.versus]
        parts.append(f"vs {_some([label for labels in against for label in labels])}")
    parts += [_some(labels) for labels in (term.workload, term.machine) if labels]
    parts += [f"{key}={_some([str(v) for v in values])}" for key, values in (term.at or {}).items()]
    return ", ".join(parts)


def _some(names: Sequence[str]) -> str:
    """Return names, the first few of many."""
    return "/".join(names) if len(names) <= 3 else f"{names[0]}/... ({len(names)})"


def tolerance_text(claim: Claim) -> str:
    """Return the tolerance that was applied to a published value."""
    if claim.tolerance is not None:
        return f"{claim.tolerance} ({claim.tolerance_reason})"
    return f"{100 * VALUE_TOLERANCE:g} %" if claim.value is not None else ""


def diagnosis_text(verdict: Verdict) -> str:
    """Return why a claim fails, nothing when it does not."""
    return (verdict.claim.diagnosis or UNDIAGNOSED) if verdict.holds is False else ""


def verdict_text(verdict: Verdict) -> str:
    """Return whether a claim holds, and by how much it fails; of an effect its direction, too."""
    if verdict.holds is not False:
        return verdict.word
    missed = verdict.missed_by
    how_far = "" if math.isnan(missed) else f" by {number(float(f'{100.0 * missed:.3g}'))} %"
    text = f"{verdict.word}{how_far if missed else ' by a tie'}"
    direction = verdict.effect.same_direction
    if direction is None:
        return text
    return f"{text}, {'same' if direction else 'other'} direction"


def claim_tables(verdicts: Sequence[Verdict]) -> list[Table]:
    """Return one table per source with the claims that can be evaluated."""
    columns = ("claim", "what", "published", "simulated", "verdict")
    words = ("claim", "what", "verdict")
    return [
        plain_table(columns, rows, left=words, fold=columns, title=source)
        for source, found in by_source(verdicts).items()
        if (rows := [_row(verdict) for verdict in found if verdict.holds is not None])
    ]


def _row(verdict: Verdict) -> tuple[str, ...]:
    """Return the row of a claim that can be evaluated."""
    claim = verdict.claim
    word = verdict_text(verdict) + (" (calibration)" if claim.calibrated_on else "")
    if verdict.holds is False:
        word = f"{word}: {diagnosis_text(verdict)}"
    return claim.id, what_text(claim), published_text(claim), simulated_text(verdict), word


def summary_table(reproduction: Reproduction) -> Table:
    """Return how many claims hold by kind, per source and family."""
    *rows, total = summary_rows(reproduction)
    columns = ("source", "claims", *COUNTED)
    table = plain_table(columns, rows, left=columns[:2], title="Claims that hold")
    table.add_section()
    table.add_row(*map(Text, total))
    return table


def summary_rows(reproduction: Reproduction) -> list[list[str]]:
    """Return the rows of a table of counts; the last is that of all together."""
    counted = summary(reproduction)
    rows = [
        [source, family, *shares(own)]
        for source, found in counted["by_source"].items()
        for family, own in found.items()
    ]
    return [*rows, ["all", "", *shares(counted)]]


def shares(found: Mapping[str, Any]) -> list[str]:
    """Return the counts of :func:`simsched.reproduction.claims.by_kind` as text."""
    comparative = found["comparative"]
    directed = [f"{comparative[key]} / {comparative['directed']}" for key in DIRECTED[1:]]
    holding = {kind: _share(found[kind]) for kind in (*KINDS, "calibration")}
    return [
        holding["ordering"],
        holding["comparative"],
        *directed,
        holding["absolute"],
        holding["constant"],
        holding["derived"],
        str(found["not_evaluable"]),
        holding["calibration"],
    ]


def _share(counted: Mapping[str, int]) -> str:
    return f"{counted['holding']} / {counted['evaluable']}"


def left_out_table(reproduction: Reproduction) -> Table | None:
    """Return the claims that cannot be evaluated with the reasons, None when there are none."""
    left = [verdict.claim for verdict in reproduction.all if verdict.holds is None]
    if not left:
        return None
    columns = ("claim", "source", "reason")
    rows = [(claim.id, claim.source, str(claim.not_evaluable)) for claim in left]
    return plain_table(columns, rows, left=columns, fold=columns, title="Not evaluable")


def runs_text(runs: Mapping[str, Any]) -> str:
    """Return what the runs of a reproduction have taken.

    >>> runs_text({"computed": 12, "reused": 0, "elapsed_s": 75.0})
    '12 runs simulated in 1 min 15 s, 0 taken from earlier'
    """
    time = duration(runs["elapsed_s"])
    computed = plural(runs["computed"], "run")
    return f"{computed} simulated in {time}, {runs['reused']} taken from earlier"


def claims_document(reproduction: Reproduction) -> dict[str, Any]:
    """Return the verdicts as one JSON document (plain data, no NaN)."""
    family = {id(v): name for name, found in reproduction.verdicts.items() for v in found}
    verdicts = reproduction.all
    return {
        **summary(reproduction),
        "claims": [
            {"family": family[id(v)], **plain_claim(v)} for v in verdicts if v.holds is not None
        ],
        "not_evaluable": [
            {
                "id": v.claim.id,
                "family": family[id(v)],
                "source": v.claim.source,
                "kind": v.claim.kind,
                "reason": v.claim.not_evaluable,
            }
            for v in verdicts
            if v.holds is None
        ],
        "version": simsched.__version__,
    }


def about(claim: Claim) -> dict[str, str]:
    """Return what is published where, as plain data."""
    return {
        "id": claim.id,
        "source": claim.source,
        "kind": claim.kind,
        "what": what_text(claim),
        "published": published_text(claim),
    }


def plain_claim(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as plain data."""
    claim = verdict.claim
    found: dict[str, Any] = {
        **about(claim),
        "simulated": simulated_text(verdict),
        "verdict": verdict.word,
        "holds": verdict.holds,
        "missed_by": verdict.missed_by,
        **vars(verdict.effect),
        "calibrated_on": claim.calibrated_on,
        "tolerance": tolerance_text(claim),
        "diagnosis": diagnosis_text(verdict),
        "note": claim.note,
        "experiments": verdict.planned.experiments(),
        "cases": [vars(case) for case in verdict.cases],
    }
    return {key: finite(value) for key, value in found.items()}
