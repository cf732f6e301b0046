"""Waiting cells: workers stay with a workload, and share those that are left."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from simsched.experiment.waiting import WaitingCells


def cell(content: str, number: int) -> Any:
    return SimpleNamespace(workload_source=SimpleNamespace(content=content), number=number)


def drain(waiting: WaitingCells, workers: int) -> list[list[str]]:
    """Let workers take turns; return the workloads in the order in which each had them."""
    had: list[list[str]] = [[] for _ in range(workers)]
    while waiting:
        for mine in had:
            if waiting:
                mine.append(waiting.take(mine[-1] if mine else None).workload_source.content)
    return had


def test_a_worker_keeps_its_workload() -> None:
    waiting = WaitingCells(cell(content, n) for n in range(4) for content in "abcd")
    assert drain(waiting, 2) == [list("aaaacccc"), list("bbbbdddd")]


def test_workers_share_the_last_workload() -> None:
    waiting = WaitingCells([cell("a", n) for n in range(6)])
    assert drain(waiting, 3) == [["a", "a"]] * 3


def test_several_are_of_one_workload_as_long_as_there_are_any() -> None:
    waiting = WaitingCells(cell(content, n) for n in range(3) for content in "ab")
    taken = [
        waiting.take_several("b", 2),
        waiting.take_several("b", 2),
        waiting.take_several("", 9),
    ]
    contents = [[item.workload_source.content for item in cells] for cells in taken]
    assert contents == [["b", "b"], ["b", "a"], ["a", "a"]]
    assert not waiting


def test_every_cell_is_taken_once_and_a_lost_one_again() -> None:
    waiting = WaitingCells(cell(content, n) for n in range(3) for content in "ab")
    lost = waiting.take()
    assert (lost.workload_source.content, lost.number) == ("a", 0)
    waiting.put_back(lost)
    taken = []
    while waiting:
        taken.append(waiting.take("b"))
    found = [(item.workload_source.content, item.number) for item in taken]
    assert found == [("b", 0), ("b", 1), ("b", 2), ("a", 0), ("a", 1), ("a", 2)]
    waiting.put_back(lost)
    assert waiting.take() is lost
    assert not waiting
