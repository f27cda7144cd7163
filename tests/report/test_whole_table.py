"""The report on a whole table: its numbers, its words, and that it has nothing confidential."""

import json
import re
import warnings
from itertools import pairwise

import arviz as az
import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.engines.latent_records import ABSENT
from bayesdp.report import whole_table
from bayesdp.report.html import render_table, write_report
from bayesdp.report.whole_table import summarize_table
from tests.report.browsing import BOXES, TEXTS, VIEWS, contrast, fits
from tests.report.test_report import rows, words

SCHEMA = bdp.Schema(
    {
        "age": {"type": "integer", "bounds": (18, 90), "bins": [18, 30, 60, 90]},
        "smokes": {"type": "boolean", "missing": True},
        "<b>school": {"type": "ordered", "labels": ["none", "some", "more " * 20]},
        "wards": {"type": "integer", "bounds": (1, 13)},
    }
)
PAIRS = [("age", "smokes"), ("age", "<b>school"), ("smokes", "<b>school"), ("smokes", "wards")]
N = 600


@pytest.fixture(scope="module")
def confidential():
    rng = np.random.default_rng(3)
    age, smokes = rng.integers(18, 91, N), pd.array(rng.random(N) < 0.3, dtype="boolean")
    smokes[rng.random(N) < 0.1] = pd.NA
    school = np.where(age < 30, rng.integers(0, 2, N), rng.integers(1, 3, N))
    labels = SCHEMA.columns["<b>school"].labels
    return pd.DataFrame(
        {
            "age": age,
            "smokes": smokes,
            "<b>school": pd.Categorical.from_codes(school, labels, ordered=True),
            "wards": rng.integers(1, 14, N),
        }
    )


@pytest.fixture(scope="module")
def release(confidential):
    """Two rounds, the second with a third of the budget."""
    made = bdp.mechanisms.NoisyTableMechanism.calibrate(
        epsilon=4.0,
        delta=1e-6,
        copies=2,
        schema=SCHEMA,
        marginals=[PAIRS[:3], PAIRS[3:]],
        shares=[2 / 3, 1 / 3],
    )
    with bdp.reproducible(5):
        outputs = made.release(made.statistic_of(SCHEMA.coded(confidential)), copies=2)
    return bdp.Release.of(made, outputs, delta=1e-6, variable="survey")


@pytest.fixture(scope="module")
def idata(release):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bdp.TableModel(classes=4).fit(
            release, draws=40, warmup=40, thin=1, tables=20, chains=2, seed=2
        )


@pytest.fixture(scope="module")
def reference(confidential):
    codes = SCHEMA.coded(confidential)
    each = [np.bincount(codes[name], minlength=k) / N for name, k in SCHEMA.cells.items()]
    return {"share": np.concatenate(each)}


@pytest.fixture(scope="module")
def page(idata, release, reference, tmp_path_factory):
    folder = tmp_path_factory.mktemp("table") / "report"
    return write_report(idata, release, folder, reference=reference)


def test_shares_are_those_of_the_draws_and_of_the_noisy_counts(idata, release, reference):
    summary = summarize_table(idata, release, level=0.8, reference=reference)
    assert [one.name for one in summary.columns] == list(SCHEMA.columns)
    share = idata.posterior["share"].to_numpy().reshape(40, -1)
    for k, one in enumerate(summary.columns[1].shares):  # smokes: the 4th to the 6th level
        x = share[:, 3 + k]
        assert one.label == ("False", "True", "missing")[k]
        assert one.mean == pytest.approx(x.mean())
        assert (one.low, one.high) == pytest.approx(tuple(np.quantile(x, [0.1, 0.9])))
        assert one.outer[0] < one.low < one.high < one.outer[1]
        assert one.reference == reference["share"][3 + k]
    # smokes is in three marginals, whose cells add up by 3, by 3 and, in the other round, by 13.
    first, second = (each.sd for each in summary.measured)
    tables = [[], [], []]
    for output in release.parts[0].outputs:
        parts = np.split(np.asarray(output), np.cumsum([9, 9, 9]))
        for k, (part, axis) in enumerate(
            zip((parts[0], parts[2], parts[3]), (0, 1, 1), strict=True)
        ):
            tables[k].append(part.reshape((3, 3) if k < 2 else (3, 13)).sum(axis=axis))
    means = np.mean(tables, axis=1)
    weights = np.array([1 / (3 * first**2), 1 / (3 * first**2), 1 / (13 * second**2)])
    expected = weights / weights.sum() @ means
    found = np.array([one.released for one in summary.columns[1].shares])
    np.testing.assert_allclose(found / found.sum(), expected / expected.sum(), rtol=1e-9)
    assert abs(found.sum() - 1) < 0.1
    assert summary.has_reference
    assert not summarize_table(idata, release).has_reference


def test_the_interval_of_the_population_has_sampling_error(idata, release):
    column = summarize_table(idata, release).columns[0]
    table = bdp.models.TablePosterior.of(idata).table("age", seed=1).interval()
    for one, (_, row) in zip(column.shares, table.iterrows(), strict=True):
        width = row["upper"] - row["lower"]
        assert one.outer[1] - one.outer[0] == pytest.approx(width, rel=0.5)
        assert one.high - one.low < 0.8 * width


def test_columns_of_many_cells_show_the_largest(idata, release, monkeypatch):
    monkeypatch.setattr(whole_table, "MOST_CELLS", 10)
    summary = summarize_table(idata, release)
    wards = summary.columns[3]
    assert (wards.cells, len(wards.shares)) == (13, 10)
    means = idata.posterior["share"].to_numpy().mean(axis=(0, 1))[-13:]
    assert min(one.mean for one in wards.shares) >= np.sort(means)[3]
    labels = [int(one.label) for one in wards.shares]
    assert labels == sorted(labels)
    assert "the 10 cells with the largest shares, of 13" in words(render_table(summary))


def test_rounds_have_their_scales_and_shares(idata, release):
    first, second = summarize_table(idata, release).measured
    assert (first.marginals, second.marginals) == (tuple(PAIRS[:3]), tuple(PAIRS[3:]))
    assert (first.counts, second.counts) == (27, 39)
    scales = [one.scale for one in release.parts[0].mechanism.rounds]
    assert (first.sd, second.sd) == pytest.approx(scales)
    assert first.law == "discrete Gaussian"
    assert (first.share, second.share) == pytest.approx((2 / 3, 1 / 3))


def test_pairs_that_were_measured_and_those_that_rest_on_the_model(idata, release):
    summary = summarize_table(idata, release)
    assert summary.known == 4
    assert set(summary.unmeasured) == {("age", "wards"), ("<b>school", "wards")}
    assert len(summary.pairs) == 3  # the fourth has a column of 13 cells
    assert {"age", "<b>school"} == set(summary.pairs[0].names)  # they depend on each other most
    assert summary.within == ("age",)
    assert (summary.widest, summary.classes) == (2, 4)
    relative = [one.relative for one in summary.worst]
    assert relative == sorted(relative, reverse=True)
    assert summary.worst[0].names == ("smokes", "wards")
    records = idata.tables["records"].to_numpy().reshape(40, -1, 4)
    shares = []
    for table in records:
        there = table[table[:, 0] != ABSENT].astype(int)
        shares.append(np.bincount(3 * there[:, 0] + there[:, 1], minlength=9) / len(there))
    low, high = np.quantile(shares, [0.025, 0.975], axis=0)
    (pair,) = [one for one in summary.worst if one.names == ("age", "smokes")]
    assert pair.relative == pytest.approx(float((high - low).sum() / 2))
    vague = (high - low) / 2 > np.mean(shares, axis=0) / 2
    assert (pair.cells, pair.vague) == (9, vague.sum())
    (table,) = [one for one in summary.pairs if one.names == ("age", "smokes")]
    label, of_all, row = table.rows[1]
    assert label == "[30, 60)"
    own = np.reshape(shares, (40, 3, 3))[:, 1]
    assert of_all == pytest.approx(own.sum(axis=1).mean(), rel=0.02)
    expected = (own / own.sum(axis=1, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose([cell.mean for cell in row], expected)
    assert table.rows[-1][:2] == ("all records", 1.0)


def test_the_page_says_what_it_shows(page, idata, release, reference, tmp_path):
    text = page.read_text(encoding="utf-8")
    seen = words(text)
    for part in (
        "What noisy counts of 4 marginals say about a table of 4 columns",
        "Cells of the whole table351",
        "a record",
        "discrete Gaussian",
        "Reference: what the public benchmark data say",
        "No released marginal has these columns together: age and wards; <b>school and wards.",
        "How 3 columns or more go together",
        "Where in its interval a number lies: age.",
        "Do not use this posterior: bulk ESS is under 400 in",
    ):
        assert part in seen, part
    assert "<script" not in text
    assert "<b>" not in text
    assert not re.search(r"(src|href)=.https?:", text)
    assert len(rows(text, "measured")) == 2
    assert len(rows(text, "shares")) == 3 + 3 + 3 + 13
    assert len(rows(text, "worst")) == 4
    idata.to_netcdf(str(tmp_path / "posterior.nc"))
    again = summarize_table(
        az.from_netcdf(str(tmp_path / "posterior.nc")), release, reference=reference
    )
    assert text == render_table(again)
    assert "Reference" not in render_table(summarize_table(idata, release))


def test_columns_that_no_marginal_has_are_named(idata, release):
    other = idata.copy()
    other.attrs = {**idata.attrs, "measured": json.dumps([["age", "smokes"]])}
    seen = words(render_table(summarize_table(other, release)))
    assert "All of <b>school, wards, which no released marginal has" in seen
    assert "No released marginal has these columns together" not in seen
    other.attrs["measured"] = json.dumps([[name] for name in SCHEMA.columns])
    summary = summarize_table(bdp.models.TablePosterior.of(other), release)
    assert (summary.known, summary.alone, len(summary.unmeasured)) == (0, (), 6)
    assert "Pairs of columns" not in words(render_table(summary))


def test_a_good_fit_is_not_doubted(idata, release):
    good = idata.copy()
    good.attrs = {**idata.attrs, "verdict": "no problem found: R-hat and ESS are as they should be"}
    seen = words(render_table(summarize_table(good, release)))
    assert "Do not use" not in seen
    assert "Converged by every check" in seen


def test_refusals(idata, release):
    with pytest.raises(bdp.errors.InvalidInput, match="level is"):
        summarize_table(idata, release, level=95)
    with pytest.raises(bdp.errors.InvalidInput, match=r"reference\['share'\] has shape \(2,\)"):
        summarize_table(idata, release, reference={"share": [0.5, 0.5]})
    bare = az.InferenceData(posterior=idata.posterior, attrs=idata.attrs)
    with pytest.raises(bdp.errors.InvalidInput, match="no group 'tables'"):
        summarize_table(bare, release)


def plain(colour: str) -> str:
    """A colour that was mixed, as others are written."""
    if not colour.startswith("color(srgb "):
        return colour
    red, green, blue = (255 * float(part) for part in colour[11:-1].split()[:3])
    return f"rgb({red}, {green}, {blue})"


@pytest.mark.slow
@pytest.mark.parametrize("shape", VIEWS)
def test_it_fits_and_can_be_read(browser, page, shape):
    browser.open(page, *shape)
    assert fits(browser)
    for selector, count, least in (("svg.chart", 22, 100), (".heat table", 3, 150)):
        boxes = browser.run(BOXES, selector)
        assert len(boxes) == count
        assert all(left >= 0 and wide >= least for left, _, wide, _ in boxes), selector
    assert all(right <= browser.width for _, right, *_ in browser.run(BOXES, "svg.chart"))
    for column in SCHEMA.columns:
        ticks = browser.run(BOXES, f'[data-column="{column}"] .row.axis text')
        assert len(ticks) >= 3
        assert all(a[1] < b[0] for a, b in pairwise(ticks))
    texts = [(text, plain(a), plain(b)) for text, a, b in browser.run(TEXTS)]
    assert len({behind for *_, behind in texts}) > 9  # the heat maps' cells
    assert {text: contrast(a, b) for text, a, b in texts if contrast(a, b) < 4.5} == {}
    labels = browser.run(
        "return [...document.querySelectorAll('[role=img]')].map(e => e.ariaLabel)"
    )
    assert len(labels) == 22
    assert all("in the population" in label for label in labels)
    assert browser.driver.get_log("browser") == []
    assert [url for url in browser.requests() if not url.startswith(("file:", "data:"))] == []
