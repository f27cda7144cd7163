r"""The design of a log-linear model: sum-to-zero contrasts, one block of columns for each term.

A column with k categories has the k x (k - 1) matrix Q with orthogonal columns that sum to 0 and
Q Q' = k / (k - 1) (I - 1 1' / k), so that independent standard normal coordinates u give every
category's effect Q u the same variance, 1, and all pairs the same correlation. An interaction has
the Kronecker product of its columns' matrices. With two categories the effects are u and -u.

So a term's effects, one for each combination of categories, have prior Normal(0, tau^2) each,
whichever category is listed last. They sum to zero over each of the term's columns; the
coefficients that are shown are those of all categories except the last, and determine the others.

Effects of the cells themselves have the unit matrix: one for each possible cell, independent, and
none of them is left out.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.inference.log_linear.formula import Term, name_of_term
from bayesdp.mechanisms.counts.cells import Axis, shape_of

Floats = NDArray[np.float64]

INTERCEPT = "Intercept"
CELL = "1|cell"
"""Name of the cells' own effects, as Bambi and lme4 have it."""
_MOST_NUMBERS = 100_000_000


@dataclass(frozen=True)
class Design:
    """Design of a log-linear model: the matrix that maps coordinates to cells' log rates.

    Attributes
    ----------
    terms : tuple of tuple of str
        Each term's columns of the table.
    columns : ndarray, shape (cells, coordinates)
        A cell's row gives its log rate, without the intercept, from the coordinates u. Structural
        zeros have no row.
    owners : ndarray of int, shape (coordinates,)
        Number of each coordinate's term; that of the cells' own effects follows the terms'.
    shown : ndarray, shape (coefficients, coordinates)
        Maps the coordinates to the coefficients that are shown.
    labels : tuple of str
        Names of these coefficients, such as "sex[f]:job[clerk]".
    """

    terms: tuple[Term, ...]
    columns: Floats
    owners: NDArray[np.int64]
    shown: Floats
    labels: tuple[str, ...]


def contrasts(k: int) -> Floats:
    """Contrast matrix Q of the module, shape (k, k - 1), by Helmert's contrasts."""
    matrix = np.zeros((k, k - 1))
    for j in range(1, k):
        matrix[:j, j - 1] = 1.0
        matrix[j, j - 1] = -j
    return np.asarray(matrix / np.linalg.norm(matrix, axis=0) * np.sqrt(k / max(k - 1, 1)))


def design_of(
    terms: Sequence[Term],
    axes: Sequence[Axis],
    possible: NDArray[np.bool_],
    *,
    cell_effects: bool = False,
) -> Design:
    """Build the design of terms, and of the cells' own effects, over a table's possible cells.

    Raises
    ------
    InvalidInput
        If the design has more numbers than the limit.
    """
    names = [axis.name for axis in axes]
    bins = np.unravel_index(np.flatnonzero(possible.ravel()), shape_of(axes))
    sizes = [int(np.prod([axes[names.index(c)].size - 1 for c in term])) for term in terms]
    sizes += [bins[0].size] * cell_effects
    numbers = bins[0].size * sum(sizes)
    if numbers > _MOST_NUMBERS:
        raise InvalidInput(
            f"the formula has {sum(sizes):,} coefficients over {bins[0].size:,} cells, "
            f"{numbers:,} numbers, more than the {_MOST_NUMBERS:,} that a model may hold; leave "
            "out interactions or cell_effects, or merge categories"
        )
    blocks, shown, labels = [np.zeros((bins[0].size, 0))], [], []
    for term in terms:
        places = [names.index(column) for column in term]
        each = [contrasts(axes[k].size) for k in places]
        rows = [matrix[bins[k]] for k, matrix in zip(places, each, strict=True)]
        blocks.append(functools.reduce(beside, rows))
        shown.append(functools.reduce(_kron, [matrix[:-1] for matrix in each]))
        labels += [
            name_of_term(tuple(f"{c}[{label}]" for c, label in zip(term, levels, strict=True)))
            for levels in itertools.product(*(_labels(axes[k])[:-1] for k in places))
        ]
    if cell_effects:
        blocks.append(np.eye(bins[0].size))
        shown.append(blocks[-1])
        labels += [f"{CELL}[{label}]" for label in cell_labels(axes, possible)]
    columns = np.concatenate(blocks, axis=1)
    return Design(tuple(terms), columns, np.repeat(np.arange(len(sizes)), sizes),
                  _diagonal(shown), tuple(labels))  # fmt: skip


def cell_labels(axes: Sequence[Axis], possible: NDArray[np.bool_]) -> list[str]:
    """Labels of the possible cells by their categories, as "f, clerk"."""
    each = [_labels(axis) for axis in axes]
    return [", ".join(each[k][b] for k, b in enumerate(cell)) for cell in np.argwhere(possible)]


def is_identified(columns: Sequence[str], marginals: Sequence[Sequence[str]]) -> bool:
    """Return True if a marginal has all these columns, those of a term or of the cells.

    Around a table without effects, the marginals' expectations don't depend on another term to
    first order, so that its posterior is hardly narrower than its prior.
    """
    return any(set(columns) <= set(part) for part in marginals)


def _labels(axis: Axis) -> list[str]:
    shown = axis.shown(np.arange(axis.size))
    return ["-".join(str(column[k]) for column in shown) for k in range(axis.size)]


def beside(one: Floats, other: Floats) -> Floats:
    """Row-wise Kronecker product of two matrices."""
    return np.asarray((one[:, :, None] * other[:, None, :]).reshape(len(one), -1))


def _kron(one: Floats, other: Floats) -> Floats:
    return np.asarray(np.kron(one, other), dtype=np.float64)


def _diagonal(blocks: Sequence[Floats]) -> Floats:
    made = np.zeros((sum(b.shape[0] for b in blocks), sum(b.shape[1] for b in blocks)))
    row = column = 0
    for block in blocks:
        made[row : row + block.shape[0], column : column + block.shape[1]] = block
        row, column = row + block.shape[0], column + block.shape[1]
    return made
