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
        ("hats", make_policy("hats")),
        ("charm", make_policy("charm_multi_io")),
        ("numalb", make_policy("numalb")),
        ("bats", make_policy("bats")),
        ("pool", make_policy("cpu_side_pool", {"decision_s": 1e-3})),
    ]
    assert cost_notes(policies) == [
        "besides the machine's costs, eager, dmda: push 1 us, look 1 us, fetch 1 us, release 3 us",
        "besides the machine's costs, laws: profile 200 ns, spawn 100 ns",
        "besides the machine's costs, slow: push 2.5 ms",
        "besides the machine's costs, hats: decision 1 us",
        "besides the machine's costs, charm: allocation 250 ns per page, move overhead 1 us",
        "besides the machine's costs, numalb: choice 10 ns per pair",
        "besides the machine's costs, bats: analysis 100 ns per item",
        "besides the machine's costs, pool: decision 1 ms",
    ]
