"""Ctrl-C that reaches a program inside of a library's code."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from simsched.files.interruptions import Interruptions, is_interruption

LONG = 60.0


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    """Python's own handler, whatever started the tests has left."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(LONG)


class Deaf:
    def __del__(self) -> None:
        interrupt()  # Python reports what is raised here and goes on


def drop_it_three_times() -> None:
    with suppress(BaseException):
        interrupt()
    with suppress(KeyboardInterrupt):
        time.sleep(LONG)
    deaf = Deaf()
    del deaf
    time.sleep(LONG)


def in_clean_up() -> None:
    try:
        interrupt()
    finally:
        raise ValueError("the file is still open")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_a_library_drops_is_raised_again() -> None:
    with pytest.raises(KeyboardInterrupt), Interruptions():
        drop_it_three_times()


def test_another_error_of_clean_up_is_the_interruption_too() -> None:
    with pytest.raises(ValueError, match="still open") as raised, Interruptions():
        in_clean_up()
    assert is_interruption(raised.value)
    assert not is_interruption(ValueError())
    first, second = ValueError(), KeyError()
    first.__context__, second.__cause__ = second, first
    assert not is_interruption(first)


def test_once_it_is_heeded_nothing_comes_again() -> None:
    with Interruptions() as signals:
        with suppress(KeyboardInterrupt):
            try:
                interrupt()
            except KeyboardInterrupt:
                signals.end()
                raise
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
    with pytest.raises(KeyboardInterrupt):
        interrupt()


def test_a_copy_as_simpy_makes_it() -> None:
    with pytest.raises(KeyboardInterrupt) as raised, Interruptions():
        interrupt()
    copy = type(raised.value)(*raised.value.args)
    assert is_interruption(copy)
