"""Nested copies: components against an analysis of variance, and known ones by simulation."""

import math

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp

Z = 4.892  # two-sided false alarm of 1e-6

Q = np.array([[0.30, 0.36], [0.45, 0.41], [0.20, 0.31]])
V = np.array([[0.0020, 0.0022], [0.0024, 0.0023], [0.0021, 0.0022]])


def test_by_hand():
    combined = bdp.evaluate.combine_nested(Q, V)
    # Averages 0.33, 0.43, 0.255; squared differences over 2: 0.0018, 0.0008, 0.00605.
    within, v = (0.0018 + 0.0008 + 0.00605) / 3, 0.0022
    between = np.var([0.33, 0.43, 0.255], ddof=1)
    assert combined.estimate == pytest.approx(Q.mean())
    assert combined.b1 == pytest.approx(between - within / 2)
    assert combined.b21 == pytest.approx(within - v)
    assert combined.b22 == pytest.approx(v)
    assert combined.variance == pytest.approx(v + between / 3)
    assert combined.df == pytest.approx(2 * (1 + 3 * v / between) ** 2)


def test_is_lius_rule_for_the_averages():
    nested = bdp.evaluate.combine_nested(Q, V)
    averages = bdp.combine(Q.mean(axis=1), V.mean(axis=1), "liu")
    assert nested.rule == averages.rule
    for name in ("estimate", "variance", "df"):
        assert getattr(nested, name) == pytest.approx(getattr(averages, name), rel=1e-13)
    assert nested.interval(0.9) == pytest.approx(averages.interval(0.9), rel=1e-13)
    assert nested.wald_test(0.1).p_value == pytest.approx(averages.wald_test(0.1).p_value)


def test_sanitising_shows_by_one_way_analysis_of_variance():
    """b1 is positive where F = t B / W is above 1."""
    combined = bdp.evaluate.combine_nested(Q, V)
    f = stats.f_oneway(*Q).statistic
    within = combined.b21 + combined.b22
    assert combined.b1 == pytest.approx((f - 1) * within / 2)


def modips(generator, repetitions, m, t):
    """Nested Gaussian modips of a mean, sigma = 1, n = 100: estimates and variances of copies."""
    n, noise = 100, 0.12
    mean = generator.normal(scale=1 / math.sqrt(n), size=(repetitions, 1, 1))
    sanitised = mean + generator.laplace(scale=noise, size=(repetitions, m, 1))
    drawn = generator.normal(sanitised, 1 / math.sqrt(n), size=(repetitions, m, t))
    estimates = generator.normal(drawn, 1 / math.sqrt(n))
    variances = generator.chisquare(n - 1, size=drawn.shape) / (n - 1) / n
    return estimates, variances, {"b1": 2 * noise**2, "b21": 1 / n, "b22": 1 / n}


@pytest.fixture(scope="module")
def simulation():
    estimates, variances, components = modips(np.random.default_rng(21), 8000, 8, 4)
    return [bdp.evaluate.combine_nested(q, v) for q, v in zip(estimates, variances, strict=True)], (
        estimates,
        components,
    )


@pytest.mark.parametrize("name", ["b1", "b21", "b22"])
def test_components_are_unbiased(simulation, name):
    combined, (_, components) = simulation
    values = np.array([getattr(c, name) for c in combined])
    error = values.std(ddof=1) / math.sqrt(values.size)
    assert abs(values.mean() - components[name]) < Z * error
    assert error < 0.01 * components[name]  # so that a wrong formula would show


def test_total_variance_is_unbiased(simulation):
    combined, (estimates, parts) = simulation
    true = 0.01 + parts["b1"] / 8 + (parts["b21"] + parts["b22"]) / 32
    found = np.array([c.variance for c in combined])
    assert abs(found.mean() - true) < Z * found.std(ddof=1) / math.sqrt(found.size)
    squared = estimates.mean(axis=(1, 2)) ** 2  # the true mean is 0
    assert abs(squared.mean() - true) < Z * squared.std(ddof=1) / math.sqrt(squared.size)


@pytest.mark.slow
def test_intervals_cover_and_those_of_copies_taken_as_independent_do_not(simulation):
    combined, (estimates, _) = simulation
    covered = np.mean([low <= 0 <= high for low, high in (c.interval() for c in combined)])
    assert abs(covered - 0.95) < Z * math.sqrt(0.95 * 0.05 / len(combined))
    flat = [
        bdp.combine(q.ravel(), np.full(q.size, 0.01), "liu").interval() for q in estimates[:4000]
    ]
    assert np.mean([low <= 0 <= high for low, high in flat]) < 0.93


def test_one_sanitisation_for_all_copies_hides_its_noise():
    """Why m = 1 is refused, and what `combine` can't see."""
    estimates, variances, _ = modips(np.random.default_rng(22), 3000, 1, 10)
    intervals = [
        bdp.combine(q[0], v[0], "liu").interval() for q, v in zip(estimates, variances, strict=True)
    ]
    assert np.mean([low <= 0 <= high for low, high in intervals]) < 0.75


def test_no_noise_leaves_b1_around_zero():
    generator = np.random.default_rng(23)
    q = generator.normal(size=(2000, 4, 3))
    found = np.array([bdp.evaluate.combine_nested(x, np.full((4, 3), 0.5)).b1 for x in q])
    assert abs(found.mean()) < Z * found.std(ddof=1) / math.sqrt(found.size)
    assert np.mean(found < 0) > 0.3


def test_equal_copies():
    combined = bdp.evaluate.combine_nested(np.full((2, 2), 0.5), np.full((2, 2), 0.25))
    assert math.isinf(combined.df)
    assert (combined.b1, combined.b21, combined.variance) == (0, -0.25, 0.25)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Q, V[:, :1]), "match them"),
        ((Q[:1], V[:1]), "1 sanitisation"),
        ((Q[:, :1], V[:, :1]), "1 copy of each"),
        ((Q[0], V[0]), "estimates must be"),
        ((Q[:0], V[:0]), "estimates must be"),
        ((Q * math.inf, V), "estimates must be"),
        ((Q, V * math.nan), "variances must be"),
        ((Q, -V), "negative"),
        (([[0.1, 0.2], [0.3]], V), "estimates must be"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.evaluate.combine_nested(*arguments)
