"""Bandwidth sharing by the kernel and by plain water-filling in any arithmetic, in lockstep."""

from __future__ import annotations

import ctypes
import math
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from simsched.engine.reference.sharing import NEVER, Sharing

from .test_kernel_programs import HERE, KERNEL, STRICT

Number = float | Fraction
Rates = dict[int, Number]  # by class


@dataclass(frozen=True)
class Instance:
    """Paths over resources; class `path * n_mates + k` is that of k + 1 busy threads.

    `loads` holds (resource, weight) for every path, `caps` bytes per ps for every class, `capacity`
    bytes per ps for every resource, `curves` the capacities by number of flows, empty without one.
    """

    n_workers: int
    n_mates: int
    loads: list[list[tuple[int, float]]]
    caps: list[float]
    capacity: list[float]
    curves: list[list[float]]

    def arrays(self) -> dict[str, np.ndarray]:
        flat = [entry for load in self.loads for entry in load]
        return {
            "cap": np.array(self.caps),
            "resource_ptr": np.array([0, *accumulate(map(len, self.loads))], np.int32),
            "resource": np.array([resource for resource, _ in flat], np.int32),
            "weight": np.array([weight for _, weight in flat]),
            "capacity": np.array(self.capacity),
            "curve_ptr": np.array([0, *accumulate(map(len, self.curves))], np.int32),
            "curve": np.array([entry for curve in self.curves for entry in curve], float),
        }


def build_driver(folder: Path) -> ctypes.CDLL:
    """Compile the kernel and flows_driver.c into a shared library and load it."""
    target = folder / "flows.so"
    sources = [HERE / "flows_driver.c", *sorted(KERNEL.rglob("*.c"))]
    command = ["cc", *STRICT, "-O1", "-fPIC", "-shared", *map(str, sources)]
    subprocess.run([*command, "-lm", "-o", str(target)], check=True)
    library = ctypes.CDLL(str(target))
    i32, i64, f64, pointer = ctypes.c_int32, ctypes.c_int64, ctypes.c_double, ctypes.c_void_p
    signatures = {
        "driver_new": (pointer, [pointer] * 8),
        "driver_free": (None, [pointer]),
        "driver_start": (None, [pointer, i32, i32, f64, i64, f64]),
        "driver_stop": (f64, [pointer, i32, i64, f64]),
        "driver_end": (None, [pointer, i32, i64, f64]),
        "driver_next": (i64, [pointer, i64, f64, i64, pointer, pointer]),
        "driver_rates": (None, [pointer, pointer]),
        "driver_verify": (ctypes.c_int, [pointer]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class KernelFlows:
    """flows.h; to be used as a context."""

    def __init__(self, library: ctypes.CDLL, instance: Instance) -> None:
        self._library = library
        n_paths, n_resources = len(instance.loads), len(instance.capacity)
        sizes = np.array([instance.n_workers, n_paths, instance.n_mates, n_resources], np.int32)
        self._arrays = [sizes, *instance.arrays().values()]
        self._rates = np.zeros(n_paths * instance.n_mates)
        self._worker, self._lag = ctypes.c_int32(), ctypes.c_double()
        self._flows = library.driver_new(*(array.ctypes.data for array in self._arrays))
        assert self._flows

    def __enter__(self) -> KernelFlows:
        return self

    def __exit__(self, *_: object) -> None:
        self._library.driver_free(self._flows)

    def start(self, worker: int, flow_class: int, n_bytes: float, now: int, lag: float) -> None:
        self._library.driver_start(self._flows, worker, flow_class, n_bytes, now, lag)

    def end(self, worker: int, now: int, lag: float) -> None:
        self._library.driver_end(self._flows, worker, now, lag)

    def stop(self, worker: int, now: int, lag: float) -> float:
        left: float = self._library.driver_stop(self._flows, worker, now, lag)
        return left

    def next(self, now: int, lag: float, other: int) -> tuple[int, int, float]:
        """Return time, worker and lag of the next end."""
        found = ctypes.byref(self._worker), ctypes.byref(self._lag)
        time = self._library.driver_next(self._flows, now, lag, other, *found)
        return time, self._worker.value, self._lag.value

    def rates(self) -> np.ndarray:
        self._library.driver_rates(self._flows, self._rates.ctypes.data)
        return self._rates

    def is_sound(self) -> bool:
        return self._library.driver_verify(self._flows) == 0


def reference_flows(instance: Instance) -> Sharing:
    """Return the reference engine's flows for an instance."""
    arrays = instance.arrays()
    paths = SimpleNamespace(
        latency_ps=np.zeros(len(instance.loads), np.int64),
        cap=arrays["cap"].reshape(-1, instance.n_mates),
        resource_ptr=arrays["resource_ptr"],
        resource=arrays["resource"],
        weight=arrays["weight"],
    )
    problem: Any = SimpleNamespace(
        paths=paths,
        resource_capacity=arrays["capacity"],
        curve_ptr=arrays["curve_ptr"],
        curve=arrays["curve"],
        resource_gradual=None,
        latency_slope=None,
        latency_bend=None,
    )
    return Sharing(problem)


@dataclass
class PlainFlow:
    """A flow with `left` bytes at time `now - lag`."""

    flow_class: int
    left: Number
    now: int
    lag: Number
    rate: Number

    def left_at(self, now: int, lag: Number) -> Number:
        return self.left - self.rate * ((now - self.now) + (self.lag - lag))

    def end(self) -> Number:
        """Return how long after `now` it ends, infinity at rate 0."""
        return self.left / self.rate - self.lag if self.rate > 0 else math.inf


class PlainFlows:
    """Single flows without classes or virtual time; all rates from scratch at every change.

    `number` makes the numbers that it calculates with, `keep` rounds what is kept from one change
    to the next.
    """

    def __init__(
        self,
        instance: Instance,
        number: Callable[[float], Any],
        keep: Callable[[Any], Any] = lambda value: value,
    ) -> None:
        self._n_mates = instance.n_mates
        self._loads = [[(r, number(weight)) for r, weight in load] for load in instance.loads]
        self._caps = [cap if math.isinf(cap) else number(cap) for cap in instance.caps]
        self._capacity = [number(capacity) for capacity in instance.capacity]
        self._curves = [[number(entry) for entry in curve] for curve in instance.curves]
        self._number, self._keep = number, keep
        self._counted: Counter[int] = Counter()
        self.flows: dict[int, PlainFlow] = {}
        self.rates: Rates = {}

    def loads(self, flow_class: int) -> list[tuple[int, Number]]:
        return self._loads[flow_class // self._n_mates]

    def start(self, worker: int, flow_class: int, n_bytes: Number, now: int, lag: Number) -> None:
        rate = self.rates.get(flow_class, self._number(0))
        self.flows[worker] = PlainFlow(flow_class, n_bytes, now, lag, rate)

    def stop(self, worker: int, now: int, lag: Number) -> Number:
        left: Number = self._keep(self.flows.pop(worker).left_at(now, lag))
        return max(left, self._number(0))

    def is_stale(self) -> bool:
        return Counter(flow.flow_class for flow in self.flows.values()) != self._counted

    def update_rates(self, now: int, lag: Number) -> None:
        """Compute all rates; they hold from `now - lag` on."""
        self._counted = Counter(flow.flow_class for flow in self.flows.values())
        self.rates = self.fair_rates()
        for flow in self.flows.values():
            flow.left = self._keep(flow.left_at(now, lag))
            flow.now, flow.lag, flow.rate = now, lag, self.rates[flow.flow_class]

    def capacity(self) -> list[Number]:
        """Return the capacity of every resource with the present flows."""
        crossing = Counter(
            r for flow in self.flows.values() for r, _ in self.loads(flow.flow_class)
        )
        return [
            curve[min(crossing[r], len(curve)) - 1] if curve and crossing[r] else self._capacity[r]
            for r, curve in enumerate(self._curves)
        ]

    def fair_rates(self) -> Rates:
        """Return the weighted max-min fair rates, by water-filling over single flows."""
        rising = {worker: flow.flow_class for worker, flow in self.flows.items()}
        stopped: list[tuple[int, Number]] = []
        capacity, level, rates = self.capacity(), self._number(0), Rates()
        while rising:
            left, load = list(capacity), [self._number(0) for _ in capacity]
            for flow_class, rate in stopped:
                for r, weight in self.loads(flow_class):
                    left[r] -= weight * rate
            for flow_class in rising.values():
                for r, weight in self.loads(flow_class):
                    load[r] += weight
            levels = {r: max(left[r] / load[r], level) for r in range(len(load)) if load[r]}
            level = min([*levels.values(), *(self._caps[c] for c in rising.values())])
            full = {r for r, reached in levels.items() if reached <= level}
            for worker, flow_class in list(rising.items()):
                if self._caps[flow_class] <= level or any(
                    r in full for r, _ in self.loads(flow_class)
                ):
                    rates[flow_class] = min(self._caps[flow_class], level)
                    stopped.append((flow_class, rates[flow_class]))
                    del rising[worker]
        return rates

    def broken_rules(self, rates: Any, slack: Number) -> list[str]:
        """Return what keeps rates from being the max-min fair ones, within a factor of `slack`."""
        counts = Counter(flow.flow_class for flow in self.flows.values())
        used: Counter[int] = Counter()
        fastest: dict[int, Number] = {}
        for c, n in counts.items():
            for r, weight in self.loads(c):
                used[r] += n * weight * rates[c]
                fastest[r] = max(fastest.get(r, 0), rates[c])
        limit = self.capacity()
        found = [f"resource {r} is overloaded" for r in used if used[r] > limit[r] * slack]
        for c in counts:
            if rates[c] > self._caps[c] or not rates[c] > 0:
                found.append(f"rate {rates[c]} of class {c}")
            # It could only rise at the cost of a flow that is not faster.
            if rates[c] * slack < self._caps[c] and not any(
                used[r] * slack >= limit[r] and fastest[r] <= rates[c] * slack
                for r, _ in self.loads(c)
            ):
                found.append(f"class {c} could be faster")
        return found


@dataclass(frozen=True)
class Triple:
    """One quantity as the kernel, plain doubles and exact arithmetic have it."""

    kernel: float
    plain: float
    exact: Fraction

    @classmethod
    def of(cls, value: float) -> Triple:
        return cls(value, value, Fraction(value))


class Lockstep:
    """The same flows in the kernel, the reference, plain doubles and exact fractions, compared.

    The kernel decides which of several flows ends first where they do within `tolerance` ps, and
    whether an end this close to a whole picosecond is noticed there or one later. The others go on
    from their own times of ends, or, with `follows`, from the kernel's. `tolerance` is also that of
    remaining bytes.
    """

    def __init__(
        self,
        kernel: KernelFlows,
        instance: Instance,
        tolerance: float = 1e-6,
        keep: Callable[[Fraction], Fraction] = lambda value: value,
        follows: bool = False,
    ) -> None:
        self.kernel, self.reference = kernel, reference_flows(instance)
        self.plain, self.exact = PlainFlows(instance, float), PlainFlows(instance, Fraction, keep)
        self.now, self.lag = 0, Triple.of(0.0)
        self.tolerance, self._keep, self._follows = tolerance, keep, follows
        self.errors_ps: list[float] = []

    def class_of(self, worker: int) -> int | None:
        flow = self.exact.flows.get(worker)
        return flow.flow_class if flow else None

    def start(self, worker: int, flow_class: int, n_bytes: float | Triple) -> None:
        size = n_bytes if isinstance(n_bytes, Triple) else Triple.of(n_bytes)
        self.kernel.start(worker, flow_class, size.kernel, self.now, self.lag.kernel)
        self.reference.start(worker, flow_class, size.kernel, self.now, self.lag.kernel)
        self.plain.start(worker, flow_class, size.plain, self.now, self.lag.plain)
        self.exact.start(worker, flow_class, size.exact, self.now, self.lag.exact)

    def stop(self, worker: int) -> Triple:
        """Remove a flow and return its remaining bytes."""
        left = self.kernel.stop(worker, self.now, self.lag.kernel)
        assert left == self.reference.stop(worker, self.now, self.lag.kernel)
        plain = self.plain.stop(worker, self.now, self.lag.plain)
        exact = self.exact.stop(worker, self.now, self.lag.exact)
        assert abs(left - exact) <= self.tolerance
        assert abs(plain - exact) <= self.tolerance
        return Triple(left, float(plain), Fraction(exact))

    def advance(self, other: int = NEVER, other_lag: float = 0.0) -> int | None:
        """Handle the next event: a flow's end, whose worker is returned, or the one at `other`."""
        time, worker, lag = self.kernel.next(self.now, self.lag.kernel, other)
        self._update_rates(other, time)
        self._check_rates()
        self._check_reference(time, worker)
        if time == NEVER or time > other:
            self._check_nobody_ends_before(min(time, other))
            self.now, self.lag = other, Triple.of(other_lag)
            return None
        assert lag == self.reference.lag(worker, time)
        self._end(worker, time, lag)
        return worker

    def _end(self, worker: int, time: int, lag: float) -> None:
        """Check the end of a flow and go there."""
        exact, plain = self.exact.flows[worker], self.plain.flows[worker]
        late = [time - flow.now - flow.end() for flow in (plain, exact)]  # their lags
        # A flow without bytes that begins nearly a picosecond before now: rounding can make that
        # more than one, and then it is noticed late and has no lag.
        is_noticed_late = lag == 0.0 and late[1] >= 1 - self.tolerance
        self.errors_ps.append(float(late[1] - Fraction(lag)) - is_noticed_late)
        assert abs(self.errors_ps[-1]) <= self.tolerance
        assert abs(late[0] - late[1]) <= self.tolerance
        assert time >= self.now
        assert -self.tolerance <= late[1] <= 1 + self.tolerance
        first = min(flow.now + flow.end() for flow in self.exact.flows.values())
        assert exact.now + exact.end() <= first + self.tolerance
        self.now = time
        if self._follows or is_noticed_late:
            self.lag = Triple.of(lag)
        else:
            self.lag = Triple(lag, float(late[0]), Fraction(self._keep(Fraction(late[1]))))
        self.kernel.end(worker, time, self.lag.kernel)
        self.reference.end(worker, time, self.lag.kernel)
        for flows, own_lag in ((self.plain, self.lag.plain), (self.exact, self.lag.exact)):
            assert abs(flows.stop(worker, time, own_lag)) <= self.tolerance

    def _check_reference(self, time: int, worker: int) -> None:
        found = self.reference.next_end(self.now)
        if found is None:
            assert (time, worker) == (NEVER, -1)
        else:
            assert (min(found[0], NEVER), found[1]) == (time, worker)

    def _check_nobody_ends_before(self, time: int) -> None:
        for flow in self.exact.flows.values():
            assert flow.now + flow.end() > time - self.tolerance

    def _update_rates(self, other: int, time: int) -> None:
        """Do as the kernel did if that is what the semantics ask for."""
        assert self.exact.is_stale() == self.reference.is_stale()
        if other <= self.now or not self.exact.is_stale():
            return
        ends = [flow.now + flow.end() for flow in self.exact.flows.values()]
        until_end = min(ends, default=math.inf) - self.now
        if abs(until_end) <= self.tolerance:  # noticed now or a picosecond later
            due = self.reference.next_end(self.now)
            is_due = due is not None and due[0] <= self.now
        else:
            is_due = until_end <= 0
        if is_due:
            assert time <= self.now
            return
        self.reference.update_rates(self.now, self.lag.kernel)
        self.plain.update_rates(self.now, self.lag.plain)
        self.exact.update_rates(self.now, self.lag.exact)
        assert self.exact.broken_rules(self.exact.rates, Fraction(1)) == []
        assert self.plain.broken_rules(self.kernel.rates(), 1 + 1e-9) == []

    def _check_rates(self) -> None:
        rates = self.kernel.rates()
        for flow in self.exact.flows.values():
            c = flow.flow_class
            assert rates[c] == self.reference._classes[c].rate
            assert math.isclose(rates[c], self.plain.rates.get(c, 0.0), rel_tol=1e-12)
            assert math.isclose(rates[c], self.exact.rates.get(c, 0), rel_tol=1e-9)
