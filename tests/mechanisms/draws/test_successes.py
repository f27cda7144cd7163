"""Exact draws of floats' probabilities, and of which trials succeed."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.mechanisms.draws import bernoulli, successes
from bayesdp.mechanisms.randomness import random_words


def feed(monkeypatch, module, words):
    """Let the module draw these words."""
    rest = iter(words)
    monkeypatch.setattr(
        module, "random_words", lambda k: np.array([next(rest) for _ in range(k)], np.uint64)
    )


@pytest.mark.parametrize("p", [0.5, 0.1, 0.9999, 1 - 2.0**-53, 1e-3])
def test_a_floats_bernoulli_has_its_probability(p):
    with bdp.reproducible(1):
        seen = int(bernoulli.bernoulli_float(np.full(100_000, p)).sum())
    assert stats.binomtest(seen, 100_000, p).pvalue > 1e-6


@pytest.mark.parametrize("p", [0.1, 2.0**-12 * 0.7, 1e-30, 5e-324, 0.0, 0.75])
def test_a_floats_bernoulli_reads_every_bit(p, monkeypatch):
    """U just below, at and above p, to the last binary digit that p has."""
    bits = 64 * 18
    whole = int(Fraction(p) * 2**bits)
    assert Fraction(whole, 2**bits) == Fraction(p)
    for u, expected in ((whole - 1, True), (whole, False), (whole + 1, False)):
        if u < 0:
            continue
        words = [u >> (bits - 64 * (k + 1)) & (2**64 - 1) for k in range(18)]
        feed(monkeypatch, bernoulli, words)
        assert bernoulli.bernoulli_float(np.array([p])).tolist() == [expected]


def test_each_element_has_its_own_probability():
    p = np.tile([0.0, 0.25, 0.5, 0.99], 20_000)
    with bdp.reproducible(2):
        drawn = bernoulli.bernoulli_float(p).reshape(-1, 4).sum(axis=0)
    assert drawn[0] == 0
    for seen, each in zip(drawn[1:], (0.25, 0.5, 0.99), strict=True):
        assert stats.binomtest(int(seen), 20_000, each).pvalue > 1e-6


@pytest.mark.parametrize("slack", [successes._SLACK, 0.2])
@pytest.mark.parametrize("p", [0.02, 0.3, 0.9])
def test_failures_have_the_geometric_law(p, slack, monkeypatch):
    """By floats, and, with the slack made wide, mostly by decimals; capped at the 12th trial."""
    monkeypatch.setattr(successes, "_SLACK", slack)
    count, most = (200_000, 12) if slack < 0.1 else (3_000, 12)
    with bdp.reproducible(3):
        drawn = np.minimum(successes._failures(count, p, most), most)
    seen = np.bincount(drawn, minlength=most + 1)
    expected = count * np.append(p * (1 - p) ** np.arange(most), (1 - p) ** most)
    likely = expected >= 5
    rest = expected[~likely].sum() + 1e-12
    distance = np.sum((seen - expected)[likely] ** 2 / expected[likely])
    distance += (seen[~likely].sum() - rest) ** 2 / max(rest, 1.0)
    assert stats.chi2.sf(distance, likely.sum()) > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("p", [0.3, 4.5397868702434395e-05, 1e-12])
def test_the_number_of_successes_is_binomial(p):
    """And their places are uniform: Kolmogorov-Smirnov over all repetitions."""
    trials, repeats = max(40, int(60 / p)), 300
    with bdp.reproducible(4):
        drawn = [successes.successes(trials, p) for _ in range(repeats)]
    counts = np.array([places.size for places in drawn])
    assert stats.binomtest(int(counts.sum()), trials * repeats, p).pvalue > 1e-6
    spread = counts.var(ddof=1) / (trials * p * (1 - p)) * (repeats - 1)
    assert 1e-6 < stats.chi2.sf(spread, repeats - 1) < 1 - 1e-6
    for places in drawn:
        assert np.all(np.diff(places) > 0)
        assert places.size == 0 or 0 <= places[0] <= places[-1] < trials
    everywhere = (np.concatenate(drawn) + 0.5) / trials
    assert stats.kstest(everywhere, "uniform").pvalue > 1e-6


def test_every_outcome_of_a_few_trials_has_its_probability():
    """Chi-square over all subsets of 4 trials, 40,000 repetitions."""
    p = 0.35
    with bdp.reproducible(5):
        long = successes.successes(4 * 40_000, p)
    which = np.zeros(4 * 40_000, dtype=int)
    which[long] = 1
    seen = np.bincount(which.reshape(-1, 4) @ [8, 4, 2, 1], minlength=16)
    size = np.array([bin(k).count("1") for k in range(16)])
    expected = 40_000 * p**size * (1 - p) ** (4 - size)
    assert stats.chisquare(seen, expected).pvalue > 1e-6


@pytest.mark.parametrize("block", [1, 3, 1 << 20])
def test_blocks_join_without_a_seam(block, monkeypatch):
    monkeypatch.setattr(successes, "_BLOCK", block)
    with bdp.reproducible(6):
        long = successes.successes(3_000, 0.4)
    assert stats.binomtest(long.size, 3_000, 0.4).pvalue > 1e-6
    steps = np.bincount(np.diff(long, prepend=-1) - 1, minlength=4)[:4]
    expected = 0.4 * 0.6 ** np.arange(4)
    for seen, each in zip(steps, expected, strict=True):
        assert stats.binomtest(int(seen), long.size, each).pvalue > 1e-6


@pytest.mark.parametrize(
    ("p", "k"), [(0.3, 1), (0.3, 90), (4.5397868702434395e-05, 7), (1e-9, 1), (1e-9, 1000)]
)
def test_a_tie_with_a_whole_number_is_settled_by_further_bits(p, k, monkeypatch):
    """U's first 64 bits are those of (1 - p)^k: K is k if U is below, else k - 1."""
    with mp.workdps(120):
        bits = int(mp.floor((1 - mp.mpf(p)) ** k * mp.mpf(2) ** 256))
    for u, expected in ((bits - 2, k), (bits + 2, k - 1)):
        words = [u >> (192 - 64 * i) & (2**64 - 1) for i in range(4)]
        feed(monkeypatch, successes, words)
        assert successes._failures(1, p, 10**9)[0] == expected
        settled = successes._bounds(words[0], 64, p, 60)
        assert settled[0] < settled[1]


def test_few_draws_are_left_to_decimals(monkeypatch):
    """At epsilon = 10 the floating-point bound settles all but one in a million."""
    calls = []
    decide = successes._decide
    monkeypatch.setattr(successes, "_decide", lambda *a: calls.append(a) or decide(*a))
    with bdp.reproducible(7):
        found = successes.successes(5 * 10**9, 4.5397868702434395e-05)
    assert stats.binomtest(found.size, 5 * 10**9, 4.5397868702434395e-05).pvalue > 1e-6
    assert len(calls) <= 3


@pytest.mark.parametrize("p", [0.4, 4.5e-5, 1e-9, 1 - 2.0**-53])
def test_the_float_bound_holds_against_mpmath(p):
    """Where floats settle a draw, the two ends of U's interval agree with them."""
    with bdp.reproducible(8):
        drawn = random_words(2_000)
    words = np.append(drawn, np.array([1, 2, 2**64 - 1], dtype=np.uint64))
    most = 2**61
    with mp.workdps(60), pytest.MonkeyPatch.context() as patch:
        feed(patch, successes, words.tolist())
        patch.setattr(successes, "_decide", lambda *a: -1)
        found = successes._failures(words.size, p, most)
        rate = -mp.log(1 - mp.mpf(p))
        for word, k in zip(words.tolist(), found.tolist(), strict=True):
            if 0 <= k < most:
                least = mp.floor(-mp.log((mp.mpf(word) + 1) / 2**64) / rate)
                largest = mp.floor(-mp.log(mp.mpf(word) / 2**64) / rate)
                assert least == k == largest
    assert np.mean(found < 0) < 0.6


def test_decimal_bounds_enclose():
    for p in (0.3, 1e-5, 1e-20, 5e-324):
        word, bits = 3**60, 128
        low, high = successes._bounds(word, bits, p, 60 + math.ceil(-math.log10(p)))
        with mp.workdps(500):
            rate = -mp.log(1 - mp.mpf(p))
            true = mp.floor(-mp.log(mp.mpf(word) / mp.mpf(2) ** bits) / rate)
            assert low <= true <= high


def test_ends():
    assert successes.successes(0, 0.5).size == 0
    with bdp.reproducible(9):
        assert successes.successes(5, 1 - 2.0**-53).tolist() == [0, 1, 2, 3, 4]
        assert successes.successes(2**61, 1e-300).size == 0
        far = successes.successes(2**61, 2.0**-58)
    assert far.size < 60
    assert np.all(np.diff(far) > 0)


def test_a_word_of_zero_is_no_end(monkeypatch):
    """All bits read first are 0: E is at least 64 log 2, and the next word settles it."""
    feed(monkeypatch, successes, [0, 2**63])
    exact = 65 * math.log(2) / -math.log1p(-0.4)
    assert successes._failures(1, 0.4, 10**9)[0] == math.floor(exact)
