"""Binary conjugate releases: every neighbouring pair enumerated, in both directions."""

import math
from functools import cache
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.mechanisms.conjugate.beta_pairs import beta_divergence
from bayesdp.mechanisms.laws import binomial_logpmf

SYNTHETIC = ("synthetic_map", "synthetic_one", "synthetic_many")
PRIORS = [(1.0, 1.0), (2.0, 2.0), (0.5, 4.0), (7.0, 3.0), (0.05, 0.05), (1.0, 1.5), (12.0, 12.0)]


def release(method: str, n: int, prior: tuple[float, float], size: int | None = None):
    size = size if method in SYNTHETIC else None
    return bdp.mechanisms.ConjugateMechanism("bernoulli", method, n, prior, size=size)


def mode(a: mp.mpf, b: mp.mpf) -> mp.mpf:
    return mp.mpf(0) if a <= 1 else mp.mpf(1) if b <= 1 else (a - 1) / (a + b - 2)


@cache
def laws(method: str, n: int, prior: tuple[float, float], size: int) -> list[list[mp.mpf]]:
    """The law of the number of ones for x = 0..n, in 50 digits, by other formulas."""
    with mp.workdps(50):
        a, b = map(mp.mpf, prior)
        found = []
        for x in range(n + 1):
            u, v = a + x, b + n - x
            if method == "synthetic_one":
                p = [mp.beta(u + z, v + size - z) / mp.beta(u, v) for z in range(size + 1)]
            else:
                one = mode(u, v) if method == "synthetic_map" else u / (u + v)
                p = [one**z * (1 - one) ** (size - z) for z in range(size + 1)]
            found.append([mp.binomial(size, z) * q for z, q in enumerate(p)])
        return found


def enumerated(all_laws: list[list[mp.mpf]], epsilon: float) -> mp.mpf:
    with mp.workdps(50):
        gamma = mp.exp(mp.mpf(epsilon))
        pairs = list(pairwise(all_laws))
        return max(
            sum(max(p - gamma * q, mp.mpf(0)) for p, q in zip(first, second, strict=True))
            for one, other in pairs
            for first, second in ((one, other), (other, one))
        )


def posterior_divergence(u: float, v: float, epsilon: float) -> mp.mpf:
    """Beta(u + 1, v) from Beta(u, v + 1), from the two tails, in 60 digits."""
    with mp.workdps(60):
        u, v, gamma = mp.mpf(u), mp.mpf(v), mp.exp(mp.mpf(epsilon))
        q = v / (v + gamma * u)
        tail = mp.betainc(v, u + 1, 0, q, regularized=True)
        return tail - gamma * mp.betainc(v + 1, u, 0, q, regularized=True)


@pytest.mark.parametrize(
    ("n", "prior", "epsilon", "delta"),
    [
        (100, 50, 1.0, 5.705179e-10),
        (100, 10, 1.0, 7.314403e-4),
        (1000, 50, 0.5, 3.533013e-5),
        (100, 50, 0.5, 1.067318e-4),
    ],
)
def test_reference_figures_of_a_parameter_draw(n, prior, epsilon, delta):
    """The project's reference figures, "Exact privacy of a posterior draw"."""
    found = release("parameter_draw", n, (prior, prior)).delta(epsilon)
    assert found == pytest.approx(delta, rel=2e-7)


@pytest.mark.parametrize(("prior", "delta"), [(20, 2.876770e-13), (10, 6.866871e-8)])
def test_reference_figures_of_synthetic_one(prior, delta):
    found = release("synthetic_one", 100, (prior, prior), 100).delta(1.0)
    assert found == pytest.approx(delta, rel=2e-7)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("n", [1, 2, 9])
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 1.0, 4.0])
def test_a_parameter_draw_is_as_bad_as_its_worst_neighbours(n, prior, epsilon):
    a, b = prior
    truth = max(
        posterior_divergence(u, v, epsilon)
        for x in range(n)
        for u, v in ((a + x, b + n - x - 1), (b + n - x - 1, a + x))
    )
    claim = release("parameter_draw", n, prior).delta(epsilon)
    assert truth <= claim <= truth * (1 + mp.mpf("1e-9"))


@pytest.mark.parametrize(
    ("u", "v", "epsilon"),
    [
        *((1e5, 50, 1.0), (1e5, 1e-3, 0.5), (149, 50, 0.0), (149, 50, 2.4), (1, 1, 300.0)),
        *((1.0, 0.01, 600.0), (40, 3000, 0.3), (0.02, 4000, 0.03)),
    ],
)
def test_the_divergence_of_two_posteriors_keeps_its_digits(u, v, epsilon):
    truth = posterior_divergence(u, v, epsilon)
    assert abs(beta_divergence(u, v, epsilon) / truth - 1) < 2e-12


@given(st.floats(-2, 3), st.floats(-2, 3), st.floats(0.01, 2), st.floats(0.01, 2), st.floats(0, 4))
@settings(deadline=None)
def test_more_of_either_count_costs_less(log_u, log_v, up, across, epsilon):
    u, v = 10**log_u, 10**log_v
    base = beta_divergence(u, v, epsilon) * (1 + 1e-10)
    assert beta_divergence(u * (1 + up), v, epsilon) <= base
    assert beta_divergence(u, v * (1 + across), epsilon) <= base


@given(st.floats(0.01, 300), st.floats(0, 1), st.floats(0, 300), st.floats(0, 3))
@settings(deadline=None)
def test_the_worst_counts_of_a_total_are_at_its_end(least, place, room, epsilon):
    u, v = least + place * room, least + (1 - place) * room
    end = beta_divergence(least + room, least, epsilon)
    assert beta_divergence(u, v, epsilon) <= end * (1 + 1e-10)
    assert beta_divergence(v, u, epsilon) <= end * (1 + 1e-10)


@pytest.mark.parametrize("method", SYNTHETIC)
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(("n", "size"), [(1, 1), (1, 6), (4, 3), (9, 12), (12, 2)])
def test_synthetic_records_are_as_bad_as_their_worst_neighbours(method, prior, n, size):
    every = laws(method, n, prior, size)
    for epsilon in (0.0, 0.1, 0.7, 2.0, 5.0):
        truth = enumerated(every, epsilon)
        claim = release(method, n, prior, size).delta(epsilon)
        assert truth <= claim <= truth * (1 + mp.mpf("1e-9")) + mp.mpf("1e-45"), (epsilon, truth)


def test_the_worst_neighbours_of_synthetic_one_may_be_in_the_middle():
    """Which is why all pairs are searched: here x = 3 of n = 7 is 26 % worse than the edges."""
    every = laws("synthetic_one", 7, (20.0, 20.0), 8)
    epsilon = 0.26244834
    edges = max(enumerated(every[:2], epsilon), enumerated(every[-2:], epsilon))
    claim = release("synthetic_one", 7, (20.0, 20.0), 8).delta(epsilon)
    assert claim > 1.25 * edges
    assert claim == pytest.approx(float(enumerated(every, epsilon)), rel=1e-9)


@pytest.mark.parametrize("method", SYNTHETIC)
@pytest.mark.parametrize("prior", PRIORS)
def test_pure_epsilon_is_the_largest_log_ratio(method, prior):
    n, size = 7, 5
    worst = mp.mpf(0)
    with mp.workdps(50):
        for one, other in pairwise(laws(method, n, prior, size)):
            for p, q in zip(one, other, strict=True):
                if p or q:
                    worst = max(worst, abs(mp.log(p / q)) if p and q else mp.inf)
    claim = release(method, n, prior, size).epsilon(0)
    assert worst <= claim <= worst * (1 + mp.mpf("1e-12"))


@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.5, 4.0), (1.0, 1.5)])
def test_a_mode_at_the_edge_leaves_a_delta_that_no_epsilon_removes(prior):
    every = laws("synthetic_map", 9, prior, 4)
    made = release("synthetic_map", 9, prior, 4)
    limit = made.delta(math.inf)
    assert limit == pytest.approx(float(enumerated(every, 200.0)), rel=1e-9)
    assert made.epsilon(limit * 0.99) == math.inf
    guarantee = made.guarantee(delta=1e-9)
    assert (guarantee.epsilon, guarantee.delta) == (math.inf, limit)
    assert "1 or less" in guarantee.assumptions[-1]


@pytest.mark.parametrize("method", ["synthetic_one", "synthetic_many", "synthetic_map"])
@pytest.mark.parametrize(
    ("n", "size", "prior"), [(400, 300, (9.0, 30.0)), (150, 900, (40.0, 40.0))]
)
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.5])
def test_every_pair_of_a_larger_data_set(method, n, size, prior, epsilon):
    """In double precision, from log-gamma functions: an independent law, all pairs."""
    from scipy import stats

    (a, b), z = prior, np.arange(size + 1)
    x = np.arange(n + 1)[:, None]
    if method == "synthetic_one":
        log_law = stats.betabinom.logpmf(z, size, a + x, b + n - x)
    else:
        less = method == "synthetic_map"
        log_law = stats.binom.logpmf(z, size, (a + x - less) / (a + b + n - 2 * less))
    gap = np.diff(log_law, axis=0)
    up = np.sum(np.exp(log_law[1:]) * np.maximum(-np.expm1(epsilon - gap), 0), axis=1)
    down = np.sum(np.exp(log_law[:-1]) * np.maximum(-np.expm1(epsilon + gap), 0), axis=1)
    truth = max(up.max(), down.max())
    assert release(method, n, prior, size).delta(epsilon) == pytest.approx(truth, rel=1e-7)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(("parameter_draw", *SYNTHETIC)),
    st.integers(1, 60),
    st.integers(1, 60),
    st.tuples(st.floats(0.05, 80), st.floats(0.05, 80)),
    st.floats(0, 5),
    st.floats(0, 3),
)
def test_a_profile_decreases_and_inverts(method, n, size, prior, epsilon, more):
    made = release(method, n, prior, size)
    delta = made.delta(epsilon)
    assert made.delta(epsilon + more) <= delta * (1 + 1e-11)  # each is computed to that
    if max(1e-280, made.delta(math.inf) * (1 + 1e-9)) < delta < 0.99:
        back = made.epsilon(delta)
        assert back <= epsilon + 1e-9
        assert made.delta(back) <= delta


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 80),
    st.integers(1, 200),
    st.tuples(st.floats(0.1, 60), st.floats(0.1, 60)),
    st.floats(0, 4),
)
def test_synthetic_records_cost_at_most_the_draw_they_come_from(n, size, prior, epsilon):
    """Post-processing (Zheng 2015, Theorem 5.1)."""
    draw = release("parameter_draw", n, prior).delta(epsilon)
    assert release("synthetic_one", n, prior, size).delta(epsilon) <= draw * (1 + 1e-9)
    more = release("synthetic_one", n, prior, size + 1).delta(epsilon)
    assert release("synthetic_one", n, prior, size).delta(epsilon) <= more * (1 + 1e-9) + 1e-280


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(("parameter_draw", *SYNTHETIC)),
    st.integers(1, 40),
    st.integers(1, 40),
    st.floats(0.1, 40),
    st.floats(0.01, 3),
    st.floats(0, 4),
)
def test_a_stronger_prior_never_costs_more(method, n, size, prior, more, epsilon):
    prior += method == "synthetic_map"  # below 1 it isn't so: see the next test
    weak = release(method, n, (prior, prior), size)
    strong = release(method, n, (prior + more, prior + more), size)
    assert strong.delta(epsilon) <= weak.delta(epsilon) * (1 + 1e-9)
    assert strong.epsilon(0) <= weak.epsilon(0)


def test_below_one_a_stronger_prior_can_cost_a_synthetic_map_more():
    half, one = (release("synthetic_map", 3, (p, p), 1).delta(1.0) for p in (0.5, 1.0))
    assert half == pytest.approx(1 / 4)
    assert one == pytest.approx(1 / 3)
    made = bdp.mechanisms.ConjugateMechanism.calibrate(
        family="bernoulli", method="synthetic_map", n=3, size=1, epsilon=1.0, delta=0.4
    )
    assert made.prior == (1.0, 1.0)


@pytest.mark.parametrize("method", SYNTHETIC)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 30.0])
def test_the_thresholds_of_zheng_are_one_less_than_printed(method, epsilon):
    """Theorems 6.13, 6.11 (6.12 for `size` records) and 6.9 (6.10) print 1 more in each."""
    size = 20
    per_record = 1 / math.expm1(epsilon / size)
    exact = {
        "synthetic_one": size / math.expm1(epsilon),
        "synthetic_many": per_record,
        "synthetic_map": 1 + per_record,
    }[method]
    made = bdp.mechanisms.ConjugateMechanism.calibrate(
        family="bernoulli", method=method, n=50, size=size, epsilon=epsilon
    )
    assert made.epsilon(0) <= epsilon
    assert made.prior == pytest.approx((exact, exact), rel=1e-11)
    smaller = exact - 0.001 * (exact - (method == "synthetic_map"))
    assert release(method, 50, (smaller, smaller), size).epsilon(0) > epsilon


def test_synthetic_one_is_the_beta_binomial_mechanism():
    made = release("synthetic_one", 100, (3.0, 5.0), 40)
    assert made.epsilon(0) == bdp.mechanisms.BetaBinomialMechanism(100, 40, (3.0, 5.0)).epsilon()
    calibrated = bdp.mechanisms.ConjugateMechanism.calibrate(
        family="bernoulli", method="synthetic_one", n=100, size=100, epsilon=1.0, delta=0.0
    )
    assert calibrated.prior[0] == pytest.approx(100 / math.expm1(1), rel=1e-12)


@pytest.mark.parametrize("method", ["parameter_draw", *SYNTHETIC])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.2, 1e-3), (3.0, 1e-12)])
def test_calibration_is_tight_and_on_the_safe_side(method, epsilon, delta):
    size = {"size": 80} if method in SYNTHETIC else {}
    made = bdp.mechanisms.ConjugateMechanism.calibrate(
        family="bernoulli", method=method, n=90, epsilon=epsilon, delta=delta, **size
    )
    prior = made.prior[0]
    assert made.delta(epsilon) <= delta
    assert release(method, 90, (prior * (1 - 1e-8),) * 2, 80).delta(epsilon) > delta


def test_the_mode_itself_promises_nothing_and_says_why():
    made = release("parameter_map", 100, (50, 50))
    assert made.delta(0) == made.delta(20.0) == made.delta(math.inf) == 1
    assert made.epsilon(0.5) == math.inf
    guarantee = made.guarantee(delta=1e-6)
    assert (guarantee.epsilon, guarantee.delta) == (math.inf, 1)
    assert "told apart" in guarantee.assumptions[-1]
    with pytest.raises(bdp.errors.InvalidInput, match="told apart"):
        bdp.mechanisms.ConjugateMechanism.calibrate(
            family="bernoulli", method="parameter_map", n=10, epsilon=1.0, delta=1e-3
        )


def test_a_draw_has_no_pure_epsilon_and_says_so():
    made = release("parameter_draw", 10, (5, 5))
    assert made.epsilon(0) == math.inf
    assert "unbounded" in made.guarantee().assumptions[-1]
    guarantee = made.guarantee(delta=1e-6)
    assert guarantee.delta == 1e-6
    assert guarantee.epsilon == made.epsilon(1e-6)
    assert guarantee.neighbours is bdp.Neighbours.REPLACE_ONE
    with pytest.raises(bdp.errors.InvalidInput, match="positive delta"):
        bdp.mechanisms.ConjugateMechanism.calibrate(
            family="bernoulli", method="parameter_draw", n=10, epsilon=1.0
        )


def test_a_million_records():
    found = release("parameter_draw", 10**6, (50, 50)).delta(1.0)
    assert found == pytest.approx(float(posterior_divergence(50 + 10**6 - 1, 50, 1.0)), rel=1e-9)


@pytest.mark.parametrize(("size", "p"), [(1, 0.3), (7, 1e-9), (1000, 0.999), (10**6, 0.2)])
def test_the_binomial_law(size, p):
    k = np.unique(np.linspace(0, size, 9).astype(int))
    with mp.workdps(40):
        q = 1 - mp.mpf(p)
        truth = [
            mp.loggamma(size + 1) - mp.loggamma(i + 1) - mp.loggamma(size - i + 1)
            + i * mp.log(mp.mpf(p)) + (size - i) * mp.log(q)
            for i in map(int, k)
        ]  # fmt: skip
    found = binomial_logpmf(k, size, p, float(q))
    assert found == pytest.approx(np.array([float(t) for t in truth]), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"family": "poisson"}, "family is 'poisson'; it must be one of bernoulli"),
        ({"method": "map"}, "method is 'map'; it must be one of parameter_map"),
        ({"n": 0}, "n is 0"),
        ({"n": 1.5}, "n is 1.5"),
        ({"prior": (0, 1)}, "prior is"),
        ({"prior": (-1, 1)}, "prior is"),
        ({"prior": (1, math.nan)}, "prior is"),
        ({"size": None}, "size is None"),
        ({"size": 0}, "size is 0"),
        ({"method": "parameter_draw"}, "leave size out"),
        ({"R": 1.0}, "has no R"),
        ({"sigma": 1.0}, "has no sigma"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    good = {"family": "bernoulli", "method": "synthetic_one", "n": 9, "prior": (1, 1), "size": 3}
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.mechanisms.ConjugateMechanism(**{**good, **parameters})


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf])
def test_calibration_refuses_a_bad_epsilon(epsilon):
    with pytest.raises(bdp.errors.InvalidInput, match="epsilon is"):
        bdp.mechanisms.ConjugateMechanism.calibrate(
            family="bernoulli", method="synthetic_one", n=9, size=3, epsilon=epsilon
        )
