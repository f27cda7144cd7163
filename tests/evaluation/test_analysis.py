"""Analyses in TOML: every shipped one runs, and a wrong one says what is wrong."""

import inspect
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.evaluation.analysis import (
    _released,
    checked_fit,
    find_analysis,
    load_analysis,
    run_analysis,
)
from bayesdp.evaluation.declarations import MODELS, SYNTHESIZERS, model_of, release_of
from bayesdp.evaluation.truth import truth as public_truth
from bayesdp.resources import shipped
from tests.conftest import require_pystan

SHIPPED = sorted(shipped("models").glob("*.toml"))

GOOD = """
title = "t"
[data]
source = "data.csv"
column = "y"
by = "g"
[synthesizer]
name = "beta_binomial"
epsilon = 1.0
[model]
family = "binomial"
[fit]
draws = 100
"""


@pytest.fixture
def analysis(tmp_path: Path) -> Path:
    (tmp_path / "data.csv").write_text("y,g\n" + "1,2.0\n0,2.0\n1,1.0\n" * 30)
    path = tmp_path / "a.toml"
    path.write_text(GOOD)
    return path


# With few draws chains don't mix, and a fit says so.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")
@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_shipped_analyses_run(path: Path, tmp_path: Path):
    """With few draws. What the public data say themselves is within 6 posterior sds of its mean.

    Or a little farther, by what few draws of the mean and the sd may be wrong.
    """
    analysis = load_analysis(path)
    if "stan" in (analysis.fit.get("engine"), analysis.synthesizer.model_extra.get("engine")):
        require_pystan()
    assert analysis.data.public
    steps = []
    few = {"draws": 100, "warmup": 200, "chains": 2, "seed": 1}
    if "thin" in analysis.fit:
        few["thin"] = 1
    with bdp.reproducible(3):
        result = run_analysis(
            path.stem,
            tmp_path / "out",
            fit=None if analysis.combine else few,
            progress=lambda text, done: steps.append(done),
        )
    assert steps == sorted(steps)
    assert bdp.Release.load(tmp_path / "out" / "release") == result.release
    assert (tmp_path / "out" / "report" / "index.html").is_file()
    if path.stem in UNREFERENCED:
        assert result.reference is None
        return
    if analysis.combine:
        found = result.combined
        half = (found["high"] - found["low"]) / 2
        assert np.all(np.abs(found["estimate"] - found["reference"]) < 3 * half)
        return
    reference = result.reference
    if result.model.family == "binomial":
        by_group = result.release.by is not None
        reference = {"p": [*reference.values()] if by_group else reference}
    for name, numbers in reference.items():
        drawn = result.idata.posterior[name]
        mean, sd = drawn.mean(("chain", "draw")), drawn.std(("chain", "draw"))
        assert np.all(np.abs(mean.to_numpy() - numbers) < 7 * sd.to_numpy() + 1e-9), name


# Estimates on blocks, a model of one's own, coefficients of a log-linear one.
UNREFERENCED = {"doctors", "republicans", "traits"}


def test_shipped_analyses_are_declared_right():
    """Each says who, when and why it is sensitive, and what it is checked by isn't its data."""
    families, data, programs = set(), set(), set()
    for path in SHIPPED:
        story = path.read_text().partition("\n\n")[0]
        assert story.startswith("# ")
        assert f"bayesdp fit {path.stem} --out" in story
        assert re.search(r"1[789]\d\d", story), path  # a year
        analysis = load_analysis(path)
        if analysis.model is not None:
            model = model_of(analysis.model.family, analysis.model.parameters(path.parent))
            checked_fit(model, analysis.fit)
            families.add(model.family)
        synthesizer, _ = release_of(analysis.synthesizer.name, analysis.synthesizer.model_extra)
        analysis.data.check_taken_by(path.stem, type(synthesizer))
        data.add(analysis.data.source)
        if analysis.fit.get("engine") in ("pymc", "stan"):
            programs.add(path.stem)
        if analysis.model is not None and analysis.model.family == "pymc":
            programs.add(path.stem)
    assert families == set(MODELS)
    assert len(SHIPPED) >= 14
    assert len(data) >= 7
    assert len(programs) >= 6


def test_the_posterior_recovers_what_the_naive_one_misses(tmp_path: Path):
    """On the demo's real survey; the reference is there because the data are public."""
    with bdp.reproducible(1):
        result = run_analysis("fair", tmp_path / "out")
    inside = {"aware": 0, "naive": 0}
    for label, truth in result.reference.items():
        alone = result.release[label]
        for name, posterior in (
            ("aware", result.model.posterior(alone)),
            ("naive", result.model.naive_posterior(alone)),
        ):
            low, high = posterior.interval(0.95)
            inside[name] += low <= truth <= high
    assert inside["aware"] == 5
    assert inside["naive"] <= 1


def test_paths_are_relative_to_the_file(analysis: Path, tmp_path: Path):
    result = run_analysis(str(analysis), tmp_path / "out")
    assert result.release.groups == (1, 2)
    assert result.reference is None
    with pytest.raises(bdp.errors.ReleaseExists):
        run_analysis(str(analysis), tmp_path / "out")


def test_an_existing_release(analysis: Path, tmp_path: Path):
    first = run_analysis(str(analysis), tmp_path / "out")
    again = tmp_path / "again.toml"
    again.write_text('title = "t"\nrelease = "out/release"\n[model]\nfamily = "binomial"\n')
    result = run_analysis(str(again), tmp_path / "second")
    assert result.release == first.release
    assert not (tmp_path / "second" / "release").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("title", "title = ", "not valid TOML"),
        ('title = "t"', "", "title is missing"),
        ('by = "g"', 'bye = "g"', r"bye isn't known; there are source, col.* \(line 6\)"),
        ("epsilon", "epsillon", "synthesizer.epsillon: a BetaBinomial.* it has epsilon"),
        ("beta_binomial", "laplace", "synthesizer.name"),
        ('"binomial"', '"weibull"', "model.family"),
        ('column = "y"', 'column = "y"\ncolumns = ["y"]', "either column or columns"),
        ('column = "y"', 'columns = ["y"]\nabove = 0', "about one column"),
        ('column = "y"', 'column = "y"\nequals = "1"', "values is not given"),
        ('column = "y"', 'column = "y"\nequals = "2"\nvalues = ["1", "0"]', "one of them"),
        ('"binomial"\n', '"binomial"\nn_range = [9]\n', "n_range is"),
        ('"binomial"\n', '"binomial"\nsd = 1.0\n', "model.sd: a BinomialModel has no such"),
        ('"binomial"', '"ergm"', "model.formula is missing"),
        ("draws = 100", "draws = 'many'", "fit.draws"),
        ("draws = 100", "drawn = 100", "fit: BinomialModel.fit has no option 'drawn'"),
        ("draws = 100", "engine = 'jags'", "fit.engine is 'jags'; it must be 'auto', 'exact'"),
        ("draws = 100", "target_accept = 0.9", "a setting of engine='pymc', but engine='exact'"),
        ('column = "y"', 'ties = ["y", "g"]', "labels and counts are of records"),
        ('column = "y"\nby = "g"', 'ties = ["y", "g"]', "'beta_binomial', which takes records"),
        ('"beta_binomial"', '"edge_flip"', "'edge_flip', which takes a network: give ties"),
        ('"beta_binomial"', '"posterior"', "takes a model in Python"),
        ('source = "data.csv"', 'source = "none.csv"', "no such file"),
        ('source = "data.csv"', 'source = "statsmodels:none"', "no data set 'none'"),
        ('column = "y"', 'column = "z"', "column 'z' isn't in"),
        ('by = "g"', 'by = "g"\nlabels = { 1 = "one" }', "others occur too"),
        ('title = "t"', 'title = "t"\nrelease = "x"', "either"),
        ("epsilon = 1.0", "epsilon = -1.0", "epsilon is -1"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_written(analysis, tmp_path, old, new, message):
    analysis.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        run_analysis(str(analysis), tmp_path / "out")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.toml", "data.csv"]


def test_a_file_that_is_no_text(analysis, tmp_path):
    analysis.write_bytes(b'title = "\xe9"')
    with pytest.raises(bdp.errors.InvalidInput, match=r"a\.toml is not valid TOML"):
        run_analysis(str(analysis), tmp_path / "out")


TEXTS = """
title = "t"
[data]
source = "data.csv"
columns = ["x"]
by = "g"
[synthesizer]
name = "dirichlet_multinomial"
epsilon = 1.0
public_n = false
size = 5
groups = ["1", "2", "a"]
[synthesizer.categories]
x = ["1", "2", "a"]
[model]
family = "multinomial"
"""


@pytest.mark.parametrize("last", ["1", "a"])
@pytest.mark.parametrize("column", ["x", "g"])
def test_labels_that_are_listed_as_texts_are_texts_whatever_occurs(tmp_path, last, column):
    """Whether there is an a would show in the type of the others, and in their refusal."""
    rows = {"x": "1,2", "g": "2,1"} | {column: f"2,{last}"}
    columns = zip(*(each.split(",") for each in rows.values()), strict=True)
    (tmp_path / "data.csv").write_text("x,g\n" + "\n".join(map(",".join, columns)) + "\n")
    (tmp_path / "a.toml").write_text(TEXTS)
    analysis = load_analysis(tmp_path / "a.toml")
    release, *_ = _released(analysis, tmp_path, lambda *step: None)
    assert release.groups == ("1", "2", "a")


NETWORK = """
title = "ties"
[data]
source = "ties.csv"
ties = ["a", "b"]
nodes = [1, 2, 3, 4, 5, 6]
[synthesizer]
name = "edge_flip"
epsilon = 3.0
copies = 2
[model]
family = "ergm"
formula = "edges"
prior = { mean = 0, sd = 2 }
[fit]
engine = "pymc"
draws = 50
warmup = 50
chains = 2
target_accept = 0.9
seed = 1
"""


@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")
def test_a_network(tmp_path: Path):
    """Of a file, with settings of the release and of the sampler."""
    (tmp_path / "ties.csv").write_text("a,b\n1,2\n2,3\n3,1\n")
    (tmp_path / "n.toml").write_text(NETWORK)
    result = run_analysis(str(tmp_path / "n.toml"), tmp_path / "out", fit={"draws": 60})
    assert result.release.copies == 2
    assert result.release.outputs[0].nodes == (1, 2, 3, 4, 5, 6)
    assert result.idata.posterior.sizes["draw"] == 60
    assert result.idata.posterior.sizes["chain"] == 2
    assert '"target_accept": 0.9' in result.idata.attrs["engine_settings"]


COMBINED = """
title = "t"
[data]
source = "data.csv"
columns = ["y", "x", "v"]
public = true
[synthesizer]
name = "sequential_modips"
epsilon = 50.0
copies = 3
[[synthesizer.steps]]
kind = "categorical"
columns = { v = ["no", "yes"] }
[[synthesizer.steps]]
kind = "numeric"
columns = { y = [0, 10], x = [0, 1] }
[combine]
"""


@pytest.fixture
def combined(tmp_path: Path) -> Path:
    rng = np.random.default_rng(5)
    x = rng.random(300)
    y = 2 + 5 * x + rng.normal(0, 0.5, 300)
    v = rng.choice(["no", "yes"], 300, p=[0.75, 0.25])
    rows = [",".join(map(str, row)) for row in zip(y, x, v, strict=True)]
    (tmp_path / "data.csv").write_text("y,x,v\n" + "\n".join(rows) + "\n")
    return tmp_path / "c.toml"


@pytest.mark.parametrize(
    ("section", "names"),
    [
        ('mean = "y"', ["mean of y"]),
        ('proportion = { v = "yes" }', ["v = yes"]),
        ('regression = ["y", "x"]\nrule = "rubin"\nlevel = 0.9', ["intercept", "x"]),
    ],
)
def test_copies_are_combined(combined: Path, tmp_path: Path, run_cli, section: str, names):
    """What the same formulas give by hand, of the copies as they were saved, and of the data."""
    combined.write_text(COMBINED + section)
    status, printed, said = run_cli(f"fit {combined} --out {tmp_path / 'out'}")
    assert status == 0, said
    copies = bdp.Release.load(tmp_path / "out" / "release").to_frames()
    frame = pd.read_csv(tmp_path / "out" / "combined.csv", index_col="component")
    assert list(frame.index) == names

    def by_hand(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        n, y, yes = len(table), table["y"], table["v"] == "yes"
        if "mean" in section:
            return np.array([y.mean()]), np.array([y.var() / n])
        if "proportion" in section:
            return np.array([yes.mean()]), np.array([yes.mean() * (1 - yes.mean()) / n])
        design = np.column_stack([np.ones(n), table["x"]])
        beta, (squares,), *_ = np.linalg.lstsq(design, y, rcond=None)
        return beta, np.diag(np.linalg.inv(design.T @ design)) * squares / (n - 2)

    q, v = (np.array(part) for part in zip(*map(by_hand, copies), strict=True))
    rubin = "rubin" in section
    share, level = (1 + 1 / 3, 0.9) if rubin else (1 / 3, 0.95)
    within, between = v.mean(axis=0), share * q.var(axis=0, ddof=1)
    df = 2 * (1 + within / between) ** 2
    half = stats.t(df).ppf((1 + level) / 2) * np.sqrt(within + between)
    middle, narrow = q.mean(axis=0), stats.norm.ppf((1 + level) / 2) * np.sqrt(within / 3)
    assert frame["estimate"].to_numpy() == pytest.approx(middle)
    assert frame["low"].to_numpy() == pytest.approx(middle - half)
    assert frame["high"].to_numpy() == pytest.approx(middle + half)
    assert frame["naive"].to_numpy() == pytest.approx(middle)
    assert frame["naive_low"].to_numpy() == pytest.approx(middle - narrow)
    assert frame["naive_high"].to_numpy() == pytest.approx(middle + narrow)
    truth, _ = by_hand(pd.read_csv(tmp_path / "data.csv"))
    assert frame["reference"].to_numpy() == pytest.approx(truth)
    page = (tmp_path / "out" / "report" / "index.html").read_text()
    rule, most = ("rubin", "90%") if rubin else ("liu", "95%")
    for text in (*names, f"by the rule {rule}", "It removes no bias", f"Naive {most} interval"):
        assert text in page
    assert f"{truth[0]:.3f}" in printed
    assert f"{middle[0]:.3f} [{(middle - half)[0]:.3f}, {(middle + half)[0]:.3f}]" in printed
    assert f"combined, {most}" in printed
    assert "It removes no bias" in printed


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("", "give one of mean, proportion and regression"),
        ('mean = "y"\nregression = ["y", "x"]', "give one of mean"),
        ('mean = "z"', r"\[combine\] is of the columns in \[data\]"),
        ('mean = "v"', "combine needs numbers in v"),
        ('regression = ["y"]', "the response and predictors"),
        ('regression = ["y", "y"]', "different columns"),
        ('proportion = { v = "yes", x = 1 }', "one column and its value"),
        ('mean = "y"\nrule = "mine"', "rule must be one of liu, rubin"),
        ('mean = "y"\nlevel = 1.5', "level is 1.5"),
        ('mean = "y"\nmedian = "y"', "combine.median isn't known; there are mean, proportion"),
        ('mean = "y"\n[fit]\ndraws = 9', r"give either \[model\], perhaps with \[fit\]"),
        ('mean = "y"\n[model]\nfamily = "gaussian"', r"give either \[model\]"),
    ],
)
def test_wrong_combinations_are_refused(combined: Path, tmp_path: Path, section: str, message: str):
    combined.write_text(COMBINED + section)
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        run_analysis(str(combined), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    combined.write_text(COMBINED + 'mean = "y"')
    with pytest.raises(bdp.errors.InvalidInput, match="draws: this analysis combines its copies"):
        run_analysis(str(combined), tmp_path / "out", fit={"draws": 9})


def test_finding():
    assert find_analysis("fair") == find_analysis("fair.toml") == shipped("models") / "fair.toml"
    assert load_analysis(find_analysis("fair")).title
    with pytest.raises(bdp.errors.InvalidInput, match=r"shipped analysis: .*\bfair, "):
        find_analysis("unfair")


NORMAL = """
title = "heights"
[data]
source = "heights.csv"
column = "height"
by = "site"
[synthesizer]
name = "modips"
epsilon = 4.0
copies = 2
family = { kind = "gaussian", bounds = [120, 220] }
[model]
family = "gaussian"
prior = [170, 0.01, 2, 100]
[fit]
draws = 500
seed = 1
"""


def test_normal_records_in_groups(tmp_path: Path):
    """Another synthesizer, another family, and the report on any family."""
    rng = np.random.default_rng(2)
    rows = [f"{rng.normal(165 + 10 * site, 7):.2f},{site}" for site in (0, 1) for _ in range(300)]
    (tmp_path / "heights.csv").write_text("height,site\n" + "\n".join(rows) + "\n")
    (tmp_path / "h.toml").write_text(NORMAL)
    with bdp.reproducible(4):
        result = run_analysis(str(tmp_path / "h.toml"), tmp_path / "out")
    assert result.reference is None
    assert result.idata.posterior["mu"].sizes["group"] == 2
    low, high = result.idata.posterior["mu"].mean(("chain", "draw")).to_numpy()
    assert 155 < low < high < 185
    page = (tmp_path / "out" / "report" / "index.html").read_text()
    assert "<h1>heights</h1>" in page
    assert "sigma" in page


PUBLIC = (bdp.models, bdp.synthesizers)


def test_every_public_model_and_synthesizer_can_be_declared():
    public = [getattr(bdp.models, name) for name in bdp.models.__all__]
    models = {thing.__name__ for thing in public if hasattr(thing, "fit")}
    models -= {"RecordModel"}  # of functions, which no file declares
    assert {made.__name__ for made in MODELS.values()} == models
    synthesizers = {name for name in bdp.synthesizers.__all__ if name.endswith("Synthesizer")}
    assert {made.__name__ for made in SYNTHESIZERS.values()} == synthesizers
    assert {made.takes for made in SYNTHESIZERS.values()} == {"records", "network", "model"}
    for registry, room in ((MODELS, "inference"), (SYNTHESIZERS, "synthesis")):
        for name, made in registry.items():
            assert any(made is getattr(ns, n) for ns in PUBLIC for n in ns.__all__)
            assert made.__module__.startswith(f"bayesdp.{room}.")
            if room == "inference":
                assert made.family == name
                taken = {"engine", "draws", "chains", "warmup", "seed", "progress"}
                assert taken <= set(inspect.signature(made.fit).parameters)


@pytest.mark.parametrize(
    ("family", "parameters", "message"),
    [
        ("gaussian", {"sd": -1.0}, "sd is -1"),
        ("ergm", {"formula": "edges", "prior": {"mean": 0}}, None),
        ("ergm", {"formula": "edges", "prior": {"variance": 4}}, r"model\.prior\.variance"),
        ("binomial", {"n_range": [5, 9], "n": 7}, "without n"),
        ("binomial", {"n_range": [True, 9]}, "two whole numbers"),
        ("binomial", {"n_range": {"a": [5, 9]}, "n": 7}, "without n"),
        ("binomial", {"n_range": {"a": [5, 9]}, "n": {"a": 7}}, "without n"),
        ("binomial", {"n_range": {"a": [5]}}, "two whole numbers"),
        ("binomail", {}, "one of beta, beta_model, beta_regression, binomial"),
    ],
)
def test_models_are_declared(family, parameters, message):
    if message is None:
        assert model_of(family, parameters) == bdp.models.ERGMModel(
            "edges", prior=bdp.networks.NormalPrior(0)
        )
        return
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        model_of(family, parameters)


TABLE = """
title = "a table"
[data]
source = "people.csv"
columns = ["age", "smokes"]
public = true
[synthesizer]
name = "table"
epsilon = 5.0
[synthesizer.schema.columns]
age = { type = "integer", bounds = [18, 90], bins = [18, 40, 90] }
smokes = { type = "category", labels = ["no", "yes"], missing = true }
[model]
family = "table"
[fit]
draws = 40
warmup = 20
chains = 2
thin = 1
tables = 10
seed = 1
"""


@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")
@pytest.mark.filterwarnings("ignore:.*of the spread of")
def test_a_whole_table_has_the_shares_of_public_data_beside_it(tmp_path: Path):
    rng = np.random.default_rng(4)
    people = pd.DataFrame(
        {"age": rng.integers(18, 91, 200), "smokes": rng.choice(["no", "yes", None], 200)}
    )
    people.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "t.toml").write_text(TABLE)
    with bdp.reproducible(4):
        result = run_analysis(str(tmp_path / "t.toml"), tmp_path / "out")
    old, no = np.mean(people["age"] >= 40), np.mean(people["smokes"] == "no")
    yes = np.mean(people["smokes"] == "yes")
    expected = [1 - old, old, no, yes, 1 - no - yes]
    np.testing.assert_allclose(result.reference["share"], expected)
    assert result.reference["n"] == 200
    page = (tmp_path / "out" / "report" / "index.html").read_text()
    assert "<h1>a table</h1>" in page
    assert "Reference: what the public benchmark data say" in page


def test_what_public_data_say_of_persons_is_of_the_records_that_were_used():
    schema = {
        "columns": {"smokes": {"type": "boolean"}},
        "unit": {"person": "id", "most": 1},
    }
    people = pd.DataFrame({"id": ["a", "b", "b", "b"], "smokes": [False, True, True, True]})
    release = bdp.TableSynthesizer(schema, epsilon=1.0).release(people)
    found = public_truth(bdp.TableModel(), people, None, release, None)
    assert found["share"].tolist() == [0.5, 0.5]
    assert found["n"] == 2


def test_what_public_data_say_of_a_survey_is_weighted():
    """By strata, of which one is empty."""
    people = pd.DataFrame({"y": ["a", "b", "b"], "weight": [3.0, 1.0, 4.0]})
    by, categories = pd.Series(["n", "n", "s"]), {"y": ["a", "b"]}
    made = bdp.synthesizers.WeightedCountsSynthesizer(categories, 4.0, groups=["n", "s", "w"])
    model = bdp.models.WeightedShareModel()
    found = public_truth(model, people, by, made.release(people, by=by), None)
    np.testing.assert_allclose(found["share"], [[0.75, 0.25], [0, 1], [np.nan, np.nan]])
    np.testing.assert_allclose(found["total"], [[3, 1], [0, 4], [0, 0]])
    np.testing.assert_allclose(found["effective_size"], [1.6, 1, 0])
    np.testing.assert_allclose(found["overall"], [3 / 8, 5 / 8])
    whole = bdp.synthesizers.WeightedCountsSynthesizer(categories, 4.0).release(people)
    assert public_truth(model, people, None, whole, None)["share"].tolist() == [3 / 8, 5 / 8]
    assert public_truth(model, people[["weight"]], None, whole, None) == {}
