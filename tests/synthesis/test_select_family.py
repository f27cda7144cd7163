"""A model chosen by its marginal likelihood: exact epsilon, and what it refuses."""

import itertools
import math

import numpy as np
import pytest
from mpmath import mp
from scipy import integrate, special, stats

import bayesdp as bdp
from bayesdp.mechanisms.families.evidence import CRITERIA as CRITERION
from bayesdp.mechanisms.families.evidence import furthest, utilities

Bernoulli, Categorical = bdp.families.Bernoulli, bdp.families.Categorical
PRIORS = [
    np.array([(1.0, 1.0), (0.5, 30.0), (4.0, 2.0)]),
    np.array([(1.0, 1.0, 1.0), (0.3, 5.0, 1.0), (0.3, 0.3, 0.3)]),
]


CRITERIA = ("log_marginal", "dic")


def test_utilities_are_log_marginal_likelihoods():
    found = utilities(PRIORS[0], np.array([3, 4]))
    expected = [stats.betabinom.logpmf(3, 7, *p) - math.log(math.comb(7, 3)) for p in PRIORS[0]]
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("counts", [(3, 4), (0, 2), (0, 0)])
def test_utilities_are_minus_half_of_dic(counts):
    """By quadrature over the posterior of a proportion."""
    x, y = counts
    expected = []
    for prior in PRIORS[0]:
        posterior = stats.beta(prior[0] + x, prior[1] + y)

        def deviance(p):
            return -2 * (special.xlogy(x, p) + special.xlog1py(y, -p))

        mean, _ = integrate.quad(lambda p, d=posterior: d.pdf(p) * deviance(p), 0, 1)
        expected.append(-(2 * mean - deviance(posterior.mean())) / 2)
    assert utilities(PRIORS[0], np.array(counts), "dic") == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("alphas", PRIORS)
@pytest.mark.parametrize("added", [True, False])
def test_no_record_moves_candidates_further_apart(alphas, added, criterion):
    """Over all counts up to 12 of each category; the bound of marginal likelihoods is attained."""
    k = alphas.shape[1]
    worst = 0.0
    for c in itertools.product(range(13 if k == 2 else 7), repeat=k):
        u = utilities(alphas, np.array(c), criterion)
        for i, j in itertools.product(range(k), repeat=2):
            other = np.array(c)
            other[i] += 1
            if not added:
                other[j] -= 1
            if i != j and other.min() >= 0:
                worst = max(worst, float(np.ptp(utilities(alphas, other, criterion) - u)))
    bound = furthest(alphas, added=added, criterion=criterion)
    assert worst <= bound * (1 + 1e-12)
    assert worst > (0.5 if added or criterion == "dic" else 1 - 1e-9) * bound


@pytest.mark.parametrize(("a", "b"), [(1.0, 2.0), (0.01, 3.0), (50.0, 60.0), (1e-3, 900.0)])
def test_far_counts_are_within_the_bound_on_dic(a, b):
    """In 40 digits, beyond where they are listed; and DIC itself moves without any bound."""
    with mp.workdps(40):

        def g(s, c):
            return c * (2 * mp.digamma(s + c) - mp.log(s + c))

        last = 1000 + 100 * math.ceil(max(a, b))
        beyond = abs(a - b) * (max(a, b) + 4) / last**2
        for c in (last, 2 * last, 10 * last):
            far = (g(a, c + 1) - g(a, c)) - (g(b, c + 1) - g(b, c))
            assert abs(far) <= beyond
        first = g(a, 1) - g(b, 1)
    rise, fall = CRITERION["dic"].moves(a, b)
    assert max(rise, fall) >= abs(float(first)) * (1 - 1e-9)
    assert (fall, rise) == pytest.approx(CRITERION["dic"].moves(b, a), rel=1e-12)
    u = [utilities(np.array([[a, b]]), np.array([x, 10**n]), "dic") for n in (2, 6) for x in (0, 1)]
    assert abs(float((u[3] - u[2])[0])) > abs(float((u[1] - u[0])[0])) + 5


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("public", [True, False])
def test_the_exact_epsilon_of_a_choice(public, criterion):
    families = [Bernoulli(tuple(p)) for p in PRIORS[0]]
    release = bdp.synthesizers.select_family(
        families, [0, 1, 1, 0], epsilon=0.8, public_n=public, criterion=criterion
    )
    mechanism = release.mechanism
    assert release.guarantee.epsilon == 0.8
    worst = 0.0
    for x, n in itertools.product(range(8), range(8)):
        if x >= n:
            continue
        u = utilities(PRIORS[0], np.array([x, n - x]), criterion)
        here = mechanism.logp(np.arange(3), u)
        move = [x + 1, n - x - 1] if public else [x + 1, n - x]
        there = mechanism.logp(np.arange(3), utilities(PRIORS[0], np.array(move), criterion))
        worst = max(worst, np.abs(here - there).max())
    assert 0.2 < worst <= 0.8


def test_the_total_is_the_sum_and_a_likely_model_is_chosen(tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db")
    budget = ledger.create("survey", epsilon=10.0, neighbours="replace_one")
    families = [Categorical(2, (1.0, 300.0)), Categorical(2, (300.0, 1.0))]
    data = np.ones(2000, dtype=int)
    each = bdp.synthesizers.select_family(families, data, epsilon=6.0, copies=3, ledger=budget)
    assert each.outputs == (0, 0, 0)
    assert 5.99 < each.guarantee.epsilon <= 6.0
    for chosen in each.outputs:
        bdp.ModipsSynthesizer(families[chosen], epsilon=1.0, copies=1).release(data, ledger=budget)
    with pytest.raises(bdp.errors.BudgetExceeded):
        bdp.ModipsSynthesizer(families[0], epsilon=1.5, copies=1).release(data, ledger=budget)


@pytest.mark.parametrize(
    ("families", "more", "message"),
    [
        ([Bernoulli()], {}, "two or more"),
        ([Bernoulli(), Categorical(2)], {}, "two or more"),
        ([Categorical(3), Categorical(2)], {}, "with one k"),
        ([bdp.families.Gaussian((0, 1))] * 2, {}, "Bernoulli"),
        ([Bernoulli(), Bernoulli((1, 2))], {"criterion": "aic"}, "'log_marginal', 'dic'"),
        ([Bernoulli(), Bernoulli((1, 2e4))], {"criterion": "dic"}, "sums up to 10,000"),
        ([Bernoulli(), Bernoulli((1, 2))], {"epsilon": 0}, "epsilon is 0"),
        ([Bernoulli(), Bernoulli((1, 2))], {"copies": 0}, "copies is 0"),
        ([Bernoulli(), Bernoulli((1, 2e9))], {}, "a prior with a sum above"),
        ([Bernoulli(), Bernoulli((1, 2))], {"criterion": ["dic"]}, "criterion is a list"),
        ([Bernoulli(), Bernoulli((1, 2))], {"public_n": "no"}, "public_n is 'no'"),
        (Bernoulli(), {}, "families is a Bernoulli"),
        (None, {}, "families is None"),
    ],
)
def test_wrong_arguments_are_named(families, more, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.synthesizers.select_family(families, [0, 1], **{"epsilon": 1.0, **more})


def test_too_many_records_are_refused():
    with pytest.raises(bdp.errors.InvalidInput, match="more than 1048576 records"):
        bdp.synthesizers.select_family(
            [Bernoulli(), Bernoulli((1, 2))], bdp.Count(0, 2**21), epsilon=1.0
        )
