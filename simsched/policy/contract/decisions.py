"""What hooks decide about tasks and workers.

Times in decisions are whole picoseconds, as in the engines; parameters of policies are seconds,
which `seconds_to_ps` converts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from simsched.files.units import PS_PER_S
from simsched.policy.contract.plan import TAKES
from simsched.policy.contract.records import MAX_INDEX, MAX_WHOLE, NEVER_PS, Decision, accepts

WHOLE_PACE = 10**9  #: a worker's whole speed


@dataclass(frozen=True, init=False)
class Pool(Decision):
    """Decision of `on_ready`: the pool that the task enters.

    Parameters
    ----------
    group : int
        Group of pools in the policy's plan.
    instance : int
        Pool in the group.
    """

    group: int = field(metadata=accepts(of="group"))
    instance: int = field(metadata=accepts(of="instance"))

    def __init__(self, group: int, instance: int) -> None:
        own = self.__dict__  # one for every task: what dataclass makes takes twice as long
        own["group"], own["instance"] = group, instance


@dataclass(frozen=True)
class Preempt(Decision):
    """Decision of `on_idle`, `on_timer` and `on_wake`: take the running task off a worker.

    Parameters
    ----------
    worker : int
        Worker that must be inside a task's segments.
    to : int, optional
        Waiting worker that continues the task with its remaining work (snatching); None puts the
        task back into its pool.
    """

    worker: int = field(metadata=accepts(of="worker"))
    to: int | None = field(default=None, metadata=accepts(of="worker"))


@dataclass(frozen=True)
class Transfer(Decision):
    """Decision of all hooks but `on_spawn`: send entries of one pool to another, which takes time.

    Parameters
    ----------
    group, instance : int
        Pool that the entries leave at once.
    to_group, to_instance : int
        Pool that they enter when they arrive.
    count : int
        Number of entries, at least 1; fewer leave if the pool holds fewer, also none: then an
        answer arrives that brings nothing.
    delay_ps : int
        How long they are on their way; of `on_idle` more than 0, because its worker waits for
        them. In that time they are in no pool.
    take : {"oldest", "newest"}
        End of the pool that they leave, one after the other.
    task : int, optional
        The only entry that leaves, wherever it is in the pool, instead of `count` entries from an
        end; none does if the pool does not hold it.
    decision_ps : int
        Part of `delay_ps` that goes into the decision itself: prediction, interrupt, choice. It is
        counted as the policy's overhead and delays nothing by itself.
    thief : int, optional
        Worker that takes the entries out of the pool of another worker; then the transfer counts
        as a steal, too.
    """

    group: int = field(metadata=accepts(of="group"))
    instance: int = field(metadata=accepts(of="instance"))
    to_group: int = field(metadata=accepts(of="group"))
    to_instance: int = field(metadata=accepts(of="instance"))
    count: int = field(metadata=accepts(1, MAX_WHOLE))
    delay_ps: int = field(metadata=accepts(0, NEVER_PS))
    take: str = field(default="oldest", metadata=accepts(words=TAKES))
    task: int | None = field(default=None, metadata=accepts(of="task"))
    decision_ps: int = field(default=0, metadata=accepts(0, NEVER_PS))
    thief: int | None = field(default=None, metadata=accepts(of="worker"))


@dataclass(frozen=True)
class Wake(Decision):
    """Decision of all hooks but `on_spawn`: the policy wants to be asked, by `on_wake`.

    Any number may be pending. When the iteration ends, those that are left are forgotten.

    Parameters
    ----------
    at_ps : int
        When, not before now. A wake for the present instant comes when everything else that
        happens in it without wakes is over.
    tag : int
        What `on_wake` is told.
    rank : int
        Of the wakes of one instant the one of the lowest rank comes first, of equal ranks the one
        that was asked for first.
    step_ps : int
        Promises that if nothing else happens until then, `on_wake` only asks for the same so much
        later, as :class:`Rest` does for `on_timer`; 0 promises nothing.
    """

    at_ps: int = field(metadata=accepts(0, NEVER_PS))
    tag: int = field(default=0, metadata=accepts(-MAX_WHOLE, MAX_WHOLE))
    rank: int = field(default=0, metadata=accepts(-MAX_WHOLE, MAX_WHOLE))
    step_ps: int = field(default=0, metadata=accepts(0, NEVER_PS))


@dataclass(frozen=True)
class Rest(Decision):
    """Decision of `on_timer`: until anything else happens, it decides nothing but this.

    A promise, by which a run costs what happens and not how long it takes: engines leave out looks
    that come to nothing. The last one before the next event is made, so that a policy that notes
    times or counters knows them as of then.

    Parameters
    ----------
    looks : int
        Only every so many looks are left out together: where what is noted depends on them.
    """

    looks: int = field(default=1, metadata=accepts(1, MAX_INDEX))


@dataclass(frozen=True)
class Move(Decision):
    """Decision of all hooks but `on_spawn` and `on_idle`: a worker copies a block to another node.

    It does so before it looks for work next, at once if it waits, after the moves that it has been
    given before. When the block is there, `on_wake` is called.

    Parameters
    ----------
    worker : int
        The worker that copies.
    block : int
        The block. Not one with replicas, of a pool, or that follows accesses.
    node : int
        Memory node where it lives from the end of the copy on; it must have room when that begins.
    cost_ps : int
        Time that the worker needs before it copies, for instance to allocate memory.
    tag : int
        What `on_wake` is told.
    """

    worker: int = field(metadata=accepts(of="worker"))
    block: int = field(metadata=accepts(of="block"))
    node: int = field(metadata=accepts(of="node"))
    cost_ps: int = field(default=0, metadata=accepts(0, 1000 * PS_PER_S))
    tag: int = field(default=0, metadata=accepts(-MAX_WHOLE, MAX_WHOLE))


@dataclass(frozen=True)
class Pace(Decision):
    """Decision of all hooks but `on_spawn` and `on_idle`: a worker computes at a part of its speed.

    For instance because what it executes gets a part of a device that can be divided. It holds from
    now on, also for a segment that is being executed, until the next such decision on the worker.
    Memory flows are not concerned.

    Parameters
    ----------
    worker : int
        The worker.
    part : float
        1e-9 to 1, in whole billionths.
    """

    worker: int = field(metadata=accepts(of="worker"))
    part: float = field(metadata=accepts(1, WHOLE_PACE, parts=WHOLE_PACE))


@dataclass(frozen=True)
class Exchange(Decision):
    """Decision of `on_timer` and `on_wake`: two workers swap threads, as unpinned threads do.

    From then on each runs at the other's speed, with the other's caches and ways to memory. Its
    pools, its rank among the workers of a domain and `PlanView.worker_domain` stay. With a worker
    that has failed there is no exchange.

    Parameters
    ----------
    worker, other : int
        The two workers.
    cost_ps : int
        Time from 0 to 1000 s that whatever the two are executing waits on its new thread.
    """

    worker: int = field(metadata=accepts(of="worker"))
    other: int = field(metadata=accepts(of="worker"))
    cost_ps: int = field(default=0, metadata=accepts(0, 1000 * PS_PER_S))
