"""Workload generators by name, with checked parameters.

A generator is a plain function in a module of :mod:`simsched.workload.generators`, or one that
another package names in its entry-point group ``simsched.workloads``, or one in a file of the user,
which is named by its path: ``my_workload.py``, or ``my_workload.py:NAME`` when there are several::

    @generator("name")
    def name(seed: int, *, tasks: Count = 1000, leaf_bytes: Size = 2 * MIB) -> Workload: ...

* Its first parameter is the seed, where anything is random; same seed and parameters, same arrays.
* Its keyword-only parameters are the workload's: typed ``int``, ``float``, ``bool``, ``str`` or
  ``Literal``, each possibly ``| None``, all with defaults. ``Annotated[..., Bounds(low, high)]``
  gives the accepted range.
* Parameters whose names end in ``_bytes`` also accept text such as ``"2 MiB"``.
* It returns a :class:`~simsched.workload.graph.Workload`, whose `parameters` are filled in here.

Programs that differ in defaults only share a function; each is a :func:`variant` of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from typing import Any, Self, TypeVar

from simsched.files.errors import ConfigurationError
from simsched.names.extensions import blamed, check_returned
from simsched.names.loading import home_of, offering_packages
from simsched.names.parameters import MIB as MIB
from simsched.names.parameters import Bounds as Bounds
from simsched.names.parameters import Cost as Cost
from simsched.names.parameters import Count as Count
from simsched.names.parameters import Fraction as Fraction
from simsched.names.parameters import Size as Size
from simsched.names.parameters import SizeOrZero as SizeOrZero
from simsched.names.parameters import checked
from simsched.names.registry import Entry, Registry
from simsched.names.typed_in import has_file, is_read, parts_of
from simsched.names.user_code import is_file_spec
from simsched.workload.graph import Workload

Generator = Callable[..., Workload]
Function = TypeVar("Function", bound=Generator)


@dataclass(frozen=True)
class WorkloadGenerator(Entry[Generator]):
    """A registered generator; its function takes a seed, if any, and parameters as keywords."""

    #: Parameters of a small instance, for checks that run every generator.
    small: Mapping[str, object] = field(default_factory=dict)
    #: One sentence about it; by default from the function's docstring.
    about: str = ""
    #: What a variant has bound, see :func:`variant`.
    bound: tuple[object, ...] = ()
    #: Whether anything is random with some parameters; by default with all.
    random_if: Callable[[Mapping[str, Any]], bool] | None = None

    @property
    def summary(self) -> str:
        """One sentence about it."""
        return self.about or super().summary

    @property
    def place(self) -> str:
        """Where it is defined, for messages."""
        place = super().place
        if not self.about:
            return place
        line = inspect.unwrap(self.function).__code__.co_firstlineno
        return f"{place}, line {line}, with {[*self.bound]}"

    @property
    def takes_seed(self) -> bool:
        """Whether anything in its workloads can be random."""
        parameters = inspect.signature(self.function).parameters.values()
        return any(item.kind is not item.KEYWORD_ONLY for item in parameters)

    def is_random(self, parameters: Mapping[str, object]) -> bool:
        """Return whether anything is random in the workload with all these parameters."""
        return self.takes_seed and (self.random_if is None or self.random_if(parameters))

    def replaces(self, known: Self) -> bool:
        """Return whether it is what has its name already; cells of notebooks are run again."""
        return super().replaces(known) or not (self.in_files or known.in_files)

    @property
    def in_files(self) -> bool:
        """Whether all its code was read from files, see :mod:`simsched.names.typed_in`."""
        return is_read(self.home) and all(map(has_file, parts_of(self.function)))


def generator(
    name: str,
    *,
    small: Mapping[str, object] | None = None,
    random_if: Callable[[Mapping[str, Any]], bool] | None = None,
) -> Callable[[Function], Function]:
    """Register a function under a name; see the module's description for what it must look like.

    Parameters
    ----------
    name : str
        What YAML files call it.
    small : mapping of str to object, optional
        Parameters of an instance with some tens of tasks, used where every workload is tried; the
        defaults when it is not given.
    random_if : callable, optional
        Takes all parameters and returns whether the seed matters with them. Where it does not, a
        study makes the workload once for all seeds. By default it matters wherever there is one.

    Returns
    -------
    callable
        Takes the function and returns it.

    Raises
    ------
    ValueError
        The name is taken, or a parameter has no default or a type that is not supported.
    """

    def register(function: Function) -> Function:
        generators.add(WorkloadGenerator(name, function, small or {}, random_if=random_if))
        return function

    return register


def variant(
    name: str,
    function: Callable[..., Workload],
    summary: str,
    *bound: object,
    small: Mapping[str, object] | None = None,
    **defaults: object,
) -> None:
    """Register a function that several workloads share, with defaults of its own.

    It is like a generator, but before the seed it takes the name and `bound`, which sets the
    workload apart and nobody else can choose.
    """
    made = partial(function, name, *bound, **defaults)

    @wraps(function)
    def program(*seed: int, **parameters: object) -> Workload:
        return made(*seed, **parameters)

    program.__signature__ = inspect.signature(made)  # type: ignore[attr-defined]
    told = (*bound, *defaults.items())
    home = home_of(function)
    generators.add(WorkloadGenerator(name, program, small or {}, summary, told, home=home))


def list_workloads() -> list[WorkloadGenerator]:
    """Return every generator, sorted by name.

    Returns
    -------
    list of WorkloadGenerator
        With their parameters and defaults.
    """
    return list(generators.all().values())


def find_workload(name: str) -> WorkloadGenerator:
    """Return the generator of a registered name, or of a file ``path.py`` or ``path.py:NAME``."""
    if not is_file_spec(name):
        return generators.find(name)
    accepted = 'a function below @simsched.workload.registry.generator("NAME")'
    return generators.find_in_file(name, accepted)


def is_found_anywhere(name: str) -> bool:
    """Return whether another process finds a generator by its name or file, as this one does.

    What a script or a notebook has registered is known to its process only, also when it is a
    variant of a function that ships.
    """
    if is_file_spec(name):
        return True
    chosen = find_workload(name)
    package = chosen.home.__name__.partition(".")[0]
    return chosen.in_files and package in {"simsched", *offering_packages()}


def generate_workload(
    name: str, params: Mapping[str, object] | None = None, seed: int = 0
) -> Workload:
    """Return a generated workload.

    Parameters
    ----------
    name : str
        Name of the generator, or a file ``path.py`` or ``path.py:NAME``.
    params : mapping of str to object, optional
        Parameters that differ from their defaults.
    seed : int
        Seed of everything random in it, 0 by default.

    Returns
    -------
    Workload
        The same for the same seed.

    Raises
    ------
    ConfigurationError
        Unknown generator or parameter, or a value that is not accepted.
    ExtensionError
        The generator has raised an exception, or returned something else.
    """
    return generated(find_workload(name), params or {}, seed, name)


class _Given(dict[str, object]):
    """Parameters of a workload that know its generator, whose name may mean another one elsewhere.

    Copies and other processes have the name only.
    """

    def __init__(self, maker: WorkloadGenerator, values: Mapping[str, object]) -> None:
        super().__init__(values)
        self.maker = maker

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


def generated(
    chosen: WorkloadGenerator, params: Mapping[str, object], seed: int, name: str = ""
) -> Workload:
    """Return a workload of a generator; `name` is what messages call it, by default its own."""
    given = resolve_parameters(chosen, params)
    what = f"workload {name or chosen.name}"
    if type(seed) is not int or seed < 0:
        raise ConfigurationError(f"{what}: seed: found {seed!r}, accepted 0 or more")
    with blamed(what, chosen.function):
        workload = chosen.function(*[seed] * chosen.takes_seed, **given)
    check_returned(what, chosen.function, workload, Workload)
    parameters = _Given(chosen, {"generator": chosen.name, "seed": seed, **given})
    return replace(workload, parameters=parameters)


def generator_of(workload: Workload) -> WorkloadGenerator | None:
    """Return the generator of a workload, None when none is known that it may be from."""
    if isinstance(workload.parameters, _Given):
        return workload.parameters.maker
    name = workload.parameters.get("generator")
    try:
        return find_workload(name) if isinstance(name, str) else None
    except ConfigurationError:
        return None


def make_small_workload(name: str) -> Workload:
    """Return the small instance of a generator."""
    return generate_workload(name, find_workload(name).small)


def resolve_parameters(
    chosen: WorkloadGenerator, params: Mapping[str, object]
) -> dict[str, object]:
    """Return all parameters of a generator: the given ones checked, the others by default."""
    return checked(f"workload {chosen.name}", chosen.parameters, params)


generators: Registry[WorkloadGenerator] = Registry(
    "workload", "simsched.workload.generators", group="simsched.workloads"
)
