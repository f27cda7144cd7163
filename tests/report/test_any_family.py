"""The report on a posterior of any family: its numbers, labels, words and refusals."""

import math
import re

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.report.any_family import summarize_posterior
from bayesdp.report.axis import axis_over
from bayesdp.report.html import render_posterior, write_report
from tests.report.test_report import words


@pytest.fixture(scope="module")
def release():
    """Noisy means of two groups."""
    mechanism = bdp.mechanisms.LaplaceMechanism(0.5, 0.1, neighbours="replace_one", n=400)
    return bdp.Release.of_groups(
        {"a": (mechanism, [12.25, 11.5]), "b & co": (mechanism, [-3.0, -2.5])}, variable="height"
    )


@pytest.fixture(scope="module")
def idata(release):
    return bdp.GaussianModel(prior=(0, 100), sd=2.0).fit(release, draws=1000, seed=1)


def test_numbers_are_those_of_the_draws(release, idata):
    summary = summarize_posterior(idata, release, level=0.8)
    (mu,) = summary.variables
    assert (mu.name, [row.label for row in mu.rows]) == ("mu", ["a", "b & co"])
    draws = idata.posterior["mu"].to_numpy()
    for g, row in enumerate(mu.rows):
        x = draws[..., g]
        assert row.mean == pytest.approx(x.mean())
        assert row.sd == pytest.approx(x.std())
        assert (row.low, row.high) == pytest.approx(tuple(np.quantile(x, [0.1, 0.9])))
        assert row.sampling.error == pytest.approx(x.std() / math.sqrt(x.size))
    assert summary.promise is not None
    assert summary.promise.guarantee == release.guarantee


def test_the_page_says_what_it_shows(release, idata, tmp_path):
    page = write_report(idata, release, tmp_path / "report")
    text = page.read_text(encoding="utf-8")
    assert text == render_posterior(summarize_posterior(idata, release))
    seen = words(text)
    for part in (
        "height by group",
        "gaussian",
        "b & co",
        "no Markov chain to diagnose",
        "laplace",
        "ε =",
    ):
        assert part in seen
    assert "<script" not in text
    assert not re.search(r"(src|href)=.https?:", text)
    assert text.count('data-number="') == 2


@pytest.mark.parametrize("model", [bdp.BinomialModel(), bdp.GaussianModel(sd=1.0)])
def test_a_distributional_promise_is_not_shown_as_differential_privacy(model, tmp_path):
    kinds = bdp.distributional
    promise = kinds.DistributionalGuarantee(
        0.5, 1e-6, "uniform records", kinds.LawClass.of("uniform"), known_records=50
    )
    whole = model.family == "binomial"
    release = bdp.publish(kinds.ExactStatisticMechanism(promise, 100, whole=whole), 38)
    page = write_report(model.fit(release, draws=500, seed=1), release, tmp_path / "report")
    seen = words(page.read_text(encoding="utf-8"))
    for part in ("not differential privacy", "uniform records", "1.649"):
        assert part in seen
    assert "Neighbours" not in seen
    assert "differentially private release" not in seen


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("grouped", [False, True])
def test_a_noisy_count_is_not_shown_as_copies(grouped, copies, tmp_path):
    """It has no records to count or pool, and may lie below 0 or above n."""
    noise = bdp.mechanisms.DiscreteLaplaceMechanism(2.0, neighbours="replace_one", n=20)
    outputs = [7, -1, 22][:copies]
    both = {"a": (noise, outputs), "b": (noise, outputs)}
    release = bdp.Release.of_groups(both) if grouped else bdp.Release.of(noise, outputs)
    idata = bdp.BinomialModel().fit(release, draws=500, seed=1)
    reference = {"b": 0.625} if grouped else 0.625
    page = write_report(idata, release, tmp_path / "report", reference=reference)
    seen = words(page.read_text(encoding="utf-8"))
    for part in ("Records per copy", "Proportion in", "200%", "combining"):
        assert part not in seen
    assert "0.625" in seen
    draws = idata.posterior["p"].to_numpy()
    low = np.quantile(draws[..., 1] if grouped else draws, 0.025)
    assert f"{low:.4g}" in seen
    with pytest.raises(bdp.errors.InvalidInput, match="reference"):
        write_report(idata, release, tmp_path / "other", reference={"c": 0.5})


@pytest.mark.parametrize("target", ["population", "data"])
def test_a_survey_s_target_and_clusters_are_named(target, tmp_path):
    """And an approximation isn't called exact, nor a prior that wasn't given null."""
    axes = [{"name": "psu", "categories": (1, 2, 3, 4)}, {"name": "y", "categories": ("a", "b")}]
    mechanism = bdp.mechanisms.WeightedCountsMechanism(axes, 40.0, 2.0**-10)
    counts = np.array([9, 5, 8, 7, 4, 9, 6, 6, *[3] * 8]) * 2**20
    release = bdp.Release.of(mechanism, [tuple(counts.tolist())])
    model = bdp.models.WeightedShareModel(clusters="psu")
    fitted = model.fit(release, draws=100, seed=1, target=target)
    seen = words(write_report(fitted, release, tmp_path / "report").read_text(encoding="utf-8"))
    assert re.search(f"What is inferred *{target} *Clusters of the sample *psu", seen)
    assert ("from the exact posterior" in seen) is (target == "data")
    assert "null" not in seen
    fitted.attrs["verdict"] = "the clusters tell little of the shares"
    seen = words(render_posterior(summarize_posterior(fitted, release)))
    assert "Do not use this posterior: the clusters tell little" in seen


def test_labels_name_every_coordinate(release, idata):
    wide = idata.copy()
    both = wide.posterior["mu"].expand_dims({"time": ["then", "now"]}, axis=-1)
    wide.posterior = wide.posterior.assign(both=both)
    found = {v.name: v for v in summarize_posterior(wide, release).variables}["both"]
    expected = ["a, then", "a, now", "b & co, then", "b & co, now"]
    assert [row.label for row in found.rows] == expected


def test_chains_that_have_not_mixed_are_said_to_be_bad(release, idata):
    stuck = idata.copy()
    stuck.attrs = {**idata.attrs, "engine": "augmentation"}
    offsets = np.arange(stuck.posterior.sizes["chain"])[:, None, None]
    stuck.posterior["mu"] = stuck.posterior["mu"] + offsets
    summary = summarize_posterior(stuck, release)
    assert any("R-hat" in problem for problem in summary.computation.problems)
    seen = words(render_posterior(summary))
    assert "Do not use this posterior" in seen
    assert "R-hat is above 1.01 in 2 of 2 numbers" in seen


def test_of_chains_that_never_move_diagnostics_are_undefined(release, idata):
    stuck = idata.copy()
    stuck.attrs = {**idata.attrs, "engine": "augmentation"}
    stuck.posterior["mu"] = 0 * stuck.posterior["mu"] + 3.0
    page = render_posterior(summarize_posterior(stuck, release))
    assert page.count("<td>undefined</td>") == 2 * 4  # the Monte Carlo error, too
    assert "nan" not in words(page)
    assert "R-hat is above 1.01 in 2 of 2 numbers" in words(page)


def test_a_naive_posterior_and_a_reference_stand_beside_it(release, idata):
    naive = bdp.GaussianModel(prior=(0, 100), sd=2.0).fit_naive(release, draws=1000, seed=1)
    reference = {"mu": [12.0, math.nan]}
    summary = summarize_posterior(idata, release, naive=naive, reference=reference)
    (mu,) = summary.variables
    assert [row.reference for row in mu.rows] == [12.0, None]
    for g, row in enumerate(mu.rows):
        x = naive.posterior["mu"].to_numpy()[..., g]
        assert row.naive == pytest.approx((x.mean(), *np.quantile(x, [0.025, 0.975])))
    text = render_posterior(summary)
    seen = words(text)
    assert "Naive: what was released, taken for real data" in seen
    assert "Reference: what the public benchmark data say themselves" in seen
    assert "reference: 12" in text
    alone = render_posterior(summarize_posterior(idata, release))
    assert "Naive" not in alone
    assert "Reference" not in alone
    wide = naive.copy()
    wide.posterior = naive.posterior.isel(group=[0]).rename(group="other")
    other = summarize_posterior(idata, release, naive=wide)
    assert not other.has_naive  # of another shape


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (-3.0, 12.5, ["\N{MINUS SIGN}5", "0", "5", "10", "15"]),
        (0.0012, 0.0018, ["0.0012", "0.0014", "0.0016", "0.0018"]),
        (2e8, 5e8, ["2e+08", "3e+08", "4e+08", "5e+08"]),
        (7.0, 7.0, None),
    ],
)
def test_an_axis_of_any_numbers(low, high, texts):
    axis = axis_over([low, high], proportions=False)
    assert axis.low <= low + 1e-9 * abs(low)
    assert axis.high >= high - 1e-9 * abs(high)
    assert axis.low < axis.high
    found = [axis.text(tick) for tick in axis.ticks]
    assert len(set(found)) == len(found) >= 2
    assert texts is None or found == texts


def test_refusals(release, idata, grouped_release):
    with pytest.raises(bdp.errors.InvalidInput, match="another release"):
        summarize_posterior(idata, grouped_release)
    with pytest.raises(bdp.errors.InvalidInput, match="not of fit_naive"):
        summarize_posterior(bdp.GaussianModel(sd=2.0).fit_naive(release), release)
    with pytest.raises(bdp.errors.InvalidInput, match="without a posterior"):
        write_report({"mu": 1}, release, "nowhere")
    for reference, message in (
        ({"a": 0.5}, "reference has 'a'; the posterior has mu"),
        ({"mu": [1.0, 2.0, 3.0]}, r"reference\['mu'\] has shape \(3,\); it must be \(2,\)"),
        (0.5, "must map names of variables"),
    ):
        with pytest.raises(bdp.errors.InvalidInput, match=message):
            write_report(idata, release, "nowhere", reference=reference)
    for naive in (idata, bdp.GaussianModel(sd=2.0).fit_naive(release["a"], draws=9)):
        with pytest.raises(bdp.errors.InvalidInput, match="isn't the naive posterior of this rel"):
            write_report(idata, release, "nowhere", naive=naive)
    with pytest.raises(bdp.errors.InvalidInput, match="naive is a dict without a posterior"):
        write_report(idata, release, "nowhere", naive={})
    with pytest.raises(bdp.errors.InvalidInput, match="level is"):
        summarize_posterior(idata, release, level=95)
    large = idata.copy()
    large.posterior = large.posterior.assign(
        much=(("chain", "draw", "k"), np.zeros((*idata.posterior["mu"].shape[:2], 1001)))
    )
    with pytest.raises(bdp.errors.InvalidInput, match="1,001 numbers"):
        summarize_posterior(large, release)
