"""Stable functions, MAP estimators and truncated histograms, against sums over small spaces."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.privacy.distributional.worlds import smallest_common

from .oracles import bits, independent, mixture

D = bdp.distributional


def majority(counts):
    return int(2 * counts[1] > sum(counts))


def of_bits(function):
    """A function of counts, as one of bits of which some may be missing."""
    return lambda x: function((sum(b == 0 for b in x), sum(b == 1 for b in x)))


@pytest.mark.parametrize("n", [3, 4, 6])
@pytest.mark.parametrize("known", [0, 1, 2])
def test_a_stable_function_is_what_brute_force_says(n, known):
    rates = (0.2, 0.7)
    found = D.stable_function(majority, [stats.bernoulli(p) for p in rates], n, known_records=known)
    laws = [independent(n, p, lambda x: x[:known]) for p in rates]
    secrets = D.records(n)[known:]
    for epsilon in (0.0, 0.3, 1.0):
        natural = D.smallest_delta(
            of_bits(majority), laws, secrets, epsilon, simulator=of_bits(majority)
        )
        assert found.delta(epsilon) == pytest.approx(natural.delta, abs=1e-9)
        assert found.delta(epsilon) >= natural.delta
        assert (
            natural.delta
            >= D.smallest_delta(of_bits(majority), laws, secrets, epsilon).delta - 1e-9
        )
    assert found.delta(0.0) <= found.changed * (1 + 1e-9) + 1e-9  # Theorem 6.1
    mixed = mixture(laws, [0.4, 0.6])
    hull = D.smallest_delta(of_bits(majority), [mixed], secrets, 0.0, simulator=of_bits(majority))
    assert hull.delta <= found.delta(0.0)


def test_theorem_6_2_with_half_the_epsilon():
    found = D.stable_function(majority, [stats.bernoulli(0.45), stats.bernoulli(0.55)], 301)
    mu, c = found.changed, found.least
    assert 0 < mu < c
    pure = D.stable_promise(mu, c)
    assert pure == pytest.approx(-math.log(1 - mu / c))
    assert found.epsilon() <= pure + 1e-9
    assert pure < math.log((c + mu) / (c - mu))  # as printed
    assert found.guarantee(delta=0.0).epsilon == found.epsilon()
    assert found.guarantee().epsilon == 0
    assert found.guarantee().delta <= mu + 1e-9
    assert D.stable_promise(0.2, 0.1) == math.inf
    # It is attained: outputs with N = c and N' = c - mu.
    one, other = np.array([[0.3, 0.7]]), np.array([[0.2, 0.8]])
    assert smallest_common(one, other, 0.0) == pytest.approx(D.stable_promise(0.1, 0.3))


def test_draws_bound_what_a_sum_says():
    laws = [stats.bernoulli(0.3)]
    exact = D.stable_function(majority, laws, 21, known_records=2)
    drawn = D.stable_function(majority, laws, 21, known_records=2, draws=3000, alpha=1e-9)
    assert exact.changed <= drawn.changed <= exact.changed + 0.12
    assert drawn.guarantee().delta == drawn.changed + 1e-9
    assert "drawn" in drawn.guarantee().assumptions[0]
    assert drawn.epsilon(0.9) == 0
    assert drawn.epsilon(1e-6) == math.inf


def truth(estimator, n, known, j, x, seen):
    """Laws of the estimate with a record x and without, of bits, given what is known."""
    p = estimator.laws[j].args[0]
    laws = np.zeros((2, len(estimator.laws)))
    changed = 0.0
    m = n - 1 - known
    for u in range(m + 1):
        weight = stats.binom.pmf(u, m, p)
        ones = [1.0] * (u + seen) + [0.0] * (m - u + known - seen)
        both = estimator.estimate([x, *ones]), estimator.estimate(ones)
        laws[0, both[0]] += weight
        laws[1, both[1]] += weight
        changed += weight * (both[0] != both[1])
    return laws, changed


FAMILY = [stats.bernoulli(0.1), stats.bernoulli(0.9)]


@pytest.mark.parametrize("weights", [None, (1.0, 3.0)])
@pytest.mark.parametrize(("n", "known"), [(8, 0), (15, 1), (21, 0), (30, 2)])
def test_a_map_estimate_keeps_theorem_6_3(weights, n, known):
    estimator = D.MAPEstimator(FAMILY, weights)
    says = estimator.guarantee(n, known_records=known)
    worst = max(
        truth(estimator, n, known, j, x, seen)[1]
        for j, x, seen in itertools.product((0, 1), (0, 1), range(known + 1))
    )
    assert worst <= says.delta
    M, tau, u = 9.0, 3.0 if weights else 1.0, -math.log(0.6)
    if known == 0:  # as printed, with the best s of all laws at once
        assert says.delta <= tau * (M + 1) * math.exp(-(n - 1) * u) * (1 + 1e-9)


@pytest.mark.parametrize("least", [0.1, 0.5])
@pytest.mark.parametrize(("n", "known"), [(15, 0), (30, 1)])
def test_a_map_estimate_keeps_theorem_6_4(least, n, known):
    estimator = D.MAPEstimator(FAMILY)
    says = estimator.guarantee(n, known_records=known, least_probability=least)
    assert says.delta == 0
    worst = 0.0
    for p in np.linspace(least, 1 - least, 5):  # of the second law
        for x, seen in itertools.product((0, 1), range(known + 1)):
            likely = [
                prior
                * np.exp(law.logpmf(x) + seen * law.logpmf(1) + (known - seen) * law.logpmf(0))
                for prior, law in zip((1 - p, p), FAMILY, strict=True)
            ]
            h = np.array(likely) / sum(likely)
            both = sum(h[j] * truth(estimator, n, known, j, x, seen)[0] for j in (0, 1))
            worst = max(worst, smallest_common(both[:1], both[1:], 0.0))
    assert 0 < worst <= says.epsilon
    if known == 0:
        tail = 9 * math.exp(-(n - 1) * -math.log(0.6))
        printed = math.log((1 + (9 / least - 1) * tail) / (1 - tail))
        assert says.epsilon <= printed * (1 + 1e-9)


def test_corollary_6_1_as_printed_is_false():
    """Known records still vote: 10 of 21 that all point at the wrong law."""
    estimator, n, known = D.MAPEstimator(FAMILY), 21, 10
    printed = (9 + 1) * 0.6 ** (n - 1 - known)
    ones, changed = truth(estimator, n, known, 0, 1, known)
    zeros, other = truth(estimator, n, known, 0, 0, known)
    assert max(changed, other) == pytest.approx(0.349, abs=1e-3)
    apart = abs(ones[0, 1] - zeros[0, 1])
    assert apart / 2 > 2.5 * printed  # so that no simulator keeps it: the same one serves both
    says = estimator.guarantee(n, known_records=known)
    assert max(changed, other) <= says.delta
    # No simulator does, by the linear programme too, of 7 records of which 3 are known.
    laws = [independent(7, 0.1, lambda x: x[:3])]
    best = D.smallest_delta(estimator.estimate, laws, D.records(7)[3:], 0.0)
    assert estimator.guarantee(7, known_records=3).delta >= best.delta


@pytest.mark.slow
def test_a_family_of_continuous_laws():
    laws = [stats.truncnorm(-2, 2), stats.truncnorm(-3, 1, loc=1)]
    estimator = D.MAPEstimator(laws)
    says = estimator.guarantee(200)
    assert says.strength is bdp.Strength.CONDITIONAL
    assert 0 < says.delta < 1e-6
    # The ratio of the densities is largest at the ends, of any two truncated normals.
    ratios = [laws[0].pdf(x) / laws[1].pdf(x) for x in (-2, 2)]
    largest = max(*ratios, 1 / min(ratios))
    assert math.exp(estimator.family.log_ratio.max()) == pytest.approx(largest, rel=2e-3)
    given = D.MAPEstimator(laws, ratio=largest * 1.01)
    assert says.delta <= given.guarantee(200).delta < 10 * says.delta
    moment = estimator.family.log_moment(np.array([0.5]))[0, 0, 1]
    from scipy.integrate import quad

    affinity = quad(lambda x: math.sqrt(laws[0].pdf(x) * laws[1].pdf(x)), -2, 2)[0]
    assert moment == pytest.approx(math.log(affinity), abs=1e-8)
    generator = np.random.default_rng(3)
    records = laws[1].rvs(size=200, random_state=generator)
    assert estimator.estimate(records) == 1


@pytest.mark.slow
def test_laws_of_pymc_are_those_of_scipy():
    import pymc as pm

    coins = [pm.Bernoulli.dist(0.1), pm.Bernoulli.dist(0.9)]
    says, scipys = (D.MAPEstimator(laws).guarantee(30) for laws in (coins, FAMILY))
    assert says.delta == pytest.approx(scipys.delta)
    assert D.MAPEstimator(coins).estimate([1, 1, 0]) == 1
    stable = D.stable_function(majority, coins, 9)
    assert stable.changed == pytest.approx(D.stable_function(majority, FAMILY, 9).changed)
    wide = [pm.Uniform.dist(0, 1), pm.Triangular.dist(-1, 2, 0.5)]
    with pytest.raises(bdp.errors.InvalidInput, match="in common"):
        D.MAPEstimator(wide)
    tails = [pm.Laplace.dist(0, 1), pm.Laplace.dist(0.5, 1)]
    scipy_tails = [stats.laplace(0, 1), stats.laplace(0.5, 1)]
    says, scipys = (D.MAPEstimator(laws).guarantee(300) for laws in (tails, scipy_tails))
    assert says.delta == pytest.approx(scipys.delta, rel=1e-3)
    for laws, match in (
        ([pm.Poisson.dist(1), pm.Poisson.dist(2)], "unbounded support"),
        ([pm.Beta.dist(1, 2), pm.Normal.dist(0, 1)], "quantiles|in common"),
        ([pm.Normal.dist(0, 1, shape=2)] * 2, "2|1 dimensions"),
    ):
        with pytest.raises(bdp.errors.InvalidInput, match=match):
            D.MAPEstimator(laws)


def brute(pmf, k, epsilon):
    """The divergence of M + 1 from M, shown as 0 below k."""
    real, simulated = np.zeros(pmf.size + 1), np.zeros(pmf.size + 1)
    for m, p in enumerate(pmf):
        real[m + 1 if m + 1 >= k else 0] += p
        simulated[m if m >= k else 0] += p
    e = math.exp(epsilon)
    return max(np.maximum(a - e * b, 0).sum() for a, b in ((real, simulated), (simulated, real)))


@pytest.mark.parametrize(
    ("population", "rate", "k", "epsilon"),
    [(30, 0.3, 5, 0.5), (50, 0.5, 1, 0.2), (40, 0.1, 8, 1.0), (80, 0.6, 20, 0.3), (9, 0.5, 12, 0)],
)  # fmt: skip
def test_a_binomial_sample_over_all_bins(population, rate, k, epsilon):
    worst = max(
        brute(stats.binom.pmf(np.arange(K + 1), K, rate), k, epsilon) for K in range(population)
    )
    histogram = D.TruncatedHistogram(k, D.BinomialSize(population, rate))
    assert histogram.delta(epsilon) == pytest.approx(worst, rel=1e-6, abs=1e-15)
    assert histogram.delta(epsilon) >= worst * (1 - 1e-12)


def test_a_large_population_stops_early_and_misses_nothing():
    histogram = D.TruncatedHistogram(60, D.BinomialSize(400_000, 0.01))
    worst = max(
        brute(stats.binom.pmf(np.arange(400), K, 0.01), 60, 0.4) for K in range(2000, 12_000, 40)
    )
    assert worst <= histogram.delta(0.4) <= worst * 1.2


@pytest.mark.parametrize(("mean", "k", "epsilon"), [(20.0, 5, 0.5), (3.0, 4, 0.3), (60.0, 30, 0.4)])
def test_a_poisson_sample_over_all_bins(mean, k, epsilon):
    grid = np.linspace(0, mean, 1500)
    worst = max(brute(stats.poisson.pmf(np.arange(200), m), k, epsilon) for m in grid)
    found = D.TruncatedHistogram(k, D.PoissonSize(mean)).delta(epsilon)
    assert worst <= found <= worst * 1.0001


def test_a_histogram_of_several_bins_and_known_individuals_by_brute_force():
    """Six individuals in two bins, each in the sample with probability 1/2; two are known of.

    The first individual is in it. What is shown are both counts, so that nothing is given away
    by looking at one bin; the programme may choose any simulator, and can't need more.
    """
    k, rate, epsilon = 3, 0.5, 0.7
    for known, bins in ((0, (0, 0, 0, 1, 1)), (1, (0, 0, 0, 0, 1)), (2, (0, 0, 0, 0, 0))):
        law: dict = {}
        for x in itertools.product((0, 1), repeat=5):
            for own in (0, 1):  # the protected individual's bin
                law[((own,), x), x[:known]] = 0.5 * rate ** sum(x) * (1 - rate) ** (5 - sum(x))

        def shown(x, bins=bins):
            (own,), others = x
            counts = [0, 0]
            for taken, b in zip(others, bins, strict=True):
                counts[b] += taken
            if own is not None:
                counts[own] += 1
            return tuple(c if c >= k else 0 for c in counts)

        secret = D.Secret(lambda x: ((None,), x[1]), lambda x: x[0])
        natural = D.smallest_delta(shown, [law], [secret], epsilon, simulator=shown)
        histogram = D.TruncatedHistogram(k, D.BinomialSize(6, rate))
        assert natural.delta <= histogram.delta(epsilon, known_records=known) + 1e-12
    certain = D.TruncatedHistogram(2, D.BinomialSize(6, rate)).delta(3.0, known_records=2)
    assert certain == 1.0  # two who are known to be in it already fill the bin


def discarding(n, size, k, p, epsilon):
    """The same by listing all records and all that are left, of two bins."""
    law = size.discarded()
    law = np.r_[law, np.zeros(max(0, n + 1 - law.size))]

    def shown(counts):
        return tuple(c if c >= k else 0 for c in counts)

    def released(data):
        found: dict = {}
        for d, q in enumerate(law):
            left = max(0, len(data) - d)
            kept = list(itertools.combinations(data, left))
            for some in kept:
                t = shown((some.count(0), some.count(1)))
                found[t] = found.get(t, 0.0) + q / len(kept)
        return found

    laws = [{((x, *rest), ()): (0.5 if x is not None else 1)
             * math.prod(p if b == 0 else 1 - p for b in rest)
             for rest in bits(n - 1) for x in (0, 1)}]  # fmt: skip
    return D.smallest_delta(
        released, laws, D.records(n)[:1], epsilon, simulator=lambda alt: released(alt[1:])
    ).delta


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("p", [0.3, 0.6])
def test_discarded_records_against_a_list_of_all(k, p):
    """With both bins shown; delta_at is of one bin, the other known in full: no less."""
    n, size = 6, D.FixedMinusLaplace(6, 0.8, 0.2)
    assert size.discarded().sum() == pytest.approx(1)
    for epsilon in (0.5, 1.5):
        listed = discarding(n, size, k, p, epsilon)
        bound = max(size.delta_at(k, epsilon, p), size.delta_at(k, epsilon, 1 - p))
        assert listed <= bound + 1e-12
        assert bound <= listed + 0.2


@pytest.mark.parametrize("k", [1, 2, 3])
def test_discarding_is_searched_down_to_bins_with_nobody_else(k):
    """A bin's single record, shown as it is, is the protected one where hardly another is there."""
    size = D.FixedMinusLaplace(4, 2.0, 0.2)
    worst = max(discarding(4, size, k, p, 1.2) for p in (1e-9, *np.linspace(0.01, 1, 100)))
    assert D.TruncatedHistogram(k, size).delta(1.2) >= worst - 1e-8
    assert size.delta_at(k, 1.2, 0.0) == pytest.approx(size.delta_at(k, 1.2, 1e-12), abs=1e-9)


def two_worlds(size, k, p, epsilon):
    """Delta of a bin of proportion p by all numbers of records discarded and left in either."""
    law, n = size.discarded(), size.n
    worlds = np.zeros((2, n + 1, n + 1))  # of a count, 0 below k, and the records elsewhere
    for d in range(n + 1):
        chance = law[d] if d < law.size else 0.0
        kept = (n - d) / n
        for world, left, mine, share in (
            (0, n - d - 1, 1, kept),
            (0, n - d, 0, 1 - kept),
            (1, max(n - 1 - d, 0), 0, 1.0),
        ):
            others = np.arange(max(left, 0) + 1)
            shown = np.where(others + mine >= k, others + mine, 0)
            each = share * chance * stats.binom.pmf(others, max(left, 0), p)
            np.add.at(worlds[world], (shown, max(left, 0) - others), each)
    one, other = worlds
    return max(
        np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((one, other), (other, one))
    )


@pytest.mark.parametrize(("k", "epsilon"), [(1, 1.0), (2, 3.0), (2, 5.0), (3, 3.0), (4, 0.1)])
def test_discarding_is_searched_where_few_others_are_in_the_bin(k, epsilon):
    """A second record makes a count of 2 show, where a bin has some 2 / exp(epsilon) others."""
    size = D.FixedMinusLaplace(40, 0.3, 1e-4)
    others = np.r_[0.0, np.geomspace(1e-4, 40, 150)]
    found = [two_worlds(size, k, c / 40, epsilon) for c in others]
    promised = D.TruncatedHistogram(k, size).delta(epsilon)
    assert max(found) <= promised * (1 + 1e-5) + 1e-12
    assert promised <= max(found) * 1.01 + 1e-12


def test_the_law_of_discarding_is_a_rounded_laplace():
    size = D.FixedMinusLaplace(10_000, 0.5, 1e-3)
    law = size.discarded()
    shift = math.log(1e3) / 0.5
    laplace = stats.laplace(shift, 2)
    assert law[0] == pytest.approx(laplace.cdf(0))
    assert law[5] == pytest.approx(laplace.cdf(5) - laplace.cdf(4))
    assert law[14] == pytest.approx(laplace.cdf(14) - laplace.cdf(13))
    assert law[30] == pytest.approx(laplace.cdf(30) - laplace.cdf(29))


def test_the_smallest_threshold():
    for size in (D.BinomialSize(5000, 0.2), D.PoissonSize(1e6)):
        for known in (0, 3):
            found = D.TruncatedHistogram.calibrate(
                size, epsilon=0.8, delta=1e-5, known_records=known
            )
            assert found.delta(0.8, known_records=known) <= 1e-5
            one_less = D.TruncatedHistogram(found.threshold - 1, size)
            assert one_less.delta(0.8, known_records=known) > 1e-5
    discarded = D.TruncatedHistogram(40, D.FixedMinusLaplace(100, 1.0, 1e-3))
    assert discarded.delta(2.0) < 1e-3
    promise = discarded.guarantee(2.0)
    assert promise.strength is bdp.Strength.CONDITIONAL


def test_a_truncated_histogram_is_released_and_read():
    histogram = D.TruncatedHistogram.calibrate(D.BinomialSize(1000, 0.3), epsilon=1.0, delta=1e-4)
    promise = histogram.guarantee(1.0, known_records=0)
    k = histogram.threshold
    counts = (k + 5, k - 1, k + 30)
    mechanism = D.ExactStatisticMechanism(promise, dimension=3, whole=True, threshold=k)
    release = bdp.publish(mechanism, counts)
    assert release.outputs == ((k + 5, 0, k + 30),)
    assert histogram.counts(np.array(counts)).tolist() == [k + 5, 0, k + 30]
    assert release.guarantee == promise


SIZE = D.BinomialSize(100, 0.5)
DISCARDED = D.FixedMinusLaplace(9, 1.0, 0.1)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: D.TruncatedHistogram(0, SIZE), "threshold is 0"),
        (lambda: D.TruncatedHistogram(5, 100), "BinomialSize"),
        (lambda: D.TruncatedHistogram(5, SIZE).delta(-1), "epsilon is"),
        (lambda: D.TruncatedHistogram(5, SIZE).delta(1.0, known_records=100), "at most 99"),
        (lambda: D.TruncatedHistogram(5, SIZE).delta(1.0, known_records=-1), "known_records"),
        (lambda: D.TruncatedHistogram(5, SIZE).counts([1.5]), "whole numbers"),
        (lambda: D.TruncatedHistogram(5, DISCARDED).delta(1, known_records=1), "knows none"),
        (lambda: D.TruncatedHistogram.calibrate(DISCARDED, epsilon=0.5, delta=0), "no threshold"),
        (lambda: D.BinomialSize(1, 0.5), "population is 1"),
        (lambda: D.BinomialSize(10, 1.0), "rate is 1.0"),
        (lambda: D.PoissonSize(math.inf), "mean is inf"),
        (lambda: D.FixedMinusLaplace(1, 1.0, 0.1), "n is 1"),
        (lambda: D.FixedMinusLaplace(9, 1.0, 0.0), "discard_delta"),
        (lambda: D.MAPEstimator(FAMILY[:1]), "two laws"),
        (lambda: D.MAPEstimator([FAMILY[0]] * 2), "the same"),
        (lambda: D.MAPEstimator(FAMILY, (1.0, 0.0)), "weights is"),
        (lambda: D.MAPEstimator(FAMILY, ratio=0.5), "ratio is 0.5"),
        (lambda: D.MAPEstimator([stats.norm(0, 1), stats.norm(1, 1)]), "without bound"),
        (lambda: D.MAPEstimator([stats.poisson(2), stats.poisson(3)]), "unbounded support"),
        (lambda: D.MAPEstimator([stats.uniform(0, 1), stats.uniform(0, 2)]), "in common"),
        (lambda: D.MAPEstimator([stats.bernoulli(0.5), stats.norm()]), "all discrete"),
        (lambda: D.MAPEstimator([stats.truncnorm(-1, 1), stats.truncnorm(-1.5, 0.5, loc=0.5)],
                                ratio=1.1), "somewhere"),
        (lambda: D.MAPEstimator(FAMILY).guarantee(1), "n is 1"),
        (lambda: D.MAPEstimator(FAMILY).guarantee(5, known_records=5), "at most 4"),
        (lambda: D.MAPEstimator(FAMILY).guarantee(5, least_probability=0.6), "least_probability"),
        (lambda: D.MAPEstimator(FAMILY).estimate([2.0]), "outside"),
        (lambda: D.MAPEstimator(FAMILY).estimate([]), "not empty"),
        (lambda: D.stable_function(majority, [stats.poisson(1)], 5), "unbounded support"),
        (lambda: D.stable_function(majority, [stats.norm()], 5), "discrete"),
        (lambda: D.stable_function(majority, FAMILY, 5, known_records=5), "known_records is 5"),
        (lambda: D.stable_function(majority, [stats.randint(0, 30)], 50), "too many"),
        (lambda: D.stable_function(majority, FAMILY, 5, draws=10, alpha=0), "alpha is 0"),
        (lambda: D.stable_promise(1.5, 0.5), "changed is 1.5"),
    ],
)  # fmt: skip
def test_bad_inputs(call, match):
    with pytest.raises(bdp.errors.InvalidInput, match=match):
        call()
