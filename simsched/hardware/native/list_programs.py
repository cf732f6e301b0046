"""Write the table of the programs that C files define: `TABLE FILE...`; print the files without."""

import re
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "programs"
_DEFINED = re.compile(r"^[A-Z]+_PROGRAM\((\w+),", re.MULTILINE)


def program_names(path: Path) -> list[str]:
    """Return the names of the programs that a C file defines, in its order."""
    return _DEFINED.findall(path.read_text(encoding="utf-8"))


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
        names = [name for path in sys.argv[2:] for name in program_names(Path(path))]
        Path(sys.argv[1]).write_text(table(sorted(names)), encoding="utf-8")
    else:
        sys.stdout.writelines(f"programs/{path.name}\n" for path in sorted(FOLDER.glob("*.c")))
