"""JSON from every command that prints numbers: whole, and what Python has."""

import json
from pathlib import Path

import pytest

import bayesdp as bdp


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_cli):
    """What a command says with --json, in a folder with a table."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{k % 2},{'en'[k % 3 == 0]}\n" for k in range(60))
    Path("d.csv").write_text(f"voted,region\n{rows}")

    def run(line: str):
        status, out, err = run_cli(f"{line} --json")
        assert (status, "error" in err) == (0, False)  # where a progress bar may be
        return json.loads(out, parse_constant=pytest.fail)

    return run


def test_release_fit_and_audit(said):
    found = said("synthesize d.csv --column voted --by region --epsilon 2 --out r")
    release = bdp.Release.load("r")
    assert (found["synthesizer"], found["copies"]) == ("discrete_laplace", 1)
    assert found["guarantee"]["epsilon"] == release.guarantee.epsilon
    assert found["next"] == "bayesdp fit r --family binomial --out posterior.nc"
    found = said("fit r --draws 50 --seed 1 --out p.nc")
    assert [row["name"] for row in found["summary"]] == ["p[e]", "p[n]"]
    draws = bdp.BinomialModel().fit(release, draws=50, seed=1).posterior["p"]
    mean = float(draws[..., 0].mean())
    assert found["summary"][0]["mean"] == pytest.approx(mean, rel=1e-9)
    assert found["engine"] == "exact"
    found = said("audit r --trials 500")
    assert [one["group"] for one in found] == ["e", "n"]
    assert found[0]["claim"]["epsilon"] == release.parts[0].mechanism.guarantee().epsilon
    assert found[0]["convicted"] is False
    assert 0 <= found[0]["epsilon_lower"] <= 2 < found[0]["epsilon_attainable"]


def test_plan(said):
    found = said("plan --n 50 --width 0.3 --mechanisms discrete_laplace,beta_binomial --copies 1")
    plan = bdp.plan(
        bdp.BinomialModel(), 50, target=0.3, mechanisms=["discrete_laplace", "beta_binomial"],
        copies=1,
    )  # fmt: skip
    assert (found["mechanism"], found["epsilon"]) == (plan.mechanism, plan.epsilon)
    assert [row["width"] for row in found["table"]] == plan.table["width"].tolist()
    assert {one["mechanism"]: one["epsilon"] for one in found["best"]} == {
        name: epsilon for (name, _), epsilon in plan.best.items()
    }


def test_a_ledger(said):
    url = "sqlite:///b.db"
    found = said(f"ledger create {url} s --epsilon 3 --delta 1e-6 --neighbours replace_one")
    assert found == {
        "dataset": "s", "budget": {"epsilon": 3.0, "delta": 1e-6}, "conversion_delta": 5e-7,
    }  # fmt: skip
    line = "synthesize d.csv --column voted --epsilon 1 --out r"
    assert said(f"{line} --ledger {url} --dataset s")["left"]["epsilon"] == 2.0
    spend = "--epsilon 0.5 --neighbours replace_one --mechanism other --source here"
    assert said(f"ledger spend {url} s {spend}")["left"]["epsilon"] == 1.5
    (one,) = said(f"ledger show {url}")
    assert (one["spends"], one["spent"]["epsilon"], one["left"]["epsilon"]) == (2, 1.5, 1.5)
    assert "history" not in one
    (one,) = said(f"ledger show {url} s")
    assert [each["charged"]["epsilon"] for each in one["history"]] == [1.0, 0.5]
    assert one["history"][1]["released"]["mechanisms"][0]["name"] == "other"
    heads = said(f"ledger verify {url}")["heads"]
    assert heads == bdp.Ledger.open(url).verify()
    assert said("ledger key k") == {"out": "k"}
    found = said(f"ledger export {url} --out e.jsonl --key k")
    assert found == {"out": "e.jsonl", "lines": 5, "signed": True}
    assert said("ledger verify e.jsonl --key k") == {"heads": heads, "sound": True}
    assert said("ledger restore sqlite:///c.db e.jsonl") == {"heads": heads}
    assert said("ledger roles")["sql"].startswith("BEGIN;")


def test_lists_errata_and_a_schema(said):
    assert said("synthesizers")["discrete_laplace"].startswith("Release the number of ones")
    fields = said("synthesizers beta_binomial")["fields"]
    assert fields[1]["name"] == "copies"
    assert fields[1]["default"] == "5"
    assert "exact" in said("models binomial")["engines"]
    assert "table" in said("models")
    (one,) = said("errata zheng-theorem-6.13")
    assert one["evidence"][0]["printed"] != one["evidence"][0]["true"]
    schema = bdp.Schema({"voted": {"type": "integer", "bounds": (0, 1)}})
    schema.save("s.toml")
    assert said("schema check s.toml") == {
        "columns": [{"column": "voted", "type": "integer", "cells": 2, "public": False}],
        "cells": 2,
        "fits": None,
        "left_out": [],
    }


def test_a_study_and_an_analysis(said):
    Path("s.toml").write_text(
        'title = "t"\nreplicates = 3\nseed = 1\n[data]\nlaw = "bernoulli"\np = 0.3\n'
        "[grid]\nn = [50]\nepsilon = [2.0]\n"
        '[synthesizers.count]\nname = "discrete_laplace"\n[analyses.posterior]\n'
        'family = "binomial"\n'
    )
    Path("a.toml").write_text(
        'title = "t"\n[data]\nsource = "d.csv"\ncolumn = "voted"\n[synthesizer]\n'
        'name = "discrete_laplace"\nepsilon = 2.0\n[model]\nfamily = "binomial"\n'
        "[fit]\ndraws = 20\nseed = 1\n"
    )
    found = said("study s.toml --client none --out s")
    assert (found["rows"], found["failed"]) == (3, 0)
    assert found["summary"][0]["replicates"] == 3
    found = said("fit a.toml --out a")
    assert found["guarantee"]["epsilon"] == 2.0
    assert found["summary"][0]["name"] == "p"
    assert found["report"].endswith("index.html")
