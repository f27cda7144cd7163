"""Enumeration of a latent count: which values matter, and with what weight.

The released copies depend on the confidential data only through a count x of n. Summing
over every x in 0..n gives the analyst's likelihood exactly; all but 1e-15 of the
posterior mass lies on a window of x that grows like sqrt(n), and only that is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.core.views import CountView, NoiseView, view_of
from bayesdp.engines.log_sums import log_sum
from bayesdp.engines.stan.rows import ends_of_rows
from bayesdp.engines.unknown_trials import law_of_largest
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.laws import beta_binomial_logpmf
from bayesdp.release import Part

_LOG_TAIL = np.log(1e-16)  # mass given up on each side: all but 1e-15 is kept, with room
_LOG_OF_0 = -1e300
_DENSE = 2048  # below this many values there is nothing to save
_BLOCK = 2048  # counts evaluated at once, so that temporary arrays stay in the cache
_MOST_CELLS = 20_000_000
_MOST_SUMMED = 200_000_000
_TRIED = 50  # sizes that stand for many

LogWeight = Callable[[NDArray[np.int64]], NDArray[np.float64]]


@dataclass(frozen=True)
class Cells:
    """Latent counts that matter, one element for each pair (x, n), shape (cells,).

    Attributes
    ----------
    successes, failures : ndarray of float
        x and n - x.
    log_law : ndarray of float
        log of Pr[all outputs | x, n] times the prior probability of n.
    log_marginal : ndarray of float
        log Pr[x | n] under the beta prior of p: the other factor of the posterior weight.
    """

    successes: NDArray[np.float64]
    failures: NDArray[np.float64]
    log_law: NDArray[np.float64]
    log_marginal: NDArray[np.float64]

    @property
    def log_evidence(self) -> float:
        """Log Pr[all outputs], the exact marginal likelihood."""
        return float(special.logsumexp(self.log_law + self.log_marginal))

    @property
    def weights(self) -> NDArray[np.float64]:
        """Posterior probabilities of the cells, which sum to one."""
        return np.asarray(special.softmax(self.log_law + self.log_marginal))

    @property
    def log_likelihood_weight(self) -> NDArray[np.float64]:
        """Log weight c with Pr[outputs | p] = sum of exp(c) p^successes (1 - p)^failures."""
        trials = self.successes + self.failures
        log_choose = -np.log1p(trials) - special.betaln(self.successes + 1, self.failures + 1)
        return np.asarray(self.log_law + log_choose)

    def log_likelihood(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log Pr[outputs | p] at proportions, the counts summed out; shape (draws,)."""
        weight = self.log_likelihood_weight
        with np.errstate(divide="ignore"):  # p may round to 0 or 1, where 0 log 0 is 0
            log_p = np.maximum(np.log(p), _LOG_OF_0)[:, None]
            log_q = np.maximum(np.log1p(-p), _LOG_OF_0)[:, None]

        def term(some: slice) -> NDArray[np.float64]:
            inside = self.successes * log_p[some] + self.failures * log_q[some]
            return np.asarray(weight + inside)

        return log_sum(p.size, weight.size, term)


def in_one_row(cells: Sequence[Cells]) -> dict[str, Any]:
    """Concatenate the cells of G groups for a Stan program, which counts from 1."""
    ends = ends_of_rows([each.successes.size for each in cells])
    return {
        "G": len(cells),
        "K": int(ends["last"][-1]),
        **ends,
        "log_weight": np.concatenate([each.log_likelihood_weight for each in cells]),
        "successes": np.concatenate([each.successes for each in cells]),
        "failures": np.concatenate([each.failures for each in cells]),
    }


def enumerate_cells(
    parts: Sequence[Part], prior: tuple[float, float], sizes: Iterable[tuple[int, float]]
) -> Cells:
    """Enumerate the latent counts of one group.

    Parameters
    ----------
    parts : sequence of Part
        Mechanisms and outputs; several must be of the same records.
    prior : tuple of two floats
        The beta prior of p.
    sizes : iterable of (n, probability)
        The analyst's prior on n; one pair (n, 1.0) where it is public.

    Raises
    ------
    InvalidInput
        If there are more than 20 million cells, or every cell has probability zero.
    """
    windows = _windows(parts, prior, list(sizes))
    blocks = [_cells_within(parts, prior, *each) for each in windows]
    together = Cells(
        *(
            np.concatenate([getattr(cells, name) for cells in blocks])
            for name in ("successes", "failures", "log_law", "log_marginal")
        )
    )
    return _trimmed(_possible(together))


def summed_cells(
    parts: Sequence[Part], prior: tuple[float, float], sizes: Sequence[tuple[int, float]]
) -> Cells:
    """Enumerate counts among the largest number of records, with the same likelihood of p.

    Where n has a prior there are far fewer of them than pairs; see
    `bayesdp.engines.unknown_trials`. They say nothing of n, nor of the confidential count.

    Parameters
    ----------
    parts, prior, sizes
        As for `enumerate_cells`.

    Raises
    ------
    InvalidInput
        As `enumerate_cells` does, if there are more than 200 million pairs.
    """
    if len(sizes) == 1:
        return enumerate_cells(parts, prior, sizes)
    sizes = sorted(sizes)
    if sum(n + 1 for n, _ in sizes) <= _MOST_SUMMED:  # for which a search takes longer
        windows = [(n, probability, 0, n) for n, probability in sizes]
    else:
        windows = _windows(parts, prior, sizes)
    n, x, law = law_of_largest(
        (n, x := np.arange(low, high + 1), log_law_of_counts(parts, n, x) + np.log(probability))
        for n, probability, low, high in windows
    )
    return _trimmed(_possible(cells_of(n, x, law, prior)))


def cells_of(
    n: int, x: NDArray[np.int64], log_law: NDArray[np.float64], prior: tuple[float, float]
) -> Cells:
    """Make the cells of counts x among n records, whose log law is known."""
    successes, failures = x.astype(np.float64), (n - x).astype(np.float64)
    return Cells(successes, failures, log_law, beta_binomial_logpmf(x, n, *prior))


def _possible(cells: Cells) -> Cells:
    """Return the cells, or raise InvalidInput if none has a weight."""
    if not np.isfinite(cells.log_evidence):
        raise InvalidInput("the outputs have probability zero under the model's prior")
    return cells


def _windows(
    parts: Sequence[Part], prior: tuple[float, float], sizes: list[tuple[int, float]]
) -> list[tuple[int, float, int, int]]:
    """Each number of records, its probability, and the first and the last count that matter."""
    some = sizes[:: max(1, len(sizes) // _TRIED)]
    if len(some) < len(sizes):  # a prior of n that is far too wide is refused before the work
        widths = [np.subtract(*_window_of(parts, prior, n)[::-1]) + 1 for n, _ in some]
        if np.mean(widths) * len(sizes) > 1.1 * _MOST_CELLS:
            raise _too_many(some[-1][0])
    windows, total = [], 0
    for n, probability in sizes:
        low, high = _window_of(parts, prior, n)
        windows.append((n, probability, low, high))
        total += high - low + 1
        if total > _MOST_CELLS:
            raise _too_many(n)
    return windows


def _too_many(n: int) -> InvalidInput:
    return InvalidInput(
        f"n gives more than {_MOST_CELLS:,} pairs of a size and a count that aren't "
        f"negligible, at n = {n:,}; if n has a prior, narrow it, or put its probability on "
        "fewer sizes; if it is public, of so many records a count with noise "
        "(bdp.mechanisms.DiscreteLaplaceMechanism) tells more, and leaves fewer counts likely"
    )


def is_noisy_count(mechanism: Any) -> bool:
    """Return True if a mechanism adds noise to one number, which may be a count."""
    noise = view_of(mechanism, NoiseView)
    return noise is not None and not noise.shape


def count_of(mechanism: Any) -> CountView:
    """Return the mechanism's view of a count of ones, or raise InvalidInput if it has none."""
    if (view := view_of(mechanism, CountView)) is None:
        raise InvalidInput(
            f"the release's mechanism {quoted(mechanism.name)} doesn't randomise a count of ones "
            "among n records, so a proportion has no law for it"
        )
    return view


def log_law_of_counts(parts: Sequence[Part], n: int, x: NDArray[np.int64]) -> NDArray[np.float64]:
    """Log Pr[all outputs | x ones of n records], at an array of x.

    Parameters
    ----------
    parts : sequence of Part
        Parts of one group; several must be of the same records.
    n : int
        Number of records.
    x : ndarray of int, shape (k,)
        Numbers of ones, from 0 to n.

    Returns
    -------
    ndarray, shape (k,)

    Raises
    ------
    InvalidInput
        If a mechanism has no view of a count of ones.
    """
    law = np.zeros(x.size)
    for part in parts:
        copies, view = np.array(part.outputs)[:, None], count_of(part.mechanism)
        for start in range(0, x.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            law[block] += view.logp(copies, x[block], n).sum(axis=0)
    return law


def _window_of(parts: Sequence[Part], prior: tuple[float, float], n: int) -> tuple[int, int]:
    """The first and the last count that matter."""
    if n <= _DENSE or not all(part.mechanism.log_concave for part in parts):
        return 0, n
    a, b = prior

    def log_law(x: NDArray[np.int64]) -> NDArray[np.float64]:
        return log_law_of_counts(parts, n, x)

    def log_marginal(x: NDArray[np.int64]) -> NDArray[np.float64]:
        return beta_binomial_logpmf(x, n, a, b)

    if a >= 1 and b >= 1:
        # The ratio of successive prior probabilities, (n - x)(a + x) / ((x + 1)
        # (b + n - x - 1)), decreases in x, so the whole weight is log-concave.
        return window(lambda x: log_law(x) + log_marginal(x), n)
    # The prior's part is monotone or U-shaped, so largest at an end.
    ends = log_marginal(np.array([0, n]))
    return window(log_law, n, log_marginal, float(ends.max()))


def _cells_within(
    parts: Sequence[Part],
    prior: tuple[float, float],
    n: int,
    probability: float,
    low: int,
    high: int,
) -> Cells:
    x = np.arange(low, high + 1)
    return cells_of(n, x, log_law_of_counts(parts, n, x) + np.log(probability), prior)


def window(
    log_concave: LogWeight, n: int, rest: LogWeight | None = None, bound: float = 0.0
) -> tuple[int, int]:
    """Ends of an interval of 0..n that holds all but 1e-16 of the mass on either side.

    The weight of x is exp(log_concave(x) + rest(x)), with rest(x) <= bound. For a
    log-concave h the ratios h(x - 1) / h(x) fall as x does, so the mass below L is at most
    exp(bound) h(L - 1) / (1 - h(L - 1) / h(L)); and the whole mass is at least the weight
    at the mode of h. Likewise above. Each search evaluates a few points of a shrinking
    grid: O(log n) evaluations.
    """
    mode = _mode(log_concave, n)
    at_mode = np.array([mode])
    total = float(log_concave(at_mode)[0] + (rest(at_mode)[0] if rest else 0.0))

    def negligible_beyond(x: NDArray[np.int64], outward: int) -> NDArray[np.bool_]:
        """Test whether the mass strictly outside x, in the direction `outward`, can be dropped."""
        edge, beyond = log_concave(x), log_concave(x + outward)
        with np.errstate(divide="ignore", invalid="ignore"):
            tail = bound + beyond - np.log(-np.expm1(np.minimum(beyond - edge, 0.0)))
        return np.asarray((tail <= total + _LOG_TAIL) | np.isneginf(beyond))

    def outermost(end: int, outward: int) -> int:
        """Find the point nearest the mode from which the tail is negligible, else the end."""
        inner, outer = mode, end
        while abs(outer - inner) > 1:
            grid = np.unique(np.linspace(inner, outer, 34).astype(np.int64)[1:-1])[::outward]
            grid = grid[(grid != inner) & (grid != outer)]
            good = negligible_beyond(grid, outward)
            first = int(np.argmax(good)) if good.any() else grid.size
            previous = inner if first == 0 else int(grid[first - 1])
            inner, outer = previous, (int(grid[first]) if first < grid.size else outer)
        return outer

    return outermost(0, -1), outermost(n, 1)


def _mode(h: LogWeight, n: int) -> int:
    low, high = 0, n
    while high - low > 64:
        grid = np.unique(np.linspace(low, high, 33).astype(np.int64))
        best = int(np.argmax(h(grid)))
        low, high = int(grid[max(best - 1, 0)]), int(grid[min(best + 1, grid.size - 1)])
    grid = np.arange(low, high + 1)
    return int(grid[np.argmax(h(grid))])


def _trimmed(cells: Cells) -> Cells:
    """Trim the cells of least weight, as long as they sum to less than 1e-16."""
    weights = cells.weights
    order = np.argsort(weights, kind="stable")
    keep = np.sort(order[np.cumsum(weights[order]) > 1e-16])
    return Cells(
        cells.successes[keep],
        cells.failures[keep],
        cells.log_law[keep],
        cells.log_marginal[keep],
    )
