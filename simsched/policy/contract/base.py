"""The contract between policies and engines.

A policy is a frozen dataclass whose fields are its parameters. It makes up to three kinds of
decisions:

1. Before the run: :meth:`Policy.prepare` (the port of the program it runs), :meth:`Policy.place`
   (home nodes of blocks) and :meth:`Policy.plan` (a :class:`Plan`: pools, spawn order, acquire
   order), which either backend executes by itself.
2. Between iterations: :meth:`Policy.on_iteration` receives :class:`Counters` and returns an
   :class:`Update`; :meth:`Policy.divide` says how much divisible work each part of the program
   gets.
3. Fine hooks (`on_spawn`, `on_ready`, `on_acquire`, `on_start`, `on_idle`, `on_finish`,
   `on_landing`, `on_timer`, `on_wake`), called only when a class overrides them.

Rules
-----
* Hooks return decisions; only the engine changes anything.
* A policy reads the machine, the workload and the counters that it asked for through its
  view, nothing else: a :class:`PlanView`, in fine hooks a :class:`HookView`.
* State that a policy builds up during a run lives in an object it creates in :meth:`Policy.start`
  and receives back in every call, so that a policy instance can serve many runs.
* Ties are broken by the policy itself, by index; random choices draw from ``view.rng``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, cast

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import ConfigurationError
from simsched.files.units import PS_PER_S
from simsched.files.units import seconds_to_ps as seconds_to_ps
from simsched.machine.model import Machine
from simsched.names.parameters import parameters_of
from simsched.names.shown import Shown
from simsched.policy.contract.blocks import BlockPools
from simsched.policy.contract.class_checks import check_class, check_declared
from simsched.policy.contract.counters import Counters as Counters
from simsched.policy.contract.decisions import Exchange as Exchange
from simsched.policy.contract.decisions import Move as Move
from simsched.policy.contract.decisions import Pace as Pace
from simsched.policy.contract.decisions import Pool as Pool
from simsched.policy.contract.decisions import Preempt as Preempt
from simsched.policy.contract.decisions import Rest as Rest
from simsched.policy.contract.decisions import Transfer as Transfer
from simsched.policy.contract.decisions import Wake as Wake
from simsched.policy.contract.estimates import INFORMATION_MODES, parse_user_ops
from simsched.policy.contract.executions import Duplicate, Kill
from simsched.policy.contract.fit import Need
from simsched.policy.contract.plan import CHILD_FIRST as CHILD_FIRST
from simsched.policy.contract.plan import PARENT_FIRST as PARENT_FIRST
from simsched.policy.contract.plan import TAKES as TAKES
from simsched.policy.contract.plan import AcquireStep as AcquireStep
from simsched.policy.contract.plan import Choice as Choice
from simsched.policy.contract.plan import Device as Device
from simsched.policy.contract.plan import Monitor as Monitor
from simsched.policy.contract.plan import Plan as Plan
from simsched.policy.contract.plan import PoolGroup as PoolGroup
from simsched.policy.contract.plan import Ranked as Ranked
from simsched.policy.contract.plan import Uniform as Uniform
from simsched.policy.contract.plan import Weighted as Weighted
from simsched.policy.contract.records import MAX_INDEX, Decision, accepts
from simsched.policy.contract.views import EngineState as EngineState
from simsched.policy.contract.views import HookView as HookView
from simsched.policy.contract.views import PlanView as PlanView
from simsched.workload.graph import TaskGraph, Workload

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # that of typing has defaults from Python 3.13 on

    S = TypeVar("S", default=Any)
else:
    from typing import TypeVar

    S = TypeVar("S")  #: what a policy remembers during a run

Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]

MAX_OVERHEAD_PS = 10**6 * PS_PER_S  #: of an update
LARGEST_NUMBER = 1e18  #: of parameters of type float that do not say where they end


@dataclass(frozen=True, eq=False)
class Placement:
    """Where blocks live.

    Parameters
    ----------
    home : ndarray of int32, shape (n_blocks,)
        Memory node of each block; -1 for first touch.
    touch_order : ndarray of int32, shape (n_domains, n_allowed)
        Nodes that first touch from each domain tries, in order. A block that fits none of them is
        an error.
    pools : BlockPools, optional
        Blocks that are allocated and freed while the program runs; none by default.
    follows_writes : ndarray of bool, shape (n_blocks,), optional
        Blocks that every access which writes to them puts where the writer is, as at a first touch:
        files that each execution of a task writes anew. None by default; not blocks of pools.
    replicas : ndarray of int32, shape (n_blocks, n_replicas), optional
        Other nodes that hold each block besides its home, filled up with -1; none by default. Reads
        go to the nearest of them; the first write goes to the home, and the block then has no
        replicas any more.
    follows_accesses : ndarray of bool, shape (n_blocks,), optional
        Blocks that every access puts there, also one that only reads: files of which each execution
        of a task has its own. As for `follows_writes`, which they need not be listed in.
    """

    home: Int32Array = field(metadata=accepts(-1, of="nodes", shape=("blocks",)))
    touch_order: Int32Array = field(metadata=accepts(of="nodes", shape=("domains", "allowed")))
    pools: BlockPools | None = None
    follows_writes: NDArray[np.bool_] | None = field(
        default=None, metadata=accepts(shape=("blocks",))
    )
    replicas: Int32Array | None = field(
        default=None, metadata=accepts(-1, of="nodes", shape=("blocks", "replicas"))
    )
    follows_accesses: NDArray[np.bool_] | None = field(
        default=None, metadata=accepts(shape=("blocks",))
    )


@dataclass(frozen=True, eq=False)
class Update:
    """What a policy changes between two iterations.

    Parameters
    ----------
    plan : Plan, optional
        The new plan; the old one stays when it is None.
    move_block, move_node : ndarray of int32, shape (n_moves,), or tuple of int
        Blocks to migrate, in this order, and their new nodes.
    migrating_workers : int
        Number of workers that copy blocks at the same time.
    overhead_ps : int
        Time that the policy's own work takes before the next iteration may start.
    """

    plan: Plan | None = None
    move_block: Int32Array | tuple[int, ...] = field(
        default_factory=lambda: np.empty(0, np.int32),
        metadata=accepts(of="blocks", shape=("moves",)),
    )
    move_node: Int32Array | tuple[int, ...] = field(
        default_factory=lambda: np.empty(0, np.int32),
        metadata=accepts(of="nodes", shape=("moves",)),
    )
    migrating_workers: int = field(default=1, metadata=accepts(1, MAX_INDEX))
    overhead_ps: int = field(default=0, metadata=accepts(0, MAX_OVERHEAD_PS))


@dataclass(frozen=True, eq=False)
class AcquireOrder(Decision):
    """Decision of `on_timer` and `on_wake`: workers look for work in another order.

    It holds until the iteration ends.

    Parameters
    ----------
    acquire : tuple of AcquireStep
        Steps over the pools of the present plan; all parked workers try them at once.
    """

    acquire: tuple[AcquireStep, ...]


#: Decisions of hooks that are called by what happens to a task or a transfer.
Consequence = Transfer | Move | Pace | Wake
#: Decisions of hooks that are called at a time, not by what happens to a task or worker.
TimedDecision = Preempt | Duplicate | Kill | Exchange | AcquireOrder | Consequence


def own_name(cls: type[Policy]) -> str:
    """Return the name under which a class of policies is registered, or that of the class."""
    return cls.name or cls.__name__


def view_before(
    machine: Machine,
    workload: Workload,
    worker_thread: Int32Array | None = None,
    *,
    policy: Policy | None = None,
    rng: np.random.Generator | None = None,
) -> PlanView:
    """Return what a policy may know before a run.

    Parameters
    ----------
    machine, workload : Machine, Workload
        What is to run.
    worker_thread : ndarray of int32, shape (n_workers,), optional
        Hardware thread of each worker; by default one worker per hardware thread.
    policy : Policy, optional
        Whose information mode and operations of the user hold; by default all is known.
    rng : numpy.random.Generator, optional
        The policy's own random stream; by default one of its own.

    Returns
    -------
    PlanView
        What fine hooks see, too, beside what is going on.
    """
    threads = machine.place_workers() if worker_thread is None else worker_thread
    view = PlanView(
        machine,
        workload,
        threads,
        machine.thread_domain[threads],
        np.random.default_rng(0) if rng is None else rng,
    )
    if policy is None:
        return view
    user_ops = parse_user_ops(policy.user_ops)
    return replace(view, information=policy.information, user_ops=user_ops)


def param(
    default: Any,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[Any, ...] | None = None,
    is_cost: bool = False,
    is_file: bool = False,
) -> Any:
    """Return a dataclass field for a policy parameter with its accepted values.

    Parameters
    ----------
    default : object
        Default value; its type is the accepted type. An int is accepted for a float, text such as
        ``2 MiB`` for a size: an int whose name ends in ``_bytes``.
    low, high : float, optional
        Inclusive bounds. Where one is left out, no number of type float is beyond 1e18 unless the
        default is infinite, so that products stay finite.
    choices : tuple, optional
        The only accepted values, with the default among them.
    is_cost : bool
        Whether it is what the policy charges beside the machine's costs, in seconds; results say
        what that is.
    is_file : bool
        Whether the text names a file that the policy reads: in an experiment one beside it, on
        whose content stored results depend.

    Returns
    -------
    dataclasses.Field
        What the class body assigns to the parameter's name. The class is refused if the default is
        not accepted.
    """
    if type(default) is float and math.isfinite(default):
        low = -LARGEST_NUMBER if low is None else low
        high = LARGEST_NUMBER if high is None else high
    metadata = {"low": low, "high": high, "choices": choices}
    return field(default=default, metadata={**metadata, "is_cost": is_cost, "is_file": is_file})


@dataclass(frozen=True, kw_only=True)
class Policy(Shown, Generic[S]):
    """Base of all policies; see the module docstring for the contract.

    Subclasses are frozen keyword-only dataclasses; a parameter is declared with :func:`param`.
    ``Policy[S]`` is a policy whose `start` returns an S, ``Policy[None]`` one that remembers
    nothing.

    Parameters
    ----------
    information : {"exact", "class_mean", "user", "blind"}
        What the policy knows about the durations of tasks: the true ones, the means of their
        classes, what `user_ops` says, or nothing.
    user_ops : str
        Operations of task classes as a user estimates them, for instance ``potrf:2.4e9 gemm:1e9``.

    Notes
    -----
    What methods are called with:

    view : PlanView or HookView
        What the policy knows; fine hooks see what is going on, too.
    state : object
        What `start` has returned.
    task, parent, child : int
        Indices of tasks in the graph of the present iteration.
    worker : int
        Index of a worker.
    group, instance : int
        Group of pools in the plan, and pool in the group.
    graph : TaskGraph
        The initialisation or the first iteration.
    counters : Counters
        What the iteration that has ended has counted.
    """

    name: ClassVar[str] = ""
    #: Period of `on_timer` in seconds; 0 switches the timer off.
    timer_period_s: ClassVar[float] = 0.0
    #: Whether it gives tasks only to workers that can execute them. Others get no workers on kinds
    #: of processors that cannot execute the whole program, if there are some that can.
    chooses_processors: ClassVar[bool] = False
    #: What it cannot do without if it is to decide anything.
    needs: ClassVar[tuple[Need, ...]] = ()

    information: str = param("exact", choices=INFORMATION_MODES)
    user_ops: str = param("")

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        check_declared(cls, cls.__name__)

    def __post_init__(self) -> None:
        name = own_name(type(self))
        check_class(type(self), Policy, name)
        for key, parameter in parameters_of(type(self)).items():
            given = getattr(self, key)
            value = parameter.checked(given, f"policy {name}: parameter {key}")
            if value is not given:  # a float for an int, a number for a text
                object.__setattr__(self, key, value)
        try:
            parse_user_ops(self.user_ops)
        except ConfigurationError as error:
            raise ConfigurationError(f"policy {name}: parameter user_ops: {error}") from error

    def start(self, view: PlanView) -> S:
        """Return the policy's own state for one run; passed to every later call.

        Returns
        -------
        object
            None for policies that remember nothing.
        """
        return cast(S, None)

    def prepare(self, view: PlanView) -> Workload:
        """Return the program as this policy's runtime runs it; the same one by default.

        Lower bounds are those of the program that the policy is given; one that leaves out tasks,
        or makes them smaller, says so in :meth:`least`.

        Returns
        -------
        Workload
            The same object where nothing changes.
        """
        return view.workload

    @staticmethod
    def least(workload: Workload) -> Iterable[Workload]:
        """Return programs of which this policy executes at least one, maybe with additions.

        Lower bounds for all policies are those of what any of them may leave out: a policy whose
        `prepare` leaves out or makes smaller what another policy has to execute says it here. The
        program itself by default.

        Parameters
        ----------
        workload : Workload
            What any policy is given, or what another one leaves of it.

        Returns
        -------
        iterable of Workload
            At least one.
        """
        return (workload,)

    def fits(self, view: PlanView) -> tuple[str, ...]:
        """Return why the policy has nothing to decide here, or falls back to something else.

        What follows from its hooks and its plan, such as workers that no task can reach, need not
        be said.

        Parameters
        ----------
        view : PlanView
            With the program as `prepare` has returned it, and what will happen to the machine.

        Returns
        -------
        tuple of str
            Reasons; by default those of :attr:`needs` that are not met, none where it fits.
        """
        return tuple(filter(None, (need.reason(view) for need in self.needs)))

    def place(self, view: PlanView, state: S) -> Placement:
        """Return where blocks live at the start of the run."""
        raise NotImplementedError

    def plan(self, view: PlanView, state: S, graph: TaskGraph) -> Plan:
        """Return the plan for `graph`, the initialisation or the first iteration."""
        raise NotImplementedError

    def on_iteration(self, view: PlanView, state: S, counters: Counters) -> Update | None:
        """Return what changes before the next iteration; called after each one except the last."""
        return None

    def divide(
        self, view: PlanView, state: S, remaining: int, counters: Counters | None
    ) -> Int64Array:
        """Return how many units of divisible work each part gets in the next iteration.

        Asked before each iteration of a program with a division, after `on_iteration`, of classes
        that define it. The run ends when all units of all invocations have been given out.

        Parameters
        ----------
        view : PlanView
            What the policy knows.
        state : object
            The policy's own.
        remaining : int
            Units of the present invocation that no iteration has had yet; all units where one
            begins.
        counters : Counters or None
            Of the iteration that has just ended; None before the first one.

        Returns
        -------
        ndarray of int64, shape (n_parts,)
            0 or more each, 1 to `remaining` together.
        """
        raise NotImplementedError

    def on_spawn(
        self, view: HookView, state: S, parent: int, child: int, worker: int
    ) -> int | None:
        """Return `CHILD_FIRST` or `PARENT_FIRST` for a child of `worker`; None follows the plan.

        A child that waits for predecessors is created parent first in any case.
        """
        return None

    def on_ready(
        self, view: HookView, state: S, task: int, worker: int
    ) -> Pool | tuple[Pool | Consequence, ...] | None:
        """Return the pool for a task made ready by `worker` (-1: nobody); None follows the plan.

        A tuple of the pool, if it is not the plan's, and of transfers, moves, paces and wakes lets
        these be carried out, in this order, when the task has entered its pool.
        """
        return None

    def on_acquire(
        self, view: HookView, state: S, task: int, worker: int, group: int, instance: int
    ) -> None:
        """Observe that a worker takes a task from a pool, to execute it."""

    def on_idle(
        self, view: HookView, state: S, worker: int
    ) -> Preempt | Duplicate | Transfer | Wake | None:
        """Return a task to snatch or duplicate for an idle worker, or what it sends for.

        The worker has found nothing; None lets it wait, and so does a wake. After a transfer it
        waits too, at the latest until the transfer arrives; then it looks for work again.
        """
        return None

    def on_start(
        self, view: HookView, state: S, task: int, worker: int
    ) -> tuple[Consequence, ...] | None:
        """Observe that the body of a task begins to execute; return what to carry out.

        Where data are copied, those of the body have come by then.
        """
        return None

    def on_finish(
        self, view: HookView, state: S, task: int, worker: int
    ) -> tuple[Consequence, ...] | None:
        """Observe the end of a task; return what to carry out, in this order.

        The task has given back what it occupied; its successors have not been released yet.
        """
        return None

    def on_landing(
        self, view: HookView, state: S, group: int, instance: int
    ) -> tuple[Consequence, ...] | None:
        """Observe that a transfer with a delay has landed in a pool; return what happens.

        One without entries, an answer that brings nothing, lands too.
        """
        return None

    def on_wake(self, view: HookView, state: S, tag: int) -> tuple[TimedDecision, ...] | None:
        """Return what happens at a time for which the policy has asked by a :class:`Wake`.

        Or when a block is where a :class:`Move` should bring it.

        Parameters
        ----------
        view : HookView
            Live state.
        state : object
            The policy's own.
        tag : int
            That of the wake or the move.
        """
        return None

    def on_timer(self, view: HookView, state: S) -> tuple[TimedDecision | Rest, ...]:
        """Return what happens now, in this order; called every `timer_period_s`.

        Returns
        -------
        tuple of decisions
            Empty where nothing happens; a :class:`Rest` where nothing will until something else
            does.
        """
        return ()

    def figures(self) -> Mapping[str, float]:
        """Return what can be said in numbers about the policy with its parameters.

        Returns
        -------
        mapping of str to float
            By name with the unit; `simsched show policy` prints it. Empty by default.
        """
        return {}

    def inputs(self) -> Mapping[str, object]:
        """Return what was read from files; stored results depend on it.

        Returns
        -------
        mapping of str to object
            By parameter.
        """
        return {}

    def overrides(self, hook: str) -> bool:
        """Return whether this class defines the named hook itself.

        Parameters
        ----------
        hook : str
            Name of a method of :class:`Policy`.

        Returns
        -------
        bool
            False where it is the one of :class:`Policy`.
        """
        return getattr(type(self), hook) is not getattr(Policy, hook)

    def parameters(self) -> dict[str, Any]:
        """Return all parameters by name.

        Returns
        -------
        dict of str to object
            As given to the class, defaults included.
        """
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def own_costs(self) -> dict[str, float]:
        """Return what the policy charges beside the machine's costs.

        Returns
        -------
        dict of str to float
            Seconds, by the parameters that are such costs and not 0.
        """
        costs = [f.name for f in fields(self) if f.metadata.get("is_cost")]
        return {name: getattr(self, name) for name in costs if getattr(self, name) > 0.0}


#: Every hook by name, and those that are called while tasks run.
HOOKS = tuple(name for name in vars(Policy) if name.startswith("on_"))
FINE_HOOKS = tuple(name for name in HOOKS if name != "on_iteration")
