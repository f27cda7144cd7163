"""Draws become an InferenceData as they are."""

import warnings

import bayesdp as bdp


def test_fewer_draws_than_chains_are_taken_for_what_they_are():
    noise = bdp.mechanisms.BetaBinomialMechanism(100, 100, (15.65, 15.65))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        idata = bdp.BinomialModel().fit(bdp.Release.of(noise, [38]), draws=1, chains=4, seed=1)
    assert dict(idata.posterior.sizes) == {"chain": 4, "draw": 1}
