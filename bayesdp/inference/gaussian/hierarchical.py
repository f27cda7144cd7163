r"""The hierarchical Gaussian model: means of groups that lend each other strength.

    m ~ N(m0, s0^2),    t ~ HalfNormal(c),    mu_g ~ N(m, t^2),
    x_g1, ..., x_gn ~ N(mu_g, sigma^2),       z_g | x_g ~ mechanism.

Where sigma is known, the records' means and the groups' are summed out
(`bayesdp.engines.pooled_means`), so that chains run over m and t alone. Where it isn't,
sigma^2 ~ InverseGamma(a, b) is one for all groups, and NUTS samples all that lies between.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, keep
from bayesdp.engines.draws import Draws, check_sampling
from bayesdp.engines.pooled_means import given_means
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.conflict import Noise
from bayesdp.inference.evidence_ways import Answer
from bayesdp.inference.gaussian.pooled_release import (
    Group,
    check_groups,
    seen_groups,
)
from bayesdp.inference.gaussian.predictive import moments
from bayesdp.inference.gaussian.release import (
    checked_prior,
    is_of_normal,
    naive_mean,
    noises_of_normal,
    share_outside,
)
from bayesdp.inference.pooled_evidence import pooled
from bayesdp.inference.predictive_statistics import Statistic
from bayesdp.inference.result import inference_data
from bayesdp.inference.several import Releases, only_one, parts_of, releases_of
from bayesdp.inference.verdict import verdict_on
from bayesdp.mechanisms.noise.fields import check_positive
from bayesdp.release import Part, Release

if TYPE_CHECKING:
    import arviz as az
    import pymc as pm

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class HierarchicalGaussianModel:
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
        What noise was added to, as in `GaussianModel`.
    n : int, optional
        Each group's number of records, where it is known but the release doesn't say it.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

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
    n: int | None = None

    family: ClassVar[str] = "hierarchical_gaussian"

    @staticmethod
    def reads(mechanism: Any) -> bool:
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
            object.__setattr__(self, "sd", check_positive("sd", self.sd, "records' unit"))
        if self.variance is not None:
            object.__setattr__(self, "variance", _checked_variance(self.variance))
        if self.statistic not in ("mean", "sum"):
            raise InvalidInput(f"statistic is {quoted(self.statistic)}; it must be 'mean' or 'sum'")
        if self.n is not None:
            keep(self, n=check_at_least_one("n", self.n, "or None if the release says it"))

    def fit(
        self,
        release: Releases,
        *,
        engine: Literal["auto", "marginal", "pymc"] = "auto",
        draws: int = 2000,
        chains: int = 4,
        warmup: int = 1000,
        seed: int | None = None,
        progress: bool | None = None,
    ) -> az.InferenceData:
        """Draw from the posterior given a release with groups.

        Parameters
        ----------
        release : Release, or several in a list
            With two groups or more, of what `GaussianModel` reads; several are of the same records,
            and need sd.
        engine : {"auto", "marginal", "pymc"}
            "auto" takes "marginal" where sd is known: means are summed out, and slice sampling is
            left with two numbers. "pymc" is NUTS over all numbers.
        draws, chains, warmup : int
            Draws per chain after `warmup` draws of adaptation.
        seed : int, optional
            For reproducible draws.
        progress : bool or None
            Whether to show progress and the time left, from the fifth second on, or the engine's
            own at once; None for where standard error is a terminal.

        Returns
        -------
        arviz.InferenceData
            posterior variables "mu" with the dimension "group", "mean" (m), "spread" (t) and, where
            sd is unknown, "sigma"; sample_stats, observed_data, constant_data, and attrs as of the
            other models.

        Raises
        ------
        InvalidInput
            If an argument is out of range or the model doesn't fit the release.
        EngineFailed
            If an engine stops.

        Warns
        -----
        UserWarning
            If chains haven't mixed, or more than 1% of normal records would be beyond the bounds.
        """
        if engine not in ("auto", "marginal", "pymc"):
            raise InvalidInput(
                f"engine is {quoted(engine)}; it must be 'auto', 'marginal' or 'pymc'"
            )
        options = check_sampling(seed, draws=draws, chains=chains, warmup=warmup)
        check_groups(releases_of(release)[0])
        if self.sd is None and engine == "marginal":
            raise InvalidInput(
                "engine is 'marginal', but sd is unknown, and then means don't sum out; use "
                "engine='pymc'"
            )
        if self.sd is not None and engine != "pymc":
            reason = "asked for"
            if engine == "auto":
                reason = "means sum out where sd is known, so chains run over two numbers"
            drawn = self._marginal(self.known(release), options)
            return self._result(drawn, release, reason)
        from bayesdp.engines.pymc import sampling as pymc

        reason = "asked for" if engine == "pymc" else "sd is unknown, so all numbers are sampled"
        variables = ["mu", "mean", "spread", *(["sigma"] if self.sd is None else [])]
        program = self.pymc_model(only_one(release, "pymc"))
        drawn = pymc.sample(program, variables=variables, progress=progress, **options)
        return self._result(drawn, release, reason)

    def fit_naive(
        self,
        release: Release,
        *,
        draws: int = 2000,
        chains: int = 4,
        warmup: int = 1000,
        seed: int | None = None,
    ) -> az.InferenceData:
        """Draw from the posterior that takes the release for real data; shaped as `fit`'s.

        Raises
        ------
        InvalidInput
            As for `fit`; or if sd is unknown.
        """
        options = check_sampling(seed, draws=draws, chains=chains, warmup=warmup)
        check_groups(release)
        if self.sd is None:
            raise InvalidInput(
                "sd is unknown, where there is no naive fit here; give the model sd, or fit "
                "GaussianModel's to each group"
            )
        known = []
        for part in release.parts:
            n, mean = naive_mean(part, self.n, self.statistic)
            known.append(Group(np.array([mean]), np.zeros(1), self.sd**2 / n))
        drawn = self._marginal(known, options)
        return self._result(drawn, release, "naive: takes the copies for real data")

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

    def predicted(self, release: Release, part: Part) -> Statistic:
        """Return what draws moments of a part's new records, given the parameters."""
        return partial(moments, self.sd, self.statistic, self.n, part)

    def noises(self, release: Releases) -> list[Noise]:
        """Compute the least noise that leads to what was released."""
        return noises_of_normal(parts_of(release), self.sd, self.n, self.statistic)

    def known(self, release: Releases) -> list[Group]:
        """Read each group's likelihood of its records' mean, where sd is known."""
        prior = (*self.prior, self.spread)
        groups = parts_of(release)
        return seen_groups(groups, self.n, self.statistic, float(self.sd or 0), prior)

    def given(self, known: Sequence[Group]) -> Any:
        """Prepare the arrays that the kernels of `pooled_means` take."""
        nodes, laws = [each.nodes for each in known], [each.log_law for each in known]
        variances = [each.variance for each in known]
        return given_means(nodes, laws, variances, (*self.prior, self.spread))

    def pymc_model(self, release: Release) -> pm.Model:
        """Build the model as a pm.Model, with all between it and the release as latent variables.

        Raises
        ------
        InvalidInput
            As of `GaussianModel.pymc_model`.
        """
        from bayesdp.engines.pymc.gaussian import pooled
        from bayesdp.inference.gaussian.nuts import observed

        known = self.sd is not None
        parts = [observed(part, self.n, self.statistic, known=known) for part in release.parts]
        return pooled(parts, self.sd, self.variance, self.prior, self.spread)

    def _marginal(self, known: Sequence[Group], options: dict[str, Any]) -> Draws:
        import numba

        from bayesdp.engines.partial_pooling import sample

        found, mu = sample(True, self.given(known), **options)
        mean, spread = found[..., 0], np.exp(found[..., 1])
        posterior = {"mu": mu, "mean": mean, "spread": spread}
        versions = {"numba": numba.__version__}
        return Draws(posterior, {"lp": found[..., 2]}, "marginal", versions)

    def _result(self, drawn: Draws, release: Releases, reason: str) -> az.InferenceData:
        about = {
            "family": self.family,
            "prior": json.dumps((*self.prior, self.spread)),
            "sd": json.dumps(self.sd),
            "variance": json.dumps(self.variance),
            "verdict": verdict_on(drawn, self.noises(release)),
        }
        sigma = drawn.posterior.get("sigma")
        width = float(self.sd or 0) if sigma is None else sigma[..., None]
        found = [share_outside(each, drawn.posterior["mu"], width) for each in releases_of(release)]
        if shares := [share for share in found if share is not None]:
            about["expected_share_outside_bounds"] = repr(max(shares))
        dims: dict[str, list[str]] = {"mu": ["group"], "mean": [], "spread": [], "sigma": []}
        dims = {name: dims[name] for name in drawn.posterior}
        return inference_data(drawn, *releases_of(release), reason=reason, model=about, dims=dims)


def _checked_variance(variance: Any) -> tuple[float, float]:
    try:
        _, a, b = checked_prior((0.0, *variance), ("m0", "a", "b"))
    except (InvalidInput, TypeError):
        raise InvalidInput(
            f"variance is {quoted(variance)}; it must be (a, b), both positive and finite"
        ) from None
    return a, b
