r"""Likelihood of the sum of gamma records given a release, and the posterior of their rate.

A mechanism's law is a function of the sum S alone. Given S, and the number c of records that were
moved to a bound where that matters, the rate is gamma (`bayesdp.inference.gamma.sums`), so that

    theta | z  ~  sum over c of the integral of Gamma(a', b + S) w(c, S) dS,
    w(c, S) ~ p(c, S) prod_j p(z_j | S),

is a mixture of gamma laws. The integral is over log S, by Gauss and Legendre's rule on pieces no
longer than twice 1 / sqrt(a + n k), the relative width of a component, or than the law's own scale,
between the points where a law has a kink (`bayesdp.inference.gaussian.mean`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.core.sum_views import PositiveSumView
from bayesdp.core.views import Cell
from bayesdp.engines.gamma_mixture import GammaMixture
from bayesdp.errors import InvalidInput
from bayesdp.inference.gamma.sums import Sums
from bayesdp.inference.gaussian.mean import Seen, nodes_of, seen_through_noise
from bayesdp.inference.gaussian.windows import shared, window
from bayesdp.inference.unknown_size import Impossible
from bayesdp.mechanisms.noise.reach import range_of
from bayesdp.release import Part

Floats = NDArray[np.float64]

_START = 5.0  # log of the factor below the largest sum where a search starts
_LARGEST = 690.0  # log of a sum, which is to be a float
_BEYOND = 800.0  # scales of noise, which goes no further
_NEGLIGIBLE = 1e-17  # weight of a component


@dataclass(frozen=True)
class SeenTotal:
    """Likelihood of the sum of n positive records, given the copies of one release.

    Attributes
    ----------
    seen : Seen
        The likelihood, its ends and kinks, as a function of the sum in place of the mean.
    relative : float
        Relative change of the sum over which the law varies; inf where `seen.scale` says it all.
    """

    seen: Seen
    relative: float = math.inf

    @property
    def near(self) -> tuple[float, float]:
        """Interval of log sums from which a search for the posterior's mass starts."""
        low, high = (min(max(end, self.seen.ends[0]), self.seen.ends[1]) for end in self.seen.near)
        least = max(low, self.seen.scale)
        last = math.log(max(high, least)) if math.isfinite(high) else math.log(least) + _START
        return (math.log(low) if low > 0 else last - _START), last


def total_through_noise(part: Part, cell: Cell, n: int, statistic: str) -> SeenTotal:
    """Read the likelihood of the sum from a noisy sum or mean."""
    unit = 1.0 if statistic == "sum" else 1 / n
    seen = seen_through_noise(part, cell, n, unit)
    (low, high), furthest = seen.ends, math.inf
    if cell.bounding == "inflated":  # beyond the end, all is moved to it
        furthest = (range_of(cell)[1] + _BEYOND * cell.scale) / unit
    if not high > 0:
        raise Impossible("the outputs have probability zero under the model")

    def log_law(totals: Floats) -> Floats:
        return seen.log_law(np.minimum(totals, furthest))

    ends = max(low, 0.0), high
    return SeenTotal(Seen(n, ends, seen.scale, seen.kinks, log_law, seen.near))


def total_through_copies(part: Part, view: PositiveSumView, n: int) -> SeenTotal:
    """Read the likelihood of the sum of n records by the mechanism's own law given it."""
    low, high = (n * end for end in view.bounds)

    def log_law(totals: Floats) -> Floats:
        return view.law(part.outputs, np.clip(totals, low, high), n)

    made = Seen(n, (low, high), high, lambda start, end: np.empty(0), log_law, (low, high))
    return SeenTotal(made, view.scale(n) / math.sqrt(len(part.outputs)))


@dataclass(frozen=True)
class RatePosterior:
    """Posterior of the rate, and the log probability, or density, of the outputs."""

    mixture: GammaMixture
    log_evidence: float

    def likelihood(self, prior: tuple[float, float]) -> tuple[Floats, Floats, Floats]:
        """Return the terms whose sum is the likelihood, the posterior over the prior.

        They are exp(log_weight) theta^power exp(-total theta); negligible ones are left out.

        Returns
        -------
        log_weight, power, total : ndarray, shape (terms,)
        """
        (a, b), made = prior, self.mixture
        log_weight = self.log_evidence + np.log(made.weights)
        for sign, shape, rate in ((1, made.shapes, made.rates), (-1, a, b)):
            log_weight = log_weight + sign * (shape * np.log(rate) - special.gammaln(shape))
        return log_weight, made.shapes - a, made.rates - b


@dataclass(frozen=True)
class _InLogs:
    """Law of the logarithm of the sum, and of the outputs given it, between two ends of the sum."""

    each: Sequence[SeenTotal]
    sums: Sums
    least: float
    most: float

    @classmethod
    def of(cls, each: Sequence[SeenTotal], sums: Sums) -> _InLogs:
        """Law between the ends that all have in common; InvalidInput if they have none."""
        ends = [sums.ends, *(one.seen.ends for one in each)]
        least, most = max(low for low, _ in ends), min(high for _, high in ends)
        if not least < most:
            raise Impossible("the releases together have probability zero under the model")
        return cls(each, sums, least, most)

    @property
    def ends(self) -> tuple[float, float]:
        low = math.log(self.least) if self.least > 0 else -math.inf
        return low, min(math.log(self.most), _LARGEST)

    def log_law(self, log_totals: Floats) -> Floats:
        totals = np.clip(np.exp(log_totals), self.least, self.most)
        laws = [one.seen.log_law(totals) for one in self.each]
        return np.asarray(np.sum(laws, axis=0), dtype=np.float64)

    def log_weight(self, log_totals: Floats) -> Floats:
        logs = special.logsumexp(self.sums.terms(log_totals)[0], axis=1)
        return np.asarray(logs + self.log_law(log_totals), dtype=np.float64)

    def kinks(self, start: float, end: float) -> Floats:
        first, last = math.exp(start), math.exp(end)
        laws = (one.seen.kinks(first, last) for one in self.each)
        found = np.concatenate([self.sums.kinks(), *laws])
        return np.asarray(np.log(found[found > 0]))

    def start(self) -> tuple[float, float]:
        """Interval to search from; never an end alone, where the sum may have no density."""
        low, high = shared([one.near for one in self.each], self.ends)
        if high - low < _START * 2.0**-20:
            low, high = max(low - _START, self.ends[0]), min(high + _START, self.ends[1])
        return low, high

    def nodes(self, relative: float) -> tuple[Floats, Floats]:
        """Nodes where the law isn't negligible, and the logs of their weights.

        Pieces are no longer than twice `relative`, or the scale of any law.
        """
        low, high = window(self.log_weight, *self.start(), self.ends)
        if high >= _LARGEST:
            raise InvalidInput(
                "all outputs are at an upper bound, beyond which any sum is as likely, and the "
                "prior gives the largest of them too much probability; take a prior of larger shape"
            )
        widths = [min(one.relative, one.seen.scale * math.exp(-high)) for one in self.each]
        scale = min(relative, *widths)
        made = Seen(self.sums.n, self.ends, scale, self.kinks, self.log_law)
        return nodes_of(made, low, high, scale)[:2]


def posterior_of_rate(
    each: Sequence[SeenTotal], sums: Sums, shape: float, prior: tuple[float, float]
) -> RatePosterior:
    """Compute the exact posterior of the rate; see the module's docstring.

    Raises
    ------
    InvalidInput
        If the outputs have probability zero, or say nothing of how large the sum is.
    """
    law = _InLogs.of(each, sums)
    nodes, log_lengths = law.nodes(1 / math.sqrt(prior[0] + sums.n * shape))
    logs, shapes = sums.terms(nodes)
    logs = logs + (law.log_law(nodes) + log_lengths)[:, None]
    rates = np.broadcast_to(prior[1] + np.exp(nodes)[:, None], logs.shape)
    parts = [logs.ravel(), shapes.ravel(), rates.ravel()]
    if (atom := sums.atom()) is not None and atom[1] <= law.most:
        mass, total, of = atom
        alone = mass + float(law.log_law(np.array([math.log(total)]))[0])
        parts = [np.append(*one) for one in zip(parts, (alone, of, prior[1] + total), strict=True)]
    return _mixture(*parts)


def posterior_given_total(
    total: float, each: Sequence[SeenTotal], sums: Sums, prior: tuple[float, float]
) -> RatePosterior:
    """Compute the posterior of the rate where the sum is known exactly.

    Parameters
    ----------
    total : float
        Sum of the records, which is positive.
    each : sequence of SeenTotal
        Likelihoods from other releases of these records, which matter to the evidence alone.
    sums, prior
        As for `posterior_of_rate`.

    Raises
    ------
    InvalidInput
        If no records within the bounds have this sum, or the releases contradict each other.
    """
    least, most = sums.ends
    if not least <= total <= most:
        raise Impossible("the exact sum isn't that of records within the bounds")
    logs, shapes = sums.terms(np.array([math.log(total)]))
    law = np.sum([one.seen.log_law(np.array([total]))[0] for one in each])
    logs, shapes = logs[0] - math.log(total), shapes[0]
    atom = sums.atom()
    if atom is not None and total == atom[1]:
        logs, shapes = np.array([atom[0]]), np.array([atom[2]])
    if not np.max(logs) + law > -math.inf:
        raise Impossible("the releases together have probability zero under the model")
    return _mixture(logs + law, shapes, np.full(shapes.size, prior[1] + total))


def _mixture(logs: Floats, shapes: Floats, rates: Floats) -> RatePosterior:
    """Posterior whose components have these log weights, but for the negligible ones."""
    whole = float(special.logsumexp(logs))
    weights = np.exp(logs - whole)
    keep = weights > _NEGLIGIBLE
    kept = weights[keep] / weights[keep].sum()
    return RatePosterior(GammaMixture(kept, shapes[keep], rates[keep]), whole)


def known_total(n: int, total: float, shape: float, prior: tuple[float, float]) -> GammaMixture:
    """Compute the posterior of the rate from the sum of n records: a single gamma law."""
    return GammaMixture(np.ones(1), np.array([prior[0] + n * shape]), np.array([prior[1] + total]))
