"""The shape of a claims file: published statements as checks of simulated quantities.

::

    sources: {Book: "Q. Chen and M. Guo, Task Scheduling for Multi-core ..., 2017"}
    claims:
      - id: gto-iter-range
        source: Book §3.8.2 Fig 3.16
        kind: comparative
        experiment: cab_gto
        metric: makespan_s
        policy: cab_gto_profile
        versus: cilk_a
        as: reduction_percent
        min: 35.3
        max: 74.4

docs/claims.md explains every key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, Field, model_validator

from simsched.files.errors import unknown_name
from simsched.files.yaml_reader import FieldError, Section
from simsched.names.yaml_fields import Several, as_list, refuse_repeats

Text = Annotated[str, Field(min_length=1)]
Names = Several[Text]

#: How a value and the baseline's become one number.
Comparison = Literal["reduction_percent", "speedup_percent", "ratio", "difference"]
#: How many of the cases have to agree.
QUANTIFIERS = ("every", "some", "most")
#: What makes one number of all cases.
REDUCTIONS = ("mean", "min", "max", "sum", "spread")
#: What makes one number of a series and needs `along`.
ALONG_ONLY = ("slope", "argmin", "argmax", "crossing")
Over = Literal[
    "every", "some", "most", "mean", "min", "max", "sum", "spread",
    "slope", "argmin", "argmax", "crossing",
]  # fmt: skip
#: What is published; docs/claims.md says what each is.
Kind = Literal["ordering", "comparative", "absolute", "constant", "derived"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Trend = Literal["increasing", "decreasing", "linear", "constant", "u_shaped", "crossover"]

#: Relative tolerance of a single published value.
VALUE_TOLERANCE = 0.15
#: Relative tolerance of ``~=``.
ALIKE_TOLERANCE = 0.05
#: Share of the variance that a straight line explains, at least, when a trend is linear.
LINEAR_R2 = 0.95


def page_name(source: str) -> str:
    """Return the name of the page of a source, or of the picture of one of its figures.

    >>> page_name("LAWS ICS'14")
    'laws-ics-14'
    """
    return "-".join(re.findall(r"[a-z0-9]+", source.lower()))


class Tolerance(Section):
    """By how much a simulated value may miss a published one: `relative` or `absolute`."""

    relative: float | None = None
    absolute: float | None = None

    def of(self, value: float) -> float:
        """Return the accepted distance from a value."""
        return self.absolute if self.absolute is not None else (self.relative or 0.0) * abs(value)

    def __str__(self) -> str:
        if self.absolute is not None:
            return f"{self.absolute:g}"
        return f"{100 * (self.relative or 0.0):g} %"


def tolerance_of(data: object) -> object:
    """Accept ``10 %`` and a number in the unit of the quantity."""
    accepted = "a percentage such as 10 %, or a number in the unit of the quantity"
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?%", data) if isinstance(data, str) else None
    if found:
        return Tolerance(relative=float(found[1]) / 100)
    if isinstance(data, int | float) and not isinstance(data, bool) and 0 <= data < 1e300:
        return Tolerance(absolute=float(data))
    raise ValueError(f"found {data!r}, accepted: {accepted}")


def versus_list(data: object) -> object:
    """Accept labels of policies, mappings, and lists of both."""
    entries = data if isinstance(data, list) else [data]
    return [{"policy": item} if isinstance(item, str) else item for item in entries]


def value_lists(data: object) -> object:
    """Accept one value for a swept key instead of a list."""
    if not isinstance(data, Mapping):
        return data
    return {key: value if isinstance(value, list) else [value] for key, value in data.items()}


class Selection(Section):
    """Which simulated numbers are meant: runs of an experiment, and what is read from them.

    Parameters
    ----------
    experiment : str, optional
        Name of a shipped experiment, or a YAML file beside the claims file.
    machine, workload, policy : str or list of str, optional
        Labels in the experiment; all machines and workloads by default.
    at : dict of str to value or list, optional
        Values of swept keys; all points of the sweep by default.
    metric : str or list of str, optional
        Column of the rows; the sum of several.
    per : str or list of str, optional
        Column that it is divided by.
    item : int, optional
        Position in a column that holds a list.
    seeds : {"mean", "min", "max", "spread_percent"}, optional
        How the seeds become one number; spread is (max - min) / mean.
    """

    experiment: Text | None = None
    machine: Names | None = None
    workload: Names | None = None
    policy: Names | None = None
    at: Annotated[dict[str, list[Any]], BeforeValidator(value_lists)] | None = None
    metric: Names | None = None
    per: Names | None = None
    item: int | None = None
    seeds: Literal["mean", "min", "max", "spread_percent"] | None = None


class Term(Selection):
    """A quantity, also in an ordering.

    Parameters
    ----------
    versus : str, mapping or list, optional
        What every case is compared with: label of a policy, or what differs from the case.
    as_ : str, optional
        The comparison.
    over : str, optional
        How several cases are taken together.
    along : str, optional
        Swept key, or ``workload``, ``policy`` or ``machine``, that a series runs along.
    x : list of float, optional
        Positions on the axis, one per selected label.
    probe : str, optional
        A quantity that needs no run.
    arguments : dict, optional
        Its arguments.
    """

    versus: Annotated[list[Selection], BeforeValidator(versus_list)] | None = None
    as_: Comparison | None = Field(default=None, alias="as")
    over: Over | None = None
    along: Text | None = None
    x: list[float] | None = None
    probe: Text | None = None
    arguments: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _check_term(self) -> Self:
        if self.probe is not None:
            for key in ("experiment", "policy", "metric", "versus", "along"):
                if getattr(self, key) is not None:
                    raise FieldError((key,), "found beside probe, accepted: one of them")
        elif self.arguments is not None:
            raise FieldError(("arguments",), "found without probe, accepted: only beside it")
        if self.x is not None and self.along is None:
            raise FieldError(("x",), "found without along, accepted: only beside it")
        if self.over in ALONG_ONLY and self.along is None and type(self) is Claim:
            raise FieldError(("along",), f"missing, accepted: what {self.over} runs along")
        if (self.versus is None) != (self.as_ is None) and type(self) is Claim:
            key, other = ("as", "versus") if self.as_ is None else ("versus", "as")
            raise FieldError((key,), f"missing, accepted: a value beside {other}")
        return self


class Claim(Term):
    """A published statement.

    Parameters
    ----------
    id : str
        Name of the claim.
    source : str
        Where it stands; begins with one of the file's `sources`.
    kind : {"ordering", "comparative", "absolute", "constant", "derived"}
        What is published: an order, a number that compares, one that stands alone, an input or
        worked example, or nothing (a quotient of other rows, which is shown and not counted).
    headline : str
        The question that it answers, if a reader of the source asks it first.
    note : str
        What a reader has to know.
    diagnosis : str
        What the model lacks, when the claim fails.
    calibrated_on : bool
        Whether the machine was calibrated with it; then it is counted separately.
    not_evaluable : str, optional
        Why it cannot be checked.
    cases : list of mapping
        Further selections that are taken together, each changing what the claim selects.
    above : float, optional
        Limit for "on average over those that ...": `over` makes one number of the cases above it.
    terms : dict of str to mapping
        Names in `order` that are no labels of policies.
    value, min, max : float
        What is published; `value` may be a list for a probe that returns one.
    equals : str
        Text that a probe returns.
    order : str or list of str
        ``laws < {cats, cilk} ~= slaw``; of several all have to hold.
    trend : str
        How the series behaves.
    margin : str or float, optional
        By how many percent of the larger value ``<`` and ``>`` have to differ.
    tolerance : str or float, optional
        Other than the default.
    tolerance_reason : str, optional
        Why.
    """

    id: Text
    source: Text
    kind: Kind
    headline: str = ""
    note: str = ""
    diagnosis: str = ""
    calibrated_on: bool = False
    not_evaluable: Text | None = None
    cases: Annotated[list[Selection], Field(min_length=1)] | None = None
    above: float | None = None
    terms: dict[str, Term] = Field(default_factory=dict)
    value: Annotated[list[float], BeforeValidator(as_list), Field(min_length=1)] | None = None
    min: float | None = None
    max: float | None = None
    equals: str | None = None
    order: Names | None = None
    trend: Trend | None = None
    margin: Annotated[Tolerance, BeforeValidator(tolerance_of)] | None = None
    tolerance: Annotated[Tolerance, BeforeValidator(tolerance_of)] | None = None
    tolerance_reason: str = ""

    @model_validator(mode="after")
    def _check_claim(self) -> Self:
        found = [key for key in PREDICATES if getattr(self, key) is not None]
        if self.not_evaluable is not None:
            self._check_left_out()
            return self
        if self.min is not None or self.max is not None:
            found.append("min/max")
        if len(found) != 1:
            accepted = f"one of {', '.join(PREDICATES)}, min/max, or not_evaluable with the reason"
            raise ValueError(f"found {' and '.join(found) or 'no predicate'}, accepted: {accepted}")
        if self.order is not None:
            self._check_order()
        else:
            self._check_quantity()
        if self.tolerance is not None and not self.tolerance_reason:
            raise FieldError(("tolerance_reason",), "missing, accepted: why the tolerance differs")
        self._check_kind()
        if self.margin is not None and self.order is None:
            raise FieldError(("margin",), "found without order, accepted: only beside it")
        if self.margin is not None and (self.margin.relative or 0.0) >= 1.0:
            message = f"found {self.margin}, accepted: less than 100 % (of the larger value)"
            raise FieldError(("margin",), message)
        if self.min is not None and self.max is not None and self.min > self.max:
            raise FieldError(("min",), f"found {self.min:g}, accepted: at most max, {self.max:g}")
        return self

    def _check_kind(self) -> None:
        """Refuse a kind that is not that of the predicate."""
        if self.kind == "derived":
            return
        compares = self.versus is not None
        is_order = self.order is not None or self.trend is not None
        fitting = {
            "ordering": compares or is_order,
            "comparative": compares and not is_order,
            "absolute": not compares and not is_order,
            "constant": self.probe is not None,
        }
        if not fitting[self.kind]:
            accepted = ", ".join([kind for kind, fits in fitting.items() if fits] + ["derived"])
            raise FieldError(("kind",), f"found {self.kind}, accepted here: {accepted}")

    def _check_left_out(self) -> None:
        """Refuse what would have been evaluated."""
        for key in ("order", "trend", "equals", "experiment", "probe"):
            if getattr(self, key) is not None:
                raise FieldError((key,), "found beside not_evaluable, accepted: one of them")

    def names(self) -> list[str]:
        """Return the names in the orderings, each once."""
        groups = [group for text in self.order or () for group in parse_order(text)[0]]
        return list(dict.fromkeys(name for group in groups for name in group))

    def _check_order(self) -> None:
        """Check the words of an ordering and that its terms are used."""
        if self.above is not None:
            raise FieldError(("above",), "found beside order, accepted: only beside a quantity")
        try:
            used = self.names()
        except ValueError as error:
            raise FieldError(("order",), str(error)) from error
        for name in self.terms:
            if name not in used:
                raise FieldError(("terms", name), unknown_name("name in order", name, used))
        needs = [name for name in used if name not in self.terms]
        if self.probe is not None:
            raise FieldError(("probe",), "found beside order, accepted: probe inside terms")
        probed = all(self.terms[name].probe for name in used if name in self.terms)
        if (needs or not probed) and self.experiment is None and self.cases is None:
            inside = all(item.experiment or item.probe for item in self.terms.values())
            if needs or not inside:
                raise FieldError(("experiment",), "missing, accepted: name of an experiment")

    def _check_quantity(self) -> None:
        """Check that it is clear what is looked at."""
        if self.terms:
            raise FieldError(("terms",), "found without order, accepted: only beside it")
        if self.above is not None and self.over not in REDUCTIONS:
            accepted = f"accepted: only beside over: {', '.join(REDUCTIONS)}"
            raise FieldError(("above",), f"found without one number of the cases, {accepted}")
        if (self.value is not None and len(self.value) > 1) and self.probe is None:
            raise FieldError(("value",), "found a list, accepted: one number")
        if self.equals is not None and self.probe is None:
            raise FieldError(("equals",), "found without probe, accepted: only beside it")
        if self.trend is not None and self.along is None:
            raise FieldError(("along",), "missing, accepted: what the trend runs along")
        if self.probe is None and self.experiment is None and self.cases is None:
            raise FieldError(("experiment",), "missing, accepted: an experiment, or probe")


PREDICATES = ("value", "equals", "order", "trend")


class Picture(Selection):
    """A figure of a source, drawn anew from simulated numbers.

    Parameters
    ----------
    source : str
        The figure; begins with one of the file's `sources`.
    title : str
        What it shows.
    versus : str, mapping or list, optional
        What every bar is compared with.
    as_ : str, optional
        The comparison.
    groups : list of str, optional
        Names of the groups of bars, in the order of workloads and swept values; these by default.
    """

    source: Text
    title: Text
    versus: Annotated[list[Selection], BeforeValidator(versus_list)] | None = None
    as_: Comparison | None = Field(default=None, alias="as")
    groups: list[Text] | None = None

    @model_validator(mode="after")
    def _check_picture(self) -> Self:
        if (self.versus is None) != (self.as_ is None):
            key, other = ("as", "versus") if self.as_ is None else ("versus", "as")
            raise FieldError((key,), f"missing, accepted: a value beside {other}")
        return self


class ClaimsFile(Section):
    """A claims file.

    Parameters
    ----------
    description : str
        What it is about.
    sources : dict of str to str
        Short names that the claims' sources begin with, and what they stand for.
    claims : list of Claim
        The claims.
    figures : list of Picture
        Figures of the sources that their pages show.
    """

    description: str = ""
    sources: Annotated[dict[str, Text], Field(min_length=1)]
    claims: Annotated[list[Claim], Field(min_length=1)]
    figures: list[Picture] = Field(default_factory=list)

    @model_validator(mode="after")
    def _check(self) -> Self:
        refuse_repeats(("claims",), [claim.id for claim in self.claims], "different ids (key id)")
        for key in ("claims", "figures"):
            for position, item in enumerate(getattr(self, key)):
                if self.source_of(item) is None:
                    accepted = f"text that begins with one of: {', '.join(self.sources)}"
                    message = f"found {item.source!r}, accepted: {accepted}"
                    raise FieldError((key, position, "source"), message)
        self._check_files()
        return self

    def _check_files(self) -> None:
        """Check that pages and pictures have names of their own, and figures a page."""
        pages = {source: page_name(source) for source in self.sources}
        for source, name in pages.items():
            if not name:
                message = f"found {source!r}, accepted: text with a letter of a to z or a digit"
                raise FieldError(("sources", source), message)
        refuse_repeats(("sources",), list(pages.values()), "sources whose pages differ in name")
        names = [page_name(item.source) for item in self.figures]
        refuse_repeats(("figures",), names, "different figures (key source)")
        claimed = {self.source_of(claim) for claim in self.claims}
        for position, (item, name) in enumerate(zip(self.figures, names, strict=True)):
            message = ""
            if name in pages.values():
                message = "the source and which figure of it"
            elif self.source_of(item) not in claimed:
                message = "a figure of a source that claims are about"
            if message:
                message = f"found {item.source!r}, accepted: {message}"
                raise FieldError(("figures", position, "source"), message)

    def source_of(self, item: Claim | Picture) -> str | None:
        """Return the short name of the source of a claim or figure: the longest that fits."""
        fitting = [name for name in self.sources if item.source.startswith(name)]
        return max(fitting, key=len, default=None)


OPERATORS = ("<", "<=", ">", ">=", "~=")
_WORD = re.compile(r"\{[^{}]*\}|[^\s\[\]{}]+(?:\[[^\]]*\][^\s\[\]{}]*)*")


def parse_order(text: str) -> tuple[list[list[str]], list[str]]:
    """Return the groups of an ordering and the operators between them.

    ``{a, b}`` is a group without order inside.

    >>> parse_order("laws < {cats[level=2], cilk} ~= slaw")
    ([['laws'], ['cats[level=2]', 'cilk'], ['slaw']], ['<', '~='])
    """
    words = _WORD.findall(text)
    form = "NAME OPERATOR NAME ..., operators < <= > >= ~=, {NAME, NAME} for several"
    if "".join(words).replace(" ", "") != text.replace(" ", "") or len(words) < 3:
        raise ValueError(f"found {text!r}, accepted: {form}")
    names, operators = words[::2], words[1::2]
    wrong = [word for word in operators if word not in OPERATORS]
    if wrong or len(names) != len(operators) + 1 or any(name in OPERATORS for name in names):
        raise ValueError(f"found {text!r}, accepted: {form}")
    groups = [_group(name) for name in names]
    if not all(all(group) for group in groups):
        raise ValueError(f"found {text!r}, accepted: {form}")
    for before, after in pairwise(groups):
        twice = [name for name in before if name in after]
        if twice:
            raise ValueError(
                f"found {text!r}, which compares {twice[0]} with itself, accepted: different names "
                "on both sides of an operator"
            )
    return groups, operators


def _group(word: str) -> list[str]:
    """Return the names of a word."""
    if not word.startswith("{"):
        return [word]
    return [item.strip() for item in re.split(r",(?![^\[]*\])", word[1:-1])]
