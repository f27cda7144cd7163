r"""Conjugate releases of positive records: how they are drawn, and their laws.

The statistic is the sum S of the n records. Given it the posterior of the rate theta is
Gamma(A, B), A = a + n k and B = b + S (`gamma`). What is released is

- a parameter: the mode (A - 1) / B, or one draw from Gamma(A, B);
- m records y, sorted, of density prod_j y_j^(k - 1) / Gamma(k)^m times

      synthetic_map:    c^(m k) exp(-c T),  c = (A - 1) / B,  T their sum,
      synthetic_one:    Gamma(A + m k) / Gamma(A)  B^A / (B + T)^(A + m k),
      synthetic_many:   prod_j Gamma(A + k) / Gamma(A)  B^A / (B + y_j)^(A + k).

Synthetic records are of the model, and may be beyond R.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.core.outputs import OutputSpace
from bayesdp.core.outputs.reals import Reals
from bayesdp.core.outputs.records import Column, Records
from bayesdp.core.sum_views import GivenSumView, PositiveSumView
from bayesdp.core.views import IntractableView, View
from bayesdp.mechanisms.conjugate.gamma import posterior_shape
from bayesdp.mechanisms.conjugate.rounding import to_bits
from bayesdp.mechanisms.conjugate.sums import check_one_sum, check_sums, sum_of
from bayesdp.mechanisms.families.gamma import LARGEST, LEAST
from bayesdp.mechanisms.randomness import generator

if TYPE_CHECKING:
    from bayesdp.mechanisms.conjugate.release import ConjugateMechanism

Floats = NDArray[np.float64]


def statistic_of(release: ConjugateMechanism, data: Any) -> float:
    """Sum the records, correctly rounded."""
    return sum_of(release, data, 0.0)


def check_statistic(release: ConjugateMechanism, statistic: Any) -> Floats:
    """Return the sum or sums as floats if records within the bounds can have them, else raise."""
    return check_sums(release, statistic, 0.0)


def one_statistic(release: ConjugateMechanism, statistic: Any) -> Floats:
    """Return the sum if it is that of one release alone, else raise InvalidInput."""
    return check_one_sum(release, statistic, 0.0)


def draw(release: ConjugateMechanism, sums: Floats, copies: int) -> Floats:
    """Draw outputs, shape (copies, *shape of the sums), and then `size` for records."""
    (_, b), A, k = release.prior, posterior_shape(release), float(release.shape or 0)
    rate, shape = b + sums, (copies, *sums.shape)
    if release.method == "parameter_map":
        return np.broadcast_to((A - 1) / rate, shape).copy()
    rng = generator()
    if release.method == "parameter_draw":
        return np.asarray(np.clip(to_bits(rng.standard_gamma(A, shape) / rate), LEAST, LARGEST))
    records = (*shape, release.synthetic_size)
    over: Any = A - 1
    if release.method == "synthetic_one":
        over = rng.standard_gamma(A, shape)[..., None]
    elif release.method == "synthetic_many":
        over = rng.standard_gamma(A, records)
    drawn = rng.standard_gamma(k, records) * (rate[..., None] / np.maximum(over, LEAST))
    return np.sort(np.clip(to_bits(drawn), LEAST, LARGEST), axis=-1)


def logp(release: ConjugateMechanism, output: Any, sums: Floats) -> Floats:
    """Log-density of the output; of a tuple of records, along the output's last axis."""
    y = np.asarray(output, dtype=np.float64)
    if release.method == "parameter_map":
        return np.where(
            y == (posterior_shape(release) - 1) / (release.prior[1] + sums), 0.0, -np.inf
        )
    if not release.size:
        y = y[..., None]
    inside = np.all((y > 0) & np.isfinite(y), axis=-1)
    y = np.where(inside[..., None], y, 1.0)
    return np.asarray(
        np.where(inside, constant(release, y) + log_kernel(release, np, y, sums), -np.inf)
    )


def constant(release: ConjugateMechanism, y: Floats) -> Floats:
    """The part of the log-density that doesn't depend on the sum; y has shape (..., values)."""
    A, k, m = posterior_shape(release), float(release.shape or 0), release.synthetic_size
    if not m:
        return np.asarray((A - 1) * np.log(y[..., 0]) - special.gammaln(A))
    each = ((k - 1) * np.log(y)).sum(axis=-1) - m * special.gammaln(k)
    if release.method == "synthetic_one":
        each = each + special.gammaln(A + m * k) - special.gammaln(A)
    elif release.method == "synthetic_many":
        each = each + m * (special.gammaln(A + k) - special.gammaln(A))
    return np.asarray(each)


def log_kernel(release: ConjugateMechanism, module: Any, y: Floats, total: Any) -> Any:
    """The part of the log-density that depends on the sum.

    Parameters
    ----------
    release : ConjugateMechanism
    module : module
        Whose `log` and `log1p` take the sum: NumPy, or PyTensor's `tensor`.
    y : ndarray, shape (..., values)
    total : array or tensor, of the shape of y without its last axis, or (broadcast to it)
    """
    A, k, m = posterior_shape(release), float(release.shape or 0), release.synthetic_size
    rate = release.prior[1] + total
    together = y.sum(axis=-1)
    if release.method == "parameter_draw":
        return A * module.log(rate) - together * rate
    if release.method == "synthetic_map":
        ratio = (A - 1) / rate
        return m * k * module.log(ratio) - ratio * together
    if release.method == "synthetic_one":
        return -A * module.log1p(together / rate) - m * k * module.log(rate + together)
    return sum(
        -A * module.log1p(one / rate) - k * module.log(rate + one) for one in np.moveaxis(y, -1, 0)
    )


def pairs(release: ConjugateMechanism) -> list[tuple[float, float]]:
    """Pairs where a record moves from 0 to R and all others are at 0, which is worst, or at R."""
    n, R = release.n, float(release.R or 0)
    return [(0.0, R), ((n - 1) * R, n * R)][: 1 if n == 1 else None]


def space(release: ConjugateMechanism) -> OutputSpace:
    """Positive numbers, or sorted synthetic records."""
    if not release.size:
        return Reals(0, positive=True)
    return Records(release.size, (Column(low=0.0, ends=False),), alone=True)


def views(release: Any) -> list[View]:
    """The view of the sum of gamma records."""
    if release.method == "parameter_map":
        why = (
            "the release is a posterior mode, which tells the sum of the records exactly: they "
            "are no longer confidential, and no noise is to be integrated over"
        )
        return [IntractableView(PositiveSumView, why)]
    A, k, m = posterior_shape(release), float(release.shape), release.synthetic_size
    informs = {  # Fisher's information of one output about log B
        "parameter_draw": A,
        "synthetic_map": m * k,
        "synthetic_one": A * m * k / (A + m * k),
        "synthetic_many": m * A * k / (A + k),
    }[release.method]
    ends = 0.0, float(release.R)
    return [
        GivenSumView(
            release.n, ends, False, k, lambda _: 1 / math.sqrt(informs), partial(_law, release),
            lambda _, total: total, partial(_kernels, release),
        )
    ]  # fmt: skip


def _law(release: ConjugateMechanism, outputs: Sequence[Any], sums: Floats, _: int) -> Floats:
    """Log-density of all outputs, given each of several sums."""
    return np.asarray(release.logp(np.array(outputs)[:, None], sums).sum(axis=0))


def _kernels(release: ConjugateMechanism, module: Any, outputs: Sequence[Any], total: Any) -> Any:
    """Log-density of all outputs given one sum, up to a constant."""
    values = np.array(outputs, dtype=np.float64).reshape(len(outputs), -1)
    return sum(log_kernel(release, module, y, total) for y in values)
