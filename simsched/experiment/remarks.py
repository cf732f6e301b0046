"""Why one run is shorter than another, in two or three sentences.

Every rule looks at one part of the time of the mean worker and says what differs, with the figures
that it rests on. A rule is a function of a :class:`Pair`, registered with :func:`rule`, that
yields what its part contributes to the difference and a clause with the workers as its subject, or
nothing. Rules whose part explains little are silent, and so are all where the makespans hardly
differ. What differs in the way that would make the part longer is no reason why it is shorter.

Where runs were simulated with their event traces, rules know the parts of
:mod:`simsched.analysis.waterfall`; otherwise only the columns of results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

from simsched.analysis.idle import AWAITING, FAILED, KEPT, NOT_GIVEN
from simsched.analysis.supply import ARRIVALS, BETWEEN, DEPENDENCIES, ON_ITS_WAY, TAIL, UNFOLDING
from simsched.analysis.waterfall import (
    CACHE,
    COMPUTE,
    MEMORY,
    MIGRATION,
    POOLS,
    REMOTE,
    SPAWN,
    STEAL,
    group_of,
)
from simsched.experiment.facts import TASKS, Pair, facts_of, is_idle
from simsched.experiment.summary import Group, Row, grouped, misfits_of, swept

#: Makespans that differ by less than this part of the first one need no explanation.
LEAST_CHANGE = 0.01
#: Parts whose difference is below this part of that of the makespans explain little.
LEAST_PART = 0.1
#: What goes the other way is said if it is this part of the difference of the makespans.
LEAST_AGAINST = 0.25
#: Idle time that is more than this part of the difference is said to follow where it is no cause.
MOST_FOLLOWS = 0.5
MOST = 3  #: sentences
MOST_POLICIES = 3  #: of which results say something, or that are drawn beside the baseline
#: Shares that differ by fewer percentage points are alike, and so are counts by less than a tenth.
LEAST_POINTS = 5.0
LEAST_RATIO = 1.1
#: Kinds of memory beside DRAM: which make waiting longer (1) or shorter (-1), the more comes from
#: them. Of others it is not known.
LONGER_WITH = {"cxl": 1.0, "gpu": -1.0, "hbm": -1.0, "nvm": 1.0}
WITHOUT_TASK = "most_workers_without_task"  #: in the facts of runs with traces


@dataclass(frozen=True)
class Remark:
    """What a rule has found."""

    #: What the part contributes to the difference of the makespans.
    seconds: float
    #: What its workers do more or less; their plural is the subject.
    clause: str


Rule = Callable[[Pair], Iterator[Remark]]
#: A change that makes a part longer where it is positive, and what is said of it.
Reason = tuple[float, str]
#: Times on each side by what says more of their cause.
Details = dict[str, tuple[float, float]]
RULES: list[Rule] = []
Key = TypeVar("Key")


def rule(function: Rule) -> Rule:
    """Register a rule."""
    RULES.append(function)
    return function


def remarks(pair: Pair) -> list[str]:
    """Return sentences that explain the difference of the makespans.

    None if it is small, or not told from that of seeds: 0 is in its 95 % interval, or means of
    makespans differ the other way.
    """
    change = pair.second.makespan_s - pair.first.makespan_s
    if not _stands_out(pair) or change * pair.reduction_percent.mean >= 0.0:
        return []
    found = [remark for each in RULES for remark in each(pair)]
    found.sort(key=lambda remark: -abs(remark.seconds))
    share = [remark.seconds / change for remark in found]
    along = [r for r, part in zip(found, share, strict=True) if part > LEAST_PART]
    against = [r for r, part in zip(found, share, strict=True) if part < -LEAST_AGAINST]
    if not along:
        return []
    said = [f"{_headline(pair)} because its workers {along[0].clause}."]
    follows = _what_follows(pair)
    said += [f"They also {remark.clause}." for remark in along[1 : MOST - bool(against or follows)]]
    said += [f"Against that, they {remark.clause}." for remark in against[:1]]
    return said + follows


def _what_follows(pair: Pair) -> list[str]:
    """Return a sentence on idle time that makes most of the difference, and is no cause of it."""
    change = pair.second.makespan_s - pair.first.makespan_s
    shares = pair.shares(*pair.part(is_idle))
    if pair.change(is_idle) / change <= MOST_FOLLOWS or any(
        abs(remark.seconds) > LEAST_PART * abs(change) for remark in idling(pair)
    ):
        return []
    after, before = (f"{100.0 * share:.3g}" for share in shares[::-1])
    said = (
        f"{after} % of the time in both"
        if after == before
        else (f"{after} instead of {before} % of the time")
    )
    way = "longer" if change > 0.0 else "shorter"
    return [f"Idle time is {said}; it is {way} only because the run is."]


def _headline(pair: Pair) -> str:
    reduction = pair.reduction_percent.mean
    if reduction > 0.0:
        said = f"{reduction:.0f} % shorter than"
    elif reduction > -100.0:
        said = f"{-reduction:.0f} % longer than"
    else:
        said = f"{1.0 - reduction / 100.0:.3g} times as long as"
    return f"{pair.second.label} is {said} {pair.first.label}"


def against_baseline(
    baseline: str, base: Sequence[Row], others: Mapping[str, Sequence[Row]]
) -> list[Pair]:
    """Return the policies to compare with the baseline in one place, as pairs with it.

    These are the shortest one, and those whose makespans differ most from the baseline's if there
    is something to explain; at most `MOST_POLICIES`.
    """
    pairs = [(pair, pair) for pair in _telling(baseline, base, others)]
    return [pair for pair, _ in _ordered(pairs)][:MOST_POLICIES]


def _telling(baseline: str, base: Sequence[Row], others: Mapping[str, Sequence[Row]]) -> list[Pair]:
    """Return pairs of the baseline and policies in one place.

    Of policies that decide the same only the first counts, runs that say little of their policy do
    not, and none does if the baseline's are such.
    """
    telling: dict[object, tuple[str, Sequence[Row]]] = {}
    for label, rows in others.items():
        if not misfits_of(rows):
            hashes = tuple(row.get("decisions_hash") or label for row in rows)
            telling.setdefault(hashes, (label, rows))
    if misfits_of(base):
        return []
    first = facts_of(baseline, base)
    return [Pair(first, facts_of(*each)) for each in telling.values()]


def _ordered(pairs: Sequence[tuple[Pair, Key]]) -> list[tuple[Pair, Key]]:
    """Return the pair whose second side is shortest, then those that stand out, most first."""

    def shorter(each: tuple[Pair, Key]) -> float:
        return each[0].reduction_percent.mean

    ordered = sorted(pairs, key=shorter, reverse=True)
    rest = sorted(ordered[1:], key=lambda each: -_size(shorter(each)))
    return ordered[:1] + [each for each in rest if _stands_out(each[0])]


def _size(reduction_percent: float) -> float:
    """Return how large a change is: as large for half the makespan as for twice."""
    ratio = 1.0 - reduction_percent / 100.0
    return abs(math.log(ratio)) if ratio > 0.0 else math.inf


def _stands_out(pair: Pair) -> bool:
    """Return whether makespans differ enough to be explained, and more than seeds may make them."""
    change = pair.reduction_percent
    least = 0.0 if math.isnan(change.half_width) else change.half_width
    return abs(change.mean) > max(100.0 * LEAST_CHANGE, least)


def explained(
    rows: Sequence[Row],
    baseline: str,
    others: Sequence[Row] = (),
    known: Mapping[Group, Sequence[str]] = MappingProxyType({}),
) -> list[str]:
    """Return sentences on results: of policies beside the baseline, whatever the place.

    The baseline is looked for among other rows, too. `known` has what has been found already of
    some runs, by what their rows have in common.

    A place is a machine with a workload and what is swept. Of all places together, what is
    shortest beside the baseline and what differs most are explained, `MOST_POLICIES` at most. The
    others that stand out are counted.
    """
    pairs = list(_pairs(rows, baseline, others))
    several = len({group[:-1] for _, (group, _) in pairs}) > 1
    said: list[str] = []
    left = 0
    for pair, (group, where) in _ordered(pairs):
        found = known[group] if group in known else remarks(pair)
        if found and len(said) < MOST_POLICIES:
            said.append(" ".join([f"{where}:", *found] if several else found))
        elif _stands_out(pair):
            left += 1
    if left:
        more = " more" if said else ""
        said.append(f"{left}{more} differ from {baseline}: simsched compare A B says why.")
    return said


def _pairs(
    rows: Sequence[Row], baseline: str, others: Sequence[Row]
) -> Iterator[tuple[Pair, tuple[Group, str]]]:
    """Yield what can be compared, with what the rows have in common and the name of the place."""
    bases = {key: members for key, members in grouped(others).items() if key[-1] == baseline}
    places: dict[Group, dict[str, Sequence[Row]]] = {}
    for key, members in grouped(rows).items():
        if key[-1] == baseline:
            bases[key] = members
        else:
            places.setdefault(key[:-1], {})[key[-1]] = members
    for place, policies in places.items():
        base = bases.get((*place, baseline), ())
        values = "".join(
            f", {name}={value}" for row in base[:1] for name, value in swept(row).items()
        )
        where = f"{place[1]} on {place[0]}{values}"
        for pair in _telling(baseline, base, policies) if base else ():
            yield pair, ((*place, pair.second.label), where)


def _compared(first: float, second: float) -> str:
    """Return how much less or more the second side has, of times, with both.

    >>> _compared(0.4, 0.1), _compared(0.0, 2e-3)
    ('75 % less (100 instead of 400 ms)', '2 ms longer')
    >>> _compared(1.0, 3.0)
    '3 times as long (3 instead of 1 s)'
    """
    if first < 1e-3 * second:
        return f"{_time(second)} longer"
    figures = f"({_instead(first, second)})"
    if second < first:
        return f"{100 * (1 - second / first):.0f} % less {figures}"
    if second < 2 * first:
        return f"{100 * (second / first - 1):.0f} % more {figures}"
    return f"{second / first:.3g} times as long {figures}"


def _scale(seconds: float) -> tuple[float, str]:
    """Return the unit in which a time is written, in seconds, and its name."""
    units = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
    return next((unit for unit in units if seconds >= unit[0]), (1e-12, "ps"))


def _time(seconds: float) -> str:
    scale, unit = _scale(seconds)
    return f"{seconds / scale:.3g} {unit}"


def _instead(first: float, second: float) -> str:
    """Return two times in one unit: the second instead of the first."""
    scale, unit = _scale(max(first, second))
    return f"{second / scale:.3g} instead of {first / scale:.3g} {unit}"


def _remark(
    pair: Pair, chosen: Callable[[str], bool], verb: str, of: str, because: Iterable[Reason] = ()
) -> Iterator[Remark]:
    """Yield a remark about some parts, with the reasons that go their way; nothing without them."""
    first, second = pair.part(chosen)
    if first <= 0.0 and second <= 0.0:
        return
    clause = " ".join(filter(None, (verb, _compared(first, second), of)))
    change = second - first
    yield Remark(pair.work_weight * change, _with_reasons(clause, change, because))


def _with_reasons(clause: str, change: float, because: Iterable[Reason]) -> str:
    """Return a clause with the reasons that go the way of its change."""
    reasons = ", ".join(said for way, said in because if way * change > 0.0)
    return f"{clause}: {reasons}" if reasons else clause


def _largest(changes: Mapping[str, float], way: float) -> str | None:
    """Return what has changed most in the way of a part; None if nothing has."""
    sign = math.copysign(1.0, way)
    found = max(sorted(changes), key=lambda each: sign * changes[each], default=None)
    return found if found is not None and sign * changes[found] > 0.0 else None


def _points(pair: Pair, column: str, what: str, longer_with: float = 1.0) -> Iterator[Reason]:
    """Yield the shares of both sides if they differ."""
    first, second = pair.metric(column)
    if abs(first - second) >= LEAST_POINTS:
        yield longer_with * (second - first), f"{second:.3g} instead of {first:.3g} % {what}"


def _counts(pair: Pair, column: str, what: str) -> Iterator[Reason]:
    """Yield the numbers of both sides if they differ; times and sizes in units that fit."""
    first, second = pair.metric(column)
    if max(first, second) < LEAST_RATIO * max(min(first, second), 1e-300):
        return
    if column.endswith("_s"):
        said = _instead(first, second)
    elif column.endswith("_bytes"):
        sizes = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
        scale, unit = next((s for s in sizes if max(first, second) >= s[0]), (1.0, "B"))
        said = f"{second / scale:.3g} instead of {first / scale:.3g} {unit}"
    else:
        said = f"{second:,.4g} instead of {first:,.4g}"
    yield second - first, f"{said} {what}"


def _traffic(pair: Pair) -> Iterator[Reason]:
    """Yield what differs in where data come from."""
    yield from _points(pair, "remote_percent", "of bytes are remote")
    for kind, longer in LONGER_WITH.items():
        yield from _points(pair, f"{kind}_percent", f"of bytes come from {kind.upper()}", longer)
    yield from _counts(pair, "memory_bytes", "come from memory")


@rule
def waiting(pair: Pair) -> Iterator[Remark]:
    """Look at waiting for memory, whatever the reason."""
    return _remark(pair, _is_waiting, "wait", "for memory", _why_waiting(pair))


def _is_waiting(name: str) -> bool:
    return name in (MEMORY, REMOTE) or group_of(name).startswith("wait ")


def _why_waiting(pair: Pair) -> Iterator[Reason]:
    yield from _traffic(pair)
    queues = {
        name: pair.second.seconds.get(name, 0.0) - pair.first.seconds.get(name, 0.0)
        for name in {*pair.first.seconds, *pair.second.seconds}
        if group_of(name).startswith("wait ")
    }
    change = pair.change(_is_waiting)
    name = _largest(queues, change)
    if name is not None and abs(queues[name]) > 0.5 * abs(change):
        kind, cause = name.removeprefix("wait ").split(": ")
        yield change, f"queues at the {cause} of {kind} make most of it"


@rule
def in_tasks(pair: Pair) -> Iterator[Remark]:
    """Look at time in tasks, where nothing more is known of it."""
    return _remark(pair, TASKS.__eq__, "spend", "in tasks", _traffic(pair))


@rule
def computing(pair: Pair) -> Iterator[Remark]:
    """Look at operations: on faster or slower cores, or executed again."""
    wasted = _counts(pair, "wasted_s", "go into executions without result")
    return _remark(pair, COMPUTE.__eq__, "compute", "", wasted)


@rule
def hitting(pair: Pair) -> Iterator[Remark]:
    """Look at hits in caches."""
    return _remark(pair, CACHE.__eq__, "wait", "for caches")


_WHY_IDLE = {
    DEPENDENCIES: "for dependencies, until other tasks end",
    UNFOLDING: "for unfolding, until tasks are created",
    ARRIVALS: "until tasks arrive",
    KEPT: "while tasks are kept in pools from which they take nothing",
    ON_ITS_WAY: "while tasks are on their way",
    TAIL: "in the tail of iterations, after the last task has been taken",
    NOT_GIVEN: "in iterations in which they are given no task",
    AWAITING: "awaiting the end of others inside tasks",
    FAILED: "after they have failed",
}


_IMBALANCE = "times the mean is the longest time in tasks"


@rule
def idling(pair: Pair) -> Iterator[Remark]:
    """Look at idle time, each cause by itself."""
    causes = _by_cause(pair)
    for cause, details in causes.items():
        first, second = _sums(details)
        change = {name: after - before for name, (before, after) in details.items() if name}
        most = _largest(change, second - first)
        why = _WHY_IDLE[cause] + (f" ({most})" if most else "")
        yield _idle_remark(pair, first, second, why, _why_idle(pair, cause))
    first, second = pair.part(is_idle)
    if not causes and max(first, second) > 0.0:
        before, after = pair.shares(first, second)
        yield _idle_remark(pair, first, second, "", _why_unknown(pair, after - before))


def _idle_remark(
    pair: Pair, first: float, second: float, why: str, because: Iterable[Reason]
) -> Remark:
    """Return a remark about idle time on each side, by its share of the makespan."""
    before, after = pair.shares(first, second)
    percent = _told_apart(100.0 * before, 100.0 * after)
    clause = f"are idle {percent} % of the time ({_instead(first, second)}) {why}".rstrip()
    clause = _with_reasons(clause, after - before, because)
    return Remark(pair.idle_weight * (after - before), clause)


def _told_apart(first: float, second: float) -> str:
    """Return two numbers, the second instead of the first, with three digits or as many as differ.

    >>> _told_apart(40.0, 12.345), _told_apart(99.21, 99.24)
    ('12.3 instead of 40', '99.24 instead of 99.21')
    """
    for digits in range(3, 9):
        before, after = f"{first:.{digits}g}", f"{second:.{digits}g}"
        if before != after:
            break
    return f"{after} instead of {before}"


def _by_cause(pair: Pair) -> dict[str, Details]:
    """Return idle time on each side by cause and detail, in seconds.

    What others lack while a worker gets nothing in an iteration is the detail of that. Where it is
    idle less for this and more for the same lack itself, as when it gets a single short task, both
    are that lack.
    """
    sides = pair.first.idle_s, pair.second.idle_s
    found: dict[str, Details] = {}
    for cause, detail in sorted({*sides[0], *sides[1]}):
        if cause in _WHY_IDLE:
            first, second = (side.get((cause, detail), 0.0) for side in sides)
            found.setdefault(cause, {})[detail] = first, second
    none_given = found.get(NOT_GIVEN, {})
    for lack in [each for each in found if each != NOT_GIVEN]:
        same = {said: both for said, both in none_given.items() if said.partition(": ")[0] == lack}
        if _change_of_share(pair, same) * _change_of_share(pair, found[lack]) < 0.0:
            for said, both in same.items():
                detail = said.partition(": ")[2]
                own = found[lack].get(detail, (0.0, 0.0))
                found[lack][detail] = own[0] + both[0], own[1] + both[1]
                del none_given[said]
    return {cause: details for cause, details in found.items() if details}


def _change_of_share(pair: Pair, details: Details) -> float:
    before, after = pair.shares(*_sums(details))
    return after - before


def _sums(details: Details) -> tuple[float, float]:
    return sum(both[0] for both in details.values()), sum(both[1] for both in details.values())


def _why_idle(pair: Pair, cause: str) -> Iterator[Reason]:
    if cause == TAIL:
        yield from _counts(pair, "busy_imbalance", _IMBALANCE)
    if cause == NOT_GIVEN:
        first, second = (round(number) for number in pair.metric(WITHOUT_TASK))
        workers = pair.second.metrics.get("workers", 0.0)
        yield second - first, f"up to {second} instead of {first} of {workers:.0f} workers get none"


def _why_unknown(pair: Pair, change: float) -> Iterator[Reason]:
    """Yield what columns say of idle time whose causes are not known."""
    known = [each for each in _counts(pair, "busy_imbalance", _IMBALANCE) if each[0] * change > 0.0]
    yield from known or [(change, "simsched compare says why")]


@rule
def stealing(pair: Pair) -> Iterator[Remark]:
    """Look at probes, locks and steals."""
    return _remark(pair, STEAL.__eq__, "spend", "on steals", _steals(pair))


def _steals(pair: Pair) -> Iterator[Reason]:
    yield from _counts(pair, "steals", "steals")
    yield from _counts(pair, "steals_remote", "from other domains")


@rule
def taking(pair: Pair) -> Iterator[Remark]:
    """Look at tasks taken out of pools, and waiting for their locks."""
    known = STEAL in pair.first.seconds
    reasons = () if known else _steals(pair)
    return _remark(pair, POOLS.__eq__, "spend", "on taking tasks", reasons)


@rule
def spawning(pair: Pair) -> Iterator[Remark]:
    """Look at creating tasks and releasing successors."""
    return _remark(pair, SPAWN.__eq__, "spend", "on creating tasks")


@rule
def migrating(pair: Pair) -> Iterator[Remark]:
    """Look at copies of data, page faults and moves of pages."""
    moved = _counts(pair, "migrated_bytes", "are moved")
    return _remark(pair, MIGRATION.__eq__, "spend", "on moving data", moved)


@rule
def between(pair: Pair) -> Iterator[Remark]:
    """Look at barriers, the policy's work and its migrations between iterations."""
    work = _counts(pair, "policy_work_s", "are the policy's work")
    return _remark(pair, BETWEEN.__eq__, "wait", "between iterations", work)
