"""What messages have in common."""

from __future__ import annotations

import pytest

from simsched.files.errors import nearest

RUN = ("--backend", "--events", "--machine", "--policy", "--quiet", "--set", "--strict")


@pytest.mark.parametrize(
    ("name", "accepted", "found"),
    [
        ("--metric", RUN, None),  # four letters of --strict, which nobody would have meant
        ("--metric", (*RUN, "--metrics"), "--metrics"),
        ("--stict", RUN, "--strict"),
        ("--polices", RUN, "--policy"),
        ("--store", RUN, None),
        ("batz", ("bats", "cab"), "bats"),
        ("lws", ("laws", "bats"), "laws"),
        ("hwz", ("hws", "heft"), "hws"),  # of three letters one may be wrong
        ("hzz", ("hws", "heft"), None),
        ("mz", ("ms", "s"), "ms"),
        ("sample", ("balancer", "sample_pages"), "sample_pages"),
        ("on_tick", ("on_idle", "on_timer"), "on_timer"),
        ("x", ("bats", "cab"), None),
        ("--", RUN, None),
        ("", ("bats",), None),
    ],
)
def test_the_nearest_name_is_one_that_may_be_meant(
    name: str, accepted: tuple[str, ...], found: str | None
) -> None:
    assert nearest(name, accepted) == found
