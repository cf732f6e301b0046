from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from .claim_cases import Load, family_of


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Make a family of claims about an experiment with swept sizes."""
    return partial(family_of, tmp_path)
