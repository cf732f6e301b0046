"""Word count as map, shuffle and reduce: a dataflow graph with an all-to-all step.

The text is n words, each a number below the size V of the vocabulary; word rank k = 1 .. V occurs
with probability proportional to ``k^-skew`` (Zipf), ranks shuffled. With M map and R reduce tasks:

* *Tasks.* ``map(m)`` counts the words of its part of the text in its own table of V counters.
  ``shuffle(m)`` sorts the words in that table by the reduce task they belong to: reduce task r
  has the words from ``V r / R``. ``reduce(r)`` adds up what all shuffles left for it: 2 M + R
  tasks, numbered in this order.
* *Edges.* ``map(m)`` to ``shuffle(m)``, ``shuffle(m)`` to every ``reduce(r)``: M + M R.
* *Blocks.* M parts of the text, and of the identical array that is filled in beforehand and copied
  by the initialisation; M tables of 4 V bytes; M R buckets with room for all words of a reduce
  task, 8 bytes each; R totals, 8 bytes per word. All are padded to lines of 64 bytes.
* *Bytes.* A map reads its text, and reads and writes a counter for each different word in it. A
  shuffle reads and clears its table and writes one entry of 8 bytes per word that occurs in it, and
  a header for each bucket. A reduce reads its buckets, clears their headers, reads and writes its
  totals. The text is known beforehand, so these numbers are exact.
* *Operations.* Words counted in a map; V counters looked at in a shuffle; entries added and totals
  cleared in a reduce.
* *Initialisation.* One independent task per part copies the text and clears the table and the
  buckets of its shuffle; the totals of reduce task r are cleared with part r modulo M.

References
----------
Dean and Ghemawat, *MapReduce: simplified data processing on large clusters*, OSDI 2004. Ranger,
Raghuraman, Penmetsa, Bradski and Kozyrakis, *Evaluating MapReduce for multi-core and multiprocessor
systems*, HPCA 2007 (program WordCount in shared memory).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from simsched.hardware.program import Program, program
from simsched.hardware.programs._common import (
    AccessList,
    ProgramData,
    Seed,
    exact,
    refusal,
    untouched,
)
from simsched.workload.builder import adjacency
from simsched.workload.draws import stream
from simsched.workload.graph import Int32Array, Int64Array, TaskGraph, Workload
from simsched.workload.registry import Bounds, Count

CLASSES = ("initialise", "map", "shuffle", "reduce")
_INITIALISE, _MAP, _SHUFFLE, _REDUCE = range(4)
ENTRY_BYTES = 8
_CHUNK = 2**20


@program(
    small={"words": 20_000, "vocabulary": 700, "maps": 7, "reduces": 3, "iterations": 2},
)
def word_count(
    *,
    words: Count = 2**23,
    vocabulary: Annotated[int, Bounds(1, 2**24)] = 2**15,
    skew: Annotated[float, Bounds(0, 3)] = 1.0,
    maps: Annotated[int, Bounds(1, 4096)] = 64,
    reduces: Annotated[int, Bounds(1, 4096)] = 16,
    iterations: Annotated[int, Bounds(1, 10**6)] = 20,
    seed: Seed = 0,
) -> Program:
    """Word count as map, shuffle and reduce.

    Parameters
    ----------
    words : int
        Words of the text, at least as many as map tasks.
    vocabulary : int
        Number of different words, at least as many as reduce tasks.
    skew : float
        Exponent of the frequency of words, 0 to 3.
    maps, reduces : int
        Number of map tasks, and of shuffles, and of reduce tasks.
    iterations : int
        How often the same text is counted.
    seed : int
        Seed of the text.
    """
    if maps > words:
        raise refusal("word_count", "maps", maps, f"1 to {words} for {words} words")
    if reduces > vocabulary:
        raise refusal("word_count", "reduces", reduces, f"1 to {vocabulary} for this vocabulary")
    given = _zipf_text(seed, words, vocabulary, skew)
    job = _Job(vocabulary, reduces, np.arange(maps + 1, dtype=np.int64) * words // maps)
    data = ProgramData(maps, job.n_tasks)
    totals = untouched((reduces, job.total_stride), np.int64)
    blocks = _Blocks(
        given=data.add(given, 4 * job.cuts[1:]),
        text=data.add(untouched(words, np.int32), 4 * job.cuts[1:]),
        tables=_rows(data, untouched((maps, job.table_stride), np.int32)),
        buckets=_rows(data, untouched((maps * reduces, job.bucket_stride), np.int64)),
        totals=_rows(data, totals),
    )
    workload = Workload(
        "word_count",
        _graph(job, data, blocks, job.entries(given)),
        iterations,
        _init(job, data, blocks),
    )
    part = np.stack((np.arange(maps, dtype=np.int64), job.cuts[:-1], job.cuts[1:]), axis=1)
    own = np.zeros((reduces, 3), dtype=np.int64)
    own[:, 0] = np.arange(reduces)

    def result_error() -> float:
        ranges = np.diff(job.word_cuts)
        found = np.concatenate([totals[r, :own] for r, own in enumerate(ranges)])
        return exact(found, np.bincount(given, minlength=vocabulary))

    return data.program(
        workload,
        args=np.concatenate((part, part, own)),
        init_args=part,
        functions=(frozenset(CLASSES), frozenset()),
        result_error=result_error,
        params=(
            vocabulary,
            job.table_stride,
            maps,
            reduces,
            job.bucket_stride,
            job.total_stride,
        ),
    )


@dataclass(frozen=True)
class _Blocks:
    """Blocks of each array."""

    given: Int64Array
    text: Int64Array
    tables: Int64Array
    buckets: Int64Array
    totals: Int64Array


@dataclass(frozen=True)
class _Job:
    """Sizes: the vocabulary, the reduce tasks, and where the parts of the text begin and end."""

    vocabulary: int
    reduces: int
    cuts: Int64Array

    @property
    def maps(self) -> int:
        """Number of map tasks."""
        return len(self.cuts) - 1

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return 2 * self.maps + self.reduces

    def tasks(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Return the map, shuffle and reduce tasks, in this order one after the other."""
        maps = np.arange(self.maps, dtype=np.int64)
        return maps, maps + self.maps, np.arange(self.reduces, dtype=np.int64) + 2 * self.maps

    @property
    def word_cuts(self) -> Int64Array:
        """Where the words of each reduce task begin, and the size of the vocabulary."""
        return np.arange(self.reduces + 1, dtype=np.int64) * self.vocabulary // self.reduces

    @property
    def reduce_words(self) -> int:
        """Most words of a reduce task."""
        return -(-self.vocabulary // self.reduces)

    @property
    def table_stride(self) -> int:
        """Counters of a table, padded to whole lines."""
        return -(-self.vocabulary // 16) * 16

    @property
    def bucket_stride(self) -> int:
        """Entries of a bucket with its header, padded to whole lines."""
        return -(-(self.reduce_words + 1) // 8) * 8

    @property
    def total_stride(self) -> int:
        """Totals of a reduce task, padded to whole lines."""
        return -(-self.reduce_words // 8) * 8

    def entries(self, text: Int32Array) -> Int64Array:
        """Return the number of different words of each part for each reduce task."""
        found = np.empty((self.maps, self.reduces), dtype=np.int64)
        for part in range(self.maps):
            counts = np.bincount(
                text[self.cuts[part] : self.cuts[part + 1]], minlength=self.vocabulary
            )
            found[part] = np.add.reduceat(counts > 0, self.word_cuts[:-1], dtype=np.int64)
        return found


def _rows(data: ProgramData, array: NDArray[np.int32] | NDArray[np.int64]) -> Int64Array:
    """Append an array with one block per row."""
    return data.add(array, (np.arange(len(array), dtype=np.int64) + 1) * array[0].nbytes)


def _zipf_text(seed: int, words: int, vocabulary: int, skew: float) -> Int32Array:
    weight = np.arange(1, vocabulary + 1, dtype=np.float64) ** -skew
    cumulative = np.cumsum(weight) / weight.sum()
    cumulative[-1] = 1.0
    word_of_rank = stream(seed, "ranks").permutation(vocabulary).astype(np.int32)
    random = stream(seed, "text")
    text = np.empty(words, dtype=np.int32)
    for begin in range(0, words, _CHUNK):
        part = text[begin : begin + _CHUNK]
        part[:] = word_of_rank[np.searchsorted(cumulative, random.random(len(part)), "right")]
    return text


def _init(job: _Job, data: ProgramData, blocks: _Blocks) -> TaskGraph:
    every = np.arange(job.maps, dtype=np.int64)
    accessed = AccessList()
    accessed.add(every, blocks.given, read=data.block_bytes[blocks.given])
    for own in (blocks.text, blocks.tables):
        accessed.add(every, own, written=data.block_bytes[own])
    buckets = blocks.buckets.reshape(job.maps, job.reduces)
    accessed.add(every[:, None], buckets, written=data.block_bytes[buckets])
    cleared = np.arange(job.reduces, dtype=np.int64) % job.maps
    accessed.add(cleared, blocks.totals, written=data.block_bytes[blocks.totals])
    entries = job.reduces * job.bucket_stride + job.total_stride * np.bincount(
        cleared, minlength=job.maps
    )
    return data.graph(
        np.diff(job.cuts) + job.table_stride + entries,
        accessed,
        task_class=np.full(job.maps, _INITIALISE),
        class_names=CLASSES,
    )


def _graph(job: _Job, data: ProgramData, blocks: _Blocks, entries: Int64Array) -> TaskGraph:
    mapped, shuffled, reduced = job.tasks()
    source = np.concatenate((mapped, np.repeat(shuffled, job.reduces)))
    target = np.concatenate((shuffled, np.tile(reduced, job.maps)))
    ops = np.concatenate(
        (
            np.diff(job.cuts),
            np.full(job.maps, job.vocabulary),
            entries.sum(axis=0) + job.total_stride,
        )
    )
    return data.graph(
        ops,
        _accesses(job, data, blocks, entries),
        task_class=np.repeat((_MAP, _SHUFFLE, _REDUCE), (job.maps, job.maps, job.reduces)),
        class_names=CLASSES,
        successors=adjacency(source, target, job.n_tasks),
    )


def _accesses(job: _Job, data: ProgramData, blocks: _Blocks, entries: Int64Array) -> AccessList:
    mapped, shuffled, reduced = job.tasks()
    bytes_of = data.block_bytes
    counters = 4 * job.vocabulary
    found = AccessList()
    found.add(mapped, blocks.text, read=bytes_of[blocks.text])
    touched = 4 * entries.sum(axis=1)
    found.add(mapped, blocks.tables, read=touched, written=touched)
    found.add(shuffled, blocks.tables, read=counters, written=counters)
    moved = ENTRY_BYTES * (entries + 1)
    bucket = blocks.buckets.reshape(job.maps, job.reduces)
    found.add(shuffled[:, None], bucket, written=moved)
    found.add(reduced[:, None], bucket.T, read=moved.T, written=ENTRY_BYTES)
    totals = bytes_of[blocks.totals]
    found.add(reduced, blocks.totals, read=totals, written=totals)
    return found
