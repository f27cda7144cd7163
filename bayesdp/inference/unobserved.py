"""The error of `bdp.observe` for a release whose law it doesn't have."""

from __future__ import annotations

from typing import Any

from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.readers import instead, models_of

TAKES = (
    "noise on a number or on each of a vector (LaplaceMechanism, GaussianMechanism and their "
    "discrete forms, PerturbedHistogramMechanism, NoisyDegreesMechanism, "
    "NoisyStatisticsMechanism), a graph's dyads (EdgeFlipMechanism), counts of ones "
    "(BetaBinomialMechanism, Bernoulli ConjugateMechanism, modips copies of "
    "bdp.families.Bernoulli), Poisson-gamma copies without a fixed total, "
    "RandomizedResponseMechanism, modips copies of bdp.families.Gaussian and bdp.families.Gamma, "
    "and with columns= one marginal of a table (NoisyTableMechanism, NoisyMarginalsMechanism)"
)


def unlike(mechanism: Any) -> InvalidInput:
    """Return the error for a mechanism whose statistic has no law here."""
    models = f"; {instead(mechanism)}" if models_of(mechanism) else ""
    return InvalidInput(
        f"the release's mechanism {quoted(mechanism.name)} has no law here of a statistic of that "
        f"kind{models}. bdp.observe takes {TAKES}; integers as such, and real numbers as real ones"
    )
