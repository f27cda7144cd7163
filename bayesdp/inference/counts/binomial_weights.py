r"""A noisy weighted count of ones, whose weights are public, as a law of the count itself.

Records have weights w_i that are known constants, and what was released is noisy

    s = sum over records of w_i y_i  =  sum over distinct weights of w_k x_k,

with x_k of the n_k records of weight w_k being ones. Records are ones with one probability p, so
given their number x = x_1 + ... + x_K which ones they are is uniform, and

    Pr[z | x]  =  sum over (x_1, ..., x_K) with sum x of prod_k C(n_k, x_k) / C(n, x) Pr[z | s]:

the binomial model's own law, exactly, and all else of it stays as it is. The sum is over all
vectors, so distinct weights must be few.

Changing a record, or adding or removing one, changes s by at most the largest weight, so the
mechanism's sensitivity must be that; with a smaller one its promise is about other data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.checks import check_at_least_one, is_number
from bayesdp.engines.enumeration import Cells, cells_of, is_noisy_count
from bayesdp.engines.mixture import BetaMixture
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.conflict import Noise, noise_from
from bayesdp.release import Part

Floats = NDArray[np.float64]
Weights = tuple[tuple[float, int], ...]
"""Distinct weights, increasing, and how many records have each."""

_MOST_VECTORS = 4_000_000


def check_weights(weights: Any, name: str = "weights", *, n: Any = None) -> Any:
    """Return the weights of all records, or of each group's, sorted; else raise InvalidInput."""
    if n is not None:
        raise InvalidInput("n is given, but weights say how many records there are; leave n out")
    good = isinstance(weights, Mapping) and len(weights) > 0
    if good and all(isinstance(each, Mapping) for each in weights.values()):
        return {g: check_weights(each, f"weights[{quoted(g)}]") for g, each in weights.items()}
    if not good or not all(is_number(w) and 0 < w < math.inf for w in weights):
        raise InvalidInput(
            f"{name} is {quoted(weights)}; it must say how many records have each weight, as "
            "{1.0: 120, 2.5: 40}, weights positive and finite; or that of each group, by its label"
        )
    counts = {float(w): check_at_least_one(f"{name}[{quoted(w)}]", k) for w, k in weights.items()}
    vectors = math.prod(k + 1 for k in counts.values())
    if vectors > _MOST_VECTORS:
        raise InvalidInput(
            f"{name} has {len(counts)} distinct weights, so that {vectors:,} vectors of counts are "
            f"to be summed over, more than {_MOST_VECTORS:,}; release a count for each weight, as "
            "groups, or take fewer weights"
        )
    return tuple(sorted(counts.items()))


def weights_of(weights: Any, group: Any) -> Weights:
    """The weights of one group."""
    if not isinstance(weights, Mapping):
        of_group: Weights = weights
        return of_group
    if group not in weights:
        raise InvalidInput(
            f"weights are of the groups {list(weights)}, but the release has {quoted(group)}; give "
            "each group's"
        )
    own: Weights = weights[group]
    return own


def naive_of_weights(part: Part, prior: tuple[float, float], weights: Any) -> BetaMixture:
    """Compute the posterior that treats the noisy share of the weights as exact.

    Raises
    ------
    InvalidInput
        If no records have such a weighted count.
    """
    own = weights_of(weights, part.group)
    n, total = sum(k for _, k in own), sum(w * k for w, k in own)
    check_noise(part.mechanism, own, n)
    share = float(np.mean(part.outputs)) / total
    if not 0 <= share <= 1:
        raise InvalidInput(
            "the noisy count is below 0 or above the number of records (where they are weighted, "
            "the sum of the weights), so that it is no records' own: there is no naive posterior"
        )
    a, b = prior
    return BetaMixture(np.ones(1), np.array([a + n * share]), np.array([b + n * (1 - share)]))


def weighted_cells(parts: Sequence[Part], prior: tuple[float, float], weights: Any) -> Cells:
    """Enumerate the latent counts of ones, from releases of their weighted counts.

    Parameters
    ----------
    parts : sequence of Part
        One for each release of the same records.
    prior : tuple of two floats
        Parameters of the beta prior.
    weights
        As returned by `check_weights`.

    Raises
    ------
    InvalidInput
        If a mechanism doesn't add noise to such a sum, or its sensitivity is below the largest
        weight; or if the outputs have probability zero.
    """
    own = weights_of(weights, parts[0].group)
    n = sum(k for _, k in own)
    for part in parts:
        check_noise(part.mechanism, own, n)
    ones, sums, log_choose = np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros(1)
    for w, k in own:
        x = np.arange(k + 1)
        ways = special.gammaln(k + 1) - special.gammaln(x + 1) - special.gammaln(k - x + 1)
        ones = np.add.outer(ones, x).ravel()
        sums = np.add.outer(sums, w * x).ravel()
        log_choose = np.add.outer(log_choose, ways).ravel()
    distinct, where = np.unique(sums, return_inverse=True)
    law = np.zeros(distinct.size)
    for part in parts:
        for output in part.outputs:
            law += part.mechanism.logp(np.array(output), distinct)
    terms = log_choose + law[where]
    top = np.full(n + 1, -np.inf)
    np.maximum.at(top, ones, terms)
    if not top.max() > -np.inf:
        raise InvalidInput("the outputs have probability zero under the model's prior")
    finite = np.where(top > -np.inf, top, 0.0)
    whole = np.bincount(ones, np.exp(terms - finite[ones]), minlength=n + 1)
    x = np.arange(n + 1)
    all_ways = special.gammaln(n + 1) - special.gammaln(x + 1) - special.gammaln(n - x + 1)
    with np.errstate(divide="ignore"):
        log_law = np.log(whole) + finite - all_ways
    kept = log_law > -np.inf
    x, log_law = x[kept], log_law[kept]
    return cells_of(n, x, log_law, prior)


def noises_of_counts(
    groups: Sequence[Sequence[Part]], weights: Any, sizes: Sequence[Any]
) -> list[Noise]:
    """Compute the least noise that leads from possible counts to the noisy ones.

    Parameters
    ----------
    groups : sequence of sequences of Part
    weights : as returned by `check_weights`, or None
    sizes : sequence
        Of each group, possible values of n as far as the model says them, or None.
    """
    noises: list[Noise] = []
    for parts, said in zip(groups, sizes, strict=True):
        known = [part.mechanism.n for part in parts if part.mechanism.n is not None]
        if weights is not None:
            most = sum(w * k for w, k in weights_of(weights, parts[0].group))
        else:
            most = float(known[0] if known else max(n for n, _ in said))
        noises += noise_from(parts, 0.0, most)
    return noises


def check_noise(mechanism: Any, weights: Weights, n: int) -> None:
    """Raise InvalidInput unless a mechanism adds noise to a count of ones with these weights."""
    if not is_noisy_count(mechanism):
        raise InvalidInput(
            f"the model has weights, but the release's mechanism {quoted(mechanism.name)} doesn't "
            "add noise to a weighted count of ones; with weights a BinomialModel takes one number "
            "by LaplaceMechanism, GaussianMechanism, DiscreteLaplaceMechanism or "
            "DiscreteGaussianMechanism"
        )
    if mechanism.n is not None and mechanism.n != n:
        raise InvalidInput(
            f"the model is of {n} records, but the release says n = {mechanism.n}; say the weight "
            "of each, or leave n out"
        )
    largest, total = weights[-1][0], sum(w * k for w, k in weights)
    if mechanism.sensitivity < largest:
        raise InvalidInput(
            f"the release's sensitivity is {quoted(mechanism.sensitivity)}, but a record of weight "
            f"{quoted(largest)} moves the weighted count by that much: the release was of other "
            "numbers, or its promise doesn't hold; release with the largest weight as sensitivity"
        )
    if mechanism.whole and any(w != int(w) for w, _ in weights):
        raise InvalidInput(
            f"the release's mechanism {quoted(mechanism.name)} adds noise to whole numbers, but "
            "the weights aren't whole; give the weights in the unit that was released"
        )
    low, high = mechanism.ends
    if mechanism.bounding == "truncated" and (
        (low is not None and low > 0) or (high is not None and high * mechanism.step < total)
    ):
        raise InvalidInput(
            f"the release's noise keeps the number within {mechanism.bounds}, but weighted counts "
            f"are from 0 to {quoted(total)}; release within bounds that hold them"
        )
