"""Simulation-based calibration of rates and of probabilities: the truth ranks among its draws.

Every group of one release has parameters of its own, from the prior, so that one fit is many
replicates. Chi-square on the ranks, or on each of several; false alarms 1e-6 a test.
"""

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from tests.conftest import require_pystan
from tests.inference.counts.test_hierarchical_binomial import simulated

KEPT, BINS = 99, 10  # draws a replicate, so that ranks are 0..99
FALSE_ALARM = 1e-6
ADD, REPLACE = bdp.Neighbours.ADD_REMOVE, bdp.Neighbours.REPLACE_ONE
RATES, EXPECTED = (1.5, 0.5), (2.0, 0.7, 6.0)
PRIOR = (0.8, 2.0, 1.0, 0.5)


def ranks(drawn, truth):
    """Of each parameter in each group, among thinned draws, shape (groups, parameters)."""
    flat = drawn.to_numpy().reshape(-1, *truth.shape)
    thin = flat[:: len(flat) // KEPT][:KEPT]
    assert len(thin) == KEPT
    return (thin < truth).sum(axis=0)


def smallest(found) -> float:
    """The smallest p-value of uniform ranks, times the number of parameters."""
    counts = [np.bincount(column * BINS // (KEPT + 1), minlength=BINS) for column in found.T]
    return len(counts) * min(stats.chisquare(each).pvalue for each in counts)


def events(kind, expected, x):
    """How events of one group are released, of which there are x."""
    if kind == "noise":
        return bdp.mechanisms.DiscreteLaplaceMechanism(2.0, 1.0, dimension=len(x))
    if kind == "noise, n public":
        return bdp.mechanisms.PerturbedHistogramMechanism(1.5, len(x), REPLACE, n=int(x.sum()))
    total, n = {
        "copies": (None, None),
        "copies of a fixed total": (9, None),
        "copies, n public": (12, int(x.sum())),
    }[kind]
    return bdp.mechanisms.PoissonGammaMechanism(n, expected, (1.0, 2.5, 3.0), total)


def released_events(kind, groups):
    """True rates and what was released; groups differ in their expected counts where they may."""
    rng, truth, made = np.random.default_rng(8), [], {}
    for g in range(groups):
        scale = 1.0 if kind.startswith("noise") else rng.uniform(0.5, 2.0)
        expected = tuple(scale * np.array(EXPECTED))
        rate = rng.gamma(RATES[0], 1 / RATES[1], 3)
        x = rng.poisson(rate * expected)
        if x.sum() == 0 and "public" in kind:  # which is seen, and no release
            continue
        mechanism = events(kind, expected, x)
        with bdp.reproducible(g):
            outputs = mechanism.release(x, copies=2)
        made[g] = (mechanism, [tuple(z) for z in np.asarray(outputs).tolist()])
        truth.append(rate)
    model = bdp.models.PoissonModel(RATES, EXPECTED if kind.startswith("noise") else None)
    return model, bdp.Release.of_groups(made), np.array(truth)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")  # of 200, by chance
@pytest.mark.parametrize(
    ("kind", "tied"),
    [
        ("noise", False),
        ("copies", False),
        pytest.param("copies of a fixed total", True, marks=pytest.mark.slow),
        *(
            pytest.param(kind, True, marks=pytest.mark.calibrate)
            for kind in ("noise, n public", "copies, n public")
        ),
    ],
)
def test_rates(kind, tied):
    model, release, truth = released_events(kind, 200)
    draws = 10 * KEPT if tied else KEPT
    idata = model.fit(release, draws=draws, chains=1, warmup=200, seed=3)
    assert idata.attrs["engine"] == ("gibbs" if tied else "exact")
    assert smallest(ranks(idata.posterior["rate"], truth)) > FALSE_ALARM


@pytest.mark.calibrate
@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")  # of 200, by chance
@pytest.mark.parametrize("kind", ["noise", "copies"])
@pytest.mark.parametrize("engine", ["pymc", "stan"])
def test_rates_by_nuts(engine, kind):
    if engine == "stan":
        require_pystan()
    model, release, truth = released_events(kind, 200)
    options = {"chains": 1, "warmup": 400, "seed": 3}
    idata = model.fit(release, engine=engine, draws=5 * KEPT, **options)
    assert not idata.sample_stats["diverging"].any()
    assert smallest(ranks(idata.posterior["rate"], truth)) > FALSE_ALARM


@pytest.mark.slow
def test_the_check_convicts_a_wrong_prior_of_rates():
    _, release, truth = released_events("copies", 200)
    wrong = bdp.models.PoissonModel((RATES[0], 3 * RATES[1]))
    found = wrong.fit(release, draws=KEPT, chains=1, seed=3).posterior["rate"]
    assert smallest(ranks(found, truth)) < FALSE_ALARM


def tables(kind, n):
    """The mechanisms of one group's table, and the model's n."""
    copies = bdp.mechanisms.DirichletMultinomialMechanism(n, 20, 4, (3.0, 1.0, 4.0, 2.0))
    noise = bdp.mechanisms.PerturbedHistogramMechanism(2.0, 4, REPLACE, n=n)
    if kind == "copies":
        return [copies]
    if kind == "copies and noise":
        return [copies, noise]
    if kind == "copies, n confidential":
        return [bdp.mechanisms.DirichletMultinomialMechanism(None, 20, 4, (3.0, 1.0, 4.0, 2.0))]
    return [bdp.mechanisms.PerturbedHistogramMechanism(2.0, 4, ADD)]


def released_tables(kind, groups):
    rng = np.random.default_rng(9)
    truth = rng.dirichlet(PRIOR, groups)
    confidential = "confidential" in kind
    found = []
    for g, theta in enumerate(truth):
        n = int(rng.integers(5, 31)) if confidential else 25
        x = rng.multinomial(n, theta)
        with bdp.reproducible(g):
            made = [(m, np.asarray(m.release(x, copies=2)).tolist()) for m in tables(kind, n)]
        found.append([(m, [tuple(z) for z in outputs]) for m, outputs in made])
    releases = [bdp.Release.of_groups(dict(enumerate(each))) for each in zip(*found, strict=True)]
    return bdp.MultinomialModel(PRIOR, n=range(5, 31) if confidential else None), releases, truth


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["copies", "copies and noise", "copies, n confidential", "noise, n confidential"]
)
def test_probabilities(kind):
    model, releases, truth = released_tables(kind, 200)
    release = releases if len(releases) > 1 else releases[0]
    idata = model.fit(release, draws=KEPT, chains=1, seed=4)
    assert idata.attrs["engine"] == "exact"
    assert smallest(ranks(idata.posterior["theta"], truth)) > FALSE_ALARM


def test_the_check_convicts_a_posterior_that_believes_the_copies():
    model, (release,), truth = released_tables("copies", 200)
    found = model.fit_naive(release, draws=KEPT, chains=1, seed=4).posterior["theta"]
    assert smallest(ranks(found, truth)) < FALSE_ALARM


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")  # of 150, by chance
@pytest.mark.parametrize(
    "engine",
    [
        "marginal",
        "augmentation",
        *(pytest.param(engine, marks=pytest.mark.calibrate) for engine in ("pymc", "stan")),
    ],
)
def test_probabilities_from_answers_by_other_engines(engine):
    if engine == "stan":
        require_pystan()
    rng, n, alpha = np.random.default_rng(11), 30, (1.0, 2.0, 0.7)
    mechanism, truth = (
        bdp.mechanisms.RandomizedResponseMechanism.kary(1.5, 3, n=n),
        rng.dirichlet(alpha, 150),
    )
    made = {}
    for g, theta in enumerate(truth):
        with bdp.reproducible(g):
            answers = mechanism.release(rng.choice(3, size=n, p=theta))
        made[g] = (mechanism, [tuple(z) for z in np.asarray(answers).tolist()])
    model, options = bdp.MultinomialModel(alpha), {"chains": 1, "warmup": 200, "seed": 5}
    idata = model.fit(bdp.Release.of_groups(made), engine=engine, draws=20 * KEPT, **options)
    assert smallest(ranks(idata.posterior["theta"], truth)) > FALSE_ALARM


@pytest.mark.calibrate
@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")  # of 60 fits, by chance
@pytest.mark.parametrize("engine", ["pymc", "stan"])
def test_pooled_proportions_by_nuts(engine):
    """A fit for each draw of the population; tests/inference/counts has the marginal engine's."""
    if engine == "stan":
        require_pystan()
    rng, found, c = np.random.default_rng(6), [], 8.0
    model = bdp.models.HierarchicalBinomialModel((2.0, 2.0), concentration=c)
    for i in range(60):
        m, sd, p, release = simulated(rng, c, i)
        options = {"draws": 5 * KEPT, "chains": 1, "warmup": 400, "seed": i}
        drawn = model.fit(release, engine=engine, **options).posterior
        truths = {"mean": np.array(m), "sd": np.array(sd), "p": p}
        found.append(np.concatenate([np.ravel(ranks(drawn[k], v)) for k, v in truths.items()]))
    assert smallest(np.array(found)[:, :3]) > FALSE_ALARM
