"""Completion as shells ask for it: by variables of the environment, one word at a time."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from simsched.cli import names as cli_names
from simsched.cli.app import main


@pytest.fixture(params=["bash", "zsh", "fish"])
def shell(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def complete(monkeypatch: pytest.MonkeyPatch, shell: str, line: str) -> list[str]:
    """Return what a shell offers when the line has been typed and the tabulator key is pressed."""
    words = line.split(" ")
    settings = {
        "bash": {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }
    monkeypatch.setenv("_SIMSCHED_COMPLETE", f"complete_{shell}")
    for name, value in settings[shell].items():
        monkeypatch.setenv(name, value)
    written = io.StringIO()
    with redirect_stdout(written), pytest.raises(SystemExit):
        main([])
    text = written.getvalue()
    if shell == "zsh":
        return [name.replace(r"\\", "") for name in re.findall(r'(?m)^[^"\n]*"([^"]*)"', text)]
    return [found.partition("\t")[0] for found in text.split("\n") if found]


LINES = [
    ("simsched re", {"references", "report", "reproduce"}),
    ("simsched show ", {"machine", "workload", "policy"}),
    ("simsched list p", {"policies", "placements", "probes"}),
    ("simsched run quick", {"quickstart"}),
    ("simsched run quickstart --mach", {"--machine"}),
    ("simsched run quickstart --machine opteron", {"opteron48", "opteron64"}),
    ("simsched run quickstart -w heat_s", {"heat_small"}),
    ("simsched run quickstart -w mergesort", {"mergesort", "mergesort_1024x1024"}),
    ("simsched run quickstart -p cilk -p bats_n", {"bats_nb", "bats_nh", "bats_nl"}),
    ("simsched run quickstart -p bats[samp", {"bats[sample_pages="}),
    ("simsched run quickstart -p bats[balancer=no,samp", {"bats[balancer=no,sample_pages="}),
    ("simsched run quickstart -w heat_small[row", {"heat_small[rows="}),
    ("simsched run quickstart --set see", {"seeds="}),
    ("simsched run quickstart --backend ", {"native", "simpy"}),
    (
        "simsched show machine knl_snc4",
        {"knl_snc4_cache", "knl_snc4_flat", "knl_snc4_hybrid"},
    ),
    ("simsched show policy slaw", {"slaw"}),
    ("simsched show workload queens", {"queens", "queens_15", "queens_20"}),
    ("simsched compare bats cilk_dram", {"cilk_dram", "cilk_dram_1t"}),
    ("simsched measure measure_s", {"measure_small"}),
    ("simsched reproduce knl", {"knl_hbm"}),
    ("simsched reproduce knl_hbm --claim bats_m0", {f"bats_m0{n}" for n in range(1, 8)}),
    ("simsched import x --format star", {"starpu_sampling", "starvz"}),
    ("simsched export x --to gr", {"graphml"}),
    ("simsched run nothing_like_it", set()),
]


@pytest.mark.parametrize(("line", "offered"), LINES)
def test_names_complete(monkeypatch: pytest.MonkeyPatch, line: str, offered: set[str]) -> None:
    assert set(complete(monkeypatch, "bash", line)) == offered


@pytest.mark.parametrize(("line", "offered"), LINES[::6])
def test_names_complete_in_all_shells(
    monkeypatch: pytest.MonkeyPatch, shell: str, line: str, offered: set[str]
) -> None:
    assert set(complete(monkeypatch, shell, line)) == offered


def test_descriptions_are_shown_where_a_shell_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_SIMSCHED_COMPLETE", "complete_fish")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "simsched show policy bats_nb")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    written = io.StringIO()
    with redirect_stdout(written), pytest.raises(SystemExit):
        main([])
    name, _, description = written.getvalue().strip().partition("\t")
    assert name == "bats_nb"
    assert description


def test_what_fails_offers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> list[str]:
        raise RuntimeError("a plug-in is broken")

    monkeypatch.setattr("simsched.machine.list_machines", broken)
    assert cli_names.machine("") == []
    assert cli_names.policy("no_such_policy[") == []


@pytest.mark.slow
def test_scripts_of_all_shells(shell: str) -> None:
    variables = {**os.environ, "_SIMSCHED_COMPLETE": f"source_{shell}"}
    done = subprocess.run(
        [sys.executable, "-c", "from simsched.__main__ import main; main()"],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"complete_{shell}" in done.stdout


@pytest.fixture
def with_program(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which shells find the program."""
    program = tmp_path / "simsched"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m simsched "$@"\n')
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "script"),
    [
        (
            "bash",
            'eval "$(_SIMSCHED_COMPLETE=source_bash simsched)"; '
            "COMP_WORDS=(simsched run quickstart --policy bats_n); COMP_CWORD=4; "
            '_simsched_completion simsched; printf "%s\\n" "${COMPREPLY[@]}"',
        ),
        (
            "fish",
            "eval (env _SIMSCHED_COMPLETE=source_fish simsched | string collect); "
            'complete -C "simsched run quickstart --policy bats_n" | string split -f 1 \\t',
        ),
    ],
)
def test_shells_complete(program: str, script: str, with_program: dict[str, str]) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    done = subprocess.run(
        [program, "-c", script], env=with_program, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["bats_nb", "bats_nh", "bats_nl"]
