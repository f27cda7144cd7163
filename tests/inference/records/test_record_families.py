"""Proportions and categories by data augmentation and marginal chains, against exact ones.

False alarm 1e-6 a number.
"""

import numpy as np
import pytest

import bayesdp as bdp
from tests.inference.record_functions import LIMIT, standard_errors

pytestmark = pytest.mark.slow

REPLACE = bdp.Neighbours.REPLACE_ONE
ALPHA = (0.7, 1.0, 2.5)

CELLS = {
    "histogram, n unknown": (
        bdp.mechanisms.PerturbedHistogramMechanism(1.3, 3),
        [(5, 0, 6), (3, 2, 9)],
        range(8, 15),
    ),
    "truncated": (
        bdp.mechanisms.DiscreteGaussianMechanism(2.0, 2.0, REPLACE, 3, (0, 12), "truncated", n=12),
        [(4, 0, 12), (6, 1, 3)],
        None,
    ),
    "copies": (
        bdp.mechanisms.ConjugateMechanism(
            "categorical", "synthetic_one", 12, (2.0, 1.5, 3.0), size=9
        ),
        [(4, 0, 5), (2, 3, 4)],
        None,
    ),
}


@pytest.mark.parametrize("name", CELLS)
def test_cells_equal_the_exact_engine(name):
    mechanism, outputs, n = CELLS[name]
    release, model = bdp.Release.of(mechanism, outputs), bdp.MultinomialModel(ALPHA, n=n)
    idata = model.fit(release, engine="augmentation", draws=20_000, warmup=200, seed=1)
    assert idata.attrs["engine"] == "augmentation"
    assert set(idata.sample_stats) == {"acceptance_rate", "log_law"}
    for i in range(3):
        exact, theta = model.posterior(release, i), idata.posterior["theta"].to_numpy()[..., i]
        assert standard_errors(theta, exact.mean()) < LIMIT
        assert standard_errors((theta - exact.mean()) ** 2, exact.sd() ** 2) < LIMIT


def test_groups():
    large = bdp.mechanisms.PerturbedHistogramMechanism(2.0, 3, REPLACE, n=20)
    small = bdp.mechanisms.PerturbedHistogramMechanism(1.0, 3, REPLACE, n=9)
    release = bdp.Release.of_groups({"a": (large, [(9, 7, 5)]), "b": (small, [(1, 0, 8)])})
    model = bdp.MultinomialModel(ALPHA)
    idata = model.fit(release, engine="augmentation", draws=10_000, warmup=200, seed=2)
    assert idata.posterior["theta"].dims == ("chain", "draw", "group", "category")
    for label in ("a", "b"):
        theta = idata.posterior["theta"].sel(group=label).to_numpy()[..., 0]
        assert standard_errors(theta, model.posterior(release[label], 0).mean()) < LIMIT


COUNTS = {
    "beta-binomial": (bdp.mechanisms.BetaBinomialMechanism(30, 20, (4.0, 4.0)), [5, 9], None),
    "n unknown": (bdp.mechanisms.BetaBinomialMechanism(None, 20, (4.0, 4.0)), [5, 9], range(5, 25)),
    "conjugate": (
        bdp.mechanisms.ConjugateMechanism("bernoulli", "synthetic_one", 30, (4.0, 4.0), size=20),
        [5, 9],
        None,
    ),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_equal_the_exact_engine(name):
    mechanism, outputs, n = COUNTS[name]
    release = bdp.Release.of(mechanism, outputs, delta=1e-3)
    model = bdp.BinomialModel((1.0, 2.0), n)
    idata = model.fit(release, engine="augmentation", draws=20_000, warmup=200, seed=3)
    assert idata.posterior["p"].dims == ("chain", "draw")
    exact, p = model.posterior(release), idata.posterior["p"].to_numpy()
    assert standard_errors(p, exact.mean()) < LIMIT
    assert standard_errors((p - exact.mean()) ** 2, exact.sd() ** 2) < LIMIT


def test_binary_answers_equal_the_exact_engine():
    mechanism = bdp.mechanisms.RandomizedResponseMechanism(((3, 1), (2, 5)), n=30)
    answers = np.arange(30) % 3 == 0
    release = bdp.Release.of(mechanism, [answers + 0, np.roll(answers, 1) + 0])
    model = bdp.MultinomialModel((0.5, 2.0))
    exact = model.posterior(release, 1)
    for engine in ("marginal", "augmentation", "gibbs"):
        theta = model.fit(release, engine=engine, draws=20_000, seed=4).posterior["theta"]
        one = theta.to_numpy()[..., 1]
        assert standard_errors(one, exact.mean()) < LIMIT
        assert standard_errors((one - exact.mean()) ** 2, exact.sd() ** 2) < LIMIT


# dapper's example: 400 admissions, a 2 x 2 table, each of a record's two bits kept with
# probability 3/4. A record is one of four categories, whose matrix is a Kronecker product.
BIT = ((3, 1), (1, 3))
PRIVATE, CONFIDENTIAL = (74, 102, 104, 120), (46, 118, 109, 127)
DAPPER_MEAN, DAPPER_SD = (0.111, 0.268, 0.281, 0.339), (0.056, 0.062, 0.063, 0.068)
DAPPER_ESS = 103


def quadrature(counts):
    """Mean and sd of theta, uniform on the simplex, by Gauss-Legendre in stick-breaking."""
    node, weight = np.polynomial.legendre.leggauss(90)
    u, w = (node + 1) / 2, weight / 2
    a, b, c = np.meshgrid(u, u, u, indexing="ij")
    theta = np.stack([a, (1 - a) * b, (1 - a) * (1 - b) * c, (1 - a) * (1 - b) * (1 - c)], -1)
    law = np.log(theta @ (np.kron(BIT, BIT) / 16)) @ np.array(counts)
    mass = np.exp(law - law.max()) * (1 - a) ** 2 * (1 - b)
    mass *= w[:, None, None] * w[:, None] * w
    mass /= mass.sum()
    mean = np.einsum("ijk,ijkm->m", mass, theta)
    return mean, np.sqrt(np.einsum("ijk,ijkm->m", mass, (theta - mean) ** 2))


def test_dapper_example():
    """The counts 74/102/104/120 are those released: only they lead to the posterior printed.

    Its means .281, .339, .111 and .268 are those of the cells with 104, 120, 74 and 102 answers.
    """
    mean, sd = quadrature(PRIVATE)
    off = np.abs(mean - DAPPER_MEAN) / (sd / np.sqrt(DAPPER_ESS))
    assert np.all(off < LIMIT)
    assert np.all(np.abs(sd / DAPPER_SD - 1) < LIMIT / np.sqrt(2 * DAPPER_ESS))
    other, spread = quadrature(CONFIDENTIAL)
    assert np.max(np.abs(other - DAPPER_MEAN) / (spread / np.sqrt(DAPPER_ESS))) > 40
    mechanism = bdp.mechanisms.RandomizedResponseMechanism(np.kron(BIT, BIT), n=400)
    release = bdp.Release.of(mechanism, [np.repeat(np.arange(4), PRIVATE)])
    model = bdp.MultinomialModel((1, 1, 1, 1))
    for engine in ("marginal", "augmentation", "gibbs"):
        theta = model.fit(release, engine=engine, draws=20_000, seed=5).posterior["theta"]
        for i in range(4):
            one = theta.to_numpy()[..., i]
            assert standard_errors(one, mean[i]) < LIMIT
            assert standard_errors((one - mean[i]) ** 2, sd[i] ** 2) < LIMIT


def test_auto_sums_answers_out():
    mechanism = bdp.mechanisms.RandomizedResponseMechanism(np.kron(BIT, BIT), n=400)
    release = bdp.Release.of(mechanism, [np.repeat(np.arange(4), PRIVATE)])
    idata = bdp.MultinomialModel((1, 1, 1, 1)).fit(release, seed=5)
    assert idata.attrs["engine"] == "pymc"
    assert "summed out" in idata.attrs["engine_reason"]
    mean, _ = quadrature(PRIVATE)
    for i in range(4):
        one = idata.posterior["theta"].to_numpy()[..., i]
        assert standard_errors(one, mean[i]) < LIMIT


def test_auto_takes_what_is_first_in_order():
    """Exact where it is possible; Gibbs for mixtures; augmentation where counts are too wide."""
    counted = bdp.Release.of(bdp.mechanisms.BetaBinomialMechanism(30, 20, (4.0, 4.0)), [5])
    mean = bdp.Release.of(bdp.mechanisms.LaplaceMechanism(0.5, 0.1, REPLACE, n=20), [1.0])
    cells = bdp.Release.of(
        bdp.mechanisms.PerturbedHistogramMechanism(2.0, 3, REPLACE, n=20), [(9, 7, 5)]
    )
    fits = [
        (bdp.BinomialModel(), counted),
        (bdp.GaussianModel(sd=1.0), mean),
        (bdp.MultinomialModel(ALPHA), cells),
    ]
    for model, release in fits:
        attrs = model.fit(release, draws=20, seed=1).attrs
        assert attrs["engine"] == "exact"
        assert "independent" in attrs["engine_reason"]
        assert attrs["verdict"].startswith("independent draws")
    n = 200_000_000
    wide = bdp.mechanisms.DiscreteLaplaceMechanism(4e3, 2.0, REPLACE, 4, n=n)
    z = (n // 10, n // 5, 3 * n // 10, 2 * n // 5)
    release, model = bdp.Release.of(wide, [z]), bdp.MultinomialModel((1, 1, 1, 1))
    idata = model.fit(release, draws=4000, seed=1)
    assert idata.attrs["engine"] == "augmentation"
    assert "too many values" in idata.attrs["engine_reason"]
    assert idata.attrs["verdict"].startswith("no problem")
    for i in range(4):  # by symmetry, as the outputs sum to n; the prior weighs next to nothing
        assert standard_errors(idata.posterior["theta"].to_numpy()[..., i], z[i] / n) < LIMIT
    with pytest.raises(bdp.errors.InvalidInput, match="values to look at"):
        model.fit(release, engine="exact")


def test_engines_that_do_not_fit_are_refused():
    cells = bdp.Release.of(
        bdp.mechanisms.PerturbedHistogramMechanism(2.0, 3, REPLACE, n=20), [(9, 7, 5)]
    )
    model = bdp.MultinomialModel(ALPHA)
    with pytest.raises(
        bdp.errors.InvalidInput, match="engine is 'marginal', but the latent counts"
    ):
        model.fit(cells, engine="marginal")
    with pytest.raises(bdp.errors.InvalidInput, match="'marginal', 'augmentation'"):
        model.fit(cells, engine="jags")
    theta = bdp.mechanisms.ConjugateMechanism("categorical", "parameter_draw", 12, (2.0, 1.5, 3.0))
    release = bdp.Release.of(theta, [(0.25, 0.25, 0.5)], delta=1e-3)
    with pytest.raises(bdp.errors.InvalidInput, match="data augmentation takes"):
        model.fit(release, engine="augmentation")
