r"""The binomial model: a proportion p from released counts.

    p ~ Beta(g1, g2),    x | p ~ Binomial(n, p),    z_i | x ~ mechanism,  i = 1..M.

Only z is seen. Summing x out leaves the exact posterior (Charest 2010, section 4.4)

    p | z  ~  sum over x of w(x) Beta(g1 + x, g2 + n - x),
    w(x)  proportional to  C(n, x) B(g1 + x, g2 + n - x) prod_i Pr[z_i | x],

a finite mixture: no MCMC. An n that the analyst doesn't know is summed out too, under
their prior. Any mechanism with a count of ones as its statistic fits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.views import CountView, View
from bayesdp.engines import exact
from bayesdp.engines.draws import Draws
from bayesdp.engines.enumeration import (
    Cells,
    enumerate_cells,
    in_one_row,
    is_noisy_count,
    summed_cells,
)
from bayesdp.engines.mixture import BetaMixture
from bayesdp.engines.stan.replicates import replicates
from bayesdp.errors import InvalidInput
from bayesdp.inference.base import Model, Run
from bayesdp.inference.conflict import Noise
from bayesdp.inference.counts import predictive
from bayesdp.inference.counts.binomial_naive import naive_posterior
from bayesdp.inference.counts.binomial_weights import (
    check_weights,
    naive_of_weights,
    noises_of_counts,
    weighted_cells,
)
from bayesdp.inference.predictive_statistics import Statistic
from bayesdp.inference.result import groups_of
from bayesdp.inference.several import (
    Releases,
    agreed_size,
    one_group,
    only_one,
    parts_of,
    releases_of,
)
from bayesdp.inference.sizes import kept_sizes, said_of, sizes_of_counts
from bayesdp.inference.variance_parts import Labelled, of_beta, over_counts
from bayesdp.mechanisms.counts.beta_binomial import check_prior
from bayesdp.release import Part, Release

if TYPE_CHECKING:
    import pymc as pm

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class BinomialModel(Model):
    """Inference about a proportion, or one in each group, from a release of counts.

    Parameters
    ----------
    prior : tuple of two floats
        (g1, g2) of the beta prior of p; (1, 1) is uniform, (0.5, 0.5) Jeffreys'.
    n : int, range, array_like of float, or mapping of group labels to these, optional
        The number of confidential records, where the release doesn't say it, or a prior on it: a
        range of equally likely sizes, or an array whose element k is Pr[n = k]. It applies to every
        group; or each group has its own, as {"north": 400, "south": range(50, 71)}.
    weights : mapping of float to int, or of group labels to such mappings, optional
        Where noise was added to a weighted count of ones: the number of records with each weight, a
        known constant, for example {1.0: 120, 2.5: 40}. p is the same for all weights; where it
        isn't, release a count for each. See `bayesdp.inference.counts.binomial_weights`.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    The posterior variable is "p". The "exact" engine is always possible; the others sample the same
    posterior, by NUTS ("pymc", "stan") or by chains over the counts of records ("augmentation").

    Examples
    --------
    >>> import bayesdp as bdp
    >>> mechanism = bdp.mechanisms.BetaBinomialMechanism(n=100, size=100, prior=(15.65, 15.65))
    >>> posterior = bdp.BinomialModel().posterior(bdp.Release.of(mechanism, [38]))
    >>> round(posterior.mean(), 4)
    0.3509
    """

    prior: tuple[float, float] = (1.0, 1.0)
    n: Any = None
    weights: Any = field(default=None, compare=False)

    family: ClassVar[str] = "binomial"
    views: ClassVar[tuple[type[View], ...]] = (CountView,)
    engines: ClassVar[tuple[str, ...]] = ("exact", "augmentation", "pymc", "stan")
    reason: ClassVar[str] = "the latent count can be summed out, so independent exact draws exist"
    variables: ClassVar[Sequence[str]] = ("p",)
    means: ClassVar[frozenset[str]] = frozenset({"p"})

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", check_prior(self.prior))
        object.__setattr__(self, "n", kept_sizes(self.n))
        if self.weights is not None:
            object.__setattr__(self, "weights", check_weights(self.weights, n=self.n))

    def cells(self, release: Releases) -> list[Cells]:
        """Enumerate the latent counts that matter, one element for each group; see `Cells`."""
        return [self._cells(parts, enumerate_cells) for parts in parts_of(release)]

    def _summed(self, parts: Sequence[Part]) -> Cells:
        """Enumerate counts with the same likelihood of p, in which n isn't seen any more."""
        return self._cells(parts, summed_cells)

    def _cells(self, parts: Sequence[Part], enumerated: Callable[..., Cells]) -> Cells:
        if self.weights is None:
            return enumerated(parts, self.prior, self._sizes_of(parts))
        agreed_size(parts, None)
        return weighted_cells(parts, self.prior, self.weights)

    def posterior(self, release: Releases) -> BetaMixture:
        """Compute the exact posterior of p.

        Parameters
        ----------
        release : Release, or several in a list
            Releases of one count. With groups, take one of them: `posterior(release["a"])`.

        Raises
        ------
        InvalidInput
            If the release has groups; if n is confidential and the model has no prior on it; or if
            n is public and the model has one.
        """
        for each in releases_of(release):
            one_group(each)
        return self._posteriors(release)[0]

    def _posteriors(self, release: Releases) -> list[BetaMixture]:
        return [self._mixture(self._summed(parts)) for parts in parts_of(release)]

    def _mixture(self, cells: Cells) -> BetaMixture:
        a, b = self.prior
        return BetaMixture(cells.weights, a + cells.successes, b + cells.failures)

    def log_evidence(self, release: Releases) -> float:
        """Compute log Pr[all outputs] under the model, exactly, summed over groups."""
        return sum(self._summed(parts).log_evidence for parts in parts_of(release))

    def pointwise(self, parts: Sequence[Part], values: Mapping[str, Floats]) -> Floats:
        """Compute the log probability of a group's outputs at draws of p, shape (draws,)."""
        return self._summed(parts).log_likelihood(values["p"])

    def given_population(self, release: Releases, idata: Any = None) -> Labelled:
        """Compute each p's moments given the latent counts, which are summed out."""
        groups = groups_of(release)
        for k, each in enumerate(map(self._mixture, self.cells(release))):
            label = {"variable": "p"} if groups is None else {"group": groups[k]}
            yield label, over_counts(each.weights, *of_beta(each.a, each.b))

    def from_prior(self, run: Run, rng: np.random.Generator) -> dict[str, Floats]:
        """Draw p from its prior, of each group by itself."""
        return {"p": rng.beta(*self.prior, size=run.shape)}

    def predicted(self, release: Release, part: Part) -> Statistic:
        """Return a function that draws a new count of a part's records, given the parameters."""
        return partial(predictive.ones, self.weights, self.n, part)

    def noises(self, release: Releases, read: Any = None) -> list[Noise]:
        """Compute the least noise that explains the outputs."""
        groups = parts_of(release)
        sizes = [said_of(self.n, parts) for parts in groups]
        return noises_of_counts(groups, self.weights, sizes)

    def naive_posterior(self, release: Release) -> BetaMixture:
        """Compute the posterior that treats the copies as real data: all their records pooled.

        It is wrong, and for comparison with the right one: an analysis of the released files, as
        they are, gives it.
        """
        return self.naive_posteriors(one_group(release))[0]

    def naive_posteriors(self, release: Release) -> list[BetaMixture]:
        """Compute each group's `naive_posterior`."""
        if self.weights is not None:
            return [naive_of_weights(part, self.prior, self.weights) for part in release.parts]
        posteriors = []
        for part in release.parts:
            if is_noisy_count(part.mechanism):
                sizes = self._sizes_of([part])
                if len(sizes) > 1:
                    raise InvalidInput(
                        "n has a prior, and a noisy count isn't a proportion without a number of "
                        "records: there is no naive posterior; use fit()"
                    )
                posteriors.append(naive_of_weights(part, self.prior, ((1.0, sizes[0][0]),)))
            else:
                posteriors.append(naive_posterior(part, self.prior))
        return posteriors

    def sample(self, run: Run) -> Draws:
        """Draw by the engine chosen."""
        if run.engine == "exact":
            scalar = releases_of(run.release)[0].by is None
            return exact.sample(self._posteriors(run.release), scalar=scalar, **run.independent)
        if run.engine == "augmentation":
            return self._augmented(run)
        return super().sample(run)

    def _augmented(self, run: Run) -> Draws:
        from bayesdp.inference.records.families import sample_proportions

        release = only_one(run.release, run.engine)
        parts = [(part, self._sizes_of([part])) for part in release.parts]
        if any(is_noisy_count(part.mechanism) for part, _ in parts):
            raise InvalidInput("engine is 'augmentation', which reads no noisy counts; use 'exact'")
        return sample_proportions(parts, self.prior, **run.chained)

    def naive(self, run: Run) -> Draws:
        """Draw from the `naive_posterior` of each group."""
        scalar = run.release.by is None
        return exact.sample(self.naive_posteriors(run.release), scalar=scalar, **run.independent)

    def about(self, run: Run, drawn: Draws) -> dict[str, str]:
        """The prior, and weights where there are any."""
        told = super().about(run, drawn)
        return told if self.weights is None else {**told, "weights": repr(self.weights)}

    def pymc_model(self, release: Releases) -> pm.Model:
        """Build the model as a pm.Model, the latent counts summed out."""
        from bayesdp.engines.pymc.programs import binomial

        cells = [self._summed(parts) for parts in parts_of(release)]
        return binomial(cells, self.prior, groups_of(release))

    def stan_data(self, release: Releases) -> dict[str, Any]:
        """Build the data of the Stan program `binomial`."""
        (a, b), again = self.prior, replicates(parts_of(release), known=self.weights is None)
        return {**in_one_row(self.cells(release)), "prior_a": a, "prior_b": b, **again}

    def _sizes_of(self, parts: Sequence[Part]) -> Sequence[tuple[int, float]]:
        if self.weights is not None:
            raise InvalidInput("engine is 'augmentation', which has no weights; use 'exact'")
        return sizes_of_counts(self.n, parts, "BinomialModel")
