"""Synthetic copies of whole tables as files: what comes back, and intervals from files alone."""

import functools
import json
import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

import bayesdp as bdp
from bayesdp.errors import InvalidInput, InvalidRelease, ReleaseExists
from bayesdp.evaluation.synthetic_copies import ABOUT, WORDS, About
from tests.statistical.test_table_calibration import TREND, measured, trend

SyntheticCopies = bdp.evaluate.SyntheticCopies
FALSE_ALARM = 1e-6

COLUMNS = {
    "age": {"type": "integer", "bounds": (18, 90), "bins": [18, 40, 90]},
    "income": {"type": "real", "bounds": (0, 10), "bins": 4, "missing": True},
    "day": {
        "type": "date",
        "bounds": (pd.Timestamp(2020, 1, 1).date(), pd.Timestamp(2021, 12, 31).date()),
        "bins": "year",
    },
    "code": {"type": "category", "labels": ["01", "1", "x, y"], "missing": True},
    "children": {"type": "ordered", "labels": [0, 1, 2]},
    "votes": {"type": "boolean", "missing": True},
    "smokes": {"type": "boolean"},
    "asked": {"type": "boolean", "labels": ["no", "yes"]},
}


def survey(n=300):
    rng = np.random.default_rng(3)
    made = {
        "age": rng.integers(18, 91, n),
        "income": pd.array(rng.uniform(0, 10, n), dtype="Float64"),
        "day": pd.Timestamp(2020, 1, 1) + pd.to_timedelta(rng.integers(0, 730, n), unit="D"),
        "code": pd.Series(rng.choice(["01", "1", "x, y"], n), dtype=object),
        "children": rng.integers(0, 3, n),
        "votes": pd.array(rng.random(n) < 0.4, dtype="boolean"),
        "smokes": rng.random(n) < 0.3,
        "asked": rng.choice(["no", "yes"], n),
    }
    frame = pd.DataFrame(made)
    for name in ("income", "code", "votes"):
        frame.loc[rng.random(n) < 0.1, name] = pd.NA
    return frame


DOUBTED = "the copies' fit: .*ESS.*what_goes_wrong.md#copies"


@functools.cache
def fitted(workload=None):
    synthesizer = bdp.TableSynthesizer(
        bdp.Schema(COLUMNS), epsilon=4.0, delta=1e-6, workload=workload
    )
    with bdp.reproducible(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = synthesizer.release(survey())
        return bdp.TableModel().fit(
            release, draws=40, warmup=30, thin=1, tables=20, chains=2, seed=1
        )


def loaded(folder):
    with pytest.warns(UserWarning, match=DOUBTED):
        return SyntheticCopies.load(folder)


def drawn(*given, **options):
    with pytest.warns(UserWarning, match=DOUBTED):
        return SyntheticCopies.of(*given, **options)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_what_is_written_comes_back_with_its_types(tmp_path, kind):
    copies = drawn(fitted(), 3, seed=1)
    assert copies.save(tmp_path / "made", kind=kind) == tmp_path / "made"
    names = {f"copy_{k}.{kind}" for k in (1, 2, 3)} | {ABOUT, WORDS}
    assert {file.name for file in (tmp_path / "made").iterdir()} == names
    again = loaded(tmp_path / "made")
    for one, other in zip(copies.frames, again.frames, strict=True):
        pd.testing.assert_frame_equal(one, other)
        assert one["code"].isna().any()
    assert again.about.guarantee == fitted().attrs["guarantee"]
    assert repr(again).startswith("<SyntheticCopies: 3 copies, the first of ")
    pd.testing.assert_frame_equal(copies.table(["code", "votes"]), again.table(["code", "votes"]))


@pytest.mark.parametrize(
    "columns",
    [
        {"x": {"type": "category", "labels": ["NA", "None", "", "1"]}},
        {"x": {"type": "category", "labels": ["a", "b"], "missing": True}},
        {"a;b": {"type": "category", "labels": ["u;v", 'q"r']}, "c,d": {"type": "boolean"}},
        {
            "é": {"type": "ordered", "labels": ["é", "ß"]},
            "n": {"type": "integer", "bounds": (0, 3)},
        },
    ],
)
def test_labels_that_a_file_might_change_come_back(tmp_path, columns):
    schema, rng = bdp.Schema(columns), np.random.default_rng(1)
    schema.save(tmp_path / "schema.toml")
    codes = pd.DataFrame({name: rng.integers(0, k, 50) for name, k in schema.cells.items()})
    about = About(
        files=["copy_1"],
        of="confidential records",
        table=(tmp_path / "schema.toml").read_text(),
        measured=[list(columns)],
        guarantee="epsilon = 1",
        verdict="no problem found",
    )
    copies = SyntheticCopies((schema.decoded(codes, rng),), about)
    again = SyntheticCopies.load(copies.save(tmp_path / "made"))
    pd.testing.assert_frame_equal(again.frames[0], copies.frames[0])


def test_the_words_have_the_promise_the_rule_and_the_codes(tmp_path):
    drawn(fitted(), 20, seed=1).save(tmp_path / "made")
    words = (tmp_path / "made" / WORDS).read_text()
    assert max(map(len, words.splitlines())) <= 88
    for said in (
        "20 synthetic copies of a table with 8 columns",
        "T = mean(v) + (1 + 1/20) B",
        fitted().attrs["guarantee"],
        "age: integer: [18, 40); [40, 90]",
        "code: category: 01; 1; x, y; missing",
        "    age, income\n",
    ):
        assert said in words
    assert " ".join(fitted().attrs["verdict"].split()) in " ".join(words.split())
    about = json.loads((tmp_path / "made" / ABOUT).read_text())
    assert set(about) == {
        *("format", "software", "files", "of", "table", "measured", "pools"),
        *("guarantee", "verdict", "assumed"),
    }


@pytest.mark.filterwarnings("ignore:.*of the spread of:UserWarning")
def test_combined_is_as_by_hand():
    """Rubin's rule by hand, with a number at its cell's middle."""
    copies = drawn(fitted(), 5, seed=1)
    found = copies.regression("age ~ income + C(smokes)", level=0.9)
    q, v = [], []
    for frame in copies.frames:
        age = np.where(frame["age"] < 40, 28.5, 65.0)  # of whole numbers
        cell = np.minimum(np.floor(frame["income"].astype(float) / 2.5), 3)
        data = pd.DataFrame(
            {"age": age, "income": 2.5 * cell + 1.25, "smokes": 1.0 * frame["smokes"]}
        )
        fit = smf.ols("age ~ income + C(smokes)", data).fit()
        q.append(fit.params)
        v.append(fit.bse**2)
    within, between = pd.DataFrame(v).mean(), pd.DataFrame(q).var(ddof=1)
    np.testing.assert_allclose(found["estimate"], pd.DataFrame(q).mean()[found.index])
    np.testing.assert_allclose(found["sd"] ** 2, (within + 1.2 * between)[found.index], rtol=1e-6)
    assert np.all(found["upper"] - found["lower"] > 2 * 1.64 * found["sd"])
    naive = (q[0] - 1.6449 * np.sqrt(v[0]))[found.index]
    np.testing.assert_allclose(found["naive_lower"], naive, rtol=1e-3)
    by_label = copies.regression("smokes ~ C(code)", family="logit")  # without missing ones
    counts = [pd.crosstab(frame["code"], frame["smokes"]) for frame in copies.frames]
    odds = [np.log(each[True] / each[False]) for each in counts]
    slopes = np.mean([each["x, y"] - each["01"] for each in odds])
    assert by_label.loc["C(code)[T.x, y]", "estimate"] == pytest.approx(slopes, abs=1e-6)
    shares = copies.table("code")
    assert list(shares.index) == ["01", "1", "x, y", "missing"]
    assert shares["estimate"].sum() == pytest.approx(1)


def test_many_copies_agree_with_the_posterior():
    """A share's interval is the posterior's, but for Monte Carlo error of 40 tables."""
    direct = fitted().table("smokes", seed=1).interval()
    found = drawn(fitted(), 40, seed=1).table("smokes")
    np.testing.assert_allclose(found["estimate"], direct["mean"], atol=0.02)
    ratio = (found["upper"] - found["lower"]) / (direct["upper"] - direct["lower"])
    assert np.all((ratio > 0.7) & (ratio < 1.4))


def test_copies_of_a_population_have_their_sampling_between_them():
    """Raked copies are whole samples: the variance within them isn't counted again."""
    raked = bdp.evaluate.poststratify(fitted(), {"smokes": {False: 80, True: 20}})
    copies = drawn(raked, 20, seed=1)
    assert copies.about.of == "population"
    found = copies.table("votes")
    shares = [frame["votes"].value_counts(normalize=True, dropna=False) for frame in copies.frames]
    between = np.var([share[True] for share in shares], ddof=1)
    assert found.loc[True, "sd"] ** 2 == pytest.approx(1.05 * between)
    np.testing.assert_allclose(copies.table("smokes")["estimate"], [0.8, 0.2], atol=0.03)


def test_imputed_copies_say_what_they_assume(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = fitted().imputed(["votes"], seed=1)
    drawn(whole, 2, seed=1).save(tmp_path / "made")
    assert not loaded(tmp_path / "made").frames[0]["votes"].isna().any()
    words = " ".join((tmp_path / "made" / WORDS).read_text().split())
    assert whole.attrs["assumed"] in words


@pytest.mark.filterwarnings("ignore:.*of the spread of:UserWarning")
@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")
def test_private_cut_points_are_a_table_s_and_the_grid_a_regression_s():
    """The middle of a long-tailed column's last interval is far from the mean of its numbers."""
    rng = np.random.default_rng(1)
    income = rng.lognormal(3, 1, 2000).clip(0, 500)
    frame = pd.DataFrame({"income": income, "college": rng.random(2000) < 0.4})
    bins = {"private": 5, "share": 0.2}
    schema = bdp.Schema(
        {
            "income": {"type": "real", "bounds": (0, 500), "bins": bins},
            "college": {"type": "boolean"},
        }
    )
    with bdp.reproducible(1):
        release = bdp.TableSynthesizer(schema, epsilon=3.0, delta=1e-6).release(frame)
    posterior = bdp.TableModel().fit(release, draws=40, warmup=40, thin=1, tables=20, seed=1)
    copies = SyntheticCopies.of(posterior, 10, seed=1)
    assert list(copies.table("income").index) == list(posterior.table("income", seed=1).names)
    found = copies.regression("income ~ college").loc["Intercept"]
    direct = posterior.regression("income ~ college", by="tables", seed=1).mean["Intercept"]
    assert abs(found["estimate"] - direct) < 2 * found["sd"]


def test_columns_that_were_not_measured_together_are_told():
    posterior = fitted(("age ~ income", "votes ~ smokes"))
    copies = drawn(posterior, 2, seed=1)
    with pytest.warns(UserWarning, match="no released marginal has age and smokes together"):
        copies.table(["age", "smokes"])
    with pytest.warns(UserWarning, match="age and smokes together"):
        copies.regression("age ~ smokes")


def test_what_cannot_be_done_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="one copy leaves the noise out"):
        SyntheticCopies.of(fitted(), 1)
    with pytest.raises(InvalidInput, match="copies is 41; there are 40 latent tables"):
        SyntheticCopies.of(fitted(), 41)
    with pytest.raises(InvalidInput, match="it must be what TableModel's fit returned"):
        SyntheticCopies.of(3)
    copies = drawn(fitted(), 2, seed=1)
    copies.save(tmp_path / "made")
    with pytest.raises(ReleaseExists, match="exists"):
        copies.save(tmp_path / "made")
    copies.save(tmp_path / "made", force=True)
    with pytest.raises(InvalidInput, match="kind is 'xlsx'"):
        copies.save(tmp_path / "other", kind="xlsx")
    with pytest.raises(InvalidInput, match="'weight' isn't a column of the copies, which have age"):
        copies.table("weight")
    with pytest.raises(InvalidInput, match="columns must be one or more, and different"):
        copies.table(["age", "age"])
    with pytest.raises(InvalidInput, match="formula"):
        copies.regression("age ~ weight")
    with pytest.raises(InvalidInput, match="family is 'probit'"):
        copies.regression("age ~ smokes", family="probit")
    with pytest.raises(InvalidInput, match="level"):
        copies.table("smokes", level=95)


def test_a_coefficient_that_a_copy_leaves_open_is_refused():
    """A label without records, of which a mean over the other copies would say what it likes."""
    copies = drawn(fitted(), 2, seed=1)
    first, second = copies.frames
    second = second.assign(asked=second["asked"].where(second["asked"] == "no", "no"))
    changed = SyntheticCopies((first, second), copies.about)
    with pytest.raises(InvalidInput, match=r"copy 2 doesn't determine .*asked.*merge rare labels"):
        changed.regression("age ~ C(asked)")


def test_a_folder_that_was_changed_is_refused(tmp_path):
    folder = drawn(fitted(), 2, seed=1).save(tmp_path / "made")
    about = json.loads((folder / ABOUT).read_text())

    def refused(match, **changed):
        (folder / ABOUT).write_text(json.dumps(about | changed))
        with pytest.raises(InvalidRelease, match=match):
            SyntheticCopies.load(folder)

    refused("format", format=2)
    refused("verdict", verdict=3)
    refused("files", files=[])
    refused("must be a CSV or Parquet file beside it", files=["../copy_1.csv"])
    refused("must be a CSV or Parquet file beside it", files=["copy_1.pkl"])
    refused("there is no copy_3.csv", files=["copy_3.csv"])
    refused("names a file twice", files=["copy_1.csv", "copy_1.csv"])
    refused("made", table="columns = 3")
    refused("made", table="= 3")
    (folder / ABOUT).write_text(json.dumps(about))
    file = folder / "copy_2.csv"
    text = file.read_text()
    file.write_text(text.replace("smokes", "smoked", 1))
    with pytest.raises(InvalidRelease, match="column 'smokes' isn't in"):
        SyntheticCopies.load(folder)
    file.write_text("smokes," + text.replace("\n", "\nTrue,").removesuffix("True,"))
    with pytest.raises(InvalidRelease, match=r"column 'smokes' is 2 times in copy_2\.csv"):
        SyntheticCopies.load(folder)
    file.write_text(text.splitlines(keepends=True)[0])  # of 0 records all shares were 0
    with pytest.raises(InvalidRelease, match="copy 2 has no records"):
        SyntheticCopies.load(folder)
    file.write_text(text.replace("True", "maybe"))
    with pytest.raises(InvalidRelease, match=r"copy_2.csv: column '(votes|smokes)'"):
        SyntheticCopies.load(folder)
    for damaged in (b'age,income\n1,"2', b"\xff\xfe", b""):
        file.write_bytes(damaged)
        with pytest.raises(InvalidRelease, match="made"):
            SyntheticCopies.load(folder)
    with pytest.raises(InvalidRelease, match="isn't a folder of copies"):
        SyntheticCopies.load(tmp_path)
    columns = drawn(fitted(), 2, seed=1).save(tmp_path / "columns", kind="parquet")
    (columns / "copy_2.parquet").write_bytes(b"PAR1")
    with pytest.raises(InvalidRelease, match="columns"):
        SyntheticCopies.load(columns)
    (columns / ABOUT).write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidRelease, match="columns"):
        SyntheticCopies.load(columns)


@pytest.mark.slow
@pytest.mark.calibrate
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_intervals_from_files_cover(epsilon):
    """A regression's three coefficients and six shares, from twenty copies of each of 60 surveys.

    Of 60 replicates each number is covered in 46 or fewer with a probability of 1e-6.
    """
    cells = TREND.coded(trend(np.random.default_rng(1), 300_000))
    middles = {name: TREND.columns[name].middles[cells[name]] for name in ("age", "income")}
    design = np.column_stack([np.ones(len(cells)), cells["college"], middles["age"]])
    true = np.linalg.lstsq(design, middles["income"], rcond=None)[0]
    true = np.append(true, np.bincount(cells["income"], minlength=6) / len(cells))
    covered = []
    for seed in range(60):
        codes = TREND.coded(trend(np.random.default_rng(100 + seed), 1500))
        release = measured(TREND, codes, epsilon, "gaussian", seed)
        run = {"draws": 200, "warmup": 150, "chains": 2, "thin": 1, "tables": 100, "seed": seed}
        copies = SyntheticCopies.of(bdp.TableModel().fit(release, **run), 20, seed=seed)
        found = copies.regression("income ~ college + age")
        found = pd.concat([found.loc[["Intercept", "college", "age"]], copies.table("income")])
        covered.append((found["lower"] <= true) & (true <= found["upper"]))
    assert np.all(np.sum(covered, axis=0) > 46)
