"""The simulation of Hu, Williams and Savitsky (2025): what each replicate yields.

A replicate is 2000 confidential records from Beta(0.5, 3), each synthesizer fitted to them, and
one set of synthetic records, as many, from each. Replicate k of a seed is the same whatever the
number of replicates, the number of processes and the order, so that a study can be continued.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.randomness import generator, reproducible
from bayesdp.papers.hu.comparators import FittedComparator, HuComparators
from bayesdp.papers.journal import Progress, run_kept

SHAPES = (0.5, 3.0)
"""Of the beta distribution of the records."""
EPSILONS = (5.0, 4.0, 3.0)
DOWNSCALED = (4.0, 0.965)
"""The epsilon of the downscaled synthesizers, and the factor; `bayesdp.papers.hu.reproduction` says
more."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of one synthesizer in one replicate.

    Attributes
    ----------
    synthesizer : str
        Its published name.
    epsilon, factor : float
        What it was asked for; a factor below 1 is downscaling.
    lipschitz : float or None
        The largest Lipschitz bound of a record; None for PH, which has none.
    removed, censored : int
        Records whose weight was set to 0, and whose log-likelihood was clipped at a draw.
    q15, median, q90, mean : float
        Of the synthetic records.
    max_ecdf : float
        Largest distance of their empirical distribution function from the confidential records'.
    """

    synthesizer: str
    epsilon: float
    factor: float
    lipschitz: float | None
    removed: int
    censored: int
    q15: float
    median: float
    q90: float
    mean: float
    max_ecdf: float


@contextmanager
def at_replicate(seed: int, index: int, records: int) -> Iterator[Floats]:
    """Yield a replicate's confidential records, with its random numbers while inside."""
    own = int(np.random.default_rng([seed, index]).integers(1 << 63))
    with reproducible(own):
        yield np.clip(generator().beta(*SHAPES, records), 2.0**-1022, 1 - 2.0**-53)


def replicate(seed: int, index: int, records: int) -> list[Outcome]:
    """Simulate confidential records, and fit and draw from every synthesizer."""
    with at_replicate(seed, index, records) as y:
        comparators = HuComparators(y)
        outcomes = [_fitted(y, comparators.unweighted, e, 1.0) for e in EPSILONS]
        for epsilon, factor in [*((e, 1.0) for e in EPSILONS), DOWNSCALED]:
            weighted = comparators.weighted(epsilon, factor)
            for fitted in (
                weighted,
                comparators.truncated(weighted, epsilon),
                comparators.clipped(weighted, epsilon),
            ):
                outcomes.append(_fitted(y, fitted, epsilon, factor))
        for epsilon in EPSILONS:
            outcomes.append(_fitted(y, comparators.censor_uw(epsilon), epsilon, 1.0))
            drawn, _ = comparators.perturbed_histogram(epsilon, records)
            outcomes.append(Outcome("PH", epsilon, 1.0, None, 0, 0, *utilities(drawn, y)))
    return outcomes


def _fitted(y: Floats, fitted: FittedComparator, epsilon: float, factor: float) -> Outcome:
    counts = fitted.lipschitz, fitted.removed, fitted.censored
    return Outcome(fitted.name, epsilon, factor, *counts, *utilities(fitted.synthetic(y.size), y))


def utilities(synthetic: Floats, confidential: Floats) -> tuple[float, float, float, float, float]:
    """Compute 15th percentile, median, 90th, mean, and distance from the confidential ECDF."""
    low, middle, high = np.quantile(synthetic, [0.15, 0.5, 0.9])
    both = np.concatenate([synthetic, confidential])
    first, second = (
        np.searchsorted(np.sort(x), both, side="right") / x.size for x in (synthetic, confidential)
    )
    distance = np.abs(first - second).max()
    return float(low), float(middle), float(high), float(synthetic.mean()), float(distance)


def run_study(
    journal: Path,
    *,
    replicates: int,
    seed: int,
    records: int,
    workers: int | None = None,
    tell: Progress = lambda what, done: None,
) -> list[list[Outcome]]:
    """Run the replicates from 0 on; those in the journal already aren't repeated.

    Parameters
    ----------
    replicates, seed, records : int
    journal, workers, tell
        As for `run_kept`.

    Raises
    ------
    InvalidInput, StudyStopped
        As `run_kept`.
    """
    design = {"shapes": SHAPES, "epsilons": EPSILONS, "downscaled": DOWNSCALED}
    replicates_run = run_kept(
        journal,
        {"seed": seed, "records": records, **design},
        _rows,
        (seed, records),
        range(replicates),
        called="replicates",
        workers=workers,
        tell=tell,
    )
    return [[Outcome(**row) for row in rows] for rows in replicates_run]


def _rows(shared: tuple[int, int], index: int) -> list[dict[str, Any]]:
    seed, records = shared
    return [asdict(outcome) for outcome in replicate(seed, index, records)]
