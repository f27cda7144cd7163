"""Posteriors of a population's quantiles against enumeration, and what the model refuses."""

import itertools
import math

import arviz as az
import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.engines.latent_quantiles import QuantilePosterior, sample_naive, sample_quantiles
from bayesdp.engines.trimmed_means import sample_naive_mean
from bayesdp.report.html import write_report

MANY = 5.0  # standard errors, of a false alarm of 6e-7
PRIOR = (1.2, 1.0, 0.8, 0.6)
Model = bdp.models.QuantileModel
FUNCTIONS = {
    "location": lambda mu, h, n: mu,
    "log scale": lambda mu, h, n: h,
    "product": lambda mu, h, n: np.tanh(mu - 1) * np.tanh(h),
    "n": lambda mu, h, n: n,
}


def chosen(*outputs: tuple[int, ...], **fields) -> bdp.Release:
    made = bdp.mechanisms.QuantileMechanism(6.0, (0, 1, 1.5, 3), (0.5, 0.8), **fields)
    return bdp.Release.of(made, outputs)


def enumerated(release: bdp.Release, sizes: dict[int, float]) -> dict[str, float]:
    """Posterior means by sums over all counts of n records and a grid of the parameters."""
    m, s, c, d = PRIOR
    mu, h = (v.ravel() for v in np.meshgrid(
        m + s * np.linspace(-6, 6, 81), math.log(c) + d * np.linspace(-6, 6, 81)))  # fmt: skip
    prior = stats.norm.logpdf(mu, m, s) + stats.norm.logpdf(h, math.log(c), d)
    cuts = np.array([-np.inf, *release.mechanism.edges[1:-1], np.inf])
    below = special.ndtr((cuts - mu[:, None]) * np.exp(-h)[:, None])
    log_p = np.log(np.maximum(np.diff(below), 1e-300))
    total, sums = 0.0, dict.fromkeys(FUNCTIONS, 0.0)
    for n, chance in sizes.items():
        for counts in itertools.product(range(n + 1), repeat=release.mechanism.k):
            if sum(counts) != n:
                continue
            law = sum(release.mechanism.logp(z, counts) for z in release.outputs)
            ways = special.gammaln(n + 1) - special.gammaln(np.add(counts, 1)).sum()
            weight = chance * np.exp(prior + log_p @ np.array(counts) + ways + law)
            total += weight.sum()
            for name, f in FUNCTIONS.items():
                sums[name] += float((weight * f(mu, h, n)).sum())
    return {name: value / total for name, value in sums.items()}


def scores(kept, exact) -> list[float]:
    """Distances of the chains' means from exact ones, in their standard errors."""
    found = []
    for name, f in FUNCTIONS.items():
        values = f(kept["location"], kept["log_scale"], kept["n"]).astype(float)
        if values.std() > 0:
            error = values.std() / math.sqrt(float(az.ess(values)))
            found.append(abs(float(values.mean()) - exact[name]) / error)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fields", "sizes"),
    [
        ({"choice": "permute_and_flip"}, {1: 0.2, 2: 0.5, 5: 0.3}),
        ({"neighbours": "replace_one", "n": 4}, {4: 1.0}),
    ],
)
def test_a_few_records_are_as_enumerated(fields, sizes):
    """And the check convicts: where the choice is taken for another, the means lie elsewhere."""
    release = chosen((0, 2), (1, 1), **fields)
    public = "n" in fields
    chances = np.zeros(6)
    chances[[*sizes]] = [*sizes.values()]
    model = Model(prior=PRIOR, n=None if public else chances)
    target = model.read(release)[0].target
    kept = sample_quantiles(target, draws=60, chains=40, warmup=20, seed=1)
    assert max(scores(kept, enumerated(release, sizes))) < MANY
    assert max(scores(kept, enumerated(chosen((2, 2), (1, 2), **fields), sizes))) > 2 * MANY


def trimmed(*outputs: int, n: int = 4, k: int = 3, **fields) -> bdp.Release:
    fields = {"proposal": 1, "threshold": 1, "trim": 0.25, "noise": 2.0, **fields}
    proposal, threshold, noise = (fields.pop(each) for each in ("proposal", "threshold", "noise"))
    made = bdp.mechanisms.TrimmedMeanMechanism(
        range(k + 1), proposal, n, 1.5, noise, threshold, **fields
    )
    return bdp.Release.of(made, outputs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fields", "outputs", "others"),
    [
        ({}, (3, 4), (2, 4)),
        ({"trim": 0.4}, (3, -1), (3, 3)),  # a refusal is not a mean
        ({"k": 4, "n": 3, "proposal": 2, "trim": 0.334}, (3,), (1,)),
        ({"n": 3, "trim": 0.1}, (-1, -1), (6, 6)),
    ],
)
def test_a_trimmed_mean_of_a_few_records_is_as_enumerated(fields, outputs, others):
    """And the check convicts where another was released."""
    release = trimmed(*outputs, **fields)
    sizes = {release.mechanism.n: 1.0}
    target = Model(prior=PRIOR).read(release)[0].target
    kept = sample_quantiles(target, draws=60, chains=40, warmup=20, seed=1)
    assert max(scores(kept, enumerated(release, sizes))) < MANY
    assert max(scores(kept, enumerated(trimmed(*others, **fields), sizes))) > 2 * MANY


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the chains of this fit")  # so few draws tell nothing
@pytest.mark.parametrize("population", ["normal", "lognormal"])
def test_a_trimmed_mean_of_the_population_is_told_where_one_is_released(population):
    """And by groups, in copies, with refusals; new outputs are like those released."""
    made = trimmed(-1, n=40, k=30, proposal=20, trim=0.2, threshold=4).mechanism
    release = bdp.Release.of_groups({"a": (made, [200, -1]), "b": (made, [-1, -1])})
    model = Model(population, prior=(2.0, 0.5, 0.4, 0.3))
    idata = model.fit(release, draws=20, warmup=20, chains=2, seed=1)
    found = {name: idata.posterior[name] for name in ("trimmed_mean", "location", "scale")}
    assert all(each.dims == ("chain", "draw", "group") for each in found.values())
    mean, location, scale = (each.to_numpy().ravel() for each in found.values())
    z = special.ndtri(np.linspace(0.2, 0.8, 20_001))
    for at in (0, 17):
        records = location[at] + scale[at] * z
        of_all = np.mean(np.exp(records) if population == "lognormal" else records)
        assert mean[at] == pytest.approx(of_all, rel=1e-4)
    checked = bdp.posterior_predictive(model, idata, release, draws=5, seed=1)
    outputs = checked.posterior_predictive["outputs"].to_numpy()
    assert np.all((outputs >= -1) & (outputs <= made.furthest))
    before = bdp.prior_predictive(model, release, draws=5, seed=1)
    assert before.prior["trimmed_mean"].dims == ("chain", "draw", "group")
    naive = model.fit_naive(release, draws=4000, seed=1).posterior
    drawn = naive["location"].to_numpy()[..., 1].ravel()  # all refused: the prior
    assert stats.kstest(drawn, stats.norm(2.0, 0.5).cdf).pvalue > 1e-6


@pytest.mark.parametrize("lognormal", [False, True])
@pytest.mark.parametrize("trim", [0.05, 0.25, 0.45])
def test_a_sample_trimmed_mean_alone_has_its_density(trim, lognormal):
    """The naive posterior, against a grid of its own with the variance by quadrature."""
    target = QuantilePosterior(lambda counts: 0.0 * counts[:, 0], np.array([0.0]), PRIOR, [(30, 1)])
    value, window = 2.7, (trim, 1 - trim)
    mu, h, _ = sample_naive_mean(value, window, 30, target, (40_000,), 1, lognormal=lognormal)
    m, s, c, d = PRIOR
    grid = np.meshgrid(m + s * np.linspace(-6, 6, 601), math.log(c) + d * np.linspace(-6, 6, 201))
    unit = np.exp(grid[0]) if lognormal else np.exp(grid[1])
    means, sds = [], []
    for scale in np.exp(grid[1][:, 0]):
        p = (np.arange(4000) + 0.5) / 4000
        q = np.exp(scale * special.ndtri(p)) if lognormal else special.ndtri(p)
        inside = q[(p > trim) & (p < 1 - trim)]
        means.append(inside.mean())
        sds.append(np.clip(q, *inside[[0, -1]]).std() / (1 - 2 * trim) / math.sqrt(30))
    mean, sd = np.array(means)[:, None] * unit, np.array(sds)[:, None] * unit
    centre = mean if lognormal else grid[0]
    log = stats.norm.logpdf(grid[0], m, s) + stats.norm.logpdf(grid[1], math.log(c), d)
    weights = special.softmax(log + stats.norm.logpdf(value, centre, sd))
    for drawn, axis in ((mu, grid[0]), (h, grid[1])):
        expected = float((weights * axis).sum())
        assert abs(drawn.mean() - expected) < MANY * drawn.std() / math.sqrt(drawn.size) + 3e-3
        spread = math.sqrt(float((weights * (axis - expected) ** 2).sum()))
        assert drawn.std() == pytest.approx(spread, rel=0.03)


def test_a_sample_quantile_alone_has_its_density():
    """The naive posterior, of a median of 9 records taken for known, against quadrature."""
    target = QuantilePosterior(lambda counts: 0.0 * counts[:, 0], np.array([0.0]), PRIOR, [(9, 1)])
    values, q = np.array([1.7]), np.array([0.5])
    mu, h, _ = sample_naive(values, q, 9, target, (40_000,), 1)
    m, s, c, d = PRIOR
    grid = np.meshgrid(m + s * np.linspace(-7, 7, 801), math.log(c) + d * np.linspace(-6, 6, 401))
    z = (1.7 - grid[0]) * np.exp(-grid[1])
    log = stats.norm.logpdf(grid[0], m, s) + stats.norm.logpdf(grid[1], math.log(c), d)
    log += 4.5 * (special.log_ndtr(z) + special.log_ndtr(-z)) - z**2 / 2 - grid[1]
    weights = special.softmax(log)
    for drawn, axis in ((mu, grid[0]), (h, grid[1])):
        mean = float((weights * axis).sum())
        assert abs(drawn.mean() - mean) < MANY * drawn.std() / math.sqrt(drawn.size) + 1e-3
        spread = math.sqrt(float((weights * (axis - mean) ** 2).sum()))
        assert drawn.std() == pytest.approx(spread, rel=0.03)


def test_quantiles_out_of_order_are_believed_in_order():
    release = bdp.Release.of(
        bdp.mechanisms.QuantileMechanism(1.0, range(11), (0.25, 0.5, 0.75)), [(5, 3, 5)]
    )
    values, probabilities, n = Model(n=50)._believed(Model(n=50).read(release)[0])
    assert values.tolist() == [3.5, 5.5]
    assert probabilities.tolist() == [0.25, 0.625]
    assert n == 50


def test_what_is_refused_is_not_believed():
    """Copies that aren't refused are averaged; where none is left, the naive posterior is prior."""
    made = bdp.mechanisms.ProposeTestReleaseMechanism(range(11), 1, 50, 1.0, 1.0, 4, (0.25, 0.5))
    model = Model(prior=PRIOR)
    (known,) = model.read(bdp.Release.of(made, [(-1, 5), (-1, 7), (-1, -1)]))
    values, probabilities, _ = model._believed(known)
    assert (values.tolist(), probabilities.tolist()) == ([6.5], [0.5])
    nothing = bdp.Release.of(made, [(-1, -1)])
    location = model.fit_naive(nothing, draws=2000, seed=1).posterior["location"].to_numpy()
    m, s, _, _ = PRIOR
    assert stats.kstest(location.ravel(), stats.norm(m, s).cdf).pvalue > 1e-6


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the chains of this fit")  # so few draws tell nothing
def test_variables_are_in_the_records_unit():
    release = bdp.Release.of(bdp.mechanisms.QuantileMechanism(3.0, (1, 2, 4, 8, 16)), [(1, 2, 2)])
    model = Model("lognormal", n=range(50, 60), quantiles=(0.5, 0.9))
    idata = model.fit(release, draws=50, warmup=50, chains=2, seed=1)
    found = {name: idata.posterior[name].to_numpy() for name in idata.posterior.data_vars}
    expected = np.exp(found["location"] + special.ndtri(0.9) * found["scale"])
    assert found["quantile"][..., 1] == pytest.approx(expected)
    assert set(np.unique(found["n"])) <= set(range(50, 60))
    assert idata.attrs["population"] == "lognormal"
    checked = bdp.posterior_predictive(model, idata, release, draws=5, seed=1)
    outputs = checked.posterior_predictive["outputs"].to_numpy()
    assert outputs.shape[-1] == 3
    assert np.all((outputs >= 0) & (outputs < 4))
    before = bdp.prior_predictive(model, release, draws=5, seed=1)
    assert before.prior["quantile"].dims == ("chain", "draw", "probability")


@pytest.mark.slow
def test_a_known_number_of_records_beside_a_prior_on_another_is_no_stuck_chain(tmp_path):
    made = bdp.mechanisms.QuantileMechanism(3.0, (1, 2, 4, 8, 16))
    release = bdp.Release.of_groups({"a": (made, [(0, 1, 2)]), "b": (made, [(1, 1, 2)])})
    model = Model("lognormal", n={"a": 40, "b": range(30, 60)})
    idata = model.fit(release, draws=1500, seed=1)
    assert set(np.unique(idata.posterior["n"].sel(group="a"))) == {40}
    assert idata.attrs["verdict"].startswith("no problem found")
    assert idata.constant_data["n_known"].to_numpy().tolist() == [True, False]
    page = write_report(idata, release, tmp_path / "page").read_text(encoding="utf-8")
    rows = page[page.index('data-variable="n"') :].split("<tr>")[2:4]
    assert [row.count("<td>undefined</td>") for row in rows] == [3, 0]
    assert "Converged by every check" in page
    naive = model.fit_naive(release, seed=1)
    assert "no problem found" in naive.attrs["verdict"]
    alone = Model("lognormal", n=range(30, 60)).fit_naive(release["a"], seed=1)
    assert "no problem found" in alone.attrs["verdict"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"population": "gamma"}, "population is 'gamma'"),
        ({"prior": (1, 1, 1)}, "prior is"),
        ({"prior": (1, 0, 1, 1)}, "prior is"),
        ({"quantiles": (0, 0.5)}, "quantiles is"),
        ({"n": range(5)}, "start at 1 or more"),
        ({"n": range(5, 2)}, "n is"),
    ],
)
def test_bad_fields_are_named(fields, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        Model(**fields)


@pytest.mark.parametrize(
    ("fields", "release", "message"),
    [
        ({}, lambda: chosen((1, 1)), "n isn't in this release"),
        ({"n": 4}, lambda: chosen((1, 1), neighbours="replace_one", n=4), "leave n out"),
        (
            {"n": 4},
            lambda: [chosen((1, 1)), chosen((1, 2))],
            "there are 2; fit one of them",
        ),
        ({"n": 4, "population": "lognormal"}, lambda: chosen((1, 1)), "no logarithm"),
        (
            {"n": 9},
            lambda: bdp.BetaBinomialSynthesizer(1.0).release(bdp.Count(3, 9)),
            "BinomialModel",
        ),
    ],
)
def test_what_it_cannot_read_is_refused(fields, release, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        Model(**fields).fit(release())
