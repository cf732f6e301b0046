"""Programs: one iteration as a task graph, repeated.

A :class:`TaskGraph` describes one iteration; a :class:`Workload` repeats it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from simsched.files.errors import GraphError
from simsched.files.units import plural
from simsched.names.shown import Shown
from simsched.workload.applications import Applications
from simsched.workload.arrays import SHOWN_NAME as SHOWN_NAME
from simsched.workload.arrays import BoolArray as BoolArray
from simsched.workload.arrays import FloatArray as FloatArray
from simsched.workload.arrays import GraphArrays
from simsched.workload.arrays import Int32Array as Int32Array
from simsched.workload.arrays import Int64Array as Int64Array
from simsched.workload.dependences import dependences
from simsched.workload.division import Division
from simsched.workload.durations import KEY, Durations, parse_durations
from simsched.workload.listed import MAX_INDEX, Accesses, Adjacency, accesses, by_kind, filled
from simsched.workload.validate import validate_graph
from simsched.workload.varying import Varying


@dataclass(frozen=True, eq=False, repr=False)
class TaskGraph(GraphArrays):
    """Tasks of one iteration with their spawn tree, dataflow edges and accesses.

    Its arrays are those of :class:`~simsched.workload.arrays.GraphArrays`.
    """

    @classmethod
    def build(
        cls,
        ops: ArrayLike,
        *,
        join_ops: ArrayLike | None = None,
        kinds: Sequence[str] = ("cpu",),
        task_class: ArrayLike | None = None,
        class_names: Sequence[str] = ("task",),
        children: Adjacency | None = None,
        successors: Adjacency | None = None,
        accessed: Accesses | None = None,
        block_bytes: ArrayLike = (),
        creation_ops: ArrayLike | None = None,
        arrival_ps: ArrayLike | None = None,
        detached: ArrayLike | None = None,
        occupancy: ArrayLike | None = None,
        synchronous: ArrayLike | None = None,
        priority: ArrayLike | None = None,
        access_share: ArrayLike | None = None,
        access_after: ArrayLike | None = None,
        access_final: ArrayLike | None = None,
        alternate_block: ArrayLike | None = None,
        device_efficiency: ArrayLike | None = None,
        codelets: Sequence[str] | None = None,
        task_names: Sequence[str] | None = None,
    ) -> TaskGraph:
        """Return a task graph; what is not given is zero, empty, one kind or one class.

        Parameters
        ----------
        ops : array_like of float, shape (n_tasks,) or (n_kinds, n_tasks)
            Operations of the bodies.
        join_ops : array_like of float, shape as `ops`, optional
            Operations of the joins, 0 by default.
        kinds : sequence of str
            Processor kinds, ``("cpu",)`` by default.
        task_class : array_like of int, shape (n_tasks,), optional
            Class of each task, 0 by default.
        class_names : sequence of str
            Names of the classes, ``("task",)`` by default.
        children, successors : Adjacency, optional
            Spawn tree and dataflow edges, none by default.
        accessed : Accesses, optional
            None by default.
        block_bytes : array_like of int, shape (n_blocks,)
            Sizes of the blocks, none by default.
        creation_ops, arrival_ps : array_like, shape (n_tasks,), optional
            0 by default.
        detached, occupancy, synchronous, priority : array_like, shape (n_tasks,), optional
            As in the graph; none by default.
        access_share, access_after, access_final : array_like, shape (n_accesses,), optional
            As in the graph, in the order of `accessed`; none by default.
        alternate_block : array_like of int, shape (n_blocks,), optional
            As in the graph; none by default.
        device_efficiency : array_like of float, shape (n_classes,), optional
            As in the graph; none by default.
        codelets, task_names : sequence of str, optional
            Of each class and of each task; none by default.

        Returns
        -------
        TaskGraph
            Not validated yet; `Workload.validate` does that.
        """
        costs = by_kind(ops)
        n_tasks = costs.shape[1]
        if n_tasks > MAX_INDEX:
            raise GraphError(f"tasks: found {n_tasks}, accepted at most {MAX_INDEX}")
        none = Adjacency(np.zeros(n_tasks + 1, dtype=np.int64), np.zeros(0, dtype=np.int32))
        tree = none if children is None else children
        flow = none if successors is None else successors
        access = accesses((), (), (), (), n_tasks) if accessed is None else accessed
        return cls(
            ops=costs,
            join_ops=np.zeros_like(costs) if join_ops is None else by_kind(join_ops),
            kinds=tuple(kinds),
            task_class=filled(task_class, n_tasks, np.int32),
            class_names=tuple(class_names),
            child_ptr=tree.ptr,
            child=tree.target,
            succ_ptr=flow.ptr,
            succ=flow.target,
            access_ptr=access.ptr,
            join_access=access.join,
            access_block=access.block,
            read_bytes=access.read_bytes,
            written_bytes=access.written_bytes,
            block_bytes=np.ascontiguousarray(block_bytes, dtype=np.int64),
            creation_ops=filled(creation_ops, n_tasks, np.float64),
            arrival_ps=filled(arrival_ps, n_tasks, np.int64),
            detached=None if detached is None else filled(detached, n_tasks, np.bool_),
            occupancy=None if occupancy is None else filled(occupancy, n_tasks, np.int32),
            synchronous=None if synchronous is None else filled(synchronous, n_tasks, np.bool_),
            priority=None if priority is None else filled(priority, n_tasks, np.int32),
            access_share=None if access_share is None else np.array(access_share, np.float64),
            access_after=None if access_after is None else np.array(access_after, np.int32),
            access_final=None if access_final is None else np.array(access_final, np.bool_),
            alternate_block=None
            if alternate_block is None
            else np.array(alternate_block, np.int32),
            device_efficiency=(
                None if device_efficiency is None else np.array(device_efficiency, np.float64)
            ),
            codelets=None if codelets is None else tuple(codelets),
            task_names=None if task_names is None else tuple(task_names),
        )

    @classmethod
    def from_accesses(
        cls,
        ops: ArrayLike,
        uses: Sequence[Sequence[tuple[str, str]]],
        block_bytes: Mapping[str, int],
        **arrays: Any,
    ) -> TaskGraph:
        """Return a graph whose edges follow from what tasks do with data, in the program's order.

        Who reads a block follows who wrote it last; who writes it follows all that have used it
        since. Tasks that commute follow the same ones, and are followed by the same ones, without
        an order among each other; nothing keeps them from running at one time.

        Parameters
        ----------
        ops : array_like of float, shape (n_tasks,) or (n_kinds, n_tasks)
            Operations.
        uses : sequence of sequence of (str, str)
            For each task the blocks that it uses, by name, each with what it does: "read", "write",
            "update" (both) or "commute" (both, in any order). It accesses whole blocks in this
            order.
        block_bytes : mapping of str to int
            Size of every block.
        **arrays
            Further ones of `build`, such as `kinds`,
            `task_class` or `priority`.

        Returns
        -------
        TaskGraph
            Its blocks are in the order of `block_bytes`.

        Raises
        ------
        GraphError
            Something of another form, an unknown block or mode, a block that a task names twice,
            another number of tasks than of `ops`, and what `validate` finds.

        Examples
        --------
        >>> uses = [[("a", "write")], [("a", "read")], [("a", "read")], [("a", "update")]]
        >>> graph = TaskGraph.from_accesses([1e6] * 4, uses, {"a": 4096})
        >>> [graph.succ[i:j].tolist() for i, j in zip(graph.succ_ptr, graph.succ_ptr[1:])]
        [[1, 2], [3], [3], []]
        """
        found = dependences(uses, block_bytes)
        try:
            graph = cls.build(ops, **found, block_bytes=list(block_bytes.values()), **arrays)
        except (ValueError, OverflowError) as error:
            raise GraphError(f"found arrays of other values than build takes: {error}") from error
        if graph.n_tasks != len(uses):
            raise GraphError(
                f"uses: found {len(uses)} tasks, accepted {graph.n_tasks}, as many as ops"
            )
        graph.validate()
        return graph

    def validate(self) -> None:
        """Check that the arrays are consistent and the graph can be executed.

        Raises
        ------
        GraphError
            No tasks, wrong lengths, NaN or negative costs, negative bytes, an edge or access that
            points nowhere, a task with two parents, a self-loop or a cycle through dataflow edges
            and the spawn tree.
        """
        if not (self.is_fixed and self._is_valid):
            validate_graph(self)
            object.__setattr__(self, "_is_valid", True)

    #: Whether it has been found right; while nobody can write to its arrays it stays so.
    _is_valid = False

    def with_classes(self, names: Sequence[str]) -> TaskGraph:
        """Return the graph with another table of classes.

        Parameters
        ----------
        names : sequence of str
            All of its own classes and any others, in any order.

        Returns
        -------
        TaskGraph
            Its tasks have the classes that they had, and classes the values that they had. New ones
            have no codelet and reach nothing on devices.
        """
        place = np.array([names.index(name) for name in self.class_names], np.int32)
        codelets, reached = self.codelets, self.device_efficiency
        if codelets is not None:
            known = dict(zip(self.class_names, codelets, strict=True))
            codelets = tuple(known.get(name, "") for name in names)
        if reached is not None:
            reached = np.zeros(len(names))
            reached[place] = self.device_efficiency
        return replace(
            self,
            task_class=place[self.task_class],
            class_names=tuple(names),
            codelets=codelets,
            device_efficiency=reached,
        )

    def in_iteration(self, number: int) -> TaskGraph:
        """Return the graph with the blocks of an iteration.

        Parameters
        ----------
        number : int
            The iteration, from 1; 0 is the initialisation.

        Returns
        -------
        TaskGraph
            This one, or in iterations 2, 4, ... one with the blocks of `alternate_block`.
        """
        return self if number % 2 or self.alternate_block is None else self._alternated

    @cached_property
    def _alternated(self) -> TaskGraph:
        assert self.alternate_block is not None
        return replace(self, access_block=self.alternate_block[self.access_block])


@dataclass(frozen=True, eq=False)
class Workload(Shown):
    """A program: an optional initialisation and a graph that is repeated.

    Parameters
    ----------
    name : str
        Name for tables and files.
    graph : TaskGraph
        One iteration.
    iterations : int
        How often `graph` runs; a barrier separates iterations.
    init : TaskGraph, optional
        Initialisation, run once before as iteration 0. It uses the same blocks as `graph`.
    parameters : dict
        What the generator or importer was called with, for provenance.
    division : Division, optional
        Work of `graph` that a policy may divide otherwise, each of the `iterations` over as many
        iterations of the run as it likes. There is no initialisation then.
    applications : Applications, optional
        The programs that share a device, where the workload consists of several.
    varying : Varying, optional
        What each iteration executes, where iterations differ in operations and accesses; `graph`
        then has the mean costs.
    durations : Durations, optional
        Random durations that are laid over the program when it is executed.
    """

    name: str
    graph: TaskGraph
    iterations: int = 1
    init: TaskGraph | None = None
    parameters: dict[str, object] = field(default_factory=dict)
    division: Division | None = field(default=None, kw_only=True)
    applications: Applications | None = field(default=None, kw_only=True)
    varying: Varying[TaskGraph] | None = field(default=None, kw_only=True)
    durations: Durations | None = field(default=None, kw_only=True)

    def graph_of(self, number: int) -> TaskGraph:
        """Return what an iteration executes.

        Parameters
        ----------
        number : int
            Of the iteration; 0 for the initialisation.

        Returns
        -------
        TaskGraph
            That of the program, unless iterations vary or use its blocks in turn.
        """
        if number == 0 and self.init is not None:
            return self.init
        graph = self.graph if self.varying is None else self.varying.graph(number)
        return graph.in_iteration(number)

    def changed(
        self, change: Callable[[TaskGraph], TaskGraph], *, init: TaskGraph | None
    ) -> Workload:
        """Return the program with a change of its graph, made to all iterations if they vary.

        Parameters
        ----------
        change : callable
            From graph to graph.
        init : TaskGraph or None
            The new program's initialisation.

        Returns
        -------
        Workload
            A new one.
        """
        varying = None if self.varying is None else self.varying.changed(change)
        return replace(self, graph=change(self.graph), init=init, varying=varying)

    def with_durations(self, given: str | Mapping[str, str], *, seed: int = 0) -> Workload:
        """Return the program with random durations.

        Parameters
        ----------
        given : str or mapping of str to str
            Distributions of all tasks or by class, see :mod:`simsched.workload.durations`.
        seed : int
            Of everything that is drawn; in an experiment that of the run.

        Returns
        -------
        Workload
            Its `graph` has the mean costs.

        Raises
        ------
        ConfigurationError
            A text that is no distribution.
        GraphError
            A class that no task has, or work that policies divide.
        """
        laid = parse_durations(given, f"workload {self.name}", seed)
        parameters = {**self.parameters, KEY: given}
        found = replace(self, durations=laid, parameters=parameters)
        found.check_durations()
        return found

    def check_durations(self) -> None:
        """Check that random durations fit the program.

        Raises
        ------
        GraphError
            A class that no task has, or work that policies divide.
        """
        if self.durations is None:
            return
        where = f"workload {self.name}: {KEY}"
        if self.division is not None:
            raise GraphError(f"{where}: found work that policies divide, accepted other tasks")
        self.durations.check_classes(where, *filter(None, [self.graph, self.init]))

    def drawn(self) -> Workload:
        """Return the program with the durations that are drawn for it.

        Returns
        -------
        Workload
            Without `durations`; this one where it has none.
        """
        laid = self.durations
        if laid is None:
            return self

        def iteration(number: int) -> TaskGraph:
            graph = self.graph if self.varying is None else self.varying.graph(number)
            return replace(graph, **laid.laid_over(graph, number))

        init = self.init and replace(self.init, **laid.laid_over(self.init, 0))
        if self.iterations == 1:
            return replace(self, graph=iteration(1), init=init, varying=None, durations=None)
        return replace(self, init=init, varying=Varying(iteration), durations=None)

    def __repr__(self) -> str:
        return f"<Workload {self.name}: {plural(self.iterations, 'iteration')} of {self.graph!r}>"

    def validate(self) -> None:
        """Check both graphs and that they share their blocks.

        Raises
        ------
        GraphError
            As :meth:`TaskGraph.validate`; also for fewer than one iteration, different blocks, or a
            division that does not fit.
        """
        if self.iterations < 1:
            raise GraphError(
                f"workload {self.name}: iterations: found {self.iterations}, accepted 1 or more"
            )
        self.graph.validate()
        if self.division is not None:
            if self.init is not None:
                raise GraphError(
                    f"workload {self.name}: division: found an initialisation, accepted none"
                )
            self.division.validate(self.graph)
        if self.varying is not None:
            self.varying.validate(self.graph, self.iterations)
        self.check_durations()
        if self.init is not None:
            self.init.validate()
            if not np.array_equal(self.init.block_bytes, self.graph.block_bytes):
                raise GraphError(
                    f"workload {self.name}: initialisation and iteration have different blocks"
                )
