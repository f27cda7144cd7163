"""A release declared in a file: its template, and what is typed beside it."""

import dataclasses
import re
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.cli.fields import fields_of
from bayesdp.evaluation.declarations import SYNTHESIZERS, settings_of

DECLARED = [name for name in SYNTHESIZERS if name != "posterior"]
OPTIONAL = re.compile(r"^# (\w+ = .+)$", re.MULTILINE)


@pytest.fixture
def bayesdp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_cli):
    """The command line, in a folder with a table in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    frame = pd.DataFrame({"voted": [0, 1] * 20, "region": ["e", "n", "n", "e"] * 10})
    frame.to_csv("in/d.csv", index=False)
    return run_cli


@pytest.mark.parametrize("name", DECLARED)
def test_a_template_has_every_field_with_its_line_type_and_default(bayesdp, name):
    status, out, err = bayesdp(f"init {name}")
    assert (status, err) == (0, "")
    assert out.endswith(f"next: bayesdp synthesize --config {name}.toml --out release/\n")
    text, cls = Path(f"{name}.toml").read_text(), SYNTHESIZERS[name]
    assert tomllib.loads(text) == {"data": {}, "synthesizer": {"name": name}}
    own = text.partition("[synthesizer]")[2]
    plain = " ".join(own.replace("#", " ").split())
    for field in fields_of(cls, settings_of(cls)):
        assert re.search(rf"^# {field.name} =", own, re.MULTILINE)
        assert " ".join(f"{field.line} ({field.told})".replace("#", " ").split()) in plain
    # What is written as a default is one.
    defaults = {each.name: each.default for each in dataclasses.fields(cls)} | settings_of(cls)
    written = tomllib.loads("\n".join(OPTIONAL.findall(own)))
    for key, value in written.items():
        assert np.array_equal(value, defaults[key])


def test_what_is_typed_comes_before_what_is_in_the_file(bayesdp):
    text = """
    [data]
    source = "d.csv"
    column = "voted"
    by = "region"
    [synthesizer]
    name = "beta_binomial"
    epsilon = 2
    copies = 3
    prior = [90, 90]
    """
    Path("in/c.toml").write_text(text.replace("    ", ""))
    for options, copies in (("", 3), (" --copies 2", 2), (" --set 'copies = 1'", 1)):
        status, _, err = bayesdp(f"synthesize --config in/c.toml{options} --out r --force")
        assert (status, err) == (0, "")
        release = bdp.Release.load("r")
        assert (release.copies, release.by, release.variable) == (copies, "region", "voted")
        assert release.parts[0].mechanism.prior == (90.0, 90.0)
    with bdp.reproducible(1):
        bayesdp("synthesize --config in/c.toml --groups n,e --out r --force")
    frame = pd.read_csv("in/d.csv")
    made = bdp.BetaBinomialSynthesizer(2.0, 3, prior=(90, 90), groups=["n", "e"])
    with bdp.reproducible(1):
        by = pd.Categorical(frame["region"], categories=["n", "e"])
        assert bdp.Release.load("r") == made.release(
            frame["voted"], by=pd.Series(by, name="region")
        )


def test_an_empty_template_and_options_are_enough(bayesdp):
    bayesdp("init discrete_laplace --out t.toml")
    line = "synthesize in/d.csv --config t.toml --column voted --epsilon 1 --out r"
    assert bayesdp(line)[0] == 0
    assert bdp.Release.load("r").mechanism.name == "discrete_laplace"
    out = bayesdp("init discrete_laplace --out -")[1]
    assert out == Path("t.toml").read_text().replace("t.toml", "discrete_laplace.toml")


def test_a_network(bayesdp):
    Path("in/ties.csv").write_text("a,b\n1,2\n2,3\n")
    text = '[data]\nsource = "ties.csv"\nties = ["a", "b"]\nnodes = "1:4"\n'
    Path("in/c.toml").write_text(f'{text}[synthesizer]\nname = "noisy_degrees"\nepsilon = 2\n')
    assert bayesdp("synthesize --config in/c.toml --out r")[0] == 0
    assert bdp.Release.load("r").mechanism.nodes == (1, 2, 3, 4)


BAD = {
    'x = 1\n[synthesizer]\nname = "table"': "x isn't known; there are data, synthesizer (line 1)",
    '[data]\ncolum = "x"\n[synthesizer]\nname = "table"':
        "data.colum isn't known; there are source, column,",
    'x = 1\nsynthesizer = "table"': "synthesizer: it must be a table, under a line [synthesizer] "
    "(line 2)",
    '[data]\nsource = "d.csv"': "synthesizer.name is missing; `bayesdp synthesizers` lists all",
    "[synthesizer]\nname = 3": "synthesizer.name is missing",
    '[synthesizer]\nname = "no"': "it must be one of beta_binomial,",
    '[data]\nsource = "d.csv"\ncolumn = "x"\n[synthesizer]\nname = "discrete_laplace"\nepsilom = 1':
        "epsilom: a DiscreteLaplaceSynthesize",
    '[data]\ncolumn = 3\nsource = "d.csv"\n[synthesizer]\nname = "discrete_laplace"\nepsilon = 1':
        "column: Input should be a valid string",
    '[synthesizer]\nname = "discrete_laplace"\nepsilon = 1': "data is missing; give a file",
    "[synthesizer": "is not valid TOML",
}  # fmt: skip


@pytest.mark.parametrize("text", BAD)
def test_what_is_wrong_is_said_in_one_line(bayesdp, text):
    Path("in/c.toml").write_text(text)
    status, out, err = bayesdp("synthesize --config in/c.toml --out r")
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert BAD[text] in err
    assert not Path("r").exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("init nothing", "it must be one of"),
        ("init posterior", "takes a model in Python: use bdp.synthesizers.PosteriorSynthesizer"),
        ("init modips --out in/d.csv", "exists already"),
        ("synthesize --config none.toml --out r", "none.toml can't be read"),
        ("synthesize --column voted --epsilon 1 --out r", "data is missing; give a file"),
    ],
)
def test_what_cannot_be_written_or_read(bayesdp, line, said):
    status, out, err = bayesdp(line)
    assert (status, out) == (2, "")
    assert said in err
