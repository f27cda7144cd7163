"""Imputation of the missing values of latent tables, by a latent class model of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from bayesdp.engines.latent_records import ABSENT, CONCENTRATION, grid_of, rules_of
from bayesdp.kernels.table.imputation import (
    Complete,
    Known,
    draw_spread_complete,
    sweep_complete,
    take_table,
)
from bayesdp.progress import Step, bar
from bayesdp.threads import Halting, in_threads

_FIRST, _EACH, _LEAST = 200, 20, 5
"""Sweeps over a chain's first table, and over each other, which begins where the last one ended; at
most, and at least where tables are large."""
_SELDOM = 4
"""Sweeps for each draw of the concentrations, which takes as long as one of 2,000 records."""
_WORK = 1.5e10
"""Records by columns by classes of a chain's sweeps, at a nanosecond each."""


@dataclass(frozen=True)
class Imputation:
    """Knowledge by which missing values are imputed.

    Attributes
    ----------
    cells : tuple of int
        Numbers of codes of the columns.
    imputed : frozenset of int
        Columns whose last code is that of a missing value, which is to be imputed.
    rules : sequence of mapping of int to ndarray of bool
        Codes that a rule names, of each of its columns: no record is in all of these.
    classes : int
        Number of latent classes.
    concentration : tuple of two floats
        The least and the largest value that a concentration may have.
    """

    cells: tuple[int, ...]
    imputed: frozenset[int]
    rules: Sequence[dict[int, NDArray[np.bool_]]]
    classes: int
    concentration: tuple[float, float] = CONCENTRATION

    @property
    def known(self) -> Known:
        """The columns and rules as the kernels take them."""
        levels = [size - (j in self.imputed) for j, size in enumerate(self.cells)]
        starts = np.concatenate([[0], np.cumsum(self.cells)]).astype(np.int64)
        return Known(np.array(levels, dtype=np.int64), starts, rules_of(self.rules, starts))


def imputed_tables(
    records: NDArray[np.uint16], imputation: Imputation, seed: int | None
) -> NDArray[np.uint16]:
    """Draw the missing values of latent tables, which are a chain's one after another.

    Parameters
    ----------
    records : ndarray of uint16, shape (chains, tables, most records, d)
        Codes; a place beyond a table's own records has `ABSENT`.
    imputation : Imputation
    seed : int or None

    Returns
    -------
    ndarray of uint16, of the same shape
    """
    made, known = records.copy(), imputation.known
    chains, tables, most, d = records.shape
    children = np.random.SeedSequence(seed).spawn(chains)
    work = max(1, most * d * imputation.classes * tables)
    sweeps = int(np.clip(_WORK / work, _LEAST, _EACH))
    with threadpool_limits(1), bar(None, chains * tables, "imputing") as step:
        halting = Halting(step)

        def run(chain: int) -> None:
            rng = np.random.default_rng(children[chain])
            _impute(made[chain], imputation, known, sweeps, rng, halting)

        in_threads(run, range(chains), halting)
    return made


def _impute(
    tables: NDArray[np.uint16],
    imputation: Imputation,
    known: Known,
    sweeps: int,
    rng: np.random.Generator,
    step: Step,
) -> None:
    """Draw a chain's missing values, in place."""
    d, classes, grid = len(imputation.cells), imputation.classes, grid_of(imputation.concentration)
    codes = np.array([np.where(j in imputation.imputed, known.levels[j], -1) for j in range(d)])
    sizes, counts = np.zeros(classes), np.zeros((sum(imputation.cells), classes))
    totals, inverse = np.zeros((d, classes)), np.ones((d, classes))
    spread, prior = np.full(d + 1, 0.5), np.full(sum(imputation.cells), 0.5)
    for t, table in enumerate(tables):
        rows = table[table[:, 0] != ABSENT]
        state = Complete(
            rows,
            rows == codes,
            np.zeros(len(rows), dtype=np.int32),
            sizes,
            counts,
            totals,
            inverse,
            spread,
            prior,
        )
        take_table(known, state, rng)
        for sweep in range(sweeps if t else _FIRST):
            sweep_complete(known, state, rng)
            if sweep % _SELDOM == 0:
                draw_spread_complete(known, state, grid, rng)
        table[: len(rows)] = rows
        step(1)
