"""The engines that are built."""

import pytest

import simsched.engine.native
from simsched.testing.battery import BACKENDS


@pytest.fixture(scope="session")
def backends() -> list[str]:
    built = hasattr(simsched.engine.native, "NativeBackend")
    return [name for name in BACKENDS if built or name != "native"]
