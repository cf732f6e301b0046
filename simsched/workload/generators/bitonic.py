"""Bitonic sorting network on blocks, a data-flow program with two equal inputs per task.

B = 2^P blocks of S integers of e bytes. All buffers have ``e S`` bytes. Levels, in order:

* init(i) reads block i of the global array; sort(i) sorts it.
* Stage s = 0 .. P - 1 works in boxes of n = 2^(s+1) blocks: ``tri`` (s, p, box), p = 0 .. n/2 - 1,
  compares blocks p and n - 1 - p of the box; ``ch`` (s, c, box, l, h), c = 0 .. s - 1, d =
  2^(s-1-c), l = 0 .. 2^(c+1) - 1, h = 0 .. d - 1, compares blocks j = l 2^(s-c) + h and j + d;
  ``atom`` (s, box, j) merges inside a block. tri and ch have two inputs and two outputs.
* term(i) writes block i of the global array and 4 bytes to the last task.

A level reads what the one before has written at the same block positions.

* *Tasks* beside these: one that creates for every 8 blocks, the last, the root.
* *Creation.* The creating tasks create init, sort and term of their blocks; init and sort create
  the first tri and atom, and tasks of the stages each other, two levels later
  (`_Network.create_all`).
* *Operations.* ``ops_per_comparison`` times: S log2 S in sort, S in tri and ch, ``S/2 log2 S`` in
  atom; ``copy_ops_per_element`` times S in init and term.

In the shared version tasks sort the global array in place; init and term move nothing.

References
----------
K. E. Batcher, *Sorting networks and their applications*, AFIPS 1968. Drebes et al., PACT 2016
(docs/sources/dataflow.md), section 4.3; dependences and creation as in the benchmark of the
OpenStream distribution, December 2015.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from simsched.workload.builder import check_size
from simsched.workload.dataflow_program import Control, DataflowProgram, Version, group_creation
from simsched.workload.graph import Int64Array, Workload
from simsched.workload.registry import Bounds, Cost, Count, Size, generator

GROUP, TOKEN_BYTES = 8, 4


@generator("bitonic", small={"stages": 3, "block_elements": 512, "global_pieces": 2})
def bitonic(
    *,
    stages: Annotated[int, Bounds(1, 20)] = 6,
    block_elements: Count = 2**16,
    element_bytes: Size = 8,
    ops_per_comparison: Cost = 6.0,
    copy_ops_per_element: Cost = 2.0,
    global_pieces: Count = 8,
    version: Version = "private",
    control: Control = "parallel",
) -> Workload:
    """Bitonic sorting network on 2^stages blocks, with private buffers.

    Parameters
    ----------
    stages : int
        Stages P; there are 2^P blocks.
    block_elements : int
        Integers of a block.
    element_bytes : int
        Bytes of an integer.
    ops_per_comparison : float
        Operations of a comparison and exchange: two loads, comparison, two stores, one more.
    copy_ops_per_element : float
        Operations per element of the initial and final copies.
    global_pieces : int
        Blocks of data into which each block of the global array is divided, so that a policy can
        interleave it.
    version : {"private", "shared"}
        Private buffers, or sorting of the global array in place.
    control : {"parallel", "sequential"}
        Whether tasks create tasks, or the root creates all.
    """
    n, size = 2**stages, block_elements * element_bytes
    levels = stages + 2 + stages * (stages + 1) // 2
    check_size("bitonic", tasks=n * (levels + 1), data_bytes=float(n) * levels * size)
    program = DataflowProgram(version, control)
    array = program.array(n, size, global_pieces)
    creators = group_creation(program, (n,), GROUP)
    comparisons = block_elements * ops_per_comparison
    depth = math.log2(block_elements) if block_elements > 1 else 0.0
    copying = block_elements * copy_ops_per_element if program.is_private else 0.0
    first = program.tasks("init", n, copying)
    sort = program.tasks("sort", n, comparisons * depth)
    network = _Network(program, stages, comparisons, comparisons / 2 * depth)
    term = program.tasks("term", n, copying)
    last = program.tasks("last", 1)
    position = np.arange(n, dtype=np.int64)
    program.buffer(first, sort, size)
    writer = sort
    for tasks, blocks in network.levels():
        flat = blocks.ravel()
        program.buffer(writer[flat], np.repeat(tasks, blocks.shape[1]), size)
        writer = np.empty(n, np.int64)
        writer[flat] = np.repeat(tasks, blocks.shape[1])
        if not program.is_private:
            for column in range(blocks.shape[1]):
                program.use(tasks, array[blocks[:, column]], read=True, written=True)
    program.buffer(writer, term, size)
    program.buffer(term, np.broadcast_to(last, (n,)), TOKEN_BYTES)
    if program.is_private:
        program.use(first, array, read=True)
        program.use(term, array, written=True)
    else:
        program.use(sort, array, read=True, written=True)
    if creators is not None:
        program.create(program.root, last)
        program.create(np.repeat(creators, 3), np.stack([first, sort, term], axis=1).ravel())
        even = position[::2]
        program.create(first[even], network.tri(0, 0 * even, even // 2))
        program.create(sort, network.atom(0, position // 2, position % 2))
        network.create_all()
    return Workload("bitonic", program.graph())


class _Network:
    """Tasks of the stages."""

    def __init__(
        self, program: DataflowProgram, stages: int, compare_ops: float, merge_ops: float
    ) -> None:
        self._program, self._stages = program, stages
        half = 2 ** (stages - 1)
        self._tri: list[Int64Array] = []
        self._ch: list[list[Int64Array]] = []
        self._atom: list[Int64Array] = []
        for stage in range(stages):
            self._tri.append(program.tasks("tri", half, compare_ops))
            self._ch.append([program.tasks("ch", half, compare_ops) for _ in range(stage)])
            self._atom.append(program.tasks("atom", 2 * half, merge_ops))

    def tri(self, stage: int, pair: Int64Array, box: Int64Array) -> Int64Array:
        """Return tri(stage, pair, box)."""
        found: Int64Array = self._tri[stage][box * 2**stage + pair]
        return found

    def ch(
        self, stage: int, step: int, box: Int64Array, low: Int64Array, high: Int64Array
    ) -> Int64Array:
        """Return ch(stage, step, box, low, high)."""
        place = box * 2**stage + low * 2 ** (stage - 1 - step) + high
        found: Int64Array = self._ch[stage][step][place]
        return found

    def atom(self, stage: int, box: Int64Array, block: Int64Array) -> Int64Array:
        """Return atom(stage, box, block)."""
        found: Int64Array = self._atom[stage][box * 2 ** (stage + 1) + block]
        return found

    def levels(self) -> list[tuple[Int64Array, Int64Array]]:
        """Return tasks and the block positions of each, shape (n, 1) or (n, 2), level by level."""
        found = []
        for stage in range(self._stages):
            n = 2 ** (stage + 1)
            box, pair = np.divmod(np.arange(2 ** (self._stages - 1), dtype=np.int64), n // 2)
            found.append(
                (self._tri[stage], box[:, None] * n + np.stack([pair, n - 1 - pair], axis=1))
            )
            for step, tasks in enumerate(self._ch[stage]):
                distance = 2 ** (stage - 1 - step)
                low, high = np.divmod(pair, distance)
                place = box * n + low * 2 * distance + high
                found.append((tasks, np.stack([place, place + distance], axis=1)))
            position = np.arange(2**self._stages, dtype=np.int64)
            found.append((self._atom[stage], position[:, None]))
        return found

    def create_all(self) -> None:
        """Let the tasks of the stages create each other."""
        for stage in range(self._stages):
            box, pair = np.divmod(np.arange(2 ** (self._stages - 1), dtype=np.int64), 2**stage)
            self._create_by_tri(stage, box, pair)
            for step in range(stage):
                self._create_by_ch(stage, step, box, *np.divmod(pair, 2 ** (stage - 1 - step)))
            if stage + 1 < self._stages:
                made = self.ch(stage + 1, 0, box // 2, box % 2, pair)
                self._program.create(self.atom(stage, box, pair), made)

    def _create_by_tri(self, stage: int, box: Int64Array, pair: Int64Array) -> None:
        creator = self.tri(stage, pair, box)
        if stage == 0 and self._stages > 1:
            self._program.create(creator, self.tri(1, box % 2, box // 2))
        elif stage == 1:
            both = np.stack([self.atom(1, box, pair), self.atom(1, box, 3 - pair)], axis=1)
            self._program.create(creator[:, None], both)
        elif stage > 1:
            q = 2 ** (stage - 2)
            even, low, high = pair // q % 2 == 0, pair // (2 * q), pair % q
            made = self.ch(
                stage, 1, box, np.where(even, low, 3 - low), np.where(even, high, q - 1 - high)
            )
            self._program.create(creator, made)

    def _create_by_ch(
        self, stage: int, step: int, box: Int64Array, low: Int64Array, high: Int64Array
    ) -> None:
        creator = self.ch(stage, step, box, low, high)
        distance = 2 ** (stage - 1 - step)
        if step == stage - 1:
            if stage + 1 < self._stages:
                pair = np.where(box % 2 == 0, 2 * low + 1, 2 ** (stage + 1) - 2 * low - 2)
                self._program.create(creator, self.tri(stage + 1, pair, box // 2))
        elif step == stage - 2:
            block = 4 * low + high
            made = np.stack([self.atom(stage, box, block + more) for more in (0, 2)], axis=1)
            self._program.create(creator[:, None], made)
        else:
            quarter = distance // 4
            made = self.ch(stage, step + 2, box, 4 * low + high // quarter, high % quarter)
            self._program.create(creator, made)
