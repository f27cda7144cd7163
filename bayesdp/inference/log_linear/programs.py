"""Data of the programs of PyMC and Stan of a table whose latent counts are summed out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from bayesdp.engines.log_linear.problem import Problem
from bayesdp.engines.stan.replicates import replicates
from bayesdp.engines.stan.rows import ends_of_rows
from bayesdp.errors import InvalidInput
from bayesdp.inference.log_linear.fit import Setting, obstacle_of
from bayesdp.kernels.log_linear.moves import Released
from bayesdp.release import Part

Floats = NDArray[np.float64]

_MOST = 200_000  # counts that are summed over at every step
_NEGLIGIBLE = 60.0  # below the log of the largest
_MOST_OF_ONE = 10_000_000  # counts whose law is looked at


def data_of(setting: Setting) -> dict[str, Any]:
    """Build the data of stan/log_linear.stan, by its names.

    Raises
    ------
    InvalidInput
        If the latent counts don't sum out, or are too many.
    """
    problem = setting.problem
    refuse_tied(obstacle_of(problem, setting.noisy))
    free = problem.owners >= 0
    centre, scale = around(problem)
    shown = np.zeros((len(setting.design.shown) + 1, problem.columns.shape[1]))
    shown[0, 0], shown[1:, 1:] = 1.0, setting.design.shown
    return {
        "C": problem.columns.shape[0],
        "J": problem.columns.shape[1],
        "T": problem.scales.size,
        "design": problem.columns,
        "owner": problem.owners + 2,
        "prior_mean": np.where(free, 0.0, problem.mean),
        "prior_sd": np.where(free, 1.0, problem.sd),
        "centre": np.where(free, 0.0, centre),
        "scale": np.where(free, 1.0, scale),
        "tau_scale": problem.scales,
        **possible_counts(problem.released, np.arange(len(problem.columns))),
        "B": len(shown),
        "shown": shown,
    }


def new_tables(
    groups: Sequence[Sequence[Part]], released: Released, cells: NDArray[np.int64]
) -> dict[str, Any]:
    """Build the part of the data by which Stan draws new outputs, of one release of all cells."""
    numbers = released.places[cells, 0]
    places = np.argsort(numbers)
    all_cells = len(groups[0]) == 1 and np.array_equal(numbers[places], np.arange(cells.size))
    return replicates(groups, places.tolist(), known=all_cells)


def refuse_tied(obstacle: str) -> None:
    """Raise InvalidInput if there is an obstacle to summing the latent counts out."""
    if obstacle:
        raise InvalidInput(
            "the programs of PyMC and Stan sum the latent counts out one by one, but they don't "
            f"sum out: {obstacle}; use engine='gibbs'"
        )


def around(problem: Problem) -> tuple[Floats, Floats]:
    """Coordinates near the posterior's mode, and their approximate standard deviations."""
    sd = np.where(problem.owners >= 0, np.append(problem.scales, 0.0)[problem.owners], problem.sd)
    middle = problem.middle()
    precision = problem.tuning(middle)[0].seen + np.diag(1 / sd**2)
    return middle, np.sqrt(np.diag(linalg.inv(precision)))


def possible_counts(released: Released, cells: NDArray[np.int64]) -> dict[str, Any]:
    """List the counts that cells may have had, and the log-law of their outputs given each.

    They are all within the reach of noise: the law is below 1e-26 of its largest value at others.

    Raises
    ------
    InvalidInput
        If they are too many to be summed over at every step.
    """
    found = [counts_of(released, int(k)) for k in released.places[cells, 0]]
    ends = ends_of_rows([x.size for x, _ in found])
    many = int(ends["last"][-1])
    _refuse_many(many, _MOST)
    x, log_law = (np.concatenate(each) for each in zip(*found, strict=True))
    return {"K": many, **ends, "x": x, "log_law": log_law}


def counts_of(released: Released, k: int) -> tuple[Floats, Floats]:
    """Counts that number k may have had, whose law is concave, and their log-law."""
    z, rate, gaussian = (each[k] for each in (released.observed, released.rate, released.gaussian))
    z, gaussian, rate = z[rate > 0], gaussian[rate > 0], rate[rate > 0]

    def law(x: Any) -> Floats:
        away = np.abs(np.subtract.outer(np.asarray(x, dtype=np.float64), z))
        return np.asarray(-(rate * np.where(gaussian, away**2, away)).sum(axis=-1))

    low, high = (max(float(np.floor(end)), 0.0) for end in (z.min(), z.max() + 1))
    _refuse_many(high - low)
    least = law(np.arange(low, high + 1)).max() - _NEGLIGIBLE
    first, last = (_edge(law, end, sign, least) for end, sign in ((low, -1), (high, 1)))
    _refuse_many(last - max(first, 0.0))
    x = np.arange(max(first, 0.0), last + 1)
    log_law = law(x)
    kept = log_law >= least
    return x[kept], log_law[kept]


def _refuse_many(many: float, most: int = _MOST_OF_ONE) -> None:
    if many > most:
        raise InvalidInput(
            f"the programs of PyMC and Stan would sum over about {many:,.0f} counts of the cells "
            f"at every step, more than {_MOST:,}; use engine='hmc'"
        )


def _edge(law: Any, start: float, sign: int, least: float) -> float:
    """Find a count beyond `start` at which the law has fallen below `least`, by doubling."""
    step = 1.0
    while law(start + sign * step) >= least:
        step *= 2
    return start + sign * step
