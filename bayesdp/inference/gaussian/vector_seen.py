"""Releases of normal vectors as observations of their mean, and its posterior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least, check_seed
from bayesdp.core.vector_views import NormalVectorView
from bayesdp.core.views import check_tractable
from bayesdp.engines.normal_mixture import NormalMixture
from bayesdp.engines.normals import Normal
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.readers import read_view
from bayesdp.release import Part

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SeenVector:
    """One observation of mu that outputs are worth: `centre` ~ N(mu, spread).

    Attributes
    ----------
    columns : tuple of d str
        Names of the columns.
    covariance : ndarray, shape (d, d)
        Covariance matrix of the records.
    centre : ndarray, shape (d,)
    spread : ndarray, shape (d, d)
    log_rest : float
        Log density of the outputs given mu, less that of `centre`, which doesn't depend on mu.
    """

    columns: tuple[str, ...]
    covariance: Floats
    centre: Floats
    spread: Floats
    log_rest: float


@dataclass(frozen=True, eq=False)
class VectorPosterior:
    """A multivariate normal posterior of a mean vector.

    Attributes
    ----------
    columns : tuple of d str
        Names of the columns.
    mean : ndarray, shape (d,)
    covariance : ndarray, shape (d, d)
    """

    columns: tuple[str, ...]
    mean: Floats
    covariance: Floats

    def marginal(self, column: str | int) -> NormalMixture:
        """Posterior of the mean of one column, by its name or number from 0.

        Raises
        ------
        InvalidInput
            If there is no such column.
        """
        whole = isinstance(column, Integral) and not isinstance(column, bool)
        if column in self.columns:
            place = self.columns.index(str(column))
        elif whole and column in range(len(self.columns)):
            place = int(column)
        else:
            raise InvalidInput(
                f"column is {quoted(column)}; it must be one of {', '.join(self.columns)}, or a "
                f"number from 0 to {len(self.columns) - 1}"
            )
        sd = np.sqrt(self.covariance[place, place])
        return NormalMixture(np.ones(1), np.array([self.mean[place]]), np.array([sd]))

    def sample(self, k: int, seed: int | None = None) -> Floats:
        """Draw `k` vectors independently, shape (k, d)."""
        k = check_at_least("k", k, 0)
        return self.draw(k, np.random.default_rng(check_seed(seed)))[0]["mu"]

    def draw(self, size: int, rng: np.random.Generator) -> tuple[dict[str, Floats], Floats]:
        """Draw "mu" independently, shape (size, d), with the draws' log density."""
        law = Normal(self.mean, root_of(self.covariance))
        mu = law.draw(size, rng)
        return {"mu": mu}, law.log_density(mu)


def seen_vector(parts: Sequence[Part], covariance: Any, *, naive: bool = False) -> SeenVector:
    """Read what outputs are worth as an observation of mu.

    Parameters
    ----------
    parts : sequence of Part
        Releases of the same records.
    covariance : tuple of tuples, or None
        Covariance matrix of the records; None for the one that the releases were drawn with.
    naive : bool
        Whether pooled synthetic records are taken for real, and drawn means for that of the
        records.

    Raises
    ------
    InvalidInput
        If a release isn't of normal vectors, or releases differ in their columns or, where no
        covariance is given, in that.
    """
    views = [_view_of(part) for part in parts]
    first = views[0]
    own = first.covariance if covariance is None else np.array(covariance)
    for view in views:
        if view.columns != first.columns or len(own) != len(view.columns):
            raise InvalidInput(
                f"the model and the releases are of different columns: {len(own)}, and "
                f"{' and '.join(str(each.columns) for each in views)}"
            )
        if covariance is None and not np.array_equal(view.covariance, own):
            raise InvalidInput(
                "the releases were drawn with different covariances of the records; give the "
                "model the one that is true, as MultivariateGaussianModel(covariance=...)"
            )
    if naive:
        return _taken_for_real(parts[0], first, own)
    each = [_of_mean(part, view) for part, view in zip(parts, views, strict=True)]
    precisions = [_inverse(law.root @ law.root.T) for law, _ in each]
    spread = _inverse(np.sum(precisions, axis=0))
    weighed = zip(precisions, each, strict=True)
    centre = spread @ np.sum([p @ law.mean for p, (law, _) in weighed], axis=0)
    # Given the records' mean the releases' laws multiply: to that of the centre, and a constant.
    rest = sum(rest + float(law.log_density(centre[None])[0]) for law, rest in each)
    rest -= float(Normal(centre, root_of(spread)).log_density(centre[None])[0])
    return SeenVector(first.columns, own, centre, own / first.n + spread, rest)


def posterior_given(seen: SeenVector, prior: Any) -> VectorPosterior:
    """Compute the posterior of mu under a normal prior (m0, S0), or a flat one."""
    if prior is None:
        return VectorPosterior(seen.columns, seen.centre, seen.spread)
    m0, S0 = np.array(prior[0]), np.array(prior[1])
    # S0 (S0 + spread)^-1, which doesn't invert either alone
    gain = np.linalg.solve(S0 + seen.spread, S0).T
    mean = m0 + gain @ (seen.centre - m0)
    covariance = gain @ seen.spread
    return VectorPosterior(seen.columns, mean, (covariance + covariance.T) / 2)


def _view_of(part: Part) -> NormalVectorView:
    check_tractable(part.mechanism, NormalVectorView)
    return read_view(
        part.mechanism, NormalVectorView, "release normal vectors", "a MultivariateGaussianModel"
    )


def _of_mean(part: Part, view: NormalVectorView) -> tuple[Normal, float]:
    """Law of the records' mean that outputs are worth, and the rest of their log density."""
    means, copies = view.means(part.outputs), len(part.outputs)
    centre = means.mean(axis=0)
    each, together = (Normal(centre, root_of(view.spread / m)) for m in (1, copies))
    rest = view.log_rest(part.outputs) + float(each.log_density(means).sum())
    rest -= float(together.log_density(centre[None])[0])
    rest -= float(np.linalg.slogdet(view.slope)[1])
    back = np.linalg.solve(view.slope, together.root)
    mean = np.linalg.solve(view.slope, centre - view.offset)
    return Normal(mean, root_of(back @ back.T)), rest


def _taken_for_real(part: Part, view: NormalVectorView, covariance: Floats) -> SeenVector:
    """Pooled synthetic records as records, or drawn means as that of the n records."""
    size = getattr(part.mechanism, "size", None)
    n = size * len(part.outputs) if size else view.n
    centre = view.means(part.outputs).mean(axis=0)
    return SeenVector(view.columns, covariance, centre, covariance / n, 0.0)


def root_of(covariance: Floats) -> Floats:
    """Lower Cholesky factor of a covariance matrix."""
    return np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)


def _inverse(covariance: Floats) -> Floats:
    made = np.linalg.inv(covariance)
    return np.asarray((made + made.T) / 2, dtype=np.float64)
