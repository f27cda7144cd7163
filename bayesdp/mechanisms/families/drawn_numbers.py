"""Numbers that were drawn by regressions, as views have them: rescaled, and their priors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.drawn_moments import RegressionPrior


def rescaled_numbers(places: list[int], ends: Any, output: Any) -> NDArray[np.float64]:
    """Rescale some columns of a synthetic table to [-1, 1], which are numbers at a bound.

    Parameters
    ----------
    places : list of int
    ends : ndarray, shape (columns, 2)
        Bounds of these columns.
    output : table of rows
    """
    x, (low, high) = np.asarray(output, dtype=np.float64)[:, places], ends.T
    inside = np.clip((x - low) / (high - low) * 2 - 1, -1.0, 1.0)
    return np.where(x <= low, -1.0, np.where(x >= high, 1.0, inside))


def of_response(prior: tuple[Any, ...], before: int) -> RegressionPrior:
    """Take c ~ N(m0, s diag(k)^-1) and s ~ InverseGamma(a, b), for a regression on so many columns.

    Parameters
    ----------
    prior : tuple (m0, k, a, b)
        m0 and k of (1, columns before), or one number for all.
    before : int
    """
    m0, k, shape, rate = prior
    centre, weight = (np.broadcast_to(np.float64(x), before + 1) for x in (m0, k))
    own = np.append(np.eye(before + 1), centre[:, None], axis=1)
    return RegressionPrior(own.T * weight @ own, float(shape), float(rate))


def of_predictors(prior: tuple[Any, ...], p: int) -> tuple[RegressionPrior, ...]:
    """Take Sigma ~ InverseWishart(nu, diag(psi)) and mu ~ N(m, Sigma / r), column by column.

    Given those before it, column j of normal records is a regression on them, whose variance is
    InverseGamma((nu - p + 1 + j) / 2, .) a priori, independently of the other columns' regressions.

    Parameters
    ----------
    prior : tuple (m, r, nu, psi)
        m and psi of each column, or one number for all.
    p : int
        Number of columns.
    """
    m, r, nu, psi = prior
    centre = np.append(1.0, np.broadcast_to(np.float64(m), p))
    products = r * np.outer(centre, centre)
    products[range(1, p + 1), range(1, p + 1)] += psi
    shapes = [(nu - p + 1 + j) / 2 for j in range(p)]
    return tuple(
        RegressionPrior(products[: j + 2, : j + 2], shape, 0.0) for j, shape in enumerate(shapes)
    )
