"""What users add: generators, importers and policies in files of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simsched.trace.importers import registry as trace_registry
from simsched.trace.importers import trace_importer, trace_importers
from simsched.workload import list_workloads, registry


@pytest.fixture(autouse=True)
def _registries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what a test registers."""
    list_workloads()
    trace_importers()
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))
    monkeypatch.setattr(trace_registry, "_importers", dict(trace_registry._importers))


def test_exceptions_of_generators_and_importers_end_with_exit_code_2(
    simsched: Any, tmp_path: Path
) -> None:
    """Exit code 1 and a traceback would say that simsched is broken."""

    @registry.generator("raising")
    def raising(seed: int) -> Any:
        """Raises."""
        raise KeyError("x")

    @trace_importer("raising", recognises=lambda path: path.suffix == ".raising")
    def reading(path: Path) -> Any:
        """Raises."""
        raise KeyError("x")

    (tmp_path / "t.raising").write_text("")
    for words, name in (
        (("show", "workload", "raising"), "raising"),
        (("run", "quickstart", "-w", "raising"), "raising"),
        (("import", tmp_path / "t.raising"), "reading"),
    ):
        code, output, messages = simsched(*words)
        assert (code, output) == (2, "")
        assert messages.count("\n") == 1
        assert f"{__file__}:" in messages
        assert messages.endswith(f": {name}: KeyError: 'x'\n")
