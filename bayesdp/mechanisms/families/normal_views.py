r"""Views of normal records' copies: their law given the mean of the confidential records.

A copy is drawn given a latent point t, the parameter or its cell, so that

    p(y | mean) = sum over t of p(t | mean) p(y | t)

is a product of two matrices, of means and points and of points and copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.core.views import IntractableView, MeanLaw, NormalCopiesView, View
from bayesdp.mechanisms.families.base import NoisyStatistic
from bayesdp.mechanisms.families.gaussian_draws import NormalFamily, mean_posterior
from bayesdp.mechanisms.families.gaussian_laws import Blurred, likely_thetas

Floats = NDArray[np.float64]

_FAINT = 600.0  # log of how far below the largest a sum of exponentials is still to be trusted
COMBINE = "analyse each copy as data and combine the results with bdp.combine"


def views_of_noisy_moments(family: NormalFamily, mechanism: NoisyStatistic) -> tuple[View, ...]:
    """The view of copies that are drawn given noisy moments of normal records."""
    if mechanism.n is None:
        return (confidential_n(NormalCopiesView),)
    return (
        NormalCopiesView(
            n=mechanism.n,
            bounds=family.bounds,
            sd=family.sd,
            statistic=partial(moments_of, known=family.sd is not None),
            law=partial(_law_of_noisy_mean, family, mechanism),
            family=family,
            size=mechanism.size,
            parts=mechanism.parts,
            bounding=mechanism.bounding,
        ),
    )


def confidential_n(kind: type[View]) -> IntractableView:
    """The view of copies where the number of records is confidential: why there is no law."""
    return IntractableView(
        kind,
        "the copies are of records whose number is confidential, and the law of such copies is "
        f"intractable; {COMBINE}",
    )


def moments_of(mean: float, variance: float, *, known: bool) -> Floats:
    """The statistic of records of that mean and variance: the mean alone where sd is known."""
    return np.array([mean] if known else [mean, variance])


def _law_of_noisy_mean(
    family: NormalFamily, mechanism: NoisyStatistic, outputs: Sequence[Any]
) -> MeanLaw:
    """Integrate over the noisy mean, and over the parameter given it."""
    thetas, likelihoods = likely_thetas(family, mechanism, np.array(outputs))
    _, tau = mean_posterior(family, int(mechanism.n or 0), 0.0)

    def logp(means: Floats) -> Floats:
        given = Blurred(family, mechanism, means).log_density(thetas)
        return np.asarray(log_sums(given, likelihoods).sum(axis=1))

    return MeanLaw(float(tau), logp)


def log_sums(given: Floats, each: Floats) -> Floats:
    """Log of sum_t exp(given[i, t] + each[c, t]), shape (len(given), len(each)).

    It is a matrix product. Only sums whose exponentials would underflow, since their largest terms
    are far from the largest of either matrix, are taken one by one.
    """
    rows, columns = (np.nan_to_num(a.max(axis=1), neginf=0.0) for a in (given, each))
    with np.errstate(divide="ignore"):
        logs = np.log(np.exp(given - rows[:, None]) @ np.exp(each - columns[:, None]).T)
    logs += rows[:, None] + columns
    i, c = np.nonzero(logs < rows[:, None] + columns - _FAINT)
    if i.size:
        logs[i, c] = special.logsumexp(given[i] + each[c], axis=1)
    return np.asarray(logs)
