r"""Views of normal records' copies: their law given the mean of the confidential records.

A copy is drawn given a latent point t, the parameter or its cell, so that

    p(y | mean) = sum over t of p(t | mean) p(y | t)

is a product of two matrices, of means and points and of points and copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.core.views import IntractableView, MeanLaw, NormalCopiesView, NormalView, View
from bayesdp.errors import quoted
from bayesdp.mechanisms.families.gaussian_draws import mean_posterior
from bayesdp.mechanisms.families.gaussian_laws import Blurred, likely_thetas
from bayesdp.mechanisms.families.grid_laws import log_given_cell

if TYPE_CHECKING:
    from bayesdp.mechanisms.families.gaussian import Gaussian
    from bayesdp.mechanisms.modips.grid import ModipsGridMechanism
    from bayesdp.mechanisms.modips.sbs import ModipsSBSMechanism

Floats = NDArray[np.float64]

_FAINT = 600.0  # log of how far below the largest a sum of exponentials is still to be trusted
_COMBINE = "analyse each copy as data and combine the results with bdp.combine"


def views_of_noisy_moments(mechanism: ModipsSBSMechanism) -> tuple[View, ...]:
    """The view of copies that are drawn given noisy moments of normal records."""
    family: Any = mechanism.family
    if mechanism.n is None:
        return (_confidential_n(NormalCopiesView),)
    return (
        NormalCopiesView(
            n=mechanism.n,
            bounds=family.bounds,
            sd=family.sd,
            statistic=partial(_moments, known=family.sd is not None),
            law=partial(_law_of_noisy_mean, family, mechanism),
            family=family,
            size=mechanism.size,
            parts=mechanism.parts,
            bounding=mechanism.bounding,
        ),
    )


def views_of_cells(mechanism: ModipsGridMechanism) -> tuple[View, ...]:
    """The view of copies of normal records that are drawn given a cell of the mean."""
    family: Any = mechanism.family
    if mechanism.method != "sdd":
        why = f"the copies are by {quoted(mechanism.method)}, whose law is intractable; {_COMBINE}"
        return (IntractableView(NormalView, why),)
    if mechanism.n is None:
        return (_confidential_n(NormalView),)
    law = partial(_law_of_cells, family, mechanism)
    statistic = partial(_moments, known=True)
    return (NormalView(mechanism.n, family.bounds, family.sd, statistic, law),)


def _confidential_n(kind: type[View]) -> IntractableView:
    return IntractableView(
        kind,
        "the copies are of records whose number is confidential, and the law of such copies is "
        f"intractable; {_COMBINE}",
    )


def _moments(mean: float, variance: float, *, known: bool) -> Floats:
    return np.array([mean] if known else [mean, variance])


def _law_of_noisy_mean(
    family: Gaussian, mechanism: ModipsSBSMechanism, outputs: Sequence[Any]
) -> MeanLaw:
    """Integrate over the noisy mean, and over the parameter given it."""
    thetas, likelihoods = likely_thetas(family, mechanism, np.array(outputs))
    _, tau = mean_posterior(family, int(mechanism.n or 0), 0.0)

    def logp(means: Floats) -> Floats:
        given = Blurred(family, mechanism, means).log_density(thetas)
        return np.asarray(log_sums(given, likelihoods).sum(axis=1))

    return MeanLaw(float(tau), logp)


def _law_of_cells(
    family: Gaussian, mechanism: ModipsGridMechanism, outputs: Sequence[Any]
) -> MeanLaw:
    """Sum over the cells.

    Their probabilities are a softmax of power n (theta_c mean - theta_c^2 / 2) / sd^2, of cells of
    width h, which varies no faster in the mean than a normal density of variance sd^2 / (power n),
    or where h is wider than that than the step from one cell to the next.
    """
    given = log_given_cell(mechanism, np.array(outputs), mechanism.model.edges)
    precision = mechanism.power * int(mechanism.n or 0) / float(family.sd or 0) ** 2
    width = float(np.diff(mechanism.model.edges).max())
    scale = min(precision**-0.5, 1 / (precision * width))

    def logp(means: Floats) -> Floats:
        cells = mechanism.log_cells(np.clip(means, *family.bounds)[:, None])
        return np.asarray(log_sums(cells, given).sum(axis=1))

    return MeanLaw(scale, logp)


def log_sums(given: Floats, each: Floats) -> Floats:
    """Log of sum_t exp(given[i, t] + each[c, t]), shape (len(given), len(each)).

    A matrix product; only sums whose largest terms are so far from either's largest that their
    exponentials would underflow are taken one by one.
    """
    rows, columns = (np.nan_to_num(a.max(axis=1), neginf=0.0) for a in (given, each))
    with np.errstate(divide="ignore"):
        found = np.log(np.exp(given - rows[:, None]) @ np.exp(each - columns[:, None]).T)
    found += rows[:, None] + columns
    i, c = np.nonzero(found < rows[:, None] + columns - _FAINT)
    if i.size:
        found[i, c] = special.logsumexp(given[i] + each[c], axis=1)
    return np.asarray(found)
