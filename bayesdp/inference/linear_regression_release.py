"""What a linear regression reads from a release, and how its draws get the columns' own units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from bayesdp.errors import InvalidInput
from bayesdp.inference.regression_moments import Floats
from bayesdp.inference.regression_start import Hidden
from bayesdp.mechanisms.families.linear_regression import LinearRegression as Family
from bayesdp.mechanisms.families.linear_regression_draws import drawn_regression
from bayesdp.mechanisms.families.moments import MOST
from bayesdp.mechanisms.families.regression_fields import check_predictors_prior, check_prior
from bayesdp.mechanisms.modips_sbs import ModipsSBS
from bayesdp.mechanisms.noisy_moments import NoisyMomentsMechanism
from bayesdp.release import Release

INTERCEPT = "intercept"
_FINE = 2.0**-16  # of the scale: a lattice on which noise is as good as continuous


@dataclass(frozen=True)
class Read:
    """The noisy moments of the columns that a regression is of, the response last.

    Attributes
    ----------
    hidden : Hidden
    prior : tuple
        (m0, k, a, b) in its standard form.
    names : tuple of str
        Of the coefficients.
    ends : ndarray, shape (columns, 2)
        The columns' bounds.
    """

    hidden: Hidden
    prior: tuple[Any, ...]
    names: tuple[str, ...]
    ends: Floats

    def coefficients(
        self, n: Floats, mean: Floats, rows: Floats, rng: np.random.Generator
    ) -> dict[str, Floats]:
        """A draw of "beta" and "sigma" for each moments of records, in the columns' own units.

        `rows` are those of a matrix S whose S'S is the scatter.
        """
        y = len(self.ends) - 1
        c0, c, sd = drawn_regression(self.prior, n, mean, rows, y, list(range(y)), rng)
        middle, half = self.ends.mean(axis=1), (self.ends[:, 1] - self.ends[:, 0]) / 2
        slopes = half[-1] * c / half[:-1]
        intercept = middle[-1] + half[-1] * c0 - slopes @ middle[:-1]
        beta = np.concatenate([intercept[..., None], slopes], axis=-1)
        return {"beta": beta, "sigma": half[-1] * sd}


def read(
    release: Release,
    *,
    response: str,
    predictors: Sequence[str] | None,
    prior: Any,
    predictors_prior: Any,
    sizes: range | None,
) -> Read:
    """What is known of the moments, checked.

    Raises
    ------
    InvalidInput
        If the release isn't of noisy moments, or of other columns, or its n, its lattice or the
        priors don't fit.
    """
    mechanism = release.mechanism
    if isinstance(mechanism, ModipsSBS) and isinstance(mechanism.family, Family):
        raise InvalidInput(
            "the release is of modips copies of regression records, whose law is intractable: a "
            "noisy matrix is projected and integrated over; analyse each copy as data and combine "
            "the results with bdp.combine, or release bdp.NoisyMoments"
        )
    if not isinstance(mechanism, NoisyMomentsMechanism):
        raise InvalidInput(
            f"the release's mechanism {mechanism.name!r} doesn't randomise what a LinearRegression "
            f"can read; it takes noisy moments, as bdp.NoisyMoments releases them"
        )
    columns = mechanism.columns
    if response not in columns:
        raise InvalidInput(f"response is {response!r}; the release's columns are {list(columns)}")
    if predictors is None:
        predictors = tuple(name for name in columns if name != response)
    unknown = [name for name in predictors if name not in columns]
    if unknown:
        raise InvalidInput(f"predictors has {unknown}; the release's columns are {list(columns)}")
    if INTERCEPT in predictors:
        raise InvalidInput(
            f"a predictor is called {INTERCEPT!r}, as the regression's constant is; release it "
            "under another name"
        )
    if mechanism.granularity > mechanism.scale * _FINE:
        raise InvalidInput(
            f"the release's granularity {mechanism.granularity!r} is coarser than scale 2^-16, "
            f"and its law is taken as continuous here; release with granularity=None"
        )
    chosen = [*predictors, response]
    p = len(predictors)
    first, last = _sizes(mechanism.n, sizes, p + 2)
    table = np.array(release.outputs, dtype=np.float64).T
    public = mechanism.n is not None
    values = dict(zip(_keys(columns, public), table, strict=True))
    outputs = np.array([values[key] for key in _keys(chosen, True)])
    checked = check_prior(prior, p)
    m, r, nu, psi = check_predictors_prior(predictors_prior, p)
    m0, k, a, b = checked
    hidden = Hidden(
        seen=(outputs, mechanism.scale, mechanism.noise == "gaussian"),
        prior=(
            np.full(p + 1, m0),
            np.full(p + 1, k),
            np.array([a, b]),
            np.full(p, m),
            np.array([r, nu]),
            np.full(p, psi),
        ),
        noisy_n=np.zeros(len(release.outputs)) if public else values[()].copy(),
        first=first,
        last=last,
    )
    ends = dict(mechanism.bounds)
    return Read(
        hidden, checked, (INTERCEPT, *predictors), np.array([ends[name] for name in chosen])
    )


def _keys(names: Sequence[str], public_n: bool) -> list[Any]:
    """What each number is a sum of: of nothing, of one column, of two or of one twice."""
    first: list[Any] = [] if public_n else [()]
    first += [(name,) for name in names]
    return [*first, *((x, x) for x in names), *map(_pair, combinations(names, 2))]


def _pair(names: tuple[str, str]) -> frozenset[str]:
    return frozenset(names)


def _sizes(public: int | None, sizes: range | None, least: int) -> tuple[int, int]:
    """The smallest and the largest number of records that there may be."""
    if public is not None:
        if sizes is not None:
            raise InvalidInput(
                f"the model has n = {sizes!r}, but the release says n = {public}; leave n out of "
                "the model"
            )
        if public < least:
            raise InvalidInput(
                f"the release has n = {public} records, fewer than the {least} that moments of "
                f"{least - 1} columns have a density for; take fewer predictors"
            )
        return public, public
    if sizes is None:
        return least, MOST
    if sizes[-1] < least:
        raise InvalidInput(
            f"n is {sizes!r}; moments of {least - 1} columns have a density for {least} records or "
            "more: take larger numbers or fewer predictors"
        )
    return max(sizes[0], least), sizes[-1]


def known_moments(hidden: Hidden) -> tuple[Floats, Floats, Floats]:
    """n, the mean and rows of the noisy moments, as if they were the records' own.

    Raises
    ------
    InvalidInput
        If no records have such moments.
    """
    noisy, d = hidden.seen[0].mean(axis=1), hidden.columns
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
