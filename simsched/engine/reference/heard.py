"""What hooks raise, as they have raised it."""

from __future__ import annotations

from typing import Any

from simsched.engine.backend import Hooks


class Heard:
    """Hooks that remember what they have raised: SimPy raises a copy of it, or fails to."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self.raised: BaseException | None = None

    def __getattr__(self, name: str) -> Any:
        """Return what the hooks have of that name."""
        known = getattr(self._hooks, name)
        if not name.startswith("on_"):
            return known

        def call(*operands: int) -> Any:
            try:
                return known(*operands)
            except BaseException as error:
                self.raised = error
                raise

        return call
