"""Every simulation of Charest (2010) as a cell: a function and its design."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bayesdp.mechanisms.counts.count import Count
from bayesdp.mechanisms.randomness import reproducible
from bayesdp.papers.charest.study import (
    ONES,
    RECORDS,
    Design,
    Outputs,
    covered_by_posterior,
    covered_by_rule,
    every_pair,
    posterior_moments,
    real_posterior,
    simulate,
)
from bayesdp.papers.charest.tables import PRINTED_BIAS, Simulated
from bayesdp.papers.journal import Progress, run_kept
from bayesdp.papers.reproduction import Value

COPIES = (1, 2, 5, 10)
EPSILONS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0)
"""Of Figure 1, whose axis isn't in the paper's text."""

PRIOR_TRUTH = "prior"
TRUTHS = (0.25, 0.5, None)
BUDGET = 2.0  # of Figure 2
BUDGETS = ("in all", "each copy")
"""Of Figure 2: divided among the copies, or all of it for each."""
_SLOW = 250.0  # its tiny prior needs wide integers, at many times the cost

Cell = tuple[Any, ...]
Row = tuple[Value, ...]

TABLE_CELLS = tuple((Design(e, m), p) for e, p in PRINTED_BIAS for m in COPIES)
COVERAGE_CELLS = tuple(
    (Design(e, m), p) for p, m, e in itertools.product(TRUTHS, COPIES[1:], EPSILONS)
)
SPREAD_CELLS = tuple(itertools.product(BUDGETS, COPIES))


@dataclass(frozen=True, slots=True)
class Simulation:
    """Results of all simulated cells of Charest (2010).

    Attributes
    ----------
    tables : mapping of (Design, p) to Outputs
        Of Tables 1 and 2.
    coverage, spread : sequence of tuples
        Rows of Figure 1 and of Figure 2.
    """

    tables: Simulated
    coverage: Sequence[Row]
    spread: Sequence[Row]


def run_cells(
    journal: Path,
    *,
    replicates: int,
    seed: int,
    workers: int | None = None,
    tell: Progress = lambda what, done: None,
) -> Simulation:
    """Simulate all cells; those in the journal already aren't simulated again.

    Parameters
    ----------
    replicates : int
        Replicates of each cell; a tenth of them at epsilon = 250.
    seed : int
        A cell and a seed give the same numbers always.
    journal, workers, tell
        As for `run_kept`.

    Raises
    ------
    InvalidInput, StudyStopped
        As `run_kept`.
    """
    every: list[Cell] = [
        *((synthetic_counts, *cell) for cell in TABLE_CELLS),
        *((coverage_rows, *cell) for cell in COVERAGE_CELLS),
        *((spread_row, *cell) for cell in SPREAD_CELLS),
    ]
    results = run_kept(
        journal,
        {"study": "charest", "seed": seed, "replicates": replicates},
        _yield,
        (replicates, seed),
        every,
        called="cells",
        workers=workers,
        tell=tell,
    )
    counts, rows = results[: len(TABLE_CELLS)], results[len(TABLE_CELLS) :]
    pairs, single = rows[: len(COVERAGE_CELLS)], rows[len(COVERAGE_CELLS) :]
    return Simulation(
        {cell: _outputs(cell[1], *each) for cell, each in zip(TABLE_CELLS, counts, strict=True)},
        [tuple(row) for pair in pairs for row in pair],
        [tuple(row) for row in single],
    )


def _yield(shared: tuple[int, int], cell: Cell) -> Any:
    function, *arguments = cell
    return function(*arguments, *shared)


def synthetic_counts(
    design: Design, p: float, replicates: int, seed: int
) -> tuple[list[int], list[list[int]]]:
    """Simulate a cell of the tables: each replicate's confidential count, and the copies'."""
    fewer = replicates // 10 if design.epsilon == _SLOW else replicates
    made = simulate(design, p, fewer, seed)
    return np.asarray(made.ones).tolist(), made.copies.tolist()


def _outputs(p: float, ones: list[int], copies: list[list[int]]) -> Outputs:
    return Outputs(np.full(len(ones), p), np.array(ones), np.array(copies))


def coverage_rows(design: Design, p: float | None, replicates: int, seed: int) -> list[Row]:
    """Make two rows of Figure 1's numbers: the combining rule's and the posterior's."""
    law = design.law()
    outputs = simulate(design, p, replicates, seed)
    all_pairs = every_pair(design, p) if design.copies == 2 and p is not None else None
    truth: Value = PRIOR_TRUTH if p is None else p
    methods: dict[str, Callable[[Outputs], np.ndarray]] = {
        "combining rule": covered_by_rule,
        "posterior": lambda o: covered_by_posterior(law, o),
    }
    return [
        (
            *(truth, design.copies, design.epsilon, name, *outputs.average(covered(outputs))),
            None if all_pairs is None else all_pairs.average(covered(all_pairs))[0],
        )
        for name, covered in methods.items()
    ]


def spread_row(budget: str, copies: int, replicates: int, seed: int) -> Row:
    """Make a row of Figure 2's numbers: posterior sd, and the mean's distance from the real data's.

    For `ONES` of 100.
    """
    each = budget == BUDGETS[1]
    design = Design(BUDGET * copies if each else BUDGET, copies)
    with reproducible(mixed(seed, copies, each)):
        drawn = design.mechanism.release(Count(np.full(replicates, ONES), RECORDS), copies)
    mean, sd = posterior_moments(design.law(), drawn)
    real = real_posterior()
    return (
        *(budget, copies, design.epsilon / copies, design.epsilon),
        *(float(sd.mean()), float(sd.std(ddof=1)) / math.sqrt(replicates)),
        *(*map(float, np.quantile(sd, [0.05, 0.95])), real.sd()),
        float(np.sqrt(((mean - real.mean()) ** 2).mean())),
    )


def mixed(seed: int, copies: int, each: bool) -> int:
    """Mix one seed for each part of Figure 2."""
    return int(np.random.default_rng([seed, copies, each]).integers(1 << 63))
