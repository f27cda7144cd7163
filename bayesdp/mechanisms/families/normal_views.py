r"""Views of normal records' copies: their law given the mean of the confidential records.

A copy is drawn given a latent point t, the parameter or its cell, so that

    p(y | mean) = sum over t of p(t | mean) p(y | t)

is a product of two matrices, of means and points and of points and copies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.views import IntractableView, MeanLaw, NormalCopiesView, NormalView, View
from bayesdp.mechanisms.families.base import NoisyStatistic
from bayesdp.mechanisms.families.gaussian_draws import NormalFamily, mean_posterior
from bayesdp.mechanisms.families.gaussian_laws import Blurred, likely_thetas, log_sums

Floats = NDArray[np.float64]

_FEWER = 2.0  # scales of the noise of n
COMBINE = "analyse each copy as data and combine the results with bdp.combine"


def views_of_noisy_moments(family: NormalFamily, mechanism: NoisyStatistic) -> tuple[View, ...]:
    """The view of copies that are drawn given noisy moments of normal records."""
    n, statistic = mechanism.n, statistics_of(family, mechanism.n)
    if n is None:
        if family.sd is None:
            why = (
                "the copies are of records whose number is confidential, and the law of such "
                f"copies is intractable where sd is unknown; {COMBINE}"
            )
            return (IntractableView(NormalCopiesView, why),)
        law = partial(_law_of_noisy_sums, family, mechanism)
        return (
            NormalView(n, family.bounds, family.sd, statistic, law),
            IntractableView(
                NormalCopiesView,
                "the copies are of normal records whose number is confidential, whose law given "
                "the mean is a sum that only bdp.GaussianModel's engine 'exact' has",
            ),
        )
    return (
        NormalCopiesView(
            n=n,
            bounds=family.bounds,
            sd=family.sd,
            statistic=statistic,
            law=partial(_law_of_noisy_mean, family, mechanism),
            family=family,
            size=mechanism.size,
            parts=mechanism.parts,
            bounding=mechanism.bounding,
        ),
    )


def statistics_of(family: NormalFamily, public: int | None) -> Callable[[int, Any, Any], Floats]:
    """Function of n, means and variances: the family's statistic of such records, n public or not.

    Where sd is known the variance isn't read. Where n is confidential, sd is.
    """

    def statistic(n: int, mean: Any, variance: Any) -> Floats:
        if public is None:
            total = n * (np.asarray(mean) - family.middle)
            return np.stack([np.full(total.shape, float(n)), total], axis=-1)
        return np.stack([mean] if family.sd is not None else [mean, variance], axis=-1)

    return statistic


def _law_of_noisy_mean(
    family: NormalFamily, mechanism: NoisyStatistic, outputs: Sequence[Any], n: int
) -> MeanLaw:
    """Integrate over the noisy mean, and over the parameter given it."""
    thetas, likelihoods = likely_thetas(family, mechanism, np.array(outputs))
    _, tau = mean_posterior(family, n, 0.0)

    def logp(means: Floats) -> Floats:
        given = Blurred(family, mechanism, means).log_density(thetas)
        return np.asarray(log_sums(given, likelihoods).sum(axis=1))

    return MeanLaw(float(tau), logp)


def _law_of_noisy_sums(
    family: NormalFamily, mechanism: NoisyStatistic, outputs: Sequence[Any], n: int
) -> MeanLaw:
    """Integrate over the noisy n and sum, and over the parameter given them.

    It varies no faster in the mean than a noisy sum of as few records as may be does.
    """
    from bayesdp.mechanisms.families.gaussian_sums_law import SumsLaw

    law = SumsLaw.of(family, mechanism, np.array(outputs), n)
    fewest = max(1.0, n - _FEWER * mechanism.parts[0].scale)
    statistic = statistics_of(family, None)

    def logp(means: Floats) -> Floats:
        return np.asarray(law.log_density(statistic(n, means, None)[:, 1]).sum(axis=1))

    return MeanLaw(float(family.sd or 0) * math.sqrt(fewest) / n, logp)
