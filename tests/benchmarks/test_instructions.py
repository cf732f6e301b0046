"""The kernel needs no more instructions per task than recorded."""

from __future__ import annotations

import pytest

from benchmarks.instructions import (
    UnavailableError,
    comparable,
    differences,
    measure,
    read_record,
)


def test_instructions_per_task() -> None:
    record = read_record()
    try:
        measured = measure()
    except UnavailableError as reason:
        pytest.skip(str(reason))
    if not comparable(record, measured):
        pytest.skip(
            f"recorded with {record['compiler']} {record['flags']} on {record['machine']}, "
            f"this is {measured['compiler']} {measured['flags']} on {measured['machine']}"
        )
    assert list(differences(record, measured)) == []


def test_differences_are_told_in_words() -> None:
    record = {"instructions_per_task": {"a": 100.0}}

    def told(figure: float) -> list[str]:
        return list(differences(record, {"instructions_per_task": {"a": figure}}))

    assert told(102.0) == told(92.0) == []
    assert told(104.0) == ["a: 104.0 instructions per task, recorded 100.0: +4.0%, accepted +3%"]
    (message,) = told(80.0)
    assert message.endswith("-20.0%; record it: python -m benchmarks.instructions --record")
