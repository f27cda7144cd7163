"""The audit convicts wrong claims, among them printed ones, and acquits right ones."""

import dataclasses
import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.mechanisms.counts.count import Count
from bayesdp.privacy.audit_draws import log_ratio_bound
from bayesdp.privacy.audit_law import departure, draws_of, pair_departure, repeats
from bayesdp.privacy.audit_search import exact_epsilon


def claim(epsilon: float, delta: float = 0.0) -> bdp.Guarantee:
    return bdp.Guarantee(
        epsilon, delta, bdp.Neighbours.REPLACE_ONE, bdp.Strength.AS_PUBLISHED, (), "a test"
    )


@dataclass(frozen=True)
class NoisyNumber:
    """A number plus noise of `law`, with a claim to be tested. Statistics are floats."""

    law: object
    shift: float
    promise: bdp.Guarantee
    lattice: float = 2.0**-20  # outputs are rounded to it; 0 leaves floating point's own bits
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(11))

    def guarantee(self):
        return self.promise

    def pairs(self):
        return [(0.0, self.shift)]

    def outputs(self):
        return None

    def release(self, statistic, copies=1):
        z = statistic + self.law.rvs(copies, random_state=self.rng)
        return np.round(z / self.lattice) * self.lattice if self.lattice else z

    def logp(self, output, statistic):
        return self.law.logpdf(np.asarray(output) - statistic)


def test_a_laplace_with_half_the_noise_is_convicted():
    """Sensitivity 1 and epsilon 1 need scale 1; half of it costs 2."""
    wrong = bdp.audit(NoisyNumber(stats.laplace(scale=0.5), 1.0, claim(1.0)), trials=200_000)
    assert wrong.convicted
    assert 1.8 < wrong.epsilon_lower < 2.0
    assert "CONVICTED" in str(wrong)
    right = bdp.audit(NoisyNumber(stats.laplace(scale=1.0), 1.0, claim(1.0)), trials=200_000)
    assert not right.convicted
    assert 0.9 < right.epsilon_lower <= 1.0


def test_floating_point_noise_leaks_through_its_last_bits():
    """Mironov (2012): 0 + noise and 1 + noise land on different floating-point numbers."""
    law = stats.laplace(scale=0.5)
    found = bdp.audit(NoisyNumber(law, 1.0, claim(2.0), lattice=0.0), trials=200_000)
    assert found.convicted


def thesis_7_8(sensitivity_of_record: float) -> NoisyNumber:
    """The posterior mean's draw of Zheng's Theorem 7.8, n = 100, epsilon = 1, delta = 1e-5.

    R / sigma = epsilon sqrt(n) / sqrt(2 ln(1 / delta)), and the mean of n records moves by
    R / n in the thesis; by 2 R / n in truth. The draw's sd is sigma / sqrt(n).
    """
    n, epsilon, delta = 100, 1.0, 1e-5
    ratio = epsilon * math.sqrt(n) / math.sqrt(2 * math.log(1 / delta))
    shift = sensitivity_of_record * ratio / math.sqrt(n)  # in units of the draw's sd
    return NoisyNumber(stats.norm(), shift, claim(epsilon, delta))


def gaussian_delta(shift: float, epsilon: float) -> float:
    upper = stats.norm.cdf(shift / 2 - epsilon / shift)
    return float(upper - math.exp(epsilon) * stats.norm.cdf(-shift / 2 - epsilon / shift))


@pytest.mark.slow
def test_the_thesis_bound_for_the_gaussian_is_convicted():
    truth = thesis_7_8(2.0)
    assert gaussian_delta(truth.shift, 1.0) == pytest.approx(1.84e-3, rel=5e-3)
    assert bdp.audit(truth, trials=2_000_000).convicted
    assert not bdp.audit(thesis_7_8(1.0), trials=500_000).convicted


@dataclass(frozen=True)
class HistogramOfPosteriorDraws:
    """Counts of posterior draws in B bins, each with Laplace noise of scale N / epsilon.

    Liu's SPHC with the whole epsilon spent in every bin, where each bin's count may change
    by N: the neighbours' draws fall in disjoint halves of the bins.
    """

    bins: int
    draws: int
    epsilon: float
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(5))

    def guarantee(self):
        return claim(self.epsilon)

    def pairs(self):
        half = self.bins // 2
        spread = self.draws / half
        one = np.repeat([spread, 0.0], half)
        return [(tuple(one), tuple(one[::-1]))]

    def outputs(self):
        return None

    @property
    def scale(self) -> float:
        # A bin's count moves by draws / (bins / 2) here, so that one bin alone keeps epsilon.
        return self.draws / (self.bins // 2) / self.epsilon

    def release(self, statistic, copies=1):
        return self.rng.laplace(statistic, self.scale, size=(copies, self.bins))

    def logp(self, output, statistic):
        return stats.laplace.logpdf(output, statistic, self.scale).sum(axis=-1)


def test_a_whole_epsilon_in_every_bin_is_convicted():
    """Parallel composition doesn't apply: every bin depends on all records."""
    found = bdp.audit(HistogramOfPosteriorDraws(bins=10, draws=1000, epsilon=0.5), trials=200_000)
    assert found.convicted
    assert found.epsilon_lower > 2 * found.claim.epsilon


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [
        bdp.mechanisms.BetaBinomialMechanism.calibrate(n=20, size=5, epsilon=1.0),
        bdp.mechanisms.BetaBinomialMechanism.calibrate(n=None, size=3, epsilon=0.3),
        bdp.mechanisms.BetaBinomialMechanism(n=50, size=50, prior=(2.0, 30.0)),
        bdp.mechanisms.BetaBinomialMechanism(n=1, size=1, prior=(0.1, 0.2)),
    ],
)
def test_our_mechanisms_are_acquitted_and_their_law_is_tight(mechanism):
    with bdp.reproducible(1):
        found = bdp.audit(mechanism, trials=50_000)
    assert not found.convicted
    assert found.epsilon_exact == pytest.approx(mechanism.epsilon(), rel=1e-10)
    assert found.epsilon_lower <= found.claim.epsilon


def test_pairs_are_counted_in_words():
    audited = bdp.audit(bdp.mechanisms.DiscreteLaplaceMechanism(1.0, 1), trials=1000)
    assert audited.pairs == 1
    assert "; 1 pair of neighbours, 1,000 draws each" in str(audited)


def test_a_mechanism_that_claims_too_much_is_convicted_by_its_law_and_by_its_draws():
    class Boastful(bdp.mechanisms.BetaBinomialMechanism):
        def guarantee(self, **options):
            return dataclasses.replace(super().guarantee(**options), epsilon=0.5)

    with bdp.reproducible(1):
        found = bdp.audit(Boastful(10, 2, (1.0, 1.0)), trials=100_000)
    assert found.convicted
    assert found.epsilon_lower > 0.5
    assert found.epsilon_exact == pytest.approx(math.log(3))


def test_a_sampler_that_departs_from_its_law_is_convicted():
    """The law keeps the promise; the code that draws doesn't."""

    class Leaky(bdp.mechanisms.BetaBinomialMechanism):
        def release(self, statistic, copies=1):
            return np.full(copies, min(int(statistic.successes), self.size))

    found = bdp.audit(Leaky(10, 2, (1.0, 1.0)), trials=10_000)
    assert found.epsilon_exact == pytest.approx(found.claim.epsilon, rel=1e-10)
    assert found.convicted
    assert found.epsilon_lower > found.claim.epsilon


@pytest.mark.parametrize("law", [lambda z: np.full(np.shape(z), -2.0), lambda z: 0.0 * z])
def test_a_law_that_the_draws_do_not_follow_acquits_nothing(law):
    """The same under all neighbours, its ratios show no event that tells two of them apart."""

    class Vague(bdp.mechanisms.BetaBinomialMechanism):
        def logp(self, output, statistic):
            return law(output)

    with bdp.reproducible(1):
        found = bdp.audit(Vague(10, 2, (1.0, 1.0)), trials=20_000)
        honest = bdp.audit(bdp.mechanisms.BetaBinomialMechanism(10, 2, (1.0, 1.0)), trials=20_000)
    assert (found.convicted, found.impossible) == (False, 0)
    assert found.departures > 0
    assert "no violation found, BUT THE DRAWS AREN'T OF THE LAW by which it was" in str(found)
    assert honest.departures == 0
    assert "LAW" not in str(honest)


class Noise:
    """Laplace noise of scale 1 on a number that a record moves by 1: floats, not to be counted."""

    move, spread = 1.0, 1.0  # of what is drawn, in units of the law's

    def __init__(self):
        self.generator = np.random.default_rng(1)

    def guarantee(self):
        return bdp.mechanisms.DiscreteLaplaceMechanism(1.0).guarantee()

    def pairs(self):
        return [(0.0, 1.0)]

    def outputs(self):
        return None

    def release(self, statistic, copies=1):
        noise = self.generator.laplace(scale=self.spread, size=copies)
        noise = np.rint(noise * 2**20) / 2**20  # or its last digits show the statistic
        return self.shown(self.move * statistic + noise)

    def shown(self, number):
        return number

    def logp(self, output, statistic):
        return -np.abs(self.read(output) - statistic) - math.log(2)

    def read(self, output):
        return output


class Leak(Noise):
    """Its law is the same under both neighbours."""

    spread = 0.01

    def read(self, output):
        return np.full(output.shape, 0.5)


class Backwards(Noise):
    """A record moves it three times as far as by the law, the other way."""

    move = -3.0


class LeakOfAVector(Leak):
    """The number that leaks is one among several."""

    def shown(self, number):
        beside = self.generator.standard_normal((len(number), 5))
        return np.concatenate([beside, number[:, None]], axis=1)

    def read(self, output):
        return np.full(len(output), 0.5)


@pytest.mark.parametrize("made", [Leak, Backwards, LeakOfAVector])
def test_a_leak_that_a_wrong_law_hides_convicts(made):
    """Real numbers can't be counted; events of the numbers themselves owe nothing to the law."""
    found = bdp.audit(made(), trials=20_000)
    assert found.convicted
    assert found.epsilon_lower > 2


def test_the_last_digits_of_a_law_convict_nobody():
    """They may depend on what else it is computed for, and so on whose draw an output is."""

    class Rounded(Noise):
        def logp(self, output, statistic):
            return super().logp(output, statistic) * (1 + 1e-15 * (np.argmax(output) % 3))

        def shown(self, number):
            return np.clip(number, 0.0, 1.0)

        def read(self, output):
            return np.where(output <= 0, -10.0, np.where(output >= 1, 10.0, output))

    found = bdp.audit(Rounded(), trials=100_000)
    assert (found.convicted, found.departures) == (False, 0)


@pytest.mark.parametrize("scale", [0.4, 2.5])
def test_real_numbers_that_do_not_follow_their_law_are_said(scale):
    """By how often two neighbours give them, which shows noise wider than by the law, too."""

    class Wrong(Noise):
        spread = scale

    found, honest = (bdp.audit(made(), trials=100_000) for made in (Wrong, Noise))
    assert found.departures > 0
    assert found.convicted is (scale < 1)
    assert (honest.convicted, honest.departures) == (False, 0)


def test_real_numbers_that_are_impossible_by_their_law_acquit_nothing():
    """As noise beside the lattice that the law is on: of real numbers nothing was said."""

    class BesideTheLattice(bdp.mechanisms.LaplaceMechanism):
        def release(self, statistic, copies=1):
            return super().release(statistic, copies) + 2.0**-30

    found = bdp.audit(BesideTheLattice(1.0, 1.0), trials=1000)
    assert (found.convicted, found.departures, found.follows_law) == (False, 0, False)
    assert "BUT THE DRAWS AREN'T OF THE LAW" in str(found)


def test_gaussian_noise_a_fifth_too_small_is_said_at_the_command_line_s_number_of_draws():
    class Small(bdp.mechanisms.GaussianMechanism):
        def release(self, statistic, copies=1):
            made = bdp.mechanisms.GaussianMechanism(0.8 * self.scale, self.sensitivity)
            return made.release(statistic, copies)

    with bdp.reproducible(4):
        found = bdp.audit(Small(2.0, 1.0), trials=100_000, delta=1e-5)
    assert not found.follows_law


@pytest.mark.parametrize("mechanism", [bdp.mechanisms.DiscreteLaplaceMechanism,
                                       bdp.mechanisms.LaplaceMechanism])  # fmt: skip
def test_a_seed_that_is_used_again_is_convicted(mechanism):
    """Each call's draws are of the law, and independent of one another."""

    class Seeded(mechanism):
        def release(self, statistic, copies=1):
            with bdp.reproducible(7):
                return super().release(statistic, copies)

    found = bdp.audit(Seeded(2.0, 1.0), trials=20_000)
    assert (found.convicted, found.repeats, found.follows_law) == (True, 2 * found.pairs, True)
    assert "CONVICTED: the claim is false, AS THE DRAWS REPEAT" in str(found)
    with bdp.reproducible(7):
        honest = bdp.audit(mechanism(2.0, 1.0), trials=20_000)
    assert (honest.convicted, honest.repeats) == (False, 0)


def test_draws_that_leave_no_choice_do_not_repeat():
    """Of a mechanism that shows nothing at all, or hardly ever anything else."""
    mechanism = bdp.mechanisms.DiscreteLaplaceMechanism(0.02)
    assert mechanism.release(0, 3).tolist() == [0, 0, 0]
    assert not repeats(mechanism, 0, 1e-6)


def test_neighbours_depart_from_their_log_ratio_as_seldom_as_stated():
    """Of few draws of real noise that follow it, at a level that chance reaches now and then."""
    mechanism = bdp.mechanisms.LaplaceMechanism(1.0, 1.0)
    pair = (0.0, 1.0)
    with bdp.reproducible(2):
        drawn = [draws_of(mechanism, pair, 1000) for _ in range(400)]
    runs = [pair_departure(mechanism, pair, draws, 0.05) > 0 for draws in drawn]
    assert np.sum(runs) <= 400 * 0.1


def test_draws_of_a_law_depart_from_it_as_seldom_as_stated():
    """Of many releases of few draws, at a level that chance reaches now and then."""
    mechanism, statistic = bdp.mechanisms.DiscreteLaplaceMechanism(2.0), 0
    with bdp.reproducible(2):
        drawn = [mechanism.release(statistic, 1000) for _ in range(400)]
    runs = [departure(mechanism, statistic, draws, 0.05).outputs > 0 for draws in drawn]
    assert 0 < np.sum(runs) <= 400 * 0.1


def test_a_law_that_is_no_number_is_refused():
    class Nameless(bdp.mechanisms.BetaBinomialMechanism):
        def logp(self, output, statistic):
            return np.full(np.shape(output), np.nan)

    with pytest.raises(bdp.errors.InvalidInput, match=r"logp is NaN for [1-3] of [1-3] outputs"):
        bdp.audit(Nameless(10, 2, (1.0, 1.0)), trials=1000)


def test_bounds_hold_with_the_stated_probability():
    """Clopper-Pearson against brute force: never above the truth at a level of 1e-3."""
    rng = np.random.default_rng(0)
    p, q, n, delta = 0.3, 0.1, 200, 0.01
    bounds = log_ratio_bound(rng.binomial(n, p, 20_000), rng.binomial(n, q, 20_000), n, delta, 1e-3)
    violated = np.mean(bounds > math.log((p - delta) / q))
    assert violated < 2e-3
    assert np.isneginf(log_ratio_bound(0, 0, 50, 0.0, 0.01))
    assert log_ratio_bound(50, 50, 50, 0.0, 0.01) < 0


def test_exact_epsilon_with_delta_is_the_smallest():
    rng = np.random.default_rng(3)
    for _ in range(50):
        p, q = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(6))
        delta = float(rng.uniform(0, 0.3))
        epsilon = exact_epsilon(np.log(p), np.log(q), delta)
        assert np.maximum(p - math.exp(epsilon) * q, 0).sum() <= delta + 1e-12
        if epsilon > 0:
            assert np.maximum(p - math.exp(epsilon - 1e-6) * q, 0).sum() > delta


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trials": 10}, "trials is 10"),
        ({"trials": 1e6}, "trials is 1000000.0"),
        ({"alpha": 0}, "alpha is 0"),
        ({"alpha": 1}, "alpha is 1"),
        ({"pairs": []}, "pairs is empty"),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.audit(bdp.mechanisms.BetaBinomialMechanism(10, 2, (1.0, 1.0)), **options)


# What an audit could have found.


@dataclass(frozen=True)
class Leaking:
    """A beta-binomial mechanism that shows its last output with probability `leak` to one side."""

    made: bdp.mechanisms.BetaBinomialMechanism
    leak: float
    seed: int

    def __getattr__(self, name):
        return getattr(self.made, name)

    def guarantee(self):
        return self.made.guarantee()

    def pairs(self):
        return [(Count(1, 30), Count(0, 30))]

    def release(self, statistic, copies=1):
        rng = np.random.default_rng((self.seed, statistic.successes, copies))
        a, b = self.made.prior
        x = statistic.successes
        z = rng.binomial(self.made.size, rng.beta(a + x, b + 30 - x, copies))
        return np.where(rng.random(copies) < self.leak * x, self.made.size, z)


@pytest.mark.slow
@pytest.mark.parametrize(("times", "least", "most"), [(1.0, 0.8, 1.0), (0.2, 0.0, 0.05)])
def test_the_smallest_fault_is_convicted_and_much_smaller_ones_are_not(times, least, most):
    """100 runs with a fault planted, of which a few choose an event with less of it."""
    made = bdp.mechanisms.BetaBinomialMechanism.calibrate(n=30, size=30, epsilon=1.0)
    fault = bdp.audit(Leaking(made, 0.0, 0), trials=4000).smallest_fault
    runs = [bdp.audit(Leaking(made, times * fault, k), trials=4000) for k in range(100)]
    convicted = np.mean([run.epsilon_lower > run.claim.epsilon for run in runs])
    assert least <= convicted <= most


def test_the_largest_bound_is_that_of_a_mechanism_that_shows_everything():
    @dataclass(frozen=True)
    class Everything(NoisyNumber):
        def release(self, statistic, copies=1):
            return np.full(copies, statistic)

    found = bdp.audit(Everything(stats.laplace(scale=0.1), 1.0, claim(1.0)), trials=2000)
    assert found.convicted
    assert found.epsilon_lower == found.epsilon_attainable
    # log(L / U) of 1,000 hits and no miss, each at level 1e-6 / 4
    low = (1e-6 / 4) ** (1 / 1000)
    assert found.epsilon_attainable == pytest.approx(math.log(low / (1 - low)), rel=1e-9)


def test_draws_that_could_convict_nothing_acquit_nothing():
    made = NoisyNumber(stats.laplace(scale=0.1), 1.0, claim(10.0))
    few = bdp.audit(made, trials=2000)
    assert few.epsilon_attainable < 10
    assert few.smallest_fault is None
    assert str(few).startswith("no violation could be found")
    assert "could convict nothing" in str(few)
    many = bdp.audit(made, trials=1_000_000)
    assert "no violation found" in str(many)
    assert many.smallest_fault < 1
    assert f"once in {1 / many.smallest_fault:,.0f} draws" in str(many)
    assert f"{many.epsilon_lower / 10:.0%} of the claim" in str(many)
