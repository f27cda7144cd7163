"""`bayesdp plan`: the command line's tables, files and refusals."""

from pathlib import Path

import pandas as pd
import pytest

from bayesdp.cli.plan import _PLANNED
from bayesdp.evaluation.planning.expected import EXPECTED


@pytest.fixture
def bayesdp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_cli):
    """Exit status, standard output and error of `bayesdp LINE`, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "60")  # however narrow, no number is cut
    return run_cli


@pytest.mark.slow
def test_a_proportion_from_table_to_picture(bayesdp):
    line = "plan --prior 1,1 --n 100 --width 0.2 --copies 1,2 --epsilon-range 0.1,8 --out plan/"
    status, out, _ = bayesdp(line)
    assert status == 0
    for part in ("discrete_laplace", "randomized_response", "With 100 records", "> 8"):
        assert part in out
    assert "…" not in out
    table = pd.read_csv("plan/plan.csv")
    assert set(table["copies"]) == {1, 2}
    assert table["epsilon"].between(0.1, 8).all()
    met = table[table["meets"]]
    assert f"epsilon = {met['epsilon'].min():g} " in out
    assert Path("plan/plan.png").read_bytes()[:4] == b"\x89PNG"
    assert bayesdp(line)[0] == 2  # an earlier plan isn't overwritten
    assert bayesdp(f"{line} --force --mechanisms discrete_laplace --assurance 0.8")[0] == 0
    again = pd.read_csv("plan/plan.csv")
    assert set(again["mechanism"]) == {"discrete_laplace"}
    assert again["assured"].notna().all()


@pytest.mark.slow
def test_a_synthesizer_declared_in_toml(bayesdp):
    status, out, _ = bayesdp(
        "plan --n 80:120 --width 0.5 --replicates 20 --epsilon-range 6,8 --synthesizer "
        """'name = "beta_binomial", size = 100, public_n = false, copies = 1'"""
    )
    assert status == 0
    assert "beta_binomial is enough" in out
    status, out, _ = bayesdp(
        "plan --family gaussian --set 'sd = 8' --design-prior 170,3 --n 50 --width 40 --estimand mu"
        " --replicates 20 --epsilon-range 6,8 --synthesizer "
        """'name = "modips", family = {kind = "gaussian", bounds = [100, 240], sd = 8}'"""
        " --copies 1"
    )
    assert status == 0
    assert "simulated" in out


def test_a_category_and_one_true_proportion(bayesdp):
    line = "plan --family multinomial --prior 1,1,1 --estimand 2 --n 60 --width 0.5 --replicates 20"
    status, out, _ = bayesdp(f"{line} --mechanisms perturbed_histogram --epsilon-range 1,2")
    assert (status, "perturbed_histogram is enough" in out) == (0, True)
    line = "plan --n 60 --target 0.4 --design-prior 0.1 --mechanisms discrete_laplace"
    assert bayesdp(line)[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("plan --n 10 --width 0.0001", "records would do without privacy"),
        ("plan --n 10 --width 0.0001", "error: width is 0.0001, but no design meets it"),
        ("plan --n 10 --width 0", "error: width is 0.0; it must be a positive number"),
        ("plan --n ten --width 0.1", "n is 'ten'"),
        ("plan --n 10 --width 0.1 --epsilon-range 1", "epsilon_range is '1'"),
        ("plan --n 10 --width 0.1 --prior 1", "prior is 1.0; it must be two positive"),
        ("plan --n 10 --width 0.1 --copies x", "copies is 'x'"),
        ("plan --n 10 --width 0.1 --mechanisms nothing", "mechanisms has 'nothing'"),
        ("plan --n 10 --width 0.1 --synthesizer 'size 3'", "synthesizer is 'size 3'; it must be"),
        ("plan --n 10 --width 0.1 --synthesizer 'size = 3'", "it must have a name"),
        ("plan --n 10 --width 0.1 --synthesizer 'name = \"x\"'", "synthesizer.name is 'x'"),
        ("plan --n 10 --width 0.1 --family nothing", "model.family is 'nothing'"),
        ("plan --n 10 --width 0.1 --family table", "For any other write in Python bdp.plan(model"),
        ("plan --n 10 --width 0.1 --estimand beta:age", "estimand is a tuple; it must be one of"),
        ("plan --n 10 --width 0.1 --out missing/plan", "doesn't exist; create it first"),
    ],
)
def test_bad_lines(bayesdp, line, message):
    status, _, err = bayesdp(line)
    assert status == 2
    assert message in err
    assert not list(Path().iterdir())


def test_the_families_of_the_help_are_those_whose_data_are_made_up():
    assert sorted(EXPECTED) == list(_PLANNED)
