"""The command line, as a curator and an analyst type it."""

import functools
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import arviz as az
import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.evaluation.analysis import shipped_analyses
from bayesdp.mechanisms import randomness


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a survey in it."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "voted": rng.integers(0, 2, 300),
            "region": rng.choice(["east", "north"], 300),
            "answer": rng.choice(["yes", "no"], 300),
            "hours": rng.uniform(0, 3, 300).round(1),
            "id": range(300),
        }
    )
    Path("twice.csv").write_text("voted,voted\n1,0\n0,1\n")
    frame.to_csv("data.csv", index=False)
    frame.to_parquet("data.parquet")
    frame.assign(voted=frame["voted"].where(frame.index != 7)).to_csv("holes.csv", index=False)
    return tmp_path


@pytest.fixture
def bayesdp(place, run_cli):
    return run_cli


def test_from_confidential_records_to_a_report(bayesdp, place):
    status, out, _ = bayesdp(
        "synthesize data.csv --column voted --epsilon 2 --copies 5 --out release/"
    )
    assert status == 0
    assert "epsilon = 2 (replace_one, proved)" in out
    assert "number of records is public" in out
    status, out, _ = bayesdp(
        "fit release/ --family binomial --prior 1,1 --out posterior.nc --seed 1"
    )
    assert status == 0
    assert "engine exact" in out
    idata = az.from_netcdf("posterior.nc")
    exact = bdp.BinomialModel().posterior(bdp.Release.load("release"))
    assert float(idata.posterior["p"].mean()) == pytest.approx(exact.mean(), abs=0.01)
    status, out, _ = bayesdp("report posterior.nc release/ --out report/")
    assert status == 0
    assert (place / "report" / "index.html").stat().st_size > 5000


def test_groups_and_parquet(bayesdp):
    line = "synthesize data.parquet --column voted --by region --epsilon 1 --out r"
    status, out, _ = bayesdp(line)
    assert status == 0
    assert "group sizes are public" in out
    release = bdp.Release.load("r")
    assert (release.groups, release.by, release.variable) == (("east", "north"), "region", "voted")
    assert bayesdp("fit r --out p.nc --engine exact --draws 100")[0] == 0
    assert bayesdp("report p.nc r --out rep")[0] == 0


def test_labels_of_each_record_are_published_on_request_alone(bayesdp):
    """By a column that is nearly unique; one that isn't needs no list."""
    line = "synthesize data.csv --column voted --epsilon 1 --copies 1 --out"
    assert bayesdp(f"{line} all --by id --all-groups")[0] == 0
    assert bdp.Release.load("all").groups == tuple(range(300))
    ids = ",".join(map(str, range(300)))
    assert bayesdp(f"{line} listed --by id --groups {ids}")[0] == 0
    assert bdp.Release.load("listed").groups == tuple(range(300))


def test_confidential_sizes(bayesdp):
    status, out, _ = bayesdp(
        "synthesize data.csv --column voted --by region --epsilon 1 --confidential-n "
        "--groups east,north,west --size 100 --out r"
    )
    assert status == 0
    assert "its group are both protected" in out
    release = bdp.Release.load("r")
    assert release.groups == ("east", "north", "west")
    assert {part.mechanism.n for part in release.parts} == {None}
    status, _, err = bayesdp("fit r --out p.nc")
    assert status == 2
    assert "n isn't in this release" in err
    assert "n={'east': 1000, ...}" in err
    assert bayesdp("fit r --out p.nc --n 0:200 --draws 100")[0] == 0


def test_sizes_of_groups(bayesdp):
    line = "synthesize data.csv --column voted --by region --epsilon 1 --confidential-n"
    assert bayesdp(f"{line} --groups east,north,west --size 100 --out r")[0] == 0
    fit = "fit r --family hierarchical_binomial --draws 800 --seed 1 --out"
    assert bayesdp(f"{fit} p.nc --n east=100,north=50:250,west=1:20")[0] == 0
    tables = "--set 'n = {east = 100}' --set 'n_range = {north = [50, 250], west = [1, 20]}'"
    assert bayesdp(f"{fit} q.nc {tables}")[0] == 0
    assert bayesdp("""fit r --out c.nc --n 'east=100,"north"=250,"west=20"' --draws 100""")[0] == 0
    one, other = (az.from_netcdf(f"{name}.nc").posterior["p"].to_numpy() for name in "pq")
    np.testing.assert_array_equal(one, other)
    assert bayesdp("report p.nc r --out rep")[0] == 0
    for n, message in {
        "east=100,north=50:x": "n['north'] is '50:x'",
        "east=100,east=50": "each group's by its label, once",
        "east=100,=50": "each group's by its label, once",
        "east=100,north=50": "but the release has the group 'west' too",
    }.items():
        status, _, err = bayesdp(f"fit r --out s.nc --n {n}")
        assert status == 2
        assert message in err


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")
def test_of_what_never_moves_a_summary_has_no_diagnostics(bayesdp):
    """ArviZ says of a constant that it has as many independent draws as there are."""
    made = bdp.mechanisms.QuantileMechanism(3.0, (1, 2, 4, 8, 16))
    release = bdp.Release.of_groups({"a": (made, [(0, 1, 2)]), "b": (made, [(1, 1, 2)])})
    release.save("cells")
    line = "fit cells --population lognormal --n a=40,b=30:59 --draws 50 --seed 1 --force"
    status, out, err = bayesdp(line)
    assert status == 0
    assert "invalid value" not in err  # of ArviZ, by NumPy
    rows = {words[0]: words[1:] for words in map(str.split, out.splitlines()) if words}
    assert [word == "undefined" for word in rows["n[a]"][-3:]] == [True] * 3
    assert "undefined" not in rows["n[b]"]
    told = json.loads(bayesdp(f"{line} --json")[1])["summary"]
    (known,) = (row for row in told if row["name"] == "n[a]")
    assert (known["mean"], known["ess_bulk"], known["r_hat"]) == (40, None, None)


def test_one_group_alone(bayesdp):
    line = "synthesize data.csv --column voted --by region --epsilon 1 --copies 2 --out r"
    assert bayesdp(line)[0] == 0
    status, out, _ = bayesdp("fit r --group east --draws 100 --out p.nc")
    assert (status, "report/ --group east" in out) == (0, True)
    alone = bdp.Release.load("r")["east"]
    idata = az.from_netcdf("p.nc")
    assert idata.posterior["p"].dims == ("chain", "draw")
    assert idata.attrs["release"] == alone.fingerprint
    assert bayesdp("report p.nc r --group east --out rep")[0] == 0
    assert "voted, region east" in Path("rep/index.html").read_text()
    assert "another release" in bayesdp("report p.nc r --group north --out no")[2]
    for command in ("fit r", "report p.nc r --out no", "explore r"):
        assert "group is 'south'; this release has ['" in bayesdp(f"{command} --group south")[2]
    assert bayesdp("synthesize data.csv --column voted --epsilon 1 --out one")[0] == 0
    assert "this release has none" in bayesdp("fit one --group east")[2]


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("--column answer --equals yes --values no,yes", "answer"),
        ("--column hours --above 1.5", "hours"),
    ],
)
def test_recoding(bayesdp, option, expected):
    assert bayesdp(f"synthesize data.csv {option} --epsilon 50 --out r")[0] == 0
    release = bdp.Release.load("r")
    column = pd.read_csv("data.csv")[expected]
    share = ((column == "yes") if expected == "answer" else (column > 1.5)).mean()
    assert release.variable == expected
    assert bdp.BinomialModel().posterior(release).mean() == pytest.approx(share, abs=0.15)


def test_a_prior_instead_of_epsilon(bayesdp):
    status, out, _ = bayesdp("synthesize data.csv --column voted --prior 30,60 --copies 1 --out r")
    assert status == 0
    assert bdp.Release.load("r").mechanism.prior == (30.0, 60.0)
    assert "epsilon = 2.3979" in out


BAD = {
    "synthesize data.csv --column vote --epsilon 1 --out r": "'vote' isn't in data.csv, which has",
    "synthesize data.parquet --column vote --epsilon 1 --out r": "column 'vote' isn't in",
    "synthesize nothing.csv --column voted --epsilon 1 --out r": "no such file",
    "synthesize data.xls --column voted --epsilon 1 --out r": ".csv, .tsv, .parquet",
    "synthesize data.csv --column answer --epsilon 1 --out r": "other than 0 and 1",
    "synthesize data.csv --column answer --above 1 --epsilon 1 --out r": "not of numbers",
    "synthesize data.csv --column answer --equals a --above 1 --epsilon 1 --out r": "choose one",
    "synthesize holes.csv --column voted --epsilon 1 --out r": "missing values",
    "synthesize holes.csv --column voted --equals 1.0 --values 1.0,0.0 --epsilon 1 --out r":
        "missing values",
    "synthesize data.csv --column answer --equals yes --epsilon 1 --out r": "values is not given",
    "synthesize data.csv --column answer --values yes,no --epsilon 1 --out r":
        "equals is not given",
    "synthesize data.csv --column answer --equals maybe --values yes,no --epsilon 1 --out r":
        "equals is 'maybe' and values is ['yes', 'no']",
    "synthesize data.csv --column answer --equals yes --values yes,yes --epsilon 1 --out r":
        "listed once",
    "synthesize data.csv --column answer --equals yes --values yes,maybe --epsilon 1 --out r":
        "none of values = ['maybe', 'yes']",
    "synthesize twice.csv --column voted --epsilon 1 --out r": "column 'voted' is 2 times in",
    "synthesize twice.csv --column voted.1 --epsilon 1 --out r": "column 'voted.1' isn't in",
    "synthesize data.csv --column voted --by id --epsilon 1 --out r":
        "by has 300 groups for 300 records",
    "synthesize data.csv --column voted --all-groups --epsilon 1 --out r": "it goes with neither",
    "synthesize data.csv --column voted --by id --groups 1,2 --all-groups --epsilon 1 --out r":
        "it goes with neither",
    "synthesize data.csv --column voted --epsilon 0 --out r": "epsilon is 0",
    "synthesize data.csv --column voted --epsilon nan --out r": "epsilon is nan",
    "synthesize data.csv --column voted --epsilon inf --out r": "epsilon is inf",
    "synthesize data.csv --column voted --epsilon -1 --out r": "epsilon is -1",
    "synthesize data.csv --column voted --out r": "epsilon is missing",
    "synthesize data.csv --column voted --epsilon 1 --copies 0 --out r": "copies is 0",
    "synthesize data.csv --column voted --epsilon 1 --size 0 --out r": "size is 0",
    "synthesize data.csv --column voted --prior 1 --out r": "prior is '1'",
    "synthesize data.csv --column voted --epsilon 1 --groups a,b --out r": "by is not",
    "synthesize data.csv --column voted --by region --prior 9,9 --size 9 --confidential-n "
    "--out r": "groups is missing",
    "synthesize data.csv --column voted --epsilon 1 --out no/where": "doesn't exist",
    "synthesize data.csv --column voted --epsilon 1 --out /proc/r": "/proc",
    "fit nothing/ --out p.nc": "neither a release folder nor an analysis",
    "fit nothing.toml": "fair",
    "fit . --out p.nc": "not a release folder",
    "report p.nc r --out rep": "no such file",
    "reproduce everything --out rep": "paper is 'everything'",
    "reproduce zheng --replicates 200 --out rep": "replicates is 200, but nothing",
}  # fmt: skip


@pytest.mark.parametrize("line", BAD)
def test_bad_input_is_a_clear_error_and_nothing_is_written_or_drawn(
    bayesdp, place, monkeypatch, line
):
    def refuse(count: int):
        raise AssertionError("randomness was spent")

    monkeypatch.setattr(randomness, "os", SimpleNamespace(urandom=refuse))
    before = sorted(p.name for p in place.iterdir())
    status, out, err = bayesdp(line)
    assert status == 2
    assert err.startswith("error: ")
    assert BAD[line] in err
    assert "Traceback" not in err
    assert out == ""
    assert sorted(p.name for p in place.iterdir()) == before


def test_an_existing_folder_costs_nothing(bayesdp, place, monkeypatch):
    line = "synthesize data.csv --column voted --epsilon 1 --copies 5 --out r"
    assert bayesdp(line)[0] == 0
    first = bdp.Release.load("r")

    with monkeypatch.context() as patch:
        nothing = SimpleNamespace(urandom=lambda count: pytest.fail("drawn"))
        patch.setattr(randomness, "os", nothing)
        status, _, err = bayesdp(line)
    assert status == 2
    assert "--force" in err
    assert bdp.Release.load("r") == first
    assert bayesdp(f"{line} --force")[0] == 0
    assert bdp.Release.load("r") != first


def test_posteriors_are_not_overwritten_and_match_their_release(bayesdp):
    for name in ("r", "s"):
        line = f"synthesize data.csv --column voted --epsilon 1 --copies 5 --out {name}"
        assert bayesdp(line)[0] == 0
    assert bayesdp("fit r --out p.nc --draws 50")[0] == 0
    assert "exists" in bayesdp("fit r --out p.nc --draws 50")[2]
    for out, message in (("r --force", "is a folder"), ("no/p.nc", "'no' doesn't exist")):
        status, _, err = bayesdp(f"fit r --out {out} --draws 50")
        assert status == 2
        assert message in err
    status, _, err = bayesdp("report p.nc s --out rep")
    assert status == 2
    assert "another release" in err
    Path("broken.nc").write_text("not netcdf")
    assert bayesdp("report broken.nc r --out rep")[0] == 2
    for bad in (
        "--family poisson", "--prior x", "--engine jags", "--draws 0", "--n 5", "--n 1:2:3",
        "--set sd", "--set 'sd = 1'",
    ):  # fmt: skip
        status, _, err = bayesdp(f"fit r --out q.nc {bad}")
        assert (status, err[:7]) == (2, "error: "), bad
    line = "fit r --out q.nc --family log_linear --formula voted"
    assert "doesn't" in bayesdp(f"{line} --prior 0.7")[2]
    assert "prior" in bayesdp(f"{line} --prior 0.7,0.7")[2]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")
def test_what_is_typed_comes_before_what_an_analysis_has(bayesdp):
    """It was passed over in silence once."""
    Path("zero.csv").write_text("y,[g]\n" + "1,0\n0,0\n1,1\n0,1\n" * 20)
    Path("zero.toml").write_text(ZERO)
    line = "fit zero.toml --out z --force"
    assert bayesdp(f"{line} --draws 7 --chains 2 --engine pymc --warmup 9")[0] == 0
    idata = az.from_netcdf("z/posterior.nc")
    assert (idata.posterior.sizes["draw"], idata.posterior.sizes["chain"]) == (7, 2)
    assert idata.attrs["engine"] == "pymc"
    for option in ("--family binomial", "--prior 1,1", "--n 5", "--set 'prior = [1, 1]'"):
        status, _, err = bayesdp(f"{line} {option}")
        assert status == 2
        assert "'zero.toml' is an analysis, which declares its model" in err
    assert "is an analysis, which declares" in bayesdp(f"{line} --family ergm --formula edges")[2]
    missing = bayesdp("fit nowhere --family binomial --n 5 --out n.nc")[2]
    assert "'nowhere' is neither a release folder nor an analysis" in missing
    assert "has no option 'drawn'" in bayesdp(f"{line} --setting 'drawn = 7'")[2]
    assert "setting is" in bayesdp(f"{line} --setting drawn")[2]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")
def test_settings_of_an_engine(bayesdp):
    assert bayesdp("synthesize data.csv --column voted --epsilon 1 --copies 1 --out r")[0] == 0
    line = "fit r --out p.nc --draws 20 --warmup 20 --seed 1"
    settings = "--setting 'target_accept = 0.93' --setting 'max_treedepth = 5'"
    assert bayesdp(f"{line} --engine pymc {settings}")[0] == 0
    assert '"target_accept": 0.93' in az.from_netcdf("p.nc").attrs["engine_settings"]
    status, _, err = bayesdp(f"{line} --force {settings}")
    assert status == 2
    assert "target_accept is a setting of engine='pymc'" in err


def test_another_family(bayesdp):
    mechanism = bdp.mechanisms.GaussianMechanism(0.5, 0.01, neighbours="replace_one", n=900)
    bdp.Release.of(mechanism, [171.5], delta=1e-6).save("r")
    line = "fit r --out p.nc --family gaussian --prior 170,5 --set 'sd = 8' --draws 100"
    status, out, _ = bayesdp(line)
    assert status == 0
    assert "mu " in out
    assert bayesdp("report p.nc r --out rep")[0] == 0
    assert Path("rep/index.html").is_file()


def test_a_model_s_fields_are_options(bayesdp):
    mechanism = bdp.mechanisms.GaussianMechanism(0.5, 0.01, neighbours="replace_one", n=900)
    bdp.Release.of(mechanism, [171.5], delta=1e-6).save("r")
    line = "fit r --family gaussian --prior 170,5 --draws 100 --seed 1"
    assert bayesdp(f"{line} --sd 8 --out p.nc")[0] == 0
    assert bayesdp(f"{line} --set 'sd = 8' --out q.nc")[0] == 0
    first, second = (az.from_netcdf(name).posterior for name in ("p.nc", "q.nc"))
    assert (first.mu == second.mu).all()
    assert "sd is given twice" in bayesdp(f"{line} --sd 8 --set 'sd = 8'")[2]
    assert "`bayesdp fit --family gaussian` has no such option" in bayesdp(f"{line} --sds 8")[2]
    status, _, err = bayesdp("fit r --family ergm")
    assert status == 2
    assert err.startswith("error: --formula is missing, which the model ergm needs. ")
    assert "--formula" in bayesdp("fit --family ergm --help")[1]
    assert "--formula" not in bayesdp("fit --help")[1]


@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")
def test_the_model_is_read_off_the_release(bayesdp):
    graph = bdp.networks.Network.from_edges([("a", "b"), ("b", "c")], nodes=["a", "b", "c", "d"])
    bdp.synthesizers.EdgeFlipSynthesizer(epsilon=2).release(graph).save("r")
    assert bayesdp("fit r --out p.nc --draws 20 --warmup 20 --chains 2")[0] == 0
    assert {"beta"} <= set(az.from_netcdf("p.nc").posterior)
    assert "--formula" not in bayesdp("fit r --help")[1]
    assert "By `beta_model`:" in " ".join(bayesdp("fit r --help")[1].split())


def test_warnings_are_a_line():
    """Without the file and the line of code that gave them."""
    program = (
        "import warnings; from bayesdp.cli import main\n"
        "try: main()\n"
        "finally: warnings.warn('the chains of this fit differ')"
    )
    line = [sys.executable, "-c", program, "--version"]
    ran = subprocess.run(line, capture_output=True, text=True, check=True)
    assert ran.stderr == "warning: the chains of this fit differ\n"


def test_audit(bayesdp):
    line = "synthesize data.csv --column voted --by region --epsilon 1 --size 3 --out r"
    assert bayesdp(line)[0] == 0
    status, out, _ = bayesdp("audit r --trials 2000")
    assert status == 0
    assert out.count("no violation found") == 2
    assert out.startswith("east: ")
    assert out.count("this many draws show at most 4.") == 2
    assert "trials is 5" in bayesdp("audit r --trials 5")[2]


def test_an_audit_says_that_others_drew_the_release(bayesdp, monkeypatch):
    """Another program or another version, whose draws aren't those that are tested."""
    mechanism = bdp.mechanisms.DiscreteLaplaceMechanism(2.0, n=50, neighbours="replace_one")
    bdp.Release.of(mechanism, [20]).save("elsewhere")
    with pytest.warns(UserWarning, match="'elsewhere' was drawn by another program, elsewhere"):
        status, out, _ = bayesdp("audit elsewhere --trials 500")
    assert (status, "no violation" in out) == (0, True)
    bayesdp("synthesize data.csv --column voted --epsilon 1 --out r")
    (told,) = json.loads(bayesdp("audit r --trials 500 --json")[1])
    assert told["doubt"] is None
    monkeypatch.setattr("bayesdp._version.__version__", "99.0")
    with pytest.warns(UserWarning, match=r"bayesdp 99\.0, and 'r' was drawn by bayesdp 0"):
        (told,) = json.loads(bayesdp("audit r --trials 500 --json")[1])
    assert "this audit tests draws of this installation" in told["doubt"]


def test_version_and_help(bayesdp):
    assert bayesdp("--version")[1].strip() == f"bayesdp {bdp.__version__}"
    out = subprocess.run(
        [sys.executable, "-m", "bayesdp", "--help"], capture_output=True, text=True, check=True
    ).stdout
    for command in ("synthesize", "fit", "report", "audit", "demo", "reproduce"):
        assert command in out


def test_demo(bayesdp, place):
    """The main job on a real survey, and a report at the end."""
    status, out, _ = bayesdp("demo --out d --no-table")
    assert status == 0
    assert "very poor" in out
    assert out.strip().endswith("index.html")
    release = bdp.Release.load("d/release")
    assert release.groups == ("very poor", "poor", "fair", "good", "very good")
    assert sum(part.mechanism.n for part in release.parts) == 6366
    assert release.guarantee.strength is bdp.Strength.PROVED
    assert az.from_netcdf("d/posterior.nc").attrs["release"] == release.fingerprint
    assert (place / "d" / "report" / "index.html").is_file()
    assert bayesdp("demo --out d")[0] == 2


WHOLE = """
title = "a table"
[data]
source = "data.csv"
columns = ["region", "answer"]
public = true
[synthesizer]
name = "table"
epsilon = 2.0
[synthesizer.schema.columns]
region = { type = "category", labels = ["east", "north"] }
answer = { type = "category", labels = ["yes", "no"] }
[model]
family = "table"
classes = 4
[fit]
draws = 200
warmup = 50
chains = 2
thin = 1
tables = 100
seed = 1
"""

ONE = """
title = "t"
[data]
source = "data.csv"
column = "voted"
[synthesizer]
name = "beta_binomial"
epsilon = 1.0
[model]
family = "binomial"
[fit]
draws = 100
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")
def test_demo_has_the_whole_table_too(bayesdp, place, monkeypatch):
    """Here with two columns and few draws, inside the folder of the single answer."""
    (place / "whole.toml").write_text(WHOLE)
    (place / "one.toml").write_text(ONE)
    commands = importlib.import_module("bayesdp.cli.demo")
    assert {commands.ANSWER, commands.TABLE} <= set(shipped_analyses())
    monkeypatch.setattr(commands, "ANSWER", "one.toml")
    monkeypatch.setattr(commands, "TABLE", "whole.toml")
    status, out, _ = bayesdp("demo --out d")
    assert status == 0
    one, table = re.findall(r"^report: (.+)$", out, re.MULTILINE)
    assert Path(one) == (place / "d" / "report" / "index.html").resolve()
    assert Path(table) == (place / "d" / "table" / "report" / "index.html").resolve()
    assert out.strip().endswith("index.html")
    assert "4 noisy counts of 1 marginal of 2 columns; the whole table has 4 cells" in out
    assert re.search(r"^The data are public: \d of the 4 shares", out, re.MULTILINE)
    (command,) = re.findall(r"^ask it more: bayesdp (.+)$", out, re.MULTILINE)
    assert "north" in bayesdp(command)[1]
    assert bayesdp("demo --out d --no-table --force")[0] == 0
    assert not (place / "d" / "table").exists()


ZERO = """
title = "t"
[data]
source = "zero.csv"
column = "y"
by = "[g]"
[synthesizer]
name = "beta_binomial"
epsilon = 1.0
[model]
family = "binomial"
[fit]
draws = 50
"""


def test_labels_are_shown_as_they_are(bayesdp, monkeypatch):
    """A group 0 isn't all of them, brackets are no markup, and no number is cut."""
    monkeypatch.setenv("COLUMNS", "40")
    Path("zero.csv").write_text("y,[g]\n" + "1,0\n0,0\n1,1\n0,1\n" * 20)
    Path("zero.toml").write_text(ZERO)
    status, out, _ = bayesdp("fit zero.toml")
    assert status == 0
    assert "[g]" in out
    assert re.search(r"│ 0 +│ 40 ", out)
    assert "all" not in out
    assert "…" not in out


@pytest.mark.slow
def test_reproduce_charest(bayesdp, place):
    status, out, _ = bayesdp("reproduce charest --replicates 200 --out c")
    assert status == 0
    assert "20.07" in out
    assert (place / "c" / "index.html").is_file()


@pytest.mark.slow
def test_reproduce_hu(bayesdp, place, monkeypatch):
    """With few records, and one figure's fit by Stan; test_hu.py has all."""
    from bayesdp.papers.catalogue import PAPERS
    from bayesdp.papers.hu import reproduction, stan

    few = functools.wraps(reproduction.reproduce)(
        functools.partial(reproduction.reproduce, records=100)
    )
    monkeypatch.setitem(PAPERS, "hu", few)
    monkeypatch.setattr(stan, "PLANS", stan.PLANS[:1])
    status, out, _ = bayesdp("reproduce hu --replicates 2 --out h")
    assert status == 0
    assert "not differentially private" in " ".join(out.split())
    assert (place / "h" / "index.html").is_file()


@pytest.mark.slow
def test_reproduce_zheng(bayesdp, place):
    status, out, _ = bayesdp("reproduce zheng --out z")
    assert status == 0
    assert "FALSE" in out
    assert (place / "z" / "index.html").is_file()


WRONG = {
    "synthesize data.csv --epsilon 1": "missing option '--out' (see bayesdp synthesize --help)",
    "fot": "no such command 'fot'",
    "fit": "missing argument",
    "plan --width x": "invalid value for '--width'",
    "plan --wdth 3": "--wdth",
    "ledger shw": "no such command 'shw'",
}


@pytest.mark.parametrize("line", WRONG)
def test_a_line_that_is_no_command_is_an_error_in_one_line(bayesdp, line):
    status, out, err = bayesdp(line)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert WRONG[line] in err
    assert " --help)\n" in err
    assert len(err.splitlines()) == 1


def test_no_command_shows_the_help(bayesdp):
    for line in ("", "ledger"):
        status, out, err = bayesdp(line)
        assert (status, "Usage: bayesdp" in out + err) == (2, True)
        assert "error: " not in err
