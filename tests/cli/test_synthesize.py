"""Releases of every synthesizer from the command line, and its options."""

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.cli import fields, synthesize
from bayesdp.cli.fields import parsed
from bayesdp.evaluation.analysis import _released, load_analysis
from bayesdp.evaluation.declarations import SYNTHESIZERS, settings_of

S = bdp.synthesizers
rng = np.random.default_rng(4)
PEOPLE = pd.DataFrame(
    {
        "income": rng.uniform(1000, 90_000, 60).round(),
        "age": rng.uniform(18, 90, 60).round(1),
        "sex": ["f", "m", "m"] * 20,
        "smokes": [0, 1] * 30,
        "area": ["a", "b", "c", "b"] * 15,
    }
)
TIES = [(1, 2), (2, 3), (3, 1), (4, 5), (5, 6)]
GRAPH = bdp.networks.Network.from_edges(
    TIES, nodes=range(1, 8), attributes={"club": list("xxyyxyx")}
)
NUMBERS = {"income": (0, 100_000), "age": (18, 90)}
BOUNDS = "--set 'bounds.income = [0, 100000]' --set 'bounds.age = [18, 90]'"
CELLS = {"sex": ("f", "m"), "smokes": (0, 1)}
CATEGORIES = '--categories \'{sex = ["f", "m"], smokes = [0, 1]}\''
SCHEMA = bdp.Schema(
    {
        "age": {"type": "real", "bounds": (18, 90), "bins": 4},
        "sex": {"type": "category", "labels": ["f", "m"]},
        "smokes": {"type": "integer", "bounds": (0, 1)},
    }
)
TABLE, NODES = "people.csv", "ties.csv --nodes 1:7"

# What is typed after `bayesdp synthesize`, and what Python makes of the same.
CASES: dict[str, tuple[str, Callable[[], bdp.Release]]] = {
    "table": (
        f"{TABLE} --schema people.toml --epsilon 2 --delta 1e-6 --chosen 2 --pilot 0.3 --workload "
        "\"['age ~ C(sex)', ['age', 'smokes', 'sex']]\"",
        lambda: bdp.TableSynthesizer(
            SCHEMA, epsilon=2.0, delta=1e-6, chosen=2, pilot=0.3,
            workload=["age ~ C(sex)", ("age", "smokes", "sex")],
        ).release(PEOPLE[[*SCHEMA.columns]]),
    ),
    "beta_binomial": (
        f"{TABLE} --column smokes --by sex --epsilon 2 --copies 2",
        lambda: S.BetaBinomialSynthesizer(2.0, copies=2).release(
            PEOPLE["smokes"], by=PEOPLE["sex"]
        ),
    ),
    "censored_beta": (
        f"{TABLE} --column income --bounds 0,100000 --epsilon 2 --size 9 --prior-phi 1,2",
        lambda: S.CensoredBetaSynthesizer(
            2.0, bounds=(0, 100_000), size=9, prior_phi=(1, 2)
        ).release(PEOPLE["income"]),
    ),
    "censored_regression": (
        f"{TABLE} --columns smokes,age --epsilon 2 --family categorical --predictors age --size 2 "
        "--categories '{smokes = [0, 1]}' --covariates '{age = [30.0, 50.0]}' --engine grid "
        "--prior-slope 0.1 --grid-size 9 --set 'grid_bounds.intercept = [-2, 2]' "
        "--set 'grid_bounds.slope_age = [-0.1, 0.1]'",
        lambda: S.CensoredRegressionSynthesizer(
            2.0, "categorical", predictors=("age",), size=2, categories={"smokes": [0, 1]},
            covariates={"age": [30.0, 50.0]}, engine="grid", prior_slope=0.1, grid_size=9,
            grid_bounds={"intercept": (-2, 2), "slope_age": (-0.1, 0.1)},
        ).release(PEOPLE[["smokes", "age"]]),
    ),
    "conjugate": (
        f"{TABLE} --columns income,age --epsilon 2 --delta 1e-6 --family multivariate_gaussian "
        "--R '[100000, 90]' --covariance '[[1e8, 0], [0, 400]]'",
        lambda: S.ConjugateSynthesizer(
            "multivariate_gaussian", 2.0, 1e-6, R=(100_000, 90), covariance=((1e8, 0), (0, 400))
        ).release(PEOPLE[["income", "age"]]),
    ),
    "dirichlet_multinomial": (
        f"{TABLE} --columns sex,smokes --epsilon 2 {CATEGORIES}",
        lambda: S.DirichletMultinomialSynthesizer(2.0, categories=CELLS).release(PEOPLE[[*CELLS]]),
    ),
    "discrete_laplace": (
        f"{TABLE} --column smokes --by sex --epsilon 2",
        lambda: S.DiscreteLaplaceSynthesizer(2.0).release(PEOPLE["smokes"], by=PEOPLE["sex"]),
    ),
    "dp_ergm": (
        f"{NODES} --formula edges --epsilon 4 --centre -1 --scale 0.5 --burn-in 9 --copies 2",
        lambda: S.DPERGMSynthesizer("edges", 4.0, centre=-1, scale=0.5, burn_in=9).release(
            GRAPH, 2
        ),
    ),
    "edge_flip": (
        "ties.csv --nodes nodes.csv --epsilon 2 --copies 2 --attributes club",
        lambda: S.EdgeFlipSynthesizer(2.0, attributes=["club"]).release(GRAPH, 2),
    ),
    "log_linear": (
        f"{TABLE} --columns sex,smokes --epsilon 2 {CATEGORIES} --marginals "
        "'[[\"sex\", \"smokes\"]]'",
        lambda: S.LogLinearSynthesizer(
            2.0, marginals=[("sex", "smokes")], categories=CELLS
        ).release(PEOPLE[[*CELLS]]),
    ),
    "modips": (
        f"{TABLE} --column smokes --epsilon 2 --family '{{kind = \"bernoulli\"}}' --copies 2",
        lambda: S.ModipsSynthesizer(bdp.families.Bernoulli(), epsilon=2.0, copies=2).release(
            PEOPLE["smokes"]
        ),
    ),
    "noisy_degrees": (
        f"{NODES} --epsilon 2",
        lambda: S.NoisyDegreesSynthesizer(2.0).release(GRAPH),
    ),
    "noisy_moments": (
        f"{TABLE} --columns income,age {BOUNDS} --noise gaussian --delta 1e-6",
        lambda: S.NoisyMomentsSynthesizer(NUMBERS, noise="gaussian", delta=1e-6).release(
            PEOPLE[[*NUMBERS]]
        ),
    ),
    "noisy_statistics": (
        "ties.csv --nodes 1:7 --directed --formula edges --epsilon 2 --max-degree 5",
        lambda: S.NoisyStatisticsSynthesizer("edges", 2.0, max_degree=5).release(
            bdp.networks.Network.from_edges(TIES, nodes=range(1, 8), directed=True)
        ),
    ),
    "noisy_triangles": (
        "networkx:karate_club --epsilon 2",
        lambda: S.NoisyTrianglesSynthesizer(2.0).release(karate()),
    ),
    "perturbed_coefficients": (
        f"{TABLE} --columns income,age {BOUNDS} --response income --penalty 10 --clip",
        lambda: S.PerturbedCoefficientsSynthesizer(NUMBERS, "income", 10.0, clip=True).release(
            PEOPLE[[*NUMBERS]]
        ),
    ),
    "perturbed_histogram": (
        f"{TABLE} --column age --bounds 18,90 --bins 3 --epsilon 2 --neighbours replace_one",
        lambda: S.PerturbedHistogramSynthesizer(
            2.0, bounds=(18, 90), bins=3, neighbours="replace_one"
        ).release(PEOPLE["age"]),
    ),
    "poisson_gamma": (
        f"{TABLE} --column area --expected '{{a = 2.0, b = 3.0, c = 1.5}}' --epsilon 2",
        lambda: S.PoissonGammaSynthesizer(2.0, {"a": 2.0, "b": 3.0, "c": 1.5}).release(
            PEOPLE["area"]
        ),
    ),
    "propose_test_release": (
        f"{TABLE} --column age --bounds 18,90 --proposal 8 --bins 24 --epsilon 9 --delta 0.2",
        lambda: S.ProposeTestReleaseSynthesizer(9.0, (18, 90), 8, 24, delta=0.2).release(
            PEOPLE["age"]
        ),
    ),
    "trimmed_mean": (
        f"{TABLE} --column age --bounds 18,90 --proposal 18 --trim 0.2 --bins 24 --epsilon 9 "
        "--delta 0.2",
        lambda: S.TrimmedMeanSynthesizer(9.0, (18, 90), 18, 0.2, 24, delta=0.2).release(
            PEOPLE["age"]
        ),
    ),
    "quantile": (
        f"{TABLE} --column age --bounds 18,90 --bins 24 --epsilon 2",
        lambda: S.QuantileSynthesizer(2.0, (18, 90), 24).release(PEOPLE["age"]),
    ),
    "subsample_aggregate": (
        f"{TABLE} --column age --estimator '{{trimmed_mean = 0.1}}' --bounds 18,90 --blocks 4",
        lambda: S.SubsampleAggregateSynthesizer(
            {"trimmed_mean": 0.1}, (18, 90), blocks=4
        ).release(PEOPLE["age"]),
    ),
    "weighted_counts": (
        f"{TABLE} --by area --groups a,b,c,d --epsilon 2 --max-weight 90 --weights age "
        "--categories '{sex = [\"f\", \"m\"], smokes = [0, 1]}'",
        lambda: S.WeightedCountsSynthesizer(
            CELLS, 90.0, 2.0, weights="age", groups=["a", "b", "c", "d"]
        ).release(PEOPLE, by=PEOPLE["area"]),
    ),
    "sequential_dirichlet_multinomial": (
        f"{TABLE} --columns sex,smokes --epsilon 2 --steps "
        '\'[{kind = "categorical", columns = {sex = ["f", "m"]}}, {kind = "categorical", '
        "by = [\"sex\"], columns = {smokes = [0, 1]}}]'",
        lambda: S.SequentialDirichletMultinomialSynthesizer(
            [
                S.CategoricalColumns({"sex": ("f", "m")}),
                S.CategoricalColumns({"smokes": (0, 1)}, by=["sex"]),
            ],
            epsilon=2.0,
        ).release(PEOPLE[["sex", "smokes"]]),
    ),
    "sequential_modips": (
        f"{TABLE} --columns sex,income,age --epsilon 2 --steps "
        '\'[{kind = "categorical", columns = {sex = ["f", "m"]}}, {kind = "numeric", by = ["sex"], '
        "columns = {income = [0, 100000], age = [18, 90]}}]'",
        lambda: S.SequentialModipsSynthesizer(
            [S.CategoricalColumns({"sex": ("f", "m")}), S.NumericColumns(NUMBERS, by=["sex"])],
            epsilon=2.0,
        ).release(PEOPLE[["sex", *NUMBERS]]),
    ),
    "truncated_statistics": (
        f"{NODES} --formula edges --epsilon 2 --max-degree 3",
        lambda: S.TruncatedStatisticsSynthesizer("edges", 2.0, 3).release(GRAPH),
    ),
}  # fmt: skip


def karate() -> Any:
    import networkx

    return networkx.karate_club_graph()


@pytest.fixture
def bayesdp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_cli):
    """The command line, in a folder with a table and a network."""
    monkeypatch.chdir(tmp_path)
    PEOPLE.to_csv("people.csv", index=False)
    SCHEMA.save("people.toml")
    # A text beside them: whole numbers are then read as texts, or as 1.0.
    Path("ties.csv").write_text("from,to\n" + "".join(f"{a},{b}.0\n" for a, b in TIES))
    nodes = "".join(f"{node},{club}\n" for node, club in enumerate("xxyyxyx", 1))
    Path("nodes.csv").write_text(f"node,club\n{nodes}")
    return run_cli


def test_every_synthesizer_is_here():
    assert set(CASES) == set(SYNTHESIZERS) - {"posterior"}


@pytest.mark.parametrize("name", CASES)
def test_a_release_is_that_of_python(bayesdp, name):
    """To the last bit, where both are seeded."""
    line, made = CASES[name]
    with bdp.reproducible(8):
        status, out, err = bayesdp(f"synthesize {line} --synthesizer {name} --out r")
    assert (status, err) == (0, "")
    assert out.startswith("released ")
    with bdp.reproducible(8):
        assert bdp.Release.load("r") == made()


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_a_table_in_batches_is_never_held(bayesdp, tmp_path, monkeypatch, kind):
    """It is released as a frame is; of kinds that Arrow doesn't read, the whole is read."""
    line, python = CASES["table"]
    PEOPLE.to_parquet("people.parquet")
    PEOPLE.to_csv("people.tsv", sep="\t", index=False)
    PEOPLE.to_excel("people.xlsx", index=False)

    def refused(*args: Any, **options: Any) -> None:
        raise AssertionError

    monkeypatch.setattr("bayesdp.synthesis.tables.frame_in", refused)
    with bdp.reproducible(3):
        status, _, err = bayesdp(f"synthesize {line.replace('csv', kind)} --out there")
        made = bdp.Release.load(tmp_path / "there")
    assert status == 0, err
    with bdp.reproducible(3):
        assert made.outputs == python().outputs
    with pytest.raises(AssertionError):
        bayesdp(f"synthesize {line.replace('csv', 'xlsx')} --out here")


CODEBOOK = """
[columns]
sex = { type = "category", labels = ["f", "m"], missing = true }
rank = { type = "category", labels = [1, 2] }
age = { type = "integer", bounds = [0, 100], bins = 5, missing = true }
score = { type = "real", bounds = [0, 5], bins = 5, missing = true }
ok = { type = "boolean" }
day = { type = "date", bounds = [2020-01-01, 2020-12-31], bins = 6, missing = true }
"""
LINES = """\ufeffsex;rank;age;score;ok;day
f;1;31;1.5;true;2020-01-05
m;2.0;;2;false;2020-02-05
None;1;44;;True;2020-01-09

"f";2;45.0;3.25;False;
"""


def test_a_text_is_read_by_the_schema_in_batches_as_whole(bayesdp, monkeypatch):
    """Byte order mark, semicolons, quotes, missing values and whole numbers as 2.0 among it."""
    Path("survey.toml").write_text(CODEBOOK)
    Path("survey.csv").write_text(LINES)
    made = []
    for _ in range(2):
        with bdp.reproducible(3):
            status, _, err = bayesdp(
                "synthesize survey.csv --schema survey.toml --epsilon 1 --out r --force"
            )
        assert status == 0, err
        made.append(bdp.Release.load("r").outputs)
        monkeypatch.setattr(bdp.TableSynthesizer, "batched", False)
    assert made[0] == made[1]


def test_a_column_that_is_not_what_the_schema_says_is_named(bayesdp):
    """And its values aren't; it may be far from the first that are read."""
    Path("survey.toml").write_text(CODEBOOK)
    first, row, *_ = LINES.splitlines()
    Path("survey.csv").write_text("\n".join([first, *[row] * 100_000, row.replace("1.5", "1x5")]))
    line = "synthesize survey.csv --schema survey.toml --epsilon 1 --out r"
    status, _, err = bayesdp(line)
    assert status == 2
    said = "column 'score' has values that aren't a number; correct them by a public rule"
    assert said in " ".join(err.split())
    assert "1x5" not in err
    Path("survey.csv").write_text("\n".join([first, row, row.replace("f;", "x;")]))
    assert "column 'sex'" in bayesdp(line)[2]


@pytest.mark.parametrize("given", ["--column sex", "--columns sex,nosuch"])
def test_columns_beside_a_schema_are_its_own(bayesdp, given):
    """Of a file that isn't even read: which it has is not what is wrong."""
    Path("survey.toml").write_text(CODEBOOK)
    line = f"synthesize nowhere.csv --schema survey.toml --epsilon 1 --out r {given}"
    status, _, err = bayesdp(line)
    assert status == 2
    said = " ".join(err.split())
    assert f"the data are said to be of '{given.split()[1]}', but 'table' takes all" in said
    assert "leave out the data's column or columns" in said


@pytest.mark.parametrize("name", SYNTHESIZERS)
def test_its_help_says_what_its_docstring_says(bayesdp, monkeypatch, name):
    """Of every field, a sentence; no option of the data is called like a field."""
    monkeypatch.setenv("COLUMNS", "500")
    cls = SYNTHESIZERS[name]
    more = settings_of(cls)
    if name != "posterior":
        out = bayesdp(f"synthesize --synthesizer {name} --help")[1]
    listed = bayesdp(f"synthesizers {name}")[1]
    common = set(inspect.signature(synthesize._options).parameters)
    for field in fields.fields_of(cls, more):
        assert field.line.endswith("."), field.name
        assert field.shown
        assert field.name in listed
        assert field.line in listed
        assert field.name not in common - {"groups"}
        if name != "posterior" and field.name != "groups":
            assert f"{field.option} " in out
            assert field.line in out


DEFAULTS = {
    "synthesizers edge_flip": {"copies": "1", "delta": "0.0"},
    "synthesizers dp_ergm": {"copies": "4", "prior": "flat on a corrected grid"},
    "synthesizers noisy_statistics": {"copies": "1", "weights": "equal shares"},
    "synthesizers table": {"pilot": "0.8, or 0.2 where the exponential mechanism chooses"},
    "models ergm": {"prior": "mean = 0.0, sd = 5.0", "attributes": "none"},
    "models table": {"classes": "four a column, from 12 to 60", "n": "none"},
}


@pytest.mark.parametrize("line", DEFAULTS)
def test_a_default_is_shown_as_what_it_comes_to(bayesdp, line):
    """A setting of a release is shown by its value, and what follows from the rest in words."""
    listed = json.loads(bayesdp(f"{line} --json")[1])["fields"]
    shown = {each["name"]: each["default"].removeprefix("default: ") for each in listed}
    assert shown | DEFAULTS[line] == shown


def test_a_graph_has_as_many_copies_as_its_help_says():
    """Where a release isn't told how many."""
    made = S.NoisyDegreesSynthesizer(epsilon=1.0)
    assert made.release(GRAPH).copies == settings_of(type(made))["copies"] == 1


def test_lists_have_a_line_each(bayesdp):
    for command, registry in (("synthesizers", SYNTHESIZERS), ("models", fields_of_models())):
        out = bayesdp(command)[1].splitlines()
        assert [line.split()[0] for line in out[:-1]] == sorted(registry)
        assert all(line.endswith(".") for line in out[:-1])
        assert bayesdp(f"{command} nothing")[0] == 2
    assert "target_accept" in bayesdp("models binomial")[1]


def fields_of_models() -> Any:
    from bayesdp.inference.readers import MODELS

    return MODELS


BAD = {
    "people.csv --column income --synthesizer censored_beta --epsilon 2 --bonds 3":
        "--bonds: `bayesdp synthesize --synthesizer censored_beta` has no such option; it has --",
    "people.csv --column income --synthesizer censored": "it must be one of beta_binomial,",
    "people.csv --column income --synthesizer posterior":
        "takes a model in Python: use bdp.synthesizers.PosteriorSynthesizer",
    "people.csv --column income --synthesizer edge_flip --epsilon 2": "takes a network: give ties",
    "people.csv --epsilon 2": "give either column or columns",
    "people.csv --column smokes --columns age,sex --epsilon 2": "give either column or columns",
    "people.csv --columns smokes,age --above 3 --epsilon 2": "about one column",
    "people.csv --column smokes --by smokes --epsilon 2": "by is 'smokes', a column to protect too",
    "people.csv --columns smokes,sex --by sex --epsilon 2": "would publish its exact counts",
    "people.csv --column smokes --counts smokes --epsilon 2":
        "counts is 'smokes', a column to protect too: its sum is the number of records",
    "people.csv --column income --synthesizer perturbed_histogram --epsilon 2 --by sex "
    "--set 'bounds.income = [0, 1]' --bins 2": "has no groups",
    "people.csv --column income --synthesizer censored_beta --epsilon 2 --by sex --bounds 0,1e9":
        "groups is missing",
    "people.csv --column income --synthesizer censored_beta --epsilon 2 --confidential-n":
        "synthesizer.public_n: a CensoredBetaSynthesizer has no such parameter",
    "people.csv --column income --synthesizer censored_beta --epsilon 2 --by sex --all-groups":
        "where the groups' sizes are confidential so are these; list all that may occur",
    "people.csv --column smokes --epsilon 2 --by sex --all-groups --set 'public_n = false' "
    "--size 9 --synthesizer beta_binomial": "list all that may occur: --groups a,b,c",
    "people.csv --column income --synthesizer censored_beta --epsilon 2": "at 0 or 1, or outside",
    "people.csv --column income --synthesizer censored_beta": "synthesizer.epsilon is missing",
    "people.csv --column smokes --epsilon 1 --set epsilon=2": "epsilon is given twice",
    "people.csv --column smokes --set 'epsilon ='":
        "set is 'epsilon ='; each must be a line of TOML",
    "people.csv --column income --synthesizer quantile --epsilon 1 --bounds 5":
        "bounds is '5'; it must be two numbers, as 1,2",
    "people.csv --column smokes --epsilon two": "epsilon is 'two'",
    "people.csv --column smokes --epsilon 1 --nodes 3": "nodes and directed are of a network",
    "people.csv --column smokes --epsilon 1 --counts age": "isn't of whole numbers from 0",
    "ties.csv --synthesizer noisy_degrees --epsilon 1": "nodes is missing",
    "ties.csv --synthesizer noisy_degrees --epsilon 1 --nodes 1:7 --by from": "a network has none",
    "ties.csv --synthesizer noisy_degrees --epsilon 1 --nodes 1:5": "isn't among the 5 nodes",
    "ties.csv --synthesizer noisy_degrees --epsilon 1 --nodes 5:1": "'5:1', which is 0 nodes",
    "ties.csv --synthesizer noisy_degrees --epsilon 1 --nodes 1:99999999": "99,999,999 nodes",
    "ties.csv --synthesizer noisy_degrees --epsilon 1 --nodes 1:7 --ties from": "two columns",
    "ties.csv --synthesizer noisy_degrees --epsilon 1 --nodes 1:7 --ties a,b": "'a' isn't in",
    "networkx:karate --synthesizer noisy_degrees --epsilon 1": "it has karate_club,",
    "networkx:karate_club --synthesizer noisy_degrees --epsilon 1 --nodes 3": "has its own",
    "networkx:karate_club --column a --epsilon 1": "give either",
}  # fmt: skip


@pytest.mark.parametrize("line", BAD)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_written(bayesdp, tmp_path, line):
    before = sorted(path.name for path in tmp_path.iterdir())
    status, out, err = bayesdp(f"synthesize {line} --out r")
    assert (status, out, err[:7]) == (2, "", "error: ")
    assert BAD[line] in err
    assert len(err.splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_groups_are_called_as_they_are_written(bayesdp):
    """Codes keep their 0, and a label with a comma can be listed; whole numbers are numbers."""
    rows = [f'{k % 2},{k % 3 + 8:02},"{("a,b", "c")[k % 2]}",{k % 3 + 1}' for k in range(12)]
    Path("codes.csv").write_text("\n".join(["voted,code,area,number", *rows]))
    called = {
        "--by code": ("08", "09", "10"),
        "--by code --groups 08,10,09": ("08", "10", "09"),
        "--by area --groups 'c, \"a,b\"'": ("c", "a,b"),
        "--by number": (1, 2, 3),
        "--by number --groups 3,2,1": (3, 2, 1),
    }
    for k, (options, groups) in enumerate(called.items()):
        line = f"synthesize codes.csv --column voted --epsilon 1 {options} --out {k}"
        assert bayesdp(line)[0] == 0
        assert bdp.Release.load(str(k)).groups == groups


@pytest.mark.parametrize(
    "ties", [("8,1", "9,2"), ("1,1", "4,4"), ("2,1", "6,5"), (",1", "3,"), ("x,3", "known,4")]
)
def test_a_message_does_not_depend_on_which_tie_is_wrong(bayesdp, ties):
    line = "synthesize ties.csv --synthesizer noisy_degrees --epsilon 1 --nodes 1:7 --out r"
    before, messages = Path("ties.csv").read_text(), set()
    for tie in ties:
        Path("ties.csv").write_text(f"{before}{tie}\n")
        status, _, err = bayesdp(line)
        assert status == 2
        messages.add(err)
    assert len(messages) == 1
    assert not Path("r").exists()


def test_a_ledger_pays_for_any(bayesdp):
    bayesdp("ledger create sqlite:///b.db ties --epsilon 3 --neighbours edge")
    line = "synthesize ties.csv --synthesizer noisy_degrees --epsilon 2 --nodes 1:7"
    paid = f"{line} --ledger sqlite:///b.db --dataset ties"
    status, out, _ = bayesdp(f"{paid} --out r")
    assert status == 0
    assert "left of ties: 1.0" in out
    assert "exists" in bayesdp(f"{paid} --out r")[2]
    status, _, err = bayesdp(f"{paid} --out s")
    assert status == 2
    assert "epsilon" in err
    assert not Path("s").exists()
    assert bayesdp(f"{line} --out r --force")[0] == 0


def test_rows_may_stand_for_several_records(bayesdp):
    PEOPLE.value_counts(["sex", "smokes"]).rename("people").reset_index().to_csv("few.csv")
    options = f"--columns sex,smokes --synthesizer dirichlet_multinomial --epsilon 2 {CATEGORIES}"
    for name, counts in (("people", ""), ("few", " --counts people")):
        with bdp.reproducible(2):
            assert bayesdp(f"synthesize {name}.csv {options}{counts} --out {name}")[0] == 0
    assert bdp.Release.load("people") == bdp.Release.load("few")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2", 2), ("-1.5", -1.5), (".5", 0.5), ("1e-6", 1e-6), ("0,500000", [0, 500_000]),
        ("a,b", ["a", "b"]), ("sbs", "sbs"), ("true", True), ('["a"]', ["a"]), ("a = 1", "a = 1"),
        ("{x = [1, 2]}", {"x": [1, 2]}), ('"2"', "2"), ("", ""),
    ],
)  # fmt: skip
def test_values_are_parsed_as_they_are_written(text, value):
    found = fields.parsed(text)
    assert found == value
    assert type(found) is type(value)


CHOSEN = {
    "": (
        "discrete_laplace",
        1,
        "  discrete_laplace, as no other with a pure epsilon that `bayesdp",
    ),
    "--by sex": ("discrete_laplace", 1, "  discrete_laplace, as no other"),
    "--copies 5": ("beta_binomial", 5, "  beta_binomial, as --copies asks; without it, discrete_"),
    "--size=9": ("beta_binomial", 5, "  beta_binomial, as --size asks"),
    "--set 'copies = 2'": ("beta_binomial", 2, "  beta_binomial, as --copies asks"),
    "--confidential-n --size 9": ("beta_binomial", 5, "  beta_binomial, as the number of records"),
    "--size 9 --no-public-n": ("beta_binomial", 5, "; discrete_laplace publishes it"),
    "--size 9 --set public_n=false": ("beta_binomial", 5, "; discrete_laplace publishes it"),
    "--synthesizer beta_binomial": ("beta_binomial", 5, ""),
    "--synthesizer beta_binomial --copies 1": ("beta_binomial", 1, ""),
    "--synthesizer discrete_laplace --copies 2": ("discrete_laplace", 2, ""),
}


@pytest.mark.parametrize("options", CHOSEN)
def test_the_mechanism_is_chosen_and_said(bayesdp, options):
    """Without a name, by the shortest interval; options of copies keep what they gave."""
    name, copies, line = CHOSEN[options]
    out = bayesdp(f"synthesize people.csv --column smokes --epsilon 2 {options} --out r")[1]
    release = bdp.Release.load("r")
    assert (release.parts[0].mechanism.name, release.copies) == (name, copies)
    assert line in out
    assert ("--copies 1, would have it alone" in out) is (copies > 1)
    assert ("--synthesizer beta_binomial" in out) is (line[:10] == "  discrete")


@pytest.mark.parametrize(
    ("rows", "epsilon", "said"),
    [
        (9, 10, ""),
        (9, 1e9, "careful: epsilon above 10 promises next to nothing: the odds of what is true"),
        (1, 1, "careful: a release, or a group of it, is about a single record"),
    ],
)
def test_what_may_not_be_meant_is_said(bayesdp, rows, epsilon, said):
    Path("few.csv").write_text("x\n" + "1\n" * rows)
    status, out, _ = bayesdp(f"synthesize few.csv --column x --epsilon {epsilon} --out r")
    assert status == 0
    assert said in out
    assert ("careful" in out) is bool(said)


def test_an_interrupt_is_no_success(bayesdp, monkeypatch):
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(S.DiscreteLaplaceSynthesizer, "release", interrupted)
    assert bayesdp("synthesize people.csv --column smokes --epsilon 1 --out r")[0] == 130


@pytest.mark.parametrize("text", ["{'a': [1, 2]}", '{"a": [1, 2]}', "{a = [1, 2]}"])
def test_a_mapping_is_written_as_in_python_json_or_toml(text):
    assert parsed(text) == {"a": [1, 2]}


@pytest.mark.parametrize("text", ["{'a'}", "{a", "{a: 1}", "None", "('a')", "{" * 500])
def test_what_is_no_mapping_stays_a_text(text):
    assert parsed(text) == text


def test_a_schema_beside_a_declaration_is_that_of_its_folder(tmp_path, monkeypatch, run_cli):
    """As the data are: one in the folder that the command is typed in may be another."""
    (tmp_path / "there").mkdir()
    for folder, name in ((".", "old"), ("there", "voted")):
        schema = bdp.Schema({name: {"type": "boolean"}})
        schema.save(tmp_path / folder / "s.toml")
    (tmp_path / "there" / "data.csv").write_text("voted,old\ntrue,false\n")
    declared = '[data]\nsource = "data.csv"\n[synthesizer]\nname = "table"\nschema = "s.toml"\n'
    (tmp_path / "there" / "release.toml").write_text(declared)
    monkeypatch.chdir(tmp_path)
    assert run_cli("synthesize --config there/release.toml --out r")[0] == 0
    (part,) = bdp.Release.load("r").parts
    assert list(part.mechanism.schema.columns) == ["voted"]
    typed = "synthesize --config there/release.toml --schema s.toml --out typed"
    assert run_cli(typed)[0] == 0
    (part,) = bdp.Release.load("typed").parts
    assert list(part.mechanism.schema.columns) == ["old"]
    typed = "synthesize there/data.csv --schema s.toml --epsilon 1 --column"
    assert run_cli(f"{typed} old --out one")[0] == 0  # a column is a table, too
    assert "are said to be of 'voted'" in (said := run_cli(f"{typed} voted --out other")[2])
    assert "and so old too" in said
    fit = '[model]\nfamily = "table"\n[fit]\ndraws = 200\nseed = 1\n'
    declared = declared.replace("[synth", 'columns = ["voted"]\n[synth')
    (tmp_path / "there" / "analysis.toml").write_text('title = "a"\n' + declared + fit)
    file = Path("there/analysis.toml")
    (part,) = _released(load_analysis(file), file.parent, lambda *_: None)[0].parts
    assert list(part.mechanism.schema.columns) == ["voted"]
