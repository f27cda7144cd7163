"""Laws of released counts as tables: one row for each output, one column for each true count."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from bayesdp.core.views import AnswersView, Cell, CountView, NoiseView, view_of

Floats = NDArray[np.float64]

_NEGLIGIBLE = 1e-13
_MOST_CELLS = 40_000_000  # of a table, to bound memory


def law_of_count(mechanism: Any, n: int) -> Floats | None:
    """Log Pr[z | x], shape (outputs, n + 1), or None where outputs can't be listed.

    For randomized response z is the number of answers 1, which is sufficient for p.
    """
    if (noise := view_of(mechanism, NoiseView)) is not None:
        return None if noise.shape else _of_noise(noise.cell, n)
    if (answers := view_of(mechanism, AnswersView)) is not None:
        return _of_answers(answers.matrix, n) if answers.k == 2 else None
    if (count := view_of(mechanism, CountView)) is not None:
        outputs = mechanism.outputs()
        if outputs is not None and outputs.ndim == 1:
            return count.logp(outputs[:, None], np.arange(n + 1), n)
    return None


def _of_noise(cell: Cell, n: int) -> Floats | None:
    if not cell.whole or cell.bounds is not None:
        return None
    reach = 1
    while float(cell.noise.log_pmf(reach)) > math.log(_NEGLIGIBLE) - 10:
        reach *= 2
        if (2 * reach + n + 1) * (n + 1) > _MOST_CELLS:
            return None
    return cell.logp(np.arange(-reach, n + reach + 1)[:, None], np.arange(n + 1))


def _of_answers(matrix: Floats, n: int) -> Floats:
    (_, zero), (_, one) = matrix
    trials = np.arange(n + 1)
    truly = np.asarray(stats.binom.pmf(trials[:, None], trials, one))
    falsely = np.asarray(stats.binom.pmf(trials[:, None], trials, zero))
    law = np.empty((n + 1, n + 1))
    for x in range(n + 1):
        law[:, x] = np.convolve(truly[: x + 1, x], falsely[: n - x + 1, n - x])
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(law, 0.0))


def several(law: Floats, copies: int) -> Floats:
    """Tabulate the law of the multiset of several copies' outputs."""
    sets = np.array(list(itertools.combinations_with_replacement(range(law.shape[0]), copies)))
    ways = special.gammaln(copies + 1) * np.ones(len(sets))
    for value in range(law.shape[0]):
        ways -= special.gammaln((sets == value).sum(axis=1) + 1)
    return np.asarray(law[sets].sum(axis=1) + ways[:, None])


def total_variation(law: Floats) -> float:
    """Largest total variation distance of the outputs' laws given neighbouring counts.

    Replacing one of n records changes the count by one or not at all, so these are all the
    neighbours. Outputs that aren't in the table are counted as differing completely.
    """
    chances = np.exp(law)
    missing = np.maximum(0.0, 1 - chances.sum(axis=0))
    apart = 0.5 * np.abs(np.diff(chances, axis=1)).sum(axis=0)
    return float(np.max(apart + np.maximum(missing[1:], missing[:-1])))
