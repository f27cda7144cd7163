r"""Penalised logistic regression on bounded columns: its minimiser and its sensitivity.

With x = (1, predictors), predictors rescaled by public bounds to [-1, 1] in steps of 2^-23,
||x|| <= R = sqrt(p + 1), a response y of -1 or 1 and a public penalty l > 0, w* is the minimiser of

    J(w) = sum log(1 + exp(-y x'w)) + l / 2 ||w||^2.

Sensitivity (Chaudhuri, Monteleoni and Sarwate 2011). J is l-strongly convex, so
||w - w*|| <= ||gradient of J at w|| / l for every w. Let C be the n - 1 records that neighbours
share. At C's minimiser the gradient of J with one record more is that record's own,
-y x / (1 + exp(y x'w)), shorter than R; so either neighbour's minimiser is within R / l of C's, and
theirs are apart by less than 2 R / l.

The solver's error is inside the sensitivity. What is released is w with ||w - w*|| <= t, where
t = 2^-14 R / l, for every data set, so that what neighbours have is apart by 2 R / l + 2 t at most.
A w is taken only with a certificate: the same inequality, with what floating point may have changed
of the gradient added to it. With u = 2^-53, d = p + 1 and floats x_j that are exact, x'w is off by
2 d u ||w||_1, whatever the order of its sum; the logistic function has slope 1 / 4 at most, and its
own relative error is taken as 2^-45, some hundred times what libraries promise; a product is off by
u, their sum by n u, as `math.fsum` rounds once, and l w_j and adding it by u n + 2 u l |w_j|.

There is no refusal that depends on the data. Newton's method is tried, and if it doesn't reach a
certificate, gradient descent from 0 with step 1 / L, L = l + n R^2 / 4, does. ||w*|| is at most B =
min(sqrt(2 n log 2 / l), n R / l), since J(w*) <= J(0) and J's gradient at w* is 0. Let e be a
public bound on a gradient's error within 2 B + R / l of 0, with what rounding a step amounts to. A
step takes the gradient's length g to (1 - l / L) g + e or less, so that it comes below 2 e L / l,
where a certificate is had if e (2 L / l + 2) <= l t; and the distance from w* to (1 - l / L) of it
and e / L more, so that iterates stay within B + e / l of w*, which is where they should, e being
less than l t < R. `check_reachable` refuses, from n, p and l alone, where that isn't so. Only how
long it takes depends on the data.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput, quoted

Floats = NDArray[np.float64]

_SHARE = 2.0**-14  # of R / l: what the solver may be off by
_UP = 1 + 2.0**-40
_NEWTON = 60


def longest(n: int, predictors: int, penalty: float) -> float:
    """Bound B on the minimiser's length, plus one on the solver's error, rounded up."""
    step = math.sqrt(predictors + 1) / penalty
    return (min(math.sqrt(2 * n * math.log(2) / penalty), n * step) + step) * _UP


def sensitivity(predictors: int, penalty: float) -> float:
    """Sensitivity in L2 norm of the coefficients before noise; rounded up."""
    return 2 * math.sqrt(predictors + 1) / penalty * (1 + _SHARE) * _UP


def check_reachable(n: int, predictors: int, penalty: float) -> None:
    """Raise InvalidInput unless gradient descent is certain to reach a certificate."""
    d, radius = predictors + 1, math.sqrt(predictors + 1)
    smooth = penalty + n * radius * radius / 4
    most = 2 * longest(n, predictors, penalty)
    error = _error(n, d, penalty, most * radius, most)
    error += smooth * 2.0**-50 * radius * most  # a step's own rounding
    if error * (2 * smooth / penalty + 2) * _UP > penalty * _limit(d, penalty):
        raise InvalidInput(
            f"penalty is {quoted(penalty)}, and n = {n}: rounding errors might hide where the "
            "minimum is; take a larger penalty, such as a tenth of n, and n up to ten million"
        )


def _limit(d: int, penalty: float) -> float:
    return _SHARE * math.sqrt(d) / penalty


def _error(n: int, d: int, penalty: float, total: float, length: float) -> float:
    """Bound the floating-point error of the gradient's length; `total` is ||w||_1."""
    each = n * (d * 2.0**-52 * total / 4 + 2.0**-45 + 2.0**-51)
    return (math.sqrt(d) * each + penalty * length * 2.0**-51) * _UP


def certified(x: Floats, y: Floats, w: Floats, penalty: float) -> bool:
    """Return True if w is certified to be within the limit of the minimiser."""
    n, d = x.shape
    if not np.all(np.isfinite(w)):
        return False
    pull = -y * scipy.special.expit(-y * (x @ w))
    gradient = [math.fsum((pull * x[:, j]).tolist()) + penalty * float(w[j]) for j in range(d)]
    error = _error(n, d, penalty, float(np.abs(w).sum()) * _UP, math.hypot(*w.tolist()) * _UP)
    return (math.hypot(*gradient) * _UP + error) * _UP <= penalty * _limit(d, penalty)


def minimiser(x: Floats, y: Floats, penalty: float) -> tuple[float, ...]:
    """Find a w within the limit of the minimiser, certified.

    Parameters
    ----------
    x : ndarray, shape (n, d)
        Ones and the rescaled predictors.
    y : ndarray, shape (n,)
        -1 and 1.
    penalty : float
        A penalty with which `check_reachable` doesn't raise.
    """
    w = _newton(x, y, penalty)
    if w is None:
        w = descended(x, y, penalty)
    return tuple(map(float, w))


def _newton(x: Floats, y: Floats, penalty: float) -> Floats | None:
    """Minimise by Newton's method, steps halved until J falls; None where not certified."""
    w = np.zeros(x.shape[1])

    def value(at: Floats) -> Any:
        return np.logaddexp(0.0, -y * (x @ at)).sum() + penalty / 2 * at @ at

    here = value(w)
    for _ in range(_NEWTON):
        chance = scipy.special.expit(-y * (x @ w))
        gradient = penalty * w - x.T @ (y * chance)
        curvature = (x * (chance * (1 - chance))[:, None]).T @ x + penalty * np.eye(w.size)
        step = np.linalg.solve(curvature, gradient)
        share = 1.0
        while value(w - share * step) > here and share > 1e-4:
            share /= 2
        w = w - share * step
        here = value(w)
        near = math.sqrt(float(gradient @ gradient)) <= 1.0
        if near and certified(x, y, w, penalty):
            return w
    return None


def descended(x: Floats, y: Floats, penalty: float) -> Floats:
    """Minimise by gradient descent from 0 until a certificate, which it is certain to reach."""
    n, d = x.shape
    w, smooth = np.zeros(d), penalty + n * d / 4
    count = 0
    while count % 10 or not certified(x, y, w, penalty):
        pull = -y * scipy.special.expit(-y * (x @ w))
        gradient = [math.fsum((pull * x[:, j]).tolist()) + penalty * float(w[j]) for j in range(d)]
        w = w - np.array(gradient) / smooth
        count += 1
    return w
