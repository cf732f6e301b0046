"""A commented experiment to start from."""

from __future__ import annotations

import json
from pathlib import Path

from simsched.files.atomic import refuse_existing, write_text
from simsched.files.errors import ConfigurationError
from simsched.report.json_schema import schema_of

EXPERIMENT = "experiment.yaml"
SCHEMA = "experiment.schema.json"

STARTER = f"""\
# yaml-language-server: $schema={SCHEMA}
#
# An experiment: every machine with every workload, policy and seed.
#
#   simsched check {EXPERIMENT}    says what is wrong, or how many runs it has
#   simsched run {EXPERIMENT}      runs it and prints a table; results/starter gets the rest
#   simsched run {EXPERIMENT} --set seeds=5 --policy cilk     changes it for this time
#
# Editors that know the line at the top complete keys and names and check them: Visual Studio Code
# with the extension "YAML", Neovim, Emacs and others with yaml-language-server.

name: starter
description: >-
  Two ways to steal tasks and one to keep them near their data, on four sockets with memory of their
  own.

# Where it runs. `simsched list machines` has all names, `simsched show machine opteron48` one of
# them; a file of yours is named by its path: my_machine.yaml.
machines:
  - opteron48
  # - {{name: opteron48, workers: 24, label: half of it}}   # fewer workers than hardware threads

# What runs: presets or generators (`simsched list workloads`), with parameters beside the name or
# in brackets, or task graph files: {{file: my_graph.graphml}}.
workloads:
  - {{name: heat, rows: 4096, columns: 4096, leaf_bytes: 256 KiB, iterations: 10, label: heat}}
  - "mergesort[items=4194304]"

# Who schedules (`simsched list policies`, `simsched show policy laws`); my_policy.py for your own.
policies:
  - cilk                            # tasks are stolen at random, data lie where they are first used
  - "cilk[placement=interleave]"    # the same with another parameter: pages go round all nodes
  - laws                            # tasks go to the socket that has their data

# Everything that is random depends on the seed; tables show means over seeds with 95 % confidence
# intervals.
seeds: 3

# The policy that the others are compared with.
baseline: cilk

# Columns of the table; `simsched query` lists all there are once something has run.
metrics: [makespan_s, remote_percent, steals, idle_percent, makespan_over_bound]

# More dimensions: every combination of these values is run too. Remove the marks to try it.
# sweep:
#   product:
#     machines.opteron48.set.costs.steal: [500 ns, 2 us]
"""


def write_starter(directory: Path) -> list[Path]:
    """Write the experiment and its schema; return the files, none of which may exist."""
    files = [directory / EXPERIMENT, directory / SCHEMA]
    refuse_existing(files)
    schema = json.dumps(schema_of("experiment"), indent=1, allow_nan=False) + "\n"
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"{directory}: cannot be created: {error.strerror}") from error
    for path, text in zip(files, (STARTER, schema), strict=True):
        write_text(path, text)
    return files
