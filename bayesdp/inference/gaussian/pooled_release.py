"""What releases with groups say of each group's mean, on nodes that hold for any population."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.inference.gaussian.mean import nodes_of, seen_together, window
from bayesdp.inference.gaussian.release import seen_mean
from bayesdp.inference.several import agreed_size
from bayesdp.release import Part, Release

Floats = NDArray[np.float64]

_NEGLIGIBLE = 60.0  # below the log of the largest: 1e-26 of it
_AT_ENDS = 20.0
_CHECKED = 400  # draws


@dataclass(frozen=True)
class Group:
    """What is seen of the mean s of a group's records.

    Attributes
    ----------
    nodes, log_law : ndarray
        Ascending means, and log of the density of the outputs there times the node's weight.
    variance : float
        Of s given the group's mean.
    """

    nodes: Floats
    log_law: Floats
    variance: float


def check_groups(release: Release) -> None:
    """That there are several.

    Raises
    ------
    InvalidInput
        If there is one.
    """
    if len(release.parts) < 2:
        raise InvalidInput(
            "the release has one group, and nothing to learn of how groups differ; use "
            "bdp.GaussianModel"
        )


def seen_group(
    parts: Sequence[Part],
    n: int | None,
    statistic: str,
    sd: float,
    wide: tuple[float, float],
) -> Group:
    """What all releases of a group say of its records' mean.

    Parameters
    ----------
    parts : sequence of Part
    n, statistic, sd
        The model's.
    wide : tuple of two floats
        Mean and sd of what group means may be, where the outputs don't end it.

    Raises
    ------
    InvalidInput
        If the model doesn't fit, or the outputs have probability zero.
    """
    n = agreed_size(parts, n)
    one = seen_together([seen_mean(part, n, statistic) for part in parts])
    variance = sd**2 / one.n
    centre, reach = wide[0], 12 * math.hypot(wide[1], math.sqrt(variance))
    low, high = one.ends
    low = low if low > -math.inf else min(centre, high) - reach
    high = high if high < math.inf else max(centre, low) + reach
    low, high = window(one.log_law, low, high)
    nodes, log_weights, _ = nodes_of(one, low, high, min(math.sqrt(variance), one.scale))
    law = one.log_law(nodes) + log_weights
    keep = law > law.max() - _NEGLIGIBLE
    return Group(nodes[keep], law[keep], variance)


def check_conflict(groups: Sequence[Group], mean: Floats, spread: Floats) -> None:
    """That no posterior draw puts a group's mean where its outputs' law was cut off as negligible.

    Parameters
    ----------
    groups : sequence of Group
    mean, spread : ndarray, shape (draws,)
        Of the population of groups.

    Raises
    ------
    InvalidInput
        If one does.
    """
    every = np.linspace(0, mean.size - 1, min(_CHECKED, mean.size)).astype(int)
    for group in groups:
        cut = group.log_law[[0, -1]] < group.log_law.max() - _NEGLIGIBLE + _AT_ENDS
        if group.nodes.size < 2 or not np.any(cut):
            continue
        variance = (spread[every] ** 2 + group.variance)[:, None]
        each = group.log_law - (group.nodes - mean[every][:, None]) ** 2 / (2 * variance)
        if np.any(each[:, [0, -1]][:, cut] > each.max(axis=1, keepdims=True) - _AT_ENDS):
            raise InvalidInput(
                "prior and spread all but exclude what was released: they draw a group's mean to "
                f"where its outputs have less than e^-{_NEGLIGIBLE:g} of their largest density; "
                "take a wider prior, or a larger spread"
            )
