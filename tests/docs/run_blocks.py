"""Run the blocks of one page, given as JSON on standard input, and stop at the first that fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def run(blocks: list[dict[str, Any]], page: str) -> None:
    """Write the files, then run blocks in their order, all Python in one namespace."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks:
        if block["mark"] == "file":
            Path(block["argument"]).write_text(block["text"], encoding="utf-8")
            if block["language"] == "yaml":
                subprocess.run(["simsched", "check", block["argument"]], check=True)
    for block in blocks:
        if block["mark"] == "file":
            continue
        if block["language"] == "python":
            padding = "\n" * block["line"]  # so that a traceback names the line of the page
            exec(compile(padding + block["text"], page, "exec"), namespace)
        else:
            subprocess.run(["bash", "-euxo", "pipefail", "-c", block["text"]], check=True)


if __name__ == "__main__":
    run(json.load(sys.stdin), sys.argv[1])
