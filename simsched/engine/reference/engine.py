"""What the parts of the reference engine share, and what they ask of it."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import simpy

from simsched.engine.interface.plan import ResolvedPlan
from simsched.engine.interface.problem import Problem
from simsched.engine.reference.devices import Place
from simsched.engine.reference.flights import Flights
from simsched.engine.reference.looks import Looks
from simsched.engine.reference.pools import Pools
from simsched.engine.reference.record import Record
from simsched.engine.reference.segments import Memory
from simsched.engine.reference.sharing import Sharing
from simsched.engine.reference.tasks import Tasks
from simsched.engine.reference.wakes import Wakes
from simsched.workload.graph import TaskGraph


class BlockMove(NamedTuple):
    """A block that a worker is to move while tasks run."""

    block: int
    node: int
    cost_ps: int
    tag: int


class Engine(Protocol):
    """The engine as its parts see it; workers are numbers, NOBODY where there is none."""

    problem: Problem
    graph: TaskGraph
    plan: ResolvedPlan
    env: simpy.Environment
    record: Record
    memory: Memory
    sharing: Sharing
    pools: Pools
    tasks: Tasks
    flights: Flights
    wakes: Wakes
    looks: Looks
    timers: dict[int, int]  #: worker or, from there on, lane of copies -> time in ps
    busy_on_core: list[int]
    busy_on_module: list[int]
    ending: int  #: worker that ends a task, looks for work next and has not been called
    lag: float  #: how long before `now` the present event has really happened, in ps
    copying: int  #: workers that carry out migrations
    moves_left: int  #: moves of this iteration that are not over
    has_ended: bool  #: whether the iteration has, and the next one has not begun

    @property
    def now(self) -> int:
        """Simulated time in ps."""

    def create(self, task: int, worker: int, *, at: int) -> int:
        """Create a task, push it if it is ready; return the pusher's clock."""

    def push(self, task: int, worker: int, *, at: int, continuation: bool = False) -> int:
        """Put a task into its pool, wake a worker; return the pusher's clock, `at` before."""

    def push_back(self, task: int, worker: int) -> None:
        """Let a worker push a task that it has lost, or nobody if it has failed."""

    def enter(self, task: int, group: int, instance: int, worker: int) -> None:
        """Put a task into a pool and wake a worker."""

    def offer(self, place: Place | None) -> None:
        """Wake a worker for the entry that comes next on a device, if it has room."""

    def release_domain(self, task: int) -> None:
        """Let a task mark no domain any more; wake the workers of one that becomes inactive."""

    def pass_on(self, worker: int) -> None:
        """Call another worker to the pool that one has been called to and does not take from."""

    def is_waiting(self, worker: int) -> bool:
        """Return whether a worker is parked, active and has not failed."""

    def wake(self, worker: int, party: int) -> None:
        """Let a parked worker look for work in this instant."""

    def wake_supplied(self, domain: int | None) -> None:
        """Wake who may use a step, now that nothing is expected in a domain, if there is one."""

    def let_go_on(self, worker: int) -> None:
        """Let a worker that waits inside a task go on in this instant."""

    def cap_level(self, module: int) -> int:
        """Return the place of the cap of flows that start on a module now."""

    def adapt_others(self, module: int, core: int, level: int, *beside: int) -> None:
        """Let the workers of a module go on whose speed or cap has changed, except some."""

    def mark_active(self, task: int, group: int, domain: int) -> None:
        """Keep a domain active if the task comes from a group that marks."""

    def has_failed(self, worker: int) -> bool:
        """Return whether the worker has failed for good."""

    def spawn_order(self, parent: int, child: int, worker: int) -> int:
        """Return how a worker creates a child."""

    def observe_acquire(self, task: int, worker: int, group: int, instance: int) -> None:
        """Tell the policy that a worker has taken a task from a pool."""

    def observe_start(self, task: int, worker: int) -> None:
        """Tell the policy that a body begins to execute; carry out what it decides."""

    def ask_on_idle(self, worker: int) -> tuple[int, int] | None:
        """Return (task, cost) if the policy lets the worker snatch a running task."""

    def after_end(self, task: int, worker: int) -> None:
        """Kill other executions of a task that has ended, tell the policy, let others go on."""

    def tell_of_move(self, tag: int) -> None:
        """Tell the policy that a block has been moved; carry out what it decides."""

    def note_end_of_task(self, worker: int) -> None:
        """Put off the time when the run is given up; note who may have ended the last task."""

    def end_iteration_if_done(self) -> None:
        """End the iteration when its last task has ended and no block is left to be moved."""

    def next_move(self) -> tuple[int, int] | None:
        """Return the next (block, node) to migrate; blocks there already or nowhere are skipped."""

    def check_room(self, node: int, block: int) -> None:
        """Raise PolicyError unless a node has room for a block that is to be moved there."""

    def no_processor(self, task: int, worker: int) -> None:
        """Raise the error for a task on a worker whose processor kind cannot run it."""
