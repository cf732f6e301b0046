"""What there is to say about a host that was calibrated."""

from __future__ import annotations

from simsched.hardware.calibrate_report import measured_rows
from simsched.hardware.session import CalibratedHost
from simsched.report.description import Description, Fact

#: Measured values that are only steps on the way to others.
DERIVED_FROM = ("latency in ", "step ")


def host_description(found: CalibratedHost) -> Description:
    """Return warnings and what was measured; what that was derived from is in the host's table."""
    measured = measured_rows(found.calibration)
    kept = [row for row in measured if not row.name.startswith(DERIVED_FROM)]
    facts = [
        *(Fact("warning", text) for text in found.warnings),
        *(Fact(row.name, f"{row.text}, spread {row.spread:.1%}") for row in kept),
        Fact(f"{len(measured) - len(kept)} more", ".table()"),
    ]
    return Description(found.machine.name, found.calibration.host.processor, facts)
