"""What fine hooks may look at, with indices checked."""
# ruff: noqa: D102  what they return is said in EngineState

from __future__ import annotations

from collections.abc import Sequence

from simsched.engine.reference.copies import Copies
from simsched.engine.reference.engine import Engine
from simsched.engine.reference.executions import Executions
from simsched.engine.reference.worker import Worker
from simsched.policy.contract.executions import Progress
from simsched.policy.contract.records import index_below
from simsched.trace.schema import NONE


class Live:
    """Live state; see :class:`simsched.policy.contract.base.EngineState`."""

    def __init__(
        self,
        engine: Engine,
        workers: Sequence[Worker],
        executions: Executions,
        copies: Copies | None,
    ) -> None:
        self._engine, self._workers = engine, workers
        self._executions, self._copies = executions, copies

    def now_ps(self) -> int:
        return self._engine.now

    def queue_length(self, group: int, instance: int) -> int:
        pools = self._engine.pools.content
        pools_of_group = pools[index_below(len(pools), group, "queue_length: group")]
        place = index_below(len(pools_of_group), instance, "queue_length: instance")
        return len(pools_of_group[place])

    def load(self, resource: int) -> float:
        sharing = self._engine.sharing
        return sharing.load(index_below(sharing.n_resources, resource, "load: resource"))

    def running_task(self, worker: int) -> int:
        segment = self._workers[self._worker(worker, "running_task")].segment
        return NONE if segment is None else segment.task

    def is_waiting(self, worker: int) -> bool:
        return self._engine.is_waiting(self._worker(worker, "is_waiting"))

    def progress(self, worker: int) -> Progress | None:
        return self._executions.progress(self._worker(worker, "progress"))

    def has_failed(self, worker: int) -> bool:
        return self._engine.has_failed(self._worker(worker, "has_failed"))

    def block_home(self, block: int) -> int:
        homes = self._engine.memory.homes.node
        return int(homes[index_below(len(homes), block, "block_home: block")])

    def holds(self, node: int, block: int) -> bool:
        return self._holds(*self._place(node, block, "holds"))

    def expects(self, node: int, block: int) -> bool:
        node, block = self._place(node, block, "expects")
        space = self._space(node)
        is_coming = self._copies is not None and self._copies.is_coming((block, space))
        return is_coming or self._holds(node, block)

    def has_place(self, node: int, block: int) -> bool:
        node, block = self._place(node, block, "has_place")
        space = self._space(node)
        has_place = self._copies is not None and self._copies.has_place((block, space))
        return has_place or self._holds(node, block)

    def driver_until_ps(self, node: int) -> int:
        node = index_below(self._engine.problem.n_nodes, node, "driver_until_ps: node")
        return 0 if self._copies is None else self._copies.driver_until_ps(self._space(node))

    def executed_ps(self, task: int) -> int:
        executed_ps = self._engine.tasks.executed_ps
        task = index_below(len(executed_ps), task, "executed_ps: task")
        return executed_ps[task] if self._engine.plan.times_tasks else 0

    def _holds(self, node: int, block: int) -> bool:
        if self._copies is not None:
            return self._copies.holds(node, block)
        homes = self._engine.memory.homes
        return int(homes.node[block]) == node or node in homes.replicas[block]

    def _space(self, node: int) -> int:
        return int(self._engine.problem.node_space[node])

    def _worker(self, worker: int, query: str) -> int:
        return index_below(len(self._workers), worker, f"{query}: worker")

    def _place(self, node: int, block: int, query: str) -> tuple[int, int]:
        problem = self._engine.problem
        node = index_below(problem.n_nodes, node, f"{query}: node")
        return node, index_below(len(problem.block_bytes), block, f"{query}: block")
