"""Releases of sequential modips that a TableModel reads, those that it refuses, and its answers."""

import dataclasses
import json
import warnings

import arviz as az
import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.core.drawn_table import DrawnTableView
from bayesdp.core.views import check_tractable, view_of
from bayesdp.engines.latent_records import counted, layout_of, unseen_counts
from bayesdp.engines.unseen_counts import log_copies, seen_now
from bayesdp.inference.readers import models_of
from bayesdp.inference.table.posterior import TablePosterior
from bayesdp.kernels.table.records import carry_batches
from bayesdp.kernels.table.unseen import draw_unseen
from bayesdp.report.html import write_report

Labels, Numbers = bdp.synthesizers.CategoricalColumns, bdp.synthesizers.NumericColumns
STEPS = (
    Labels({"sex": ("f", "m")}),
    Labels({"smokes": (False, True), "level": (3, 1, 2)}, by=["sex"], prior=0.5),
)
RUN = {"draws": 60, "warmup": 60, "chains": 2, "thin": 1, "seed": 1}
pytestmark = [
    pytest.mark.filterwarnings("ignore:the chains of this fit"),  # few draws
    pytest.mark.filterwarnings("ignore:the chains differ in"),
]


def people(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    sex = rng.choice(["f", "m"], n)
    smokes = rng.random(n) < np.where(sex == "f", 0.1, 0.6)
    return pd.DataFrame(
        {"sex": sex, "smokes": smokes, "level": rng.choice([1, 2, 3], n), "x": rng.random(n)}
    )


def copies(steps=STEPS, frame=None, **fields) -> bdp.Release:
    made = bdp.synthesizers.SequentialModipsSynthesizer(
        steps, **({"epsilon": 30.0, "copies": 2} | fields)
    )
    with bdp.reproducible(5):
        return made.release(people() if frame is None else frame)


def test_copies_are_read_as_counts_of_their_steps():
    release = copies()
    problem = bdp.TableModel().read(release)
    assert models_of(release.mechanism) == ("TableModel",)
    assert [one.columns for one in problem.noisy] == 2 * [(0,), (0, 1, 2)]
    assert problem.n == 200
    assert not problem.rake
    assert problem.released == []
    for k, frame in enumerate(release.to_frames()):
        sex, whole = (one.copied for one in problem.noisy[2 * k : 2 * k + 2])
        assert sex.counts.tolist() == [(frame["sex"] == label).sum() for label in "fm"]
        mine = (frame["sex"] == "m") & frame["smokes"] & (frame["level"] == 1)
        assert whole.counts[1, 1, 1] == mine.sum()
        assert (whole.given, whole.prior, whole.ends) == (1, 0.5, (0.0, 200.0))
        assert whole.counts.sum() == 200


def test_all_that_a_tables_posterior_answers_is_answered(tmp_path):
    release = copies()
    release.save(tmp_path / "release")
    posterior = bdp.TableModel().fit(bdp.Release.load(tmp_path / "release"), **RUN)
    found = posterior.table(["sex", "smokes"], seed=1).interval()
    true = people().groupby("sex")["smokes"].mean()
    among = found["mean"].unstack()
    assert (among[True] / among.sum(axis=1)).to_numpy() == pytest.approx(true.to_numpy(), abs=0.12)
    ends = posterior.regression("smokes ~ C(sex)", family="logit", seed=1).interval()
    assert ends["lower"].iloc[1] > 0
    shown = posterior.synthetic(1, seed=1)[0]
    assert shown["smokes"].dtype == bool
    assert list(shown["level"].cat.categories) == [3, 1, 2]
    assert "released" not in posterior.groups()
    with pytest.raises(bdp.errors.InvalidInput, match="weren't released"):
        posterior.regression("smokes ~ C(sex)", by="moments")
    posterior.to_netcdf(tmp_path / "posterior.nc")
    again = TablePosterior.of(az.from_netcdf(tmp_path / "posterior.nc"))
    assert again.table("sex", seed=1).interval().equals(posterior.table("sex", seed=1).interval())


def test_a_report_says_that_copies_were_released(tmp_path):
    release = copies(public_n=False, size=150)
    fitted = bdp.TableModel(n=200).fit(release, **RUN)
    assert json.loads(fitted.attrs["n"]) == 200
    text = write_report(fitted, release, tmp_path / "page").read_text(encoding="utf-8")
    assert "Share in the copies, as released" in text
    assert "Counts that were released" not in text


def test_another_release_of_the_table_says_how_many_records_there_are():
    """And starts chains where the copies' noisy counts are in proportion to it."""
    drawn = copies(public_n=False, size=40)
    schema = bdp.TableModel(n=200).schema_of(drawn)
    with bdp.reproducible(2):
        frame = people().drop(columns="x")
        counted_ones = bdp.TableSynthesizer(schema, epsilon=3.0).release(frame)
    posterior = bdp.TableModel().fit([drawn, counted_ones], **RUN)
    assert posterior.posterior["n"].mean() == pytest.approx(200, abs=12)
    assert "released" not in posterior.groups()


@pytest.mark.parametrize(
    ("release", "model", "message"),
    [
        (
            lambda: copies((Numbers({"x": (0, 1)}),)),
            bdp.TableModel(),
            "columns x are numeric.*law is intractable.*bdp.combine",
        ),
        (
            lambda: copies(
                (Labels({"x": (0.5, 1.5)}),), pd.DataFrame({"x": [0.5, 1.5]}), public_n=True
            ),
            bdp.TableModel(),
            "make no bdp.Schema.*bdp.combine",
        ),
        (
            lambda: copies(public_n=False, size=10),
            bdp.TableModel(),
            r"n isn't in this release.*TableModel\(n=1000\)",
        ),
        (copies, bdp.TableModel(n=100), "the release says n = 200; leave n out"),
    ],
)
def test_what_has_no_law_or_no_size_is_refused_with_a_way_out(release, model, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        model.fit(release())


MIXED = (STEPS[0], Numbers({"x": (0, 1)}, by=["sex"]), STEPS[1])


def test_numeric_columns_are_left_out_with_a_warning(tmp_path):
    """And the rest is read as if there had never been any."""
    release = copies(MIXED)
    kept = [frame.drop(columns=["x", "copy"], errors="ignore") for frame in release.to_frames()]
    mixed = release.mechanism
    alone = dataclasses.replace(mixed, steps=STEPS, scales=(mixed.scales[0], mixed.scales[2]))
    others = bdp.Release.of_copies(kept, mechanism=alone)
    assert models_of(mixed) == ("TableModel",)
    assert list(bdp.TableModel().schema_of(release).columns) == ["sex", "smokes", "level"]
    with pytest.warns(UserWarning, match=r"leaves out the numeric .* x, .*#left-out") as said:
        posterior = bdp.TableModel().fit(release, **RUN)
    (place,) = [one.filename for one in said if "leaves out" in str(one.message)]
    assert place == __file__
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        expected = bdp.TableModel().fit(others, **RUN)
    assert not [one for one in told if "leaves out" in str(one.message)]
    assert posterior.tables.identical(expected.tables)
    assert posterior.sample_stats["lp"].identical(expected.sample_stats["lp"])
    assert posterior.attrs["left_out"] == "x"
    assert "left_out" not in expected.attrs
    text = write_report(posterior, release, tmp_path / "page").read_text(encoding="utf-8")
    assert "<dt>Columns left out, whose law is intractable</dt><dd>x</dd>" in text
    assert "<td>33.3%</td>" in text  # a step's share of the budget, of three
    with pytest.raises(bdp.errors.InvalidInput, match="sex, smokes, level"):
        posterior.regression("x ~ C(sex)")


def test_copies_of_numbers_alone_have_no_view():
    made = copies((Numbers({"x": (0, 1)}),)).mechanism
    assert view_of(made, DrawnTableView) is None
    assert models_of(made) == ()
    with pytest.raises(bdp.errors.InvalidInput, match="x are numeric"):
        check_tractable(made, DrawnTableView)
    assert view_of(copies().mechanism, DrawnTableView) is not None


def test_moves_keep_what_is_counted_and_the_law_is_that_of_the_counts():
    """Unseen counts less noise are counts of records, in every copy of them that a chain holds."""
    problem = bdp.TableModel().read(copies())
    rng, layout = np.random.default_rng(1), layout_of(problem)
    records = rng.integers(0, [2, 2, 3], (200, 3)).astype(np.uint16)
    classes = rng.integers(0, problem.classes, 200).astype(np.int32)
    state = counted(problem, layout, records, classes, 200)
    unseen = unseen_counts(problem, layout)
    draw_unseen(state, unseen, 20, 8.0, rng)
    carry_batches(layout, state, unseen, 20.0, rng)
    records = state.records.astype(np.int64)
    assert not np.array_equal(unseen.noisy, unseen_counts(problem, layout).noisy)
    found = np.concatenate(
        2
        * [np.bincount(records[:, 0], minlength=2), np.bincount(records @ [6, 3, 1], minlength=12)]
    )
    for places in unseen.places.T:
        there = places >= 0
        assert np.array_equal((unseen.noisy - state.left[places])[there], found[there])
    assert np.array_equal(seen_now(problem.noisy, unseen), unseen.noisy)
    sums = np.bincount(unseen.rows, unseen.prior + np.clip(unseen.noisy, 0, 200))
    assert unseen.sums == pytest.approx(sums)
    assert np.isfinite(log_copies(unseen))
