"""Likelihood of a rate that the gamma model's PyMC and Stan programs have: by brute force."""

from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp

REPLACE = bdp.Neighbours.REPLACE_ONE
GammaModel = bdp.models.GammaModel
N, RATES = 12, np.array([0.02, 0.4, 1.0, 2.5, 9.0])


def of_program(model: Any, release: Any) -> Any:
    """Log likelihood at the rates by the data of the programs, one group's."""
    data = model.stan_data(release)
    log_rates = np.log(RATES)[:, None]
    terms = data["log_weight"] + data["power"] * log_rates - data["total"] * np.exp(log_rates)
    return special.logsumexp(terms, axis=1)


def noisy(scale: float, *outputs: float) -> bdp.Release:
    made = bdp.mechanisms.LaplaceMechanism(scale, 1.0, REPLACE, n=N)
    return bdp.Release.of(made, list(outputs))


def through(releases: Any, law_of_total: Any) -> Any:
    """Log likelihood at the rates by the rectangle rule over the sum."""
    totals = np.linspace(0.0, 400.0, 800_001)[1:]
    logs: Any = np.log(totals[1] - totals[0])
    for release in releases:
        for z in release.outputs:
            logs = logs + release.mechanism.logp(z, totals)
    return [special.logsumexp(logs + law_of_total(totals, rate)) for rate in RATES]


@pytest.mark.parametrize("shape", [1.0, 2.5])
def test_it_is_that_of_the_latent_sum(shape):
    """With a prior wide enough that no rate's terms are left out."""
    releases = [noisy(3.0, 9.0, 14.5), noisy(8.0, 11.0)]

    def law(totals: Any, rate: float) -> Any:
        return stats.gamma(N * shape, scale=1 / rate).logpdf(totals)

    model = GammaModel((0.5, 0.5), shape)
    found, right = of_program(model, releases), through(releases, law)
    near = np.array(right) > np.max(right) - 25
    assert near.sum() >= 3
    assert found[near] == pytest.approx(np.array(right)[near], abs=1e-6)
    # Sums of one record more would show.
    wrong = np.add(found, np.log(RATES))
    assert np.ptp((wrong - right)[near]) > 0.5


def test_records_that_were_moved_to_a_bound_are_by_simulation():
    """Mean of the noise's density over simulated records; 5 standard errors."""
    release, high, rng = noisy(3.0, 7.0), 1.0, np.random.default_rng(1)
    found = of_program(GammaModel((2.0, 2.0), bounds=(0, high)), release)
    for rate, log_law in zip(RATES[1:4], found[1:4], strict=True):
        x = np.minimum(rng.exponential(1 / rate, (200_000, N)), high)
        laws = np.exp(release.mechanism.logp(7.0, x.sum(axis=1)))
        assert abs(laws.mean() - np.exp(log_law)) < 5 * laws.std() / np.sqrt(len(laws))


def test_an_exact_sum_has_one_term():
    law = bdp.distributional
    promise = law.DistributionalGuarantee(0.5, 1e-6, "any", law.LawClass.of("any"))
    release = bdp.Release.of(law.ExactStatisticMechanism(promise, N), [7.25])
    found = of_program(GammaModel((2.0, 3.0), 1.5), release)
    assert found == pytest.approx(stats.gamma(N * 1.5, scale=1 / RATES).logpdf(7.25), rel=1e-12)
