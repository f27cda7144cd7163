"""Conjugate releases at the ends of their range: tiny priors, and where delta vanishes."""

import math
from fractions import Fraction
from functools import cache
from itertools import pairwise, product

import mpmath as mp
import pytest

import bayesdp as bdp
from bayesdp.mechanisms.conjugate.bernoulli import map_sensitivity
from tests.mechanisms.conjugate.test_conjugate_bernoulli import posterior_divergence

DIGITS = 400


def counts(total: int, categories: int) -> list[tuple[int, ...]]:
    return [c for c in product(range(total + 1), repeat=categories) if sum(c) == total]


@cache
def law(method: str, weights: tuple[Fraction, ...], size: int) -> tuple[Fraction, ...]:
    """Of all the synthetic counts, as fractions."""
    found, total = [], sum(weights)
    for z in counts(size, len(weights)):
        p = Fraction(math.factorial(size))
        for w, times in zip(weights, z, strict=True):
            for t in range(times):
                p *= (w + t if method == "synthetic_one" else w) / Fraction(t + 1)
        below = total**size
        if method == "synthetic_one":
            below = math.prod((total + t for t in range(size)), start=Fraction(1))
        found.append(p / below)
    return tuple(found)


def worst(release: bdp.mechanisms.ConjugateMechanism, epsilon: float) -> mp.mpf:
    """The divergence of all neighbours, in both directions, in 400 digits."""
    k, method = len(release.prior), release.method
    less = int(method == "synthetic_map")

    def of(c: tuple[int, ...]) -> tuple[Fraction, ...]:
        weights = tuple(
            max(Fraction(a) + x - less, Fraction(0)) for a, x in zip(release.prior, c, strict=True)
        )
        return law(method, weights, release.size)

    found = [mp.mpf(0)]
    with mp.workdps(DIGITS):
        gamma = mp.exp(mp.mpf(epsilon))
        for c, (i, j) in product(counts(release.n, k), product(range(k), repeat=2)):
            if i != j and c[j]:
                moved = tuple(x + (s == i) - (s == j) for s, x in enumerate(c))
                pairs = zip(of(c), of(moved), strict=True)
                each = [
                    mp.mpf(p.numerator) / p.denominator - gamma * q.numerator / q.denominator
                    for p, q in pairs
                ]
                found.append(sum((d for d in each if d > 0), mp.mpf(0)))
        return max(found)


@pytest.mark.parametrize(
    ("prior", "size"),
    [
        ((1e-100, 0.3, 1e-100), 1),
        ((1e-17, 0.3, 1e-17), 4),
        ((1e-13, 1e-3, 2.0), 3),
        ((1e-9, 1e-9, 2.0), 3),
        ((1e-300, 1e-8, 1e-8), 2),
        ((1e-300, 1e8, 1e8), 2),
        ((1e-17, 1e-17), 3),
        ((1e-300, 5.0), 2),
        ((1e8, 1e8, 1e8), 3),
    ],
)
@pytest.mark.parametrize("method", ["synthetic_one", "synthetic_many"])
def test_a_tiny_prior_promises_nothing_that_is_false(method, prior, size):
    """All along the profile: where it is near 1, and where nearly nothing is left of it."""
    made = bdp.mechanisms.ConjugateMechanism("categorical", method, 2, prior, size=size)
    pure = made.epsilon(0)
    for share in (0.0, 0.3, 0.8, 0.95, 0.99):
        truth = worst(made, share * pure)
        assert truth <= made.delta(share * pure) <= truth * (1 + 1e-9)


@pytest.mark.parametrize("method", ["synthetic_one", "synthetic_many", "synthetic_map"])
@pytest.mark.parametrize("prior", [(3.0, 1.5), (1e4, 1e4), (1.2, 7.3, 2.0), (1e5, 1e5, 1e5)])
def test_delta_is_on_the_safe_side_where_it_vanishes(method, prior):
    """There the last digits of log ratios decide: delta is that of an epsilon a hair smaller."""
    made = bdp.mechanisms.ConjugateMechanism("categorical", method, 1, prior, size=3)
    pure = made.epsilon(0)
    for digits in range(4, 15):
        epsilon = pure * (1 - 10.0**-digits)
        truth = worst(made, epsilon)
        assert truth <= made.delta(epsilon) <= 1.0001 * worst(made, epsilon * (1 - 1e-14))


@pytest.mark.parametrize("prior", [(1e-10, 1e-10), (1e-17, 1e-17), (1e-300, 0.5), (1.0, 1e-20)])
def test_a_mode_of_tiny_priors(prior):
    """With two records the mode of one of each is that of the priors, however small."""
    made = bdp.mechanisms.ConjugateMechanism("bernoulli", "synthetic_map", 2, prior, size=2)
    for epsilon in (0.0, 1.0, 20.0):
        truth = worst(made, epsilon)
        assert truth <= made.delta(epsilon) <= truth * (1 + 1e-9)
    itself = bdp.mechanisms.ConjugateMechanism("bernoulli", "parameter_map", 2, prior)
    modes = [itself.release(itself.statistic([1] * x + [0] * (2 - x)))[0] for x in range(3)]
    moved = max(b - a for a, b in pairwise(modes))
    assert moved <= map_sensitivity(itself) <= moved * (1 + 1e-9)


@pytest.mark.parametrize("prior", [(1e-12, 1e-12), (1e-100, 1e-100), (1e-9, 3e-9)])
def test_a_draw_from_one_record_and_tiny_priors(prior):
    made = bdp.mechanisms.ConjugateMechanism("bernoulli", "parameter_draw", 1, prior)
    for epsilon in (0.0, 5.0):
        truth = posterior_divergence(max(prior), min(prior), epsilon)
        assert made.delta(epsilon) >= truth
        assert made.delta(epsilon) <= min(1, truth * (1 + 1e-9))


@pytest.mark.parametrize("family", ["bernoulli", "categorical"])
def test_one_record_can_be_calibrated_for(family):
    more = {"categories": 2} if family == "categorical" else {}
    made = bdp.mechanisms.ConjugateMechanism.calibrate(
        family=family, method="parameter_draw", n=1, epsilon=1.0, delta=1e-6, **more
    )
    assert made.guarantee(delta=1e-6).epsilon <= 1.0


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 2.61413592142989])
@pytest.mark.parametrize("delta", [1e-4, 1e-7])
@pytest.mark.parametrize("method", ["synthetic_one", "synthetic_many", "parameter_draw"])
def test_what_is_calibrated_says_no_more_than_was_asked(method, epsilon, delta):
    """Else a ledger with that much left would refuse it."""
    size = {} if method == "parameter_draw" else {"size": 10}
    made = bdp.mechanisms.ConjugateMechanism.calibrate(
        family="categorical", method=method, n=5, epsilon=epsilon, delta=delta, categories=3, **size
    )
    assert made.guarantee(delta=delta).epsilon <= epsilon


def test_a_table_of_tiny_priors_has_its_true_promise():
    """Here delta(37) is 0.3, and was said to be below 1e-289: epsilon(1e-6) came out as 37."""
    made = bdp.mechanisms.DirichletMultinomialMechanism(3, 1, 3, (1e-100, 0.3, 1e-100))
    assert 230 < made.guarantee(delta=1e-6).epsilon <= made.epsilon()


@pytest.mark.parametrize("prior", [(1e-310, 1.0, 1.0), (1.0, 1e101, 1.0), (1e-301, 1.0)])
def test_priors_beyond_all_digits_are_refused(prior):
    """Of (1e-310,) * 3, delta was said to be below 1e-289 at every epsilon, and is nearly 1."""
    families = ["categorical"] + ["bernoulli"] * (len(prior) == 2)
    for family in families:
        with pytest.raises(bdp.errors.InvalidInput, match=r"prior is .* from 1e-300 to 1e\+100"):
            bdp.mechanisms.ConjugateMechanism(family, "synthetic_many", 2, prior, size=1)


@pytest.mark.parametrize("given", [{"R": 1e101}, {"sigma": 1e-101}, {"prior": (0, 1e-200)}])
def test_normal_parameters_whose_squares_are_no_floats_are_refused(given):
    known = {"R": 1.0, "sigma": 1.0, "prior": (0, 1)} | given
    with pytest.raises(bdp.errors.InvalidInput, match=f"{next(iter(given))} is"):
        bdp.mechanisms.ConjugateMechanism("gaussian", "parameter_draw", 2, **known)


def test_a_promise_that_needs_a_prior_beyond_all_digits_is_refused():
    with pytest.raises(bdp.errors.InvalidInput, match="no prior gives"):
        bdp.mechanisms.ConjugateMechanism.calibrate(
            family="bernoulli", method="synthetic_many", n=2, epsilon=1e-60, size=1
        )


@pytest.mark.parametrize("prior", [(0.5, 0.5), (1.0, 3.0), (1e-8, 0.3)])
def test_releases_that_rule_out_outputs_compose(prior):
    """Their delta tends to a limit above 0; of two independent releases it is 1 - (1 - limit)^2."""
    made = bdp.mechanisms.ConjugateMechanism("bernoulli", "synthetic_map", 3, prior, size=2)
    limit = made.delta(math.inf)
    delta = 1 - (1 - limit) ** 2 + 1e-6
    promise = bdp.compose([(made, 2)], delta=delta)
    assert math.isfinite(promise.epsilon)
    together = bdp.mechanisms.ConjugateMechanism("bernoulli", "synthetic_map", 3, prior, size=4)
    assert together.delta(promise.epsilon) <= delta


@pytest.mark.parametrize("prior", [(1e16, 1e-16), (1.0, 1e-100)])
def test_a_draw_with_next_to_no_prior_has_a_loss_that_is_infinite(prior):
    made = bdp.mechanisms.ConjugateMechanism("bernoulli", "parameter_draw", 3, prior)
    assert made.pld().get_delta_for_epsilon(1.0) == pytest.approx(1)
