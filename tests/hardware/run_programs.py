"""Run every program in every mode with the binding in a given file: `python -m ... FILE`."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys

NAME = "simsched.hardware.native._runtime"


def main(path: str) -> None:
    """Put the binding in the place of the installed one, then run and check what it has."""
    loader = importlib.machinery.ExtensionFileLoader(NAME, path)
    spec = importlib.util.spec_from_file_location(NAME, path, loader=loader)
    assert spec is not None
    sys.modules[NAME] = importlib.util.module_from_spec(spec)
    loader.exec_module(sys.modules[NAME])

    from simsched.hardware import runtime
    from simsched.hardware.mode import mode_of
    from simsched.hardware.program import make_program, programs
    from simsched.policy import make_policy

    for name in programs():
        for policy in ("cilk_a", "pfws", "task_sharing"):
            program = make_program(name, programs()[name].small)
            runtime.execute(program, mode_of(make_policy(policy)), workers=2, seed=1)
            assert program.check() <= 1.0, (name, policy)
            sys.stdout.write(f"{name} {policy}\n")


if __name__ == "__main__":
    main(sys.argv[1])
