"""What a release folder says of itself, and the line to type next, which works as it stands."""

import json
from pathlib import Path

import pandas as pd
import pytest

import bayesdp as bdp

RELEASES = Path(__file__).parents[1] / "data" / "releases"


@pytest.fixture
def released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bdp.Release:
    """A release of two groups, in the folder r."""
    monkeypatch.chdir(tmp_path)
    counts = {"east": bdp.Count(38, 100), "north": bdp.Count(7, 50)}
    release = bdp.synthesizers.DiscreteLaplaceSynthesizer(2.0).release(counts)
    release.save("r")
    return release


def test_what_was_released_by_which_law_and_with_which_promise(released, run_cli):
    status, out, err = run_cli("inspect r")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "value, in 2 groups by group"
    assert lines[1].startswith("law: discrete_laplace. Release x + discrete Laplace noise")
    for line in (
        "  scale = 0.5",
        "  east: n = 100",
        "  north: n = 50",
        "promise: epsilon = 2 (replace_one, proved)",
        f"drawn by bayesdp; fingerprint {released.fingerprint}",
    ):
        assert line in lines
    assert lines[-2].startswith("read by the models binomial, ")
    assert lines[-1] == "next: bayesdp fit r --family binomial --out posterior.nc"


def test_the_next_lines_lead_to_a_report(released, run_cli):
    """Each command's last line, typed as it is."""
    line = "inspect r"
    for command in ("fit", "report"):
        last = run_cli(line)[1].splitlines()[-1]
        assert last.startswith(f"next: bayesdp {command} ")
        line = last.removeprefix("next: bayesdp ")
    assert run_cli(line)[0] == 0
    assert Path("report/index.html").is_file()


def test_json(released, run_cli):
    said = json.loads(run_cli("inspect r --json")[1])
    assert said["fingerprint"] == released.fingerprint
    assert [(part["group"], part["mechanism"]["parameters"]["n"]) for part in said["parts"]] == [
        ("east", 100), ("north", 50),
    ]  # fmt: skip
    assert said["guarantee"]["epsilon"] == released.guarantee.epsilon
    assert "binomial" in said["models"]
    assert said["next"] == "bayesdp fit r --family binomial --out posterior.nc"


def test_of_a_model_without_groups_the_next_line_takes_one(tmp_path, run_cli, monkeypatch):
    """Of all groups at once the line would be refused."""
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"a": [0, 1, 1, 0] * 20, "b": [1, 0, 1, 1] * 20, "g": ["x", "y"] * 40})
    table.to_csv("d.csv", index=False)
    released = (
        "synthesize d.csv --synthesizer log_linear --columns a,b --by g --groups x,y --epsilon 2 "
        "--marginals '[[\"a\", \"b\"]]' --categories '{a = [0, 1], b = [0, 1]}' --out r"
    )
    expected = (
        "bayesdp fit r --family log_linear --formula ... --n SMALLEST:LARGEST --group NAME "
        "--out posterior.nc"
    )
    assert run_cli(released)[1].splitlines()[-1] == f"next: {expected}"
    assert run_cli("inspect r")[1].splitlines()[-1] == f"next: {expected}"
    bdp.Release.load("r")["x"].save("one")
    line = expected.replace("fit r", "fit one").replace(" --group NAME", "")
    assert run_cli("inspect one")[1].splitlines()[-1] == f"next: {line}"


@pytest.mark.parametrize("name", sorted(path.name for path in RELEASES.iterdir()))
def test_every_kind_of_release(name, run_cli):
    """Its models are those that read it, and a number of records is asked for if need be."""
    folder = RELEASES / name
    said = json.loads(run_cli(f"inspect {folder} --json")[1])
    out = run_cli(f"inspect {folder}")[1]
    mechanism = bdp.Release.load(folder).parts[0].mechanism
    from bayesdp.inference.readers import MODELS, models_of

    assert tuple(MODELS[family].__name__ for family in said["models"]) == models_of(mechanism)
    assert (said["next"] is None) == (not said["models"])
    assert f"law: {mechanism.name}. " in out
    if said["next"] is None:
        assert "no model here has its law" in out
        return
    if mechanism.n is not None:
        assert "--n " not in said["next"]
    if "--n SMALLEST:LARGEST" in said["next"]:
        assert not {"poisson", "table"} & set(said["next"].split())
    of_records = mechanism.neighbours in ("add_remove", "replace_one")
    hidden = "the number of records is confidential" in out
    assert hidden == (of_records and mechanism.n is None)


@pytest.mark.parametrize("target", ["nothing", "."])
def test_what_is_no_release(released, run_cli, target):
    status, out, err = run_cli(f"inspect {target}")
    assert (status, out) == (2, "")
    assert "not a release folder" in err


def test_a_plan_and_a_schema_lead_on(tmp_path, monkeypatch, run_cli):
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text("voted,age\n1,30\n0,40\n")
    out = run_cli("plan --n 50 --width 0.3 --mechanisms discrete_laplace")[1].splitlines()
    start = "next: bayesdp synthesize DATA --synthesizer discrete_laplace --column NAME --epsilon "
    assert out[-1].startswith(start)
    out = run_cli("schema template d.csv --out s.toml")[1].splitlines()
    assert out[-1] == "next: bayesdp schema check s.toml d.csv"
    out = run_cli("ledger create sqlite:///b.db 'a b' --epsilon 1 --neighbours replace_one")[1]
    assert out.splitlines()[-1].endswith("--ledger URL --dataset 'a b'")


def test_copies_are_of_records_and_one_group_is_one(tmp_path, run_cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    noise = bdp.synthesizers.DiscreteLaplaceSynthesizer(2.0)
    for folder, made, given, said in (
        ("noise", noise, bdp.Count(7, 50), "value"),
        ("group", noise, {"east": bdp.Count(7, 50)}, "value, in 1 group by group"),
        ("one", bdp.BetaBinomialSynthesizer(2.0, copies=1), bdp.Count(7, 50), "value, 1 copy"),
        ("two", bdp.BetaBinomialSynthesizer(2.0, copies=2), bdp.Count(7, 50), "value, 2 copies"),
    ):
        made.release(given).save(folder)
        assert run_cli(f"inspect {folder}")[1].splitlines()[0] == said
