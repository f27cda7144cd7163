"""A linear regression from perturbed coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.regression.linear_read import (
    INTERCEPT,
    Read,
    check_fine,
    possible_sizes,
    priors_of,
)
from bayesdp.inference.regression.start import Hidden
from bayesdp.mechanisms.regression.perturbed_coefficients import PerturbedCoefficientsMechanism
from bayesdp.release import Release


def is_of_coefficients(mechanism: Any) -> bool:
    """Return True if the mechanism releases a regression's coefficients."""
    return isinstance(mechanism, PerturbedCoefficientsMechanism)


def of_coefficients(
    release: Release,
    response: str,
    predictors: Sequence[str] | None,
    prior: Any,
    predictors_prior: Any,
    sizes: range | None,
) -> Read:
    """Read a release of coefficients, which are the whole regression's and of no other."""
    mechanism: Any = release.mechanism
    if mechanism.loss != "linear":
        raise InvalidInput(
            f"the release is of a {mechanism.loss} regression's coefficients; take "
            "bdp.LogisticRegressionModel"
        )
    names = mechanism.predictors
    if response != mechanism.response or (predictors is not None and tuple(predictors) != names):
        raise InvalidInput(
            f"response is {quoted(response)} and predictors is {quoted(predictors)}, but the "
            f"release is of coefficients of {quoted(mechanism.response)} on {list(names)}, which "
            "tell of no other regression; bdp.synthesizers.NoisyMomentsSynthesizer releases what "
            "any is computed from"
        )
    check_fine(mechanism)
    p = len(names)
    first, last = possible_sizes(mechanism.n, sizes, p + 2)
    outputs = np.array(release.outputs, dtype=np.float64).T.copy()
    checked, arrays = priors_of(prior, predictors_prior, p)
    hidden = Hidden(
        seen=(
            outputs,
            np.full(outputs.shape[1], mechanism.scale),
            np.ones(outputs.shape[1], dtype=bool),
            mechanism.penalty,
        ),
        prior=arrays,
        noisy_n=np.zeros(len(release.outputs)),
        first=first,
        last=last,
    )
    bounds = dict(mechanism.bounds)
    ends = np.array([bounds[name] for name in (*names, response)])
    constant = outputs.size * float(mechanism.part.noise.log_pmf(0))
    return Read(hidden, checked, (INTERCEPT, *names), ends, constant)
