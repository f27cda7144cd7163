"""Studies: their rows, seeds, summaries and refusals, in one process."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.evaluation.studies.identity import fingerprint
from tests.evaluation.studies import parts
from tests.evaluation.studies.parts import (
    bernoulli,
    compared,
    fails_at_times,
    refuses,
    share,
    study,
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return study().run(tmp_path_factory.mktemp("study") / "out", client=None)


def test_a_row_for_everything_once(whole):
    frame = whole.frame
    assert len(frame) == 3 * 2 * 5  # "fixed" takes no epsilon, so it has one cell
    key = ["synthesizer", "epsilon", "n", "analysis", "replicate"]
    assert not frame.duplicated(key).any()
    assert frame["epsilon"].isna().sum() == 10
    assert set(frame.columns) == {*key, "estimand", "truth", "mean", "difference", "luck"}
    assert (frame["truth"] == 0.3).all()
    assert "guarantee" in str(whole)
    assert not len(whole.failures)


def test_a_replicate_is_what_its_seed_says(whole):
    """The released numbers can be made again by hand."""
    from bayesdp.evaluation.studies.cells import seed_of

    generator = np.random.default_rng(seed_of(7, "data", [("n", 100)], 3))
    data = generator.binomial(1, 0.3, 100)
    keys = [("epsilon", 2.0), ("n", 100)]
    with bdp.reproducible(seed_of(7, "release", keys, "copies", 3)):
        release = bdp.BetaBinomialSynthesizer(epsilon=2.0).release(data)
    row = whole.frame.query(
        "synthesizer == 'copies' and epsilon == 2 and replicate == 3 and analysis == 'share'"
    )
    assert row["mean"].tolist() == [np.mean(release.outputs) / 100]


def test_nothing_else_in_the_study_matters(whole, tmp_path):
    """Fewer cells, another order, more synthesizers and analyses: the same bits."""
    fewer = study(3, grid={"n": [100], "epsilon": [2]}, analyses=[compared])
    found = fewer.run(tmp_path / "fewer", client=None)
    asked = "analysis == 'compared' and epsilon == 2 and replicate < 3"
    one, two = (result.frame.query(asked) for result in (whole, found))
    assert len(one) == 3
    for name in ("difference", "luck"):
        assert one[name].tolist() == two[name].tolist()


def test_cells_share_their_data(tmp_path):
    """All synthesizers and epsilons of a replicate see the same records."""

    def ones(release, data):
        return {"ones": data.sum()}

    found = study(4, analyses=[ones], grid={"epsilon": [1.0, 2.0], "n": [50, 60]}).run(
        tmp_path / "s", client=None
    )
    spread = found.frame.groupby(["n", "replicate"])["ones"].nunique()
    assert (spread == 1).all()
    assert found.frame["ones"].nunique() > 1


def test_a_study_is_extended(whole, tmp_path):
    """First a part of it, then all: the rows are those of the whole, each computed once."""
    out, told = tmp_path / "s", []
    study(2, grid={"epsilon": [2.0], "n": [100]}, analyses=[share]).run(out, client=None)
    found = study().run(out, client=None, progress=lambda *done: told.append(done))
    assert whole.frame.equals(found.frame)
    assert told[0] == (0, 15)  # both analyses are wanted now
    assert told[-1] == (15, 15)
    told.clear()
    again = study().run(out, client=None, progress=lambda *done: told.append(done))
    assert whole.frame.equals(again.frame)
    assert told == [(15, 15)]
    less = study(2).run(out, client=None)
    assert len(less.frame) == 12
    assert len(bdp.evaluate.StudyResults.load(out).frame) == 30
    assert sorted(path.name for path in out.iterdir() if path.name[0] != ".") == [
        "results.parquet",
        "study.json",
    ]


def test_summary_by_hand(tmp_path):
    found = bdp.Study(
        data=bernoulli,
        synthesizers=[bdp.BetaBinomialSynthesizer],
        analyses=[bdp.BinomialModel()],
        grid={"epsilon": [1.0], "n": [100]},
        replicates=30,
        seed=3,
    ).run(tmp_path / "s", client=None)
    x, (row,) = found.frame, found.summary().to_dict("records")
    away = x["mean"] - 0.3
    assert (row["replicates"], row["failed"], row["estimand"]) == (30, 0, "p")
    assert row["mean"] == pytest.approx(x["mean"].mean(), rel=1e-12)
    assert row["mean_se"] == pytest.approx(x["mean"].std() / np.sqrt(30), rel=1e-12)
    assert row["bias"] == pytest.approx(away.mean(), rel=1e-9)
    assert row["rmse"] == pytest.approx(np.sqrt((away**2).mean()), rel=1e-12)
    expected = (away**2).std() / np.sqrt(30) / 2 / row["rmse"]
    assert row["rmse_se"] == pytest.approx(expected, rel=1e-12)
    share_covered = ((x["low"] <= 0.3) & (x["high"] >= 0.3)).mean()
    assert row["coverage"] == share_covered
    inside = min(share_covered, 1 - 0.5 / 30)
    assert row["coverage_se"] == pytest.approx(np.sqrt(inside * (1 - inside) / 30), rel=1e-12)


def test_missing_numbers_are_not_averaged_over(tmp_path):
    def at_times(release, data):
        return {"mean": float("nan") if data.sum() % 2 else 1.0, "sd": 2.0, "low": float("nan")}

    found = study(8, analyses=[at_times]).run(tmp_path / "s", client=None)
    assert found.frame["mean"].isna().any()
    assert found.frame["low"].isna().all()
    assert found.summary()["mean"].isna().all()
    assert (found.summary()["sd"] == 2).all()


def test_failures_are_recorded_and_retried(tmp_path, monkeypatch):
    declared = study(6, analyses=[fails_at_times, refuses, share])
    found = declared.run(tmp_path / "s", client=None)
    failed = found.failures
    few = failed[failed["analysis"] == "fails_at_times"]
    assert 0 < len(few) < 18
    assert set(few["error"]) == {"ValueError"}
    assert few["message"].str.startswith("the data are ").all()  # simulated, so it may be seen
    refused = failed[failed["analysis"] == "refuses"]
    assert set(refused["error"]) == {"InvalidInput"}
    assert set(refused["message"]) == {"this release is refused"}
    of = f"54 rows, {len(failed)} of them failed (the first with ValueError: the data are "
    assert str(found).startswith(of)
    summary = found.summary()
    assert summary.query("analysis == 'refuses'")[["replicates", "failed"]].sum().tolist() == [
        0,
        18,
    ]
    assert summary.query("analysis == 'share'")["failed"].sum() == 0
    both = summary.query("analysis == 'fails_at_times'")
    assert (both["replicates"] + both["failed"]).sum() == 18
    told: list = []
    declared.run(tmp_path / "s", client=None, progress=lambda *done: told.append(done))
    assert told == [(18, 18)]
    monkeypatch.setattr(parts.np, "sum", lambda data: 50)  # nothing fails any more
    again = declared.run(tmp_path / "s", client=None, retry_failed=True)
    assert set(again.failures["analysis"]) == {"refuses"}
    assert len(again.frame) == 54


def test_a_failing_release_fails_all_its_analyses(tmp_path):
    def broken(generator):
        return [0, 1, 2]

    found = study(2, data=broken, grid={"epsilon": [1.0]}).run(tmp_path / "s", client=None)
    assert len(found.failures) == len(found.frame) == 2 * 2 * 2
    assert set(found.failures["error"]) == {"InvalidInput"}
    assert (found.summary()["failed"] == 2).all()


def test_confidential_data_leave_no_trace(tmp_path):
    """Not in the manifest, nor in messages that aren't bayesdp's own."""
    records = pd.Series([0, 1, 0, 0] * 6)

    def tells(release, data):
        raise RuntimeError(f"secret {data.tolist()}")

    declared = study(2, data=records, analyses=[tells, share], grid={"epsilon": [1.0]}, truth=0.25)
    assert "[0" not in repr(declared)
    found = declared.run(tmp_path / "s", client=None)
    assert set(found.failures["error"]) == {"RuntimeError"}
    assert "message" not in found.frame
    for path in (tmp_path / "s").rglob("*"):
        if path.is_file():
            assert b"secret" not in path.read_bytes()
    manifest = json.loads((tmp_path / "s" / "study.json").read_text())
    assert set(manifest) == {
        *("kind", "version", "bayesdp", "note", "keys", "grid", "replicates", "synthesizers"),
        *("analyses", "salt", "fingerprints"),
    }
    shown = study(2, data=records, analyses=[tells], grid={"epsilon": [1.0]}, public=True)
    assert shown.run(tmp_path / "t", client=None).failures["message"].str.contains("secret").all()


def test_records_of_polars(tmp_path):
    """Results of a column or a frame are those of the same records, and other records are told."""
    polars = pytest.importorskip("polars")
    column = polars.Series("voted", [0, 1, 0, 0] * 6)
    asked = {"analyses": [share], "grid": {"epsilon": [1.0]}}
    plain = study(2, data=column.to_list(), **asked).run(tmp_path / "s", client=None).frame
    found = study(2, data=column, **asked).run(tmp_path / "t", client=None).frame
    assert found.equals(plain)
    frame = column.to_frame()
    prints = {fingerprint(each, b"salt") for each in (column, frame, column[::-1], frame[::-1])}
    assert len(prints) == 4
    assert fingerprint(frame.clone(), b"salt") in prints


def test_truths(tmp_path):
    def two(release):
        return {"a": {"mean": 1.0}, "b": {"mean": 2.0}}

    declared = {"data": [0, 1] * 20, "grid": {"epsilon": [1.0]}, "analyses": [two]}
    found = study(2, truth={"a": 5.0}, **declared).run(tmp_path / "a", client=None).frame
    assert found.query("estimand == 'a'")["truth"].eq(5.0).all()
    assert found.query("estimand == 'b'")["truth"].isna().all()
    found = study(2, truth=np.mean, **declared).run(tmp_path / "b", client=None).frame
    assert found["truth"].eq(0.5).all()
    found = study(2, truth={"c": 5.0}, **declared).run(tmp_path / "c", client=None)
    assert found.failures["message"].str.contains("truth is of").all()


@pytest.mark.parametrize("truth", [0.4, {"": 0.4}, np.mean])
def test_two_truths_are_refused(tmp_path, truth):
    """That of the study and that of the data's function, before anything runs."""
    with pytest.raises(bdp.errors.InvalidInput, match="returns a truth of its own"):
        study(2, truth=truth).run(tmp_path / "s", client=None)
    assert not (tmp_path / "s").exists()

    def at_times(generator, n):
        drawn = bernoulli(generator, n)
        return drawn if generator.random() < 0.5 else drawn.data

    def never(generator, n):
        raise ValueError("no data")

    found = study(12, data=at_times, truth=truth, seed=6).run(tmp_path / "t", client=None)
    assert 0 < len(found.failures) < len(found.frame)
    assert found.failures["message"].str.contains("returns a truth of its own").all()
    assert len(study(1, data=never, truth=truth).run(tmp_path / "u", client=None).failures) == 6


def _named(generator, n, **others):
    return bernoulli(generator, n)


def refusal(**others):
    return lambda: study(**others)


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (refusal(replicates=0), "replicates is 0"),
        (refusal(replicates=1.5), "replicates is 1.5"),
        (refusal(seed=-1), "seed is -1"),
        (refusal(data=None), "data is a NoneType; give records"),
        (refusal(data=bernoulli(np.random.default_rng(1), 9)), "data is a Simulated; give its"),
        (refusal(data="survey.csv"), "data is a str; .*read files with pandas first"),
        (refusal(public="no"), "public is 'no'; it must be True or False"),
        (
            refusal(analyses=[bdp.BinomialModel]),
            r"is a class; give .* bdp\.models\.BinomialModel\(\)",
        ),
        (refusal(grid={}), "grid is empty"),
        (refusal(grid=None), "grid is a NoneType"),
        (refusal(grid={"epsilon": [], "n": [9]}), r"grid\['epsilon'\] is empty"),
        (refusal(grid={"epsilon": 1.0, "n": [9]}), "must be a list of values"),
        (refusal(grid={"epsilon": [1, 1.0], "n": [9]}), "has a value twice"),
        (refusal(grid={"epsilon": [1.0, "a"], "n": [9]}), "several kinds: number, word"),
        (refusal(grid={"epsilon": [np.inf], "n": [9]}), "must be finite numbers"),
        (refusal(grid={"epsilon": [1.0], "n": [9], "truth": [1]}), "grid has the key 'truth'"),
        *(
            (refusal(data=_named, grid={"epsilon": [1.0], "n": [9], key: [1]}), f"key '{key}'")
            for key in ("coverage", "replicates", "failed", "bias", "rmse", "any_se")
        ),
        (
            refusal(
                data=_named,
                grid={"epsilon": [1.0], "n": [9], "mean": [1]},
                analyses=[bdp.BinomialModel()],
            ),
            "'mean', and analysis 'BinomialModel' numbers of that name",
        ),
        (
            refusal(grid={"epsilon": [1.0], "n": [9], "kopies": [2]}),
            r"grid has \['kopies'\], which",
        ),
        (refusal(grid={"epsilon": [1.0, -1.0], "n": [9]}), "synthesizer 'copies' at epsilon=-1.0"),
        (refusal(grid={"epsilon": [1.0]}), "data needs 'n', which the study doesn't offer"),
        (refusal(synthesizers=[]), "synthesizers is empty"),
        (refusal(synthesizers="beta"), "synthesizers is a str"),
        (refusal(synthesizers=[3]), "synthesizer 'int' is a int, which can't be called"),
        (refusal(synthesizers=[dict]), "has no signature to read"),
        (refusal(synthesizers={"x": lambda epsilon: 3}), "makes a int, which has no release"),
        (
            refusal(synthesizers=[bdp.BetaBinomialSynthesizer] * 2),
            "'BetaBinomialSynthesizer' twice",
        ),
        (refusal(analyses={}), "analyses is empty"),
        (refusal(analyses=[lambda: 1]), "takes no positional argument"),
        (refusal(analyses=[lambda release, other: 1]), "needs 'other', which the study doesn't"),
        (refusal(truth="a half"), "truth is a str"),
        (refusal(truth={}), "truth is a dict"),
        (lambda: bdp.evaluate.ModelAnalysis(3), "model is a int"),
        (lambda: bdp.evaluate.ModelAnalysis(bdp.BinomialModel(), level=1), "level is 1"),
        (
            lambda: bdp.evaluate.ModelAnalysis(bdp.BinomialModel(), options={"seed": 1}),
            "options has a seed",
        ),
    ],
)
def test_refusals(declared, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        declared()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"out": None}, "out is None; it must be a path"),
        ({"out": ""}, "out is ''"),
        ({"out": "a\0b"}, r"out is 'a\\x00b'"),
        ({"progress": 3}, "progress is a int; it must be a function"),
    ],
)
def test_refusals_of_a_run(given, message, tmp_path):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        study(1).run(**{"out": tmp_path / "s", "client": None, **given})
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(bdp.errors.InvalidInput, match="folder is 3; it must be a path"):
        bdp.evaluate.StudyResults.load(3)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ({}, "isn't a mapping of names to numbers"),
        (3.0, "returned a float"),
        ({"mean": "x"}, "isn't a mapping"),
        ({"a": {"mean": 1.0}, "b": 2.0}, "isn't a mapping"),
        ({"epsilon": 1.0}, r"numbers called \['epsilon'\]"),
        ({"replicate": 1.0}, r"numbers called \['replicate'\]"),
    ],
)
def test_what_an_analysis_must_not_return(returned, message, tmp_path):
    found = study(1, analyses={"own": partial(_returned, what=returned)}).run(
        tmp_path / "s", client=None
    )
    # "fixed" has no epsilon, so there it is no clash.
    failed = found.failures.query("synthesizer == 'copies'")
    assert len(failed) == 2
    assert failed["message"].str.contains(message).all()


def _returned(release, what):
    return what


@pytest.mark.parametrize("name", ["coverage", "bias", "mean_se", "failed", "epsilon"])
def test_numbers_called_as_columns_are_refused(tmp_path, name):
    """Also as a key that this synthesizer doesn't depend on."""
    declared = study(1, analyses={"own": lambda release: {"mean": 1.0, name: 7.0}})
    failed = declared.run(tmp_path / "s", client=None).failures
    assert len(failed) == 3
    assert failed["message"].str.contains(f"numbers called ['{name}']", regex=False).all()


def test_a_grid_key_may_be_called_index(tmp_path):
    """The rows are kept whole and in order, whatever its values."""
    grid = {"epsilon": [1.0], "n": [20], "index": [5, 3, 4]}
    found = study(2, data=_named, grid=grid).run(tmp_path / "s", client=None)
    copies = found.frame[found.frame["synthesizer"] == "copies"]
    assert copies["index"].tolist() == np.repeat([3, 4, 5], 4).tolist()
    assert not found.frame.duplicated(["synthesizer", "index", "analysis", "replicate"]).any()
