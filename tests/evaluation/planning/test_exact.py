"""The exact preposterior of a proportion, against enumeration through the mechanisms and models."""

import dataclasses
import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import special

import bayesdp as bdp
from bayesdp.core.outputs.counts import all_counts
from bayesdp.evaluation.planning import lengths as plan_lengths
from bayesdp.evaluation.planning.counts import Proportion, width_at
from bayesdp.evaluation.planning.laws import law_of_count, total_variation
from bayesdp.evaluation.planning.lengths import Lengths, lengths_of
from bayesdp.evaluation.planning.outlook import assured_length, known_advantage, outlook
from bayesdp.mechanisms.laws import beta_binomial_logpmf
from bayesdp.privacy.attacker import attacker

PRIOR = (1.3, 0.7)
N = 5


def beta_binomial(copies=1, n=N, epsilon=1.5):
    return bdp.mechanisms.BetaBinomialMechanism.calibrate(
        n=n, size=n, epsilon=epsilon, copies=copies
    )


def geometric(n=N, epsilon=1.5):
    return bdp.mechanisms.DiscreteLaplaceMechanism.calibrate(
        epsilon=epsilon, sensitivity=1, neighbours="replace_one", n=n
    )


def normal(n=N, epsilon=1.5, delta=1e-3):
    return bdp.mechanisms.DiscreteGaussianMechanism.calibrate(
        epsilon=epsilon, delta=delta, sensitivity=1, neighbours="replace_one", n=n
    )


def response(n=N, epsilon=1.5):
    return bdp.mechanisms.RandomizedResponseMechanism.calibrate(epsilon=epsilon, n=n)


def by_brute_force(mechanism, copies, level, design=PRIOR):
    """(chance, length) of every output, by the model's own posterior of a release."""
    counts, found = np.arange(N + 1), []
    believed = beta_binomial_logpmf(counts, N, *design)
    if mechanism.name == "randomized_response":
        model = bdp.MultinomialModel(prior=PRIOR[::-1])
        for answers in itertools.product((0, 1), repeat=N):
            chance = 0.0
            for records in itertools.product((0, 1), repeat=N):
                x = sum(records)
                law = float(mechanism.logp(np.array(answers), np.array(records)))
                chance += math.exp(believed[x] + law) / math.comb(N, x)
            release = bdp.Release.of(mechanism, outputs=[answers])
            low, high = model.posterior(release, 1).interval(level)
            found.append((chance, high - low))
        return np.array(found).T
    noisy = mechanism.name != "beta_binomial"
    model = bdp.BinomialModel(prior=PRIOR, weights={1.0: N} if noisy else None)
    outputs = range(-60, 66) if noisy else range(N + 1)
    for each in itertools.product(outputs, repeat=copies):
        statistic = counts if noisy else bdp.Count(counts, N)
        law = sum(mechanism.logp(np.array(z), statistic) for z in each)
        release = bdp.Release.of(mechanism, outputs=list(each))
        low, high = model.posterior(release).interval(level)
        found.append((float(np.exp(believed + law).sum()), high - low))
    return np.array(found).T


@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.parametrize(
    ("mechanism", "copies"),
    [(beta_binomial(), 1), (beta_binomial(2), 2), (geometric(), 1), (normal(), 1), (response(), 1)],
    ids=["beta_binomial", "two copies", "discrete_laplace", "discrete_gaussian", "response"],
)
def test_lengths_equal_enumeration(mechanism, copies, level):
    chances, lengths = by_brute_force(mechanism, copies, level)
    about = Proportion(N, PRIOR, PRIOR, level)
    found = lengths_of(about, law_of_count(mechanism, N), copies, draws=10, seed=1)
    assert found.exact
    assert found.lost < 1e-12
    assert abs(chances.sum() - 1) < 1e-12
    assert found.chances @ found.lengths == pytest.approx(chances @ lengths, rel=1e-6)
    assert found.chances @ found.lengths**2 == pytest.approx(chances @ lengths**2, rel=1e-6)
    longest = np.sort(lengths)[np.searchsorted(np.cumsum(chances[np.argsort(lengths)]), 0.9)]
    assert assured_length(found, 0.9)[0] == pytest.approx(longest, rel=1e-6)


@pytest.mark.parametrize("n", [1, 30, 300])
@pytest.mark.parametrize("prior", [(1, 1), (0.5, 0.5), (0.1, 3.0), (50, 2)])
def test_intervals_equal_the_mixtures_own(n, prior):
    """On the grid to 1e-6 of their length, which is what the module promises."""
    about = Proportion(n, prior, prior, 0.95)
    law = law_of_count(beta_binomial(n=n, epsilon=0.7), n)
    weights = special.softmax(law + about.belief, axis=1)[:: max(1, n // 6)]
    low, high = about.intervals(weights)
    x = np.arange(n + 1)
    for row, start, end in zip(weights, low, high, strict=True):
        mixture = bdp.models.BetaMixture(row, prior[0] + x, prior[1] + n - x)
        ends = mixture.interval(0.95)
        assert abs(start - ends[0]) < 1e-6 * (ends[1] - ends[0])
        assert abs(end - ends[1]) < 1e-6 * (ends[1] - ends[0])


def test_a_law_sums_to_one_whatever_is_added():
    for mechanism in (beta_binomial(n=40), geometric(40, 0.1), normal(40, 0.2), response(40)):
        law = law_of_count(mechanism, 40)
        np.testing.assert_allclose(np.exp(law).sum(axis=0), 1, atol=1e-11)


def test_a_mechanism_is_known_by_its_view_of_a_count():
    """A conjugate draw's records have the beta-binomial mechanism's law, under another name."""
    other = bdp.mechanisms.ConjugateMechanism("bernoulli", "synthetic_one", 30, (4, 6), size=20)
    made = bdp.mechanisms.BetaBinomialMechanism(30, 20, (4.0, 6.0))
    np.testing.assert_array_equal(law_of_count(other, 30), law_of_count(made, 30))
    advantages = [known_advantage(other, copies) for copies in (1, 3)]
    true = total_variation(law_of_count(made, 30))
    assert true <= advantages[0] <= true + 1e-9
    assert advantages[1] == pytest.approx(1 - (1 - true) ** 3, abs=1e-9)
    assert true <= known_advantage(made, 1) < 1  # of its epsilon


@pytest.mark.parametrize("copies", [1, 2])
def test_a_table_s_advantage_against_all_outputs(copies):
    """From its profile, against the largest total variation over all neighbours and outputs."""
    made = bdp.mechanisms.DirichletMultinomialMechanism(4, 3, 3, (1.5, 2.0, 0.7))
    tables = all_counts(4, 3)
    laws = np.exp([made.logp(made.outputs(), x) for x in tables])
    apart = [
        np.abs(np.multiply.outer(p, p) - np.multiply.outer(q, q)).sum() / 2
        if copies == 2
        else np.abs(p - q).sum() / 2
        for (x, p), (y, q) in itertools.combinations(zip(tables, laws, strict=True), 2)
        if np.abs(x - y).sum() == 2
    ]
    found = known_advantage(made, copies)
    assert max(apart) <= found
    if copies == 1:
        assert found == pytest.approx(max(apart), abs=1e-8)


def test_what_has_no_such_law_has_no_table():
    assert law_of_count(bdp.mechanisms.LaplaceMechanism(scale=2.0, sensitivity=1.0), 10) is None
    bounded = bdp.mechanisms.DiscreteLaplaceMechanism(2.0, bounds=(0, 10), bounding="inflated")
    assert law_of_count(bounded, 10) is None
    assert law_of_count(bdp.mechanisms.RandomizedResponseMechanism.kary(1.0, 3, n=10), 10) is None
    assert law_of_count(bdp.mechanisms.DiscreteLaplaceMechanism(1e8), 10) is None
    assert law_of_count(object(), 10) is None


def test_drawn_outputs_agree_with_all_of_them(monkeypatch):
    """Within 5.3 standard errors: a false alarm of 1e-7 for each of the two numbers."""
    about = Proportion(60, PRIOR, PRIOR, 0.95)
    law = law_of_count(beta_binomial(2, n=60), 60)
    every = lengths_of(about, law, 2, 0, 1)
    monkeypatch.setattr(plan_lengths, "MOST_ROWS", 10)
    drawn = lengths_of(about, law, 2, 4000, 1)
    assert (every.exact, drawn.exact) == (True, False)
    error = drawn.lengths.std() / math.sqrt(4000)
    assert abs(drawn.lengths.mean() - every.chances @ every.lengths) < 5.3 * error
    low, high = assured_length(drawn, 0.9)
    assert low < high
    share = every.chances[every.lengths <= low].sum()
    assert abs(share - 0.9) < 5.3 * math.sqrt(0.09 / 4000) + every.chances.max()


@pytest.mark.parametrize("design", [(20.0, 60.0), 0.15])
def test_coverage_where_data_come_from_elsewhere(design):
    """By 400,000 draws of p, count and output: 5.3 standard errors."""
    n, law = 50, law_of_count(geometric(50, 0.5), 50)
    about = Proportion(n, PRIOR, design, 0.9)
    found = lengths_of(about, law, 1, 0, 1)
    rng, draws = np.random.default_rng(7), 400_000
    p = rng.beta(*design, draws) if isinstance(design, tuple) else np.full(draws, design)
    x = rng.binomial(n, p)
    share = math.exp(-0.5)
    z = x + rng.geometric(1 - share, draws) - rng.geometric(1 - share, draws)
    outputs, which = np.unique(z, return_inverse=True)
    mechanism = geometric(50, 0.5)
    weights = special.softmax(
        mechanism.logp(outputs[:, None], np.arange(n + 1)) + about.belief, axis=1
    )
    low, high = about.intervals(weights)
    covered = (low[which] <= p) & (p <= high[which])
    error = math.sqrt(covered.mean() * (1 - covered.mean()) / draws)
    assert abs(found.chances @ found.covered - covered.mean()) < 5.3 * error
    lengths = (high - low)[which]
    assert abs(found.chances @ found.lengths - lengths.mean()) < 5.3 * lengths.std() / draws**0.5


def test_lengths_without_privacy_of_any_n():
    about = Proportion(400, (1, 1), (2.0, 5.0), 0.95)
    exact, near = width_at(20_000, about), width_at(20_001, about)
    assert exact[0] @ exact[1] == pytest.approx(near[0] @ near[1], rel=2e-3)
    fixed = width_at(50_000, Proportion(400, (1, 1), 0.5, 0.95))
    assert fixed[0] @ fixed[1] == pytest.approx(2 * 1.95996 * 0.5 / math.sqrt(50_000), rel=1e-3)


# What an attacker learns, against the laws of neighbours listed in full.


def test_odds_of_a_pure_release_are_attained_and_not_exceeded():
    mechanism = beta_binomial(epsilon=1.0)
    law = law_of_count(mechanism, N)
    ratios = np.abs(np.diff(law, axis=1)).max()
    gain = attacker(mechanism.guarantee(), 0.2, total_variation(law))
    assert math.exp(ratios) == pytest.approx(gain.odds, rel=1e-9)
    assert gain.failure == 0
    assert gain.posterior == pytest.approx(0.2 * math.e / (0.8 + 0.2 * math.e))
    chances = np.exp(law)
    apart = [0.5 * np.abs(chances[:, x + 1] - chances[:, x]).sum() for x in range(N)]
    assert gain.advantage == pytest.approx(max(apart))


def test_copies_tell_more_than_one_and_no_more_than_their_bound():
    mechanism = beta_binomial(2, epsilon=1.0)
    law = law_of_count(mechanism, N)
    both = (law[:, None, :] + law[None, :, :]).reshape(-1, N + 1)
    true = total_variation(both)
    assert total_variation(law) < true <= 1 - (1 - total_variation(law)) ** 2


def test_answers_tell_more_than_their_number():
    """Of randomized response all answers leave, so counting them would hide what is learned."""
    n, mechanism = 3, response(3, 1.0)
    law = law_of_count(mechanism, n)
    answers = np.array(list(itertools.product((0, 1), repeat=n)))
    one = np.exp(mechanism.logp(answers, np.array([0, 0, 0])))
    other = np.exp(mechanism.logp(answers, np.array([0, 0, 1])))
    true = 0.5 * np.abs(one - other).sum()
    plan = bdp.plan(
        bdp.BinomialModel(PRIOR), n, target=2.0, mechanisms="randomized_response", epsilon=(1, 2)
    )
    assert total_variation(law) < true
    assert plan.chosen["advantage"] == pytest.approx(true, rel=1e-6)


def test_odds_under_delta_fail_as_rarely_as_said():
    epsilon, delta = 0.8, 1e-3
    mechanism = normal(epsilon=epsilon, delta=delta)
    promise = mechanism.guarantee(delta=delta)
    gain = attacker(promise, 0.5)
    law = law_of_count(mechanism, N)
    chances = np.exp(law)
    for one, other in ((0, 1), (1, 0)):
        high = law[:, one] - law[:, other] > math.log(gain.odds)
        assert chances[high, one].sum() <= gain.failure
        assert 0.5 * np.abs(chances[:, one] - chances[:, other]).sum() <= gain.advantage
    assert gain.odds == pytest.approx(2 * math.exp(promise.epsilon))
    assert gain.failure == 2 * delta
    assert 0.5 < gain.posterior < 1


def test_the_bound_of_the_advantage_is_attained_by_randomized_response():
    mechanism = response(1, 2.0)
    gain = attacker(mechanism.guarantee(), 0.5)
    assert gain.advantage == pytest.approx(math.tanh(1.0))
    assert gain.advantage == pytest.approx(mechanism.delta(0.0), rel=1e-6)
    assert attacker(response(1, 800.0).guarantee(), 0.5).posterior == 1


def test_simulated_lengths_are_judged_on_the_safe_side():
    guarantee = beta_binomial().guarantee()
    lengths = np.random.default_rng(1).gamma(5, 0.02, 400)
    drawn = Lengths(np.full(400, 1 / 400), lengths, np.ones(400), 0.0, exact=False)
    mean = outlook(drawn, guarantee, None, 1.0)
    assert mean.safe == pytest.approx(lengths.mean() + 2 * lengths.std(ddof=1) / 20)
    assert 0 < mean.coverage_se < 0.01  # though all of them covered
    share = outlook(drawn, guarantee, 0.9, 1.0)
    assert share.assured < share.safe < lengths.max()
    assert outlook(drawn, guarantee, 0.999, 1.0).safe == math.inf


@pytest.mark.parametrize(
    ("relation", "about"),
    [("replace_one", "about a record"), ("add_remove", "that a record is there")],
)
def test_odds_are_about_what_the_promise_is_about_and_rounded_up(relation, about):
    """Two values of a record are two steps apart under add/remove-one: odds grow by the square."""
    plan = bdp.plan(bdp.BinomialModel((1, 1)), 50, target=0.9, mechanisms="discrete_laplace")
    row = plan.chosen.to_dict() | {"neighbours": relation, "odds": math.exp(1.5)}
    said = dataclasses.replace(plan, table=pd.DataFrame([row])).why()
    assert f"an attacker's odds {about} grow by a factor of at most 4.49" in said
