"""Conversions between definitions, against exact divergences and laws."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.privacy import conversions as to
from bayesdp.privacy.profile import gaussian_divergence
from bayesdp.privacy.relations import convert


def response_renyi(epsilon, alpha):
    """Renyi divergence of randomized response, in 60 digits."""
    epsilon, alpha = mp.mpf(epsilon), mp.mpf(alpha)
    p = 1 / (1 + mp.exp(-epsilon))
    moment = p * mp.exp((alpha - 1) * epsilon) + (1 - p) * mp.exp((1 - alpha) * epsilon)
    return mp.log(moment) / (alpha - 1)


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.5, 1.0, 3.0, 20.0, 500.0])
def test_rho_of_pure_epsilon_is_exact(epsilon):
    """No order needs more, and orders near 1 need as much."""
    with mp.workdps(60):
        orders = [1 + mp.mpf(10) ** k for k in np.arange(-15, 6, 0.25)]
        needed = [response_renyi(epsilon, a) / a for a in orders]
        rho = mp.mpf(to.pure_to_zcdp(epsilon))
        assert max(needed) <= rho
        assert max(needed) >= rho * (1 - mp.mpf(10) ** -13)


@settings(deadline=None)
@given(st.floats(0, 1e6))
def test_rho_and_back_is_on_the_safe_side(rho):
    epsilon = to.zcdp_to_pure(rho)
    assert to.pure_to_zcdp(epsilon) <= rho
    assert to.pure_to_zcdp(epsilon * (1 + 1e-12) + 1e-150) >= rho * (1 - 1e-12)
    assert to.pure_to_zcdp(epsilon) <= epsilon**2 / 2 * (1 + 1e-14) + 1e-300


@pytest.mark.slow
@pytest.mark.parametrize("rho", [1e-8, 1e-3, 0.1, 1.0, 30.0, 1e6])
@pytest.mark.parametrize(
    "delta", [1e-9, *(pytest.param(d, marks=pytest.mark.calibrate) for d in (0.3, 1e-3, 1e-100))]
)
def test_zcdp_against_all_orders(rho, delta):
    """The best of many orders in 40 digits; and above the Gaussian, which is rho-zCDP."""
    epsilon = to.zcdp_to_epsilon(rho, delta)
    with mp.workdps(40):

        def bound(more):
            a = 1 + more
            return a * mp.mpf(rho) + mp.log1p(-1 / a) - (mp.log(delta) + mp.log(a)) / more

        best = max(min(bound(mp.mpf(10) ** k) for k in np.arange(-7, 60, 0.005)), mp.mpf(0))
        assert epsilon <= best * (1 + mp.mpf("1e-13")) + mp.mpf("1e-16")
        assert epsilon >= best * (1 - mp.mpf("1e-3"))
    assert epsilon >= to.gdp_to_epsilon(math.sqrt(2 * rho), delta) * (1 - 1e-9)
    if epsilon > 0:
        assert to.zcdp_to_delta(rho, epsilon) == pytest.approx(delta, rel=1e-6)
        allowed = to.zcdp_from_epsilon_delta(epsilon, delta)
        assert allowed <= rho * (1 + 1e-9)
        assert allowed >= rho * (1 - 1e-9)
        assert to.zcdp_to_delta(allowed, epsilon) <= delta * (1 + 1e-9)


def test_zcdp_proves_no_more_than_is_true_of_randomized_response():
    """The bound at E holds for its worst member, 60 responses of epsilon 0.1."""
    rho, p = 60 * to.pure_to_zcdp(0.1), 1 / (1 + math.exp(-0.1))
    for epsilon in (0.5, 1.0, 2.0):
        exact = sum(
            math.comb(60, j) * p ** (60 - j) * (1 - p) ** j
            * max(0, 1 - math.exp(epsilon - (60 - 2 * j) * 0.1))
            for j in range(61)
        )  # fmt: skip
        assert exact < to.zcdp_to_delta(rho, epsilon) < 10 * exact


def test_renyi_at_one_order():
    for alpha, renyi, delta in [(2.0, 0.5, 1e-5), (33.0, 0.1, 1e-9), (1.01, 0.0, 0.5)]:
        with mp.workdps(40):
            a, e = mp.mpf(alpha), mp.mpf(to.renyi_to_epsilon(alpha, renyi, delta))
            back = mp.exp((a - 1) * (mp.mpf(renyi) - e)) / (a - 1) * (1 - 1 / a) ** a
            assert back <= delta
            assert e == 0 or back >= delta * (1 - mp.mpf("1e-12"))


@pytest.mark.parametrize("mu", [1e-3, 0.2, 1.0, 6.0])
def test_gdp_is_the_gaussian(mu):
    for delta in (0.1, 1e-6, 1e-30):
        epsilon = to.gdp_to_epsilon(mu, delta)
        assert gaussian_divergence(mu, epsilon) <= delta
        if epsilon > 0:
            back = to.gdp_from_epsilon_delta(epsilon, delta)
            assert back == pytest.approx(mu, rel=1e-8)
            assert to.gdp_to_delta(back, epsilon) <= delta
    assert mu**2 / 2 <= to.gdp_to_zcdp(mu) <= mu**2 / 2 * (1 + 1e-15)


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 0.999, 1.0, 4.0, 50.0, 1e4])
def test_mu_of_pure_epsilon_is_exact(epsilon):
    with mp.workdps(60):
        t = mp.ncdf(-mp.mpf(to.pure_to_gdp(epsilon)) / 2) * (1 + mp.exp(mp.mpf(epsilon)))
        assert t <= 1
        assert to.pure_to_gdp(epsilon * (1 - 1e-11)) < to.pure_to_gdp(epsilon)
        if epsilon < 20:  # t is exponential in mu
            assert t >= 1 - mp.mpf("1e-11")


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_randomized_response_is_gdp(epsilon):
    """Its profile lies under the Gaussian's, and touches it."""
    mu, grid = to.pure_to_gdp(epsilon), np.linspace(0, epsilon, 300)
    p = 1 / (1 + math.exp(-epsilon))
    gaps = [gaussian_divergence(mu, e) - max(0, p - math.exp(e) * (1 - p)) for e in grid]
    assert min(gaps) >= -1e-15
    assert gaps[0] == pytest.approx(0, abs=1e-12)


def test_sums():
    assert to.compose_zcdp([0.1] * 10) == 1.0000000000000002  # a tenth is a little more
    assert to.compose_renyi([0.25, 0.5]) == 0.75
    assert 5 <= to.compose_gdp([3.0, 4.0]) <= 5 * (1 + 1e-14)
    assert to.compose_zcdp([]) == to.compose_gdp([]) == 0


def test_the_ends():
    assert to.pure_to_zcdp(0) == to.zcdp_to_pure(0) == to.pure_to_gdp(0) == to.gdp_to_zcdp(0) == 0
    assert to.zcdp_to_epsilon(0, 0) == to.zcdp_to_delta(0, 0) == to.gdp_to_epsilon(0, 0) == 0
    assert to.zcdp_to_epsilon(1.0, 0) == to.gdp_to_epsilon(1.0, 0) == math.inf
    assert to.zcdp_from_epsilon_delta(1.0, 0) == to.gdp_from_epsilon_delta(1.0, 0) == 0
    assert to.zcdp_to_delta(1.0, math.inf) == 0
    assert to.zcdp_to_delta(math.inf, 1.0) == 1
    assert to.zcdp_to_epsilon(math.inf, 0.1) == to.zcdp_to_pure(math.inf) == math.inf
    assert to.zcdp_from_epsilon_delta(math.inf, 0.1) == math.inf
    assert to.pure_to_zcdp(math.inf) == to.pure_to_gdp(math.inf) == math.inf
    assert to.renyi_to_epsilon(2.0, 0.0, 0.0) == 0
    for extreme in (5e-324, 1e-300, 1e40, 1e300):
        assert to.zcdp_to_epsilon(extreme, 1e-9) >= 0
        assert 0 <= to.zcdp_from_epsilon_delta(extreme, 1e-300) <= extreme
    assert to.zcdp_to_epsilon(1e40, 1e-9) == pytest.approx(1e40)
    assert to.zcdp_from_epsilon_delta(0.0, 1e-40) > 0
    assert to.renyi_to_epsilon(2.0, 1.0, 0.0) == math.inf


@settings(deadline=None)
@given(st.floats(0, 1e12), st.floats(0, 1e12), st.floats(1e-300, 0.999))
def test_no_argument_in_range_fails_and_more_rho_is_no_better(one, other, delta):
    low, high = sorted((one, other))
    assert 0 <= to.zcdp_to_epsilon(low, delta) <= to.zcdp_to_epsilon(high, delta) * (1 + 1e-9)
    assert 0 <= to.zcdp_to_delta(low, one) <= min(1, to.zcdp_to_delta(high, one) * (1 + 1e-6))
    assert to.zcdp_from_epsilon_delta(low, delta) >= 0


BAD = {
    "rho": [lambda x: to.zcdp_to_epsilon(x, 0.1), to.zcdp_to_pure, lambda x: to.compose_zcdp([x])],
    "epsilon": [to.pure_to_zcdp, to.pure_to_gdp, lambda x: to.gdp_from_epsilon_delta(x, 0.1)],
    "mu": [to.gdp_to_zcdp, lambda x: to.gdp_to_delta(x, 1.0), lambda x: to.compose_gdp([x])],
    "alpha": [lambda x: to.renyi_to_epsilon(x, 1.0, 0.1)],
    "delta": [lambda x: to.zcdp_to_epsilon(1.0, x), lambda x: to.renyi_to_epsilon(2.0, 1.0, x)],
    "renyi_epsilon": [lambda x: to.renyi_to_epsilon(2.0, x, 0.1)],
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("value", [-1.0, math.nan, "1", None, True])
def test_bad_arguments_are_named(name, value):
    for call in BAD[name]:
        with pytest.raises(bdp.errors.InvalidInput, match=f"{name} is"):
            call(value)


def test_a_rho_grows_fourfold_from_add_remove_to_replace_one():
    """Attained in the limit by the Gaussian: the shift doubles."""
    made = bdp.Guarantee(
        1.0, 0.0, bdp.Neighbours.ADD_REMOVE, bdp.Strength.PROVED, (), "a test", rho=0.02
    )
    assert convert(made, bdp.Neighbours.REPLACE_ONE).rho == 0.08
    # Three laws on three outputs: the chain's ends keep to four times its links.
    rng = np.random.default_rng(3)
    orders = 1 + np.geomspace(1e-3, 1e3, 300)[:, None]

    def rho(a, b):
        moments = [
            np.logaddexp.reduce(orders * x + (1 - orders) * y, 1) for x, y in ((a, b), (b, a))
        ]
        return np.max(np.maximum(*moments) / (orders * (orders - 1))[:, 0])

    for _ in range(300):
        laws = rng.normal(0, rng.uniform(0.01, 2), (3, 3))
        p, c, q = laws - np.logaddexp.reduce(laws, 1)[:, None]
        assert rho(p, q) <= 4 * max(rho(p, c), rho(c, q)) * (1 + 1e-3)
