"""Examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "name",
    [
        "simsched.api",
        "simsched.reproduction.judge",
        "simsched.reproduction.schema",
        "simsched.experiment.fingerprint",
        "simsched.experiment.frames",
        "simsched.experiment.given",
        "simsched.experiment.overrides",
        "simsched.experiment.progress",
        "simsched.experiment.query",
        "simsched.experiment.summary",
        "simsched.report.claims",
        "simsched.report.plots.common",
        "simsched.report.tables",
    ],
)
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
