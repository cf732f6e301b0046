"""The shape of a file that says what to measure.

::

    name: kernels
    description: Two sizes of heat and a sort, stealing against a central queue.
    programs:
      - {name: heat, rows: 512, columns: 512, iterations: 50, label: heat_small}
      - {name: heat, rows: 4096, columns: 4096, iterations: 10, label: heat_large}
      - merge_sort
    policies: [cilk_a, pfws, "work_sharing[placement=interleave]"]
    workers: [1, 2]
    repetitions: 5
    warmup: 1
    seed: 0

Programs carry their parameters beside their name.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from simsched.files.errors import ConfigurationError, SimschedError, unknown_name
from simsched.files.resources import data_dir
from simsched.files.yaml_reader import Document, FieldError, Section, read_named, validate_document
from simsched.hardware.mode import mode_of
from simsched.hardware.program import make_program, programs
from simsched.hardware.runtime import MAX_WORKERS
from simsched.names.parameters import checked
from simsched.names.specs import from_spec, gather, parse_spec
from simsched.names.user_code import is_file_spec
from simsched.names.yaml_fields import FileName, one_or_more, refuse_repeats
from simsched.policy.contract.registry import (
    called,
    list_policies,
    make_policy,
)


def program_entry(data: object) -> object:
    """Accept ``name`` and ``name[key=value]`` for a program, and parameters beside its name."""
    data = {"name": data} if isinstance(data, str) else data
    return from_spec("program", gather(data, ("name", "label"), "name"))


def _policy(text: str) -> str:
    """Refuse policies that are unknown, or in whose way the runtime cannot schedule."""
    try:
        name = parse_spec("policy", text).name
        known = [info.name for info in list_policies()]
        if name not in known and not is_file_spec(name):
            raise ValueError(unknown_name("policy", name, filter(_is_measurable, known)))
        policy = make_policy(text)
        with called(type(policy), name):
            mode_of(policy)
    except SimschedError as error:
        raise ValueError(str(error)) from error
    return text.strip()


def _is_measurable(name: str) -> bool:
    """Whether the runtime can schedule as a policy does by default."""
    try:
        mode_of(make_policy(name))
    except SimschedError:
        return False
    return True


def counts(data: object) -> object:
    """Accept one number instead of a list."""
    return [data] if isinstance(data, int) and not isinstance(data, bool) else one_or_more(data)


class ProgramEntry(Section):
    """A program with its parameters.

    Parameters
    ----------
    name : str
        Name of the program.
    label : str, optional
        What tables and files call it; the name by default, with a number where the same program
        occurs several times.
    parameters : dict
        Those that differ from their defaults; written beside the name.
    """

    name: Annotated[str, Field(min_length=1)]
    label: FileName | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> Self:
        known = programs()
        if self.name not in known:
            raise FieldError(("name",), unknown_name("program", self.name, known))
        what = f"program {self.name}"
        for key, value in self.parameters.items():
            try:
                checked(what, known[self.name].parameters, {key: value})
            except ConfigurationError as error:
                text = str(error).removeprefix(f"{what}: {key}: ")  # the field has the key
                raise FieldError((key,), text) from error
        return self


class Matrix(Section):
    """What to measure: every program under every policy with every number of workers.

    Parameters
    ----------
    name : str
        Name of the measurement and of its directory.
    description : str
        What it is for.
    programs : list of ProgramEntry
        What runs.
    policies : list of str
        Simulated policies that the runtime can imitate: ``cilk_a``, ``pfws``.
    workers : list of int
        Numbers of workers; when there are none, the number of cores that the process may use.
    repetitions : int
        How often each cell of the matrix is measured.
    warmup : int
        How often each cell runs before that, without being kept.
    seed : int
        Seed of the first repetition; the others follow.
    """

    name: FileName
    description: str = ""
    programs: Annotated[
        list[Annotated[ProgramEntry, BeforeValidator(program_entry)]], BeforeValidator(one_or_more)
    ]
    policies: Annotated[list[Annotated[str, AfterValidator(_policy)]], BeforeValidator(one_or_more)]
    workers: Annotated[
        list[Annotated[int, Field(ge=1, le=MAX_WORKERS)]], BeforeValidator(counts)
    ] = Field(default_factory=list)
    repetitions: Annotated[int, Field(ge=1, le=10_000)] = 5
    warmup: Annotated[int, Field(ge=0, le=1_000)] = 1
    seed: Annotated[int, Field(ge=0, lt=2**62)] = 0

    @model_validator(mode="after")
    def _check_duplicates(self) -> Self:
        refuse_repeats(("programs",), self.labels(), "different labels (key label)")
        refuse_repeats(("policies",), self.policies, "different policies")
        refuse_repeats(("workers",), self.workers, "different workers")
        return self

    def labels(self) -> list[str]:
        """Return what tables call the programs."""
        names = [entry.name for entry in self.programs]
        found = []
        for position, entry in enumerate(self.programs):
            number = names[: position + 1].count(entry.name)
            several = names.count(entry.name) > 1
            found.append(entry.label or (f"{entry.name}_{number}" if several else entry.name))
        return found


def read_matrix(document: Document) -> Matrix:
    """Return what a document says to measure.

    Every program is built once, so that parameters which do not fit together are found too.
    """
    matrix = validate_document(document, Matrix)
    for position, entry in enumerate(matrix.programs):
        try:
            make_program(entry.name, entry.parameters)
        except SimschedError as error:
            document.fail(("programs", position), str(error))
    return matrix


def load_matrix(name_or_path: str | Path) -> Matrix:
    """Return what a file, or a shipped one, says to measure."""
    folder = data_dir("experiments") / "hardware"
    return read_matrix(read_named("measurement", name_or_path, folder))
