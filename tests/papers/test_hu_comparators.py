"""Fitted weights by hand, draws against quadrature, and what each comparator holds to."""

import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.papers.hu.weights import (
    BetaPrior,
    fitted_weights,
    pseudo_draws,
    record_lipschitz,
    reweighted,
    risks,
)

# REFERENCE: 2000 quantiles of Beta(0.5, 3).
RECORDS = stats.beta.ppf((np.arange(1, 2001) - 0.5) / 2000, 0.5, 3)
ONES = np.ones(2000)
FEW = np.array([0.02, 0.1, 0.15, 0.3, 0.45, 0.7])


@pytest.fixture(scope="module")
def fitted() -> bdp.synthesizers.HuComparators:
    with bdp.reproducible(1):
        comparators = bdp.synthesizers.HuComparators(RECORDS)
        _ = comparators.unweighted, comparators._first
    return comparators


# --- formulas ---


def test_weights_by_hand():
    bounds = np.array([1.0, 2.0, 5.0])
    assert fitted_weights(bounds).tolist() == [1.0, 0.75, 0.0]
    assert fitted_weights(bounds, scale=0.5, shift=0.1) == pytest.approx([0.6, 0.475, 0.1])
    assert fitted_weights(bounds, scale=2.0, shift=-0.75).tolist() == [1.0, 0.75, 0.0]
    logistic = [2 / (1 + np.exp(-x / 2)) - 1 for x in bounds]
    assert risks(bounds, "logistic") == pytest.approx(logistic, rel=1e-14)
    sd = np.sqrt((2.7777777777777777 + 0.4444444444444444 + 5.444444444444445) / 2)
    softmax = [1 / (1 + np.exp(-1.69897 * (x - 8 / 3) / sd)) for x in bounds]
    assert risks(bounds, "softmax") == pytest.approx(softmax, rel=1e-12)
    assert risks(np.full(3, 2.0)).tolist() == [0.0] * 3
    assert risks(np.full(3, 2.0), "softmax").tolist() == [0.5] * 3


def test_reweighting_by_hand():
    weights = reweighted(np.array([1.0, 0.5, 0.0, 0.2]), np.array([1.0, 3.0, 0.0, 0.0]), 2.0)
    assert weights == pytest.approx([1.0, 1 / 3, 0.0, 1.0])


@pytest.mark.parametrize("interval", [None, (-0.4, 0.4)])
def test_lipschitz_bounds_by_hand(interval):
    draws = np.array([[0.2, 3.0], [0.4, 1.5]])
    weights = np.linspace(0, 1, 6)
    logs = np.array([stats.beta.logpdf(FEW, s * f, s * (1 - f)) for f, s in draws]) * weights
    logs = logs if interval is None else np.clip(logs, *interval)
    found = record_lipschitz(FEW, draws, weights, interval=interval)
    assert found == pytest.approx(np.abs(logs).max(axis=0), rel=1e-12)


def test_draws_against_reference():
    """REFERENCE: phi 0.143345 (sd 0.003885), lambda 6.13230 (sd 0.26782), clipped at 2."""
    with bdp.reproducible(2):
        draws = pseudo_draws(RECORDS, ONES, interval=(-2, 2), count=200_000)
    for values, mean, sd in zip(draws.T, (0.143345, 6.13230), (0.003885, 0.26782), strict=True):
        assert abs(values.mean() - mean) < 5 * sd / np.sqrt(200_000)
        assert values.std() == pytest.approx(sd, rel=0.015)


@pytest.mark.parametrize("interval", [None, (-0.5, 0.5)])
def test_draws_against_brute_force(interval):
    """Few records, uneven weights and another prior: a wide posterior, summed point by point."""
    weights, prior = np.array([1, 0.3, 0.8, 0.0, 0.6, 1.0]), BetaPrior((2.0, 3.0), (0.5, 2.0), 50.0)
    with bdp.reproducible(3):
        draws = pseudo_draws(FEW, weights, interval=interval, count=100_000, prior=prior)
    phi, log_lam = np.linspace(0.0005, 0.9995, 1000), np.linspace(np.log(0.5), np.log(50), 801)
    lam = np.exp(log_lam)
    a, b = lam * phi[:, None], lam * (1 - phi[:, None])
    logs = stats.beta.logpdf(phi, 2, 3)[:, None] - 2 * log_lam
    for y, w in zip(FEW, weights, strict=True):
        term = w * ((a - 1) * np.log(y) + (b - 1) * np.log1p(-y) - special.betaln(a, b))
        logs += term if interval is None else np.clip(term, *interval)
    p = np.exp(logs - logs.max())
    p /= p.sum()
    draws[:, 1] = np.log(draws[:, 1])
    for drawn, values, mass in ((draws[:, 0], phi, p.sum(1)), (draws[:, 1], log_lam, p.sum(0))):
        mean = mass @ values
        sd = np.sqrt(mass @ (values - mean) ** 2)
        assert abs(drawn.mean() - mean) < 5.5 * sd / np.sqrt(100_000)
        assert drawn.std() == pytest.approx(sd, rel=0.02)


# --- comparators ---


def test_what_each_promises(fitted):
    with bdp.reproducible(4):
        weighted = fitted.weighted(4.0)
        censored = fitted.clipped(weighted, 4.0)
        removed = fitted.truncated(weighted, 4.0)
        clipped = fitted.censor_uw(4.0)
        drawn, histogram = fitted.perturbed_histogram(4.0, 500)
    for each in (fitted.unweighted, weighted, removed, censored):
        assert each.guarantee.strength is bdp.Strength.AS_PUBLISHED
        assert each.guarantee.assumptions[0].startswith("False")
    assert weighted.guarantee.epsilon == 2 * weighted.lipschitz
    assert removed.guarantee.epsilon == censored.guarantee.epsilon == 4.0
    assert clipped.guarantee == bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0).guarantee()
    assert clipped.guarantee.strength is histogram.strength is bdp.Strength.PROVED
    assert histogram.neighbours == "replace_one"
    assert histogram.epsilon == pytest.approx(4.0, rel=1e-9)
    assert clipped.guarantee.neighbours == "add_remove"
    assert drawn.shape == (500,)
    assert np.all((drawn > 0) & (drawn < 1))
    assert "0." not in repr(fitted) + repr(weighted)


@pytest.mark.parametrize("epsilon", [3.0, 4.0, 5.0])
def test_bounds_meet_half_of_epsilon(fitted, epsilon):
    with bdp.reproducible(5):
        weighted = fitted.weighted(epsilon)
        removed = fitted.truncated(weighted, epsilon)
        clipped = fitted.censor_uw(epsilon)
    assert weighted.lipschitz > epsilon / 2  # so that there is something to remove
    assert removed.lipschitz <= epsilon / 2
    assert removed.removed == np.count_nonzero((removed.weights == 0) & (weighted.weights > 0))
    assert removed.removed > 0
    assert np.all(clipped.bounds <= epsilon / 2)
    assert clipped.lipschitz == pytest.approx(epsilon / 2, rel=1e-8)
    assert clipped.censored > 0
    # The bounds are those of the draws that records are synthesized from.
    again = record_lipschitz(RECORDS, removed.draws, removed.weights)
    assert np.array_equal(again, removed.bounds)


def test_downscaling_lowers_the_weights(fitted):
    with bdp.reproducible(6):
        whole, scaled = fitted.weighted(4.0), fitted.weighted(4.0, 0.9)
    below = whole.weights < 1
    assert scaled.weights[below] == pytest.approx(0.9 * whole.weights[below], rel=1e-12)
    assert scaled.lipschitz < whole.lipschitz


def test_fitted_weights_are_not_private():
    """ERRATA: a record more moves Censor_w by far more than epsilon; Censor_uw by its width."""
    points = np.array([(f, s) for f in (0.01, 0.05, 0.14, 0.3) for s in (0.5, 3.5, 10.0, 40.0)])

    def sums(records, weights):
        a, b = (points[:, :1] * points[:, 1:]), ((1 - points[:, :1]) * points[:, 1:])
        return np.clip(weights * stats.beta.logpdf(records, a, b), -2, 2).sum(axis=1)

    more = np.append(RECORDS, 1e-12)
    with bdp.reproducible(7):
        before, after = (
            bdp.synthesizers.HuComparators(y).weighted(4.0).weights for y in (RECORDS, more)
        )
    fitted_move = np.ptp(sums(more, after) - sums(RECORDS, before))
    public_move = np.ptp(sums(more, np.ones(2001)) - sums(RECORDS, ONES))
    assert public_move <= 4 + 1e-9
    # Both laws' constants cancel in a difference of two points, at most 2 epsilon if private.
    assert fitted_move > 2 * 4


def test_synthetic_records_follow_their_draw(fitted):
    phi, lam = fitted.unweighted.draws[0]
    with bdp.reproducible(8):
        records = fitted.unweighted.synthetic(20_000)
    assert stats.kstest(records, stats.beta(lam * phi, lam * (1 - phi)).cdf).pvalue > 1e-6


def test_histogram_has_the_bins_shares():
    records = np.repeat([0.05, 0.95], [900, 100])
    with bdp.reproducible(9):
        drawn, _ = bdp.synthesizers.HuComparators(records).perturbed_histogram(
            50.0, 20_000, cells=10
        )
    assert abs(np.mean(drawn < 0.1) - 0.9) < 0.015
    assert abs(np.mean(drawn > 0.9) - 0.1) < 0.015
    assert abs(drawn[drawn < 0.1].mean() - 0.05) < 0.002


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bdp.synthesizers.HuComparators([0.5, 1.0]), "at 0 or 1"),
        (lambda: bdp.synthesizers.HuComparators([]), "empty"),
        (lambda: bdp.synthesizers.HuComparators(FEW, method="cubic"), "method is 'cubic'"),
        (lambda: bdp.synthesizers.HuComparators(FEW, scale=float("nan")), "scale is nan"),
        (lambda: bdp.synthesizers.HuComparators(FEW, count=0), "count is 0"),
        (lambda: bdp.synthesizers.HuComparators(FEW).weighted(0.0), r"epsilon is 0\.0"),
        (lambda: bdp.synthesizers.HuComparators(FEW).weighted(1.0, 1.5), r"factor is 1\.5"),
        (lambda: pseudo_draws(FEW, np.ones(5)), r"weights has shape \(5,\)"),
        (lambda: pseudo_draws(FEW, -np.ones(6)), "below 0"),
        (lambda: pseudo_draws(FEW, np.ones(6), interval=(2, -2)), "interval is a tuple"),
        (lambda: reweighted(np.ones(2), np.ones(2), 0), "target is 0"),
        (lambda: reweighted(np.ones(2), np.array([1.0, np.nan]), 1.0), "below 0 or missing"),
        (lambda: risks(np.array([np.inf])), "aren't finite"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        call()
