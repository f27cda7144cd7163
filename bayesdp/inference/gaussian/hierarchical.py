r"""The hierarchical Gaussian model: means of groups, partially pooled.

    m ~ N(m0, s0^2),    t ~ HalfNormal(c),    mu_g ~ N(m, t^2),
    x_g1, ..., x_gn ~ N(mu_g, sigma^2),       z_g | x_g ~ mechanism.

Where sigma is known, the means of records and of groups are integrated out
(`bayesdp.engines.pooled_means`), so that chains run over m and t alone. Where it isn't,
sigma^2 ~ InverseGamma(a, b) is common to all groups, and NUTS samples all latent numbers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import keep
from bayesdp.engines.draws import Draws
from bayesdp.engines.observed_normals import Observed
from bayesdp.engines.pooled_means import given_means
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.base import Model, Run
from bayesdp.inference.conflict import Noise
from bayesdp.inference.evidence_ways import Answer
from bayesdp.inference.gaussian.model import GaussianModel
from bayesdp.inference.gaussian.nuts import all_observed
from bayesdp.inference.gaussian.pooled_release import (
    Group,
    check_groups,
    seen_groups,
)
from bayesdp.inference.gaussian.predictive import moments
from bayesdp.inference.gaussian.release import (
    checked_prior,
    checked_sd,
    is_of_normal,
    naive_mean,
    naive_size,
    noises_of_normal,
    told_shares,
)
from bayesdp.inference.pooled_evidence import pooled
from bayesdp.inference.predictive_statistics import Statistic
from bayesdp.inference.result import group_coordinate
from bayesdp.inference.several import Releases, only_one, parts_of, releases_of
from bayesdp.inference.sizes import Sizes, alone, kept_sizes, largest_said, sizes_of_parts
from bayesdp.mechanisms.noise.fields import check_positive
from bayesdp.release import Part, Release

if TYPE_CHECKING:
    import pymc as pm

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class HierarchicalGaussianModel(Model):
    """Inference about means of groups of normal records that come from one population of groups.

    Parameters
    ----------
    prior : tuple of two floats
        (m0, s0), mean and standard deviation of the normal prior of m, the groups' mean.
    spread : float
        c, scale of the half-normal prior of t, the standard deviation between groups.
    sd : float, optional
        The records' standard deviation within groups, if it is known.
    variance : tuple of two floats, optional
        (a, b) of the inverse-gamma prior of sigma^2, needed where sd isn't known.
    statistic : {"mean", "sum"}
        The statistic that noise was added to, as for `GaussianModel`.
    n : int, range, array_like of float, or mapping of group labels to these, optional
        Where the release doesn't say each group's number of records: the number, a range of equally
        likely ones, or an array whose element k is Pr[n = k], in each group by itself; or each
        group's, as {"north": 400, "south": range(50, 71)}. A prior needs sd, and is for the
        "marginal" engine, which sums it out (`bayesdp.inference.gaussian.unknown_size_mean`).

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    The posterior variables are "mu" with the dimension "group", "mean" (m), "spread" (t) and, where
    sd is unknown, "sigma". The model reads the same releases as `GaussianModel`, with two groups or
    more; several releases at once need sd. The "marginal" engine integrates means out where sd is
    known, which leaves two numbers to slice sampling; "pymc" and "stan" are NUTS over all numbers,
    "stan" from noisy numbers alone, "pymc" from modips copies too. A fit warns if more than 1% of
    normal records would be beyond public bounds.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> noise = bdp.mechanisms.LaplaceMechanism(0.5, 0.1, "replace_one", n=20)
    >>> outputs = {"a": (noise, [1.25]), "b": (noise, [-0.5]), "c": (noise, [0.75])}
    >>> release = bdp.Release.of_groups(outputs)
    >>> model = bdp.models.HierarchicalGaussianModel((0, 10), spread=2.0, sd=1.0)
    >>> idata = model.fit(release, draws=500, seed=1)
    >>> sorted(idata.posterior.data_vars)
    ['mean', 'mu', 'spread']
    """

    prior: tuple[float, float]
    spread: float
    sd: float | None = None
    variance: tuple[float, float] | None = None
    statistic: str = "mean"
    n: Any = None

    family: ClassVar[str] = "hierarchical_gaussian"
    engines: ClassVar[tuple[str, ...]] = ("marginal", "pymc", "stan")
    means: ClassVar[frozenset[str]] = frozenset({"mu"})
    reason: ClassVar[str] = "means sum out where sd is known, so chains run over two numbers"
    usual: ClassVar[tuple[int, int]] = (2000, 1000)

    @classmethod
    def reads(cls, mechanism: Any) -> bool:
        """Return True if the model has the law of this mechanism's outputs."""
        return is_of_normal(mechanism)

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", checked_prior(self.prior, ("m0", "s0")))
        object.__setattr__(self, "spread", check_positive("spread", self.spread, "records' unit"))
        if (self.sd is None) == (self.variance is None):
            raise InvalidInput(
                f"sd is {quoted(self.sd)} and variance is {quoted(self.variance)}; give one: the "
                "records' standard deviation if it is known, else (a, b) of the prior of its "
                "square"
            )
        if self.sd is not None:
            object.__setattr__(self, "sd", checked_sd(self.sd))
        if self.variance is not None:
            object.__setattr__(self, "variance", _checked_variance(self.variance))
        if self.statistic not in ("mean", "sum"):
            raise InvalidInput(f"statistic is {quoted(self.statistic)}; it must be 'mean' or 'sum'")
        keep(self, n=kept_sizes(self.n, least=1 if self.sd is not None else 2))

    def evidence(self, release: Releases, **options: Any) -> Answer:
        """Compute the log evidence for `bdp.log_evidence`, by a bridge over two numbers.

        Raises
        ------
        InvalidInput
            If sd is unknown.
        """
        if self.sd is None:
            raise InvalidInput(
                "sd is unknown, and then a HierarchicalGaussianModel has no log evidence here; "
                "give it sd, or compare GaussianModels of each group"
            )
        return pooled(self, release, means=True, **options)

    def pointwise(self, parts: Sequence[Part], values: Mapping[str, Floats]) -> Floats:
        """Compute the log density of a group's outputs at draws of its mu, and sigma: (draws,)."""
        wide = math.hypot(self.prior[1], 3 * self.spread)  # any prior would do
        prior: tuple[float, ...] = (self.prior[0], wide)
        if self.variance is not None:
            a, b = self.variance
            prior = (self.prior[0], b / (a * wide**2), a, b)
        alone = GaussianModel(prior, self.sd, self.statistic, self.n)
        return alone.pointwise(parts, values)

    def from_prior(self, run: Run, rng: np.random.Generator) -> dict[str, Floats]:
        """Draw the population's mean and spread from their priors, and groups' means given them."""
        mean = rng.normal(*self.prior, size=run.draws)
        spread = np.abs(rng.normal(0.0, self.spread, size=run.draws))
        mu = rng.normal(mean[:, None], spread[:, None], size=run.shape)
        made = {"mu": mu, "mean": mean, "spread": spread}
        if self.variance is not None:
            a, b = self.variance
            made["sigma"] = np.sqrt(b / rng.standard_gamma(a, run.draws))
        return made

    def predicted(self, release: Release, part: Part) -> Statistic:
        """Return a function that draws moments of a part's new records, given the parameters."""
        return partial(moments, self.sd, self.statistic, self.n, part)

    def noises(self, release: Releases, read: Any = None) -> list[Noise]:
        """Compute the least noise that explains the outputs."""
        groups = parts_of(release)
        largest = [largest_said(self.n, parts) for parts in groups]
        return noises_of_normal(groups, self.sd, largest, self.statistic)

    def known(self, release: Releases) -> list[Group]:
        """Read each group's likelihood of its records' mean, where sd is known."""
        prior = (*self.prior, self.spread)
        groups = parts_of(release)
        sizes = [self._sizes_of(parts) for parts in groups]
        return seen_groups(groups, sizes, self.statistic, float(self.sd or 0), prior)

    def given(self, known: Sequence[Group]) -> Any:
        """Prepare the arrays that the kernels of `pooled_means` take."""
        nodes, laws = [each.nodes for each in known], [each.log_law for each in known]
        variances = [each.variance for each in known]
        return given_means(nodes, laws, variances, (*self.prior, self.spread))

    def read(self, release: Releases) -> None:
        """Check that there are groups."""
        check_groups(releases_of(release)[0])

    def read_naive(self, release: Release) -> list[Group]:
        """Read each group's mean as if it were true; refuse an unknown sd."""
        check_groups(release)
        if self.sd is None:
            raise InvalidInput(
                "sd is unknown, where there is no naive fit here; give the model sd, or fit "
                "GaussianModel's to each group"
            )
        parts = [(part, naive_size(part, self.n, type(self).__name__)) for part in release.parts]
        means = [naive_mean(part, n, self.statistic) for part, n in parts]
        return [Group(np.array([mean]), np.zeros(1), self.sd**2 / n) for n, mean in means]

    def chosen(self, engine: str, read: None) -> tuple[str, str]:
        """Choose NUTS where sd is unknown, and say why."""
        if self.sd is None and engine == "auto":
            return "pymc", "sd is unknown, so all numbers are sampled"
        if self.sd is None and engine == "marginal":
            raise InvalidInput(
                "engine is 'marginal', but sd is unknown, and then means don't sum out; use "
                "engine='pymc' or engine='stan'"
            )
        return super().chosen(engine, read)

    @property
    def variables(self) -> Sequence[str]:
        """Names of the groups' means, their mean and spread, and sd where it isn't known."""
        return ("mu", "mean", "spread", *(["sigma"] if self.sd is None else []))

    def sample(self, run: Run) -> Draws:
        """Draw by the engine chosen."""
        if run.engine == "marginal":
            return self._marginal(run, self.known(run.release))
        return super().sample(run)

    def naive(self, run: Run) -> Draws:
        """Draw as the marginal engine does, given means that are treated as true."""
        return self._marginal(run, run.read)

    def _marginal(self, run: Run, known: Sequence[Group]) -> Draws:
        import numba

        from bayesdp.engines.partial_pooling import sample

        chain, mu = sample(True, self.given(known), **run.chained)
        mean, spread = chain[..., 0], np.exp(chain[..., 1])
        posterior = {"mu": mu, "mean": mean, "spread": spread}
        versions = {"numba": numba.__version__}
        return Draws(posterior, {"lp": chain[..., 2]}, "marginal", versions)

    def about(self, run: Run, drawn: Draws) -> dict[str, str]:
        """The priors, and for public bounds "expected_share_outside_bounds"."""
        sigma = drawn.posterior.get("sigma")
        width = float(self.sd or 0) if sigma is None else sigma[..., None]
        return {
            "prior": json.dumps((*self.prior, self.spread)),
            "sd": json.dumps(self.sd),
            "variance": json.dumps(self.variance),
            **told_shares(run.release, drawn.posterior["mu"], width),
        }

    def labels(self, run: Run, drawn: Draws) -> dict[str, Any]:
        """Dimensions: means have groups; the population's numbers have none."""
        dims: dict[str, list[str]] = {"mu": ["group"], "mean": [], "spread": [], "sigma": []}
        return {"dims": {name: dims[name] for name in drawn.posterior}}

    def pymc_model(self, release: Releases) -> pm.Model:
        """Build the model as a pm.Model, with the statistics and copies as latent variables.

        Raises
        ------
        InvalidInput
            As for `GaussianModel.pymc_model`.
        """
        from bayesdp.engines.pymc.gaussian import pooled

        parts, groups = self._observed(release, "pymc"), group_coordinate(releases_of(release)[0])
        return pooled(parts, self.sd, self.variance, self.prior, self.spread, groups)

    def stan_data(self, release: Releases) -> dict[str, Any]:
        """Build the data of the Stan program `hierarchical_gaussian`.

        Raises
        ------
        InvalidInput
            As for `GaussianModel.stan_data`.
        """
        from bayesdp.engines.stan.gaussian import moments_data

        return {
            **moments_data(self._observed(release, "stan"), self.sd),
            "prior": self.prior,
            "prior_spread": self.spread,
            "prior_variance": self.variance or (),
        }

    def _observed(self, release: Releases, engine: str) -> list[Observed]:
        parts = only_one(release, engine).parts
        way_out = "use engine='marginal', which sums it out"
        if self.sd is None:
            way_out = "give sd, if it is known, or each group's number"
        sizes = [alone(self._sizes_of([part]), engine, way_out) for part in parts]
        return all_observed(parts, self.sd, sizes, self.statistic, engine)

    def _sizes_of(self, parts: Sequence[Part]) -> Sizes:
        """Possible numbers of records of a group, and their probabilities."""
        return sizes_of_parts(self.n, parts, type(self).__name__)


def _checked_variance(variance: Any) -> tuple[float, float]:
    try:
        _, a, b = checked_prior((0.0, *variance), ("m0", "a", "b"))
    except (InvalidInput, TypeError):
        raise InvalidInput(
            f"variance is {quoted(variance)}; it must be (a, b), both positive and finite"
        ) from None
    return a, b
