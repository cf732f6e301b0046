"""Why one run is faster than another: the difference of their makespans, in parts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

from simsched.analysis.efficiency import Efficiencies, efficiencies, ideal_machine
from simsched.analysis.metrics import run_metrics
from simsched.analysis.waterfall import TimeParts, time_parts
from simsched.experiment.cell_run import repeated_run, varied_run
from simsched.experiment.cells import Cell
from simsched.experiment.facts import Facts, Pair, mean_metrics
from simsched.experiment.overrides import Origin, changed, labels_in
from simsched.experiment.remarks import WITHOUT_TASK, remarks
from simsched.files.errors import ConfigurationError, SimschedError, unknown_name
from simsched.files.yaml_reader import Document
from simsched.names.specs import parse_spec, split_outside
from simsched.names.user_code import is_file_spec
from simsched.policy.contract.registry import list_policies

Key = TypeVar("Key")
_LABELLED = {"machine": "machines", "workload": "workloads", "policy": "policies"}

#: Times below this part of the makespan are what rounding leaves of sums.
NOISE = 1e-12


@dataclass(frozen=True)
class Side:
    """One side of a comparison."""

    #: Machine, workload, policy and sweep values.
    label: str
    #: Of the runs over which all times are means.
    seeds: tuple[int, ...]
    makespan_s: float
    #: Parts of the makespan; see :mod:`simsched.analysis.waterfall`.
    seconds: dict[str, float]
    #: Idle time of the mean worker by cause and detail; see :mod:`simsched.analysis.idle`.
    idle_s: dict[tuple[str, str], float] = field(default_factory=dict)
    #: Columns of results that are numbers.
    metrics: dict[str, float] = field(default_factory=dict)
    #: See :mod:`simsched.analysis.efficiency`; by name, those that are known for all seeds.
    efficiencies: dict[str, float] = field(default_factory=dict)
    #: Why the runs say little of their policy.
    misfits: tuple[str, ...] = ()
    #: Hashes of the decisions of each run.
    decisions: tuple[str, ...] = ()
    #: The makespan by seed.
    makespans_s: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """Two sides and what differs."""

    first: Side
    second: Side

    @property
    def seconds(self) -> dict[str, float]:
        """What each part contributes to `second.makespan_s` - `first.makespan_s`."""
        before, after = self.first.seconds, self.second.seconds
        names = dict.fromkeys([*before, *after])
        return {name: self.cleared(after.get(name, 0.0) - before.get(name, 0.0)) for name in names}

    @property
    def change_s(self) -> float:
        """What `second` takes longer than `first`."""
        return self.cleared(self.second.makespan_s - self.first.makespan_s)

    @property
    def doubts(self) -> list[str]:
        """Why the comparison may mean little; none where both policies fit and differ."""
        found = [
            f"{side.label}: {why}" for side in (self.first, self.second) for why in side.misfits
        ]
        first, second = self.first, self.second
        if first.label != second.label and first.decisions and first.decisions == second.decisions:
            found.append(f"{second.label}: same decisions as {first.label}")
        change = self.pair.reduction_percent
        if abs(change.mean) < change.half_width:
            found.append(
                f"{second.label}: shorter by {change.mean:.3g} ± {change.half_width:.3g} %, which "
                "may be none, so nothing is explained"
            )
        return found

    @property
    def names(self) -> tuple[str, str, str]:
        """What the labels begin with in common, and what is left of each."""
        words = [side.label.split() for side in (self.first, self.second)]
        alike = 0
        while alike < min(map(len, words)) - 1 and words[0][alike] == words[1][alike]:
            alike += 1
        common, *rest = (" ".join(each) for each in (words[0][:alike], *(w[alike:] for w in words)))
        return common, rest[0], rest[1]

    @property
    def remarks(self) -> list[str]:
        """Why one is shorter than the other, in sentences.

        None where nothing stands out, or where runs say little of their policy.
        """
        if self.first.misfits or self.second.misfits:
            return []
        return remarks(self.pair)

    @property
    def pair(self) -> Pair:
        """Both sides as the rules for sentences know them."""
        first, second = (
            Facts(name, side.makespan_s, side.seconds, side.metrics, side.idle_s, side.makespans_s)
            for side, name in zip((self.first, self.second), self.names[1:], strict=True)
        )
        return Pair(first, second)

    def cleared(self, seconds: float) -> float:
        """Return a time, but 0 if it is so short that rounding may have made it."""
        longest = max(self.first.makespan_s, self.second.makespan_s)
        return 0.0 if abs(seconds) < NOISE * longest else seconds

    def document(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "first": _plain(self.first),
            "second": _plain(self.second),
            "difference_s": self.change_s,
            "parts_s": self.seconds,
            "remarks": self.remarks,
            "doubts": self.doubts,
        }


def _plain(side: Side) -> dict[str, Any]:
    return {
        "label": side.label,
        "seeds": list(side.seeds),
        "makespan_s": side.makespan_s,
        "parts_s": side.seconds,
        "efficiencies": side.efficiencies,
        "idle": [
            {"cause": cause, "detail": detail, "seconds": seconds}
            for (cause, detail), seconds in side.idle_s.items()
        ],
    }


def with_policy(document: Document, selector: str) -> Document:
    """Return an experiment that has the policy of a selector, also when its file does not.

    A policy that is no label of the experiment may be the name of any policy, or a spec such as
    ``bats[sample_pages=8]``.
    """
    found = labels_in(document)
    known = {key: found[what] for key, what in _LABELLED.items()}
    for key, text in _pairs(selector, known):
        if key != "policy" or text in known["policy"]:
            continue
        spec = parse_spec("policy", text)
        names = {info.name for info in list_policies()}
        if spec.params or spec.name in names or is_file_spec(spec.name):
            before = document.data["policies"]
            listed = before if isinstance(before, list) else [before]
            added = [*listed, {"name": text, "label": text}]
            data = {**document.data, "policies": added}
            loc = ("policies", len(listed))
            document = changed(document, data, {loc: Origin(repr(selector))})
    return document


def select_cells(cells: Sequence[Cell], selector: str, where: str = "") -> list[Cell]:
    """Return the runs of an experiment that differ in nothing but their seed.

    What a selector of :func:`chosen_cells` does not name must be the same for all; messages call
    the runs `where`, or by the selector.
    """
    chosen = chosen_cells(cells, selector)
    for key in _keys(cells):
        values = list(dict.fromkeys(_text(cell, key) for cell in chosen))
        if key != "seed" and len(values) > 1:
            raise ConfigurationError(
                f"{where or repr(selector)}: found runs with {key} "
                f"{', '.join(map(str, values))}, accepted: "
                f"one of them, such as {key}={values[0]}"
            )
    return chosen


def chosen_cells(cells: Sequence[Cell], selector: str) -> list[Cell]:
    """Return the runs of an experiment that a text describes.

    It is ``policy``, or ``key=value`` pairs separated by commas; keys are machine, workload,
    policy, seed and what the experiment sweeps. Nothing stands for all runs. Labels and values may
    hold commas and equals signs.
    """
    if not isinstance(selector, str):  # from a notebook; 0 is not "all"
        raise ConfigurationError(
            f"{selector!r}: found {type(selector).__name__}, accepted a policy, or key=value pairs "
            "separated by commas"
        )
    chosen = list(cells)
    values = {key: {str(_text(cell, key)) for cell in cells} for key in _keys(cells)}
    for key, value in _pairs(selector, values) if selector else ():
        known = {_text(cell, key) for cell in chosen} - {None}
        if not known:
            raise ConfigurationError(f"{selector!r}: {unknown_name('key', key, _keys(cells))}")
        if value not in known:  # the file may have blanks between parameters, or the user
            alike = [name for name in known if name is not None and _packed(name) == _packed(value)]
            value = min(alike, default=value)
        if value not in known:
            names = [str(name) for name in sorted(known, key=str)]
            raise ConfigurationError(f"{selector!r}: {unknown_name(key, value, names)}")
        chosen = [cell for cell in chosen if _text(cell, key) == value]
    return chosen


def _packed(text: str) -> str:
    return "".join(text.split())


def _pairs(selector: str, known: Mapping[str, Collection[str]]) -> list[tuple[str, str]]:
    """Return the keys and values of a selector, those that are known by key as they are.

    In others a comma inside brackets belongs to a policy.
    """
    pairs, rest = [], [selector]
    while rest:
        text = rest[0].strip()
        if (found := _known_pair(text, known)) is not None:
            pair, word = found
            rest = [text[len(word) + 1 :]] if word != text else []
        else:
            word, *rest = split_outside(text, ",", 1)
            key, *value = split_outside(word, "=", 1)
            pair = (key.strip(), value[0].strip()) if value else ("policy", word.strip())
        pairs.append(pair)
    return pairs


def _known_pair(
    text: str, known: Mapping[str, Collection[str]]
) -> tuple[tuple[str, str], str] | None:
    """Return what a text begins with, a known label or value up to a comma, and how it is written.

    The longest one counts; None if there is none.
    """
    written = {
        start + value: (start.removesuffix("=") or key, value)
        for key, values in known.items()
        for start in (f"{key}=", f"{key.rpartition('.')[2]}=", *[""] * (key == "policy"))
        for value in values
    }
    word = max((w for w in written if f"{text},".startswith(f"{w},")), key=len, default=None)
    return None if word is None else (written[word], word)


def _keys(cells: Sequence[Cell]) -> list[str]:
    """Return the keys that tell runs apart."""
    swept = dict.fromkeys(key for cell in cells for key in cell.sweep)
    return ["machine", "workload", "policy", *swept, "seed"]


def _text(cell: Cell, key: str) -> str | None:
    """Return what a run has for a key; a swept key may be given by its last part."""
    if key in ("machine", "workload", "policy", "seed"):
        return str(getattr(cell, key))
    for name, value in cell.sweep.items():
        if key in (name, name.rpartition(".")[2]):
            return str(value)
    return None


def measure_side(cells: Sequence[Cell]) -> Side:
    """Simulate runs that differ in their seed and return the mean of their parts.

    Each is simulated twice, the second time on a machine whose runtime takes no time.
    """
    found = [_measured(cell) for cell in cells]
    first, n = cells[0], len(cells)
    return Side(
        first.label_of_seeds,
        tuple(cell.seed for cell in cells),
        sum(one.parts.makespan_s for one in found) / n,
        _mean([one.parts.seconds for one in found]),
        _mean([one.parts.idle.mean_s() for one in found]),
        mean_metrics([one.metrics for one in found]),
        mean_metrics([asdict(one.efficiencies) for one in found]),
        tuple(dict.fromkeys(reason for one in found for reason in one.misfits)),
        tuple(one.decisions for one in found),
        {cell.seed: one.parts.makespan_s for cell, one in zip(cells, found, strict=True)},
    )


@dataclass(frozen=True)
class _Measured:
    """What is known of one run, without its events."""

    parts: TimeParts
    metrics: dict[str, Any]
    efficiencies: Efficiencies
    misfits: tuple[str, ...]
    decisions: str


def _measured(cell: Cell) -> _Measured:
    run = repeated_run(cell, events=True)
    parts = time_parts(run)
    metrics = run_metrics(
        run.summary, run.machine, run.workload, run.worker_thread, program=run.program
    )
    metrics[WITHOUT_TASK] = int(parts.idle.not_given.max(initial=0))
    found = efficiencies(run.summary, _ideal_ps(cell), parts.seconds)
    return _Measured(parts, metrics, found, run.misfits, run.decisions)


def _ideal_ps(cell: Cell) -> int | None:
    """Return the makespan on a machine whose runtime takes no time.

    None where the policy does not get on there, as one that lives on what happens meanwhile.
    """
    try:
        ideal = replace(cell, machine_model=ideal_machine(cell.machine_model))
        return varied_run(ideal).summary.makespan_ps
    except SimschedError:
        return None


def _mean(each: Sequence[Mapping[Key, float]]) -> dict[Key, float]:
    """Return means over parts of runs; a part that one does not have takes no time."""
    names = dict.fromkeys(name for one in each for name in one)
    return {name: sum(one.get(name, 0.0) for one in each) / len(each) for name in names}
