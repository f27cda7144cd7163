"""What an analyst knows of the number of confidential records."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesdp.errors import InvalidInput
from bayesdp.inference.fitting import instead
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.count import Count


def sizes_of_prior(n: Any) -> list[tuple[int, float]]:
    """The sizes with positive prior probability, and that probability."""
    if isinstance(n, range):
        if len(n) == 0 or min(n) < 0:
            raise InvalidInput(
                f"n is {n!r}; a range of sizes must be non-empty and start at 0 or more"
            )
        return [(size, 1.0 / len(n)) for size in n]
    try:
        probabilities = np.asarray(n, dtype=np.float64)
    except (TypeError, ValueError):
        probabilities = np.array(np.nan)
    if (
        probabilities.ndim != 1
        or not np.all(probabilities >= 0)
        or not abs(probabilities.sum() - 1) <= 1e-9
    ):
        raise InvalidInput(
            "n must be a range of sizes, as range(500, 1501), or an array of probabilities whose "
            "element k is Pr[n = k], non-negative and with sum 1"
        )
    return [(int(k), float(probabilities[k])) for k in np.flatnonzero(probabilities)]


def check_counts(mechanism: Mechanism) -> None:
    """Raise InvalidInput unless it randomises a count of ones among n records."""
    try:
        mechanism.check_statistic(Count(0, mechanism.n or 1))
    except InvalidInput as error:
        raise InvalidInput(
            f"the release's mechanism {mechanism.name!r} doesn't randomise a count of ones among n "
            f"records, so a BinomialModel has no law for it; {instead(mechanism)}. Of a noisy "
            "count of ones say that all n records have weight 1: BinomialModel(weights={1.0: 500})"
        ) from error
