"""Memory flows under weighted max-min fair sharing; docs/semantics.md, rules F."""

from __future__ import annotations

import math

from simsched.engine.interface.problem import Problem

NEVER = 1 << 62  #: later than any event


class FlowClass:
    """All flows with one path and one cap; they share one rate.

    `keys` maps each worker to the finish key of its flow, in the order in which the flows started;
    `virtual` is V at `since - since_lag`.
    """

    def __init__(self, cap: float, loads: list[tuple[int, float]]) -> None:
        self.cap = cap
        self.loads = loads
        self.keys: dict[int, float] = {}
        self.virtual = 0.0
        self.since = 0
        self.since_lag = 0.0
        self.rate = 0.0

    def virtual_at(self, now: int, lag: float) -> float:
        """Return V at time `now - lag`."""
        return self.virtual + self.rate * ((now - self.since) + (self.since_lag - lag))

    def set_rate(self, rate: float, now: int, lag: float) -> None:
        """Change the rate from `now - lag` on."""
        if rate != self.rate:
            self.virtual = self.virtual_at(now, lag)
            self.since, self.since_lag = now, lag
            self.rate = rate

    def next_end(self, now: int) -> tuple[int, float, int]:
        """Return (time, -lag, worker) of the flow that ends first."""
        worker = min(self.keys, key=self.keys.__getitem__)  # of equal keys the first one started
        if self.rate <= 0.0:
            return NEVER, 0.0, worker
        duration = self._duration(worker)
        if not duration < NEVER - self.since:
            return NEVER, 0.0, worker
        time = max(self.since + math.ceil(duration), now)
        return time, -self.lag(worker, time), worker

    def lag(self, worker: int, now: int) -> float:
        """Return how long before now a flow has ended whose end is noticed now."""
        duration = self._duration(worker)
        end = math.ceil(duration)
        return end - duration if self.since + end == now else 0.0

    def is_late(self, worker: int, now: int) -> bool:
        """Return whether the end of a flow could have been noticed before now."""
        return self.since + math.ceil(self._duration(worker)) < now

    def _duration(self, worker: int) -> float:
        """Return the time from `since` to the end of a flow, in ps."""
        return (self.keys[worker] - self.virtual) / self.rate - self.since_lag


class Sharing:
    """All flow classes of a run."""

    def __init__(self, problem: Problem) -> None:
        paths = problem.paths
        self._classes: list[FlowClass] = []
        for path in range(len(paths.latency_ps)):
            span = range(int(paths.resource_ptr[path]), int(paths.resource_ptr[path + 1]))
            loads = [(int(paths.resource[i]), float(paths.weight[i])) for i in span]
            self._classes += [FlowClass(float(cap), loads) for cap in paths.cap[path]]
        self._class_of: dict[int, int] = {}
        self._flows: dict[int, int] = {}  # flows of each class that has any
        self._rated: dict[int, int] = {}  # the same when rates were computed; other rates are 0
        self._capacity = [float(c) for c in problem.resource_capacity]
        self.n_resources = len(self._capacity)
        gradual = problem.resource_gradual
        self._gradual = [False] * len(self._capacity) if gradual is None else gradual.tolist()
        self._latency_ps = [int(latency) for latency in paths.latency_ps]
        self._latency_growth = None
        if problem.latency_slope is not None and problem.latency_bend is not None:
            slopes, bends = problem.latency_slope.tolist(), problem.latency_bend.tolist()
            self._latency_growth = list(zip(slopes, bends, strict=True))
        self._n_mates = paths.cap.shape[1]
        ptr = problem.curve_ptr
        self._curves = [
            [float(c) for c in problem.curve[ptr[r] : ptr[r + 1]]]
            for r in range(len(self._capacity))
        ]

    def start(self, worker: int, flow_class: int, n_bytes: float, now: int, lag: float) -> None:
        """Start a flow at time `now - lag`."""
        cls = self._classes[flow_class]
        if not cls.keys:
            cls.virtual = 0.0
            cls.since, cls.since_lag = now, lag
        cls.keys[worker] = cls.virtual_at(now, lag) + n_bytes
        self._class_of[worker] = flow_class
        self._flows[flow_class] = len(cls.keys)

    def end(self, worker: int, now: int, lag: float) -> None:
        """Remove a worker's flow that has ended at time `now - lag`."""
        cls = self._classes[self._class_of[worker]]
        # What is noticed late has no lag; the others of the class have gone on since.
        is_late = lag == 0.0 and cls.is_late(worker, now)
        key = cls.keys[worker]
        cls.virtual = cls.virtual_at(now, lag) if is_late else key
        cls.since, cls.since_lag = now, lag
        self._remove(worker)

    def left(self, worker: int, now: int, lag: float) -> float:
        """Return the bytes that remain of a worker's flow at time `now - lag`."""
        cls = self._classes[self._class_of[worker]]
        return max(cls.keys[worker] - cls.virtual_at(now, lag), 0.0)

    def stop(self, worker: int, now: int, lag: float) -> float:
        """Remove a worker's flow at time `now - lag` and return its remaining bytes."""
        left = self.left(worker, now, lag)
        self._remove(worker)
        return left

    def _remove(self, worker: int) -> None:
        flow_class = self._class_of.pop(worker)
        del self._classes[flow_class].keys[worker]
        self._flows[flow_class] -= 1
        if self._flows[flow_class] == 0:
            del self._flows[flow_class]

    def lag(self, worker: int, now: int) -> float:
        """Return how long before now a worker's flow has ended whose end is noticed now."""
        return self._classes[self._class_of[worker]].lag(worker, now)

    def next_end(self, now: int) -> tuple[int, int] | None:
        """Return (time, worker) of the next flow to end, or None without flows."""
        heads = [self._classes[index].next_end(now) for index in self._flows]
        if not heads:
            return None
        time, _, worker = min(heads)
        return time, worker

    def has_flows(self) -> bool:
        """Return whether a flow is running."""
        return bool(self._class_of)

    def is_stale(self) -> bool:
        """Return whether some class has gained or lost flows since rates were computed."""
        return self._flows != self._rated

    def update_rates(self, now: int, lag: float) -> None:
        """Compute all rates; they hold from `now - lag` on."""
        rates = self.fair_rates()
        for index in self._rated | self._flows:
            self._classes[index].set_rate(rates.get(index, 0.0), now, lag)
        self._rated = dict(self._flows)

    def fair_rates(self) -> dict[int, float]:
        """Return the weighted max-min fair rate of every class that has flows."""
        rising = dict(sorted(self._flows.items()))  # sums do not depend on who came first
        crossing: dict[int, list[tuple[int, float]]] = {}  # resource -> (class, flows * weight)
        for index, count in rising.items():
            for resource, weight in self._classes[index].loads:
                crossing.setdefault(resource, []).append((index, count * weight))
        capacity = {resource: self.capacity(resource, here) for resource, here in crossing.items()}
        rates: dict[int, float] = {}
        level = 0.0
        while rising:
            levels = {
                resource: max((capacity[resource] - used) / load, level)
                for resource, (used, load) in _loads(crossing, rates).items()
                if load > 0.0
            }
            level = min([*levels.values(), *(self._classes[index].cap for index in rising)])
            full = {resource for resource, reached in levels.items() if reached <= level}
            for index in list(rising):
                cls = self._classes[index]
                if cls.cap <= level:
                    rates[index] = cls.cap
                elif any(resource in full for resource, _ in cls.loads):
                    rates[index] = level
                else:
                    continue
                del rising[index]
        return rates

    def latency_ps(self, path: int) -> int:
        """Return the latency of a path at the present load of what it crosses."""
        idle = self._latency_ps[path]
        if self._latency_growth is None:
            return idle
        growth = 0.0
        for resource, _ in self._classes[path * self._n_mates].loads:
            slope, bend = self._latency_growth[resource]
            if slope > 0.0:
                load = min(self.load(resource) / self._capacity[resource], 1.0)
                growth += slope * load / (1.0 - bend * load)
        return idle + math.ceil(idle * growth)

    def load(self, resource: int) -> float:
        """Return what loads a resource since rates were last computed, in bytes per ps."""
        total = 0.0
        for index in sorted(self._rated):
            cls = self._classes[index]
            for crossed, weight in cls.loads:
                if crossed == resource:
                    total += self._rated[index] * weight * cls.rate
        return total

    def capacity(self, resource: int, crossing: list[tuple[int, float]]) -> float:
        """Return the capacity of a resource that (class, flows * weight) cross."""
        if curve := self._curves[resource]:
            flows = sum(self._flows[index] for index, _ in crossing)
            return curve[min(flows, len(curve)) - 1]
        ceiling = self._capacity[resource]
        if not self._gradual[resource]:
            return ceiling
        drawn = 0.0
        for index, weight in crossing:
            drawn += weight * self._classes[index].cap
        excess = drawn / ceiling
        excess *= excess
        excess *= excess
        return drawn / math.sqrt(math.sqrt(1.0 + excess)) if math.isfinite(excess) else ceiling


def _loads(
    crossing: dict[int, list[tuple[int, float]]], rates: dict[int, float]
) -> dict[int, tuple[float, float]]:
    """Return for every resource what stopped classes use and the load of rising ones."""
    result = {}
    for resource, classes in crossing.items():
        used = load = 0.0
        for index, weight in classes:
            if index in rates:
                used += weight * rates[index]
            else:
                load += weight
        result[resource] = (used, load)
    return result
