"""Objects that notebooks show; the room of reports knows how."""

from __future__ import annotations

from importlib import import_module

DRAWING = "simsched.report.show"  #: the package whose `html` draws what is shown


class Shown:
    """Base of what notebooks show, which knows nothing of how it is drawn."""

    def _repr_html_(self) -> str:
        """Return what Jupyter shows."""
        drawn: str = import_module(DRAWING).html(self)
        return drawn
