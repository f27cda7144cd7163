"""Every simulation of Liu (2016), section 5, as a cell: a design and its results."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bayesdp.evaluation.combining_rules import half_widths, weights
from bayesdp.papers.journal import Progress, run_kept
from bayesdp.papers.liu.posterior import compare
from bayesdp.papers.liu.study import Design, Estimates, Floats, simulate

LEVEL = 0.95
COPIES = (2, 3, 5, 10, 20, 30, 40, 50, 80, 150, 200, 300, 500)
"""Of Figure 6, whose values of m aren't in the paper's text."""
BINARY_SIZES = (100, 1000, 10_000, 100_000)
"""The printed two of Figure 6(a), and 100 times as many, at which its text comes true."""
SIZES = (100, 1000)
NORMAL_SIZES = (10, 100)
"""Of Table 1(b)."""
OFF_MIDDLE = 2.0
"""A mean of normal records that isn't in the middle of the bounds; 2% of them are beyond."""
PROPORTIONS = (0.1, 0.5)
BOUNDS = ((-4.0, 4.0), (-4.0, 5.0))
BOUNDING = ("inflated", "truncated")
EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""Of Figure 7, whose axis isn't in the paper's text."""
PRINTED_EPSILONS = (100.0, 10.0, 1.0, 0.5)
"""Of Table 1."""
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""w of Figure 8, whose values aren't in the paper's text either."""
POSTERIOR_SHARES = (0.1, 0.5, 0.9)
"""Those of Figure 8 where the posterior is computed too."""
MOST_POSTERIORS = 500
MOST_PAIRS = 20
"""The same where sd is unknown, which takes some 100 times as long."""
RULES = ("liu", "raab", "reiter", "rubin")
NORMAL = frozenset({"raab", "reiter"})
"""Rules whose intervals are normal; the others' are t's, with the rule's degrees of freedom."""

POSTERIOR = "posterior"
"""The part of the cells where exact posteriors are computed."""

Numbers = dict[str, float]


@dataclass(frozen=True, slots=True)
class Cell:
    """Cell of the simulation: a design, and the part of the paper that it is for."""

    part: str
    design: Design

    @property
    def cost(self) -> int:
        """Estimate roughly how long a cell takes, to start the longest first."""
        d = self.design
        if self.part != POSTERIOR:
            posterior = 0
        elif d.share is not None:
            posterior = 10**4 * d.n
        else:
            posterior = 1 if d.bounds is None else 1 + d.n
        return d.copies * (d.n if d.bounds and d.n < SIZES[0] else 1) + 10**6 * posterior


def cells() -> list[Cell]:
    """List all cells, in the order that gives them their random numbers."""
    listed = []
    for m, kept, n, p in itertools.product(COPIES, BOUNDING, BINARY_SIZES, PROPORTIONS):
        listed.append(Cell("figure6", Design(n, m, 1.0, kept, p=p)))
    for m, kept, n, bounds in itertools.product(COPIES, BOUNDING, SIZES, BOUNDS):
        listed.append(Cell("figure6", Design(n, m, 1.0, kept, bounds=bounds)))
    for epsilon, n, p in itertools.product(EPSILONS, SIZES, PROPORTIONS):
        design = Design(n, 10, epsilon, p=p)
        listed.append(Cell("table1", design))
        if epsilon in PRINTED_EPSILONS:
            listed.append(Cell("single", Design(n, 1, epsilon, p=p)))
            listed.append(Cell(POSTERIOR, design))
    for epsilon, n in itertools.product(EPSILONS, NORMAL_SIZES):
        listed.append(Cell("table1", Design(n, 10, epsilon, bounds=BOUNDS[0])))
        if epsilon in PRINTED_EPSILONS:
            listed.append(Cell("single", Design(n, 1, epsilon, bounds=BOUNDS[0])))
    for share, kept, n, bounds in itertools.product(SHARES, BOUNDING, SIZES, BOUNDS):
        listed.append(Cell("figure8", Design(n, 10, 1.0, kept, bounds=bounds, share=share)))
    return [*listed, *(Cell(POSTERIOR, design) for design in posterior_designs() if design.bounds)]


def posterior_designs() -> list[Design]:
    """Designs of Table 1, of normal records off the middle of the bounds, and some of Figure 8."""
    designs = []
    for epsilon, n, p in itertools.product(PRINTED_EPSILONS, SIZES, PROPORTIONS):
        designs.append(Design(n, 10, epsilon, p=p))
    for epsilon, n in itertools.product(PRINTED_EPSILONS, NORMAL_SIZES):
        designs.append(Design(n, 10, epsilon, bounds=BOUNDS[0]))
    for epsilon, n in itertools.product(PRINTED_EPSILONS[2:], NORMAL_SIZES):
        designs.append(Design(n, 10, epsilon, bounds=BOUNDS[0], mean=OFF_MIDDLE))
    for share, n in itertools.product(POSTERIOR_SHARES, SIZES):
        designs.append(Design(n, 10, 1.0, bounds=BOUNDS[0], share=share))
    for n, bounds in itertools.product(SIZES, BOUNDS):
        kept = "truncated" if bounds == BOUNDS[0] else "inflated"
        designs.append(Design(n, 10, 1.0, kept, bounds=bounds, share=0.5))
    return designs


def run_cells(
    journal: Path,
    *,
    replicates: int,
    seed: int,
    workers: int | None = None,
    leave_out: Collection[str] = (),
    tell: Progress = lambda what, done: None,
) -> dict[Cell, Numbers]:
    """Compute the numbers of all cells; those in the journal already aren't computed again.

    Parameters
    ----------
    replicates : int
        Replicates of each cell; at most `MOST_POSTERIORS` or `MOST_PAIRS` where posteriors are
        computed.
    seed : int
        A cell and a seed give the same numbers always.
    leave_out : collection of str
        Parts whose cells aren't computed.
    journal, workers, tell
        As for `run_kept`.

    Raises
    ------
    InvalidInput, StudyStopped
        As `run_kept`.
    """
    tasks = [
        (k, cell, _replicates(cell, replicates))
        for k, cell in enumerate(cells())
        if cell.part not in leave_out
    ]
    study = {"study": "liu", "seed": seed, "replicates": replicates, "cells": len(tasks)}
    rows = run_kept(
        journal,
        study,
        numbers,
        seed,
        tasks,
        called="cells",
        cost=lambda task: task[1].cost,
        workers=workers,
        tell=tell,
    )
    return {cell: row for (_, cell, _), row in zip(tasks, rows, strict=True)}


def _replicates(cell: Cell, replicates: int) -> int:
    if cell.part != POSTERIOR:
        return replicates
    return min(replicates, MOST_POSTERIORS if cell.design.share is None else MOST_PAIRS)


def numbers(seed: int, task: tuple[int, Cell, int]) -> Numbers:
    """Compute one cell's numbers; its place among all gives it random numbers of its own."""
    place, cell, replicates = task
    rng = np.random.default_rng([seed, place])
    if cell.part == POSTERIOR:
        return compare(cell.design, replicates, rng, LEVEL)
    estimates = simulate(cell.design, replicates, rng)
    if cell.part == "single":
        return {"coverage": _single(cell.design, estimates)}
    return {**_original(cell.design, estimates), **_combined(cell.design, estimates)}


def _single(design: Design, made: Estimates) -> float:
    """Compute the coverage of one copy's interval that takes it for real data."""
    variance = made.within if design.bounds is None else np.full(made.mean.shape, 1 / design.n)
    half = half_widths(variance, np.full(variance.shape, np.inf), LEVEL)
    return float(np.mean(np.abs(made.mean - design.truth) <= half))


def _original(design: Design, made: Estimates) -> Numbers:
    df = np.inf if design.share is None else design.n - 1
    half = half_widths(made.original_variance, np.full(made.original.shape, df), LEVEL)
    away = made.original - design.truth
    return {
        "original_coverage": float(np.mean(np.abs(away) <= half)),
        "original_sd": float(np.mean(np.sqrt(made.original_variance))),
        "original_half": float(np.mean(half)),
    }


def _combined(design: Design, made: Estimates) -> Numbers:
    away = made.mean - design.truth
    numbers = {"bias": float(np.mean(away)), "spread": float(np.std(made.mean, ddof=1))}
    for rule in RULES:
        variance, half = intervals(rule, design.copies, made)
        numbers[f"{rule}_coverage"] = float(np.mean(np.abs(away) <= half))
        numbers[f"{rule}_sd"] = float(np.mean(np.sqrt(np.maximum(variance, 0.0))))
        numbers[f"{rule}_negative"] = float(np.mean(variance < 0))
        numbers[f"{rule}_half"] = float(np.mean(np.where(variance < 0, 0.0, half)))
    return numbers


def intervals(rule: str, copies: int, made: Estimates) -> tuple[Floats, Floats]:
    """Compute total variances, and half widths: NaN where those are negative."""
    row = weights(rule, copies, 1.0)
    variance = row.variance(made.within, made.between)
    unlimited = np.full(variance.shape, np.inf)
    df = unlimited if rule in NORMAL else row.df(made.within, made.between)
    return variance, half_widths(variance, df, LEVEL)


def standard_error(coverage: float, replicates: int) -> float:
    """Standard error of a simulated coverage; of none or all, as if half a replicate differed."""
    inside = np.clip(coverage, 0.5 / replicates, 1 - 0.5 / replicates)
    return float(np.sqrt(inside * (1 - inside) / replicates))


def differs(printed: float, ours: float, replicates: int) -> float:
    """Difference of two simulated coverages in standard errors, the paper's of 5000."""
    both = (printed * PRINTED_REPLICATES + ours * replicates) / (PRINTED_REPLICATES + replicates)
    error = np.hypot(standard_error(both, PRINTED_REPLICATES), standard_error(both, replicates))
    return float((ours - printed) / error)


PRINTED_REPLICATES = 5000
