"""Designs of regressions, each of whose columns is a function of few columns of the table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.inference.table.regression import cycled, sides_of
from bayesdp.schema.column import Column
from bayesdp.schema.formulas import columns_of_term

Floats = NDArray[np.float64]
Columns = tuple[int, ...]
"""Columns of the table, by their places among those of the formula, in order."""
DEPENDENT = 1e-9
"""Least eigenvalue of a design whose columns are independent, scaled to length 1."""
_MOST_CELLS = 10**5
"""Cells of a term's columns: a marginal of these and the outcome has more."""


class Block(NamedTuple):
    """Columns of a design that are functions of the same columns of the table.

    Attributes
    ----------
    columns : tuple of int
        None for the intercept.
    values : ndarray, shape (*levels, columns of the design)
        The design's columns in each cell but those of missing values.
    places : list of int
        Their places in the design; the outcome is the last.
    """

    columns: Columns
    values: Floats
    places: list[int]


@dataclass(frozen=True)
class Design:
    """A formula's design and outcome, as functions of columns of the table.

    Attributes
    ----------
    names : list of str
        Names of the coefficients.
    blocks : list of Block
        No two have the same columns of the table.
    missing : tuple of int
        Columns of the table that have a last cell, of missing values.
    """

    names: list[str]
    blocks: list[Block]
    missing: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """Number of coefficients and the outcome."""
        return len(self.names) + 1

    @property
    def intercept(self) -> int | None:
        """Place of the intercept."""
        return next((block.places[0] for block in self.blocks if not block.columns), None)

    @property
    def predictors(self) -> Design:
        """The design without the outcome."""
        blocks = []
        for one in self.blocks:
            kept = [k for k, place in enumerate(one.places) if place < len(self.names)]
            if kept:
                places = [one.places[k] for k in kept]
                blocks.append(one._replace(values=one.values[..., kept], places=places))
        return replace(self, blocks=blocks)

    @cached_property
    def used(self) -> Columns:
        """The table's columns that the design has."""
        return tuple(sorted({k for block in self.blocks for k in block.columns}))

    @cached_property
    def levels(self) -> dict[int, int]:
        """Number of a column's cells but that of missing values."""
        return {
            k: size
            for block in self.blocks
            for k, size in zip(block.columns, block.values.shape[:-1], strict=True)
        }

    @cached_property
    def cells(self) -> dict[int, int]:
        """Number of a column's cells, with that of missing values."""
        return {k: size + (k in self.missing) for k, size in self.levels.items()}

    @cached_property
    def sums(self) -> list[Columns]:
        """Columns whose cells' counts have the number of records, and Z'Z."""
        pairs = combinations_with_replacement([block.columns for block in self.blocks], 2)
        return sorted({()} | {_union(a, b) for a, b in pairs}, key=lambda one: (len(one), one))

    @cached_property
    def values(self) -> dict[Columns, Floats]:
        """The design's columns in each cell, shape (1, *cells, columns); 0 where one is missing."""
        return {
            block.columns: np.pad(
                block.values, [*((0, k in self.missing) for k in block.columns), (0, 0)]
            )[None]
            for block in self.blocks
        }

    def less(self, centres: Mapping[Columns, Floats]) -> Design:
        """Subtract a number from each column but the intercept, if there is one to restore them."""
        if self.intercept is None:
            return self
        blocks = [
            one._replace(values=one.values - centres[one.columns]) if one.columns else one
            for one in self.blocks
        ]
        return replace(self, blocks=blocks)

    def restored(self, gram: Floats, centres: Mapping[Columns, Floats]) -> Floats:
        """Make Z'Z, shape (draws, columns, columns), of that of `less` with the same numbers."""
        if self.intercept is None:
            return gram
        back = np.eye(self.size)
        for block in self.blocks:
            if block.columns:
                back[self.intercept, block.places] += centres[block.columns]
        return np.asarray(back.T @ gram @ back)

    @property
    def outcome(self) -> tuple[Columns, int]:
        """The outcome's columns of the table, and its place among the columns of that block."""
        last = self.size - 1
        return next(
            (block.columns, block.places.index(last))
            for block in self.blocks
            if last in block.places
        )


def design_of(formula: str, columns: Mapping[str, Column], family: str) -> Design | None:
    """Read a formula as functions of columns of the table; None where it has anything else.

    Parameters
    ----------
    formula : str
        In statsmodels' notation.
    columns : mapping of str to Column
        The formula's columns.
    family : str
        The regression's, by which an outcome that is a category is coded.
    """
    known, most = list(columns), max(column.size for column in columns.values())
    rows = cycled(columns, most)
    if (first := _matrices(formula, columns, family, [rows])) is None or first[0].shape[1] != 1:
        return None
    owned: dict[Columns, list[int]] = {}
    for side, start in zip(first, (first[1].shape[1], 0), strict=True):
        for term, where in side.design_info.term_slices.items():
            owners = tuple(sorted(map(known.index, columns_of_term(term, known))))
            if where.stop == where.start or (term.factors and not owners):
                return None  # a column of one label, or a function of none
            part = range(where.start, where.stop)
            owned.setdefault(owners, []).extend(start + k for k in part)
    shapes = [tuple(columns[known[k]].size for k in owners) for owners in owned]
    if any(math.prod(shape) > _MOST_CELLS for shape in shapes):
        return None
    grids = [_gridded(columns, each, shape) for each, shape in zip(owned, shapes, strict=True)]
    zeros = {name: np.zeros(3 * most + 7, np.int64) for name in known}
    again = _matrices(formula, columns, family, [rows, *grids, zeros])
    if again is None or any(
        not np.array_equal(one, other[:most]) for one, other in zip(first, again, strict=True)
    ):
        return None  # what depends on other records too, as income - income.mean()
    both = np.column_stack([again[1], again[0]])
    starts = np.cumsum([most, *map(math.prod, shapes)])
    blocks = [
        Block(owners, both[start:][: math.prod(shape), places].reshape(*shape, -1), places)
        for (owners, places), start, shape in zip(owned.items(), starts, shapes, strict=False)
    ]
    found = Design(
        list(again[1].design_info.column_names),
        blocks,
        tuple(k for k, column in enumerate(columns.values()) if column.missing),
    )
    return found if _independent(found) else None


Codes = Mapping[str, NDArray[np.int64]]


def _gridded(columns: Mapping[str, Column], owners: Columns, shape: tuple[int, ...]) -> Codes:
    """Make rows that have each cell of some columns once."""
    rows = np.arange(math.prod(shape))
    made, known = cycled(columns, rows.size), list(columns)
    for at, k in enumerate(owners):
        made[known[k]] = rows // math.prod(shape[at + 1 :]) % shape[at]
    return made


def _matrices(
    formula: str, columns: Mapping[str, Column], family: str, parts: Sequence[Codes]
) -> Any:
    """Make patsy's outcome and design of rows of cells; None if it can't, or isn't finite."""
    import pandas as pd

    codes = pd.DataFrame({name: np.concatenate([one[name] for one in parts]) for name in columns})
    sides = sides_of(formula, family, columns, codes)
    finite = sides is not None and all(
        len(one) == len(codes) and np.isfinite(one).all() for one in sides
    )
    return sides if finite else None


def _independent(design: Design) -> bool:
    """True if the predictors would be independent in a table that has every cell once."""
    gram = np.zeros((design.size, design.size))
    for one, other in combinations_with_replacement(design.blocks, 2):
        both = set(one.columns) & set(other.columns)
        left, right = (_mean_by(both, block) for block in (one, other))
        each = left.T @ right / len(left)
        gram[_both(one.places, other.places)] = each
        gram[_both(other.places, one.places)] = each.T
    predictors = gram[:-1, :-1]
    return bool(predictors.size and np.linalg.eigvalsh(scaled(predictors)[0])[0] > DEPENDENT)


def _mean_by(columns: set[int], block: Block) -> Floats:
    """Mean of a block's columns in each cell of some of its columns, shape (cells, columns)."""
    rest = tuple(axis for axis, k in enumerate(block.columns) if k not in columns)
    return np.asarray(block.values.mean(axis=rest)).reshape(-1, len(block.places))


def scaled(gram: Floats) -> tuple[Floats, Floats]:
    """Scale matrices to a diagonal of 1 where it is positive; with the lengths, shape (..., p).

    Another diagonal stays as it is, so that the least eigenvalue is 0 or less.
    """
    diagonal = np.diagonal(gram, axis1=-2, axis2=-1)
    length = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    return gram / (length[..., :, None] * length[..., None, :]), length


def gram_of(
    design: Design, values: Mapping[Columns, Floats], counts: Mapping[Columns, Floats]
) -> Floats:
    """Put Z'Z together from counts, shape (draws, columns of the design, and again).

    Parameters
    ----------
    design : Design
    values : mapping of tuple of int to ndarray, shape (1 or draws, *cells, columns)
        The design's columns in each cell, by the table's columns.
    counts : mapping of tuple of int to ndarray, shape (draws, *cells)
        Of the columns of each of the design's `sums`.
    """
    gram = np.zeros((len(counts[()]), design.size, design.size))
    for one, other in combinations_with_replacement(design.blocks, 2):
        a, b = one.columns, other.columns
        each = _products(a, values[a], b, values[b], counts[_union(a, b)])
        gram[:, *_both(one.places, other.places)] = each
        gram[:, *_both(other.places, one.places)] = each.swapaxes(1, 2)
    return gram


def _both(rows: list[int], columns: list[int]) -> tuple[Any, Any]:
    return np.array(rows)[:, None], np.array(columns)


def _products(a: Columns, left: Floats, b: Columns, right: Floats, counts: Floats) -> Floats:
    """Sums of products of two blocks' columns, shape (draws, columns, columns).

    Cells of the columns that both have come first, then those of the first's others, of the
    second's others: only the first are gone through one by one.
    """
    both = [k for k in a if k in b]
    ours, theirs = ([k for k in each if k not in both] for each in (a, b))
    t = _ordered(_union(a, b), [both, ours, theirs], counts[..., None])[..., 0]
    x, y = _ordered(a, [both, ours], left), _ordered(b, [both, theirs], right)
    half = (x.swapaxes(-1, -2) @ t).swapaxes(1, 2)
    return np.asarray(half.reshape(*half.shape[:2], -1) @ y.reshape(len(y), -1, y.shape[-1]))


def _ordered(columns: Columns, groups: Sequence[Sequence[int]], values: Floats) -> Floats:
    """Make an array of shape (draws, *cells, last) one of (draws, cells of each group, last)."""
    axes = [1 + columns.index(k) for group in groups for k in group]
    moved = values.transpose(0, *axes, values.ndim - 1)
    sizes = [math.prod(values.shape[1 + columns.index(k)] for k in group) for group in groups]
    return moved.reshape(len(values), *sizes, values.shape[-1])


def _union(a: Columns, b: Columns) -> Columns:
    return tuple(sorted({*a, *b}))
