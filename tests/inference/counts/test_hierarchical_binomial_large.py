"""Large groups' likelihoods of p, in the place of sums over their counts: values, draws, fits."""

import arviz as az
import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.engines import pooled_proportions as pooling
from bayesdp.engines.curve_integrals import in_one
from bayesdp.engines.likelihood_curves import likelihood_curve
from bayesdp.engines.partial_pooling import log_targets
from bayesdp.inference.counts.hierarchical_binomial import Known
from bayesdp.kernels.curve_integrals import curve_of, draw_proportion, log_integral
from bayesdp.kernels.pooled import proportions as kernels

pytestmark = pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")

FALSE_ALARM = 1e-6
N = 20_000


def laplace(scale, n=N):
    return bdp.mechanisms.DiscreteLaplaceMechanism(scale, 1.0, neighbours="replace_one", n=n)


def law_of(mechanism, z):
    x = np.arange(mechanism.n + 1)
    counted = mechanism.name == "beta_binomial"
    return mechanism.logp(z, bdp.Count(x, mechanism.n) if counted else x), x


def curve_at(law, x, n, least=150.0):
    keep = law > law.max() - least
    return curve_of(in_one([likelihood_curve(law[keep], x[keep], n, least)]), 0, float(n))


LAWS = {
    "few copies": (bdp.mechanisms.BetaBinomialMechanism(N, 1000, (100.0, 100.0)), 40),
    "all of a kind": (bdp.mechanisms.BetaBinomialMechanism(N, 1000, (0.01, 0.01)), 0),
    "all but two": (bdp.mechanisms.BetaBinomialMechanism(N, 1000, (0.01, 0.01)), 998),
    "as many copies": (bdp.mechanisms.BetaBinomialMechanism(N, N, (100.0, 100.0)), 8000),
    "a kink": (laplace(200.0), 10_000),
    "a wide kink": (laplace(2000.0), 5000),
    "noise below 0": (laplace(200.0), -1000),
    "little noise": (laplace(2.0), 5000),
}


@pytest.mark.parametrize("kind", LAWS)
def test_integrals_are_the_whole_sums(kind):
    """Where groups are alike and unlike this one, and where p is near 0 or 1; to nine digits."""
    mechanism, z = LAWS[kind]
    law, x = law_of(mechanism, z)
    curve = curve_at(law, x, N)
    whole = pooling.given_proportions([law], [x], [N], (1.0, 1.0, 1.0))
    rng, best = np.random.default_rng(1), int(law.argmax())
    near = special.logit(np.clip(best / N, 1e-4, 1 - 1e-4))
    places = [(near + rng.normal() / 5, rng.uniform(-2, 25)) for _ in range(40)]
    places += [(rng.uniform(-1, 1) * s, rng.uniform(-9, 25)) for s in (1, 5, 20, 90) * 10]
    for u, v in places:
        alpha, beta = np.exp(special.log_expit(u) + v), np.exp(special.log_expit(-u) + v)
        right = kernels.log_sum(whole, 0, N + 1, best, float(N), alpha, beta)
        if right > law.max() - 120:
            assert log_integral(curve, u, alpha, beta) == pytest.approx(right, abs=1e-8), (u, v)


@pytest.mark.slow
def test_integrals_for_a_million_records():
    """Against the exact evidence of a group alone, whose prior of p is that beta distribution."""
    mechanism = bdp.mechanisms.BetaBinomialMechanism(10**6, 1000, (100.0, 100.0))
    release = bdp.Release.of(mechanism, [300])
    curve = curve_at(*law_of(mechanism, 300), 10**6)
    for u, v in [(0.0, 0.0), (-0.8, 4.0), (-0.7, 9.0), (-1.2, 12.0), (-0.85, 20.0), (4.0, 1.0)]:
        alpha, beta = np.exp(special.log_expit(u) + v), np.exp(special.log_expit(-u) + v)
        right = bdp.BinomialModel((alpha, beta)).log_evidence(release)
        assert log_integral(curve, u, alpha, beta) == pytest.approx(right, abs=1e-8), (u, v)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("z", "u", "v"),
    [(3, -4.0, 3.0), (0, -7.0, 0.0), (0, -3.0, -4.0), (900, 2.0, 8.0), (1000, 5.0, 2.0)],
)
def test_proportions_are_drawn_from_their_law(z, u, v):
    """A mixture of beta distributions, one a count; also where half of it is below 10^-300."""
    n = 3000
    law, x = law_of(bdp.mechanisms.BetaBinomialMechanism(n, 1000, (0.5, 0.5)), z)
    alpha, beta = np.exp(special.log_expit(u) + v), np.exp(special.log_expit(-u) + v)
    rng, curve = np.random.default_rng(5), curve_at(law, x, n)
    drawn = np.array([draw_proportion(curve, u, alpha, beta, rng) for _ in range(4000)])
    terms = law + stats.betabinom.logpmf(x, n, alpha, beta)
    weights = special.softmax(terms)
    some = weights > 1e-12
    a, b = alpha + x[some], beta + n - x[some]

    first, second = drawn[::2], drawn[1::2]
    first = first[(first > 0) & (first < 1 - 1e-9)]
    edges = np.unique(np.quantile(first, np.linspace(0.05, 0.95, 19)))
    below = sum(
        w * stats.beta.cdf(edges, *each) for w, *each in zip(weights[some], a, b, strict=True)
    )
    expected = np.diff(below, prepend=0.0, append=1.0) * second.size
    seen = np.bincount(np.searchsorted(edges, second), minlength=edges.size + 1)
    assert expected.min() > 5
    assert stats.chisquare(seen, expected).pvalue > FALSE_ALARM


def test_large_and_small_groups_in_one_model():
    """The target is the same whether or not a group has a curve, on all of the posterior."""
    groups = {
        "a": (bdp.mechanisms.BetaBinomialMechanism(N, 1000, (100.0, 100.0)), [300]),
        "b": (bdp.mechanisms.BetaBinomialMechanism(30, 30, (5.0, 5.0)), [17]),
        "c": (laplace(300.0), [9000]),
    }
    model = bdp.models.HierarchicalBinomialModel()
    known = model.known(bdp.Release.of_groups(groups))
    given = model.given(known)
    assert [int(ends) for ends in np.diff(given[0], prepend=0)] == [0, 31, 0]
    laws, counts, sizes, _ = (list(each) for each in zip(*known, strict=True))
    whole = pooling.given_proportions(laws, counts, sizes, (1.0, 1.0, 10.0))
    u, v = np.linspace(-6, 6, 9), np.linspace(-6, 20, 9)
    points = np.stack(np.meshgrid(u, v, indexing="ij"), axis=-1).reshape(-1, 2)
    right = log_targets(points, False, whole)
    found = log_targets(points, False, given)
    np.testing.assert_allclose(found, right, atol=1e-8)


def likelihoods(release, t):
    """Of each group, at log odds t: binomial, of a share that is normal to 1 / n."""
    p, (nodes, weights) = special.expit(t), special.roots_hermitenorm(9)
    found = []
    for part in release.parts:
        n, size, a = part.mechanism.n, part.mechanism.size, part.mechanism.prior[0]
        share = (n * p + a) / (n + 2 * a) + nodes[:, None] * np.sqrt(2 * p * (1 - p) / n)
        laws = stats.binom.pmf(part.outputs[0], size, np.clip(share, 0, 1))
        found.append(weights @ laws / weights.sum())
    return np.array(found)


@pytest.mark.slow
def test_three_groups_of_a_million_records():
    """Within 5 Monte Carlo standard errors of quadrature over p, m and kappa."""
    mechanism = bdp.mechanisms.BetaBinomialMechanism(10**6, 1000, (100.0, 100.0))
    release = bdp.Release.of_groups({g: (mechanism, [300 + 50 * g]) for g in range(3)})
    idata = bdp.models.HierarchicalBinomialModel().fit(release, draws=1000, warmup=300, seed=1)
    t = np.linspace(-14, 14, 2801)
    each, p = likelihoods(release, t), special.expit(t)
    u, v = np.linspace(-6, 5, 111), np.linspace(-5, 11, 81)
    log_p, means = np.empty((u.size, v.size)), np.empty((u.size, v.size, 3))
    for i, m in enumerate(special.expit(u)):
        kappa = np.exp(v)[:, None]
        a, b = m * kappa, (1 - m) * kappa
        density = special.xlogy(a, p) + special.xlogy(b, 1 - p) - special.betaln(a, b)
        integrals = np.exp(density) @ each.T
        means[i] = np.exp(density) @ (each * p).T / np.maximum(integrals, 1e-300)
        prior = np.log(m * (1 - m)) + v - 2 * np.log(10 + kappa[:, 0])
        log_p[i] = np.log(np.maximum(integrals, 1e-300)).sum(axis=1) + prior
    w = special.softmax(log_p)
    drawn, errors = idata.posterior, az.mcse(idata)
    assert abs(float(drawn["mean"].mean()) - w.sum(axis=1) @ special.expit(u)) < 5 * errors["mean"]
    right = np.einsum("uv,uvg->g", w, means)
    found = drawn["p"].mean(("chain", "draw")).to_numpy()
    assert np.all(np.abs(found - right) < 5 * errors["p"].to_numpy())
    assert "no problem" in idata.attrs["verdict"]


def test_many_groups_whose_sums_would_be_too_many():
    groups = {g: (laplace(15.0, 3000), [1500]) for g in range(120)}
    model = bdp.models.HierarchicalBinomialModel()
    given = model.given(model.known(bdp.Release.of_groups(groups)))
    assert given[0][-1] == 0  # no group's counts are summed over at each step


def test_laws_that_are_not_log_concave_are_summed_or_refused():
    x = np.arange(150_001)
    known = [Known(np.zeros(x.size), x, x.size - 1, False)] * 2
    with pytest.raises(bdp.errors.InvalidInput, match="300,002 counts of the groups likely"):
        bdp.models.HierarchicalBinomialModel().given(known)
