"""New moments of normal records, given a model's parameters, in the form that mechanisms take."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from bayesdp.core.views import NormalView, view_of
from bayesdp.errors import InvalidInput
from bayesdp.inference.predictive_statistics import Rng, Theta, known_size
from bayesdp.release import Part

_TRIES = 1000


def moments(sd: float | None, statistic: str, n: Any, part: Part, theta: Theta, rng: Rng) -> Any:
    """Draw the moments of new records, within public bounds if there are any.

    Parameters
    ----------
    sd, statistic, n
        The model's fields.
    part : Part
    theta : mapping
        One draw of the parameters.
    rng : Generator

    Raises
    ------
    InvalidInput
        If hardly any records are within the bounds, or the number of records isn't known.
    """
    size, sigma = known_size(part, n), float(theta.get("sigma", sd or 0.0))
    normal = view_of(part.mechanism, NormalView)

    def new() -> Any:
        mean = rng.normal(theta["mu"], sigma / math.sqrt(size))
        variance = math.nan  # of which nothing is released
        if sd is None:
            variance = sigma**2 * rng.chisquare(size - 1) / (size - 1)
        if normal is not None:
            given = normal.statistic(size, mean, variance)
        elif sd is not None:
            given = mean * (size if statistic == "sum" else 1)
        else:
            given = np.array([mean, variance])
            if statistic == "sum":
                given = np.array([size * mean, (size - 1) * variance + size * mean**2])
        if getattr(part.mechanism, "whole", False):
            given = np.rint(given).astype(np.int64)
        return given

    return within_bounds(part, new)


def within_bounds(part: Part, new: Callable[[], Any]) -> Any:
    """Draw a statistic until it is one of records within the public bounds.

    Parameters
    ----------
    part : Part
    new : callable
        Draws a statistic of new records, wherever they are.

    Raises
    ------
    InvalidInput
        If hardly any records are within the bounds.
    """
    for _ in range(_TRIES):
        given = new()
        try:
            part.mechanism.check_statistic(given)
        except InvalidInput:
            continue  # not of records within the bounds
        return given
    raise InvalidInput(
        f"a draw of the posterior gave no records within the public bounds in {_TRIES} tries; the "
        "model doesn't fit the release"
    )
