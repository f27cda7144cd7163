"""Worse pairs than the declared ones are found; draws are counted in blocks, and rightly."""

import dataclasses
import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.privacy import audit_draws
from bayesdp.privacy.audit_search import _moved, pair_epsilon, search_pair


class Hiding(bdp.mechanisms.BetaBinomialMechanism):
    """Declares the middle pair alone, where replacing a record costs least, and claims that."""

    def pairs(self):
        middle = self.n // 2
        return [(bdp.Count(middle, self.n), bdp.Count(middle + 1, self.n))]

    def guarantee(self, **options):
        cost = pair_epsilon(self, self.pairs()[0], 0.0, np.arange(self.size + 1))
        return dataclasses.replace(super().guarantee(**options), epsilon=cost * (1 + 1e-12))


class Unlisted(Hiding):
    def outputs(self):
        return None


@pytest.mark.parametrize("made", [Hiding, Unlisted])
def test_a_hidden_worst_pair_is_found_and_convicts(made):
    mechanism = made(100, 1, (0.5, 0.5))
    with bdp.reproducible(1):
        assert not bdp.audit(mechanism, trials=200_000).convicted
        found = bdp.audit(mechanism, trials=200_000, search=100)
    assert found.convicted
    assert found.epsilon_lower > 0.6 > 10 * found.claim.epsilon
    assert found.pairs == 2
    assert "100 others looked at" in str(found)
    assert {count.successes for count in found.pair} in ({0, 1}, {99, 100})
    if made is Hiding:
        assert found.epsilon_exact == pytest.approx(math.log(3))
    else:
        assert found.epsilon_exact is None


def test_a_hidden_row_of_a_response_convicts():
    class Hidden(bdp.mechanisms.RandomizedResponseMechanism):
        def pairs(self):
            return super().pairs()[:1]

        def guarantee(self, **options):
            return dataclasses.replace(super().guarantee(**options), epsilon=0.5)

    mechanism = Hidden(((5, 4, 1), (4, 5, 1), (1, 1, 8)), n=2)
    with bdp.reproducible(1):
        assert not bdp.audit(mechanism, trials=50_000).convicted
        found = bdp.audit(mechanism, trials=50_000, search=40)
    assert found.convicted
    assert found.epsilon_exact == pytest.approx(math.log(8))
    assert found.epsilon_lower > 1.9


def test_a_sensitivity_understated_in_the_declared_pair_alone_convicts():
    """Half the noise that's needed, and utilities all equal, where the loss is less."""

    class Hidden(bdp.mechanisms.PermuteAndFlipMechanism):
        def pairs(self):
            return [(np.zeros(self.k), np.zeros(self.k))]

        def guarantee(self, **options):
            return dataclasses.replace(super().guarantee(**options), epsilon=0.8)

    found = search_pair(Hidden(1.0, 1, 3), Hidden(1.0, 1, 3).pairs(), 0.0, 200)
    assert found is not None
    assert pair_epsilon(Hidden(1.0, 1, 3), found, 0.0, np.arange(3)) > 0.9
    with bdp.reproducible(2):
        assert bdp.audit(Hidden(1.0, 1, 3), trials=100_000, search=200).convicted


@pytest.mark.parametrize(
    ("mechanism", "delta"),
    [
        (bdp.mechanisms.BetaBinomialMechanism(40, 7, (2.0, 3.0)), 0.0),
        (bdp.mechanisms.BetaBinomialMechanism(None, 7, (2.0, 3.0)), 0.0),
        (bdp.mechanisms.ExponentialMechanism(1.0, 0.3, 4), 0.0),
        (bdp.mechanisms.ExponentialMechanism(1.0, 0.3, 4, monotone=True), 0.0),
        (bdp.mechanisms.PermuteAndFlipMechanism(1.0, 3, 4), 0.0),
        (bdp.mechanisms.PermuteAndFlipMechanism(1.0, 3, 4, monotone=True), 0.0),
        (bdp.mechanisms.RandomizedResponseMechanism(((5, 4, 1), (4, 5, 1), (1, 1, 8)), n=2), 0.0),
        (bdp.mechanisms.RandomizedResponseMechanism(((5, 4, 0), (4, 5, 1), (1, 1, 1)), n=2), 0.4),
    ],
)
def test_a_search_finds_nothing_worse_than_what_our_mechanisms_declare(mechanism, delta):
    assert search_pair(mechanism, list(mechanism.pairs()), delta, 300) is None
    with bdp.reproducible(1):
        found = bdp.audit(mechanism, trials=5000, delta=delta, search=100)
    assert not found.convicted
    assert found.pairs == len(mechanism.pairs())


def test_whole_numbers_are_moved_alike():
    rng = np.random.default_rng(0)
    for pair in ((3, 4), (np.array([3, 4]), np.array([3, 6])), ((1, 2), (1, 3))):
        one, other = _moved(pair, rng)
        assert np.array_equal(np.subtract(other, one), np.subtract(pair[1], pair[0]))
        assert np.count_nonzero(np.subtract(one, pair[0])) == 1
    assert isinstance(_moved((3, 4), rng)[0], int)
    assert (pair[0], pair[1]) == ((1, 2), (1, 3))


@dataclass(frozen=True)
class Noisy:
    """A float with Laplace noise: no outputs to list, no steps to take."""

    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(7))

    def guarantee(self):
        return bdp.mechanisms.BetaBinomialMechanism(1, 1, (1.0, 1.0)).guarantee()

    def pairs(self):
        return [(0.0, math.log(2))]

    def outputs(self):
        return None

    def release(self, statistic, copies=1):
        return statistic + self.rng.laplace(size=copies)

    def logp(self, output, statistic):
        return stats.laplace.logpdf(output, statistic)


def test_a_search_that_has_no_steps_is_refused():
    with pytest.raises(
        bdp.errors.InvalidInput, match="search needs a mechanism with a method nearby"
    ):
        bdp.audit(Noisy(), trials=1000, search=5)
    for wrong in (-1, 2.0, True):
        with pytest.raises(bdp.errors.InvalidInput, match="search is"):
            bdp.audit(Noisy(), trials=1000, search=wrong)


@pytest.mark.parametrize(
    "draws",
    [
        np.array([3, 1, 3, -128, 127], dtype=np.int8),
        np.array([5, 5, 5]),
        np.array([2**62, -(2**62), 0, 0]),
        np.array([2**64 - 1, 1, 1], dtype=np.uint64),
        np.array([[0, 1], [1, 0], [0, 1]], dtype=np.int8),
        np.array([[-3, 10**6], [2, -(10**6)], [2, 5]]),
        np.array([0.5, 0.5, 0.25]),
        np.zeros((4, 40), dtype=np.int8),
        np.zeros(0, dtype=np.int64),
    ],
)
def test_outputs_are_counted(draws):
    distinct, times = audit_draws.distinct(draws)
    back = np.repeat(distinct, np.broadcast_to(times, len(distinct)), axis=0)
    assert back.shape == draws.shape
    values, counts = np.unique(back, axis=0, return_counts=True)
    true_values, true_counts = np.unique(draws, axis=0, return_counts=True)
    assert np.array_equal(values, true_values)
    assert np.array_equal(counts, true_counts)


def test_tails_are_counted_with_ties_infinities_and_impossible_outputs():
    class Fixed:
        def logp(self, output, statistic):
            return np.where(output == 9, -np.inf, np.where(output == 8, -np.inf * statistic, 0.0)
                            if statistic else output * 1.0)  # fmt: skip

    draws = np.array([0, 1, 1, 2, 8, 9, 9])
    outputs, times = audit_draws.distinct(draws)
    sample = audit_draws._sample(
        lambda z: audit_draws.log_ratios(Fixed(), z, (0, 1)), outputs, times
    )
    assert sample[0].tolist() == [0, 1, 2, np.inf]
    assert sample[1].tolist() == [0, 1, 3, 4, 5]
    at_least, at_most = audit_draws._tails(sample, np.array([-np.inf, 1, 1.5, np.inf]))
    assert at_least.tolist() == [5, 4, 2, 1]
    assert at_most.tolist() == [0, 3, 3, 5]
    assert set(audit_draws._candidates(sample).tolist()) == {0, 1, 2, np.inf}


def test_blocks_change_nothing_but_memory(monkeypatch):
    """The bound is the same up to the choice of candidates, and every draw is used once."""
    mechanism = bdp.mechanisms.BetaBinomialMechanism(10, 4, (1.0, 1.0))
    pair = mechanism.pairs()[0]
    with bdp.reproducible(3):
        whole = audit_draws.bounds_from_draws(mechanism, pair, 30_001, 0.0, 1e-6)
    monkeypatch.setattr(audit_draws, "_BLOCK", 997)
    sizes = {True: 0, False: 0}
    for tuning, draws in audit_draws._blocks(mechanism, pair, 30_001):
        sizes[tuning] += len(draws[0])
        assert len(draws[0]) == len(draws[1])
    assert sizes == {True: 15_000, False: 15_001}
    with bdp.reproducible(3):
        blocks = audit_draws.bounds_from_draws(mechanism, pair, 30_001, 0.0, 1e-6)
    assert blocks == pytest.approx(whole, abs=0.15)
    assert max(blocks) <= mechanism.epsilon()


def test_draws_that_the_law_calls_impossible_are_counted():
    class Wrong(Noisy):
        def logp(self, output, statistic):
            return np.full(np.shape(output), -np.inf)

    found = bdp.audit(Wrong(), trials=1000)
    assert found.impossible == 2 * found.pairs * 1000
    assert "2,000 draws that the law calls impossible" in str(found)


def test_impossible_draws_count_as_often_as_they_were_drawn():
    class Wrong(bdp.mechanisms.BetaBinomialMechanism):
        def logp(self, output, statistic):
            return np.where(np.asarray(output) >= 2, -np.inf, super().logp(output, statistic))

    law = Wrong(5, 5, (3, 3))
    with bdp.reproducible(2):
        found = bdp.audit(law, trials=1000)
    beyond = [sum(stats.betabinom.pmf(range(2, 6), 5, 3 + c.successes, 8 - c.successes))
              for pair in law.pairs() for c in pair]  # fmt: skip
    assert found.impossible == pytest.approx(1000 * sum(beyond), rel=0.1)


def test_draws_of_a_sampler_that_follows_its_law_are_all_possible():
    found = bdp.audit(bdp.mechanisms.BetaBinomialMechanism(5, 5, (3, 3)), trials=1000)
    assert found.impossible == 0
    assert "impossible" not in str(found)
