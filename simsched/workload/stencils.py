"""The table of sweeps over grids: a row is a workload and, where it says how, a measured program.

Workloads are registered by :mod:`simsched.workload.generators.row_sweeps` from the parameters of
:func:`simsched.workload.row_sweep.row_sweep`, programs by :mod:`simsched.hardware.programs.grids`
from those of its function `grid`. The latter also need an expression in
``hardware/native/programs/grids.c``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simsched.workload.family import Member
from simsched.workload.registry import MIB

Places = tuple[tuple[int, ...], ...]
"""Neighbours of an element, each as its distance along every axis."""


@dataclass(frozen=True, kw_only=True)
class MeasuredStencil(Member):
    """The program that sweeps with a stencil on hardware."""

    #: Weights in the order in which C takes them, each with the neighbours that it multiplies.
    terms: tuple[tuple[float, Places], ...]
    #: Elements at each end of an axis that keep their values.
    radius: int = 1
    #: Whether the value of two iterations ago is subtracted.
    is_wave: bool = False
    #: Arguments for a run of some milliseconds.
    small: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Stencil(Member):
    """A sweep over the rows of a grid, which the leaves of a spawn tree share."""

    #: Parameters of an instance with some tens of tasks.
    small: Mapping[str, object]
    measured: MeasuredStencil | None = None


def neighbours(away: int) -> Places:
    """Return the six elements of a volume that are `away` elements away along one axis."""
    places = (tuple(away * (axis == other) for other in range(3)) for axis in range(3))
    return tuple(tuple(sign * step for step in place) for place in places for sign in (-1, 1))


_ANY = "rows columns element_bytes ops_per_element init_ops_per_element iterations"
_TREE = f"{_ANY} copies irregular cutoff_rows halo_rows inner_ops"
_BYTES = "leaf_bytes block_bytes write_allocate"
_PASSES = f"{_TREE} leaf_rows block_rows passes write_allocate"
_MEASURED_PLANE = "rows columns leaf_rows irregular iterations seed"

_FRIGO = """Frigo, Leiserson and Randall, *The implementation of the Cilk-5 multithreaded language*,
PLDI 1998"""
_LAWS = "Chen, Guo and Guan, ICS 2014 (docs/sources/laws.md)"
_BOOK = "Book of docs/sources"
_BATS = "Zhao et al., ACM TACO 15(4), 2018, Table 2 (docs/sources/bats.md)"
_YOUNG = "Young, *Iterative Solution of Large Linear Systems*, Academic Press 1971, chapter 5"

_OF_VOLUME = {
    "rows, lines, columns": "Size of the volume; a row is a plane of `lines` times `columns`"
    " elements.",
    "halo_rows": "Planes that a leaf reads on either side of its own.",
    "ops_per_element, init_ops_per_element": "Operations per element of a pass, and of the"
    " initialisation.",
}
_VOLUME = {"rows": 8096, "lines": 64, "columns": 64}
_MEASURED_VOLUME = {"rows": 256, "lines": 64, "columns": 64}
_MEASURED_OF_VOLUME = {
    "rows, lines, columns": "Size of the volume; two copies of ``8 * rows * lines * columns``"
    " bytes.",
}
_SMALL_PLATE = {"rows": 64, "columns": 128, "iterations": 3}
_SMALL_VOLUME = {"rows": 64, "lines": 8, "columns": 16, "iterations": 3}
_SMALL_BYTES = {
    "rows": 64,
    "columns": 128,
    "leaf_bytes": 8192,
    "block_bytes": 16384,
    "iterations": 4,
}

# Weights of an explicit step in time.
_ACROSS_ROWS, _ALONG_ROW = 0.2, 0.15
# Second derivative, exact for polynomials of degree 9: elements 0, 1, 2, 3 and 4 away.
_DERIVATIVE = (-205.0 / 72.0, 8.0 / 5.0, -1.0 / 5.0, 8.0 / 315.0, -1.0 / 560.0)
_SPEED_SQUARED = 0.1  # elements per step, squared; the scheme is stable below 0.2

STENCILS = (
    Stencil(
        name="heat",
        summary="Heat distribution: a matrix swept row-wise by a spawn tree, regular or irregular.",
        takes=f"{_TREE} {_BYTES} init_leaf_bytes",
        defaults={"leaf_bytes": 2 * MIB, "block_bytes": 2 * MIB, "ops_per_element": 10.0},
        small=_SMALL_BYTES,
        texts={
            "copies": "Two copies of the matrix, one read and one written, or one updated in"
            " place.",
            "cutoff_rows": "Pieces with fewer rows are leaves, whatever `leaf_bytes` says; 2 makes"
            " one leaf per row.",
            "ops_per_element, init_ops_per_element": "Operations per element: 6 additions and 4"
            " multiplications of a sweep; of the initialisation.",
        },
        references=f"{_FRIGO} (program ``heat``). {_BATS}. {_BOOK}, Algorithms 1, 3.",
        measured=MeasuredStencil(
            name="heat",
            summary="Heat distribution: a five-point stencil swept by a spawn tree over rows.",
            takes=_MEASURED_PLANE,
            defaults={"iterations": 500},
            small={"rows": 61, "columns": 48, "leaf_rows": 5, "iterations": 5},
            texts={
                "rows, columns": "Size of the plate; two copies of ``8 * rows * columns`` bytes.",
                "seed": "Of the initial temperatures.",
            },
            terms=(
                (1.0 - 2.0 * (_ACROSS_ROWS + _ALONG_ROW), ((0, 0),)),
                (_ACROSS_ROWS, ((-1, 0), (1, 0))),
                (_ALONG_ROW, ((0, -1), (0, 1))),
            ),
            notes="""
                An operation is one element of the new copy, boundary included. A sweep moves a
                temperature towards its neighbours' with the weights of an explicit step in time,
                ``0.2`` across rows and ``0.15`` along them.
            """,
            references=f"{_FRIGO} (program ``heat``). {_BOOK}, Algorithms 1 and 3.",
        ),
    ),
    Stencil(
        name="sor",
        summary="Successive over-relaxation: a plate swept in place by a spawn tree, regular or"
        " irregular.",
        takes=f"{_TREE} leaf_rows block_rows colours",
        defaults={"colours": 2, "ops_per_element": 7.0, "in_place": True},
        small=_SMALL_PLATE,
        texts={
            "copies": "Unknowns and right-hand side, or unknowns only.",
            "ops_per_element, init_ops_per_element": "Operations per element that is updated, 5"
            " additions and 2 multiplications; of the initialisation.",
            "iterations": "Number of iterations of all colours; the workload has `colours` times"
            " as many.",
        },
        notes="""
            In parallel, elements are updated in two colours of a checkerboard (red-black ordering):
            those of one colour depend on the other colour only, so that the leaves of a half sweep
            need not wait for each other. Each half sweep is an iteration of the workload.

            The two arrays are the unknowns u, updated in place, and the right-hand side f, which is
            only read. Elements lie in the order of rows, so every line of a row holds elements of
            both colours, and a half sweep reads and writes all lines but computes half of them.

            The sources say neither in which order elements are updated nor how many arrays there
            are. With one colour a sweep updates all elements in the order of rows, and leaves use
            what they happen to find in their neighbours' rows (chaotic relaxation).
        """,
        references=f"{_YOUNG}. {_BOOK}, chapters 3 and 4 (programs ``SOR`` and ``SOR-ir``).",
    ),
    Stencil(
        name="stencil9",
        summary="Nine-point stencil: a plate swept by a spawn tree, regular or irregular.",
        takes=_PASSES,
        defaults={"ops_per_element": 17.0},
        small=_SMALL_PLATE,
        texts={
            "ops_per_element, init_ops_per_element": "Operations per element: 8 additions and 9"
            " multiplications of a pass; of the initialisation.",
        },
        notes="""
            The four diagonal neighbours lie in the same halo rows as the others and add operations
            only.
        """,
        references=f"""
            {_LAWS} (programs ``9P`` and ``9P-ir``); {_BOOK}, chapter 4. {_BATS} (program ``STEN``).
        """,
        measured=MeasuredStencil(
            name="stencil9",
            summary="Nine-point stencil on a plane, swept by a spawn tree over rows.",
            takes=_MEASURED_PLANE,
            defaults={"iterations": 500},
            small={"rows": 53, "columns": 40, "leaf_rows": 4, "iterations": 5},
            terms=(
                (4.0 / 20.0, ((-1, 0), (0, -1), (0, 1), (1, 0))),
                (1.0 / 20.0, ((-1, -1), (-1, 1), (1, -1), (1, 1))),
            ),
            notes="""
                An operation is one element of the new copy, boundary included. The weights, 4/20 at
                the edges and 1/20 at the corners, are those of the Jacobi iteration with the
                compact Laplacian.
            """,
            references=f"""
                The programs ``9P`` and ``9P-ir`` of {_BOOK}, chapter 4, which does not give the
                weights. Collatz, *The Numerical Treatment of Differential Equations*, Springer
                1960, chapter V.
            """,
        ),
    ),
    Stencil(
        name="stencil6",
        summary="Six-point stencil: a volume swept plane by plane, regular or irregular.",
        takes=f"{_PASSES} lines",
        defaults={**_VOLUME, "ops_per_element": 6.0},  # 5 additions and 1 multiplication
        small=_SMALL_VOLUME,
        texts=_OF_VOLUME,
        references=f"{_LAWS} (programs ``6P`` and ``6P-ir``); {_BOOK}, chapter 4.",
        measured=MeasuredStencil(
            name="stencil6",
            summary="Six-point stencil in a volume, swept by a spawn tree over its rows, which are"
            " layers.",
            takes=f"{_MEASURED_PLANE} lines",
            defaults={**_MEASURED_VOLUME, "iterations": 300},
            small={"rows": 23, "lines": 10, "columns": 13, "leaf_rows": 4, "iterations": 5},
            texts=_MEASURED_OF_VOLUME,
            terms=((1.0 / 6.0, neighbours(1)),),
            notes="""
                An operation is one element of the new copy, boundary included. An element becomes
                the mean of its six neighbours: the Jacobi iteration with the seven-point Laplacian.
            """,
            references=f"""
                The programs ``6P`` and ``6P-ir`` of {_BOOK}, chapter 4, which does not give the
                weights.
            """,
        ),
    ),
    Stencil(
        name="stencil25",
        summary="Twenty-five-point stencil: a volume swept plane by plane, regular or irregular.",
        takes=f"{_PASSES} lines",
        defaults={
            **_VOLUME,
            "halo_rows": 4,
            "ops_per_element": 29.0,  # 24 additions and 5 multiplications
        },
        small=_SMALL_VOLUME,
        texts=_OF_VOLUME,
        notes="The sources do not give the shape: four neighbours in each of six directions are"
        " the usual one.",
        references=f"{_LAWS} (programs ``25P`` and ``25P-ir``); {_BOOK}, chapter 4.",
        measured=MeasuredStencil(
            name="stencil25",
            summary="Twenty-five-point stencil in a volume, swept by a spawn tree over its rows,"
            " which are layers.",
            takes=f"{_MEASURED_PLANE} lines",
            defaults={**_MEASURED_VOLUME, "iterations": 120},
            small={"rows": 27, "lines": 11, "columns": 14, "leaf_rows": 5, "iterations": 4},
            texts={
                **_MEASURED_OF_VOLUME,
                "leaf_rows": "Most rows of a leaf, which also reads four above and below; at least"
                " 3 when irregular.",
            },
            terms=(
                (2.0 + 3.0 * _SPEED_SQUARED * _DERIVATIVE[0], ((0, 0, 0),)),
                *(
                    (_SPEED_SQUARED * weight, neighbours(away))
                    for away, weight in enumerate(_DERIVATIVE[1:], 1)
                ),
            ),
            radius=4,
            is_wave=True,
            notes="""
                An operation is one element of the new copy, boundary included. A sweep is a step of
                the wave equation, of second order in time and of eighth order in space: ``2 u - v +
                c² L u`` with the field u, the field v one step earlier, which it replaces, and the
                Laplacian L as a star of 25 points. The outermost four elements on every side are
                fixed.
            """,
            references=f"""
                Micikevicius, *3D finite difference computation on GPUs using CUDA*, GPGPU-2, 2009.
                The programs ``25P`` and ``25P-ir`` of {_BOOK}, chapter 4, which does not give the
                shape.
            """,
        ),
    ),
    Stencil(
        name="conv",
        summary="Convolution of a matrix with a square filter.",
        takes=f"{_ANY} {_BYTES} radius",
        defaults={"radius": 1, "leaf_bytes": 2 * MIB, "block_bytes": 2 * MIB},
        small=_SMALL_BYTES,
        texts={
            "leaf_bytes, block_bytes": "Largest leaf and block, in bytes of both copies.",
            "write_allocate": "Whether stores first read what they overwrite, as cached stores do.",
            "init_ops_per_element": "Operations of the initialisation.",
        },
        notes="Leaves compute a multiplication and an addition for every tap of the filter, unless"
        " `ops_per_element` is given.",
        references=f"{_BATS} (CONV, taken over from LAWS: {_LAWS}).",
    ),
)
