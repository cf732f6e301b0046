"""Which looks of the policy are left out; docs/semantics.md, rules PT3 to PT6 and WK7."""

from __future__ import annotations

from collections.abc import Sequence

from simsched.engine.interface.decisions import DECISIONS, Record, fields_of
from simsched.policy.contract.decisions import Rest, Wake


class Looks:
    """The policy's timer, and what has happened since the policy has said that it rests."""

    def __init__(self, period_ps: int) -> None:
        self._period_ps = period_ps
        self.timer_ps = period_ps  # when the timer fires next; 0 without one
        self.happened = 0  # events so far, but idle looks
        # when the timer has been told to rest, in which steps (0: not), and what had happened then
        self._from_ps = self._step_ps = self._said = 0

    def fire(self) -> None:
        """Let the timer fire in a period again."""
        self.timer_ps += self._period_ps
        self._step_ps = 0

    def note(self, decisions: Sequence[Record]) -> None:
        """Note what a look decides before it is carried out; an idle one does not happen."""
        if len(decisions) == 1:
            kind, fields = DECISIONS[decisions[0][0]], fields_of(decisions[0])
            self.happened -= kind is Rest or (kind is Wake and fields["step_ps"] > 0)

    def rest(self, looks: int) -> None:
        """Let so many looks of the timer at a time be left out while nothing happens."""
        self._from_ps = self.timer_ps - self._period_ps
        self._step_ps, self._said = looks * self._period_ps, self.happened

    def rests(self) -> bool:
        """Return whether the timer may be put off."""
        return self._step_ps > 0 and self._said == self.happened

    def put_off(self, limit_ps: int) -> range:
        """Put the timer off to its last look before a time; return when it fires until then."""
        later_ps = last_before(limit_ps, self._from_ps, self._step_ps)
        left_out = range(self.timer_ps, later_ps, self._period_ps)
        self.timer_ps += len(left_out) * self._period_ps
        return left_out


def last_before(limit_ps: int, at_ps: int, step_ps: int) -> int:
    """Return a time and as many steps as lead to one before the limit.

    >>> last_before(20, 5, 7), last_before(19, 5, 7), last_before(3, 5, 7)
    (19, 12, 5)
    """
    return at_ps + max(0, limit_ps - 1 - at_ps) // step_ps * step_ps
