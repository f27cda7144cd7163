"""Where release randomness comes from, and the exact Bernoulli draw."""

import ast
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy import stats

import bayesdp as bdp
from bayesdp.mechanisms import randomness
from bayesdp.mechanisms.draws import bernoulli

PACKAGE = Path(bdp.__file__).parent
RELEASE_PATHS = [
    path
    for room in ("mechanisms", "synthesis", "release")
    for path in sorted((PACKAGE / room).rglob("*.py"))
]
SEEDED = {"default_rng", "RandomState", "PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64", "seed"}


@pytest.mark.parametrize("path", RELEASE_PATHS, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_release_path_makes_a_generator_of_its_own(path: Path):
    """Nor imports `random`, nor draws from scipy: only `randomness` knows where bits come from."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            assert "random" not in {alias.name for alias in node.names}
        if isinstance(node, ast.Attribute):
            assert node.attr != "rvs"
            module = ast.unparse(node.value) in ("np.random", "numpy.random")
            seeded = node.attr in SEEDED or (module and node.attr != "Generator")
            assert not seeded or path.name == "randomness.py", ast.unparse(node)


def test_the_generator_is_chacha_with_a_fresh_key_each_time():
    one, other = randomness.generator(), randomness.generator()
    assert type(one.bit_generator).__name__ == "ChaCha"
    assert one.bit_generator.state["state"]["rounds"] == 20
    assert not np.array_equal(one.integers(2**63, size=4), other.integers(2**63, size=4))


def test_reproducible_seeds_words_and_the_generator():
    def drawn():
        with bdp.reproducible(5):
            return randomness.random_words(3).tolist(), randomness.generator().random(2).tolist()

    assert drawn() == drawn()


@pytest.mark.parametrize("slack", [bernoulli._SLACK, 0.3])
@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 10**9), Fraction(7, 10), Fraction(4)])
def test_exact_bernoulli_has_its_probability(gamma, slack, monkeypatch):
    """By floats, and, with the slack made wide, nearly always by decimals."""
    monkeypatch.setattr(bernoulli, "_SLACK", slack)
    k = 20_000
    with bdp.reproducible(1):
        seen = bernoulli.bernoulli_exp(np.full(k, float(gamma)), lambda i: gamma).sum()
    assert stats.binomtest(int(seen), k, math.exp(-gamma)).pvalue > 1e-6
    if gamma == 0:
        assert seen == k


@pytest.mark.slow
@pytest.mark.parametrize("slack", [bernoulli._SLACK, 0.3])
@pytest.mark.parametrize(
    ("ratio", "gamma"),
    [
        (Fraction(2, 3), Fraction(0)),
        (Fraction(2**100), Fraction(70)),
        (Fraction(1, 7), Fraction(1)),
    ],
)
def test_a_multiple_of_an_exponential_has_its_probability(ratio, gamma, slack, monkeypatch):
    monkeypatch.setattr(bernoulli, "_SLACK", slack)
    k = 20_000
    with bdp.reproducible(2):
        seen = bernoulli.bernoulli_exp(np.full(k, float(gamma)), lambda i: gamma, [ratio] * k).sum()
    with mp.workdps(50):
        p = float(mpf(ratio.numerator) / ratio.denominator * mp.exp(-mpf(gamma.numerator)))
    assert stats.binomtest(int(seen), k, p).pvalue > 1e-6
    low, high = bernoulli._scaled_exponential(gamma, 64, 40, ratio)
    assert float(low) <= p * 2.0**64 * (1 + 1e-15)
    assert float(high) >= p * 2.0**64 * (1 - 1e-15)


def test_what_underflows_is_rare_and_not_impossible(monkeypatch):
    """exp(-1000) is 0 as a float: a first word of zeros leaves it to the next ones."""
    words = iter([0] * 30)
    monkeypatch.setattr(
        bernoulli, "random_words", lambda k: np.array([next(words)], dtype=np.uint64)
    )
    assert bernoulli.bernoulli_exp(np.array([1000.0]), lambda i: Fraction(1000))[0]


def test_a_tie_is_settled_by_further_bits(monkeypatch):
    """U's first 64 bits are those of exp(-1): the next ones decide, and are read as drawn."""
    with mp.workdps(80):
        bits = int(mp.floor(mp.exp(-1) * mpf(2) ** 128))
    word, rest = bits >> 64, bits & (2**64 - 1)
    for following, expected in ((rest - 1, True), (rest + 1, False)):
        words = iter([word, following])
        monkeypatch.setattr(
            bernoulli, "random_words", lambda k, w=words: np.array([next(w)], dtype=np.uint64)
        )
        drawn = bernoulli.bernoulli_exp(np.array([1.0]), lambda i: Fraction(1))
        assert drawn[0] == expected


@pytest.mark.parametrize("gamma", [Fraction(800), Fraction(10**400)])
def test_a_probability_too_small_for_a_float_is_not_zero(gamma, monkeypatch):
    """All bits of U that are read first are 0; the outcome is exp(-gamma)'s, not that of 0."""
    words = iter([0] * 18 + [1, 2**64 - 1] * 2)
    monkeypatch.setattr(
        bernoulli, "random_words", lambda k: np.array([next(words)], dtype=np.uint64)
    )
    drawn = bernoulli.bernoulli_exp(np.array([float(min(gamma, 10**300))]), lambda i: gamma)
    assert drawn[0] == (gamma == 800)


@pytest.mark.parametrize("gamma", [Fraction(1, 3), Fraction(50), Fraction(10**6), Fraction(10**12)])
def test_decimal_bounds_enclose(gamma):
    low, high = bernoulli._scaled_exponential(gamma, 64, 40)
    with mp.workdps(120):
        true = mp.exp(-mpf(gamma.numerator) / gamma.denominator) * mpf(2) ** 64
        assert mpf(str(low)) <= true <= mpf(str(high))
        assert mpf(str(high)) / mpf(str(low)) - 1 < mpf(10) ** -20
