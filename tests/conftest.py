"""What all tests need from the process that runs them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from simsched.files import remembered

from . import accuracy

# No test fails because a computer is busy.
hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")


def pytest_configure(config: pytest.Config) -> None:
    """Let programs that tests start hear what a shell's `&` and `nohup` make them deaf to."""
    if threading.current_thread() is threading.main_thread():
        for number, hears in (
            (signal.SIGINT, signal.default_int_handler),
            (signal.SIGHUP, signal.SIG_DFL),
        ):
            if signal.getsignal(number) is signal.SIG_IGN:
                signal.signal(number, hears)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let `make accuracy` renew the record instead of comparing with it."""
    parser.addoption(
        "--renew-accuracy", action="store_true", help="renew docs/validation/accuracy.*"
    )


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what tests with other names or files remember out of the home of whoever runs them."""
    kept = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remembered, "folder", lambda: kept)
        yield


@pytest.fixture(params=["simpy", "native"])
def backend(request: pytest.FixtureRequest) -> str:
    """Return the name of an engine: a test that takes it runs on each."""
    return str(request.param)


@pytest.fixture
def record(request: pytest.FixtureRequest) -> accuracy.Recorder:
    """Return what compares a section with the record of accuracy, or renews it."""
    return accuracy.Recorder(request.config.getoption("--renew-accuracy"))


@pytest.fixture(scope="session")
def cases() -> Path:
    """Return the folder with files of users; tests that need it are skipped where it is absent."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "cases"
    if not folder.is_dir():
        pytest.skip(f"no files of users in {folder}")
    return folder
