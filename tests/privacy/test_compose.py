"""Composition against exact laws: binomials, enumeration and Gaussians."""

import itertools
import math
import random

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

import bayesdp as bdp
from bayesdp.privacy import loss_distribution
from bayesdp.privacy.advanced_composition import dwork_rothblum_vadhan, kairouz_oh_viswanath
from bayesdp.privacy.conversions import gdp_to_epsilon, zcdp_to_epsilon
from bayesdp.privacy.profile import gaussian_profile, hockey_stick

OPTIMAL = "optimal composition"


def promise(epsilon, delta=0.0, rho=None, neighbours="replace_one", strength="proved", why="A."):
    return bdp.Guarantee(
        epsilon, delta, bdp.Neighbours(neighbours), bdp.Strength(strength), (why,), "a test", rho
    )


class Gaussian:
    """A mechanism with sensitivity mu and unit noise."""

    def __init__(self, mu, neighbours="replace_one"):
        self.mu, self.neighbours = mu, neighbours

    def guarantee(self, *, delta=0.0):
        epsilon = gaussian_profile(self.mu).epsilon(delta)
        return promise(epsilon, delta, self.mu**2 / 2, self.neighbours)

    def pld(self):
        return gaussian_profile(self.mu).pld()


class Laplace:
    """dp-accounting's own distribution: under add/remove, one direction a mechanism."""

    def guarantee(self, *, delta=0.0):
        return promise(1.0, 0.0, neighbours="add_remove")

    def pld(self):
        from dp_accounting.pld import privacy_loss_distribution as plds

        return plds.from_laplace_mechanism(1.0, value_discretization_interval=1e-3)


def binomial_delta(epsilon, delta, count, at):
    """delta(at) of `count` times the worst (epsilon, delta)-DP release, in 120 digits."""
    with mp.workdps(120):
        epsilon, delta, at = mp.mpf(epsilon), mp.mpf(delta), mp.mpf(at)
        p = 1 / (1 + mp.exp(-epsilon))
        finite = sum(
            mp.binomial(count, j) * p ** (count - j) * (1 - p) ** j
            * max(0, 1 - mp.exp(at - (count - 2 * j) * epsilon))
            for j in range(count + 1)
        )  # fmt: skip
        return 1 - (1 - delta) ** count * (1 - finite)


EQUAL = [
    (0.1, 0.0, 100, 1e-6), (0.1, 0.0, 100, 1e-30), (1.0, 0.0, 10, 1e-3), (0.01, 0.0, 1000, 1e-6),
    (3.0, 0.0, 2, 1e-2), (0.5, 0.0, 1, 0.2), (1.0, 0.0, 30, 0.9), (0.3, 1e-8, 50, 1e-6),
    (0.3, 1e-8, 50, 5.001e-7), (0.05, 1e-3, 7, 0.02), (0.2, 0.0, 400, 1e-60),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta", "count", "total"), EQUAL)
def test_equal_promises_are_a_binomial(epsilon, delta, count, total):
    made = bdp.compose([(promise(epsilon, delta), count)], delta=total)
    exact = binomial_delta(epsilon, delta, count, made.epsilon)
    assert exact <= total
    assert binomial_delta(epsilon, delta, count, made.epsilon * (1 - 1e-6)) > total
    assert made.delta == total
    assert OPTIMAL in made.source
    formula = kairouz_oh_viswanath(epsilon, delta, count, total)
    assert binomial_delta(epsilon, delta, count, formula) <= total
    assert made.epsilon == pytest.approx(formula, rel=1e-6)
    advanced, all_delta = dwork_rothblum_vadhan(epsilon, delta, count, total - count * delta)
    assert all_delta <= total * (1 + 1e-9)
    assert formula <= advanced * (1 + 1e-9)


def enumerated_delta(parts, at):
    """delta(at) of randomized responses of different epsilon, all outcomes one by one."""
    terms = []
    for signs in itertools.product((1, -1), repeat=len(parts)):
        loss = sum(s * e for s, e in zip(signs, parts, strict=True))
        mass = math.prod(1 / (1 + math.exp(-s * e)) for s, e in zip(signs, parts, strict=True))
        terms.append(mass * max(0.0, -math.expm1(at - loss)))
    return math.fsum(terms)


epsilons = st.lists(st.floats(1e-3, 2), min_size=1, max_size=7)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(epsilons, st.floats(-9, -0.3))
def test_different_promises_by_enumeration(parts, log_delta):
    delta = 10**log_delta
    made = bdp.compose([promise(e) for e in parts], delta=delta)
    assert enumerated_delta(parts, made.epsilon) <= delta * (1 + 1e-9)
    assert made.epsilon <= math.fsum(parts) * (1 + 1e-15)
    if made.epsilon > 1e-6:
        lower = made.epsilon * (1 - 2e-3) - 1e-3 * math.hypot(*parts)
        assert lower < 0 or enumerated_delta(parts, lower) > delta


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(epsilons, st.floats(0, 2), st.floats(-9, -1), st.integers(0, 10**6))
def test_one_more_release_never_costs_less_and_the_order_is_free(parts, more, log_delta, seed):
    delta = 10**log_delta
    made = bdp.compose([promise(e) for e in parts], delta=delta).epsilon
    shuffled = random.Random(seed).sample(parts, len(parts))
    assert bdp.compose([promise(e) for e in shuffled], delta=delta).epsilon == made
    with_more = bdp.compose([promise(e) for e in [*parts, more]], delta=delta).epsilon
    assert with_more >= made * (1 - 2e-3) - 1e-3 * math.hypot(*parts)  # of the grid
    assert bdp.compose([promise(e) for e in parts], delta=delta / 2).epsilon >= made * (1 - 1e-9)
    sums = bdp.compose([promise(e) for e in parts])
    assert sums.epsilon >= made
    assert bdp.compose([promise(e) for e in shuffled]) == sums


@pytest.mark.parametrize("mu", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("count", [2, 10, 500])
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12])
def test_gaussians_are_a_gaussian(mu, count, delta):
    exact = gdp_to_epsilon(mu * math.sqrt(count), delta)
    made = bdp.compose([(Gaussian(mu), count)], delta=delta)
    assert exact <= made.epsilon <= exact * 1.001 + 1e-12
    assert made.rho == pytest.approx(count * mu**2 / 2)


def test_two_kinds_of_gaussians_and_a_promise():
    exact = gdp_to_epsilon(math.hypot(0.3, 0.4), 1e-6)
    both = bdp.compose([Gaussian(0.3), Gaussian(0.4)], delta=1e-6).epsilon
    assert exact <= both <= exact * 1.001
    three = bdp.compose([Gaussian(0.3), promise(0.2), Gaussian(0.4)], delta=1e-6).epsilon
    assert both <= three <= both + 0.2


def test_against_dp_accounting():
    """Both directions of a distribution that isn't symmetric in its making."""
    made = bdp.compose([(Laplace(), 20)], delta=1e-5)
    peer = Laplace().pld().self_compose(20).get_epsilon_for_delta(1e-5)
    assert made.epsilon == pytest.approx(peer, rel=1e-3)
    assert made.neighbours is bdp.Neighbours.ADD_REMOVE
    assert made.epsilon < bdp.compose([(promise(1.0), 20)], delta=1e-5).epsilon


def exact_epsilon(scale, shift, count, delta):
    """Of discrete Laplace noises, whose summed loss is on the lattice of 1 / scale."""
    z = np.arange(-400, 401 + shift)
    pmf = np.exp(-np.abs(z) / scale) * math.tanh(0.5 / scale)
    pmf /= pmf.sum()
    steps = np.abs(z - shift) - np.abs(z) + shift
    one = np.bincount(steps, pmf)
    law = np.ones(1)
    for _ in range(count):
        law = np.convolve(law, one)
    losses = (np.arange(law.size) - count * shift) / scale

    def above(epsilon):
        gap = np.maximum(losses - epsilon, 0.0)
        return float(law @ -np.expm1(-gap)) - delta

    return optimize.brentq(above, 0.0, count * shift / scale, xtol=1e-13)


@pytest.mark.parametrize(("scale", "shift", "count"), [(10.0, 1, 400), (4.0, 3, 200), (0.5, 2, 9)])
@pytest.mark.parametrize("delta", [1e-3, 1e-9])
def test_discrete_laplaces_compose_by_their_own_law(scale, shift, count, delta):
    """Not by a grid through the profile, whose errors add up."""
    noise = bdp.mechanisms.DiscreteLaplaceMechanism(scale, shift, "add_remove")
    made = bdp.compose([(noise, count)], delta=delta).epsilon
    exact = exact_epsilon(scale, shift, count, delta)
    assert exact <= made * (1 + 1e-12)
    assert made <= exact * (1 + 1e-9)


@pytest.mark.slow
def test_ten_thousand_laplaces_are_no_looser_than_dp_accounting_s():
    from dp_accounting.pld import privacy_loss_distribution as plds

    noise = bdp.mechanisms.DiscreteLaplaceMechanism(10.0, 1, "add_remove")
    made = bdp.compose([(noise, 10_000)], delta=1e-6).epsilon
    peer = plds.from_discrete_laplace_mechanism(0.1, value_discretization_interval=1e-4)
    assert made <= peer.self_compose(10_000).get_epsilon_for_delta(1e-6) * (1 + 1e-9)


def test_a_conjugate_release_composes():
    one = bdp.mechanisms.ConjugateMechanism(
        "gaussian", "parameter_draw", 100, (0.0, 1.0), R=1.0, sigma=1.0
    )
    assert bdp.compose([one], delta=1e-6).epsilon == pytest.approx(one.epsilon(1e-6), rel=1e-3)
    five = bdp.compose([(one, 5)], delta=1e-6)
    assert one.epsilon(1e-6) < five.epsilon < 5 * one.epsilon(2e-7)
    assert five.assumptions == one.guarantee(delta=1e-7).assumptions
    assert bdp.compose([one]).epsilon == math.inf
    mode = bdp.mechanisms.ConjugateMechanism(
        "gaussian", "parameter_map", 100, (0.0, 1.0), R=1.0, sigma=1.0
    )
    with pytest.raises(bdp.errors.InvalidInput, match="no epsilon is enough"):
        bdp.compose([one, mode], delta=1e-6)


def test_a_rho_of_its_own_is_used():
    """Where promises carry more delta than there is, but their rhos don't need it."""
    made = bdp.compose([(promise(1.0, 1e-6, rho=0.001), 10)], delta=1e-6)
    assert "concentrated composition" in made.source
    assert made.rho == pytest.approx(0.01)
    with pytest.raises(bdp.errors.InvalidInput, match="deltas add up to 1e-05"):
        bdp.compose([(promise(1.0, 1e-6), 10)], delta=1e-6)
    mixed = bdp.compose([(promise(1.0, 1e-6, rho=0.001), 10), promise(0.1, 1e-7)], delta=1e-6)
    assert made.epsilon < mixed.epsilon < made.epsilon + 0.2
    assert mixed.rho is None


def test_exact_sums_at_no_delta():
    made = bdp.compose([(promise(0.1, 1e-7), 10), promise(0.5, 1e-6)])
    assert made.epsilon == 1.5000000000000002  # a tenth is a little more
    assert made.delta == pytest.approx(2e-6)
    assert bdp.compose([(promise(0.1), 10**9)]).epsilon == pytest.approx(1e8)
    assert bdp.compose([(promise(0.25), 2**60)]).epsilon == 2.0**58
    assert bdp.compose([(promise(1e300), 10**100)]).epsilon == math.inf
    assert bdp.compose([promise(math.inf), promise(1.0)]).epsilon == math.inf
    assert bdp.compose([promise(0.0)], delta=0.1).epsilon == 0.0


def test_relations_strengths_and_assumptions():
    made = bdp.compose(
        [
            promise(1.0, why="B."),
            promise(0.5, 1e-9, 0.01, "add_remove", "conditional"),
            promise(1.0, why="B."),
        ]
    )
    assert made.neighbours is bdp.Neighbours.REPLACE_ONE
    assert made.epsilon == 3.0
    assert made.strength is bdp.Strength.CONDITIONAL
    assert made.assumptions == ("B.", "A.")
    only = bdp.compose([promise(0.5, neighbours="add_remove")] * 2)
    assert (only.epsilon, only.neighbours) == (1.0, bdp.Neighbours.ADD_REMOVE)
    with pytest.raises(bdp.errors.InvalidInput, match="says nothing about the other"):
        bdp.compose([promise(1.0), promise(1.0, neighbours="edge")])
    one = bdp.compose([Gaussian(0.1, "add_remove"), promise(0.1)], delta=1e-6)
    assert one.epsilon >= bdp.compose([Gaussian(0.2), promise(0.1)], delta=1e-6).epsilon


@pytest.mark.parametrize(
    ("parts", "delta", "message"),
    [
        ([], 0.0, "parts is empty"),
        (None, 0.0, "parts is None; give a list"),
        (promise(1.0), 0.0, "parts is a Guarantee; give a list"),
        ({promise(1.0): 3}, 0.0, r"parts is a dict; .* pairs \(part, count\)"),
        ([1.0], 0.0, "part is a float"),
        ([bdp.mechanisms.DiscreteLaplaceMechanism], 0.0, "part is a type"),
        ([bdp.Release.of(bdp.mechanisms.DiscreteLaplaceMechanism(2.0), [3])], 0.0, "a release's"),
        ([bdp.BetaBinomialSynthesizer(epsilon=1.0)], 0.0, "a synthesizer's"),
        ([(promise(1.0), 0)], 0.0, "count is 0"),
        ([(promise(1.0), 1.5)], 0.0, "count is 1"),
        ([promise(1.0)], -0.1, "delta is -0"),
        ([promise(1.0)], 1.0, "delta is 1"),
        ([promise(math.inf)], 0.1, "no epsilon is enough"),
        ([promise(1.0, 1.0)], 0.1, "no epsilon is enough"),
    ],
)
def test_bad_arguments(parts, delta, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.compose(parts, delta=delta)


def test_more_releases_than_can_be_convolved_have_the_other_bounds():
    many = bdp.compose([(promise(1e-12), 10**21)], delta=1e-6)
    assert many.epsilon == pytest.approx(zcdp_to_epsilon(10**21 * 1e-24 / 2, 1e-6), rel=1e-6)
    assert "concentrated" in many.source


def test_an_optimistic_distribution_is_refused():
    from dp_accounting.pld import privacy_loss_distribution as plds

    with pytest.raises(ValueError, match="optimistic"):
        loss_distribution.of_pld(plds.from_laplace_mechanism(1.0, pessimistic_estimate=False))


@pytest.mark.parametrize("size", [(200, 200), (1000, 5000), (129, 100_000)])
@pytest.mark.parametrize("kind", ["flat", "peaked", "jagged"])
def test_the_error_of_a_convolution_is_bounded(size, kind):
    rng = np.random.default_rng(7)

    def law(n):
        x = np.linspace(-9, 9, n)
        shape = {"flat": np.ones(n), "peaked": np.exp(-x * x * 20), "jagged": rng.exponential(1, n)}
        return shape[kind] / shape[kind].sum()

    one, other = law(size[0]), law(size[1])
    made, bound = loss_distribution._convolve(one, other)
    assert np.abs(made - np.convolve(one, other)).sum() <= bound <= 1e-9


@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 0.0), (1.0, 1e-3), (0.05, 1e-9)])
@pytest.mark.parametrize("count", [2, 20, 300])
def test_delta_of_equal_promises_is_a_binomial_too(epsilon, delta, count):
    """On the safe side of the exact one, and near it, however small; 0 beyond all losses."""
    law = loss_distribution.of_promise(epsilon, delta)
    for at in np.array([0.0, 0.1, 0.5, 0.9, 0.999]) * count * epsilon:
        found = loss_distribution.composed_delta([(law, count)], float(at))
        exact = binomial_delta(epsilon, delta, count, float(at))
        assert exact <= found <= exact * (1 + 1e-7)
    pure = loss_distribution.of_promise(epsilon, 0.0)
    assert loss_distribution.composed_delta([(pure, count)], 1.01 * count * epsilon) == 0


@pytest.mark.parametrize("mu", [0.1, 1.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-3, 0.03])
def test_delta_of_a_product_is_the_inverse_of_its_epsilon(mu, delta):
    """Of Gaussians, whose composition is a Gaussian, and of them with a promise."""
    law, _ = loss_distribution.of_pld(gaussian_profile(mu).pld())
    exact = gaussian_profile(mu * 3)
    for parts in ([(law, 9)], [(law, 3), (loss_distribution.of_promise(0.2, delta / 9), 4)]):
        epsilon = loss_distribution.composed_epsilon(parts, delta)
        found = loss_distribution.composed_delta(parts, epsilon)
        assert found == pytest.approx(delta, rel=1e-3)
        if len(parts) == 1:
            assert exact.delta(epsilon) <= found * (1 + 1e-9)


def test_a_million_releases():
    made = bdp.compose([(promise(1e-3), 10**6), (promise(2e-3), 10**5)], delta=1e-6)
    mu = math.sqrt(1.4)  # tiny ones tend to a Gaussian (Dong, Roth and Su 2022)
    assert made.epsilon == pytest.approx(gdp_to_epsilon(mu, 1e-6), rel=0.01)
    assert made.epsilon >= gdp_to_epsilon(mu, 1e-6) * (1 - 1e-3)


@pytest.mark.parametrize("call", [dwork_rothblum_vadhan, kairouz_oh_viswanath])
def test_the_closed_formulas_check_their_arguments(call):
    for bad in [(0, 0, 1, 0.1), (1, -1, 1, 0.1), (1, 0, 0, 0.1), (1, 0, 1, 0), (1, 0, 1, 1)]:
        with pytest.raises(bdp.errors.InvalidInput):
            call(*bad)


def test_the_formula_has_no_answer_below_the_deltas():
    assert kairouz_oh_viswanath(1.0, 0.1, 2, 0.15) == math.inf


@pytest.mark.slow
def test_a_delta_that_grows_in_conversion_is_asked_for_smaller():
    """An add/remove promise at delta is one at (1 + exp(epsilon)) delta under replace-one."""
    moved = bdp.mechanisms.ConjugateMechanism("bernoulli", "synthetic_one", 50, (20, 20), size=5)
    pure = bdp.mechanisms.DiscreteLaplaceMechanism.calibrate(epsilon=0.1, sensitivity=1)
    as_promised = bdp.compose([(pure.guarantee(), 10), moved], delta=1e-6)
    assert bdp.compose([(pure, 10), moved], delta=1e-6) == as_promised
    assert as_promised.epsilon < bdp.compose([(pure, 10), moved]).epsilon
    free = bdp.mechanisms.PoissonGammaMechanism(None, (1.0, 2.0), 5.0, None)
    promise = bdp.compose([free, moved], delta=1e-6)
    one = free.guarantee(delta=1e-6 / 2 / (1 + math.exp(2.0)))
    assert one.epsilon < 2.0
    assert promise.delta == 1e-6
    assert promise.neighbours is bdp.Neighbours.REPLACE_ONE
    assert promise.epsilon < 2 * one.epsilon + moved.epsilon(0)


def test_a_mechanism_of_one_promise_is_not_asked_for_ever():
    class Fixed:
        def guarantee(self, *, delta=0.0):
            return promise(1.0, 1e-3, neighbours="add_remove")

    with pytest.raises(bdp.errors.InvalidInput, match="no epsilon is enough"):
        bdp.compose([Fixed(), promise(1.0)], delta=1e-6)


def test_a_choice_and_the_copies_after_it_compose():
    families = (bdp.families.Bernoulli(), bdp.families.Bernoulli((9.0, 1.0)))
    copy = bdp.mechanisms.ModipsSBSMechanism(families[0], 4, (1.3,), n=3)
    made = bdp.mechanisms.SelectedModipsMechanism(copy, families, epsilon=1.0)
    outputs = [(i, z) for i in (0, 1) for z in range(5)]
    laws = np.array([[float(made.logp(z, bdp.Count(x, 3))) for z in outputs] for x in range(4)])
    for count in (1, 2):
        joint = laws if count == 1 else (laws[:, :, None] + laws[:, None]).reshape(4, -1)
        pairs = [(joint[x], joint[y]) for x in range(4) for y in (x - 1, x + 1) if 0 <= y < 4]
        for at in (0.0, 0.3, 0.99, 1.01, 1.5):
            true = max(hockey_stick(p, q, at) for p, q in pairs)
            assert true <= made.profile(copies=count).delta(at) < 0.65
        for delta in (1e-6, 1e-2):
            claim = bdp.compose([(made, count)], delta=delta).epsilon
            assert claim <= made.guarantee(copies=count, delta=delta).epsilon * (1 + 1e-9)
            assert max(hockey_stick(p, q, claim) for p, q in pairs) <= delta
