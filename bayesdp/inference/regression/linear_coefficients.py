"""A linear regression from perturbed coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesdp.core.views import CoefficientsView, view_of
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.regression.linear_read import (
    INTERCEPT,
    Read,
    check_fine,
    possible_sizes,
    priors_of,
)
from bayesdp.inference.regression.start import Hidden
from bayesdp.release import Release


def of_coefficients(
    release: Release,
    response: str,
    predictors: Sequence[str] | None,
    prior: Any,
    predictors_prior: Any,
    sizes: range | None,
) -> Read:
    """Read a release of coefficients, which inform only the regression that they belong to."""
    view: Any = view_of(release.mechanism, CoefficientsView)
    if view.loss != "linear":
        raise InvalidInput(
            f"the release is of a {view.loss} regression's coefficients; take "
            "bdp.LogisticRegressionModel"
        )
    names = view.predictors
    if response != view.response or (predictors is not None and tuple(predictors) != names):
        raise InvalidInput(
            f"response is {quoted(response)} and predictors is {quoted(predictors)}, but the "
            f"release is of coefficients of {quoted(view.response)} on {list(names)}, which "
            "tell of no other regression; bdp.synthesizers.NoisyMomentsSynthesizer releases what "
            "any is computed from"
        )
    check_fine(view.coefficient)
    p = len(names)
    first, last = possible_sizes(view.n, sizes, p + 2)
    outputs = np.array(release.outputs, dtype=np.float64).T.copy()
    checked, arrays = priors_of(prior, predictors_prior, p)
    hidden = Hidden(
        seen=(
            outputs,
            np.full(outputs.shape[1], view.coefficient.scale),
            np.ones(outputs.shape[1], dtype=bool),
            view.penalty,
        ),
        prior=arrays,
        noisy_n=np.zeros(len(release.outputs)),
        first=first,
        last=last,
    )
    ends = np.array([view.bounds[name] for name in (*names, response)])
    constant = outputs.size * float(view.coefficient.noise.log_pmf(0))
    return Read(hidden, checked, (INTERCEPT, *names), ends, constant)
