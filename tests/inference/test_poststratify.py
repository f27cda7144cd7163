"""Known totals of groups: weights by hand, what is kept of a fit, and what is refused."""

import arviz as az
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayesdp as bdp
from tests.inference.counts.test_hierarchical_binomial import simulated

COUNTS = {"a": bdp.Count(160, 400), "b": bdp.Count(10, 100), "c": bdp.Count(30, 50)}
FRAME = pd.DataFrame(
    {"group": list("aabc"), "region": ["north", "south", "south", "south"], "total": [6, 2, 3, 4]}
)
poststratify = bdp.evaluate.poststratify


def released(counts=COUNTS):
    with bdp.reproducible(5):
        return bdp.synthesizers.DiscreteLaplaceSynthesizer(epsilon=1.0).release(counts)


@pytest.fixture(scope="module")
def fitted():
    return bdp.BinomialModel().fit(released(), draws=200, chains=2, seed=1)


@pytest.mark.parametrize("given", [dict, pd.Series, lambda t: pd.Series(t).rename("members")])
def test_the_whole_population_is_the_mean_of_its_groups(fitted, given):
    found = poststratify(fitted, given({"c": 0, "a": 3000, "b": 7000.0}))
    p = fitted.posterior["p"].to_numpy()
    assert found.posterior["p"].dims == ("chain", "draw")
    np.testing.assert_allclose(found.posterior["p"], 0.3 * p[..., 0] + 0.7 * p[..., 1], rtol=1e-12)
    assert float(found.constant_data["total"]) == 10_000


def test_coarser_groups_each_have_their_own(fitted):
    found = poststratify(fitted, FRAME, by="region")
    p, said = fitted.posterior["p"].to_numpy(), found.posterior["p"]
    assert said.dims == ("chain", "draw", "region")
    np.testing.assert_allclose(said.sel(region="north"), p[..., 0], rtol=1e-12)
    south = (2 * p[..., 0] + 3 * p[..., 1] + 4 * p[..., 2]) / 9
    np.testing.assert_allclose(said.sel(region="south"), south, rtol=1e-12)
    whole = poststratify(fitted, FRAME).posterior["p"]
    np.testing.assert_allclose(whole, (6 * p[..., 0] + 9 * south) / 15, rtol=1e-12)
    assert list(az.summary(found).index) == ["p[north]", "p[south]"]


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_totals_may_be_of_polars_or_arrow(fitted, kind):
    table = getattr(pytest.importorskip(kind), {"polars": "DataFrame", "pyarrow": "table"}[kind])
    found = poststratify(fitted, table(FRAME.to_dict("list")), by="region")
    assert found.posterior.equals(poststratify(fitted, FRAME, by="region").posterior)


def test_labels_of_coarser_groups_that_are_written_alike_are_one(fitted):
    found = poststratify(fitted, FRAME.assign(region=[1, "1", 2, 2]), by="region").posterior["p"]
    p = fitted.posterior["p"].to_numpy()
    assert found["region"].to_numpy().tolist() == ["1", "2"]
    np.testing.assert_allclose(found.sel(region="1"), p[..., 0], rtol=1e-12)


def test_a_fit_is_known_by_what_is_kept(fitted, tmp_path):
    found = poststratify(fitted, FRAME, by="region")
    assert found.attrs["guarantee"] == fitted.attrs["guarantee"]
    assert (found.attrs["family"], found.attrs["poststratified"]) == ("poststratified", "binomial")
    assert "lp" in found.sample_stats
    found.to_netcdf(str(tmp_path / "p.nc"))
    again = az.from_netcdf(str(tmp_path / "p.nc"))
    assert again.posterior["p"].equals(found.posterior["p"])
    with pytest.raises(bdp.errors.InvalidInput, match="poststratified already"):
        poststratify(found, FRAME)


def test_categories_stay():
    noise = bdp.mechanisms.PerturbedHistogramMechanism(2.0, 3, "replace_one", n=100)
    release = bdp.Release.of_groups({1: (noise, [(40, 35, 25)]), 2: (noise, [(10, 30, 60)])})
    fitted = bdp.MultinomialModel((1, 1, 1)).fit(release, draws=50, chains=1, seed=1)
    found = poststratify(fitted, {1: 1, 2: 3}).posterior["theta"]
    theta = fitted.posterior["theta"].to_numpy()
    assert found.dims == ("chain", "draw", "category")
    np.testing.assert_allclose(found, (theta[:, :, 0] + 3 * theta[:, :, 1]) / 4, rtol=1e-12)


def test_rates_have_areas_and_may_have_groups_too():
    noise = bdp.mechanisms.DiscreteLaplaceMechanism(1.0, 1.0, dimension=2)
    release = bdp.Release.of_groups({"f": (noise, [(9, 4)]), "m": (noise, [(12, 1)])})
    fitted = bdp.models.PoissonModel((1, 0.1)).fit(release, draws=50, chains=1, seed=1)
    rate = fitted.posterior["rate"].to_numpy()
    members = pd.Series(
        [1.0, 2, 3, 4], pd.MultiIndex.from_product([["f", "m"], [0, 1]], names=["group", "area"])
    )
    found = poststratify(fitted, members).posterior["rate"]
    np.testing.assert_allclose(found, rate.reshape(1, 50, 4) @ [0.1, 0.2, 0.3, 0.4], rtol=1e-12)
    frame = members.rename("total").reset_index()
    found = poststratify(fitted, frame, by="area").posterior["rate"]
    np.testing.assert_allclose(
        found, np.einsum("cdga,ga->cda", rate, [[1 / 4, 1 / 3], [3 / 4, 2 / 3]])
    )


def test_labels_that_a_file_writes_as_texts_are_found():
    fitted = bdp.BinomialModel().fit(
        released({True: bdp.Count(3, 9), False: bdp.Count(5, 9)}), draws=20, chains=1, seed=1
    )
    one = poststratify(fitted, {True: 1, False: 2}).posterior["p"]
    assert one.equals(poststratify(fitted, {"True": 1, "False": 2}).posterior["p"])


def test_pooled_groups_are_weighed_after_they_are_pooled():
    """Multilevel regression with poststratification, by a hierarchical fit."""
    p = np.random.default_rng(1).random((1, 5, 3))
    fitted = az.from_dict(
        posterior={"p": p, "mean": p[..., 0], "sd": p[..., 1]},
        coords={"group": ["a", "b", "c"]},
        dims={"p": ["group"]},
    )
    fitted.attrs["family"] = "hierarchical_binomial"
    found = poststratify(fitted, {"a": 1, "b": 1, "c": 2}).posterior
    assert list(found.data_vars) == ["p"]
    np.testing.assert_allclose(found["p"], p @ [0.25, 0.25, 0.5], rtol=1e-12)


@pytest.mark.parametrize(
    ("totals", "by", "message"),
    [
        ({"a": 1, "c": 2}, None, "no total for group 'b'"),
        ({"a": 1, "b": 1, "c": 2, "d": 0}, None, "has group 'd', which the posterior hasn't"),
        ({"a": 1, "b": -1, "c": 2}, None, "totals has -1; a total must be a finite number"),
        ({"a": 1, "b": float("nan"), "c": 2}, None, "totals has nan"),
        ({"a": 1, "b": True, "c": 2}, None, "totals has True"),
        ({"a": 0, "b": 0, "c": 0}, None, "adds up to 0"),
        ({}, None, "not empty"),
        ([1, 2, 3], None, "totals is a list"),
        (FRAME.drop(columns="group"), None, "no column 'group'"),
        (FRAME.drop(columns="total"), None, 'labels and "total"'),
        (FRAME, "country", "it must be one of the columns of totals: group, region"),
        (FRAME, "total", "it must be one of the columns of totals: group, region"),
        (FRAME, ["region"], "by is a list; it must be one"),
        (FRAME.rename(columns={"region": "p"}), "p", "by is 'p', a variable of the posterior"),
        (FRAME.rename(columns={"region": "draw"}), "draw", "one of the columns of totals: group"),
        (FRAME.assign(region=["n", None, "s", "s"]), "region", "a row without region"),
        (
            FRAME.assign(region=[["n"], "n", "s", "s"]),
            "region",
            "column 'region' of totals holds lists",
        ),
        (FRAME.assign(group=[["a"], "b", "c", "c"]), None, "column 'group' of totals holds lists"),
        (FRAME.assign(total=[0, 1, 1, 1]), "region", "adds up to 0 where region is 'north'"),
        (pd.Series({("a", "b"): 1}), None, "labels of 2 kinds; here they must be of 1: group"),
    ],
)
def test_totals_that_are_not_of_the_groups_are_refused(fitted, totals, by, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        poststratify(fitted, totals, by=by)


def test_what_has_no_groups_or_means_is_refused():
    alone = bdp.BinomialModel().fit(released()["a"], draws=20, chains=1, seed=1)
    with pytest.raises(bdp.errors.InvalidInput, match="no mean, proportion or rate of each group"):
        poststratify(alone, {"a": 1})
    with pytest.raises(bdp.errors.InvalidInput, match="posterior is 3 that isn't a model's fit"):
        poststratify(3, {"a": 1})


@pytest.mark.slow
def test_a_survey_with_too_many_of_a_group_is_calibrated():
    """200 surveys in one release, each of three groups; a false alarm has probability 1e-6.

    The first group is a tenth of the population and seven tenths of the sample. The population's
    true proportion ranks uniformly among draws; what the sample says as it is covers it seldom.
    """
    rng, surveys, kept = np.random.default_rng(3), 200, 99
    n, members = np.array([140, 40, 20]), np.array([1.0, 5.0, 4.0])
    p = rng.beta(2, 2, (surveys, 3))
    x = rng.binomial(n, p)
    counts = {
        f"{s}:{g}": bdp.Count(int(x[s, g]), int(n[g])) for s in range(surveys) for g in range(3)
    }
    idata = bdp.BinomialModel((2, 2)).fit(released(counts), draws=kept, chains=1, seed=2)
    totals = pd.DataFrame({"group": [*counts], "total": np.tile(members, surveys)})
    totals["survey"] = totals["group"].str.split(":").str[0].astype(int)
    drawn = poststratify(idata, totals, by="survey").posterior["p"].to_numpy()[0]
    true = p @ members / members.sum()
    ranks = (drawn < true).sum(axis=0)
    assert stats.chisquare(np.bincount(ranks // 10, minlength=10)).pvalue > 1e-6
    ends = stats.beta.ppf([[0.025], [0.975]], x.sum(1) + 1, n.sum() - x.sum(1) + 1)
    assert np.mean((ends[0] < true) & (true < ends[1])) < 0.5


@pytest.mark.calibrate
@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")  # of one, by design
def test_pooled_groups_are_calibrated_and_so_are_the_parts_of_their_variance():
    """300 populations of four groups: ranks of their means, and squared errors over variances.

    The mean of 300 squared errors over their expectations, 1, has a standard error of about 0.1.
    """
    rng, ranks, errors, members = np.random.default_rng(6), [], [], np.array([1.0, 2, 3, 10])
    model = bdp.models.HierarchicalBinomialModel((2.0, 2.0), concentration=8.0)
    for seed in range(300):
        _, _, p, release = simulated(rng, 8.0, seed)
        idata = model.fit(release, draws=396, chains=1, warmup=150, seed=seed)
        found = poststratify(idata, dict(enumerate(members))).posterior["p"].to_numpy()[0, ::4]
        ranks.append(int((found < p @ members / members.sum()).sum()))
        row = bdp.evaluate.variance_parts(model, release, idata).loc[0]
        errors.append((p[0] - row["mean"]) ** 2 / row["variance"])
    assert stats.chisquare(np.bincount(np.array(ranks) // 10, minlength=10)).pvalue > 1e-6
    assert abs(np.mean(errors) - 1) < 5 * np.std(errors) / np.sqrt(300)
