"""Input of a linear regression: noisy moments, and the units that draws are given in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayesdp.core.views import Cell
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.conflict import Noise, noise_from_moments
from bayesdp.inference.regression.start import Hidden
from bayesdp.kernels.regression.moments import Floats, Prior
from bayesdp.mechanisms.families.linear_regression_draws import drawn_regression
from bayesdp.mechanisms.families.moments import MOST
from bayesdp.mechanisms.families.regression_fields import check_predictors_prior, check_prior

INTERCEPT = "intercept"
_FINE = 2.0**-16  # of the scale: a lattice on which noise is as good as continuous


@dataclass(frozen=True)
class Read:
    """Noisy moments of a regression's columns, the response last.

    Attributes
    ----------
    hidden : Hidden
    prior : tuple
        The prior (m0, k, a, b) in its standard form.
    names : tuple of str
        Names of the coefficients.
    ends : ndarray, shape (columns, 2)
        The columns' bounds.
    log_constant : float
        Log of the factor that turns the moments' density into the joint density of the moments, n
        and the noisy numbers.
    """

    hidden: Hidden
    prior: tuple[Any, ...]
    names: tuple[str, ...]
    ends: Floats
    log_constant: float

    left_out: ClassVar[tuple[str, ...]] = ()
    """Columns of a release of copies that tell nothing of a regression."""

    @property
    def sizes(self) -> tuple[int, int]:
        """The least and the largest number of records."""
        return self.hidden.first, self.hidden.last

    @property
    def known(self) -> tuple[Floats, Floats, Floats]:
        """Moments n, mean and rows as if the noisy ones were exact, or raise InvalidInput."""
        return known_moments(self.hidden)

    @property
    def noises(self) -> list[Noise]:
        """Compute the least noise that leads to noisy moments from those of records within bounds.

        For columns in [-1, 1] no sum of squares exceeds n, nor does the size of any other sum.
        """
        noisy, scales, gaussian, of_coefficients = self.hidden.seen
        if of_coefficients:
            return []
        d, known = self.hidden.columns, self.hidden.first == self.hidden.last
        n = float(self.hidden.last)
        matrices = np.empty((noisy.shape[1], d + 1, d + 1))
        matrices[:, 0, 0] = n
        matrices[:, 0, 1:] = matrices[:, 1:, 0] = noisy[:d].T
        j, k = np.triu_indices(d, 1)
        matrices[:, np.arange(d) + 1, np.arange(d) + 1] = noisy[d : 2 * d].T
        matrices[:, j + 1, k + 1] = matrices[:, k + 1, j + 1] = noisy[2 * d :].T
        away = np.abs(noisy) - n if known else np.zeros(noisy.shape)
        away = np.maximum(away, 0.0) / scales
        outside = np.where(gaussian, away**2 / 2, away).sum(axis=0)
        noises = noise_from_moments(matrices if known else matrices[:, 1:, 1:], scales, gaussian)
        return [
            Noise(max(each.needed, float(more)), len(noisy))
            for each, more in zip(noises, outside, strict=True)
        ]

    def coefficients(
        self, n: Floats, mean: Floats, rows: Floats, rng: np.random.Generator
    ) -> dict[str, Floats]:
        """Draw "beta" and "sigma" for each draw of the moments, in the columns' own units.

        `rows` are those of a matrix S whose S'S is the scatter.
        """
        return in_own_units(self.prior, self.ends, n, mean, rows, rng)


def in_own_units(
    prior: tuple[Any, ...],
    ends: Floats,
    n: Floats,
    mean: Floats,
    rows: Floats,
    rng: np.random.Generator,
) -> dict[str, Floats]:
    """Draw "beta" and "sigma" given moments of rescaled columns, the response last."""
    y = len(ends) - 1
    c0, c, sd = drawn_regression(prior, n, mean, rows, y, list(range(y)), rng)
    middle, half = ends.mean(axis=1), (ends[:, 1] - ends[:, 0]) / 2
    slopes = half[-1] * c / half[:-1]
    intercept = middle[-1] + half[-1] * c0 - slopes @ middle[:-1]
    beta = np.concatenate([intercept[..., None], slopes], axis=-1)
    return {"beta": beta, "sigma": half[-1] * sd}


def check_fine(cell: Cell) -> None:
    """Raise InvalidInput where the noise's lattice is too coarse to be treated as continuous."""
    if cell.step > cell.scale * _FINE:
        raise InvalidInput(
            f"the release's granularity {quoted(cell.step)} is coarser than scale "
            "2^-16, and its law is taken as continuous here; release with granularity=None"
        )


def priors_of(prior: Any, predictors_prior: Any, p: int) -> tuple[tuple[Any, ...], Prior]:
    """Return the regression's prior in its standard form, and all priors as the density's."""
    checked = check_prior(prior, p)
    m, r, nu, psi = check_predictors_prior(predictors_prior, p)
    m0, k, a, b = checked
    return checked, (
        np.full(p + 1, m0),
        np.full(p + 1, k),
        np.array([a, b]),
        np.full(p, m),
        np.array([r, nu]),
        np.full(p, psi),
    )


def possible_sizes(public: int | None, sizes: range | None, least: int) -> tuple[int, int]:
    """Return the smallest and the largest number of records that there may be."""
    if public is not None:
        if sizes is not None:
            raise InvalidInput(
                f"the model has n = {quoted(sizes)}, but the release says n = {public}; leave n "
                "out of the model"
            )
        if public < least:
            raise InvalidInput(
                f"the release has n = {public} records, fewer than the {least} that moments of "
                f"{least - 1} columns have a density for; take fewer predictors"
            )
        return public, public
    if sizes is None:
        return least, MOST
    if sizes[0] < least:
        raise InvalidInput(
            f"n is {quoted(sizes)}; moments of {least - 1} columns have a density for {least} "
            "records or more: take larger numbers or fewer predictors"
        )
    return sizes[0], sizes[-1]


def known_moments(hidden: Hidden) -> tuple[Floats, Floats, Floats]:
    """Return n, the mean and rows of the noisy moments, as if they were the records' own.

    Raises
    ------
    InvalidInput
        If no records have such moments.
    """
    noisy, d = hidden.seen[0].mean(axis=1), hidden.columns
    if hidden.seen[3]:
        raise InvalidInput(
            "the release is of coefficients, without the moments that a posterior needs, so there "
            "is no naive one"
        )
    n = float(hidden.first)
    if hidden.first < hidden.last:
        n = float(np.rint(hidden.noisy_n.mean()))
    second = np.diag(noisy[d : 2 * d])
    j, k = np.triu_indices(d, 1)
    second[j, k] = second[k, j] = noisy[2 * d :]
    try:
        if not hidden.first <= n <= hidden.last:
            raise np.linalg.LinAlgError
        root = np.linalg.cholesky(second - np.outer(noisy[:d], noisy[:d]) / n)
    except np.linalg.LinAlgError as error:
        raise InvalidInput(
            "the noisy numbers are those of no records: n or the matrix of moments isn't "
            "positive, so there is no naive posterior"
        ) from error
    return np.array(n), noisy[:d] / n, np.array(root.T, dtype=np.float64)
