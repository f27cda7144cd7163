"""Shares from noisy weighted counts by cluster: textbook formulas, enumeration, and refusals."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, special, stats

import bayesdp as bdp
from bayesdp.engines import cluster_shares
from bayesdp.engines.cluster_shares import Spread
from bayesdp.engines.weighted_sums import law_of_sum
from bayesdp.errors import InvalidInput
from bayesdp.evaluation.truth import truth
from bayesdp.report.diagnostics import computation_of

Model = bdp.models.WeightedShareModel
CLUSTERS = {"name": "psu", "categories": ("p", "q", "r", "s")}
ANSWER = {"name": "y", "categories": ("a", "b")}
STRATA = {"north": ("p", "q"), "south": ("s", "r")}
TOTALS = np.array([[30.0, 10.0], [22.0, 14.0], [5.0, 25.0], [9.0, 30.0]])


def made(axes=(CLUSTERS, ANSWER), **fields) -> bdp.mechanisms.WeightedCountsMechanism:
    return bdp.mechanisms.WeightedCountsMechanism(
        axes, **{"max_weight": 5.0, "scale": 2.0**-18} | fields
    )


def release_of(*groups, axes=(CLUSTERS, ANSWER), **fields) -> bdp.Release:
    """A release of totals in largest weights, whose squares are as of weights of a half."""
    mechanism = made(axes, **fields)
    outputs = [
        tuple((np.concatenate([t.ravel(), t.ravel() / 2]) * 2**20).astype(int)) for t in groups
    ]
    if len(groups) == 1:
        return bdp.Release.of(mechanism, [outputs[0]])
    return bdp.Release.of_groups(
        {g: (mechanism, [z]) for g, z in zip("xyz", outputs, strict=False)}
    )


def ultimate_cluster_variance(totals, strata) -> float:
    """The textbook's variance of a combined ratio, the share of the first category."""
    p = totals[:, 0].sum() / totals.sum()
    found = 0.0
    for places in strata:
        z = totals[places, 0] - p * totals[places].sum(axis=-1)
        found += len(places) * z.var(ddof=1)
    return found / totals.sum() ** 2


@pytest.mark.parametrize("strata", [[[0, 1, 2, 3]], [[0, 1], [2, 3]], [[3, 0], [2, 1]]])
def test_the_variance_is_that_of_the_ultimate_clusters(strata):
    spread = Spread.between(TOTALS, [np.array(places) for places in strata], 0.0)
    expected = ultimate_cluster_variance(TOTALS, strata)
    variance = spread.parts.T @ spread.parts
    assert spread.centre == pytest.approx(TOTALS.sum(0) / TOTALS.sum())
    assert variance == pytest.approx(expected * np.array([[1, -1], [-1, 1]]), abs=1e-12)
    if len(strata) == 1:
        assert spread.df == pytest.approx(3)


def test_degrees_of_freedom_are_those_of_the_strata_that_vary():
    """Of 12 like strata about 12, of one among them that varies alone its own."""
    strata = [np.array([2 * h, 2 * h + 1]) for h in range(12)]
    rng = np.random.default_rng(1)
    like = [Spread.between(rng.normal([60, 40], 5, (24, 2)), strata, 0.0).df for _ in range(400)]
    assert 9 < np.mean(like) < 12
    assert max(like) <= 12
    totals = np.tile([60.0, 40.0], (24, 1))
    totals[0] = 90, 10
    assert Spread.between(totals, strata, 0.0).df == 1
    assert Spread.between(np.tile([60.0, 40.0], (24, 1)), strata, 0.0).df == 1


def test_draws_have_the_t_law():
    rng = np.random.default_rng(1)
    spread = Spread.between(TOTALS, [np.arange(4)], 0.0)
    drawn = spread.draw(rng.standard_normal((40_000, 4)), rng.random(40_000))
    inside = (drawn[:, 0] > 0) & (drawn[:, 0] < 1)
    law = stats.t(3, spread.centre[0], math.sqrt(np.sum(spread.parts[:, 0] ** 2)))
    cut = stats.kstest(
        drawn[inside, 0], lambda x: (law.cdf(x) - law.cdf(0)) / (law.cdf(1) - law.cdf(0))
    )
    assert cut.pvalue > 1e-6
    assert drawn.sum(axis=-1) == pytest.approx(1.0)
    assert np.mean(drawn[:, 0] == 0) == pytest.approx(law.cdf(0), abs=0.01)


@pytest.mark.parametrize(
    ("outputs", "fields"),
    [
        ([(5, 3, -2, 1, 0, 0)], {}),
        ([(5, 3, -2, 1, 0, 0), (9, -3, 1, 1, 0, 0)], {}),
        ([(5, 3, -2, 1, 0, 0)], {"noise": "gaussian"}),
        ([(5, 3, -2, 1, 0, 0), (9, -3, 1, 1, 0, 0)], {"noise": "gaussian"}),
    ],
)
def test_the_law_of_a_sum_is_a_convolution(outputs, fields):
    """Of three numbers' laws, each under a flat prior, on the integers."""
    axes = [{"name": "y", "categories": ("a", "b", "c")}]
    view = made(axes, scale=1.0, steps=4, **fields).views[0]
    parts = view.sums(outputs)[:3]
    x = np.arange(-150, 151)
    laws = [special.softmax(part.logp(x)) for part in parts]
    whole = np.convolve(np.convolve(laws[0], laws[1]), laws[2])
    found = law_of_sum(parts, view.scale)
    at = np.arange(-60, 61)
    expected = np.log(whole[at + 450])
    likely = expected > expected.max() - 25
    given = found.logp(at)
    assert (given - given.max())[likely] == pytest.approx(
        (expected - expected.max())[likely], abs=1e-3
    )
    assert np.all(given[expected < expected.max() - 31] == -np.inf)
    low, high = found.reached((0, math.inf), 1.0)
    assert low == 0
    assert np.isfinite(found.logp(np.array([high])))
    assert not np.isfinite(found.logp(np.array([high + 1])))


def test_on_a_fine_lattice_a_sum_has_the_noise_of_all():
    """The variance of 30 discrete Laplace variables, which is 60 scales squared."""
    view = made([{"name": "y", "categories": tuple(map(str, range(30)))}], scale=1.5).views[0]
    outputs = [tuple(range(0, 60 * 2**18, 2**18))]
    law = law_of_sum(view.sums(outputs)[:30], view.scale)
    low, high = law.reached((-math.inf, math.inf), 1.0)
    x = np.linspace(low, high, 20_001).astype(np.int64)
    p = special.softmax(law.logp(x))
    middle = p @ x
    assert middle == pytest.approx(sum(outputs[0][:30]), abs=0.01 * view.scale)
    assert p @ (x - middle) ** 2 == pytest.approx(60 * view.scale**2, rel=1e-3)


@pytest.mark.parametrize("strata", [None, {"north": (0, 2, 4, 6), "south": (7, 5, 3, 1)}])
def test_shares_have_the_textbook_s_interval(strata):
    """Without noise, but for the prior of two records in 600."""
    totals = np.vstack([TOTALS, TOTALS[::-1] * [1.2, 0.9]])
    axes = [{"name": "psu", "categories": tuple(range(8))}, ANSWER]
    places = [np.array(within) for within in (strata or {"all": range(8)}).values()]
    spread = Spread.between(totals, places, 0.0)
    law = stats.t(spread.df, spread.centre[0], np.sqrt(np.sum(spread.parts[:, 0] ** 2)))
    model = Model(clusters="psu", strata=strata)
    idata = model.fit(release_of(totals, axes=axes), draws=5000, seed=1)
    share = idata.posterior["share"].sel(category="a").to_numpy()
    cut = law.ppf([0.1, 0.25, 0.5, 0.75, 0.9])
    assert np.quantile(share, [0.1, 0.25, 0.5, 0.75, 0.9]) == pytest.approx(cut, abs=0.01)
    assert idata.posterior["category"].to_numpy().tolist() == ["a", "b"]
    assert idata.attrs["clusters"] == "psu"


def test_the_order_of_columns_does_not_matter():
    """And clusters of three columns leave cells of the other two."""
    other = {"name": "sex", "categories": ("f", "m")}
    totals = np.stack([TOTALS * 0.4, TOTALS * 0.6], axis=-1)  # psu, y, sex
    fits = [
        Model(clusters="psu").fit(
            release_of(totals.transpose(order), axes=[(CLUSTERS, ANSWER, other)[i] for i in order]),
            draws=50, seed=1,
        )
        for order in ((0, 1, 2), (1, 0, 2))
    ]  # fmt: skip
    assert fits[0].posterior["category"].to_numpy().tolist() == ["a, f", "a, m", "b, f", "b, m"]
    shares = [fit.posterior["share"].to_numpy() for fit in fits]
    assert shares[0] == pytest.approx(shares[1], abs=1e-4)


def test_groups_are_domains_of_the_same_clusters():
    """Their draws move together, and those of all are of clusters' sums."""
    first = TOTALS * np.array([[0.5], [0.3], [0.6], [0.4]])
    idata = Model(clusters="psu").fit(release_of(first, TOTALS - first), draws=4000, seed=1)
    whole = Model(clusters="psu").fit(release_of(TOTALS), draws=4000, seed=1)
    overall, share = (idata.posterior["overall"], idata.posterior["share"])
    assert overall.dims == ("chain", "draw", "category")
    for q in (0.1, 0.5, 0.9):
        expected = whole.posterior["share"].quantile(q, ("chain", "draw")).to_numpy()
        assert overall.quantile(q, ("chain", "draw")).to_numpy() == pytest.approx(
            expected, abs=0.02
        )
    together = np.corrcoef(*(share.isel(group=g, category=0).to_numpy().ravel() for g in (0, 1)))
    assert together[0, 1] > 0.8
    averaged = bdp.evaluate.poststratify(idata, {"x": 1, "y": 3}).posterior["share"]
    expected = 0.25 * share.isel(group=0) + 0.75 * share.isel(group=1)
    assert averaged.to_numpy() == pytest.approx(expected.to_numpy())


def test_several_releases_are_weighed_by_their_noise():
    """One with a tenth of the other's scale has 100 times its weight in clusters' totals."""
    apart = [release_of(TOTALS + at, scale=scale) for at, scale in ((0.0, 0.1), (1.01, 1.0))]
    found = Model(clusters="psu").fit(apart, draws=4000, seed=1).posterior["share"]
    whole = release_of(TOTALS + 0.01, scale=0.1)
    expected = Model(clusters="psu").fit(whole, draws=4000, seed=1).posterior["share"]
    assert found.to_numpy() == pytest.approx(expected.to_numpy(), abs=0.02)
    idata = Model(clusters="psu").fit(apart, draws=4000, seed=1, target="data")
    mean = idata.posterior["total"].mean(("chain", "draw")).to_numpy() / 5
    assert mean == pytest.approx(TOTALS.sum(0), abs=0.2)


def test_the_data_have_the_noise_of_all_clusters_and_no_more():
    release = release_of(TOTALS, scale=1.0)
    view = made(scale=1.0).views[0]
    idata = Model(clusters="psu").fit(release, draws=5000, seed=1, target="data")
    total = idata.posterior["total"].to_numpy() / 5
    assert idata.attrs["engine"] == "exact"
    assert total.mean((0, 1)) == pytest.approx(TOTALS.sum(0), abs=0.1)
    assert total.var((0, 1)) == pytest.approx([8.0, 8.0], rel=0.1)  # 4 clusters, 2 b^2 each
    assert view.scale == 2**20
    naive = Model(clusters="psu").fit_naive(release, draws=10, seed=1, target="data")
    assert naive.posterior["total"].to_numpy()[0, 0] / 5 == pytest.approx(TOTALS.sum(0))


def test_noise_larger_than_the_survey_is_told():
    """Sums of weights below 0 are no reason to fail, and no reason to be sure."""
    rng = np.random.default_rng(1)
    axes = [CLUSTERS, {"name": "y", "categories": tuple("abcdefgh")}]
    totals = np.column_stack([TOTALS, np.zeros((4, 6))])
    noisy = totals + rng.laplace(0, 50, totals.shape)
    for released, said in ((noisy, "noise is 100% of"), (-noisy, "noise is 100% of")):
        with pytest.warns(UserWarning, match=said):
            idata = Model(clusters="psu").fit(
                release_of(released, axes=axes, scale=50.0), draws=500, seed=1
            )
        assert idata.attrs["verdict"].startswith("the clusters tell little of the shares")
        assert np.isfinite(idata.posterior["share"]).all()
        assert any("tell little" in one for one in computation_of(idata, []).problems)
    calm = Model(clusters="psu").fit(release_of(totals, axes=axes), draws=500, seed=1)
    assert calm.attrs["verdict"].startswith("independent draws")
    assert computation_of(calm, []).problems == ()


def test_small_shares_in_noise_are_told():
    """Where they move the largest, although the sum of weights is known well."""
    rng = np.random.default_rng(1)
    axes = [
        {"name": "psu", "categories": tuple(range(10))},
        {"name": "y", "categories": tuple(range(20))},
    ]
    totals = np.zeros((10, 20))
    totals[:, 0] = 12.0
    noisy = totals + rng.laplace(0, 1, totals.shape)
    with pytest.warns(UserWarning, match="the small shares moves the largest by"):
        Model(clusters="psu").fit(release_of(noisy, axes=axes, scale=1.0), draws=500, seed=1)


def test_strata_of_few_clusters_are_told():
    with pytest.warns(UserWarning, match=r"their spread is known with [12]\.\d degrees"):
        Model(clusters="psu", strata=STRATA).fit(release_of(TOTALS), draws=100, seed=1)


def test_each_draw_is_the_nearest_point_of_the_simplex():
    """As an optimiser finds it."""
    rng = np.random.default_rng(1)
    for values in rng.normal(0.25, 0.5, (20, 4)):
        found = optimize.minimize(
            lambda x, values=values: np.sum((x - values) ** 2),
            np.full(4, 0.25),
            bounds=[(0, 1)] * 4,
            constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
            options={"ftol": 1e-14},
        )
        assert cluster_shares._nearest_shares(values[None])[0] == pytest.approx(found.x, abs=1e-5)


def test_public_data_say_shares_by_category():
    people = pd.DataFrame({"psu": [*"ppqrs"], "y": [*"abbba"], "weight": [3.0, 1.0, 4.0, 1.0, 1.0]})
    categories = {"psu": [*"pqrs"], "y": ["a", "b"]}
    synthesizer = bdp.synthesizers.WeightedCountsSynthesizer(categories, 4.0)
    found = truth(Model(clusters="psu"), people, None, synthesizer.release(people), None)
    assert found["share"].tolist() == [0.4, 0.6]
    assert found["total"].tolist() == [4.0, 6.0]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"clusters": 3}, "clusters is 3; it must be the name"),
        ({"clusters": ""}, "clusters is ''; it must be the name"),
        ({"strata": STRATA}, "strata is a dict and clusters is None"),
        ({"clusters": "psu", "strata": [("p", "q")]}, "must be a mapping"),
        ({"clusters": "psu", "strata": {"north": "pqrs"}}, "must be a mapping"),
        ({"clusters": "psu", "strata": {}}, "has 0 clusters"),
        (
            {"clusters": "psu", "strata": {"n": ["p", "q"], "s": ["p", "r"]}},
            "4 clusters, of which 3",
        ),
        ({"clusters": "psu", "strata": {"n": ["p", []]}}, "must be labels"),
        (
            {"clusters": "psu", "strata": {"n": ["p", "q", "r"], "s": ["s"]}},
            "1 of the 2 clusters that 's' needs",
        ),
    ],
)
def test_bad_designs_are_named(fields, message):
    with pytest.raises(InvalidInput, match=message):
        Model(**fields)


@pytest.mark.parametrize(
    ("fields", "axes", "message"),
    [
        ({"clusters": "psa"}, (CLUSTERS, ANSWER), "isn't a column of the release; its columns are"),
        ({"clusters": "psu"}, (CLUSTERS,), "no other column"),
        ({"clusters": "psu"}, ({"name": "psu", "edges": (0, 1, 2)}, ANSWER), "intervals of it"),
        ({"clusters": "psu"}, ({"name": "psu", "categories": ("p",)}, ANSWER), "single cluster"),
        (
            {"clusters": "psu", "strata": {"n": ["p", "q", "t"]}},
            (CLUSTERS, ANSWER),
            "names 1 clusters that aren't categories of 'psu' in the release, and leaves out 2",
        ),
        ({"clusters": "psu", "prior": (1.0,) * 8}, (CLUSTERS, ANSWER), "release 2 categories"),
    ],
)
def test_designs_that_a_release_has_not_are_refused(fields, axes, message):
    size = math.prod(len(axis.get("categories", (0, 1))) for axis in axes)
    release = release_of(np.full(size, 5.0), axes=axes)
    with pytest.raises(InvalidInput, match=message):
        Model(**fields).fit(release)
