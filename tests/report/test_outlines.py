"""What lists say of machines without building them."""

import subprocess
import sys

import pytest

from simsched.machine import list_machines, load_machine
from simsched.report.show.outlines import machine_outlines


def test_outlines_are_those_of_the_machines():
    found = {row.pop("name"): row for row in machine_outlines()}
    assert list(found) == list_machines()
    for name, row in found.items():
        machine = load_machine(name)
        assert row == {
            "cores": machine.n_cores,
            "threads": machine.n_threads,
            "domains": machine.n_domains,
            "nodes": len(machine.nodes),
            "description": machine.description,
        }


@pytest.mark.parametrize(
    ("words", "absent"),
    [
        (["--help"], ["numpy", "ruamel", "quantiphy"]),
        (["list", "machines"], ["numpy", "quantiphy", "simsched.machine"]),
        (["list", "policies"], ["networkx", "pandas", "pyarrow"]),
        (["check", "machines/knl_snc4_flat.yaml"], ["pandas", "pyarrow"]),
    ],
)
def test_commands_import_only_what_they_need(words, absent):
    """Lists of names took longer to import all there is than to say it."""
    program = (
        "import sys; from simsched.cli.app import main; code = main(sys.argv[1:]); "
        "print(*sys.modules, file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=True
    )
    assert set(absent).isdisjoint(done.stderr.split())
