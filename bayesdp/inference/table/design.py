"""Designs of regressions whose columns are each a function of one column of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.inference.table.regression import coded, prepared
from bayesdp.schema.column import Column
from bayesdp.schema.formulas import columns_of

Floats = NDArray[np.float64]
DEPENDENT = 1e-9
"""Least eigenvalue of a design whose columns are independent, scaled to length 1."""


class Block(NamedTuple):
    """Columns of a design that are functions of one column of the table.

    Attributes
    ----------
    column : int
        The table's column, by its place among those of the formula.
    values : ndarray, shape (levels, columns of the design)
        The design's columns in each cell but that of missing values.
    places : list of int
        Their places in the design; the outcome is the last.
    """

    column: int
    values: Floats
    places: list[int]


@dataclass(frozen=True)
class Design:
    """A formula's design and outcome, as functions of single columns.

    Attributes
    ----------
    names : list of str
        Names of the coefficients.
    blocks : list of Block
    intercept : int or None
        Place of the intercept.
    missing : tuple of int
        Columns of the table that have a last cell, of missing values.
    """

    names: list[str]
    blocks: list[Block]
    intercept: int | None
    missing: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """Number of coefficients and the outcome."""
        return len(self.names) + 1

    @cached_property
    def values(self) -> dict[int, Floats]:
        """The design's columns in each cell, by the table's column; 0 where it is missing."""
        return {
            block.column: np.pad(block.values, [(0, block.column in self.missing), (0, 0)])
            for block in self.blocks
        }

    def less(self, centres: Mapping[int, Floats]) -> Design:
        """Subtract a number from each column but the intercept, if there is one to restore them."""
        if self.intercept is None:
            return self
        blocks = [one._replace(values=one.values - centres[one.column]) for one in self.blocks]
        return replace(self, blocks=blocks)

    def restored(self, gram: Floats, centres: Mapping[int, Floats]) -> Floats:
        """Make Z'Z, shape (draws, columns, columns), of that of `less` with the same numbers."""
        if self.intercept is None:
            return gram
        back = np.eye(self.size)
        for block in self.blocks:
            back[self.intercept, block.places] += centres[block.column]
        return np.asarray(back.T @ gram @ back)

    @property
    def outcome(self) -> tuple[int, int]:
        """The outcome's column of the table, and its place among the columns of that block."""
        last = self.size - 1
        return next(
            (block.column, block.places.index(last))
            for block in self.blocks
            if last in block.places
        )


def design_of(formula: str, columns: Mapping[str, Column], family: str) -> Design | None:
    """Read a formula as functions of single columns; None where it has any other.

    Parameters
    ----------
    formula : str
        In statsmodels' notation.
    columns : mapping of str to Column
        The formula's columns.
    family : str
        The regression's, by which an outcome that is a category is coded.
    """
    import patsy

    most = max(column.size for column in columns.values())
    rows = np.arange(most)
    more = np.concatenate([rows, np.zeros(3 * most + 7, np.int64)])
    try:
        sides, others = (
            patsy.dmatrices(formula, coded(formula, family, _levels(columns, each))[0])
            for each in (rows, more)
        )
    except Exception:  # patsy raises many kinds; the tables' regression says what is wrong
        return None
    outcome, design = (np.asarray(side, dtype=np.float64) for side in sides)
    if outcome.shape[1] != 1 or any(
        len(one) != most or not np.array_equal(one, np.asarray(other)[:most])
        for one, other in zip((outcome, design), others, strict=True)
    ):
        return None  # what depends on other records too, as income - income.mean()
    owned: dict[str | None, list[int]] = {}
    for side, first in zip(sides, (design.shape[1], 0), strict=True):
        for term, where in side.design_info.term_slices.items():
            owners = _owners(term, list(columns))
            if len(owners) > 1 or (not owners and term.factors):
                return None
            part = range(where.start, where.stop)
            owned.setdefault(next(iter(owners), None), []).extend(first + k for k in part)
    both, known = np.column_stack([design, outcome]), list(columns)
    blocks = [
        Block(known.index(name), both[: columns[name].size, places], places)
        for name, places in owned.items()
        if name is not None
    ]
    found = Design(
        list(sides[1].design_info.column_names),
        blocks,
        next(iter(owned.get(None, [])), None),
        tuple(k for k, column in enumerate(columns.values()) if column.missing),
    )
    return found if _independent(found) else None


def _levels(columns: Mapping[str, Column], rows: NDArray[np.int64]) -> Any:
    """Make a DataFrame whose rows have each column's cells one after another, and again."""
    import pandas as pd

    codes = {name: rows % column.size for name, column in columns.items()}
    return prepared(columns, pd.DataFrame(codes))


def _owners(term: Any, known: Sequence[str]) -> set[str]:
    """Return the table's columns in a term."""
    return {name for factor in term.factors for name in columns_of(f"{factor.code} ~ 1", known)}


def _independent(design: Design) -> bool:
    """True if the predictors would be independent in a table that has every cell once."""
    uniform = {
        block.column: np.full((1, len(block.values)), 1 / len(block.values))
        for block in design.blocks
    }
    products = {
        (a, b): uniform[a][:, :, None] * uniform[b][:, None] for a, b in combinations(uniform, 2)
    }
    values = {block.column: block.values for block in design.blocks}
    gram = gram_of(design, values, np.ones(1), uniform, crossed(values, products))[0, :-1, :-1]
    return bool(gram.size and np.linalg.eigvalsh(scaled(gram)[0])[0] > DEPENDENT)


def scaled(gram: Floats) -> tuple[Floats, Floats]:
    """Scale matrices to a diagonal of 1 where it is positive; with the lengths, shape (..., p).

    Another diagonal stays as it is, so that the least eigenvalue is 0 or less.
    """
    diagonal = np.diagonal(gram, axis1=-2, axis2=-1)
    length = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    return gram / (length[..., :, None] * length[..., None, :]), length


def crossed(
    values: Mapping[int, Floats], pairs: Mapping[tuple[int, int], Floats]
) -> dict[tuple[int, int], Floats]:
    """Sums of products of two blocks' columns, by the pair's counts."""
    return {
        (a, b): values[a].swapaxes(-1, -2) @ (each @ values[b]) for (a, b), each in pairs.items()
    }


def gram_of(
    design: Design,
    values: Mapping[int, Floats],
    n: Floats,
    margins: Mapping[int, Floats],
    crossed: Mapping[tuple[int, int], Floats],
) -> Floats:
    """Put Z'Z together from the number of records, the columns' counts and the pairs' sums.

    Parameters
    ----------
    design : Design
    values : mapping of int to ndarray, shape (levels, columns) or (draws, levels, columns)
        The design's columns in each cell, by the table's column.
    n : ndarray, shape (draws,)
    margins : mapping of int to ndarray, shape (draws, levels)
    crossed : mapping of pair of int to ndarray, shape (draws, columns, columns)
    """
    gram = np.zeros((len(n), design.size, design.size))
    if design.intercept is not None:
        gram[:, design.intercept, design.intercept] = n
    for block in design.blocks:
        weighed = values[block.column].swapaxes(-1, -2) * margins[block.column][:, None]
        gram[:, *_both(block.places, block.places)] = weighed @ values[block.column]
        if design.intercept is not None:
            sums = weighed.sum(axis=-1)
            gram[:, design.intercept, block.places] = sums
            gram[:, block.places, design.intercept] = sums
    place = {block.column: block.places for block in design.blocks}
    for (a, b), each in crossed.items():
        gram[:, *_both(place[a], place[b])] = each
        gram[:, *_both(place[b], place[a])] = each.swapaxes(1, 2)
    return gram


def _both(rows: list[int], columns: list[int]) -> tuple[Any, Any]:
    return np.array(rows)[:, None], np.array(columns)
