"""`bayesdp study`: studies from a file, and files that name what isn't there."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.evaluation.studies.file import load_study
from bayesdp.evaluation.studies.laws import bernoulli, categories, gamma, normal

GOOD = """
title = "Which epsilon"
replicates = 4
seed = 7
[data]
law = "bernoulli"
p = 0.3
[grid]
n = [50]
epsilon = [0.5, 2.0]
copies = [1, 2]
[synthesizers.copies]
name = "beta_binomial"
[analyses.posterior]
family = "binomial"
prior = [1, 1]
level = 0.9
"""
TABLE = """
seed = 1
replicates = 2
out = "results"
[data]
source = "survey.csv"
column = "hours"
above = 1.5
public = true
[grid]
epsilon = [1.0]
[synthesizers.one]
name = "beta_binomial"
copies = 1
[analyses.exact]
family = "binomial"
[analyses.sampled]
family = "binomial"
fit = { draws = 50, chains = 2 }
variables = ["p"]
[truth]
p = 0.5
"""
WRONG = '[analyses.exact]\nfamily = "gaussian"\nsd = 1.0'


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    hours = np.random.default_rng(0).uniform(0, 3, 80).round(1)
    pd.DataFrame({"hours": hours, "name": "A. Secret"}).to_csv("survey.csv", index=False)
    (tmp_path / "good.toml").write_text(GOOD)
    (tmp_path / "table.toml").write_text(TABLE)
    return tmp_path


def test_a_study_from_a_file(place, run_cli):
    status, out, _ = run_cli("study good.toml --client none")
    assert status == 0
    first, header, *rows = out.splitlines()
    assert first == (
        "Which epsilon: synthesizer copies, n 50, analysis posterior, estimand p, replicates 4, "
        "failed 0"
    )
    assert header.split() == ["epsilon", "copies", "bias", "rmse", "coverage"]
    assert [row.split()[:2] for row in rows[:4]] == [
        ["0.5", "1"],
        ["0.5", "2"],
        ["2", "1"],
        ["2", "2"],
    ]
    assert "no release behind these results carries any guarantee" in out
    found = bdp.evaluate.StudyResults.load(place / "good")
    assert len(found.frame) == 16
    made = bdp.Study(
        data=bernoulli_of_a_third,
        synthesizers={"copies": bdp.BetaBinomialSynthesizer},
        analyses={"posterior": bdp.evaluate.ModelAnalysis(bdp.BinomialModel(), level=0.9)},
        grid={"n": [50], "epsilon": [0.5, 2.0], "copies": [1, 2]},
        replicates=4,
        seed=7,
    ).run(place / "made", client=None)
    assert made.frame.equals(found.frame)
    summary = pd.read_csv(place / "good" / "summary.csv")
    assert summary["coverage"].tolist() == made.summary()["coverage"].tolist()
    status, out, _ = run_cli("study good.toml --client none --replicates 6")
    assert status == 0
    assert "replicates 6" in out


def test_results_are_saved_at_an_address_and_shown_from_there(place, run_cli, monkeypatch):
    url = "memory://bucket/good.parquet"
    status, ran, _ = run_cli(f"study good.toml --client none --save {url}")
    assert status == 0
    assert f"; saved at {url}\n" in ran
    status, shown, _ = run_cli(f"study {url}")
    assert (status, f"16 rows: {url}\n" in shown) == (0, True)
    assert shown.splitlines()[1:6] == ran.splitlines()[1:6]
    found = bdp.evaluate.StudyResults.load(url).frame
    assert found.equals(bdp.evaluate.StudyResults.load(place / "good").frame)
    status, out, _ = run_cli(f"study {url} --json")
    assert (status, json.loads(out)["rows"], json.loads(out)["saved"]) == (0, 16, url)
    for line, said in (
        (f"study {url} --replicates 6", "whose results are shown as they are"),
        ("study memory://bucket/none.parquet", "results can't be read from 'memory://bucket/none"),
        ("study good.toml --save good.parquet", "it must be an address, as 's3://bucket"),
        (f"study good.toml --save {url}", "(--force)"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(bdp.Study, "run", None)  # what is wrong is said before any work
            status, _, error = run_cli(line)
        assert (status, said in error) == (2, True), error
    line = f"study good.toml --client none --replicates 5 --save {url} --force"
    assert run_cli(line)[0] == 0
    assert len(bdp.evaluate.StudyResults.load(url).frame) == 20


def bernoulli_of_a_third(generator, n):
    return bernoulli(generator, n, 0.3)


def test_a_table_and_fits(place, run_cli):
    status, out, _ = run_cli("study table.toml --client none")
    assert status == 0
    assert out.startswith("Study: synthesizer one, epsilon 1, estimand p, replicates 2, failed 0")
    found = bdp.evaluate.StudyResults.load(place / "results").frame
    assert sorted(set(found["analysis"])) == ["exact", "sampled"]
    assert (found["truth"] == 0.5).all()
    exact, sampled = (found.query(f"analysis == '{name}'")["mean"] for name in ("exact", "sampled"))
    assert np.allclose(exact, sampled, atol=0.2)


def test_failures_are_counted(place, run_cli):
    wrong = TABLE.replace('[analyses.exact]\nfamily = "binomial"', WRONG)
    (place / "s.toml").write_text(wrong)
    for line in ("", " --retry-failed"):
        status, out, _ = run_cli("study s.toml --client none --out s" + line)
        assert status == 0
        assert "2 rows failed with InvalidInput: " in out
        assert "'beta_binomial'" in out  # what the first of them says
    assert len(bdp.evaluate.StudyResults.load(place / "s").frame) == 4


def test_a_study_of_failures_alone_is_an_error(place, run_cli):
    (place / "s.toml").write_text(GOOD.replace("p = 0.3", "p = 1.5"))
    status, out, err = run_cli("study s.toml --client none")
    assert status == 2
    assert "16 rows failed with InvalidInput: p is 1.5; it must be a number from 0 to 1" in out
    assert "every replicate failed" in err
    assert len(bdp.evaluate.StudyResults.load(place / "s").failures) == 16


def test_an_error_without_a_message_may_be_confidential(place, run_cli, monkeypatch):
    def fails(self, data):
        raise RuntimeError("A. Secret")

    monkeypatch.setattr(bdp.BetaBinomialSynthesizer, "release", fails)
    (place / "s.toml").write_text(TABLE.replace("public = true", "public = false"))
    status, out, err = run_cli("study s.toml --client none")
    assert status == 2
    assert "4 rows failed with RuntimeError, whose message isn't kept" in out
    assert "Secret" not in out + err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("replicates = 4", "replicates = 0", "replicates is 0"),
        ("replicates = 4", "replicates = 1.5", "replicates is 1.5: Input should be a valid int"),
        ("[analyses.posterior]", "[analyses.a]\n[analyses.b]", "analyses.a.family is missing"),
        ("seed = 7", "", "seed is missing"),
        ("seed = 7", "seed = -7", "seed is -7"),
        ("seed = 7", "seed = 7\nsead = 8", "sead isn't known; there are title, replicates, seed"),
        ("seed = 7", "seed = ", "not valid TOML"),
        ('law = "bernoulli"', 'law = "benoulli"', "data.law is 'benoulli'; it must be one of"),
        ("[grid]", "[truth]\np = 0.3\n[grid]", "'bernoulli' knows its own; leave"),
        ("p = 0.3", "q = 0.3", "data.q: the law 'bernoulli' has no such parameter; it has n, p"),
        ("p = 0.3", "", "data needs 'p', which the study doesn't offer"),
        ("n = [50]", "n = []", "grid['n'] is empty"),
        ("copies = [1, 2]", "kopies = [1, 2]", "grid has ['kopies'], which no synthesizer"),
        ("epsilon = [0.5, 2.0]", "epsilon = [0.5, -2.0]", "at n=50, epsilon=-2.0"),
        (
            'name = "beta_binomial"',
            'name = "beta"',
            "synthesizers.copies: synthesizer.name",
        ),
        ('name = "beta_binomial"', 'name = "beta_binomial"\nsise = 3', "synthesizer.sise"),
        ('family = "binomial"', 'family = "binomal"', "posterior: model.family is 'binomal'"),
        ("prior = [1, 1]", "priors = [1, 1]", "model.priors"),
        ("level = 0.9", "level = 9", "analyses.posterior: level is 9"),
    ],
)
def test_what_a_file_names_wrongly(place, run_cli, old, new, message):
    assert old in GOOD
    (place / "bad.toml").write_text(GOOD.replace(old, new))
    status, _, err = run_cli("study bad.toml --client none --out bad")
    assert status == 2
    assert message in err
    assert not (place / "bad").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"survey.csv"', '"surveys.csv"', "there is no such file"),
        ('"survey.csv"', '"statsmodels:nothing"', "statsmodels has no data set 'nothing'"),
        ('"hours"', '"minutes"', "column 'minutes' isn't in"),
        ("public = true", 'by = "name"', "a study's records have no groups"),
        ("public = true", "pubic = true", "data.pubic isn't known; there are source, column"),
        ('column = "hours"', "", "give either column or columns"),
    ],
)
def test_tables_that_are_not_there(place, run_cli, old, new, message):
    (place / "bad.toml").write_text(TABLE.replace(old, new))
    status, _, err = run_cli("study bad.toml --client none")
    assert status == 2
    assert message in err
    assert "Secret" not in err
    assert not (place / "results").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("study nothing.toml", "study is 'nothing.toml', but there is no such file"),
        ("study .", "study is '.', which is a folder; give a TOML file"),
        ("study good.toml --client nearby", "client is 'nearby'"),
        ("study good.toml --client none --workers 2", "goes with client='local' alone"),
        ("study good.toml --client none --replicates 0", "replicates is 0"),
        ("study good.toml --client none --out no/such", "doesn't exist"),
    ],
)
def test_wrong_options(place, run_cli, line, message):
    status, _, err = run_cli(line)
    assert status == 2
    assert message in err


def test_the_laws():
    rng = np.random.default_rng(1)
    drawn, truth = normal(rng, 20_000, 3.0, 2.0, low=0.0)
    assert truth == {"mu": 3.0, "sigma": 2.0}
    assert drawn.min() == 0.0
    # 5 standard errors: a false alarm in 2 million.
    assert np.median(drawn) == pytest.approx(3.0, abs=5 * 1.2533 * 2 / np.sqrt(20_000))
    frame, truth = categories(rng, 20_000, [0.2, 0.8])
    assert truth == {"theta[0]": 0.2, "theta[1]": 0.8}
    assert frame["category"].mean() == pytest.approx(0.8, abs=5 * 0.4 / np.sqrt(20_000))
    drawn, truth = gamma(rng, 20_000, 3.0, 2.0)
    assert truth == {"rate": 2 / 3, "mean": 3.0}
    assert drawn.mean() == pytest.approx(3.0, abs=5 * 3 / np.sqrt(2 * 20_000))
    assert drawn.var() == pytest.approx(4.5, rel=0.1)


@pytest.mark.parametrize(
    ("law", "given", "message"),
    [
        (bernoulli, {"n": 0, "p": 0.5}, "n is 0"),
        (bernoulli, {"n": 5, "p": 1.5}, "p is 1.5"),
        (normal, {"n": 5, "mean": 0.0, "sd": 0.0}, "sd is 0.0"),
        (normal, {"n": 5, "mean": 0.0, "sd": 1.0, "low": 2.0, "high": 1.0}, "low is 2.0"),
        (gamma, {"n": 5, "mean": -1.0}, "mean is -1.0"),
        (gamma, {"n": 5, "mean": 1.0, "shape": "a"}, "shape is 'a'"),
        (categories, {"n": 5, "probabilities": [0.5, 0.6]}, "add up to 1"),
        (categories, {"n": 5, "probabilities": 1.0}, "probabilities is 1.0"),
    ],
)
def test_laws_refuse(law, given, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        law(np.random.default_rng(1), **given)


def test_categories_and_numbers_in_files(place):
    """The truths' names are those of the models' estimands."""
    head = "seed = 1\nreplicates = 2\n"
    (place / "c.toml").write_text(
        head + '[data]\nlaw = "categories"\nn = 60\nprobabilities = [0.2, 0.3, 0.5]\n'
        '[grid]\nepsilon = [2.0]\n[synthesizers.dm]\nname = "dirichlet_multinomial"\n'
        "[synthesizers.dm.categories]\ncategory = [0, 1, 2]\n"
        '[analyses.m]\nfamily = "multinomial"\nprior = [1, 1, 1]\nfit = {draws = 50, chains = 2}\n'
    )
    (place / "n.toml").write_text(
        head + '[data]\nlaw = "normal"\nmean = 0.0\nsd = 1.0\nlow = -4.0\nhigh = 4.0\n'
        '[grid]\nepsilon = [20.0]\nn = [50]\n[synthesizers.m]\nname = "modips"\ncopies = 2\n'
        'family = {kind = "gaussian", bounds = [-4, 4], sd = 1.0}\n'
        '[analyses.g]\nfamily = "gaussian"\nsd = 1.0\n'
    )
    (place / "g.toml").write_text(
        head + '[data]\nlaw = "gamma"\nmean = 20.0\n'
        '[grid]\nepsilon = [2.0]\nn = [50]\n[synthesizers.m]\nname = "modips"\ncopies = 2\n'
        'clip = true\nfamily = {kind = "gamma", bounds = [0, 60]}\n'
        '[analyses.g]\nfamily = "gamma"\nprior = [1, 20]\n'
    )
    expected = (("c", ["theta[0]", "theta[1]", "theta[2]"]), ("n", ["mu"]), ("g", ["rate"]))
    for name, estimands in expected:
        _, study = load_study(place / f"{name}.toml")
        frame = study.run(place / name, client=None).frame
        assert sorted(set(frame["estimand"])) == estimands
        assert frame["truth"].notna().all()
        assert "error" not in frame
