"""New counts of records, given a model's parameters, in the form that mechanisms take."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesdp.core.views import AnswersView, view_of
from bayesdp.errors import InvalidInput
from bayesdp.inference.counts.binomial_weights import weights_of
from bayesdp.inference.counts.poisson_release import expected_of, total_of
from bayesdp.inference.predictive_statistics import Rng, Theta, known_size
from bayesdp.mechanisms.counts.count import Count
from bayesdp.release import Part


def ones(weights: Any, size: Any, part: Part, theta: Theta, rng: Rng) -> Any:
    """Draw a count of ones, or a weighted one; `size` is what the model says of n."""
    if weights is not None:
        each = weights_of(weights, part.group)
        return float(sum(w * rng.binomial(k, theta["p"]) for w, k in each))
    n = known_size(part, size)
    drawn = int(rng.binomial(n, theta["p"]))
    try:
        part.mechanism.check_statistic(count := Count(drawn, n))
    except InvalidInput:
        return drawn
    return count


def categories(size: Any, part: Part, theta: Theta, rng: Rng) -> Any:
    """Draw counts of categories, or each record's category where records were answered."""
    p = np.asarray(theta["p"] if "p" in theta else theta["theta"])
    if (answers := view_of(part.mechanism, AnswersView)) is not None:
        return rng.choice(p.size, size=answers.n, p=p / p.sum())
    return rng.multinomial(known_size(part, size), p / p.sum())


def events(expected: Any, n: int | None, part: Part, theta: Theta, rng: Rng) -> Any:
    """Draw events by area; where their number is public, that many."""
    means = np.asarray(theta["rate"])
    means = means * expected_of([part], expected, means.size)
    total = total_of([part], n)
    if total is None:
        return rng.poisson(means)
    return rng.multinomial(total, means / means.sum())
