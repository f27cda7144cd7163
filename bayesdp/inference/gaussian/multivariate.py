r"""The multivariate Gaussian model: the mean vector of normal records from conjugate releases.

    mu ~ N(m0, S0),    x_1, ..., x_n ~ N(mu, Sigma),    z_k | x ~ mechanism,  k = 1..M.

Only z is seen, and it depends on the records through their mean x. Given it the mean of each
output is N(A x + b, V), and the rest of an output says nothing of x. So M outputs are worth one
observation of x itself,

    A^-1 (z - b) ~ N(x, U),    U = A^-1 V A^-T / M,

z the mean of their means; several releases of the same records are worth one with U^-1 the sum of
theirs. Since x ~ N(mu, Sigma / n) the observation is N(mu, Sigma / n + U), and the posterior of mu
is normal, in closed form (`vector_seen`).

Bounds. The releases are of records in a public box, and the model's records have none: they are
normal and happened to lie in it, and p(x) is taken as that of normal records, as by
`bayesdp.inference.gaussian.model`; here the mean x isn't kept in the box either. The attrs have
the expected share of records beyond the bounds of a column under the posterior, the largest of all
columns', and a fit warns if it is more than 1%.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.vector_views import NormalVectorView
from bayesdp.core.views import View, view_of
from bayesdp.engines import exact
from bayesdp.engines.draws import Draws
from bayesdp.engines.normals import Normal
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.base import Model, Run
from bayesdp.inference.gaussian.predictive import within_bounds
from bayesdp.inference.gaussian.release import share_outside, told_largest
from bayesdp.inference.gaussian.vector_seen import (
    SeenVector,
    VectorPosterior,
    posterior_given,
    root_of,
    seen_vector,
)
from bayesdp.inference.predictive_statistics import Rng, Statistic, Theta
from bayesdp.inference.result import groups_of, with_groups
from bayesdp.inference.several import Releases, agreed_size, parts_alone, parts_of
from bayesdp.mechanisms.conjugate.multivariate_gaussian import check_covariance, check_prior
from bayesdp.release import Part, Release

if TYPE_CHECKING:
    import pymc as pm

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MultivariateGaussianModel(Model):
    """Inference about the mean vector of normal records, or those of each group.

    Parameters
    ----------
    prior : tuple, optional
        (m0, S0), mean vector and covariance matrix of the normal prior of mu, as tuples of numbers
        and of rows; None is flat, which any release has a posterior under.
    covariance : tuple of tuples of floats, optional
        Covariance matrix of the records, which is known. Default: the one that the release was
        drawn with.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    The posterior variable is "mu", with the dimension "column". It is normal, and the "exact"
    engine draws from it independently; "pymc" and "stan" sample the same posterior by NUTS, the
    records' mean integrated out. The attrs have "expected_share_outside_bounds", and a fit warns
    if it is more than 1%.

    Examples
    --------
    >>> import bayesdp as bdp, numpy as np
    >>> covariance = ((1.0, 0.5), (0.5, 2.0))
    >>> x = np.random.default_rng(1).multivariate_normal((0.5, 1), covariance, size=1000)
    >>> made = bdp.mechanisms.ConjugateMechanism.calibrate(
    ...     family="multivariate_gaussian", method="parameter_draw", n=1000, epsilon=1, delta=1e-6,
    ...     R=(6, 9), covariance=covariance,
    ... )
    >>> release = bdp.publish(made, made.statistic(x), delta=1e-6)
    >>> posterior = bdp.models.MultivariateGaussianModel().posterior(release)
    >>> low, high = posterior.marginal("x2").interval(0.95)
    """

    prior: tuple[Any, ...] | None = None
    covariance: tuple[tuple[float, ...], ...] | None = None

    family: ClassVar[str] = "multivariate_gaussian"
    views: ClassVar[tuple[type[View], ...]] = (NormalVectorView,)
    engines: ClassVar[tuple[str, ...]] = ("exact", "pymc", "stan")
    variables: ClassVar[Sequence[str]] = ("mu",)
    means: ClassVar[frozenset[str]] = frozenset({"mu"})
    reason: ClassVar[str] = "the posterior is normal, so independent draws exist"
    told: ClassVar[tuple[str, ...]] = ("prior", "covariance")

    def __post_init__(self) -> None:
        if self.covariance is not None:
            object.__setattr__(self, "covariance", check_covariance("covariance", self.covariance))
        if self.prior is not None:
            known = self.covariance
            d = len(known) if known else _length(self.prior)
            object.__setattr__(self, "prior", check_prior(self.prior, d))

    def posterior(self, release: Releases) -> VectorPosterior:
        """Compute the exact posterior of mu, a multivariate normal.

        Parameters
        ----------
        release : Release, or several in a list
            With groups, take one of them: `posterior(release["a"])`.

        Raises
        ------
        InvalidInput
            If the release has groups, or the model doesn't fit it.
        """
        return posterior_given(self._seen(parts_alone(release)), self.prior)

    def naive_posterior(self, release: Release) -> VectorPosterior:
        """Compute the posterior that treats pooled copies as real data, or draws as the mean.

        It is wrong, and for comparison with the right one: an analysis of the release, as it is,
        gives it.
        """
        _ = release.mechanism
        return posterior_given(self.read_naive(release)[0], self.prior)

    def log_evidence(self, release: Releases) -> float:
        """Compute the log of the outputs' density under the model.

        Raises
        ------
        InvalidInput
            If the prior is flat, as the outputs then have no density.
        """
        m0, S0 = self._proper("outputs have no probability")
        return sum(
            each.log_rest
            + float(Normal(m0, root_of(S0 + each.spread)).log_density(each.centre[None])[0])
            for each in self.read(release)
        )

    def pointwise(self, parts: Sequence[Part], values: Mapping[str, Floats]) -> Floats:
        """Compute the log density of a group's outputs at draws of mu, shape (draws,)."""
        seen = self._seen(parts)
        return seen.log_rest + Normal(seen.centre, root_of(seen.spread)).log_density(values["mu"])

    def from_prior(self, run: Run, rng: np.random.Generator) -> dict[str, Floats]:
        """Draw mu from its prior, of each group by itself.

        Raises
        ------
        InvalidInput
            If the prior is flat.
        """
        m0, S0 = self._proper("there are no draws from it")
        mu = Normal(m0, root_of(S0)).draw(math.prod(run.shape), rng)
        return {"mu": mu.reshape(*run.shape, len(m0))}

    def predicted(self, release: Release, part: Part) -> Statistic:
        """Return a function that draws the sums of a part's new records, given mu."""
        return partial(_new_sums, self._seen([part]), part)

    def read(self, release: Releases) -> list[SeenVector]:
        """Read what each group's outputs are worth as an observation of mu."""
        groups = parts_of(release)
        seen = [self._seen(parts) for parts in groups]
        if len({each.columns for each in seen}) > 1:
            raise InvalidInput(
                "the groups of this release have different columns; fit each by itself, as "
                f"release[{quoted(groups[0][0].group)}]"
            )
        return seen

    def read_naive(self, release: Release) -> list[SeenVector]:
        """Read each group's outputs as if they were real."""
        return [self._seen([part], naive=True) for part in release.parts]

    def sample(self, run: Run) -> Draws:
        """Draw independently from the posterior of each group, or by NUTS."""
        if run.engine == "exact":
            return self._drawn(run)
        return with_groups(super().sample(run), "mu", run.release)  # Stan's program always has them

    def naive(self, run: Run) -> Draws:
        """Draw from the `naive_posterior` of each group."""
        return self._drawn(run)

    def about(self, run: Run, drawn: Draws) -> dict[str, str]:
        """Prior and covariance, and "expected_share_outside_bounds"."""
        groups = parts_of(run.release)
        mu = drawn.posterior["mu"]
        each = np.moveaxis(mu.reshape(-1, len(groups), mu.shape[-1]), 1, 0)
        shares = [
            share
            for parts, seen, centres in zip(groups, run.read, each, strict=True)
            for part in parts
            for share in _shares_outside(part, seen, centres)
        ]
        return {**super().about(run, drawn), **told_largest(shares, stacklevel=5)}

    def labels(self, run: Run, drawn: Draws) -> dict[str, Any]:
        """Dimension: one mean for each column."""
        return {"coords": {"column": list(run.read[0].columns)}}

    def pymc_model(self, release: Releases) -> pm.Model:
        """Build the model as a pm.Model, the records' mean integrated out.

        Raises
        ------
        InvalidInput
            If the model doesn't fit the release.
        """
        from bayesdp.engines.pymc.multivariate_gaussian import multivariate_gaussian

        read = self.read(release)
        seen = [(each.centre, each.spread) for each in read]
        return multivariate_gaussian(seen, self.prior, read[0].columns, groups_of(release))

    def stan_data(self, release: Releases) -> dict[str, Any]:
        """Build the data of the Stan program `multivariate_gaussian`.

        Raises
        ------
        InvalidInput
            If the model doesn't fit the release.
        """
        read = self.read(release)
        d = len(read[0].columns)
        m0, S0 = map(np.array, self.prior or (np.zeros(d), np.eye(d)))
        return {
            "G": len(read),
            "D": d,
            "centre": np.array([each.centre for each in read]),
            "root": np.array([root_of(each.spread) for each in read]),
            "log_rest": np.array([each.log_rest for each in read]),
            "flat": int(self.prior is None),
            "prior_mean": m0,
            "prior_root": root_of(S0),
        }

    def _seen(self, parts: Sequence[Part], *, naive: bool = False) -> SeenVector:
        agreed_size(parts, None)
        seen = seen_vector(parts, self.covariance, naive=naive)
        d = len(seen.columns)
        if self.prior is not None and len(self.prior[0]) != d:
            raise InvalidInput(
                f"the model's prior is of {len(self.prior[0])} columns, but the release is of {d}"
            )
        return seen

    def _drawn(self, run: Run) -> Draws:
        posteriors = [posterior_given(seen, self.prior) for seen in run.read]
        scalar = groups_of(run.release) is None
        return exact.sample(posteriors, scalar=scalar, **run.independent)

    def _proper(self, why: str) -> tuple[Floats, Floats]:
        """Mean and covariance of the prior; raise InvalidInput where it is flat."""
        if self.prior is None:
            raise InvalidInput(
                f"the prior is flat, and {why}; give a prior, as "
                "MultivariateGaussianModel(prior=((0, 0), ((100, 0), (0, 100))))"
            )
        return np.array(self.prior[0]), np.array(self.prior[1])


def _length(prior: Any) -> int:
    """Number of columns of a prior that isn't checked yet; 1 where it can't be told."""
    try:
        return len(prior[0])
    except (TypeError, LookupError):
        return 1


def _shares_outside(part: Part, seen: SeenVector, mu: Floats) -> list[float]:
    """Expected share of records beyond the bounds of each column, given draws of mu."""
    view: Any = view_of(part.mechanism, NormalVectorView)
    columns = zip(view.ends, mu.T, np.sqrt(np.diag(seen.covariance)), strict=True)
    return [share_outside((-end, end), centre, sd) for end, centre, sd in columns]


def _new_sums(seen: SeenVector, part: Part, theta: Theta, rng: Rng) -> Any:
    """Draw the sums of new records, whose mean is within the public box."""
    view: Any = view_of(part.mechanism, NormalVectorView)
    law = Normal(np.asarray(theta["mu"]), root_of(seen.covariance / view.n))
    return within_bounds(part, lambda: view.statistic(law.draw(1, rng)[0]))
