"""The beta-binomial mechanism: its exact epsilon by enumeration, its law, what it refuses."""

import math
from itertools import pairwise, product

import mpmath as mp
import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.mechanisms.counts.beta_binomial import BetaBinomialMechanism

CASES = [
    (1, 1, (1.0, 1.0)),
    (5, 3, (2.0, 2.0)),
    (7, 10, (0.5, 4.0)),
    (20, 20, (15.65, 15.65)),
    (3, 40, (1e-6, 3.0)),
    (12, 4, (7.0, 0.25)),
]


def log_law(z: int, size: int, a: mp.mpf, b: mp.mpf) -> mp.mpf:
    return mp.log(mp.binomial(size, z)) + mp.log(mp.beta(a + z, b + size - z) / mp.beta(a, b))


def enumerated(n_from: int, n_to: int, size: int, prior: tuple[float, float]) -> dict[str, mp.mpf]:
    """Largest log ratios over all outputs and pairs of neighbours, in 40 digits."""
    with mp.workdps(40):
        a, b = map(mp.mpf, prior)

        def law(x: int, n: int) -> list[mp.mpf]:
            return [log_law(z, size, a + x, b + n - x) for z in range(size + 1)]

        replace = addition = removal = mp.mpf(0)
        for n in range(n_from, n_to + 1):
            laws = [law(x, n) for x in range(n + 1)]
            for first, second in pairwise(laws):
                replace = max(replace, *(abs(p - q) for p, q in zip(first, second, strict=True)))
            if n == n_to:
                break
            larger = [law(x, n + 1) for x in range(n + 2)]
            for x, step in product(range(n + 1), (0, 1)):
                pairs = list(zip(laws[x], larger[x + step], strict=True))
                addition = max(addition, *(q - p for p, q in pairs))
                removal = max(removal, *(p - q for p, q in pairs))
        return {"replace": replace, "addition": addition, "removal": removal}


@pytest.mark.parametrize(("n", "size", "prior"), CASES)
def test_replace_one_epsilon_is_exact(n: int, size: int, prior: tuple[float, float]):
    truth = float(enumerated(n, n, size, prior)["replace"])
    claim = BetaBinomialMechanism(n, size, prior).epsilon()
    assert truth <= claim <= truth * (1 + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "prior"), [(s, p) for _, s, p in CASES])
def test_add_remove_epsilon_is_the_supremum_over_n(size: int, prior: tuple[float, float]):
    mechanism = BetaBinomialMechanism(None, size, prior)
    truth = enumerated(0, 8, size, prior)
    assert truth["addition"] <= mechanism.epsilon(neighbours=bdp.Neighbours.ADD_REMOVE)
    assert truth["removal"] == pytest.approx(mechanism.removal_guarantee().epsilon, rel=1e-12)
    with mp.workdps(40):  # and it is approached: no smaller number would do
        a, b = sorted(map(mp.mpf, prior))
        n = mp.mpf(10) ** 15
        near = log_law(size, size, a + 1, b + n) - log_law(size, size, a, b + n)
    assert mechanism.epsilon() == pytest.approx(float(near), rel=1e-8)


@pytest.mark.parametrize("epsilon", [0.01, 0.4, 1.0, 2.0, 10.0, 50.0, 300.0])
@pytest.mark.parametrize("copies", [1, 5])
def test_calibration_is_tight_and_on_the_safe_side(epsilon: float, copies: int):
    mechanism = BetaBinomialMechanism.calibrate(n=60, size=60, epsilon=epsilon, copies=copies)
    with mp.workdps(60):
        a = mp.mpf(mechanism.prior[0])
        true = copies * mp.log(1 + 60 / a)
        smaller = copies * mp.log(1 + 60 / (a * mp.mpf("0.99")))
        assert true <= mp.mpf(epsilon)
        assert true > epsilon * (1 - mp.mpf(10) ** -12)
        assert smaller > epsilon
    claim = mechanism.epsilon(copies=copies)
    assert float(true) <= claim <= epsilon


def test_the_enumerated_epsilon_exceeds_the_target_when_the_prior_is_smaller():
    n = size = 20
    a = BetaBinomialMechanism.calibrate(n=n, size=size, epsilon=1.5).prior[0]
    assert enumerated(n, n, size, (a, a))["replace"] <= 1.5
    assert enumerated(n, n, size, (0.99 * a, 0.99 * a))["replace"] > 1.5


def test_the_exact_threshold_and_the_printed_one():
    """Zheng (2015), Theorem 6.13, prints a prior larger by one than is needed."""
    exact = 100 / math.expm1(1.0)
    assert BetaBinomialMechanism(100, 100, (exact, exact)).epsilon() == pytest.approx(
        1.0, abs=1e-12
    )
    printed = BetaBinomialMechanism(100, 100, (exact + 1, exact + 1)).epsilon()
    assert printed == pytest.approx(0.98926, abs=5e-6)


def test_extreme_budgets_stay_finite_and_safe():
    mechanism = BetaBinomialMechanism.calibrate(n=10, size=10, epsilon=5000.0)
    assert mechanism.epsilon() <= 5000


def test_copies_cost_their_sum():
    mechanism = BetaBinomialMechanism(30, 10, (4.0, 9.0))
    assert mechanism.guarantee(copies=7).epsilon == pytest.approx(7 * mechanism.epsilon())


def test_law_sums_to_one_and_is_vectorised():
    mechanism = BetaBinomialMechanism(50, 8, (1.5, 2.5))
    x = np.arange(51)
    law = mechanism.logp(np.arange(9)[:, None], bdp.Count(x, 50))
    assert law.shape == (9, 51)
    assert np.exp(law).sum(axis=0) == pytest.approx(np.ones(51), abs=1e-12)
    assert np.isneginf(mechanism.logp([-1, 9], bdp.Count(3, 50))).all()


def test_law_is_log_concave_in_the_statistic():
    x = np.arange(41)
    for _, size, prior in CASES:
        mechanism = BetaBinomialMechanism(40, size, prior)
        for z in {0, 1, size // 2, size}:
            second = np.diff(mechanism.logp(z, bdp.Count(x, 40)), n=2)
            assert np.all(second <= 1e-11)


def test_release_has_the_shape_of_the_statistic():
    mechanism = BetaBinomialMechanism(10, 6, (1.0, 1.0))
    z = mechanism.release(bdp.Count(np.array([[0, 5, 10]]), 10), copies=4)
    assert z.shape == (4, 1, 3)
    assert z.min() >= 0
    assert z.max() <= 6


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n": 0}, "n is 0"),
        ({"n": 2.5}, "n is 2.5"),
        ({"size": 0}, "size is 0"),
        ({"size": True}, "size is True"),
        ({"prior": (0, 1)}, "prior is"),
        ({"prior": (1, math.inf)}, "prior is"),
        ({"prior": (1, math.nan)}, "prior is"),
        ({"prior": 3}, "prior is"),
    ],
)
def test_bad_parameters_are_named(parameters: dict, message: str):
    good = {"n": 10, "size": 10, "prior": (1.0, 1.0)}
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        BetaBinomialMechanism(**{**good, **parameters})


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "two", None])
def test_bad_epsilon_is_refused(epsilon: object):
    with pytest.raises(bdp.errors.InvalidInput, match="epsilon is"):
        BetaBinomialMechanism.calibrate(n=10, size=10, epsilon=epsilon)


def test_relations_never_mix():
    public = BetaBinomialMechanism(10, 10, (1.0, 1.0))
    with pytest.raises(bdp.errors.InvalidInput, match="n is public"):
        public.epsilon(neighbours=bdp.Neighbours.ADD_REMOVE)
    with pytest.raises(bdp.errors.InvalidInput, match="neighbours is 'edge'"):
        public.epsilon(neighbours=bdp.Neighbours.EDGE)


def test_a_statistic_of_another_size_is_refused():
    with pytest.raises(bdp.errors.InvalidInput, match="another number of records"):
        BetaBinomialMechanism(10, 5, (1.0, 1.0)).release(bdp.Count(2, 11))


def test_a_count_s_repr_shows_none_of_its_numbers():
    assert not any(digit in repr(bdp.Count(17, 2345)) for digit in "1234567")
