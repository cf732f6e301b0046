"""Pages that follow accesses; docs/semantics.md, rules PB."""

from __future__ import annotations

import math
from dataclasses import dataclass

from simsched.engine.interface.plan import ResolvedPlan
from simsched.engine.interface.problem import Problem
from simsched.engine.reference.homes import Homes
from simsched.engine.reference.record import Record
from simsched.policy.contract.blocks import THREAD_GROUPS
from simsched.trace.schema import EventKind

GROUP_BY_SHARING, GROUP_FROM_START = (THREAD_GROUPS.index(g) for g in ("sharing", "start"))


@dataclass
class _Marks:
    """What is known of a block's pages: the last scan, how many have faulted since, and for whom.

    The last faulting access was the worker's; `times` in a row came from workers of its domain.
    """

    scan: int = -1
    faulted: int = 0
    worker: int = -1
    times: int = 0


class _Group:
    """Workers that share pages: who they are, and how many faults they have had on every node."""

    def __init__(self, problem: Problem) -> None:
        self.joined = [False] * problem.n_workers
        self.scan = -1
        self.faults = [0] * problem.n_nodes
        self.recent = [0] * problem.n_nodes

    def look(self, scan: int) -> None:
        """Take what has been counted into the averages with the first fault after a scan."""
        if scan != self.scan:
            self.scan = scan
            self.faults = [
                before // 2 + count for before, count in zip(self.faults, self.recent, strict=True)
            ]
            self.recent = [0] * len(self.recent)


class Balancing:
    """Marks of pages, which periodic scans set and accesses clear."""

    def __init__(self, problem: Problem, record: Record, homes: Homes) -> None:
        self._problem = problem
        self._record = record
        self._homes = homes
        self._marks: dict[int, _Marks] = {}
        self._group = _Group(problem)
        self._plan: ResolvedPlan | None = None

    def start_iteration(self, plan: ResolvedPlan | None) -> None:
        """Take over a plan."""
        self._plan = plan

    def note_first_touch(self, block: int, now: int) -> None:
        """Leave the pages of a new block unmarked until the next scan."""
        plan = self._plan
        if plan is not None and plan.balance_period_ps > 0:
            marks = self._marks.setdefault(block, _Marks())
            marks.scan, marks.faulted = now // plan.balance_period_ps, self._n_pages(block)
            marks.worker, marks.times = -1, 0

    def access(self, block: int, n_bytes: int, worker: int, task: int, now: int) -> int:
        """Return for how long, in ps, an access waits for faults and for the block to move."""
        plan, problem = self._plan, self._problem
        if plan is None or plan.balance_period_ps == 0:
            return 0
        marks = self._marks.setdefault(block, _Marks())
        scan = now // plan.balance_period_ps
        if marks.scan != scan:
            marks.scan, marks.faulted = scan, 0
        pages = self._n_pages(block)
        touched = min(pages, -(-n_bytes // plan.balance_page_bytes))
        faults = touched - marks.faulted
        if faults <= 0:
            return 0
        marks.faulted = touched
        domain, last = int(problem.worker_domain[worker]), marks.worker
        again = last >= 0 and int(problem.worker_domain[last]) == domain
        marks.times = marks.times + 1 if again else 1
        marks.worker = worker
        self._group.look(scan)
        self._record.page_faults += faults
        self._record.event(now, EventKind.PAGE_FAULT, worker, task, block, faults)
        stall = faults * problem.costs.page_fault_ps
        home = int(self._homes.node[block])
        remote = int(problem.node_domain[home]) not in (-1, domain)
        if remote and 2 * faults >= pages and self._passes(marks, last, worker, home):
            stall += self._move(block, pages, worker, task, now)
        self._group.recent[int(self._homes.node[block])] += faults
        self._group.joined[worker] |= last not in (-1, worker)
        self._record.page_fault_ps += stall
        return stall

    def _passes(self, marks: _Marks, last: int, worker: int, home: int) -> bool:
        """Return whether the filter lets a block follow a worker that accesses it remotely."""
        plan, group = self._plan, self._group
        assert plan is not None
        if last >= 0 and marks.times < plan.balance_faults:
            return False
        grouped = plan.balance_group == GROUP_FROM_START or (
            plan.balance_group == GROUP_BY_SHARING and group.joined[worker]
        )
        if not grouped or last == worker:
            return True
        node = int(self._problem.touch_order[self._problem.worker_domain[worker], 0])
        return 4 * group.faults[node] < 3 * group.faults[home]

    def _n_pages(self, block: int) -> int:
        """Return the number of pages of a block."""
        assert self._plan is not None
        return -(-int(self._problem.block_bytes[block]) // self._plan.balance_page_bytes)

    def _move(self, block: int, pages: int, worker: int, task: int, now: int) -> int:
        """Move a block to the worker's node if there is room; return how long it takes."""
        problem, homes = self._problem, self._homes
        home = int(homes.node[block])
        node = int(problem.touch_order[problem.worker_domain[worker], 0])
        if node == home or not homes.has_room(node, block):
            return 0
        size = int(problem.block_bytes[block])
        homes.take(node, block)
        homes.give_back(home, block)
        homes.node[block] = node
        self._record.migrations += 1
        self._record.migrated_bytes += size
        self._record.event(now, EventKind.PAGE_MOVE, worker, task, block, node)
        rate = float(problem.paths.cap[problem.paths.copy[home, node], 0])
        return pages * problem.costs.page_move_ps + math.ceil(size / rate)
