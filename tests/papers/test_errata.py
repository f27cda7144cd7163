"""The list of errata: each row's evidence refutes what is printed, and only that."""

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import bayesdp as bdp
from bayesdp.cli import app
from bayesdp.papers.catalogue import PAPERS
from bayesdp.papers.errata import ERRATA, SOURCES, errata_table, evidence, find_errata
from bayesdp.papers.erratum import FINITE, Relation, Shown
from bayesdp.papers.groce import errata
from bayesdp.privacy.distributional.secret import Secret

D = bdp.distributional
EACH = pytest.mark.parametrize("erratum", ERRATA, ids=lambda e: e.key)


@EACH
def test_the_evidence_shows_it(erratum):
    cases = evidence(erratum)
    assert cases
    for case in cases:
        assert case.refuted, case
        assert case.mended, case


@EACH
def test_what_is_true_would_not_be_refuted(erratum):
    """Printed and true exchanged: an evidence that refutes anything, or mends anything, fails."""
    for case in evidence(erratum):
        there = case.found if case.found_true is None else case.found_true
        right = dataclasses.replace(case, printed=case.true, found=there)
        assert not right.refuted, case
        wrong = dataclasses.replace(case, true=case.printed, found_true=case.found)
        assert not wrong.mended, case
        planted = dataclasses.replace(erratum, evidence=lambda right=right: (right,))
        with pytest.raises(bdp.errors.EngineFailed, match=f"{erratum.key} isn't shown"):
            evidence(planted)


def test_numbers_that_are_none_show_nothing():
    for relation in Relation:
        for found, said in ((math.nan, 1.0), (1.0, math.nan)):
            case = Shown("x", said, found, said, relation=relation)
            assert not case.mended
        case = Shown("x", math.inf, math.inf, FINITE, relation=relation)
        assert not case.refuted
        assert case.mended == (relation is Relation.AT_LEAST)


def test_the_list_is_whole():
    """What docstrings and pages prove is in it, once."""
    keys = [each.key for each in ERRATA]
    assert len(set(keys)) == len(keys)
    assert {each.paper for each in ERRATA} == set(SOURCES) >= set(PAPERS)
    for key in (
        *(f"zheng-{name}" for name in (
            "corollary-6.2", "theorems-6.9-6.10", "theorems-6.11-6.12", "theorem-6.13",
            "proposition-6.17", "corollary-6.19", "corollary-6.21", "corollary-6.22",
            "corollary-7.3", "theorem-7.7", "theorem-7.8", "theorem-7.12", "corollary-7.13",
            "corollary-7.14", "theorem-7.15", "corollary-7.16")),
        *(f"groce-{name}" for name in (
            "lemma-5.1", "theorem-5.1", "theorem-5.2", "corollary-6.1", "corollary-6.2",
            "corollary-6.3", "theorem-6.7", "section-6.4", "table-6.2", "table-6.3", "table-6.4")),
        *("liu-algorithms-3-4", "liu-algorithm-3", "liu-proposition-3", "liu-theorem-7"),
        *("liu-table-1a", "liu-eugenio-jin-bowen-dp-ergm", "hu-censor-w", "hu-comparison"),
        *("charest-table-1", "charest-table-2-unit", "charest-figure-1", "charest-figure-2"),
        "ju-sensitivity",
    ):  # fmt: skip
        assert key in keys


def test_figures_that_are_quoted():
    """7.12's at three sizes, 7.8's delta, and others that texts have."""
    (row,) = find_errata("zheng-theorem-7.12")
    found = [case.found for case in evidence(row)]
    assert found == pytest.approx([1.864, 1.962, 1.988], abs=5e-4)
    for key, value in (
        ("zheng-theorem-7.8", 1.84e-3), ("zheng-corollary-7.14", 1.89),
        ("zheng-theorem-7.15", 2.88e-5), ("zheng-corollary-7.16", 2.41e-4),
        ("groce-table-6.2", 3.12e-5), ("groce-corollary-6.1", 0.174),
        ("charest-figure-1", 0.870), ("charest-table-1-m-5", 20.07),
    ):  # fmt: skip
        (row,) = find_errata(key)
        assert evidence(row)[0].found == pytest.approx(value, rel=3e-3)


def test_the_page_on_conjugate_releases_says_what_7_12_costs():
    """It said that the claim holds."""
    page = Path(__file__).parents[2] / "notebooks" / "mechanisms" / "conjugate.md"
    (row,) = (line for line in page.read_text(encoding="utf-8").splitlines() if "7.12" in line)
    (erratum,) = find_errata("zheng-theorem-7.12")
    for case in evidence(erratum):
        assert f"{case.found:.3f}" in row
    assert "false" in row
    assert "holds" not in row


@pytest.mark.parametrize("n", [100, 1000])
@pytest.mark.parametrize("method", ["parameter_draw", "synthetic_map", "synthetic_many"])
def test_conditioned_laws_keep_to_their_range(method, n):
    """4 R^2/sigma^2 and 4 R^2/(n sigma^2) an output: what 7.7 says, and 7.12 to 7.14 should."""
    for ratio in (0.1, 1.0, 3.0):
        made = bdp.mechanisms.ConjugateMechanism(
            "gaussian", method, n, (0.0, 1e8), R=ratio, sigma=1.0, bounded=True,
            size=None if method == "parameter_draw" else 1,
        )  # fmt: skip
        bound = 4 * ratio**2 / (1 if method == "parameter_draw" else n)
        assert made.epsilon(0) <= bound * (1 + 1e-9)


def test_theorem_5_1_is_false_for_every_simulator():
    """The example's worlds by the linear programme, and simulators at random."""
    epsilon, s_0, q = 3.0, 3.1e-3, 0.9
    f = {0: math.exp(epsilon) * s_0, 1: 0.0}
    s = {0: s_0, 1: errata.DELTA}
    law = {}
    for v, weight in ((0, 1 - q), (1, q)):
        for t, a in ((1, f[v]), (0, 1 - f[v])):
            for u, b in ((1, s[v]), (0, 1 - s[v])):
                if a * b > 0:
                    law[(v, t, u), ()] = weight * a * b
    first = Secret(lambda x: ("u", x[2]), lambda x: x[0])
    second = Secret(lambda x: ("v", x[0]), lambda x: x[2])
    best = D.smallest_delta(lambda x: x[1], [law], [first, second], epsilon)
    assert best.delta <= errata.DELTA * (1 + 1e-3)
    printed = 2 * math.sqrt(2 * errata.DELTA)
    assert printed <= epsilon * math.exp(epsilon)  # the theorem's condition
    rng = np.random.default_rng(1)
    for chances in (s.values(), *rng.random((20, 2)), (0.0, 1.0), (1.0, 0.0)):
        one = dict(zip((0, 1), chances, strict=True))
        measured = D.inference_delta(
            lambda x: x[1], [law], [first], 3 * epsilon,
            lambda alt, one=one: {1: one[alt[1]], 0: 1 - one[alt[1]]},
        )  # fmt: skip
        assert measured > printed


def test_the_command_lists_and_computes():
    run = CliRunner().invoke
    listed = run(app, ["errata"])
    assert listed.exit_code == 0
    assert all(each.command in listed.output for each in ERRATA)
    computed = run(app, ["errata", "zheng-theorem-7.12"])
    assert "1.988" in computed.output
    assert "shown by" not in computed.output
    assert run(app, ["errata", "charest"]).output.count("printed:  ") == 0
    with pytest.raises(bdp.errors.InvalidInput, match="zheng, groce"):
        find_errata("zheng-8.1")


def test_the_table_names_the_command():
    table = errata_table("hu", "ju")
    assert [row[-1] for row in table.values] == [
        "bayesdp errata hu-censor-w",
        "bayesdp errata hu-comparison",
        "bayesdp errata ju-sensitivity",
    ]
    assert len(errata_table().values) == len(ERRATA)
