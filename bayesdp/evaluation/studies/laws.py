"""Laws, by name, from which a study file draws records; their true parameters are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bayesdp.checks import check_at_least_one, is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.evaluation.studies.cells import Simulated


def bernoulli(generator: np.random.Generator, n: int, p: float) -> Simulated:
    """Draw records that are 0 or 1; the true value is "p"."""
    n = check_at_least_one("n", n)
    if not is_number(p) or not 0 <= p <= 1:
        raise InvalidInput(f"p is {quoted(p)}; it must be a number from 0 to 1")
    return Simulated(generator.binomial(1, p, n), {"p": p})


def normal(
    generator: np.random.Generator,
    n: int,
    mean: float,
    sd: float,
    low: float = -np.inf,
    high: float = np.inf,
) -> Simulated:
    """Draw normal records, clipped to [low, high]; true values are "mu" and "sigma"."""
    n = check_at_least_one("n", n)
    if not is_number(mean) or not is_number(sd) or not sd > 0 or not np.isfinite([mean, sd]).all():
        raise InvalidInput(
            f"mean is {quoted(mean)} and sd is {quoted(sd)}; they must be finite, and sd positive"
        )
    if not low < high:
        raise InvalidInput(
            f"low is {quoted(low)} and high is {quoted(high)}; low must be below high"
        )
    records = np.clip(generator.normal(mean, sd, n), low, high)
    return Simulated(records, {"mu": mean, "sigma": sd})


def gamma(generator: np.random.Generator, n: int, mean: float, shape: float = 1.0) -> Simulated:
    """Draw gamma records, exponential where shape is 1; true values are "rate" and "mean"."""
    n = check_at_least_one("n", n)
    good = all(is_number(x) and 0 < x < np.inf for x in (mean, shape))
    if not good:
        raise InvalidInput(
            f"mean is {quoted(mean)} and shape is {quoted(shape)}; they must be positive and finite"
        )
    records = generator.gamma(shape, mean / shape, n)
    return Simulated(records, {"rate": shape / mean, "mean": mean})


def categories(generator: np.random.Generator, n: int, probabilities: Sequence[float]) -> Simulated:
    """Draw a column "category" of 0, 1 and so on; true values are "theta[0]", "theta[1]", ...."""
    import pandas as pd

    n = check_at_least_one("n", n)
    p: Any = probabilities
    fine = isinstance(p, list | tuple) and len(p) > 1 and all(is_number(x) and x >= 0 for x in p)
    if not fine or abs(sum(p) - 1) > 1e-9:
        raise InvalidInput(
            f"probabilities is {quoted(p)}; it must be two or more numbers from 0 that add up to 1"
        )
    records = generator.choice(len(p), n, p=np.asarray(p) / sum(p))
    return Simulated(
        pd.DataFrame({"category": records}), {f"theta[{k}]": x for k, x in enumerate(p)}
    )


LAWS: dict[str, Callable[..., Simulated]] = {
    "bernoulli": bernoulli,
    "categories": categories,
    "gamma": gamma,
    "normal": normal,
}
