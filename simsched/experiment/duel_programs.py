"""Small programs on which two policies meet: random ones, their neighbours, and simpler ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from simsched.workload.builder import adjacency, build_graph, first_touch_loop, listed_accesses
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.importers import write_dot

T = TypeVar("T")

PROGRAM = "program.dot"
MOST_TASKS = 30
MOST_BLOCKS = 8
#: Work of a task on a core of normal speed, the simplest first. It is no shorter than need be: what
#: costs of the runtime alone explain is not the simplest explanation.
WORK_US = (100, 1000, 10, 1, 200, 500, 20, 50, 2, 5)
BLOCK_KIB = (4, 64, 1024, 8192)
ITERATIONS = (1, 2, 4)
#: Operations on a device, relative to those on a core.
ON_DEVICE = (1.0, 10.0, 100.0)
PRIORITIES = (0, 1, 2)
CLASSES = ("task", "other")
READ, UPDATE, WRITE = MODES = range(3)  #: what a task does to a block, the simplest first
OPS_PER_US = 1000.0
TOUCH_US = 1.0


@dataclass(frozen=True)
class Step:
    """A task. Parents and predecessors have lower numbers."""

    work_us: float = WORK_US[0]
    #: Who creates it; -1 if it is there from the start.
    parent: int = -1
    #: After which tasks it begins.
    after: tuple[int, ...] = ()
    #: Blocks that it accesses as a whole, each with one of `MODES`.
    uses: tuple[tuple[int, int], ...] = ()
    task_class: int = 0
    priority: int = 0
    on_device: float = 1.0


@dataclass(frozen=True)
class Sketch:
    """A program."""

    steps: tuple[Step, ...]
    #: Sizes of the blocks.
    block_kib: tuple[int, ...] = ()
    iterations: int = 1
    #: Whether an initialisation touches all blocks, rather than who uses them first.
    has_init: bool = False

    def workload(self, name: str, kinds: Sequence[str]) -> Workload:
        """Return the program itself, for some kinds of processors; it is not validated."""
        sizes = np.array(self.block_kib, np.int64) * 1024
        init = None
        if self.has_init and len(sizes):
            init = first_touch_loop(sizes, TOUCH_US * OPS_PER_US, kinds=kinds)
        return Workload(name, self._graph(sizes, kinds), self.iterations, init)

    def _graph(self, sizes: np.ndarray[Any, np.dtype[np.int64]], kinds: Sequence[str]) -> TaskGraph:
        steps, n = self.steps, len(self.steps)
        work = np.array([step.work_us * OPS_PER_US for step in steps])
        device = work * np.array([step.on_device for step in steps])
        tree = [(step.parent, task) for task, step in enumerate(steps) if step.parent >= 0]
        flow = [(before, task) for task, step in enumerate(steps) for before in step.after]
        rows = [
            (
                task,
                block,
                int(sizes[block]) * (mode != WRITE),
                int(sizes[block]) * (mode != READ),
                0,
            )
            for task, step in enumerate(steps)
            for block, mode in step.uses
        ]
        priority = [step.priority for step in steps]
        return build_graph(
            np.stack([work if kind == "cpu" else device for kind in kinds]),
            kinds=kinds,
            task_class=[step.task_class for step in steps],
            class_names=CLASSES,
            children=adjacency(*_ends(tree), n) if tree else None,
            successors=adjacency(*_ends(flow), n) if flow else None,
            accessed=listed_accesses(rows, n),
            block_bytes=sizes,
            priority=priority if any(priority) else None,
        )

    def write(self, directory: Path, kinds: Sequence[str]) -> dict[str, Any]:
        """Write a task graph file; return what an experiment says of it."""
        write_dot(self.workload("program", kinds), directory / PROGRAM)
        return {"file": PROGRAM}

    # -------------------------------------------------------------------------------------------

    def without(self, first: int, number: int) -> Sketch:
        """Return the program without some tasks; their children are those of their parents."""
        gone = range(first, first + number)
        kept = [task for task in range(len(self.steps)) if task not in gone]
        renumbered = {task: place for place, task in enumerate(kept)}

        def parent_of(task: int) -> int:
            while task in gone:
                task = self.steps[task].parent
            return renumbered.get(task, -1)

        steps = [
            replace(
                self.steps[task],
                parent=parent_of(self.steps[task].parent),
                after=tuple(renumbered[one] for one in self.steps[task].after if one not in gone),
            )
            for task in kept
        ]
        return replace(self, steps=tuple(steps))

    def with_step(self, task: int, **values: Any) -> Sketch:
        """Return the program with another task in the place of one."""
        steps = list(self.steps)
        steps[task] = replace(steps[task], **values)
        return replace(self, steps=tuple(steps))

    def without_block(self, block: int) -> Sketch:
        """Return the program without a block and its accesses."""
        steps = [
            replace(
                step,
                uses=tuple((b - (b > block), mode) for b, mode in step.uses if b != block),
            )
            for step in self.steps
        ]
        sizes = self.block_kib[:block] + self.block_kib[block + 1 :]
        return replace(self, steps=tuple(steps), block_kib=sizes)

    def simpler(self) -> Iterator[Sketch]:
        """Yield programs that lack something or have a simpler value, the simplest ones first."""
        n = len(self.steps)
        number = n // 2
        while number:
            yield from (self.without(at, number) for at in range(n - number, -1, -number))
            number //= 2
        yield from (self.without_block(block) for block in range(len(self.block_kib)))
        if self.has_init:
            yield replace(self, has_init=False)
        fewer = ITERATIONS[: ITERATIONS.index(self.iterations)]
        yield from (replace(self, iterations=number) for number in fewer)
        for task in range(n):
            yield from self._simpler_steps(task)
        for block, size in enumerate(self.block_kib):
            for smaller in BLOCK_KIB[: BLOCK_KIB.index(size)]:
                sizes = (*self.block_kib[:block], smaller, *self.block_kib[block + 1 :])
                yield replace(self, block_kib=sizes)

    def _simpler_steps(self, task: int) -> Iterator[Sketch]:
        step = self.steps[task]
        for before in step.after:
            yield self.with_step(task, after=tuple(one for one in step.after if one != before))
        if step.parent >= 0:
            yield self.with_step(task, parent=-1)
        for use in step.uses:
            yield self.with_step(task, uses=tuple(one for one in step.uses if one != use))
        for number, (block, mode) in enumerate(step.uses):
            for simpler in MODES[:mode]:
                uses = (*step.uses[:number], (block, simpler), *step.uses[number + 1 :])
                yield self.with_step(task, uses=uses)
        for name in ("task_class", "priority", "on_device"):
            plain = getattr(Step(), name)
            if getattr(step, name) != plain:
                yield self.with_step(task, **{name: plain})
        for work in WORK_US[: WORK_US.index(step.work_us)]:
            yield self.with_step(task, work_us=work)


def _ends(edges: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [source for source, _ in edges], [target for _, target in edges]


# ------------------------------------------------------------------------------------------------


class Draws:
    """Random programs and random changes of them."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def program(self) -> Sketch:
        """Return a random program: a spawn tree, a fork-join, or layers of tasks."""
        sizes = tuple(self._any(BLOCK_KIB) for _ in range(self._below(MOST_BLOCKS + 1)))
        shape = self._any((self._tree, self._fork_join, self._layers))
        works = tuple(self._any(WORK_US) for _ in range(1 + self._below(3)))
        steps = [
            replace(
                step,
                work_us=self._any(works),
                uses=self._uses(len(sizes)),
                task_class=self._below(len(CLASSES)),
                priority=self._any(PRIORITIES),
                on_device=self._any(ON_DEVICE),
            )
            for step in shape(3 + self._below(MOST_TASKS - 2))
        ]
        sketch = Sketch(tuple(steps), sizes, self._any(ITERATIONS), bool(self._below(2)))
        return sketch if self._below(3) else self._handing_on(sketch)

    def changed(self, sketch: Sketch) -> Sketch:
        """Return a program that differs in something; the same where nothing can differ so."""
        change: Callable[[Sketch], Sketch] = self._any(
            (
                *(self._other_value,) * 4,
                *(self._other_uses,) * 2,
                *(self._other_edges,) * 2,
                self._more,
                self._more,
                self._fewer,
                self._other_block,
                self._whole,
            )
        )
        return change(sketch)

    # -------------------------------------------------------------------------------------------

    def _below(self, bound: int) -> int:
        return int(self._rng.integers(bound))

    def _any(self, choices: Sequence[T]) -> T:
        return choices[self._below(len(choices))]

    def _tree(self, n: int) -> list[Step]:
        arity = 1 + self._below(4)
        return [Step(parent=(task - 1) // arity if task else -1) for task in range(n)]

    def _fork_join(self, n: int) -> list[Step]:
        inner = tuple(range(1, n - 1))
        return [Step(), *(Step(after=(0,)) for _ in inner), Step(after=inner)]

    def _layers(self, n: int) -> list[Step]:
        width, most = 1 + self._below(8), self._below(4)
        steps = []
        for task in range(n):
            row = task // width - 1
            before = range(max(0, row * width), (row + 1) * width)
            number = min(most, len(before))
            chosen = self._rng.choice(before, number, replace=False) if number else ()
            steps.append(Step(after=tuple(sorted(map(int, chosen)))))
        return steps

    def _handing_on(self, sketch: Sketch) -> Sketch:
        """Return the program with a block for each edge, which goes from a task to its successor.

        There are no other blocks, and at most as many as tasks.
        """
        edges = [(one, task) for task, step in enumerate(sketch.steps) for one in step.after]
        uses: list[list[tuple[int, int]]] = [[] for _ in sketch.steps]
        for block, (source, target) in enumerate(edges[:MOST_TASKS]):
            uses[source].append((block, WRITE))
            uses[target].append((block, READ))
        pairs = zip(sketch.steps, uses, strict=True)
        steps = tuple(replace(step, uses=tuple(each)) for step, each in pairs)
        return replace(
            sketch, steps=steps, block_kib=(self._any(BLOCK_KIB),) * len(edges[:MOST_TASKS])
        )

    def _uses(self, n_blocks: int) -> tuple[tuple[int, int], ...]:
        number = min(self._below(3), n_blocks)
        chosen = self._rng.choice(n_blocks, number, replace=False) if number else ()
        return tuple((int(block), self._any(MODES)) for block in sorted(chosen))

    def _other_value(self, sketch: Sketch) -> Sketch:
        values: dict[str, Sequence[Any]] = {
            "work_us": WORK_US,
            "task_class": range(len(CLASSES)),
            "priority": PRIORITIES,
            "on_device": ON_DEVICE,
        }
        name = self._any(("work_us", "work_us", *values))
        return sketch.with_step(self._below(len(sketch.steps)), **{name: self._any(values[name])})

    def _other_uses(self, sketch: Sketch) -> Sketch:
        uses = self._uses(len(sketch.block_kib))
        return sketch.with_step(self._below(len(sketch.steps)), uses=uses)

    def _other_edges(self, sketch: Sketch) -> Sketch:
        task = self._below(len(sketch.steps))
        step, other = sketch.steps[task], self._below(task + 1) - 1
        if self._below(3) == 0:
            return sketch.with_step(task, parent=other)
        if other < 0:
            return sketch.with_step(task, after=step.after[:-1])
        after = set(step.after) ^ {other}
        return sketch.with_step(task, after=tuple(sorted(after)))

    def _more(self, sketch: Sketch) -> Sketch:
        """Add some tasks like one of those that are there."""
        number = min(1 + self._below(4), MOST_TASKS - len(sketch.steps))
        return replace(sketch, steps=sketch.steps + (self._any(sketch.steps),) * number)

    def _fewer(self, sketch: Sketch) -> Sketch:
        if len(sketch.steps) < 3:
            return sketch
        return sketch.without(self._below(len(sketch.steps)), 1)

    def _other_block(self, sketch: Sketch) -> Sketch:
        sizes = list(sketch.block_kib)
        if len(sizes) < MOST_BLOCKS and self._below(2):
            sizes.append(self._any(BLOCK_KIB))
        elif sizes:
            sizes[self._below(len(sizes))] = self._any(BLOCK_KIB)
        return replace(sketch, block_kib=tuple(sizes))

    def _whole(self, sketch: Sketch) -> Sketch:
        """Change what is about all tasks."""
        if self._below(2):
            return replace(sketch, has_init=not sketch.has_init)
        return replace(sketch, iterations=self._any(ITERATIONS))
