"""Checks of the public parameters of synthetic networks from sanitised coefficients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesdp.checks import check_one_of, is_number
from bayesdp.errors import InvalidInput, kind_of, quoted
from bayesdp.privacy.neighbours import Neighbours, check_edge_or_node

METHODS = ("sdd", "sdd_mc", "sphc")
CALIBRATIONS = ("corrected", "published")
MOST_CELLS = 100_000
MOST_DRAWS = 10_000_000
_LARGEST_CORRELATION = 0.999


def check_method(method: str, calibration: str) -> None:
    """Raise InvalidInput unless there is this method with this calibration."""
    check_one_of("method", method, list(METHODS))
    check_one_of("calibration", calibration, CALIBRATIONS)
    if (method, calibration) == ("sdd_mc", "corrected"):
        raise InvalidInput(
            "method is 'sdd_mc', which has no corrected calibration: log(N_i / N) of an empty bin "
            "is minus infinity, so that no noise is enough; use 'sdd', which it approximates, or "
            "'sphc'"
        )


def check_relation(neighbours: str, calibration: str) -> Neighbours:
    """Return the relation of graphs if the calibration claims anything under it, else raise."""
    relation = check_edge_or_node(neighbours)
    if relation is Neighbours.NODE and calibration == "published":
        raise InvalidInput(
            "neighbours is 'node', about which the published calibration claims nothing; use "
            "calibration='corrected'"
        )
    return relation


def numbers(name: str, given: Any) -> tuple[float, ...]:
    """Return a list of finite numbers as a tuple of floats, else raise InvalidInput."""
    values = given.tolist() if isinstance(given, np.ndarray) else given
    if not isinstance(values, Sequence) or not all(
        is_number(v) and math.isfinite(v) for v in values
    ):
        raise InvalidInput(
            f"{name} is {kind_of(given)}; it must be finite numbers, one for each statistic"
        )
    return tuple(float(v) for v in values)


def check_correlation(correlation: Any) -> float:
    """Return a bound on the posterior's absolute correlations, else raise InvalidInput."""
    if not is_number(correlation) or not 0 <= correlation <= _LARGEST_CORRELATION:
        raise InvalidInput(
            f"correlation is {quoted(correlation)}; it must be a number from 0 to "
            f"{_LARGEST_CORRELATION}, a public bound on the absolute correlations"
        )
    return float(correlation)


def one_a_term(name: str, given: Any, terms: int) -> tuple[float, ...]:
    """Return the numbers given, one for each statistic of the formula, or raise InvalidInput."""
    if given is None:
        raise InvalidInput(
            f"{name} is missing; the grid must be public, so choose it without the data: centre "
            "and scale, one number for each statistic, or a prior"
        )
    values = numbers(name, given)
    if len(values) != terms:
        raise InvalidInput(f"{name} has {len(values)} numbers; the formula has {terms} statistics")
    return values


def check_prior(prior: Any, terms: int) -> Any:
    """Return means and standard deviations of a normal prior, or None; else raise."""
    if prior is None:
        return None
    if not isinstance(prior, Sequence) or len(prior) != 2:
        raise InvalidInput(
            f"prior is {quoted(prior)}; it must be means and standard deviations, or None"
        )
    mean, sd = (one_a_term(name, v, terms) for name, v in zip(("mean", "sd"), prior, strict=True))
    if min(sd) <= 0:
        raise InvalidInput(f"the prior's sd is {quoted(sd)}; each number must be positive")
    return mean, sd


def check_names(names: Any) -> tuple[str, ...]:
    """Return the attributes' names as a tuple, or raise InvalidInput."""
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise InvalidInput(f"attributes is {quoted(names)}; it must be names, as ('grade',)")
    return tuple(names)
