"""Parts of a posterior's variance, against enumeration of counts and integrals over densities."""

import itertools

import arviz as az
import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

import bayesdp as bdp

parts = bdp.evaluate.variance_parts
PARTS = ["noise", "sampling", "model"]
SIZES = {"a": 5, "b": 9}


def released(scale=2.0, times=1):
    """Noisy counts of two groups."""
    seen = {"a": [1, 2], "b": [8, 5]}
    return bdp.Release.of_groups(
        {
            g: (
                bdp.mechanisms.DiscreteLaplaceMechanism(scale, 1.0, "replace_one", n=n),
                seen[g][:times],
            )
            for g, n in SIZES.items()
        }
    )


def law(release, group, x):
    """Pr[outputs | x], by the mechanism itself."""
    (part,) = release[group].parts
    return np.exp(sum(float(part.mechanism.logp(z, x)) for z in part.outputs))


def by_hand(weighted):
    """Mean and parts of a list of (probability of x, a, b), theta given x Beta(a, b)."""
    w, a, b = np.array(weighted).T
    w = w / w.sum()
    each = [stats.beta.stats(*ab, moments="mv") for ab in zip(a, b, strict=True)]
    means, variances = np.array(each, dtype=float).T
    mean = w @ means
    return mean, w @ (means - mean) ** 2, w @ variances


@pytest.mark.parametrize("times", [1, 2])
def test_a_proportion_by_enumeration(times):
    release, prior = released(times=times), (0.7, 1.9)
    found = parts(bdp.BinomialModel(prior), release)
    assert list(found.columns) == ["mean", "variance", *PARTS]
    assert found.index.tolist() == ["a", "b"]
    for g, n in SIZES.items():
        cells = [
            (law(release, g, x) * stats.betabinom.pmf(x, n, *prior), prior[0] + x, prior[1] + n - x)
            for x in range(n + 1)
        ]
        mean, noise, sampling = by_hand(cells)
        row = found.loc[g]
        assert row[["mean", "noise", "sampling"]].tolist() == pytest.approx([mean, noise, sampling])
        assert row["variance"] == pytest.approx(
            bdp.BinomialModel(prior).posterior(release[g]).sd() ** 2, rel=1e-10
        )
        assert (row["model"], row["noise"] > 0) == (0, True)


def test_an_unknown_number_of_records_is_noise():
    noise = bdp.mechanisms.DiscreteLaplaceMechanism(1.0, 1.0, "add_remove")
    release = bdp.Release.of(noise, [4])
    known, unknown = (parts(bdp.BinomialModel(n=n), release).loc["p"] for n in (10, range(5, 16)))
    assert unknown["noise"] > 1.5 * known["noise"]
    mixture = bdp.BinomialModel(n=range(5, 16)).posterior(release)
    assert unknown["variance"] == pytest.approx(mixture.sd() ** 2, rel=1e-10)


def test_categories_by_enumeration():
    noise = bdp.mechanisms.PerturbedHistogramMechanism(2.0, 3, "replace_one", n=6)
    release, prior = bdp.Release.of(noise, [(4, 3, 0)]), np.array([1.0, 0.5, 2.0])
    found = parts(bdp.MultinomialModel(tuple(prior)), release)
    vectors = [x for x in itertools.product(range(7), repeat=3) if sum(x) == 6]
    weights = [
        np.exp(float(noise.logp((4, 3, 0), x))) * stats.dirichlet_multinomial.pmf(x, prior, 6)
        for x in vectors
    ]
    assert found.index.name == "category"
    for k in range(3):
        cells = [
            (w, prior[k] + x[k], prior.sum() - prior[k] + 6 - x[k])
            for w, x in zip(weights, vectors, strict=True)
        ]
        assert found.loc[k, ["mean", "noise", "sampling"]].tolist() == pytest.approx(by_hand(cells))
    assert found["variance"].tolist() == pytest.approx(found[PARTS].sum(axis=1).tolist())


def test_rates_by_enumeration():
    noise = bdp.mechanisms.DiscreteLaplaceMechanism(2.0, 1.0, dimension=2)
    release = bdp.Release.of_groups({"f": (noise, [(9, 4)]), "m": (noise, [(-1, 2)])})
    (a, b), expected = (1.5, 0.5), (2.0, 0.7)
    found = parts(bdp.models.PoissonModel((a, b), expected), release)
    assert found.index.names == ["group", "area"]
    x = np.arange(400)
    for g, z in (("f", (9, 4)), ("m", (-1, 2))):
        for i, e in enumerate(expected):
            w = np.exp(-np.abs(z[i] - x) / 2.0) * stats.nbinom.pmf(x, a, b / (b + e))
            w /= w.sum()
            mean = (a + x) / (b + e)
            wanted = [w @ mean, w @ mean**2 - (w @ mean) ** 2, w @ mean / (b + e)]
            row = found.loc[(g, i), ["mean", "noise", "sampling"]]
            assert row.tolist() == pytest.approx(wanted, rel=1e-9)


def pooled(release, mean, sd):
    """A fit of the hierarchical model with these draws."""
    idata = az.from_dict(posterior={"mean": np.array([mean]), "sd": np.array([sd])})
    idata.attrs = {"family": "hierarchical_binomial", "release": release.fingerprint}
    return idata


def test_a_pooled_proportion_by_integrals():
    """The variance is that of the mixture's density, whose parts are summed over each count."""
    release, model = released(), bdp.models.HierarchicalBinomialModel()
    mean, kappa = np.array([0.3, 0.5, 0.8]), np.array([8.0, 30.0, 12.0])
    sd = np.sqrt(mean * (1 - mean) / (kappa + 1))
    found, t = parts(model, release, pooled(release, mean, sd)), np.linspace(0, 1, 4001)
    for g, n in SIZES.items():
        each, density = [], []
        for m, k in zip(mean, kappa, strict=True):
            a, b = m * k, (1 - m) * k
            w = [law(release, g, x) * stats.betabinom.pmf(x, n, a, b) for x in range(n + 1)]
            cells = [(w[x], a + x, b + n - x) for x in range(n + 1)]
            each.append(by_hand(cells))
            density.append([(p / sum(w), *ab) for p, *ab in cells])
        means, noise, sampling = np.mean(each, axis=0)
        wanted = [means, noise, sampling, np.var([one[0] for one in each])]
        assert found.loc[g, ["mean", *PARTS]].tolist() == pytest.approx(wanted, rel=1e-9)

        pdf = np.mean([sum(w * stats.beta.pdf(t, a, b) for w, a, b in one) for one in density], 0)
        first, second = (integrate.simpson(t**j * pdf, x=t) for j in (1, 2))
        assert found.loc[g, "variance"] == pytest.approx(second - first**2, rel=1e-5)


def test_parts_go_with_what_causes_them():
    """No noise where next to none was added, and no model's part where its parameters are known."""
    release, model = released(scale=0.02), bdp.models.HierarchicalBinomialModel()
    draws = np.array([0.2, 0.4]), np.array([0.1, 0.2])
    exact = parts(model, release, pooled(release, *draws))
    assert (exact["noise"] < 1e-12).all()
    assert (exact["model"] > 1e-4).all()
    noisy = released(scale=4.0)
    known = parts(model, noisy, pooled(noisy, draws[0][:1], draws[1][:1]))
    assert (known["model"] == 0).all()
    assert (known["noise"] > 1e-3).all()
    same = parts(model, noisy, pooled(noisy, np.array([0.5]), np.array([0.0])))
    assert same["variance"].max() < 1e-12  # all groups have one proportion


@pytest.mark.slow
def test_parts_of_a_fit_add_up_to_its_variance():
    """By 8,000 draws, of some 2,000 effective ones at least; 6 standard errors of a variance."""
    release, model = released(), bdp.models.HierarchicalBinomialModel()
    idata = model.fit(release, draws=2000, seed=1)
    found = parts(model, release, idata)
    p = idata.posterior["p"].to_numpy().reshape(-1, 2)
    np.testing.assert_allclose(found["variance"], p.var(axis=0), rtol=6 * np.sqrt(2 / 1000))
    np.testing.assert_allclose(found["mean"], p.mean(axis=0), atol=6 * p.std() / np.sqrt(1000))


def test_what_has_no_parts_is_refused():
    release = released()
    with pytest.raises(bdp.errors.InvalidInput, match="model is a GaussianModel, whose latent"):
        parts(bdp.GaussianModel((0, 1), 1.0), release)
    with pytest.raises(bdp.errors.InvalidInput, match="model is the class BinomialModel"):
        parts(bdp.BinomialModel, release)
    with pytest.raises(bdp.errors.InvalidInput, match="isn't this model's posterior"):
        parts(bdp.models.HierarchicalBinomialModel(), release)
    copies = bdp.mechanisms.PoissonGammaMechanism(12, (2.0, 3.0), (1.0, 1.0), 12)
    tied = bdp.Release.of(copies, [(5, 7)])
    with pytest.raises(bdp.errors.InvalidInput, match="tie the counts"):
        parts(bdp.models.PoissonModel(), tied)
    assert isinstance(parts(bdp.BinomialModel(), release), pd.DataFrame)
