r"""The hierarchical binomial model: proportions of groups, partially pooled.

    m ~ Beta(a, b),    c / (c + kappa) ~ Uniform(0, 1),
    p_g ~ Beta(m kappa, (1 - m) kappa),    x_g ~ Binomial(n_g, p_g),    z_g ~ mechanism.

The population weighs as much as kappa records: a group of n_g has its proportion shrunk to m by
the share kappa / (kappa + n_g), which is uniform under the prior where n_g = c (the uniform
shrinkage prior of Christiansen and Morris 1997). Counts and proportions are summed out
(`bayesdp.engines.pooled_proportions`), so that chains run over m and kappa alone. Where thousands
of counts are likely, they are summed out once for all (`bayesdp.engines.likelihood_curves`); a
number of records that has a prior always is (`bayesdp.engines.unknown_trials`).

The programs of PyMC and Stan are of the same marginal form, in logit m and log kappa, which is
logistic with median log c: were the proportions sampled too, their spread, which goes to 0 as kappa
grows, would be a funnel that NUTS doesn't get into. Proportions are drawn given m and kappa.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.checks import is_number
from bayesdp.core.views import CountView, View
from bayesdp.engines.draws import Draws
from bayesdp.engines.enumeration import Cells, in_one_row, log_law_of_counts
from bayesdp.engines.likelihood_curves import likelihood_curve
from bayesdp.engines.pooled_proportions import given_proportions
from bayesdp.engines.stan.replicates import replicates
from bayesdp.engines.unknown_trials import Law, law_of_largest
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.base import Model, Run
from bayesdp.inference.conflict import Noise
from bayesdp.inference.counts import predictive
from bayesdp.inference.counts.binomial import BinomialModel
from bayesdp.inference.evidence_ways import Answer
from bayesdp.inference.fitted import check_fitted
from bayesdp.inference.pooled_evidence import pooled
from bayesdp.inference.predictive_statistics import Statistic
from bayesdp.inference.result import group_coordinate, groups_of
from bayesdp.inference.several import Releases, parts_of, releases_of
from bayesdp.inference.sizes import Sizes, kept_sizes, sizes_of_counts
from bayesdp.inference.variance_parts import GivenPopulation, Labelled, of_beta, over_counts
from bayesdp.mechanisms.counts.beta_binomial import check_prior
from bayesdp.mechanisms.laws import beta_binomial_logpmf
from bayesdp.release import Part, Release

if TYPE_CHECKING:
    import pymc as pm

Floats = NDArray[np.float64]
_LEAST = 1e-300  # in place of a parameter of a beta law that rounds to 0
_FAR = 100.0  # log of what is negligible
_LIKELY = 64.0  # below the log of a law's largest: about what a step sums over
_MOST_LIKELY = 200_000
_POINTS = 1_000
"""Draws of m and kappa at which variances are computed."""
_AT_ONCE = 1_000_000
_MOST_KAPPA = 1e100  # in place of an infinite one, where the groups' spread rounds to 0
_FLAT = 1e-12  # of a second difference's rounding, relative to a law
_MOST_PAIRS = 20_000_000
_MANY = 2_000  # likely counts of a group, whose sum is better taken once for all p


class Known(NamedTuple):
    """Law of a group's outputs: log Pr[outputs | x] at the x that may matter, and n."""

    law: Floats
    counts: NDArray[Any]
    n: int
    concave: bool

    def likely(self) -> int:
        """Approximate number of counts that each step sums over."""
        return int((self.law > self.law.max() - _LIKELY).sum())

    def cells(self) -> Cells:
        """Cells of the counts that are possible, their marginal law that under a uniform p."""
        possible = self.law > -math.inf
        ones = self.counts[possible].astype(np.float64)
        even = np.full(ones.size, -math.log(self.n + 1))
        return Cells(ones, self.n - ones, self.law[possible], even)


@dataclass(frozen=True)
class HierarchicalBinomialModel(Model):
    """Inference about proportions of groups that come from one population of groups.

    Parameters
    ----------
    prior : tuple of two floats
        (a, b) of the beta prior of m, the groups' mean proportion.
    concentration : float
        c, the prior median of kappa: the size of a group at which its own records and the other
        groups are expected to weigh the same. Choose it of the order of the groups' sizes.
    n : int, range, array_like of float, or mapping of group labels to these, optional
        Where the release doesn't say the groups' numbers of records: the number, or a prior on it,
        as for `BinomialModel`; the same for all groups, or each group's, as {"north": 400, "south":
        range(50, 71)}.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    The posterior variables are "p" with the dimension "group", "mean" (m) and "sd", the standard
    deviation of the groups' proportions, the root of m (1 - m) / (kappa + 1). The model reads
    counts of ones in two groups or more. All engines sum counts and proportions out, sample m and
    kappa, and draw proportions given them: "marginal" by slice sampling, "pymc" and "stan" by NUTS.
    The PyMC program has no "p", and is for what depends on m and kappa; the Stan program draws it
    among its generated quantities.

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
    n: Any = None

    family: ClassVar[str] = "hierarchical_binomial"
    views: ClassVar[tuple[type[View], ...]] = (CountView,)
    engines: ClassVar[tuple[str, ...]] = ("marginal", "pymc", "stan")
    variables: ClassVar[Sequence[str]] = ("logit_mean", "log_kappa")
    means: ClassVar[frozenset[str]] = frozenset({"p"})
    reason: ClassVar[str] = "counts and proportions sum out, so chains run over two numbers"
    usual: ClassVar[tuple[int, int]] = (2000, 600)

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", check_prior(self.prior))
        c = self.concentration
        if not (is_number(c) and 0 < c < math.inf):
            raise InvalidInput(f"concentration is {quoted(c)}; it must be a positive finite number")
        object.__setattr__(self, "concentration", float(c))
        object.__setattr__(self, "n", kept_sizes(self.n))

    def evidence(self, release: Releases, **options: Any) -> Answer:
        """Compute the log evidence for `bdp.log_evidence`, by a bridge over two numbers."""
        return pooled(self, release, means=False, **options)

    def pointwise(self, parts: Sequence[Part], values: Mapping[str, Floats]) -> Floats:
        """Compute the log probability of a group's outputs at draws of its p, shape (draws,)."""
        return self._alone().pointwise(parts, values)

    def given_population(self, release: Releases, idata: Any = None) -> Labelled:
        """Compute each p's moments at draws of m and kappa, the latent counts summed out.

        Raises
        ------
        InvalidInput
            If `idata` isn't this model's fit of the release.
        """
        check_fitted(self, idata, *releases_of(release))
        mean, sd = (idata.posterior[name].to_numpy().ravel() for name in ("mean", "sd"))
        chosen = np.linspace(0, mean.size - 1, min(_POINTS, mean.size)).round().astype(np.int64)
        with np.errstate(divide="ignore"):
            kappa = mean[chosen] * (1 - mean[chosen]) / sd[chosen] ** 2 - 1
        kappa = np.minimum(kappa, _MOST_KAPPA)
        a = np.maximum(mean[chosen] * kappa, _LEAST)[:, None]
        b = np.maximum((1 - mean[chosen]) * kappa, _LEAST)[:, None]
        for group, laws in zip(groups_of(release) or (), self._laws(release), strict=True):
            yield {"group": group}, _given(laws, a, b)

    def from_prior(self, run: Run, rng: np.random.Generator) -> dict[str, Floats]:
        """Draw m and kappa from their priors, and the groups' proportions given them."""
        mean, rest = rng.beta(*self.prior, size=run.draws), rng.uniform(size=run.draws)
        kappa = self.concentration * rest / (1 - rest)
        p = rng.beta(
            np.maximum(mean * kappa, _LEAST)[:, None],
            np.maximum((1 - mean) * kappa, _LEAST)[:, None],
            size=run.shape,
        )
        return {"p": p, "mean": mean, "sd": np.sqrt(mean * (1 - mean) / (kappa + 1))}

    def predicted(self, release: Release, part: Part) -> Statistic:
        """Return a function that draws a new count of a part's records, given the parameters."""
        return partial(predictive.ones, None, self.n, part)

    def noises(self, release: Releases, read: Any = None) -> list[Noise]:
        """Compute the least noise that explains the outputs."""
        return self._alone().noises(release)

    def read(self, release: Releases) -> list[Known]:
        """Read each group's counts that may matter, as `known`."""
        return self.known(release)

    def known(self, release: Releases) -> list[Known]:
        """Read each group's law at the counts that may matter, where n is the largest it may be."""
        laws = self._laws(release)
        return [_known(parts, own) for parts, own in zip(parts_of(release), laws, strict=True)]

    def _laws(self, release: Releases) -> Iterator[list[Law]]:
        """Read each group's law at all n and counts that may matter, one by one."""
        _check_groups(releases_of(release)[0])
        groups = parts_of(release)
        sizes = [self._sizes_of(parts) for parts in groups]
        least = self._least([max(n for n, _ in each) for each in sizes])
        for parts, each in zip(groups, sizes, strict=True):
            yield _laws(parts, each, least)

    def read_naive(self, release: Release) -> list[Known]:
        """Read each group's pooled copies as if they were its records."""
        _check_groups(release)
        known = []
        for alone in self._alone().naive_posteriors(release):
            ones, size = float(alone.a[0] - 1), float(alone.a[0] + alone.b[0] - 2)
            known.append(Known(np.zeros(1), np.array([round(ones)]), round(size), True))
        return known

    def _sizes_of(self, parts: Sequence[Part]) -> Sizes:
        return sizes_of_counts(self.n, parts, type(self).__name__)

    def _alone(self) -> BinomialModel:
        """The model of each group by itself."""
        return BinomialModel(n=self.n)

    def sample(self, run: Run) -> Draws:
        """Run chains over m and kappa, and draw proportions given them."""
        import numba

        from bayesdp.engines.partial_pooling import numbers_given

        if run.engine not in ("pymc", "stan"):
            return self._marginal(run)
        drawn = super().sample(run)
        u, v = drawn.posterior["logit_mean"], drawn.posterior["log_kappa"]
        p = numbers_given(np.stack([u, v], axis=-1), False, self.given(run.read), run.seed)
        versions = {**drawn.versions, "numba": numba.__version__}
        return dataclasses.replace(drawn, posterior=_named(u, v, p), versions=versions)

    def _marginal(self, run: Run) -> Draws:
        import numba

        from bayesdp.engines.partial_pooling import sample

        chain, p = sample(False, self.given(run.read), **run.chained)
        posterior = _named(chain[..., 0], chain[..., 1], p)
        return Draws(posterior, {"lp": chain[..., 2]}, "marginal", {"numba": numba.__version__})

    def naive(self, run: Run) -> Draws:
        """Draw as `sample` does, from counts that are treated as true."""
        return self._marginal(run)

    def about(self, run: Run, drawn: Draws) -> dict[str, str]:
        """The prior, for the attrs of a fit."""
        return {"prior": json.dumps((*self.prior, self.concentration))}

    def labels(self, run: Run, drawn: Draws) -> dict[str, Any]:
        """Dimensions: proportions have groups; the population's mean and sd have none."""
        return {"dims": {"p": ["group"], "mean": [], "sd": []}}

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

    def cells(self, release: Releases) -> list[Cells]:
        """Enumerate the latent counts that the programs sum over, one element for each group."""
        known = self.known(release)
        many = sum(each.law.size for each in known)
        if many > _MOST_LIKELY:
            raise InvalidInput(
                f"the programs of PyMC and Stan would sum over {many:,} counts of the groups at "
                f"every step, more than {_MOST_LIKELY:,}; use engine='marginal'"
            )
        return [each.cells() for each in known]

    def pymc_model(self, release: Releases) -> pm.Model:
        """Build the model of m and kappa as a pm.Model, counts and proportions summed out."""
        from bayesdp.engines.pymc.programs import hierarchical_binomial

        groups = group_coordinate(releases_of(release)[0])
        return hierarchical_binomial(self.cells(release), self.prior, self.concentration, groups)

    def stan_data(self, release: Releases) -> dict[str, Any]:
        """Build the data of the Stan program `hierarchical_binomial`."""
        groups = parts_of(release)
        known = all(len(self._sizes_of(parts)) == 1 for parts in groups)
        return {
            **in_one_row(self.cells(release)),
            "prior_a": self.prior[0],
            "prior_b": self.prior[1],
            "concentration": self.concentration,
            **replicates(groups, known=known),
        }

    def _least(self, sizes: Sequence[int]) -> float:
        """Distance below its largest from which a group's law is negligible in any posterior.

        At m = 1/2 and kappa = 2 every count of a group has probability 1 / (n + 1), and within 1 /
        log(n + 1) of there in the logarithms no less than about 1/e of that. So the outputs'
        probability, relative to the largest laws, is at least that of this neighbourhood times
        the product over groups of 1 / e (n + 1), with the largest n that each may have, and counts
        whose law is below it by e^-100 are not seen in the posterior, whatever the other groups
        say.
        """
        (a, b), c = self.prior, self.concentration
        at = math.log(2 * c) - 2 * math.log(c + 2) - (a + b) * math.log(2) - special.betaln(a, b)
        logs = [math.log(n + 1) for n in sizes]
        return float(_FAR + sum(logs) + len(sizes) + max(0.0, -at) + 2 * math.log(max(logs) + 1))


def _named(u: Floats, v: Floats, p: Floats) -> dict[str, Floats]:
    """Name draws of logit m and log kappa as the model does, beside those of proportions."""
    variance = special.expit(u) * special.expit(-u) / (1 + np.exp(v))
    return {"p": p, "mean": special.expit(u), "sd": np.sqrt(variance)}


def _given(laws: Sequence[Law], a: Floats, b: Floats) -> GivenPopulation:
    """Moments of a group's p given that it is Beta(a, b), shape (points, 1), block by block."""
    ones, law = (np.concatenate(each) for each in zip(*(own[1:] for own in laws), strict=True))
    n = np.repeat([size for size, *_ in laws], [counts.size for _, counts, _ in laws])
    size = max(1, _AT_ONCE // law.size)
    blocks = []
    for start in range(0, len(a), size):
        own = a[start : start + size], b[start : start + size]
        weights = special.softmax(law + beta_binomial_logpmf(ones, n, *own), axis=1)
        blocks.append(over_counts(weights, *of_beta(own[0] + ones, own[1] + (n - ones))))
    return GivenPopulation(*map(np.concatenate, zip(*blocks, strict=True)))


def _check_groups(release: Release) -> None:
    if len(release.parts) < 2:
        raise InvalidInput(
            "the release has one group, and nothing to learn of how groups differ; use "
            "bdp.BinomialModel"
        )


def _laws(parts: Sequence[Part], sizes: Sizes, least: float) -> list[Law]:
    """The law at each number of records, at the counts that may matter."""
    pairs = sum(n + 1 for n, _ in sizes)
    if len(sizes) > 1 and pairs > _MOST_PAIRS:
        raise InvalidInput(
            f"the prior on n has {pairs:,} pairs of a size and a count of ones in a group, more "
            f"than {_MOST_PAIRS:,}; narrow it, or put its probability on fewer sizes"
        )
    laws = [
        (n, x := np.arange(n + 1), log_law_of_counts(parts, n, x) + math.log(probability))
        for n, probability in sorted(sizes)
    ]
    top = max(law.max() for *_, law in laws)
    if not top > -math.inf:
        raise InvalidInput("the outputs have probability zero under the model")
    kept = [(n, x, law, law > top - least) for n, x, law in laws]
    return [(n, x[matters], law[matters]) for n, x, law, matters in kept if matters.any()]


def _known(parts: Sequence[Part], laws: Sequence[Law]) -> Known:
    """The law where n is the largest that matters, with the same likelihood of p."""
    n, counts, law = law_of_largest(laws)
    counts, law = counts[law > -math.inf], law[law > -math.inf]
    if len(laws) == 1:
        return Known(law, counts, n, all(part.mechanism.log_concave for part in parts))
    falls = np.diff(law, 2) <= _FLAT * (1 + np.abs(law[1:-1]))
    return Known(law, counts, n, bool(np.all(np.diff(counts) == 1) and np.all(falls)))
