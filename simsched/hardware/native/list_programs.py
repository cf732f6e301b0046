"""Print the names of the programs in C, or write a table of given ones: `[TABLE NAME...]`."""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "programs"


def program_names() -> list[str]:
    """Return the names of the files in programs/, ascending."""
    return sorted(path.stem for path in FOLDER.glob("*.c"))


def table(names: list[str]) -> str:
    """Return the C file that lists the programs."""
    lines = ['#include "runtime.h"', ""]
    lines += [f"extern const hw_program_t hw_program_{name};" for name in names]
    lines += ["", "const hw_program_t *const hw_programs[] = {"]
    lines += [f"    &hw_program_{name}," for name in names]
    lines += [
        "};",
        "",
        "const int32_t hw_n_programs = sizeof(hw_programs) / sizeof(*hw_programs);",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(table(sys.argv[2:]), encoding="utf-8")
    else:
        sys.stdout.write("\n".join(program_names()) + "\n")
