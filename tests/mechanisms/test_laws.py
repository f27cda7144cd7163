"""Log probabilities against 60-digit arithmetic."""

import mpmath as mp
import numpy as np
import pytest
from scipy import special

from bayesdp.mechanisms.families.gaussian_blur import log_exponential_normal
from bayesdp.mechanisms.laws import beta_binomial_logpmf, beta_logpdf


def exact_beta_binomial(k: int, n: int, a: float, b: float) -> mp.mpf:
    with mp.workdps(60):
        a, b = mp.mpf(a), mp.mpf(b)
        return mp.log(mp.binomial(n, k) * mp.beta(a + k, b + n - k) / mp.beta(a, b))


def arguments(seed: int, count: int) -> list[tuple[int, int, float, float]]:
    """Sizes to 10^7, priors from 1e-20 to 10^6; likely outputs, far tails and both ends."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(count):
        n = int(10 ** rng.uniform(0, 7))
        a = 10 ** rng.uniform(-20 if i % 10 == 0 else -2, 6)
        b = a if i % 3 == 0 else 10 ** rng.uniform(-2, 6)
        likely = n * a / (a + b) + rng.normal() * np.sqrt(n)
        k = [likely, rng.integers(0, n + 1), 0, n][i % 4]
        found.append((int(np.clip(k, 0, n)), n, a, b))
    return found


def test_beta_binomial_keeps_thirteen_digits_at_any_size():
    for k, n, a, b in arguments(seed=0, count=400):
        expected = float(exact_beta_binomial(k, n, a, b))
        assert beta_binomial_logpmf(k, n, a, b) == pytest.approx(expected, rel=1e-13, abs=1e-13)


def test_it_beats_differences_of_log_gamma():
    """The reason for the saddle-point form: the textbook formula loses five digits here."""
    k, n, a = 4271110, 8528535, 883322.7157298496
    expected = float(exact_beta_binomial(k, n, a, a))
    textbook = (
        special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
        + special.betaln(a + k, a + n - k) - special.betaln(a, a)
    )  # fmt: skip
    ours = abs(beta_binomial_logpmf(k, n, a, a) - expected)
    assert ours < 1e-12
    assert abs(textbook - expected) > 100 * ours


def test_beta_binomial_outside_its_range_is_impossible():
    assert np.all(np.isneginf(beta_binomial_logpmf([-1, 6], 5, 1.0, 1.0)))


def test_beta_binomial_of_no_trials_is_certain():
    assert beta_binomial_logpmf(0, 0, 2.0, 3.0) == 0


@pytest.mark.parametrize(
    ("p", "a", "b"),
    [(0.3, 1, 1), (0.5001, 5e5, 5e5), (1e-9, 0.5, 0.5), (0.99, 3, 1e-3), (0.2, 20, 90)],
)
def test_beta_density(p: float, a: float, b: float):
    with mp.workdps(40):
        exact = mp.log(mp.mpf(p) ** (a - mp.mpf(1)) * (1 - mp.mpf(p)) ** (b - mp.mpf(1)))
        exact -= mp.log(mp.beta(a, b))
    assert beta_logpdf(p, a, b) == pytest.approx(float(exact), rel=1e-12, abs=1e-12)


def test_beta_density_at_the_ends():
    assert np.exp(beta_logpdf([0, 1], 1.0, 1.0)) == pytest.approx([1, 1])
    assert np.exp(beta_logpdf([0, 1], 1.0, 3.0)) == pytest.approx([3, 0])
    assert np.isposinf(beta_logpdf([0, 1], 0.5, 0.5)).all()
    assert np.isneginf(beta_logpdf([-0.1, 1.1], 2.0, 2.0)).all()


@pytest.mark.parametrize("width", [1e-3, 1.0, 30.0, 1e4, 1e8, 1e13])
def test_laplace_noise_blurred_by_a_normal_law_however_wide(width):
    """The integral of exp((m - c) / b) N(m; r, rho^2), in 60 digits."""
    c, b = 0.3, 0.25
    for high, low in [(0.3, -1.0), (0.3, 0.3 - 1e-3), (-0.5, -40.0)]:
        for r in (c, c - 3 * b, c + 2 * b * width, c - 2 * b * width, c - b * width**2):
            with mp.workdps(60):
                rho = mp.mpf(b) * mp.mpf(width)
                ends = [(mp.mpf(x) - mp.mpf(r)) / rho - mp.mpf(width) for x in (low, high)]
                ends = [-ends[1], -ends[0]] if ends[0] > 0 else ends
                mass = (mp.erf(ends[1] / mp.sqrt(2)) - mp.erf(ends[0] / mp.sqrt(2))) / 2
                if ends[1] < 0:
                    mass = (mp.erfc(-ends[1] / mp.sqrt(2)) - mp.erfc(-ends[0] / mp.sqrt(2))) / 2
                tilt = (mp.mpf(r) - mp.mpf(c)) / mp.mpf(b) + mp.mpf(width) ** 2 / 2
                want = float(tilt + mp.log(mass))
            found = log_exponential_normal(low, high, np.array(c), np.array(r), b, b * width)
            if want < -1e6:  # as good as impossible
                assert float(found) < -1e6
            else:
                assert float(found) == pytest.approx(want, rel=1e-11, abs=1e-11)
