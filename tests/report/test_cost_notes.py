"""What policies charge beside the machine's costs is said below their comparison."""

from __future__ import annotations

from simsched.policy import make_policy
from simsched.report.tables import cost_notes


def test_policies_that_charge_alike_share_a_line() -> None:
    free = dict.fromkeys(("push_s", "look_s", "fetch_s", "release_s"), 0.0)
    policies = [
        ("eager", make_policy("eager")),
        ("cilk", make_policy("cilk")),  # charges nothing of its own
        ("free", make_policy("ws", free)),
        ("dmda", make_policy("dmda")),
        ("eager", make_policy("eager")),  # another seed
        ("laws", make_policy("laws")),
        ("slow", make_policy("ws", {**free, "push_s": 2.5e-3})),
    ]
    assert cost_notes(policies) == [
        "besides the machine's costs, eager, dmda: push 1 us, look 1 us, fetch 1 us, release 3 us",
        "besides the machine's costs, laws: profile 200 ns, spawn 100 ns",
        "besides the machine's costs, slow: push 2.5 ms",
    ]
