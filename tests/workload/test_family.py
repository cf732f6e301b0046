"""Members of families: signatures, defaults, types and docstrings of what shares a function."""

import inspect
from typing import Annotated

import pytest

from simsched.names.docstrings import parameter_texts
from simsched.names.parameters import Bounds, parameters_of
from simsched.workload.family import Member

Side = Annotated[int, Bounds(1, 9)]


def area(
    unit: str,
    seed: int,
    *,
    width: Side = 2,
    height: Side = 3,
    depth: Side | None = None,
    scale: float = 1.0,
) -> str:
    """Return a size.

    Parameters
    ----------
    unit : str
        What is counted.
    seed : int
        Unused.
    width, height : int
        Sides.
    depth : int, optional
        Third side.
    scale : float
        Factor.
    """
    return f"{width * height * (depth or 1) * scale:g} {unit}, {seed}"


def member(**given: object) -> Member:
    return Member(**{"name": "box", "summary": "A box.", "takes": "width height depth", **given})  # type: ignore[arg-type]


def test_a_member_takes_some_parameters_with_its_own_defaults() -> None:
    box = member(defaults={"depth": 4, "scale": 0.5}).of(area, "m", module=__name__)
    assert box(7) == "12 m, 7"
    assert box(7, width=1, depth=2) == "3 m, 7"
    assert list(inspect.signature(box).parameters) == ["seed", "width", "height", "depth"]
    assert (box.__name__, box.__module__) == ("box", __name__)


@pytest.mark.parametrize(("default", "accepts_none"), [(4, False), (None, True)])
def test_none_is_accepted_where_it_is_the_default(default: int | None, accepts_none: bool) -> None:
    found = parameters_of(member(defaults={"depth": default}).of(area, "m", module=__name__))
    assert found["depth"].default == default
    assert found["depth"].optional is accepts_none
    assert found["depth"].bounds == Bounds(1, 9)


def test_types_may_differ() -> None:
    box = member(hints={"width": Annotated[int, Bounds(2, 3)]}).of(area, "m", module=__name__)
    assert parameters_of(box)["width"].bounds == Bounds(2, 3)
    assert parameters_of(box)["height"].bounds == Bounds(1, 9)


def test_docstrings_have_what_members_take() -> None:
    box = member(
        defaults={"depth": 4},
        texts={"height, depth": "Other sides."},
        notes="\n  One.\n  Two.\n\n  Three.\n",
        references="Euclid.",
    ).of(area, "m", module=__name__)
    assert parameter_texts(box) == {
        "seed": "Unused.",
        "width": "Sides.",
        "height": "Other sides.",
        "depth": "Other sides.",
    }
    assert inspect.getdoc(box) == inspect.cleandoc(
        """A box.

        Parameters
        ----------
        seed : int
            Unused.
        width : int
            Sides.
        height, depth : int
            Other sides.

        Notes
        -----
        One. Two.

        Three.

        References
        ----------
        Euclid."""
    )


def test_parameters_that_the_function_lacks_are_refused() -> None:
    with pytest.raises(ValueError, match="box: area has no mass, weight"):
        member(takes="width weight mass").of(area, "m", module=__name__)
    with pytest.raises(ValueError, match="incorrect arguments"):
        member(defaults={"weight": 1}).of(area, "m", module=__name__)
