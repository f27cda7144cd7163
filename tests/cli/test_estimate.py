"""Whole tables from the command line: released, fitted, and asked."""

import json

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp

SCHEMA = bdp.Schema(
    {
        "age": {"type": "integer", "bounds": (18, 90), "bins": [18, 40, 90]},
        "smokes": {"type": "boolean"},
        "sex": {"type": "category", "labels": ["f", "m"]},
    }
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("survey")
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 91, 200),
            "smokes": rng.random(200) < 0.3,
            "sex": rng.choice(["f", "m"], 200),
        }
    )
    frame.to_csv(made / "survey.csv", index=False)
    SCHEMA.save(made / "survey.toml")
    return made


@pytest.mark.filterwarnings("ignore:.*of the spread of")
def test_from_a_survey_to_its_estimates(folder, run_cli, monkeypatch):
    monkeypatch.chdir(folder)
    status, out, _ = run_cli("synthesize survey.csv --schema survey.toml --epsilon 4 --out r")
    assert status == 0
    assert "epsilon = 4" in out
    assert bdp.Release.load("r").parts[0].mechanism.schema == SCHEMA
    run = "--draws 40 --warmup 20 --setting thin=1 --seed 1"
    with pytest.warns(UserWarning, match="can't be relied on"):
        assert run_cli(f"fit r --out p.nc {run}")[0] == 0
    with pytest.warns(UserWarning, match="of the spread of age is within its cells"):
        shown = run_cli("estimate p.nc 'age ~ smokes' --draws 5 --seed 1 --level 0.9")[1]
    assert "Intercept" in shown
    assert "of the population, from 5 draws of the released counts' moments" in shown
    shown = run_cli("estimate p.nc 'age ~ smokes' --by tables --draws 5 --seed 1")[1]
    assert "of the population, from 5 latent tables" in shown
    rows = json.loads(run_cli("estimate p.nc --table sex,smokes --target data --json")[1])
    assert [row["sex"] for row in rows] == ["f", "f", "m", "m"]
    assert 150 < sum(row["mean"] for row in rows) < 250
    status, out, err = run_cli("estimate p.nc 'sex ~ smokes'")
    assert (status, out) == (2, "")
    assert "linear regression takes numbers; ask for 'logit'" in err
    for line, message in (
        ("estimate p.nc", "give either a formula"),
        ("estimate p.nc 'age ~ sex' --table sex", "give either a formula"),
        ("estimate none.nc --table sex", "there is no such file"),
        ("estimate survey.csv --table sex", "can't be read"),
        ("estimate p.nc --table weight", "it must be some of age, smokes, sex"),
        ("estimate p.nc --table age,seks", "columns has 'seks'; it must be some of age, smokes"),
        ("estimate p.nc --table sex,sex", "columns has 'sex'; it must be some of age, smokes"),
        ("estimate p.nc 'age ~ sex' --family probit", "family is 'probit'"),
        ("synthesize survey.csv --schema none.toml --epsilon 1 --out s", "none.toml"),
    ):
        status, out, err = run_cli(line)
        assert (status, out) == (2, "")
        assert message in err


@pytest.mark.filterwarnings("ignore:.*of the spread of")
@pytest.mark.filterwarnings("ignore:the chains of this fit")
@pytest.mark.filterwarnings("ignore:the copies' fit")
def test_copies_are_written_and_combined(folder, run_cli, monkeypatch):
    monkeypatch.chdir(folder)
    run_cli("synthesize survey.csv --schema survey.toml --epsilon 4 --out s")
    run_cli("fit s --out s.nc --draws 40 --warmup 20 --setting thin=1 --seed 1")
    status, out, _ = run_cli("copies s.nc --copies 5 --out 'my copies' --seed 1")
    assert status == 0
    assert "5 copies" in out
    assert "README.txt there says how to analyse them" in out
    assert "promise: epsilon = 4" in out
    assert "bayesdp estimate 'my copies' --table age" in out
    assert len(pd.read_csv("my copies/copy_3.csv").columns) == 3
    shown = run_cli("estimate 'my copies' 'age ~ smokes' --level 0.9")[1]
    assert "Intercept" in shown
    assert "5 copies combined by Rubin's rule" in shown
    rows = json.loads(run_cli("estimate 'my copies' --table sex,smokes --json")[1])
    assert [row["sex"] for row in rows] == ["f", "f", "m", "m"]
    assert sum(row["estimate"] for row in rows) == pytest.approx(1)
    said = json.loads(run_cli("copies s.nc --copies 2 --out again --kind parquet --json")[1])
    assert said["number"] == 2
    assert said["guarantee"].startswith("epsilon = 4")
    assert (folder / "again" / "copy_2.parquet").is_file()
    for line, message in (
        ("copies s.nc --out again", "exists"),
        ("copies s.nc --out other --kind xlsx", "kind is 'xlsx'"),
        ("copies s.nc --out other --copies 1", "one copy leaves the noise out"),
        ("copies s.nc --out other --copies 1000", "there are"),
        ("copies none.nc --out other", "there is no such file"),
        ("estimate s --table sex", "isn't a folder of copies"),
        ("estimate again --table sex --by moments", "are for a posterior"),
        ("estimate again --table sex --seed 1", "are for a posterior"),
    ):
        status, out, err = run_cli(line)
        assert (status, out) == (2, "")
        assert message in err
    assert not (folder / "other").exists()
