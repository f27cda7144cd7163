"""The public parameters of synthetic networks from sanitised coefficients: which are allowed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.checks import check_at_least_one, check_flag, check_one_of, is_number
from bayesdp.errors import InvalidInput, kind_of, quoted
from bayesdp.mechanisms.draws.integer_noise import LARGEST_SCALE
from bayesdp.mechanisms.noise.fields import check_positive
from bayesdp.privacy.guarantee import check_epsilon

if TYPE_CHECKING:
    from bayesdp.mechanisms.graphs.dp_ergm.mechanism import DPERGMMechanism

METHODS = ("sdd", "sdd_mc", "sphc")
CALIBRATIONS = ("corrected", "published")
MOST_CELLS = 100_000
MOST_DRAWS = 10_000_000
_LARGEST_CORRELATION = 0.999


def check_fields(mechanism: DPERGMMechanism) -> dict[str, Any]:
    """Validate the mechanism's parameters and return them in their standard form."""
    m = mechanism
    check_method(m.method, m.calibration)
    sensitivities = numbers("sensitivities", m.sensitivities)
    if not sensitivities or min(sensitivities) <= 0:
        raise InvalidInput(
            f"sensitivities is {quoted(m.sensitivities)}; it must have a positive number for each "
            "statistic"
        )
    terms = len(sensitivities)
    published = m.calibration == "published"
    if published and not (m.centre is None and m.scale is None):
        raise InvalidInput(
            "centre and scale are given with calibration='published', which takes the confidential "
            "posterior's mean and standard deviations; leave them out, or use "
            "calibration='corrected'"
        )
    made: dict[str, Any] = {
        "epsilon": check_epsilon(m.epsilon),
        "nodes": check_at_least_one("nodes", m.nodes),
        "sensitivities": sensitivities,
        "prior": _check_prior(m.prior, terms),
        "bins": check_at_least_one("bins", m.bins),
        "reach": check_positive("reach", m.reach),
        "draws": check_at_least_one("draws", m.draws),
        "correlation": check_correlation(m.correlation),
        "attributes": _check_names(m.attributes),
        "burn_in": None if m.burn_in is None else check_at_least_one("burn_in", m.burn_in),
    }
    check_flag("directed", m.directed)
    if not published:
        made["centre"] = _one_a_term("centre", m.centre, terms)
        made["scale"] = _one_a_term("scale", m.scale, terms)
        if min(made["scale"]) <= 0:
            raise InvalidInput(f"scale is {quoted(m.scale)}; each number must be positive")
    if made["bins"] < 2 or made["bins"] ** terms > MOST_CELLS:
        raise InvalidInput(
            f"bins is {m.bins}, which makes {made['bins'] ** terms:,} cells for {terms} "
            f"statistics; it must be at least 2, and make at most {MOST_CELLS:,}"
        )
    if not 2 <= made["draws"] <= MOST_DRAWS:
        raise InvalidInput(f"draws is {m.draws}; it must be from 2 to {MOST_DRAWS:,}")
    if m.method == "sphc" and 2 * made["draws"] / made["epsilon"] > LARGEST_SCALE:
        raise InvalidInput(
            f"epsilon is {m.epsilon}, with draws {m.draws}: their noise exceeds 64 bits; take a "
            "larger epsilon"
        )
    return made


def check_method(method: str, calibration: str) -> None:
    """Raise InvalidInput unless there is this method, so calibrated."""
    check_one_of("method", method, list(METHODS))
    check_one_of("calibration", calibration, CALIBRATIONS)
    if (method, calibration) == ("sdd_mc", "corrected"):
        raise InvalidInput(
            "method is 'sdd_mc', which has no corrected calibration: log(N_i / N) of an empty bin "
            "is minus infinity, so that no noise is enough; use 'sdd', which it approximates, or "
            "'sphc'"
        )


def numbers(name: str, given: Any) -> tuple[float, ...]:
    """Return a list of finite numbers as a tuple of floats, else raise InvalidInput."""
    values = given.tolist() if isinstance(given, np.ndarray) else given
    if not isinstance(values, Sequence) or not all(
        is_number(v) and math.isfinite(v) for v in values
    ):
        raise InvalidInput(
            f"{name} is {kind_of(given)}; it must be finite numbers, one a statistic"
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


def _one_a_term(name: str, given: Any, terms: int) -> tuple[float, ...]:
    if given is None:
        raise InvalidInput(
            f"{name} is missing; the grid must be public, so choose it without the data: centre "
            "and scale, one number a statistic, or a prior"
        )
    values = numbers(name, given)
    if len(values) != terms:
        raise InvalidInput(f"{name} has {len(values)} numbers; the formula has {terms} statistics")
    return values


def _check_prior(prior: Any, terms: int) -> Any:
    if prior is None:
        return None
    if not isinstance(prior, Sequence) or len(prior) != 2:
        raise InvalidInput(
            f"prior is {quoted(prior)}; it must be means and standard deviations, or None"
        )
    mean, sd = (_one_a_term(name, v, terms) for name, v in zip(("mean", "sd"), prior, strict=True))
    if min(sd) <= 0:
        raise InvalidInput(f"the prior's sd is {quoted(sd)}; each number must be positive")
    return mean, sd


def _check_names(names: Any) -> tuple[str, ...]:
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise InvalidInput(f"attributes is {quoted(names)}; it must be names, as ('grade',)")
    return tuple(names)
