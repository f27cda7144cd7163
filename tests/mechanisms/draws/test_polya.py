"""The sampler's law, enumerated: every sequence of integers it can draw."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb, factorial, prod

import numpy as np
import pytest

from bayesdp.mechanisms import randomness
from bayesdp.mechanisms.draws import polya
from bayesdp.mechanisms.draws.polya import polya_urn, polya_urns


def rising(x: Fraction, k: int) -> Fraction:
    return prod((x + i for i in range(k)), start=Fraction(1))


def exact_law(a: Fraction, b: Fraction, size: int) -> list[Fraction]:
    return [
        comb(size, z) * rising(a, z) * rising(b, size - z) / rising(a + b, size)
        for z in range(size + 1)
    ]


@pytest.mark.parametrize("wide", [False, True], ids=["64-bit", "any width"])
@pytest.mark.parametrize(
    ("ones", "zeros", "prior", "size"),
    [(0, 1, (0.5, 0.5), 3), (2, 1, (1.0, 0.75), 2), (0, 0, (0.25, 1.5), 3), (1, 0, (2.0, 2.0), 4)],
)
def test_the_output_law_is_beta_binomial_exactly(
    monkeypatch: pytest.MonkeyPatch,
    ones: int,
    zeros: int,
    prior: tuple[float, float],
    size: int,
    wide: bool,
):
    """Feed the urn every possible sequence of picks, all equally likely, and count."""
    scale = max(Fraction(p).denominator for p in prior)
    start = int(scale * (sum(map(Fraction, prior)) + ones + zeros))
    ranges = [range(start + i * scale) for i in range(size)]
    picks = np.array(list(product(*ranges)), dtype=object if wide else np.uint64)

    def all_picks(bounds: np.ndarray) -> np.ndarray:
        assert [int(v) for v in bounds[:size]] == [len(r) for r in ranges]
        return picks.ravel()

    if wide:
        monkeypatch.setattr(polya, "_WORD_BITS", 0)
    monkeypatch.setattr(polya, "uniform_below", all_picks)
    urns = len(picks)
    drawn = polya_urn(np.full(urns, ones), np.full(urns, zeros), prior, size)
    seen = Counter(drawn.tolist())
    a, b = Fraction(prior[0]) + ones, Fraction(prior[1]) + zeros
    assert [Fraction(seen[z], urns) for z in range(size + 1)] == exact_law(a, b, size)


@pytest.mark.parametrize("wide", [False, True], ids=["64-bit", "any width"])
@pytest.mark.parametrize("at_once", [True, False], ids=["one block", "a block a draw"])
@pytest.mark.parametrize(
    ("counts", "prior", "size"),
    [((0, 1, 0), (0.5, 0.5, 1.0), 3), ((1, 0, 1, 0), (1.0, 0.5, 0.5, 2.0), 2), ((1,), (0.5,), 3)],
)
def test_more_colours_are_dirichlet_multinomial_exactly(
    monkeypatch: pytest.MonkeyPatch,
    counts: tuple[int, ...],
    prior: tuple[float, ...],
    size: int,
    at_once: bool,
    wide: bool,
):
    """Every sequence of picks again, an urn at a time."""
    scale = max(Fraction(p).denominator for p in prior)
    start = int(scale * (sum(map(Fraction, prior)) + sum(counts)))
    picks = list(product(*(range(start + i * scale) for i in range(size))))
    coming = iter(np.array(picks).ravel().tolist())

    def next_picks(bounds: np.ndarray) -> np.ndarray:
        return np.array([next(coming) for _ in bounds], dtype=bounds.dtype)

    if wide:
        monkeypatch.setattr(polya, "_WORD_BITS", 0)
    monkeypatch.setattr(polya, "uniform_below", next_picks)
    monkeypatch.setattr(polya, "_BLOCK", size if at_once else 1)
    drawn = polya_urns(np.tile(np.array(counts), (len(picks), 1)), prior, size)
    seen = Counter(map(tuple, drawn.tolist()))
    alpha = [Fraction(p) + c for p, c in zip(prior, counts, strict=True)]
    for z in product(range(size + 1), repeat=len(alpha)):
        if sum(z) == size:
            ways = factorial(size) // prod(map(factorial, z))
            law = ways * prod(map(rising, alpha, z)) / rising(sum(alpha), size)
            assert Fraction(seen.pop(z, 0), len(picks)) == law
    assert not seen


@pytest.mark.parametrize("dtype", [np.uint64, object])
def test_uniform_integers_are_exactly_uniform(monkeypatch: pytest.MonkeyPatch, dtype: type):
    """Words at the edge of rejection: 2^64 mod 3 = 1, so only the last word is rejected."""
    if dtype is object:
        top = 2**128
        words = iter([[2**64 - 1, 2**64 - 1], [2**64 - 1, 2**64 - 2]])
        assert top % 3 == 1
    else:
        words = iter([[2**64 - 1], [2**64 - 2]])
    monkeypatch.setattr(
        randomness, "random_words", lambda count: np.array(next(words), dtype=np.uint64)
    )
    value = randomness.uniform_below(np.array([3], dtype=dtype))
    assert value[0] == 2  # the first is rejected; the second is 3 k + 2
    assert next(words, None) is None


def test_large_bounds_fill_their_range():
    bound = 3**100
    draws = randomness.uniform_below(np.full(2000, bound, dtype=object))
    assert all(0 <= v < bound for v in draws)
    share = np.mean([v >= bound // 2 for v in draws])
    assert abs(share - 0.5) < 5 * 0.5 / np.sqrt(2000)


@pytest.mark.slow
def test_both_number_types_and_many_blocks_agree_in_law(monkeypatch: pytest.MonkeyPatch):
    """Means over many urns, within 5 standard errors of the beta-binomial's."""
    a, b, size = 3.25, 7.5, 20
    for bits, block in ((63, 1 << 20), (0, 1 << 20), (63, 1000), (63, 7), (63, 1)):
        monkeypatch.setattr(polya, "_BLOCK", block)
        monkeypatch.setattr(polya, "_WORD_BITS", bits)
        with randomness.reproducible(1):
            urns = 20_000 if block > 1000 else 2_000
            z = polya_urn(np.full(urns, 1), np.full(urns, 2), (a, b), size)
        mean = size * (a + 1) / (a + b + 3)
        assert abs(z.mean() - mean) < 5 * z.std() / np.sqrt(z.size)
