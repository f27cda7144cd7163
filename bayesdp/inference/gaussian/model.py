r"""The Gaussian model: mean and sd of normal records from what was released of them.

    mu, sigma ~ prior,    x_1, ..., x_n ~ N(mu, sigma^2),    z_k | x ~ mechanism,  k = 1..M.

Only z is seen, and it depends on the records through their mean and, where sigma is unknown, their
variance. The posterior is a mixture of normals, by one-dimensional quadrature
(`bayesdp.inference.gaussian.mean`), or of normal-inverse-gammas, by a two-dimensional one
(`bayesdp.inference.gaussian.pair`).

Bounds. Mechanisms of real records need public bounds, and the model's records have none: they are
normal and happened to lie within the bounds, and p(mean) is taken as that of normal records. That
is right where records beyond the bounds are rare; where they aren't, records that were refused or
clipped aren't normal, and the model is wrong. The attrs have the expected share of records beyond
the bounds under the posterior, and a fit warns if it is more than 1%.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import keep
from bayesdp.engines import exact
from bayesdp.engines.draws import Draws
from bayesdp.engines.normal_inverse_gamma import NormalInverseGammaMixture
from bayesdp.engines.normal_mixture import NormalMixture, normal_logpdf
from bayesdp.engines.observed_normals import Observed
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.base import Model, Run
from bayesdp.inference.conflict import Noise
from bayesdp.inference.exact_release import is_exact, posterior_given
from bayesdp.inference.gaussian import mean as gaussian_mean
from bayesdp.inference.gaussian import pair as gaussian_pair
from bayesdp.inference.gaussian.mean import MeanPosterior, known_mean, posterior_of_mean
from bayesdp.inference.gaussian.nuts import all_observed
from bayesdp.inference.gaussian.pair import PairPosterior, known_pair, posterior_of_pair
from bayesdp.inference.gaussian.predictive import moments
from bayesdp.inference.gaussian.release import (
    check_read,
    checked_prior,
    checked_sd,
    is_of_normal,
    naive_mean,
    naive_pair,
    naive_size,
    noises_of_normal,
    seen_mean,
    seen_pair,
    told_shares,
)
from bayesdp.inference.predictive_statistics import Statistic
from bayesdp.inference.result import groups_of
from bayesdp.inference.several import (
    Releases,
    only_one,
    parts_alone,
    parts_of,
    releases_of,
)
from bayesdp.inference.sizes import alone, kept_sizes, largest_said, sizes_of_parts
from bayesdp.inference.unknown_size import over_sizes
from bayesdp.release import Part, Release

if TYPE_CHECKING:
    import pymc as pm

Floats = NDArray[np.float64]
Posterior = NormalMixture | NormalInverseGammaMixture


@dataclass(frozen=True)
class GaussianModel(Model):
    """Inference about the mean and sd of normal records, or those in each group.

    Parameters
    ----------
    prior : tuple of floats, optional
        sd known: (m0, s0), mean and standard deviation of the normal prior of mu; None is flat.
        sd unknown: (m0, k, a, b), where sigma^2 ~ InverseGamma(a, b) and mu ~ N(m0, sigma^2 / k);
        needed, as under 1 / sigma^2 no noisy variance has a posterior.
    sd : float, optional
        The records' standard deviation, if it is known; None where it is a parameter.
    statistic : {"mean", "sum"}
        The statistic of a noisy release. With sd unknown it has two numbers: the mean and the
        variance with divisor n - 1, or the sum and the sum of squares. Releases of copies and
        conjugate releases declare it themselves.
    n : int, range, array_like of float, or mapping of group labels to these, optional
        Where the release doesn't say the number of records: the number, a range of equally likely
        ones, or an array whose element k is Pr[n = k], in each group by itself; or each group's, as
        {"north": 400, "south": range(50, 71)}. A prior is for the "exact" engine, which sums it out
        by few numbers (`bayesdp.inference.unknown_size`).

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    The posterior variables are "mu" and, where sd is unknown, "sigma". The "exact" engine is always
    possible. "pymc" and "stan" sample the same posterior by NUTS from noisy numbers, together with
    the latent statistic, and "pymc" from modips copies too, with the variables between statistic
    and copies. Where a release has public bounds, the attrs have "expected_share_outside_bounds",
    and a fit warns if it is more than 1%.

    Examples
    --------
    >>> import bayesdp as bdp, numpy as np
    >>> x = np.random.default_rng(1).normal(0.5, 1, size=1000)
    >>> family = bdp.families.Gaussian(bounds=(-5, 5), sd=1.0)
    >>> release = bdp.ModipsSynthesizer(family=family, epsilon=1.0, copies=5).release(x)
    >>> low, high = bdp.GaussianModel(sd=1.0).posterior(release).interval(0.95)
    """

    prior: tuple[float, ...] | None = None
    sd: float | None = None
    statistic: str = "mean"
    n: Any = None

    family: ClassVar[str] = "gaussian"
    engines: ClassVar[tuple[str, ...]] = ("exact", "pymc", "stan")
    means: ClassVar[frozenset[str]] = frozenset({"mu"})
    reason: ClassVar[str] = "the latent statistic can be integrated out, so independent draws exist"
    told: ClassVar[tuple[str, ...]] = ("prior", "sd")

    @classmethod
    def reads(cls, mechanism: Any) -> bool:
        """Return True if the model has the law of this mechanism's outputs."""
        return is_of_normal(mechanism)

    def __post_init__(self) -> None:
        if self.sd is not None:
            object.__setattr__(self, "sd", checked_sd(self.sd))
        elif self.prior is None:
            raise InvalidInput(
                "prior is None, but with sd unknown too no noisy variance has a posterior under a "
                "flat prior, as a true one near 0 can't be ruled out; give (m0, k, a, b), for "
                "example GaussianModel(prior=(0, 0.01, 2, 1)), or sd"
            )
        if self.prior is not None:
            names = ("m0", "s0") if self.sd is not None else ("m0", "k", "a", "b")
            object.__setattr__(self, "prior", checked_prior(self.prior, names))
        if self.statistic not in ("mean", "sum"):
            raise InvalidInput(f"statistic is {quoted(self.statistic)}; it must be 'mean' or 'sum'")
        keep(self, n=kept_sizes(self.n, least=1 if self.sd is not None else 2))

    def posterior(self, release: Releases) -> Posterior:
        """Compute the exact posterior of mu, or of mu and sigma.

        Parameters
        ----------
        release : Release, or several in a list
            With groups, take one of them: `posterior(release["a"])`.

        Raises
        ------
        InvalidInput
            If the release has groups, or the model doesn't fit it.
        """
        found: Posterior = self._posterior_of(parts_alone(release)).mixture
        return found

    def log_evidence(self, release: Releases) -> float:
        """Compute the log of the outputs' probability, or density, under the model.

        Raises
        ------
        InvalidInput
            If the prior is flat, as the outputs then have no probability.
        """
        if self.prior is None:
            raise InvalidInput(
                "the prior is flat, under which outputs have no probability; give a prior, as "
                "GaussianModel(prior=(0, 10), sd=1)"
            )
        return sum(each.log_evidence for each in self._posteriors(release))

    def pointwise(self, parts: Sequence[Part], values: Mapping[str, Floats]) -> Floats:
        """Compute the log density of a group's outputs at draws of the parameters, shape (draws,).

        By Bayes' theorem it is that of the posterior times the evidence over the prior, whatever
        the prior is.
        """
        found: Any = self._posterior_of(parts)
        law = found.mixture.log_density(*(values[name] for name in self.variables))
        law = law + found.log_evidence
        if self.sd is None:
            m0, k, a, b = self.prior or ()
            own = NormalInverseGammaMixture(np.ones(1), np.array([m0]), np.array([b]), a, k)
            return np.asarray(law - own.log_density(values["mu"], values["sigma"]))
        prior = self._normal_prior
        return law if prior is None else np.asarray(law - normal_logpdf(values["mu"], *prior))

    def from_prior(self, run: Run, rng: np.random.Generator) -> dict[str, Floats]:
        """Draw mu, and sigma where it isn't known, from their priors, of each group by itself.

        Raises
        ------
        InvalidInput
            If the prior is flat.
        """
        if self.prior is None:
            raise InvalidInput(
                "the prior is flat, and there are no draws from it; give a prior, as "
                "GaussianModel(prior=(0, 10), sd=1)"
            )
        size = run.shape
        if self.sd is not None:
            m0, s0 = self.prior
            return {"mu": rng.normal(m0, s0, size)}
        m0, k, a, b = self.prior
        sigma = np.sqrt(b / rng.standard_gamma(a, size))
        return {"mu": rng.normal(m0, sigma / np.sqrt(k)), "sigma": sigma}

    def predicted(self, release: Release, part: Part) -> Statistic:
        """Return a function that draws moments of a part's new records, given the parameters."""
        return partial(moments, self.sd, self.statistic, self.n, part)

    def noises(self, release: Releases, read: Any = None) -> list[Noise]:
        """Compute the least noise that explains the outputs."""
        groups = parts_of(release)
        largest = [largest_said(self.n, parts) for parts in groups]
        return noises_of_normal(groups, self.sd, largest, self.statistic)

    def naive_posterior(self, release: Release) -> Posterior:
        """Compute the posterior that treats pooled copies as real data, or noisy numbers as true.

        It is wrong, and for comparison with the right one: an analysis of the release, as it is,
        gives it.
        """
        _ = release.mechanism
        return self._naive_posteriors(release)[0]

    def _posteriors(self, release: Releases) -> Sequence[MeanPosterior | PairPosterior]:
        return [self._posterior_of(parts) for parts in parts_of(release)]

    def _posterior_of(self, parts: Sequence[Part]) -> Any:
        for part in parts:
            check_read(part.mechanism)
        sizes = sizes_of_parts(self.n, parts, type(self).__name__)
        return over_sizes(sizes, partial(self._posterior_given, parts))

    def _posterior_given(self, parts: Sequence[Part], n: int) -> MeanPosterior | PairPosterior:
        exact = [part for part in parts if is_exact(part.mechanism)]
        each = seen_pair if self.sd is None else seen_mean
        seen: list[Any] = [each(p, n, self.statistic) for p in parts if p not in exact]
        if exact:
            return posterior_given(exact, seen, n, self.statistic, self.sd, self.prior)
        if self.sd is None:
            return posterior_of_pair(gaussian_pair.seen_together(seen), self.prior or ())
        mean = gaussian_mean.seen_together(seen)
        return posterior_of_mean(mean, self.sd, self._normal_prior)

    def _naive_posteriors(self, release: Release) -> list[Posterior]:
        name = type(self).__name__
        parts = [(part, naive_size(part, self.n, name)) for part in release.parts]
        if self.sd is None:
            pairs = [naive_pair(*part, self.statistic) for part in parts]
            return [known_pair(*pair, self.prior or ()) for pair in pairs]
        means = [naive_mean(*part, self.statistic) for part in parts]
        return [known_mean(*mean, self.sd, self._normal_prior) for mean in means]

    @property
    def variables(self) -> Sequence[str]:
        """Names of the mean, and of the sd where it isn't known."""
        return ("mu",) if self.sd is not None else ("mu", "sigma")

    def sample(self, run: Run) -> Draws:
        """Draw by the engine chosen."""
        if run.engine == "exact":
            mixtures = [each.mixture for each in self._posteriors(run.release)]
            scalar = releases_of(run.release)[0].by is None
            return exact.sample(mixtures, scalar=scalar, **run.independent)
        return super().sample(run)

    def naive(self, run: Run) -> Draws:
        """Draw from the `naive_posterior` of each group."""
        mixtures = self._naive_posteriors(run.release)
        return exact.sample(mixtures, scalar=run.release.by is None, **run.independent)

    def about(self, run: Run, drawn: Draws) -> dict[str, str]:
        """The prior, and for public bounds "expected_share_outside_bounds"."""
        sigma = drawn.posterior.get("sigma", self.sd or 0.0)
        shares = told_shares(run.release, drawn.posterior["mu"], sigma)
        return {**super().about(run, drawn), **shares}

    def pymc_model(self, release: Releases) -> pm.Model:
        """Build the model as a pm.Model, with the statistic and copies as latent variables.

        Raises
        ------
        InvalidInput
            If the release is of integers, where NUTS has no gradient, or conjugate, where it isn't
            needed; or if, with sd unknown, it has truncated sums or a copy with all its records at
            a bound.
        """
        from bayesdp.engines.pymc.gaussian import gaussian

        parts = self._observed(release, "pymc")
        return gaussian(parts, self.sd, self.prior, groups_of(release))

    def stan_data(self, release: Releases) -> dict[str, Any]:
        """Build the data of the Stan program `gaussian`, with the statistic as a latent variable.

        Raises
        ------
        InvalidInput
            As for `pymc_model`, or if the release is of copies.
        """
        from bayesdp.engines.stan.gaussian import moments_data

        prior = self.prior or ()
        data = moments_data(self._observed(release, "stan"), self.sd)
        return {**data, "P": len(prior), "prior": prior}

    def _observed(self, release: Releases, engine: str) -> list[Observed]:
        parts = only_one(release, engine).parts
        way_out = "use engine='exact', which sums it out"
        said = [sizes_of_parts(self.n, [part], type(self).__name__) for part in parts]
        sizes = [alone(each, engine, way_out) for each in said]
        return all_observed(parts, self.sd, sizes, self.statistic, engine)

    @property
    def _normal_prior(self) -> tuple[float, float] | None:
        return None if self.prior is None else (self.prior[0], self.prior[1])
