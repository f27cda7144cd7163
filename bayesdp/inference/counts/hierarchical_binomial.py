r"""The hierarchical binomial model: proportions of groups that lend each other strength.

    m ~ Beta(a, b),    c / (c + kappa) ~ Uniform(0, 1),
    p_g ~ Beta(m kappa, (1 - m) kappa),    x_g ~ Binomial(n_g, p_g),    z_g ~ mechanism.

kappa is worth so many records: a group of n_g has its proportion drawn to m by a share of
kappa / (kappa + n_g), and the prior takes that share for uniform where n_g = c (the uniform
shrinkage prior of Christiansen and Morris 1997). Counts and proportions are summed out
(`bayesdp.engines.pooled_proportions`), so that chains run over m and kappa alone: counts once for
all where thousands are likely (`bayesdp.engines.likelihood_curves`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.checks import is_number
from bayesdp.core.views import CountView, view_of
from bayesdp.engines.draws import Draws, check_sampling
from bayesdp.engines.enumeration import log_law_of_counts
from bayesdp.engines.likelihood_curves import likelihood_curve
from bayesdp.engines.pooled_proportions import given_proportions
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.conflict import Noise, noise_from
from bayesdp.inference.counts import predictive
from bayesdp.inference.counts.binomial import BinomialModel
from bayesdp.inference.evidence_ways import Answer
from bayesdp.inference.pooled_evidence import pooled
from bayesdp.inference.predictive_statistics import Statistic
from bayesdp.inference.result import inference_data
from bayesdp.inference.several import Releases, agreed_size, parts_of, releases_of
from bayesdp.inference.sizes import check_counts
from bayesdp.inference.verdict import verdict_on
from bayesdp.mechanisms.counts.beta_binomial import check_prior
from bayesdp.release import Part, Release

if TYPE_CHECKING:
    import arviz as az

Floats = NDArray[np.float64]
_FAR = 100.0  # log of what is negligible
_LIKELY = 64.0  # below the log of a law's largest: about what a step sums over
_MOST_LIKELY = 200_000
_MANY = 2_000  # likely counts of a group, whose sum is better taken once for all p


class Known(NamedTuple):
    """Group's outputs as a law: log Pr[outputs | x] at the x that may matter, and n."""

    law: Floats
    counts: NDArray[Any]
    n: int
    concave: bool

    def likely(self) -> int:
        """About how many counts a step sums over."""
        return int((self.law > self.law.max() - _LIKELY).sum())


@dataclass(frozen=True)
class HierarchicalBinomialModel:
    """Inference about proportions of groups that come from one population of groups.

    Parameters
    ----------
    prior : tuple of two floats
        (a, b) of the beta prior of m, the groups' mean proportion.
    concentration : float
        c, the prior median of kappa: records in a group whose own say and whose neighbours' are
        expected to count alike. Of the order of the groups' sizes.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> counts = {"a": bdp.Count(38, 100), "b": bdp.Count(20, 40), "c": bdp.Count(1, 3)}
    >>> release = bdp.BetaBinomialSynthesizer(epsilon=2.0).release(counts)
    >>> idata = bdp.models.HierarchicalBinomialModel().fit(release, draws=500, seed=1)
    >>> sorted(idata.posterior.data_vars)
    ['mean', 'p', 'sd']
    """

    prior: tuple[float, float] = (1.0, 1.0)
    concentration: float = 10.0

    family: ClassVar[str] = "hierarchical_binomial"

    @staticmethod
    def reads(mechanism: Any) -> bool:
        """Return True if the model has the law of this mechanism's outputs."""
        return view_of(mechanism, CountView) is not None

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", check_prior(self.prior))
        c = self.concentration
        if not (is_number(c) and 0 < c < math.inf):
            raise InvalidInput(f"concentration is {quoted(c)}; it must be a positive finite number")
        object.__setattr__(self, "concentration", float(c))

    def fit(
        self,
        release: Releases,
        *,
        engine: Literal["auto", "marginal"] = "auto",
        draws: int = 2000,
        chains: int = 4,
        warmup: int = 600,
        seed: int | None = None,
        progress: bool | None = None,
    ) -> az.InferenceData:
        """Draw from the posterior given a release with groups.

        Parameters
        ----------
        release : Release, or several in a list
            Of counts of ones, in two groups or more, with public sizes; several are of the same
            records.
        engine : {"auto", "marginal"}
            There is one: counts and proportions are always summed out.
        draws, chains, warmup : int
            Draws per chain after `warmup` draws, in which directions are learnt.
        seed : int, optional
            For reproducible draws.
        progress : bool or None
            Nothing is shown: it takes seconds.

        Returns
        -------
        arviz.InferenceData
            posterior variables "p" with the dimension "group", "mean" (m) and "sd", that of the
            groups' proportions, the root of m (1 - m) / (kappa + 1); sample_stats, observed_data,
            constant_data, and attrs as of the other models.

        Raises
        ------
        InvalidInput
            If an argument is out of range or the model doesn't fit the release.

        Warns
        -----
        UserWarning
            If chains haven't mixed.
        """
        if engine not in ("auto", "marginal"):
            raise InvalidInput(f"engine is {quoted(engine)}; it must be 'auto' or 'marginal'")
        options = check_sampling(seed, draws=draws, chains=chains, warmup=warmup)
        known = self.known(release)
        reason = "asked for"
        if engine == "auto":
            reason = "counts and proportions sum out, so chains run over two numbers"
        return self._fitted(known, release, reason, options, self.noises(release))

    def evidence(self, release: Releases, **options: Any) -> Answer:
        """Compute the log evidence for `bdp.log_evidence`, by a bridge over two numbers."""
        return pooled(self, release, means=False, **options)

    def predicted(self, release: Release, part: Part) -> Statistic:
        """Return what draws a new count of a part's records, given the parameters."""
        return partial(predictive.ones, None, part)

    def noises(self, release: Releases) -> list[Noise]:
        """Compute the least noise that leads to what was released."""
        groups = parts_of(release)
        each = (noise_from(parts, 0, float(agreed_size(parts, None) or 0)) for parts in groups)
        return list(chain.from_iterable(each))

    def known(self, release: Releases) -> list[Known]:
        """Read each group's log Pr[outputs | x] at the x that may matter, these x, and n."""
        _check_groups(releases_of(release)[0])
        groups = parts_of(release)
        sizes = [_size_of(parts) for parts in groups]
        least = self._least(sizes)
        return [_seen(parts, n, least) for parts, n in zip(groups, sizes, strict=True)]

    def given(self, known: Sequence[Known]) -> Any:
        """Prepare the arrays that the kernels of `pooled_proportions` take."""
        sizes, likely = [each.n for each in known], [each.likely() for each in known]
        many, least = _MANY if sum(likely) <= _MOST_LIKELY else 0, self._least(sizes)
        curves = [
            likelihood_curve(each.law, each.counts, each.n, least)
            if each.concave and count > many
            else None
            for each, count in zip(known, likely, strict=True)
        ]
        some = zip(likely, curves, strict=True)
        summed = sum(count for count, curve in some if curve is None)
        if summed > _MOST_LIKELY:
            raise InvalidInput(
                f"the release leaves {summed:,} counts of the groups likely, over which every step "
                f"of the chains sums, more than {_MOST_LIKELY:,}; of so many records a count with "
                "noise (bdp.mechanisms.DiscreteLaplaceMechanism) tells more, and leaves fewer "
                "counts likely; or fit each group with bdp.BinomialModel"
            )
        laws, counts = [each.law for each in known], [each.counts for each in known]
        return given_proportions(laws, counts, sizes, (*self.prior, self.concentration), curves)

    def _least(self, sizes: Sequence[int]) -> float:
        """Distance below its largest from which a group's law is negligible in any posterior.

        At m = 1/2 and kappa = 2 every count of a group has probability 1 / (n + 1), and within 1 /
        log(n + 1) of there in the logarithms no less than about 1/e of that. So the outputs'
        probability, relative to the largest laws, is at least that of this neighbourhood times
        the product over groups of 1 / e (n + 1), and counts whose law is below it by e^-100 are not
        seen in the posterior, whatever the other groups say.
        """
        (a, b), c = self.prior, self.concentration
        at = math.log(2 * c) - 2 * math.log(c + 2) - (a + b) * math.log(2) - special.betaln(a, b)
        logs = [math.log(n + 1) for n in sizes]
        return float(_FAR + sum(logs) + len(sizes) + max(0.0, -at) + 2 * math.log(max(logs) + 1))

    def fit_naive(
        self,
        release: Release,
        *,
        draws: int = 2000,
        chains: int = 4,
        warmup: int = 600,
        seed: int | None = None,
    ) -> az.InferenceData:
        """The posterior that takes the copies for real data, pooled; shaped as `fit`'s."""
        options = check_sampling(seed, draws=draws, chains=chains, warmup=warmup)
        known = []
        _check_groups(release)
        for part in release.parts:
            alone = BinomialModel().naive_posterior(release[part.group])
            ones, size = float(alone.a[0] - 1), float(alone.a[0] + alone.b[0] - 2)
            known.append(Known(np.zeros(1), np.array([round(ones)]), round(size), True))
        return self._fitted(known, release, "naive: takes the copies for real data", options)

    def _fitted(
        self,
        known: Sequence[Known],
        release: Releases,
        reason: str,
        options: dict[str, Any],
        noises: Sequence[Noise] = (),
    ) -> az.InferenceData:
        import numba

        from bayesdp.engines.partial_pooling import sample

        found, p = sample(False, self.given(known), **options)
        u, v = found[..., 0], found[..., 1]
        variance = special.expit(u) * special.expit(-u) / (1 + np.exp(v))
        posterior = {"p": p, "mean": special.expit(u), "sd": np.sqrt(variance)}
        versions = {"numba": numba.__version__}
        drawn = Draws(posterior, {"lp": found[..., 2]}, "marginal", versions)
        about = {
            "family": self.family,
            "prior": json.dumps((*self.prior, self.concentration)),
            "verdict": verdict_on(drawn, noises),
        }
        dims: dict[str, list[str]] = {"p": ["group"], "mean": [], "sd": []}
        return inference_data(drawn, *releases_of(release), reason=reason, model=about, dims=dims)


def _check_groups(release: Release) -> None:
    if len(release.parts) < 2:
        raise InvalidInput(
            "the release has one group, and nothing to learn of how groups differ; use "
            "bdp.BinomialModel"
        )


def _size_of(parts: Sequence[Part]) -> int:
    n = agreed_size(parts, None)
    if n is None:
        raise InvalidInput(
            "n is confidential in this release, and the model takes known sizes; fit each group "
            "with bdp.BinomialModel(n=...)"
        )
    for part in parts:
        check_counts(part.mechanism, n)
    return n


def _seen(parts: Sequence[Part], n: int, least: float) -> Known:
    x = np.arange(n + 1)
    law = log_law_of_counts(parts, n, x)
    if not law.max() > -math.inf:
        raise InvalidInput("the outputs have probability zero under the model")
    matters = law > law.max() - least
    concave = all(part.mechanism.log_concave for part in parts)
    return Known(law[matters], x[matters], n, concave)
