r"""The Gaussian model: the mean of normal records from what was released of them.

    mu ~ prior,    x_1, ..., x_n | mu ~ N(mu, sd^2),    z_k | x ~ mechanism,  k = 1..M.

Only z is seen, and it depends on the records through their mean. The posterior is a mixture of
normals, by one-dimensional quadrature (`bayesdp.inference.gaussian_mean`).

Bounds. Mechanisms of real records need public bounds, and the model's records have none: it is
that of records that are normal and happened to lie within them, and takes p(mean) for that of
normal records. That is right where records beyond the bounds are rare; where they aren't, records
that were refused or clipped aren't normal, and the model is wrong. The expected share of records
beyond the bounds under the posterior is in attrs, and more than 1% is warned of.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from scipy import special

from bayesdp.checks import check_at_least_one, is_number
from bayesdp.engines import exact
from bayesdp.engines.draws import Draws, check_seed
from bayesdp.engines.normal_mixture import NormalMixture
from bayesdp.errors import InvalidInput
from bayesdp.inference.gaussian_mean import (
    MeanPosterior,
    Seen,
    posterior_of_mean,
)
from bayesdp.inference.gaussian_release import bounds_of, naive_mean, seen_mean
from bayesdp.inference.result import inference_data
from bayesdp.inference.verdict import verdict_on
from bayesdp.mechanisms.noise_fields import check_positive
from bayesdp.release import Release

if TYPE_CHECKING:
    import arviz as az

Engine = Literal["auto", "exact", "pymc"]
_WARN_OUTSIDE = 0.01


@dataclass(frozen=True)
class GaussianModel:
    """Inference about the mean of normal records, or one in each group.

    Parameters
    ----------
    prior : tuple of two floats, optional
        (m0, s0), mean and standard deviation of the normal prior of mu; None is flat.
    sd : float
        The records' standard deviation, known.
    statistic : {"mean", "sum"}
        What noise was added to, where a number left with noise. Copies and conjugate releases say
        it themselves.
    n : int, optional
        The number of records, where it is known but the release doesn't say it.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Examples
    --------
    >>> import bayesdp as bdp, numpy as np
    >>> x = np.random.default_rng(1).normal(0.5, 1, size=1000)
    >>> family = bdp.families.Gaussian(bounds=(-5, 5), sd=1.0)
    >>> release = bdp.Modips(family=family, epsilon=1.0, copies=5).release(x)
    >>> low, high = bdp.GaussianModel(sd=1.0).posterior(release).interval(0.95)
    """

    prior: tuple[float, ...] | None = None
    sd: float | None = None
    statistic: str = "mean"
    n: int | None = None

    family: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sd", check_positive("sd", self.sd, "records' unit"))
        if self.prior is not None:
            object.__setattr__(self, "prior", _checked_prior(self.prior, ("m0", "s0")))
        if self.statistic not in ("mean", "sum"):
            raise InvalidInput(f"statistic is {self.statistic!r}; it must be 'mean' or 'sum'")
        if self.n is not None:
            check_at_least_one("n", self.n, "or None if the release says it")

    def posterior(self, release: Release) -> NormalMixture:
        """The exact posterior of mu.

        Parameters
        ----------
        release : Release
            For groups, take one: `posterior(release["a"])`.

        Raises
        ------
        InvalidInput
            If the release has groups, or the model doesn't fit it.
        """
        _ = release.mechanism  # which refuses groups
        return self._posteriors(release)[0].mixture

    def log_evidence(self, release: Release) -> float:
        """log of the outputs' probability, or density, under the model; summed over groups.

        Raises
        ------
        InvalidInput
            If the prior is flat: there is none.
        """
        if self.prior is None:
            raise InvalidInput(
                "the prior is flat, under which outputs have no probability; give a prior, as "
                "GaussianModel(prior=(0, 10), sd=1)"
            )
        return sum(each.log_evidence for each in self._posteriors(release))

    def naive_posterior(self, release: Release) -> NormalMixture:
        """The posterior that takes the copies for real data, or a noisy number for the true one.

        All copies' records are pooled. Wrong, and shown beside the right one because it is what
        one gets by analysing the released files as if they were the confidential one.
        """
        _ = release.mechanism
        return self._naive_posteriors(release)[0]

    def _posteriors(self, release: Release) -> list[MeanPosterior]:
        return [
            posterior_of_mean(seen, float(self.sd or 0), self._normal_prior)
            for seen in self._seen(release)
        ]

    def _seen(self, release: Release) -> list[Seen]:
        return [seen_mean(part, self.n, self.statistic) for part in release.parts]

    def _naive_posteriors(self, release: Release) -> list[NormalMixture]:
        found = []
        for part in release.parts:
            n, mean = naive_mean(part, self.n, self.statistic)
            precision, centre = n / float(self.sd or 0) ** 2, mean
            if self._normal_prior is not None:
                m0, s0 = self._normal_prior
                centre = (precision * mean + m0 / s0**2) / (precision + s0**-2)
                precision += s0**-2
            one = (np.ones(1), np.array([centre]), np.array([precision**-0.5]))
            found.append(NormalMixture(*one))
        return found

    @property
    def _normal_prior(self) -> tuple[float, float] | None:
        return None if self.prior is None else (self.prior[0], self.prior[1])

    def fit(
        self,
        release: Release,
        *,
        engine: Engine = "auto",
        draws: int = 4000,
        chains: int = 4,
        warmup: int = 1000,
        seed: int | None = None,
        progress: bool = False,
    ) -> az.InferenceData:
        """Draw from the posterior given the release.

        Parameters
        ----------
        release : Release
            What was released; its manifest says how.
        engine : {"auto", "exact", "pymc"}
            "auto" takes the exact one, which is always possible here. "pymc" samples the same
            posterior with NUTS, together with the mean and what lies between it and the copies.
        draws, chains : int
            Draws per chain. The exact engine's are all independent.
        warmup : int
            Adaptation draws of NUTS.
        seed : int, optional
            For reproducible draws.
        progress : bool
            Whether to show the engine's own progress.

        Returns
        -------
        arviz.InferenceData
            posterior variable "mu" (with a dimension "group" where there are groups),
            sample_stats, observed_data (the outputs), constant_data (the mechanism's public
            parameters), and attrs: engine and why, versions, guarantee, "verdict", and where the
            records have public bounds "expected_share_outside_bounds".

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
        for name, value in (("draws", draws), ("chains", chains), ("warmup", warmup)):
            check_at_least_one(name, value)
        check_seed(seed)
        options: dict[str, Any] = {"draws": draws, "chains": chains, "seed": seed}
        reason = "asked for"
        if engine in ("auto", "exact"):
            if engine == "auto":
                reason = "the latent mean can be integrated out, so independent exact draws exist"
            mixtures = [each.mixture for each in self._posteriors(release)]
            drawn = exact.sample_normal(mixtures, scalar=release.by is None, **options)
        else:
            raise InvalidInput(f"engine is {engine!r}; it must be 'auto', 'exact' or 'pymc'")
        return self._result(drawn, release, reason)

    def fit_naive(
        self,
        release: Release,
        *,
        draws: int = 4000,
        chains: int = 4,
        seed: int | None = None,
    ) -> az.InferenceData:
        """Draw from `naive_posterior`, for comparison; the result has the shape of `fit`'s."""
        check_seed(seed)
        drawn = exact.sample_normal(
            self._naive_posteriors(release),
            draws=draws,
            chains=chains,
            seed=seed,
            scalar=release.by is None,
        )
        return self._result(drawn, release, "naive: takes the copies for real data")

    def _result(self, drawn: Draws, release: Release, reason: str) -> az.InferenceData:
        about = {
            "family": self.family,
            "prior": json.dumps(self.prior),
            "sd": json.dumps(self.sd),
            "verdict": verdict_on(drawn),
        }
        share = self._outside(drawn, release)
        if share is not None:
            about["expected_share_outside_bounds"] = repr(share)
        return inference_data(drawn, release, reason=reason, model=about)

    def _outside(self, drawn: Draws, release: Release) -> float | None:
        """The largest of the groups' expected shares of normal records beyond the bounds."""
        shares = []
        for g, part in enumerate(release.parts):
            bounds = bounds_of(part)
            if bounds is not None:
                mu = drawn.posterior["mu"].reshape(-1, len(release.parts))[:, g]
                sd = float(self.sd or 0)
                below = special.ndtr((bounds[0] - mu) / sd)
                shares.append(float(np.mean(below + special.ndtr((mu - bounds[1]) / sd))))
        if shares and max(shares) > _WARN_OUTSIDE:
            warnings.warn(
                f"under this posterior {max(shares):.1%} of normal records would be beyond the "
                "public bounds, so the confidential ones, which aren't, weren't normal, and the "
                "model is doubtful; take bounds further apart in the next release",
                UserWarning,
                stacklevel=4,
            )
        return max(shares, default=None)


def _checked_prior(prior: Any, names: tuple[str, ...]) -> tuple[float, ...]:
    good = isinstance(prior, Sequence) and len(prior) == len(names)
    good = good and all(is_number(v) and math.isfinite(v) for v in prior)
    if not good or min(prior[1:]) <= 0:
        raise InvalidInput(
            f"prior is {prior!r}; it must be ({', '.join(names)}), all finite and all but m0 "
            "positive"
        )
    return tuple(map(float, prior))
