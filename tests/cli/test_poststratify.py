"""Known totals from the command line: of groups, and of a whole table's margins."""

import itertools
import json
import warnings

import arviz as az
import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from tests.inference.table.test_adversaries import posterior as posterior_of
from tests.inference.table.test_margins import posterior, sample


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_groups(folder, run_cli):
    counts = {"a": bdp.Count(160, 400), "b": bdp.Count(10, 100)}
    release = bdp.synthesizers.DiscreteLaplaceSynthesizer(epsilon=1.0).release(counts)
    fitted = bdp.BinomialModel().fit(release, draws=50, chains=2, seed=1)
    fitted.to_netcdf("p.nc")
    (folder / "t.csv").write_text("group,region,total\na,north,3000\nb,north,1000\nb,south,6000\n")
    status, out, _ = run_cli("poststratify p.nc t.csv --by region")
    assert status == 0
    assert "p[north]" in out
    assert out.endswith("posterior of the population written to poststratified.nc\n")
    p, found = fitted.posterior["p"], az.from_netcdf("poststratified.nc").posterior["p"]
    north = 0.75 * p.sel(group="a") + 0.25 * p.sel(group="b")
    np.testing.assert_allclose(found.sel(region="north"), north)
    said = json.loads(run_cli("poststratify p.nc t.csv --out w.nc --json")[1])
    assert said["summary"][0]["mean"] == pytest.approx(
        float((0.3 * p.sel(group="a") + 0.7 * p.sel(group="b")).mean())
    )


def test_a_whole_table_is_then_estimated(folder, run_cli):
    posterior(sample(np.random.default_rng(1)), 5).to_netcdf("t.nc")
    (folder / "sex.csv").write_text("sex,total\nf,50\nm,50\n")
    age = pd.DataFrame({"age": ["[18, 40)", "[40, 90]"], "total": [30, 70]})
    age.to_parquet(folder / "age.parquet")
    status, out, _ = run_cli("poststratify t.nc sex.csv age.parquet --out r.nc")
    assert (status, "raked to 2 margins> written to r.nc" in out) == (0, True)
    line = out.splitlines()[-1].partition("bayesdp ")[2]
    assert line == "estimate r.nc --table sex,age"
    rows = json.loads(run_cli("estimate r.nc --table sex --json")[1])
    assert [row["mean"] for row in rows] == pytest.approx([0.5, 0.5], abs=1e-6)
    said = json.loads(run_cli("poststratify t.nc sex.csv --json --force --out r.nc")[1])
    assert said["next"] == "bayesdp estimate r.nc --table sex"
    for wrong, message in (
        ("t.nc sex.csv --out r.nc", "--force"),
        ("none.nc sex.csv", "there is no such file"),
        ("sex.csv sex.csv", "can't be read; give the file"),
        ("t.nc none.csv", "or .sav file that exists"),
        ("t.nc t.nc", "it must be a .csv"),
        ("t.nc sex.csv sex.csv", "two margins of the same columns"),
        ("t.nc sex.csv --by sex", "which is for groups"),
    ):
        status, out, err = run_cli(f"poststratify {wrong}")
        assert (status, out) == (2, "")
        assert message in err


def test_columns_may_be_called_as_one_likes(folder, run_cli):
    """A column named total is no total, and one with a comma is in quotes, also in what is next."""
    columns = {"total": ["f", "m"], "a, b": ["x", "y"]}
    schema = bdp.Schema(
        {name: {"type": "category", "labels": labels} for name, labels in columns.items()}
    )
    records = np.array([[0, 0], [0, 1], [1, 1]], dtype=np.uint16)
    posterior_of([records] * 5, schema, [[*columns]]).to_netcdf("t.nc")
    (folder / "t.csv").write_text('"a, b",total\nx,30\ny,70\n')
    status, out, _ = run_cli("poststratify t.nc t.csv --out r.nc")
    line = out.splitlines()[-1].partition("bayesdp ")[2]
    assert (status, line) == (0, """estimate r.nc --table '"a, b"'""")
    rows = json.loads(run_cli(f"{line} --json")[1])
    assert [row["mean"] for row in rows] == pytest.approx([0.3, 0.7], abs=1e-6)
    rows = json.loads(run_cli("""estimate r.nc --table 'total, "a, b"' --json""")[1])
    assert [row["total"] for row in rows] == ["f", "f", "m", "m"]


@pytest.mark.slow
def test_labels_that_look_like_numbers_are_as_they_are_written(folder, run_cli):
    """Of postcodes 01 and 1 are two, and 01 isn't in a column of numbers."""
    schema = bdp.Schema(
        {
            "code": {"type": "category", "labels": ["01", "1", "2.10"]},
            "kids": {"type": "ordered", "labels": [0, 1]},
        }
    )
    frame = pd.DataFrame({"code": ["01", "1", "2.10"] * 40, "kids": [0, 1] * 60})
    with bdp.reproducible(1):
        release = bdp.TableSynthesizer(schema, epsilon=50.0).release(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = bdp.TableModel().fit(release, draws=20, warmup=10, tables=5, chains=2, seed=1)
    fitted.to_netcdf("t.nc")
    (folder / "both.csv").write_text(
        "code,kids,total\n"
        + "".join(
            f"{code},{kids},{total}\n"
            for total, (code, kids) in enumerate(itertools.product(["2.10", "1", "01"], [1, 0]))
        )
    )
    assert run_cli("poststratify t.nc both.csv --out r.nc")[0] == 0
    rows = json.loads(run_cli("estimate r.nc --table code --json")[1])
    assert [row["code"] for row in rows] == ["01", "1", "2.10"]
    assert [row["mean"] for row in rows] == pytest.approx([9 / 15, 5 / 15, 1 / 15])

    counts = {"01": bdp.Count(160, 400), "1": bdp.Count(10, 100)}
    release = bdp.synthesizers.DiscreteLaplaceSynthesizer(epsilon=1.0).release(counts)
    fitted = bdp.BinomialModel().fit(release, draws=50, chains=2, seed=1)
    fitted.to_netcdf("p.nc")
    (folder / "t.csv").write_text("group,total\n01,3000\n1,1000\n")
    said = json.loads(run_cli("poststratify p.nc t.csv --out w.nc --json")[1])
    p = fitted.posterior["p"]
    assert said["summary"][0]["mean"] == pytest.approx(
        float((0.75 * p.sel(group="01") + 0.25 * p.sel(group="1")).mean())
    )
