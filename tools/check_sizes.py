"""Print how long files and functions are, and fail if one is longer than this project allows.

Files that are pleasant to enter are short. Lengths are physical lines; a function's docstring does
not count, so that explaining a parameter never makes a function too long.
"""

import ast
import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MAX_FILE = 600
MAX_FUNCTION = 80
C_SUFFIXES = {".c", ".h", ".pyx", ".pxi"}

# A function body opens with a brace that follows a parameter list begun in column 0.
C_OPENING = re.compile(r"^\w[^;={}]*\b(\w+)\s*\([^;{}]*\)\s*\{", re.MULTILINE)


class Length(NamedTuple):
    """How long one thing is, and where."""

    lines: int
    where: str


def main(paths: list[str]) -> int:
    """Return 1 if anything under `paths` is too long, 0 otherwise."""
    files: dict[str, list[Length]] = {"Python files": [], "C files": []}
    functions: dict[str, list[Length]] = {"Python functions": [], "C functions": []}
    for path in sources(paths):
        text = path.read_text(encoding="utf-8")
        length = Length(len(text.splitlines()), str(path))
        if path.suffix == ".py":
            files["Python files"].append(length)
            functions["Python functions"] += python_functions(path, text)
        else:
            files["C files"].append(length)
            functions["C functions"] += c_functions(path, text)
    for kind, lengths in {**files, **functions}.items():
        print(distribution(kind, lengths))
    too_long = [
        f"{length.where}: {length.lines} lines, at most {limit} are allowed; split it"
        for group, limit in ((files, MAX_FILE), (functions, MAX_FUNCTION))
        for lengths in group.values()
        for length in lengths
        if length.lines > limit
    ]
    print("\n".join(too_long) if too_long else "sizes: ok")
    return 1 if too_long else 0


def sources(paths: list[str]) -> list[Path]:
    """Return the source files under the given directories, in order."""
    return sorted(
        path
        for root in paths
        for path in Path(root).rglob("*")
        if path.suffix in C_SUFFIXES | {".py"} and path.is_file()
    )


def python_functions(path: Path, text: str) -> Iterator[Length]:
    """Yield every function and method of a Python file."""
    for node in ast.walk(ast.parse(text, filename=str(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            lines = node.end_lineno - node.lineno + 1
            if ast.get_docstring(node, clean=False) is not None:
                lines -= (node.body[0].end_lineno or 0) - node.body[0].lineno + 1
            yield Length(lines, f"{path}:{node.lineno} {node.name}")


def c_functions(path: Path, text: str) -> Iterator[Length]:
    """Yield the functions of a C file; each ends at the first brace in column 0."""
    if path.suffix == ".pyx":
        return
    for match in C_OPENING.finditer(text):
        end = text.find("\n}", match.end() - 1)
        if end >= 0:
            line = text.count("\n", 0, match.start()) + 1
            lines = text.count("\n", match.start(), end + 1) + 1
            yield Length(lines, f"{path}:{line} {match.group(1)}")


def distribution(kind: str, lengths: list[Length]) -> str:
    """Return one line: count, median, 90th percentile, and the longest by name."""
    if not lengths:
        return f"{kind:17} none"
    ordered = sorted(lengths)
    tenth = ordered[min(len(ordered) - 1, len(ordered) * 9 // 10)].lines
    median = statistics.median(length.lines for length in ordered)
    longest = ordered[-1]
    return (
        f"{kind:17} n {len(ordered):4}  median {median:5.0f}  p90 {tenth:4}  "
        f"max {longest.lines:4}  {longest.where}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
