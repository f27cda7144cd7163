"""Finite families of laws of a record: the ratios of their densities, and moments of these."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.privacy.distributional.pymc_laws import PyMCLaw, as_law

Floats = NDArray[np.float64]

_SAFE = 1e-9  # of a logarithm: above the error of a density's, and of a quadrature
_POINTS = 20_001  # of a search for the largest ratio, in probability and in the record's unit
_MOST = 1_000_000


@dataclass(frozen=True)
class Family:
    """A family of k laws on one common support: density ratios, and nodes to integrate them by.

    Attributes
    ----------
    names : tuple of str
    log_densities : tuple of callable
        Functions of an array of records.
    log_ratio : ndarray, shape (k, k)
        [b, j] is a bound on log of f_b / f_j.
    points, log_weights : ndarray
        log_weights[j] are logs of the probabilities under f_j of the points, or of a quadrature's
        weights times f_j, shape (k, points).
    proved : bool
        Whether the bounds are, or found by a search.
    """

    names: tuple[str, ...]
    log_densities: tuple[Callable[[Any], Any], ...]
    log_ratio: Floats
    points: Floats
    log_weights: Floats
    proved: bool

    @property
    def k(self) -> int:
        """Number of laws."""
        return len(self.names)

    def log_moment(self, exponents: Floats) -> Floats:
        """Log of E_j[(f_b / f_j)^s], rounded up; shape (exponents, k, k), indexed [s, b, j]."""
        from scipy import special

        moments = np.zeros((exponents.size, self.k, self.k))
        for b in range(self.k):
            for j in range(self.k):
                if b != j:
                    mixed = (
                        exponents[:, None] * self.log_weights[b]
                        + (1 - exponents[:, None]) * self.log_weights[j]
                    )
                    moments[:, b, j] = special.logsumexp(mixed, axis=1)
        return np.minimum(moments + _SAFE, 0.0)  # at most 0, by Hoelder's inequality


def family_of(laws: Sequence[Any], ratio: float | None = None) -> Family:
    """Make a family of frozen scipy distributions, or of PyMC ones.

    Raises
    ------
    InvalidInput
        If there are fewer than two, they aren't of one kind and support, two are the same, or a
        ratio of densities has no bound or exceeds `ratio`.
    """
    given = [as_law(law) for law in laws]
    if len(given) < 2:
        raise InvalidInput(f"laws has {len(given)} elements; a family has at least two laws")
    whole = [_is_discrete(law) for law in given]
    if not all(hasattr(law, "support") for law in given) or len(set(whole)) > 1:
        raise InvalidInput(
            "laws must be frozen scipy.stats or PyMC distributions, all discrete or all "
            "continuous, for example [stats.bernoulli(0.2), stats.bernoulli(0.8)]"
        )
    supports = {tuple(float(end) for end in law.support()) for law in given}
    if len(supports) > 1:
        raise InvalidInput(
            f"laws have the supports {sorted(supports)}; they must have one in common, or a record "
            "can rule a law out"
        )
    if ratio is not None and not (is_number(ratio) and 1 < ratio < math.inf):
        raise InvalidInput(f"ratio is {quoted(ratio)}; it must be a finite number above 1")
    names = tuple(_name(law) for law in given)
    ends: Any = supports.pop()
    family = _discrete(given, names, ends) if whole[0] else _continuous(given, names, ends, ratio)
    alike = [
        (b, j)
        for b in range(family.k)
        for j in range(b)
        if family.log_moment(np.array([0.5]))[0, b, j] > -10 * _SAFE
    ]
    if alike:
        raise InvalidInput(
            f"laws {alike[0][1]} and {alike[0][0]} are the same; the estimator can't tell them "
            "apart, and one record may decide: leave one out"
        )
    return family


def _is_discrete(law: Any) -> bool:
    from scipy import stats

    if isinstance(law, PyMCLaw):
        return bool(law.discrete)
    return isinstance(getattr(law, "dist", None), stats.rv_discrete)


def _name(law: Any) -> str:
    if isinstance(law, PyMCLaw):
        return law.name
    arguments = [*map(repr, law.args), *(f"{k}={v!r}" for k, v in law.kwds.items())]
    return f"{law.dist.name}({', '.join(arguments)})"


def finite_laws(laws: Sequence[Any]) -> tuple[tuple[str, ...], Floats, Floats]:
    """Names, values and log probabilities, shape (laws, values), of laws on the same few values.

    Raises
    ------
    InvalidInput
        If one isn't discrete with a finite support, or gives a value the probability 0 that
        another doesn't.
    """
    given = [as_law(law) for law in laws]
    if not given or not all(_is_discrete(law) for law in given):
        raise InvalidInput(
            "laws must be discrete scipy.stats distributions, for example [stats.bernoulli(0.2)]"
        )
    supports = {tuple(float(end) for end in law.support()) for law in given}
    if len(supports) > 1:
        raise InvalidInput(
            f"laws have the supports {sorted(supports)}; they must have one in common"
        )
    return (tuple(map(_name, given)), *_tabled(given, supports.pop()))


def _tabled(given: list[Any], ends: Any) -> tuple[Floats, Floats]:
    if math.isinf(ends[1] - ends[0]) or ends[1] - ends[0] > _MOST:
        raise InvalidInput(
            f"laws have the unbounded support {ends}, on which the ratio of two laws is unbounded "
            "in general; take laws on finitely many values, for example of top-coded records"
        )
    points = np.arange(ends[0], ends[1] + 1)
    with np.errstate(divide="ignore"):
        logs = np.array([law.logpmf(points) for law in given])
    possible = ~np.all(np.isneginf(logs), axis=0)
    points, logs = points[possible], logs[:, possible]
    if np.any(np.isneginf(logs)):
        raise InvalidInput(
            "a law gives probability 0 to a value that another law allows; all must allow the "
            "same values"
        )
    return points, logs


def _discrete(given: list[Any], names: tuple[str, ...], ends: tuple[float, float]) -> Family:
    points, logs = _tabled(given, ends)
    ratios = (logs[:, None, :] - logs[None, :, :]).max(axis=2) + _SAFE
    densities = tuple(law.logpmf for law in given)
    return Family(names, densities, ratios, points, logs, True)


def _continuous(
    given: list[Any], names: tuple[str, ...], ends: tuple[float, float], ratio: float | None
) -> Family:
    """Moments by Gauss and Legendre's rule in probability; ratios on a fine grid."""
    quantiles = np.linspace(0, 1, _POINTS)[1:-1]
    grid = np.unique(np.concatenate([law.ppf(quantiles) for law in given]))
    if all(map(math.isfinite, ends)):
        inside = np.linspace(*ends, _POINTS)[1:-1]
        near = np.array(ends)[:, None] + np.array([[1], [-1]]) * (ends[1] - ends[0]) * np.logspace(
            -15, -4, 45
        )
        grid = np.unique(np.concatenate([grid, inside, near.ravel()]))
    else:
        far = np.concatenate([law.isf(np.logspace(-300, -4, 75)) for law in given])
        low = np.concatenate([law.ppf(np.logspace(-300, -4, 75)) for law in given])
        grid = np.unique(np.concatenate([grid, far, low]))
    grid = grid[(grid > ends[0]) & (grid < ends[1]) & np.isfinite(grid)]
    logs = np.array([law.logpdf(grid) for law in given])
    if not np.all(np.isfinite(logs)):
        raise InvalidInput("a law's density vanishes, or is infinite, inside the common support")
    largest = (logs[:, None, :] - logs[None, :, :]).max(axis=2)
    if ratio is None:
        growth = np.abs(logs[:, None, [0, -1]] - logs[None, :, [0, -1]])
        inner = np.abs(logs[:, None, 20:-20] - logs[None, :, 20:-20]).max(axis=2)
        if np.any(growth.max(axis=2) > inner + 1) or not np.all(np.isfinite(largest)):
            raise InvalidInput(
                "a ratio of two densities grows without bound towards an end of the support, and "
                "one record there could decide; take laws with bounded ratios, as of truncated or "
                "top-coded records, or give a proved bound: ratio=..."
            )
        ratios = largest + 1e-3
        np.fill_diagonal(ratios, 0.0)
    else:
        if largest.max() > math.log(ratio) * (1 + 1e-9):
            raise InvalidInput(
                f"ratio is {ratio}, but two of the densities have the ratio "
                f"{math.exp(largest.max()):.6g} somewhere; give a larger one"
            )
        ratios = np.full(largest.shape, math.log(ratio))
        np.fill_diagonal(ratios, 0.0)
    edges = grid[:: max(1, grid.size // 4000)]
    edges = np.unique(np.r_[edges, grid[-1]])
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half = np.diff(edges) / 2
    points = (edges[:-1, None] + half[:, None] * (1 + nodes)).ravel()
    log_weights = np.log((half[:, None] * weights).ravel())
    inside = np.array([law.logpdf(points) for law in given]) + log_weights
    return Family(names, tuple(law.logpdf for law in given), ratios, points, inside, False)
