r"""Conjugate releases of real vectors: how they are drawn, and their laws.

The statistic is the sum of the n records, one number for each column. Given it the posterior of
theta is N_d(mu, T), where mu = m + S W^-1 (sum - n m) (`multivariate_gaussian`). What is released
is

- a parameter: mu, or one draw from N(mu, T);
- m records y. They are exchangeable normal vectors, and with mean y0 their log density is that of
  y0, which is N(mu, C), and

      -((m - 1) (d log 2 pi + log |V|) + d log m + sum_i (y_i - y0)' V^-1 (y_i - y0)) / 2,

  where V is the covariance of a record around the others' common mean: V = Sigma and C = Sigma / m
  (`synthetic_map`), V = Sigma and C = T + Sigma / m (`synthetic_one`), or V = T + Sigma and
  C = V / m (`synthetic_many`). For a draw C = T, and there is nothing else.

Synthetic records are of the model, and may be beyond the box. A release has them sorted; their
order says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import is_missing, is_number
from bayesdp.core.outputs import OutputSpace
from bayesdp.core.outputs.reals import Reals
from bayesdp.core.outputs.records import Column, Records
from bayesdp.core.vector_views import NormalVectorView
from bayesdp.core.views import IntractableView, View
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.conjugate.multivariate_gaussian import posterior_of, worst_corner
from bayesdp.mechanisms.conjugate.rounding import to_lattice
from bayesdp.mechanisms.randomness import generator

if TYPE_CHECKING:
    from bayesdp.mechanisms.conjugate.release import ConjugateMechanism

Floats = NDArray[np.float64]


def statistic_of(release: ConjugateMechanism, data: Any) -> tuple[float, ...]:
    """Sum each column of the records, correctly rounded."""
    d, ends = len(release.R), np.array(release.R)
    values = _table(release, data)
    if values.shape[1:] != (d,):
        raise InvalidInput(
            f"data isn't a table of d = {d} columns of numbers, a row for each record; give a "
            "DataFrame, or an array of two dimensions, with the columns of covariance in its order"
        )
    if not np.all(np.abs(values) <= ends):
        raise InvalidInput(
            "data has values that aren't numbers in [-R[j], R[j]] of their column j, where R = "
            f"{release.R}; choose R without looking at the data, and clip what exceeds it, for "
            "example with np.clip(data, -R, R)"
        )
    if len(values) != release.n:
        raise InvalidInput(
            f"data has another number of records than the mechanism's n = {release.n}"
        )
    return tuple(map(math.fsum, values.T))


def _table(release: ConjugateMechanism, data: Any) -> Floats:
    """Records as an array of floats, empty where they aren't numbers; by their names, if any."""
    if release.columns is not None and hasattr(data, "columns"):
        if set(data.columns) != set(release.columns):
            raise InvalidInput(
                f"data has other columns than the mechanism's {release.columns}; select these"
            )
        data = data[list(release.columns)]
    try:
        values = np.asarray(np.ma.getdata(data) if np.ma.isMaskedArray(data) else data)
    except ValueError:  # rows of several lengths
        return np.empty(0)
    if bool(np.ma.is_masked(data)) or bool(np.any(is_missing(values))):
        raise InvalidInput(
            "data has missing values; drop or impute them first (a dropped record is no longer "
            "protected by a public n: decide before counting)"
        )
    numbers = values.dtype.kind in "iuf"
    if values.dtype == object:
        numbers = all(map(is_number, values.flat))
    return values.astype(np.float64) if numbers else np.empty(0)


def check_statistic(release: ConjugateMechanism, statistic: Any) -> Floats:
    """Return the sums, shape (..., d), if records within the box can have them, else raise."""
    try:
        sums = np.asarray(statistic)
    except ValueError:  # rows of several lengths
        sums = np.empty(0, dtype=object)
    d, n = len(release.R), release.n
    if sums.dtype.kind not in "iuf" or sums.shape[-1:] != (d,):
        raise InvalidInput(
            f"the statistic isn't a vector of d = {d} numbers, the sums of the records' columns; "
            "release.statistic(data) makes it"
        )
    if not np.all(np.abs(sums) <= n * np.array(release.R)):
        raise InvalidInput(
            f"the statistic isn't a sum of n = {n} records with column j in [-R[j], R[j]], where "
            f"R = {release.R}; check R, and that it is the sum, not the mean"
        )
    return sums.astype(np.float64)


def one_statistic(release: ConjugateMechanism, statistic: Any) -> Floats:
    """Return the sums if they are those of one release alone, else raise InvalidInput."""
    checked = check_statistic(release, statistic)
    if checked.ndim > 1:
        raise InvalidInput("the statistic is an array of several; release one at a time")
    return checked


def draw(release: ConjugateMechanism, sums: Floats, copies: int) -> Floats:
    """Draw outputs, shape (copies, *shape of the sums), and `size` before the last for records."""
    mean, posterior = _posterior(release, sums)
    mu = np.broadcast_to(mean, (copies, *mean.shape))
    if release.method == "parameter_map":
        return mu.copy()
    rng, size = generator(), release.synthetic_size
    if release.method == "parameter_draw":
        return _normal(rng, mu, posterior)
    if release.method == "synthetic_one":
        mu = _normal(rng, mu, posterior)
    records = np.broadcast_to(mu[..., None, :], (*mu.shape[:-1], size, mu.shape[-1]))
    return _normal(rng, records, _apart(release, posterior))


def logp(release: ConjugateMechanism, output: Any, sums: Floats) -> Floats:
    """Log-density of the output, a vector or records along its last axes."""
    mu, posterior = _posterior(release, sums)
    y = np.asarray(output, dtype=np.float64)
    if release.method == "parameter_map":
        return np.where(np.all(y == mu, axis=-1), 0.0, -np.inf)
    if not release.size:
        return _log_normal(y - mu, posterior)
    return log_rest(release, y) + _log_normal(y.mean(axis=-2) - mu, _of_mean(release, posterior))


def log_rest(release: ConjugateMechanism, y: Floats) -> Floats:
    """Log-density of records, shape (..., m, d), given their mean, and of the change to it."""
    m, d = y.shape[-2:]
    lower = np.linalg.cholesky(_apart(release, _posterior(release, np.zeros(d))[1]))
    around = y - y.mean(axis=-2, keepdims=True)
    squares = np.sum(_whitened(lower, around) ** 2, axis=(-2, -1))
    log_det = 2 * np.sum(np.log(np.diag(lower)))
    constant = (m - 1) * (d * math.log(2 * math.pi) + log_det) + d * math.log(m)
    return np.asarray(-(constant + squares) / 2)


def pairs(release: ConjugateMechanism) -> list[tuple[Floats, Floats]]:
    """The pair where a record moves between the corners that are farthest, all others at one."""
    corner, n = worst_corner(release) * np.array(release.R), release.n
    return [(n * corner, (n - 2) * corner)]


def space(release: ConjugateMechanism) -> OutputSpace:
    """Vectors, or tables of synthetic records."""
    if not release.size:
        return Reals(len(release.R))
    return Records(release.size, tuple(Column(name, ends=False) for name in _names(release)))


def views(release: Any) -> list[View]:
    """The view of the mean of normal vectors."""
    if release.method == "parameter_map":
        why = (
            "the release is a posterior mode, which tells the mean of the records exactly: they "
            "are no longer confidential, and no noise is to be integrated over"
        )
        return [IntractableView(NormalVectorView, why)]
    move, posterior = posterior_of(release.n, release.prior[1], release.covariance)
    slope, mean = move.floats() * release.n, np.array(release.prior[0])
    made = NormalVectorView(
        n=release.n,
        ends=release.R,
        covariance=np.array(release.covariance),
        columns=_names(release),
        slope=slope,
        offset=mean - slope @ mean,
        spread=_of_mean(release, posterior),
        means=partial(_means, release),
        log_rest=partial(_log_rest, release),
        statistic=partial(np.multiply, release.n),
    )
    return [made]


def _means(release: ConjugateMechanism, outputs: Sequence[Any]) -> Floats:
    y = np.array(outputs, dtype=np.float64)
    return y.mean(axis=1) if release.size else y


def _log_rest(release: ConjugateMechanism, outputs: Sequence[Any]) -> float:
    return float(log_rest(release, np.array(outputs)).sum()) if release.size else 0.0


def _names(release: ConjugateMechanism) -> tuple[str, ...]:
    """Names of the columns, or x1, x2, ... where they have none."""
    return release.columns or tuple(f"x{j + 1}" for j in range(len(release.R)))


def _posterior(release: ConjugateMechanism, sums: Floats) -> tuple[Floats, Floats]:
    """Posterior mean of theta, with the shape of the sums, and its covariance."""
    mean = np.array(release.prior[0])
    move, covariance = posterior_of(release.n, release.prior[1], release.covariance or ())
    moved = (sums - release.n * mean)[..., None, :] * move.floats()
    return mean + moved.sum(axis=-1), covariance


def _apart(release: ConjugateMechanism, posterior: Floats) -> Floats:
    """Covariance of a synthetic record around what it has in common with the others."""
    own = np.array(release.covariance)
    return own + posterior if release.method == "synthetic_many" else own


def _of_mean(release: ConjugateMechanism, posterior: Floats) -> Floats:
    """Covariance of a copy's mean, or of a draw."""
    if not release.size:
        return posterior
    own = _apart(release, posterior) / release.size
    return own + posterior if release.method == "synthetic_one" else own


def _normal(rng: np.random.Generator, mean: Floats, covariance: Floats) -> Floats:
    drawn: Floats = mean + rng.standard_normal(mean.shape) @ np.linalg.cholesky(covariance).T
    return to_lattice(drawn, np.sqrt(np.diag(covariance)))


def _log_normal(away: Floats, covariance: Floats) -> Floats:
    """Log-density of N(0, covariance) at vectors along the last axis."""
    lower = np.linalg.cholesky(covariance)
    squares = np.sum(_whitened(lower, away) ** 2, axis=-1)
    constant = len(lower) * math.log(2 * math.pi) + 2 * np.sum(np.log(np.diag(lower)))
    return np.asarray(-(constant + squares) / 2)


def _whitened(lower: Any, vectors: Floats) -> Floats:
    """Vectors along the last axis, times the inverse of a Cholesky factor."""
    d = len(lower)
    solved = np.linalg.solve(lower, vectors.reshape(-1, d).T)
    return np.asarray(solved.T.reshape(vectors.shape), dtype=np.float64)
