"""Small programs beside peers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import small


@pytest.mark.parametrize(("factor", "code"), [(1.0, 0), (1.0 + 1e-6, 1)])
def test_another_makespan_is_told(
    factor: float,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def answer(row: small.Row, _: list[str]) -> dict[str, float]:
        *_, makespan_s = small.simulated(row.instance, 1)
        return {"cpu_s": 1.0, "makespan_s": makespan_s * factor}

    monkeypatch.setattr(small, "asked", answer)
    assert small.main(["--runs", "1"]) == code
    assert capsys.readouterr().out.count("DIFFERENT") == 2 * code


def test_a_peer_is_asked_under_the_python_that_has_it(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(
        '#!/bin/sh\n[ "$1" = -c ] || echo \'{"cpu_s": 1, "makespan_s": 2}\'\n', encoding="utf-8"
    )
    python.chmod(0o755)
    row = small.rows()[0]
    assert small.asked(row, ["false", str(python)]) == {"cpu_s": 1, "makespan_s": 2}
    assert small.asked(row, ["false"]) is None


def test_what_peers_are_told() -> None:
    told = json.loads(json.dumps(small.program(small.scheduled(3))))
    # 3 x 3 tiles have 3 potrf, 3 trsm, 3 syrk and 1 gemm.
    assert len(told["ops"]) == 10
    assert told["ops_per_s"] == [1e9, 5e8, 5e8, 5e8]
    assert all(a < b for a, b in told["edges"])
