"""Likelihood of each group's mean given releases, on nodes that hold for any population."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.inference.gaussian.mean import Seen, nodes_of, seen_together
from bayesdp.inference.gaussian.release import seen_mean
from bayesdp.inference.gaussian.unknown_size_mean import seen_of_sizes
from bayesdp.inference.gaussian.windows import window, within
from bayesdp.inference.sizes import Sizes
from bayesdp.release import Part, Release

Floats = NDArray[np.float64]

_FAR = 100.0  # log of what is negligible


@dataclass(frozen=True)
class Group:
    """Likelihood of the mean s of a group's records, on nodes.

    Attributes
    ----------
    nodes, log_law : ndarray
        Ascending means, and log of the density of the outputs there times the node's weight.
    variance : float
        Variance of s given the group's mean.
    """

    nodes: Floats
    log_law: Floats
    variance: float


def check_groups(release: Release) -> None:
    """Raise InvalidInput unless a release has several groups.

    Raises
    ------
    InvalidInput
        If the release has a single group.
    """
    if len(release.parts) < 2:
        raise InvalidInput(
            "the release has one group, and nothing to learn of how groups differ; use "
            "bdp.GaussianModel"
        )


def seen_groups(
    groups: Sequence[Sequence[Part]],
    sizes: Sequence[Sizes],
    statistic: str,
    sd: float,
    prior: tuple[float, float, float],
) -> list[Group]:
    r"""Read each group's likelihood of its mean from all releases, on all nodes that may matter.

    Parameters
    ----------
    groups : sequence of sequences of Part
    sizes : sequence of lists of tuples
        What each group's number of records may be, and the probabilities.
    statistic, sd
        The model's fields.
    prior : tuple of three floats
        Mean m0 and sd of the groups' mean, and the scale c of the half-normal prior of their
        spread.

    Raises
    ------
    InvalidInput
        If the model doesn't fit, or the outputs have probability zero.

    Notes
    -----
    At m = m0 and a spread of c, and near there, the outputs' probability is at least

        prod_g L_g W_g N(s_g; m0, c^2 + V_g) / e,

    with L_g a law's largest value, at s_g, and W_g its integral relative to that; and it is at most
    prod_g L_g W_g / sqrt(2 pi V_g) where one of the laws isn't reduced. So means whose law is below
    the ratio of both, times e^-100, aren't seen in the posterior, whatever the other groups say.
    """

    given = list(zip(groups, sizes, strict=True))
    each = [_seen(parts, size, statistic, sd, prior) for parts, size in given]
    starts = [_start(one, sd, prior) for one in each]
    bests = [_largest(one, start) for one, start in zip(each, starts, strict=True)]
    far, spread = _FAR + 2 * math.log(len(groups) + 1.0), prior[2] ** 2
    for one, best in zip(each, bests, strict=True):
        variance = sd**2 / one.n
        far += (best - prior[0]) ** 2 / (2 * (spread + variance)) + 1
        far += math.log1p(spread / variance) / 2
    low, high = min(low for low, _ in starts), max(high for _, high in starts)
    groups_seen = []
    for one, start, (parts, size) in zip(each, starts, given, strict=True):
        # Beyond all outputs and m0 both the law and the groups' distribution fall.
        reach = _FAR * one.scale
        ends = min(low, prior[0] - reach), max(high, prior[0] + reach)
        # Summed out, n leaves a law that holds between the ends it is made for.
        there = _seen(parts, size, statistic, sd, prior, far, ends)
        ends = within(ends, there.ends)
        groups_seen.append(_nodes(there, start, ends, sd**2 / there.n, far))
    return groups_seen


def _seen(
    parts: Sequence[Part],
    sizes: Sizes,
    statistic: str,
    sd: float,
    prior: tuple[float, float, float],
    far: float = _FAR,
    ends: tuple[float, float] | None = None,
) -> Seen:
    """Likelihood of a group's mean from all its releases, with the number of records summed out."""

    def given(n: int) -> Seen:
        return seen_together([seen_mean(part, n, statistic) for part in parts])

    if len(sizes) == 1:
        return given(sizes[0][0])

    def peak(one: Seen) -> float:
        return _largest(one, _start(one, sd, prior))

    def matters(one: Seen) -> tuple[float, float]:
        start = _start(one, sd, prior)
        return window(one.log_law, *start, within(ends or start, one.ends), far)

    return seen_of_sizes(sizes, given, sd, matters, peak)


def _start(one: Seen, sd: float, prior: tuple[float, float, float]) -> tuple[float, float]:
    """Finite ends of a search: where the outputs have none, those of plausible group means."""
    low, high = within(one.near, one.ends)
    wide = math.hypot(prior[1], 6 * prior[2])
    reach = 12 * math.hypot(wide, sd / math.sqrt(one.n))
    low = low if low > -math.inf else min(prior[0], high) - reach
    high = high if high < math.inf else max(prior[0], low) + reach
    return low, high


def _largest(one: Seen, start: tuple[float, float]) -> float:
    """Find where the law is largest, nearly; one that doesn't fall on a side is so from a bound."""
    points = np.linspace(*window(one.log_law, *start, start), 257)
    return float(points[int(np.argmax(one.log_law(points)))])


def _nodes(
    one: Seen, start: tuple[float, float], ends: tuple[float, float], variance: float, far: float
) -> Group:
    low, high = window(one.log_law, *start, ends, far)
    nodes, log_weights, _ = nodes_of(one, low, high, min(math.sqrt(variance), one.scale))
    return Group(nodes, one.log_law(nodes) + log_weights, variance)
