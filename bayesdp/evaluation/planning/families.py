"""Records that a model's prior predicts, and the intervals from them without privacy.

Each family has a function that draws a true value and the confidential data, and one that gives the
interval from the data themselves. Simulated records beyond a synthesizer's bounds are clipped to
them, as a curator's would be, so a prior that puts more than 1% of them there is refused: by such a
prior the bounds don't hold the data, and intervals would miss for that reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from bayesdp.checks import is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.counts.beta_binomial import check_prior

Floats = NDArray[np.float64]
Random = np.random.Generator
_MOST_OUTSIDE = 0.01
_TRIED = 200  # data sets, of at most so many records, to see how much lies outside


@dataclass(frozen=True)
class Simulator:
    """Simulator of data and the true estimand, with the interval without privacy.

    Attributes
    ----------
    simulate : callable
        Takes a generator; returns the true value of the estimand, and the data.
    reference : callable, optional
        Takes the data; returns the ends of the interval without privacy.
    """

    simulate: Callable[[Random], tuple[float, Any]]
    reference: Callable[[Any], tuple[float, float]] | None = None


def no_simulator(model: Any, synthesizer: Any) -> InvalidInput:
    """The error for a model and synthesizer that `plan` can't make up data for."""
    return InvalidInput(
        f"plan doesn't know what data a {type(synthesizer).__name__} takes of the records of a "
        f"{type(model).__name__}; give simulate=, a function of a numpy generator that returns the "
        "estimand's true value and the data, as the synthesizer's release() takes them"
    )


def sizes_of(n: Any) -> Callable[[Random], int]:
    """Return a function that draws the number of records."""
    if isinstance(n, range):
        return lambda rng: int(rng.choice(n))
    return lambda rng: int(n)


def proportions(design: Any, n: Any) -> Simulator:
    """Simulate binary records, from a beta law of p or from one p."""
    size = sizes_of(n)

    def simulate(rng: Random) -> tuple[float, Any]:
        p = float(rng.beta(*design)) if isinstance(design, tuple) else design
        return p, (rng.random(size(rng)) < p).astype(np.int64)

    return Simulator(simulate)


def categories(design: tuple[float, ...], n: Any, category: int, *, counted: bool) -> Simulator:
    """Simulate records of k categories, or their counts."""
    size = sizes_of(n)

    def simulate(rng: Random) -> tuple[float, Any]:
        theta = rng.dirichlet(design)
        records = rng.choice(len(design), size(rng), p=theta)
        data = np.bincount(records, minlength=len(design)) if counted else records
        return float(theta[category]), data

    return Simulator(simulate)


def normal_records(
    model: Any, design: Any, n: Any, level: float, estimand: str, bounds: tuple[float, float]
) -> Simulator:
    """Simulate normal records within bounds, from the model's kind of prior."""
    from bayesdp.inference.gaussian.mean import known_mean
    from bayesdp.inference.gaussian.pair import known_pair

    size = sizes_of(n)

    def drawn(rng: Random) -> tuple[float, float]:
        if model.sd is not None:
            return float(rng.normal(*design)), model.sd
        m0, k, a, b = design
        sd = float(np.sqrt(b / rng.gamma(a)))
        return float(rng.normal(m0, sd / np.sqrt(k))), sd

    def records(rng: Random, most: float = np.inf) -> tuple[float, Floats]:
        mu, sd = drawn(rng)
        return (sd if estimand == "sigma" else mu), rng.normal(mu, sd, int(min(size(rng), most)))

    def reference(data: Floats) -> tuple[float, float]:
        if model.sd is not None:
            return known_mean(data.size, float(data.mean()), model.sd, model.prior).interval(level)
        pair = known_pair(data.size, float(data.mean()), float(data.var(ddof=1)), model.prior)
        if estimand == "mu":
            return pair.interval_mu(level)
        return pair.interval_sigma(level)

    _check_inside(lambda rng: _outside(records(rng, _TRIED)[1], bounds))

    def simulate(rng: Random) -> tuple[float, Any]:
        true, data = records(rng)
        return true, np.clip(data, *bounds)

    return Simulator(simulate, reference)


def gamma_records(
    model: Any, design: Any, n: Any, level: float, estimand: str, *, clip: bool
) -> Simulator:
    """Simulate exponential or gamma records, from the model's kind of prior.

    Raises
    ------
    InvalidInput
        If the synthesizer would refuse what is beyond its bounds.
    """
    from bayesdp.inference.gamma.total import known_total

    if not clip:
        raise InvalidInput(
            "the synthesizer refuses records beyond its bounds, where gamma laws have some; give "
            "it clip=True, or give simulate="
        )
    size, shape = sizes_of(n), model.shape

    def simulate(rng: Random) -> tuple[float, Any]:
        rate = float(rng.gamma(design[0]) / design[1])
        return (rate if estimand == "rate" else shape / rate), rng.gamma(shape, 1 / rate, size(rng))

    def reference(data: Floats) -> tuple[float, float]:
        low, high = known_total(data.size, float(data.sum()), shape, model.prior).interval(level)
        return (low, high) if estimand == "rate" else (shape / high, shape / low)

    return Simulator(simulate, reference)


def events(
    design: tuple[float, float], prior: Any, expected: Mapping[Any, float], level: float, area: Any
) -> Simulator:
    """Simulate events by area, Poisson with gamma rates."""
    names = list(expected)
    around = np.array([expected[name] for name in names], dtype=np.float64)
    if area not in names:
        raise InvalidInput(f"estimand names area {quoted(area)}; it must be one of {names}")
    where, tails = names.index(area), np.array([1 - level, 1 + level]) / 2

    def simulate(rng: Random) -> tuple[float, Any]:
        while True:
            rates = rng.gamma(design[0], 1 / design[1], around.size)
            counts = rng.poisson(rates * around)
            if counts.sum() > 0:  # empty data are refused
                break
        return float(rates[where]), dict(zip(names, counts.tolist(), strict=True))

    def reference(data: Any) -> tuple[float, float]:
        shape, rate = prior[0] + data[area], prior[1] + around[where]
        low, high = special.gammaincinv(shape, tails) / rate
        return float(low), float(high)

    return Simulator(simulate, reference)


def regressions(
    model: Any, design: Any, n: Any, level: float, predictor: str, bounds: Mapping[str, Any]
) -> Simulator:
    """Simulate records of a linear regression within bounds; the slope of one predictor."""
    import pandas as pd

    from bayesdp.mechanisms.families.regression_fields import (
        check_predictors_prior,
        check_prior,
    )

    names = list(model.predictors or [name for name in bounds if name != model.response])
    if predictor not in names or model.response not in bounds or not set(names) <= set(bounds):
        raise InvalidInput(
            f"estimand names predictor {quoted(predictor)}, of the response "
            f"{quoted(model.response)}; the synthesizer bounds {list(bounds)}"
        )
    p, size = len(names), sizes_of(n)
    design = check_prior(design, p)
    check_prior(model.prior, p)
    around = check_predictors_prior(model.predictors_prior, p)
    ends = np.array([bounds[name] for name in (*names, model.response)], dtype=np.float64)
    middle, half = ends.mean(axis=1), np.diff(ends, axis=1)[:, 0] / 2
    where, unit = names.index(predictor), half[-1] / half[names.index(predictor)]

    def records(rng: Random, most: float = np.inf) -> tuple[float, Floats]:
        """Draw records in units where bounds are -1 and 1."""
        m0, k, a, b = design
        sd = np.sqrt(b / rng.gamma(a))
        beta = rng.normal(np.broadcast_to(m0, p + 1), sd / np.sqrt(np.broadcast_to(k, p + 1)))
        m, r, nu, psi = around
        scale = np.diag(np.broadcast_to(np.asarray(psi, dtype=np.float64), p))
        cov = np.atleast_2d(stats.invwishart.rvs(nu, scale, random_state=rng))
        mean = rng.multivariate_normal(np.broadcast_to(m, p), cov / r)
        x = rng.multivariate_normal(mean, cov, int(min(size(rng), most)))
        y = beta[0] + x @ beta[1:] + rng.normal(0, sd, len(x))
        return float(beta[1 + where] * unit), np.column_stack([x, y])

    def reference(data: Any) -> tuple[float, float]:
        table = (data[[*names, model.response]].to_numpy() - middle) / half
        x, y = np.column_stack([np.ones(len(table)), table[:, :-1]]), table[:, -1]
        m0, k, a, b = model.prior
        m0, k = np.broadcast_to(m0, p + 1), np.broadcast_to(k, p + 1)
        precision = x.T @ x + np.diag(k)
        centre = np.linalg.solve(precision, x.T @ y + k * m0)
        left = b + (y @ y + k @ m0**2 - centre @ precision @ centre) / 2
        shape = a + len(y) / 2
        sd = np.sqrt(left / shape * np.linalg.inv(precision)[1 + where, 1 + where])
        reach = stats.t.ppf((1 + level) / 2, 2 * shape) * sd
        low, high = (centre[1 + where] + np.array([-reach, reach])) * unit
        return float(low), float(high)

    _check_inside(lambda rng: _outside(records(rng, _TRIED)[1], (-1.0, 1.0)))

    def simulate(rng: Random) -> tuple[float, Any]:
        true, table = records(rng)
        inside = np.clip(table, -1, 1) * half + middle
        return true, pd.DataFrame(inside, columns=[*names, model.response])

    return Simulator(simulate, reference)


def design_of_proportion(design: Any) -> tuple[float, float] | float:
    """Return a beta law of the true p, or one p, checked."""
    if is_number(design):
        if not 0 <= design <= 1:
            raise InvalidInput(
                f"design_prior is {quoted(design)}; a true proportion lies in [0, 1]"
            )
        return float(design)
    return check_prior(design, "design_prior")


def _outside(values: Floats, bounds: tuple[float, float]) -> float:
    return float(np.mean((values < bounds[0]) | (values > bounds[1])))


def _check_inside(outside: Callable[[Random], float]) -> None:
    rng = np.random.default_rng(0)
    share = float(np.mean([outside(rng) for _ in range(_TRIED)]))
    if share > _MOST_OUTSIDE:
        raise InvalidInput(
            f"the prior puts {share:.0%} of the values beyond the synthesizer's bounds, where at "
            f"most {_MOST_OUTSIDE:.0%} may be: they would be clipped to the bounds, and intervals "
            "miss. Give design_prior=, what is really expected of the data, in the form of the "
            "model's prior; or wider bounds; or simulate="
        )
