"""Marginals chosen on confidential counts: the law and price of whole transcripts, enumerated."""

import dataclasses
import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.mechanisms.counts import noisy_table
from bayesdp.mechanisms.counts.table_choice import chosen, normal_move, rate_of, scores
from bayesdp.privacy.profile import hockey_stick
from bayesdp.release.manifest import MechanismEntry

ADD_REMOVE, REPLACE_ONE = bdp.Neighbours.ADD_REMOVE, bdp.Neighbours.REPLACE_ONE
SCHEMA = bdp.Schema({name: {"type": "boolean"} for name in "abc"})
ALONE = (("a",), ("b",), ("c",))
PAIRS = (("a", "b"), ("b", "c"), ("a", "c"))
NoisyTable = bdp.mechanisms.NoisyTableMechanism


def made(noise="laplace", relation=ADD_REMOVE, number=1, rate=1.0, schema=SCHEMA, **fields):
    rounds = [{"marginals": ALONE, "scale": 3.0}, {"marginals": PAIRS[:number], "scale": 4.0}]
    choice = {"candidates": PAIRS, "rate": rate}
    return NoisyTable(schema, rounds, noise, relation, choice=choice, **fields)


def records(*cells: str) -> pd.DataFrame:
    return pd.DataFrame([list(map(int, cell)) for cell in cells], columns=list("abc"), dtype=int)


def transcript(mechanism, x) -> np.ndarray:
    """Log probability of all choices and last counts, some numbers having been released before."""
    wide, z = np.arange(-30, 36), (2, 1, 3, 1, 2, 2)
    noise = dataclasses.replace(mechanism._noises[1], dimension=1)
    rows = []
    for order in itertools.permutations(PAIRS, len(mechanism.rounds[1].marginals)):
        last = dataclasses.replace(mechanism.rounds[1], marginals=order)
        one = dataclasses.replace(mechanism, rounds=(mechanism.rounds[0], last))
        size, counts = 4 * len(order), one.of_rounds(x)[6:]
        output = np.zeros((wide.size, 6 + size), dtype=int)
        output[:, :6], output[:, 6] = z, wide  # the last counts but one are summed out
        rest = sum(float(noise.logp([0], [c])) for c in counts[1:])
        rows.append(one.logp(output, x) - rest)
    before = dataclasses.replace(mechanism, rounds=mechanism.rounds[:1], choice=None)
    return np.concatenate(rows) - before.logp(z, x[:6])


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("number", [1, 2])
def test_the_law_of_all_that_may_be_chosen_and_released_sums_to_one(noise, number):
    mechanism = made(noise, number=number)
    log = transcript(mechanism, mechanism.statistic_of(records("000", "110", "011", "111")))
    assert math.fsum(np.exp(log)) == pytest.approx(1, abs=2e-3)


def worst(mechanism, k: int = 1) -> tuple[float, float]:
    """Largest log ratio of neighbours, and of the hockey-stick divergence to the profile."""
    ratio, share, profile = 0.0, 0.0, mechanism.profile()
    replaced = mechanism.neighbours is REPLACE_ONE
    some = ["000", "111", "110", "100", "001"][: 4 if replaced else 5]
    starts = ([], ["110"] * 3) if replaced else ([], ["010", "101"], ["110"] * 3)
    for start, there in itertools.product(starts, some):
        for left in some if replaced else [None]:
            one = mechanism.statistic_of(records(*start, *([left] * k if replaced else [])))
            other = mechanism.statistic_of(records(*start, *[there] * k))
            laws = transcript(mechanism, one), transcript(mechanism, other)
            ratio = max(ratio, float(np.abs(laws[0] - laws[1]).max()))
            for p, q in (laws, laws[::-1]):
                for epsilon in (0.0, 0.5, 1.0, 2.0, 4.0):
                    found = hockey_stick(p, q, epsilon) / max(profile.delta(epsilon), 1e-9)
                    share = max(share, found)
    return ratio, share


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize(("unit", "k"), [("record", 1), ({"person": "id", "most": 2}, 2)])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_no_transcript_costs_more_than_the_profile(relation, unit, k, noise):
    schema = bdp.Schema(SCHEMA.columns, unit=unit)
    mechanism = made(noise, relation, schema=schema)
    ratio, share = worst(mechanism, k)
    moved = k * (2 if relation is REPLACE_ONE else 1)
    before = mechanism.rounds[:1]
    alone = dataclasses.replace(mechanism, rounds=before, choice=None).profile()
    if noise == "laplace":
        whole = mechanism.epsilon()
        assert whole == pytest.approx(alone.epsilon(0.0) + moved / 4 + 2 * moved)
        # Released before are given numbers here: what these cost doesn't show.
        least = 0.2 if relation is REPLACE_ONE else 0.6
        assert least * 2 * moved < ratio <= (whole - alone.epsilon(0.0)) * (1 + 1e-12)
    assert 0.2 < share <= 1 + 1e-9


def test_a_choice_that_is_not_paid_for_is_convicted(monkeypatch):
    """Half its price, as if a record moved all scores one way, or none at all."""
    for price in (lambda rate, moved: moved * rate, lambda rate, moved: 0.0):
        monkeypatch.setattr(noisy_table, "interval", price)
        mechanism = made()
        before = dataclasses.replace(mechanism, rounds=mechanism.rounds[:1], choice=None)
        assert worst(mechanism)[0] > mechanism.epsilon() - before.epsilon()


def test_a_choice_is_dominated_by_a_normal_number():
    """Coins whose log odds differ by h, wherever they are; the bound is attained at the middle."""
    for h in (1e-6, 1e-3, 0.011, 0.1, 1.0, 5.0, 40.0):
        middles = np.linspace(-20, 20, 401)
        p, q = special.log_expit(middles + h / 2), special.log_expit(middles - h / 2)
        each = special.ndtri_exp(p) - special.ndtri_exp(q)
        assert np.all(each <= normal_move(h) + 1e-14)
        assert each[200] == pytest.approx(normal_move(h), rel=1e-5, abs=1e-15)
        rate = rate_of("gaussian", normal_move(h) ** 2, 1.0, 3)
        assert 6 * rate == pytest.approx(h, rel=1e-5)
        assert rate_of("laplace", 0.5, 2.0, 1) == 0.125


@pytest.mark.parametrize(("noise", "delta"), [("laplace", 0.0), ("gaussian", 1e-6)])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
def test_calibration_shares_the_budget_with_the_choice(noise, delta, relation):
    shares = (0.3, 0.6, 0.1)
    mechanism = NoisyTable.calibrate(
        epsilon=1.0, delta=delta, schema=SCHEMA, noise=noise, neighbours=relation, shares=shares,
        marginals=[ALONE, PAIRS[:2]], choice={"candidates": PAIRS, "rate": 1.0},
    )  # fmt: skip
    assert 1 - 1e-6 < mechanism.guarantee(delta=delta).epsilon <= 1
    more = dataclasses.replace(mechanism.choice, rate=mechanism.choice.rate * 1.001)
    dearer = dataclasses.replace(mechanism, choice=more)
    assert dearer.guarantee(delta=delta).epsilon > 1
    if noise == "laplace":
        (one, _) = mechanism._intervals(relation)
        assert 2 * one == pytest.approx(0.1)
    else:
        free = dataclasses.replace(mechanism, choice=None)
        assert mechanism.rho() > free.rho()


def test_marginals_are_chosen_by_the_law():
    mechanism = made(number=2, rate=0.4)
    x = mechanism.statistic_of(records("000", "000", "110", "011", "111", "111"))
    z, trials, found = [3, 3, 4, 2, 3, 3], 900, {}
    offered = mechanism.offered(z)
    scored = scores(offered, [x[mechanism.wide.slices[k]] for k in (3, 4, 5)])
    with bdp.reproducible(4):
        for _ in range(trials):
            order = tuple(chosen(scored, 2, 0.4))
            found[order] = found.get(order, 0) + 1
        assert set(mechanism.choose(z, x).rounds[1].marginals) < set(PAIRS)
    wanted = []
    for order in itertools.permutations(PAIRS, 2):
        last = dataclasses.replace(mechanism.rounds[1], marginals=order)
        one = dataclasses.replace(mechanism, rounds=(mechanism.rounds[0], last))
        output = [*z, *[0] * 8]
        noise = dataclasses.replace(one, choice=None)
        wanted.append(trials * math.exp(one.logp(output, x) - noise.logp(output, one.of_rounds(x))))
    seen = [found.get(order, 0) for order in itertools.permutations(range(3), 2)]
    assert sum(wanted) == pytest.approx(trials)
    assert stats.chisquare(seen).pvalue < 1e-6  # that all are alike
    assert stats.chisquare(seen, wanted).pvalue > 1e-6


def test_a_manifest_has_the_choice_and_its_candidates():
    mechanism = made("gaussian", number=2)
    again = MechanismEntry.model_validate_json(MechanismEntry.of(mechanism).model_dump_json())
    assert again.build() == mechanism
    assert any("exponential mechanism" in note for note in mechanism.assumptions(ADD_REMOVE))
    assert "choice" not in MechanismEntry.of(mechanism.wide).parameters


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"choice": 3}, "choice is 3"),
        ({"choice": {"candidates": PAIRS, "rate": 0.0}}, "rate is 0"),
        ({"choice": {"candidates": PAIRS[:1], "rate": 1.0}}, "more than the 1 that are chosen"),
        ({"choice": {"candidates": (*PAIRS, ("a",)), "rate": 1.0}}, "two or more columns each"),
        ({"choice": {"candidates": PAIRS[1:], "rate": 1.0}}, "isn't among"),
        ({"rounds": [{"marginals": PAIRS[:1], "scale": 1.0}]}, "no round before the last"),
    ],
)
def test_a_wrong_choice_is_named(wrong, message):
    rounds = [{"marginals": ALONE, "scale": 3.0}, {"marginals": PAIRS[:1], "scale": 4.0}]
    good = {"rounds": rounds, "choice": {"candidates": PAIRS, "rate": 1.0}}
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        NoisyTable(SCHEMA, **{**good, **wrong})


def test_an_audit_by_draws_is_refused_as_it_could_not_see_the_choice():
    mechanism = made("gaussian", number=2)
    with pytest.raises(bdp.errors.InvalidInput, match="can't see what the choice costs"):
        bdp.audit(mechanism, trials=1000, delta=1e-6)
    assert bdp.audit(mechanism.wide, trials=1000, delta=1e-6).convicted is False
