"""Dyads by their numbers, and gaps among ties: every one, and numbers beyond a float's."""

import itertools

import numpy as np
import pytest

from bayesdp.networks.dyads import dyad_numbers, dyads_numbered, gaps_numbered


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("n", range(2, 41))
def test_numbers_follow_the_order_of_sorted_pairs(n: int, directed: bool):
    choose = itertools.permutations if directed else itertools.combinations
    pairs = np.array(list(choose(range(n), 2)))
    numbers = np.arange(len(pairs))
    np.testing.assert_array_equal(dyads_numbered(numbers, n, directed), pairs)
    np.testing.assert_array_equal(dyad_numbers(pairs, n, directed), numbers)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("n", [100_000, 3_000_001])
def test_large_numbers_are_exact(n: int, directed: bool):
    """Both ends of rows, and dyads anywhere, against integers of any size."""
    rows = [0, 1, n // 3, n - 3, n - 2]
    pairs = [(i, j) for i in rows for j in {i + 1, (i + n) // 2, n - 1} if j != i]
    if directed:
        pairs += [(j, i) for i, j in pairs] + [(n - 1, 0)]
        true = [i * (n - 1) + j - (j > i) for i, j in pairs]
    else:
        true = [i * n - i * (i + 1) // 2 + j - i - 1 for i, j in pairs]
    np.testing.assert_array_equal(dyad_numbers(np.array(pairs), n, directed), true)
    np.testing.assert_array_equal(dyads_numbered(np.array(true), n, directed), pairs)
    dyads = n * (n - 1) // (1 if directed else 2)
    anywhere = np.random.default_rng(n).integers(0, dyads, 100_000)
    back = dyads_numbered(anywhere, n, directed)
    assert back.max() < n
    assert (back[:, 0] != back[:, 1]).all()
    np.testing.assert_array_equal(dyad_numbers(back, n, directed), anywhere)


def test_gaps_are_numbered_around_the_ties():
    """All subsets of 9 dyads as ties."""
    for bits in itertools.product((False, True), repeat=9):
        ties, gaps = np.flatnonzero(bits), np.flatnonzero(~np.array(bits))
        np.testing.assert_array_equal(gaps_numbered(np.arange(gaps.size), ties), gaps)
