"""Cards of a notebook are escaped, tell nothing confidential, and have a `repr` of one line."""

from __future__ import annotations

import functools
import re
from html.parser import HTMLParser
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.display.card import MOST_ROWS, STYLE, card
from bayesdp.display.words import count_of, declaration, listed, one_line, public_fields
from bayesdp.engines.mixture import BetaMixture
from bayesdp.engines.normal_inverse_gamma import NormalInverseGammaMixture
from bayesdp.engines.normal_mixture import NormalMixture
from bayesdp.evaluation.studies.results import StudyResults
from bayesdp.inference.table.estimates import Estimates
from bayesdp.privacy.distributional.guarantee import DistributionalGuarantee, LawClass
from bayesdp.report.promise import promise_of
from tests.contracts.test_synthesizers import CASES

ATTACK = "<script>alert('&')</script>"


class Page(HTMLParser):
    """The text of a card, whose tags must match."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.seen: set[str] = set()
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert {name for name, _ in attrs} <= {"class", "scope", "tabindex"}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] != "style":
            self.text.append(data)


def read(html: str) -> str:
    """The text of a card that keeps the rules of all cards."""
    page = Page(html)
    assert not page.seen & {"script", "img", "link", "iframe", "object"}
    assert not re.search(r"https?:|url\(|@import|//", STYLE)
    return " ".join(page.text)


def released(**options: Any) -> bdp.Release:
    made = bdp.mechanisms.BetaBinomialMechanism.calibrate(n=50, size=50, epsilon=3.0, copies=2)
    parts = {"a": (made, [21, 26]), ATTACK: (made, [9, 13])}
    return bdp.Release.of_groups(parts, by=ATTACK, variable=ATTACK, **options)


@functools.cache
def ledger() -> bdp.Ledger:
    made = bdp.Ledger.open(f"sqlite:///{mkdtemp()}/budget.db")
    survey = made.create(ATTACK, epsilon=4.0, delta=1e-6, neighbours="replace_one")
    for k in range(MOST_ROWS + 2):
        bdp.BetaBinomialSynthesizer(0.1 + k / 1000).release([0, 1] * 20, ledger=survey)
    return made


def planned() -> Any:
    return bdp.plan(bdp.BinomialModel(), n=40, target=0.4, mechanisms={ATTACK: "discrete_laplace"})


def study() -> StudyResults:
    frame = pd.DataFrame(
        {
            "synthesizer": ATTACK,
            "epsilon": [1.0, 2.0],
            "analysis": "mean",
            "replicate": 0,
            "estimand": "",
            "truth": 0.5,
            "mean": [0.4, 0.45],
        }
    )
    return StudyResults(frame, ("epsilon",), Path(ATTACK))


def promise(**changes: Any) -> bdp.Guarantee:
    fields = {"epsilon": 1.0, "delta": 0.0, "neighbours": "replace_one", "strength": "proved"}
    return bdp.Guarantee(**{**fields, "assumptions": (ATTACK,), "source": ATTACK, **changes})


ONE = np.ones(1)
SHOWN = {
    "release": released,
    "guarantee": promise,
    "distributional": lambda: DistributionalGuarantee(1.0, 0.0, ATTACK, LawClass("some")),
    "ledger": ledger,
    "dataset": lambda: ledger().dataset(ATTACK),
    "plan": planned,
    "study": study,
    "beta": lambda: BetaMixture(ONE, 4 * ONE, 8 * ONE),
    "normal": lambda: NormalMixture(ONE, 2 * ONE, ONE),
    "normal_gamma": lambda: NormalInverseGammaMixture(ONE, ONE, ONE, 4.0, 10.0),
    "estimates": lambda: Estimates(
        np.arange(8.0).reshape(4, 2), np.zeros((4, 2)),
        pd.MultiIndex.from_tuples([(ATTACK, 1), ("b", 2)]), "data",
    ),
    **{name: made for name, (made, *_) in CASES.items()},
}  # fmt: skip


ATTACKED = set(SHOWN) - {"beta", "normal", "normal_gamma", *CASES}


@pytest.mark.parametrize("name", SHOWN)
def test_a_card_is_escaped_and_a_repr_has_one_line(name: str):
    shown = SHOWN[name]()
    line = repr(shown)
    assert line.isprintable()
    assert type(shown).__name__ in line
    assert len(line) < 250
    text = read(shown._repr_html_())
    assert (ATTACK in text) == (name in ATTACKED)


def test_what_is_released_and_promised_is_told():
    text = read(released(origin="bayesdp")._repr_html_())
    assert f"Release of {ATTACK} in 2 groups by {ATTACK}" in text
    assert f"a, {ATTACK}" in text
    for words in ("beta_binomial", "100, public", "proved", "by bayesdp"):
        assert words in text
    with bdp.reproducible(1):
        assert "promises nothing" in read(released()._repr_html_())


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 9.0])
def test_the_belief_is_the_report_s(epsilon: float):
    made = bdp.mechanisms.BetaBinomialMechanism.calibrate(n=50, size=50, epsilon=epsilon)
    release = bdp.Release.of(made, [20])
    belief = 100 * promise_of(release).belief
    said = re.search(r"at most ([\d.]+)%, and at least ([\d.]+)%", release.guarantee._repr_html_())
    most, least = map(float, said.groups())
    assert belief <= most < belief + 0.011  # never better than it is
    assert most + least == pytest.approx(100)


def test_a_delta_and_an_infinite_epsilon_are_told():
    assert "but for outputs of probability 2e-06" in read(promise(delta=1e-6)._repr_html_())
    assert "promises nothing" in read(promise(epsilon=np.inf)._repr_html_())
    unproved = read(promise(strength="as_published")._repr_html_())
    assert "don't rely on it" in unproved


def test_a_ledger_tells_what_is_left_and_never_more():
    (row,) = re.findall(r"<tbody>(.*?)</tbody>", ledger()._repr_html_())
    survey = ledger().dataset(ATTACK)
    text = read(survey._repr_html_())
    assert f"Budget of {ATTACK}" in text
    assert "and 2 more" in text
    for shown in (row, text):
        spent, left = (float(re.search(rf"epsilon ([\d.]+){end}", shown)[1]) for end in ENDS)
        assert survey.spent().epsilon <= spent < survey.spent().epsilon * 1.001
        assert survey.remaining().epsilon * 0.999 < left <= survey.remaining().epsilon


ENDS = (r"(?=\D+epsilon [\d.]+, delta 5e-07)", ", delta 5e-07")


def test_no_record_is_in_a_synthesizer_s_card():
    import pymc as pm

    secret = 1234567.25
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 10)
        pm.Normal("income", mu, 1.0, observed=np.full(3, secret))
    made = bdp.PosteriorSynthesizer(
        model, 4.0, center=-1.5, size=3, weights=np.full(3, secret), covariates={"x": [secret] * 3}
    )
    shown = repr(made) + made._repr_html_()
    assert "1234567" not in shown
    assert "model=<Model>" in shown


def test_a_declaration_leaves_out_defaults_and_cuts_what_is_long():
    made = bdp.BetaBinomialSynthesizer(2.0, prior=(16, 16))
    assert repr(made) == "BetaBinomialSynthesizer(epsilon=2.0, prior=(16.0, 16.0))"
    assert public_fields(made)["copies"] == "5"
    grouped = bdp.BetaBinomialSynthesizer(2.0, size=9, public_n=False, groups=tuple(range(40)))
    assert "groups=<40 values>" in declaration(grouped)


def test_words():
    assert [count_of(n, "copy") for n in (1, 1200)] == ["1 copy", "1,200 copies"]
    assert listed("abcde") == "a, b, c, d and 1 more"
    assert one_line("one\ntwo") == "one..."
    assert one_line("x" * 200) == "x" * 117 + "..."


def test_a_card_has_some_rows_and_says_how_many_more():
    text = read(card("A", {}, rows=[{"n": k} for k in range(100)]))
    assert "7 and 92 more" in " ".join(text.split())
    assert "100" not in text


@pytest.mark.parametrize("name", ["release", "guarantee", "study"])
def test_a_card_brings_its_style_for_light_and_dark(name: str):
    html = SHOWN[name]()._repr_html_()
    assert html.count("<style>") == 1
    for theme in ("prefers-color-scheme:dark", 'data-jp-theme-light="false"', "slate"):
        assert theme in html
