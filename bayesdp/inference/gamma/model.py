r"""The gamma model: rate and mean of exponential or gamma records from what was released of them.

    theta ~ Gamma(a, b),    x_1, ..., x_n ~ Gamma(k, theta),    z_j | x ~ mechanism,  j = 1..M.

Only z is seen, and it depends on the records through their sum. The posterior of the rate theta is
a mixture of gamma laws, by one-dimensional quadrature (`bayesdp.inference.gamma.total`). Divided by
the prior it is the likelihood, which PyMC and Stan sample.

Bounds. A mechanism of sums needs public bounds. Exponential records are conditioned on them
exactly: on being moved to the upper one, or on being refused beyond them
(`bayesdp.inference.gamma.sums`); the posterior is right however many are. For another shape, or
records that are moved to a lower bound above 0, no such mixture exists, and p(S) is taken as that
of free records. That is right where what is beyond the bounds moves the mean by little beside the
posterior's standard deviation of it; where it isn't, intervals miss. The attrs then have the
expected share of records beyond the bounds, and what the bounds take from the mean in standard
deviations of it, both under the posterior; a fit warns if the latter is more than 0.2, where 95%
intervals of a normal posterior still cover 94.5%.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.checks import check_one_of, keep
from bayesdp.core.sum_views import PositiveSumView
from bayesdp.core.views import ExactView, NoiseView, check_tractable, view_of
from bayesdp.engines import exact
from bayesdp.engines.draws import Draws
from bayesdp.engines.gamma_mixture import GammaMixture, gamma_logpdf
from bayesdp.engines.stan.rows import ends_of_rows
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.base import Model, Run
from bayesdp.inference.conflict import Noise, noise_from
from bayesdp.inference.exact_release import is_exact
from bayesdp.inference.gamma.sums import BoundedSums, FreeSums, Sums
from bayesdp.inference.gamma.total import (
    RatePosterior,
    SeenTotal,
    known_total,
    posterior_given_total,
    posterior_of_rate,
    total_through_copies,
    total_through_noise,
)
from bayesdp.inference.gaussian.release import is_noise, naive_size
from bayesdp.inference.predictive_statistics import Rng, Statistic, Theta, known_size
from bayesdp.inference.readers import instead
from bayesdp.inference.result import groups_of
from bayesdp.inference.several import Releases, parts_alone, parts_of, releases_of
from bayesdp.inference.sizes import kept_sizes, sizes_of_parts
from bayesdp.inference.unknown_size import over_sizes
from bayesdp.mechanisms.counts.beta_binomial import check_prior
from bayesdp.mechanisms.counts.exact_statistic import value_of
from bayesdp.mechanisms.families.gamma import check_positive_interval, check_shape
from bayesdp.release import Part, Release
from bayesdp.warned import warn_about

if TYPE_CHECKING:
    import pymc as pm

Floats = NDArray[np.float64]

_MOST_TERMS = 200_000  # of a program's likelihoods
_WARN_BIAS = 0.2  # standard deviations of the mean
TAKES = (
    "modips copies of gamma records (bdp.ModipsSynthesizer with bdp.families.Gamma), "
    "conjugate draws of gamma records (bdp.mechanisms.ConjugateMechanism), "
    "and a noisy sum or mean by LaplaceMechanism, GaussianMechanism, DiscreteLaplaceMechanism or "
    "DiscreteGaussianMechanism, or such a number exactly by "
    "bdp.distributional.ExactStatisticMechanism"
)


@dataclass(frozen=True)
class Bounds:
    """Public bounds of records, and whether those beyond were moved there or refused."""

    ends: tuple[float, float]
    clip: bool

    def exact(self, shape: float) -> bool:
        """Return True if the law of the sum within the bounds is exact for records of a shape."""
        return shape == 1.0 and (self.ends[0] == 0.0 or not self.clip)


@dataclass(frozen=True)
class GammaModel(Model):
    """Inference about the rate and mean of exponential or gamma records, or those in each group.

    Parameters
    ----------
    prior : tuple of two floats
        (a, b), shape and rate of the gamma prior of the rate: mean a / b.
    shape : float
        Shape k of the records' law, which is known; 1 is the exponential law. That of copies must
        be the one they were drawn with.
    statistic : {"sum", "mean"}
        The statistic of a noisy release. Releases of copies declare it themselves.
    bounds : tuple of two floats, optional
        Bounds that the records of a noisy sum or mean were moved to where they were beyond; None
        if none was. Releases of copies declare theirs.
    n : int, range, array_like of float, or mapping of group labels to these, optional
        Where the release doesn't say the number of records: the number, a range of equally likely
        ones, or an array whose element k is Pr[n = k], in each group by itself; or each group's, as
        {"north": 400, "south": range(50, 71)}. A prior is summed out by few numbers
        (`bayesdp.inference.unknown_size`).

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    The posterior variables are "rate" and "mean", the records' mean, which is shape / rate. The
    "exact" engine draws independently; "pymc" and "stan" sample the same posterior by NUTS, the
    sum integrated out. Exponential records are conditioned on public bounds exactly: as moved to
    the upper one or, where a release refused others, as none beyond. Where
    that isn't possible, as for another shape, the attrs have "expected_share_outside_bounds" and
    "bias_of_bounds_in_sds", and a fit warns if the latter is more than 0.2.

    Examples
    --------
    >>> import bayesdp as bdp, numpy as np
    >>> waits = np.random.default_rng(1).exponential(20, size=500)
    >>> family = bdp.families.Gamma(bounds=(0, 240))
    >>> release = bdp.ModipsSynthesizer(family=family, epsilon=1.0, copies=2).release(waits)
    >>> low, high = bdp.models.GammaModel(prior=(1, 20)).posterior(release).interval(0.95)
    """

    prior: tuple[float, float]
    shape: float = 1.0
    statistic: str = "sum"
    bounds: tuple[float, float] | None = None
    n: Any = None

    family: ClassVar[str] = "gamma"
    engines: ClassVar[tuple[str, ...]] = ("exact", "pymc", "stan")
    variables: ClassVar[Sequence[str]] = ("rate", "mean")
    derived: ClassVar[frozenset[str]] = frozenset({"mean"})
    means: ClassVar[frozenset[str]] = frozenset({"mean"})
    reason: ClassVar[str] = "the latent sum can be integrated out, so independent draws exist"
    told: ClassVar[tuple[str, ...]] = ("prior", "shape", "bounds")

    @classmethod
    def reads(cls, mechanism: Any) -> bool:
        """Return True if the model has the law of this mechanism's outputs."""
        if view_of(mechanism, PositiveSumView) is not None:
            return True
        exact = view_of(mechanism, ExactView)
        if exact is not None:
            return exact.shape == () and not exact.hidden
        noise = view_of(mechanism, NoiseView)
        return noise is not None and is_noise(mechanism) and noise.shape == ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", check_prior(self.prior, law="gamma"))
        object.__setattr__(self, "shape", check_shape(self.shape))
        check_one_of("statistic", self.statistic, ("sum", "mean"))
        if self.bounds is not None:
            object.__setattr__(self, "bounds", check_positive_interval(self.bounds))
        keep(self, n=kept_sizes(self.n, 1))

    def posterior(self, release: Releases) -> GammaMixture:
        """Compute the exact posterior of the rate.

        Parameters
        ----------
        release : Release, or several in a list
            With groups, take one of them: `posterior(release["a"])`.

        Raises
        ------
        InvalidInput
            If the release has groups, or the model doesn't fit it.
        """
        return self._posterior_of(parts_alone(release)).mixture

    def naive_posterior(self, release: Release) -> GammaMixture:
        """Compute the posterior that treats pooled copies as real data, or noisy numbers as true.

        It is wrong, and for comparison with the right one: an analysis of the release, as it is,
        gives it.
        """
        _ = release.mechanism
        return self._naive(release.parts[0])

    def log_evidence(self, release: Releases) -> float:
        """Compute the log of the outputs' probability, or density, under the model."""
        return sum(each.log_evidence for each in self.read(release))

    def pointwise(self, parts: Sequence[Part], values: Mapping[str, Floats]) -> Floats:
        """Compute the log density of a group's outputs at draws of the rate, shape (draws,).

        By Bayes' theorem it is that of the posterior times the evidence over the prior.
        """
        found = self._posterior_of(parts)
        law = found.mixture.log_density(values["rate"]) + found.log_evidence
        return np.asarray(law - gamma_logpdf(values["rate"], *self.prior))

    def from_prior(self, run: Run, rng: np.random.Generator) -> dict[str, Floats]:
        """Draw the rate from its prior, and the mean, of each group by itself."""
        rate = rng.standard_gamma(self.prior[0], run.shape) / self.prior[1]
        return self._with_mean(rate)

    def predicted(self, release: Release, part: Part) -> Statistic:
        """Return a function that draws the sum of a part's new records, given the rate."""
        return partial(self._new_statistic, part)

    def noises(self, release: Releases, read: Any = None) -> list[Noise]:
        """Compute the least noise that explains the outputs by sums that aren't negative."""
        noises: list[Noise] = []
        for parts in parts_of(release):
            noises += noise_from(parts, 0.0, np.inf)
        return noises

    def read(self, release: Releases) -> list[RatePosterior]:
        """Compute the posterior of each group."""
        return [self._posterior_of(parts) for parts in parts_of(release)]

    def read_naive(self, release: Release) -> list[GammaMixture]:
        """Compute each group's posterior as if copies or noisy numbers were real."""
        return [self._naive(part) for part in release.parts]

    def sample(self, run: Run) -> Draws:
        """Draw independently from the mixture of each group, or by a program of its rates."""
        if run.engine == "exact":
            return self._drawn(run, [each.mixture for each in run.read])
        return super().sample(run)

    def naive(self, run: Run) -> Draws:
        """Draw from the `naive_posterior` of each group."""
        return self._drawn(run, run.read)

    def about(self, run: Run, drawn: Draws) -> dict[str, str]:
        """Prior and shape, and for public bounds what they leave out."""
        told = super().about(run, drawn)
        groups = parts_of(run.release)
        rates = drawn.posterior["rate"].reshape(-1, len(groups)).T
        outside = [
            self._outside(bounds, rate)
            for parts, rate in zip(groups, rates, strict=True)
            if (bounds := self._bounds_of(parts)) and not bounds.exact(self.shape)
        ]
        if not outside:
            return told
        share, bias = (float(max(each)) for each in zip(*outside, strict=True))
        if bias > _WARN_BIAS:
            warn_about(
                f"under this posterior {share:.1%} of gamma records would be beyond the public "
                f"bounds, and the mean of the others is off by {bias:.2g} of the posterior's "
                "standard deviations, so that intervals are too low or too narrow; take bounds "
                "further apart in the next release",
                "bounds",
                stacklevel=4,
            )
        return told | {
            "expected_share_outside_bounds": repr(share),
            "bias_of_bounds_in_sds": repr(bias),
        }

    def pymc_model(self, release: Releases) -> pm.Model:
        """Build the model as a pm.Model, the sums integrated out.

        Raises
        ------
        InvalidInput
            If the model doesn't fit the release, or the integrals have too many terms.
        """
        from bayesdp.engines.pymc.gamma import gamma

        return gamma(self.stan_data(release), groups_of(release))

    def stan_data(self, release: Releases) -> dict[str, Any]:
        """Build the data of the Stan program `gamma`.

        Raises
        ------
        InvalidInput
            As for `pymc_model`.
        """
        read = self.read(release)
        terms = [each.likelihood(self.prior) for each in read]
        ends = ends_of_rows([log_weight.size for log_weight, *_ in terms])
        many = int(ends["last"][-1])
        if many > _MOST_TERMS:
            raise InvalidInput(
                f"the programs of PyMC and Stan would sum over {many:,} terms at every step, more "
                f"than {_MOST_TERMS:,}; use engine='exact'"
            )
        each = zip(("log_weight", "power", "total"), zip(*terms, strict=True), strict=True)
        means = np.array([one.mixture.mean() for one in read])
        # About the sd of the log, and never more than 1, where the posterior is as wide.
        spreads = np.array([one.mixture.sd() for one in read]) / means
        return {
            "G": len(read),
            "K": many,
            **ends,
            **{name: np.concatenate(rows) for name, rows in each},
            "shape": self.shape,
            "prior_shape": self.prior[0],
            "prior_rate": self.prior[1],
            "centre": np.log(means),
            "scale": np.minimum(spreads, 1.0),
        }

    def _drawn(self, run: Run, mixtures: Sequence[GammaMixture]) -> Draws:
        scalar = releases_of(run.release)[0].by is None
        drawn = exact.sample(mixtures, scalar=scalar, **run.independent)
        return Draws(self._with_mean(drawn.posterior["rate"]), drawn.sample_stats, drawn.engine,
                     drawn.versions)  # fmt: skip

    def _with_mean(self, rate: Floats) -> dict[str, Floats]:
        return {"rate": rate, "mean": self.shape / rate}

    def _posterior_of(self, parts: Sequence[Part]) -> RatePosterior:
        for part in parts:
            self._check_read(part.mechanism)
        sizes = sizes_of_parts(self.n, parts, type(self).__name__)
        return over_sizes(sizes, partial(self._posterior_given, parts))

    def _posterior_given(self, parts: Sequence[Part], n: int) -> RatePosterior:
        known = [part for part in parts if is_exact(part.mechanism)]
        each = [self._seen(part, n) for part in parts if part not in known]
        bounds = self._bounds_of(parts)
        sums: Sums = FreeSums(n, self.shape, self.prior)
        if bounds is not None and bounds.exact(self.shape):
            sums = BoundedSums(n, bounds.ends, bounds.clip, self.prior)
        if not known:
            return posterior_of_rate(each, sums, self.shape, self.prior)
        totals = {self._known(part, n) for part in known}
        if len(totals) > 1:
            raise InvalidInput("the exact releases differ, but are to be of one sum")
        found = posterior_given_total(totals.pop(), each, sums, self.prior)
        if self.statistic == "sum":
            return found
        return replace(found, log_evidence=found.log_evidence + math.log(n))  # of the mean

    def _known(self, part: Part, n: int) -> float:
        """Sum of the records where it was released exactly."""
        total = float(value_of(part.outputs)) * (1 if self.statistic == "sum" else n)
        if not total > 0:
            raise InvalidInput("the exact sum isn't positive; that of gamma records always is")
        return total

    def _bounds_of(self, parts: Sequence[Part]) -> Bounds | None:
        """Public bounds of a group's records; None where there are none."""
        views = [view_of(part.mechanism, PositiveSumView) for part in parts]
        found = {Bounds(view.bounds, view.clip) for view in views if view is not None}
        if self.bounds is not None and None in views:
            found.add(Bounds(self.bounds, clip=True))
        if len(found) > 1:
            raise InvalidInput(
                "the releases are of records that were kept within different bounds, so they "
                "aren't of the same sum; fit each by itself"
            )
        return found.pop() if found else None

    def _seen(self, part: Part, n: int) -> SeenTotal:
        if (view := view_of(part.mechanism, PositiveSumView)) is None:
            noise: Any = view_of(part.mechanism, NoiseView)
            return total_through_noise(part, noise.cell, n, self.statistic)
        if view.shape != self.shape:
            raise InvalidInput(
                f"the copies are of gamma records of shape {quoted(view.shape)}, but the model has "
                f"shape = {quoted(self.shape)}; give it the copies' own"
            )
        return total_through_copies(part, view, n)

    def _check_read(self, mechanism: Any) -> None:
        if view_of(mechanism, PositiveSumView) is None and not is_exact(mechanism):
            check_tractable(mechanism, PositiveSumView)
        if not self.reads(mechanism):
            raise InvalidInput(
                f"the release's mechanism {quoted(mechanism.name)} doesn't randomise what a "
                f"GammaModel can read; it takes {TAKES}; {instead(mechanism)}"
            )

    def _naive(self, part: Part) -> GammaMixture:
        self._check_read(part.mechanism)
        n = naive_size(part, self.n, type(self).__name__)
        if is_exact(part.mechanism):
            return known_total(n, self._known(part, n), self.shape, self.prior)
        self._seen(part, n)  # which refuses another shape
        if view_of(part.mechanism, PositiveSumView) is not None:
            released = np.concatenate([part.mechanism.records(z) for z in part.outputs])
            size, total = released.size, float(released.sum())
            if not getattr(part.mechanism, "size", None):  # rates, taken for the records' own
                size, total = n, n * self.shape * size / total
            return known_total(size, total, self.shape, self.prior)
        total = float(np.mean(part.outputs)) * (1 if self.statistic == "sum" else n)
        if total < 0:
            raise InvalidInput(
                "the noisy numbers are those of no records: their sum is negative, so there is no "
                "naive posterior"
            )
        return known_total(n, total, self.shape, self.prior)

    def _new_statistic(self, part: Part, theta: Theta, rng: Rng) -> Any:
        """Draw the sum of new records, within the public bounds if there are any."""
        n, view = known_size(part, self.n), view_of(part.mechanism, PositiveSumView)
        total: Any = self._new_total(self._bounds_of([part]), n, float(theta["rate"]), rng)
        if view is not None:
            return view.statistic(n, min(max(total, n * view.bounds[0]), n * view.bounds[1]))
        given: Any = total / (1 if self.statistic == "sum" else n)
        return np.rint(given).astype(np.int64) if getattr(part.mechanism, "whole", False) else given

    def _new_total(self, bounds: Bounds | None, n: int, rate: float, rng: Rng) -> float:
        """Draw the sum of new records, those beyond the bounds moved or, as refused, left out."""
        if bounds is None:
            return float(rng.standard_gamma(n * self.shape) / rate)
        low, high = bounds.ends
        if bounds.clip:
            return float(np.clip(rng.standard_gamma(self.shape, n) / rate, low, high).sum())
        first, last = (float(special.gammainc(self.shape, rate * end)) for end in (low, high))
        inside = special.gammaincinv(self.shape, rng.uniform(first, last, n)) / rate
        return float(np.clip(inside, low, high).sum())

    def _outside(self, bounds: Bounds, rate: Floats) -> tuple[float, float]:
        """Expected share of records beyond the bounds, and what they take from the mean, in sds."""
        k, (low, high) = self.shape, bounds.ends
        below, above = special.gammainc(k, rate * low), special.gammaincc(k, rate * high)
        first = special.gammaincc(k + 1, rate * low) - special.gammaincc(k + 1, rate * high)
        kept = k / rate * first  # integral of x over what is within the bounds
        moved = kept + low * below + high * above
        mean, inside = k / rate, np.maximum(1 - below - above, 1e-9)
        seen = moved if bounds.clip else kept / inside
        bias = np.abs(np.mean(mean - seen)) / np.std(mean)
        return float(np.mean(below + above)), float(bias)
