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
from bayesdp.inference.gaussian.windows import window, within
from bayesdp.inference.several import agreed_size
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
    sizes: Sequence[int | None],
    statistic: str,
    sd: float,
    prior: tuple[float, float, float],
) -> list[Group]:
    r"""Read each group's likelihood of its mean from all releases, on all nodes that may matter.

    Parameters
    ----------
    groups : sequence of sequences of Part
    sizes : sequence of int or None
        Each group's number of records, as far as the model says it.
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
    together = [
        seen_together([seen_mean(part, agreed_size(parts, n), statistic) for part in parts])
        for parts, n in zip(groups, sizes, strict=True)
    ]
    starts = [_start(one, sd, prior) for one in together]
    bests = [_largest(one, *start) for one, start in zip(together, starts, strict=True)]
    far, spread = _FAR + 2 * math.log(len(groups) + 1.0), prior[2] ** 2
    for one, best in zip(together, bests, strict=True):
        variance = sd**2 / one.n
        far += (best - prior[0]) ** 2 / (2 * (spread + variance)) + 1
        far += math.log1p(spread / variance) / 2
    low, high = min(low for low, _ in starts), max(high for _, high in starts)
    groups_seen = []
    for one, start in zip(together, starts, strict=True):
        # Beyond all outputs and m0 both the law and the groups' distribution fall.
        ends = within((min(low, prior[0] - _FAR * one.scale), max(high, prior[0])), one.ends)
        ends = within((ends[0], max(ends[1], prior[0] + _FAR * one.scale)), one.ends)
        groups_seen.append(_nodes(one, start, ends, sd**2 / one.n, far))
    return groups_seen


def _start(one: Seen, sd: float, prior: tuple[float, float, float]) -> tuple[float, float]:
    """Finite ends of a search: where the outputs have none, those of plausible group means."""
    low, high = within(one.near, one.ends)
    wide = math.hypot(prior[1], 6 * prior[2])
    reach = 12 * math.hypot(wide, sd / math.sqrt(one.n))
    low = low if low > -math.inf else min(prior[0], high) - reach
    high = high if high < math.inf else max(prior[0], low) + reach
    return low, high


def _largest(one: Seen, low: float, high: float) -> float:
    """Find where the law is largest, nearly."""
    points = np.linspace(*window(one.log_law, low, high, one.ends), 257)
    return float(points[int(np.argmax(one.log_law(points)))])


def _nodes(
    one: Seen, start: tuple[float, float], ends: tuple[float, float], variance: float, far: float
) -> Group:
    low, high = window(one.log_law, *start, ends, far)
    nodes, log_weights, _ = nodes_of(one, low, high, min(math.sqrt(variance), one.scale))
    return Group(nodes, one.log_law(nodes) + log_weights, variance)
