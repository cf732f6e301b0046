from __future__ import annotations

import pytest


@pytest.fixture(params=["simpy", "native"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)
