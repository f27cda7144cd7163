"""A second round of marginals, chosen from what the first released: its law, price and choice."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.errors import BudgetExceeded, InvalidInput
from bayesdp.mechanisms.counts.table_rounds import Round
from bayesdp.synthesis import marginal_choice, noisy_table
from bayesdp.synthesis.marginal_choice import candidates, chosen_marginals, departure, deviation

NAMES = list("abcde")
SCHEMA = bdp.Schema({name: {"type": "category", "labels": ["x", "y", "z"]} for name in NAMES})
PAIRS = tuple(itertools.combinations(NAMES, 2))
MADE = bdp.TableSynthesizer(SCHEMA, epsilon=2.0, delta=1e-6, chosen=3)


def people(n: int = 2000, related: str = "bd", seed: int = 1) -> pd.DataFrame:
    """Records of independent columns, but that some mostly agree."""
    rng = np.random.default_rng(seed)
    codes = pd.DataFrame(rng.integers(0, 3, (n, len(NAMES))), columns=NAMES)
    for name in related[1:]:
        codes[name] = np.where(rng.random(n) < 0.6, codes[related[0]], codes[name])
    return pd.DataFrame({name: np.array(["x", "y", "z"])[codes[name]] for name in NAMES})


@pytest.mark.parametrize(("noise", "delta"), [("laplace", 0.0), ("gaussian", 1e-6)])
def test_rounds_drawn_one_by_one_have_the_law_of_the_whole(noise, delta):
    """From the same random words they are the same numbers."""
    made = bdp.TableSynthesizer(SCHEMA, epsilon=1.0, delta=delta, chosen=4, pilot=0.3)
    frame = people()
    with bdp.reproducible(1):
        release = made.release(frame)
    whole, output = release.mechanism, release.outputs[0]
    with bdp.reproducible(1):
        drawn = whole.draw(whole.statistic_of(SCHEMA.coded(frame)), 1)[0]
    np.testing.assert_array_equal(output, drawn)
    pilot, second = whole.rounds
    assert pilot.marginals == PAIRS
    assert second.marginals == made.choice(output[: 9 * len(PAIRS)])
    assert whole.guarantee(delta=delta) == made.guarantee()


def test_the_promise_is_that_of_both_rounds_whatever_is_chosen():
    for noise, delta in (("laplace", 0.0), ("gaussian", 1e-6)):
        made = bdp.TableSynthesizer(
            SCHEMA, epsilon=1.0, delta=delta, noise=noise, chosen=3, pilot=0.2
        )
        by_hand = bdp.mechanisms.NoisyTableMechanism.calibrate(
            epsilon=1.0, delta=delta, schema=SCHEMA, noise=noise, shares=[0.2, 0.8],
            marginals=[PAIRS, [("a",), ("b", "c", "d"), ("e", "a")]],
        )  # fmt: skip
        scales = [one.scale for one in made.mechanism(None, 1.0).rounds]
        assert scales == [one.scale for one in by_hand.rounds]
        assert made.guarantee() == by_hand.guarantee(delta=delta)
        release = made.release(people(200))
        assert release.guarantee == made.guarantee()
        assert len(release.mechanism.rounds[1].marginals) == 3
    halves = bdp.TableSynthesizer(SCHEMA, chosen=5, pilot=0.5).mechanism(None, 1.0).rounds
    assert [one.scale for one in halves] == pytest.approx([20.0, 10.0])  # 10 and 5 counts move


def test_the_choice_is_of_released_numbers_alone(monkeypatch):
    """Data that have nothing in common, and the same numbers from the first round."""
    released, size = MADE.release(people()).outputs[0], 9 * len(PAIRS)
    draw, found = noisy_table.NoisyTableMechanism.draw, []

    def drawn(mechanism, statistic, copies):
        if mechanism.marginals == PAIRS:
            return np.array([released[:size]])
        return draw(mechanism, statistic, copies)

    monkeypatch.setattr(noisy_table.NoisyTableMechanism, "draw", drawn)
    for frame in (people(), people(30, "ace", 2), people(0)):
        found.append(MADE.release(frame).mechanism.rounds[1])
    assert found[0] == found[1] == found[2]
    assert found[0].marginals == MADE.choice(released[:size])


def test_planted_dependence_is_chosen():
    """Two columns that agree, and three, among others that are independent of all."""
    with bdp.reproducible(3):
        first = MADE.release(people()).mechanism.rounds[1].marginals
        three = MADE.release(people(related="ace")).mechanism.rounds[1].marginals
    assert first[0] == ("b", "d")
    assert three[0] == ("a", "c", "e")


def test_a_departure_from_independence_is_net_of_noise():
    agree, apart = np.diag([60, 60]), np.full((2, 2), 30)
    mean = math.sqrt(2 / math.pi)
    assert departure(agree, 0.0) == pytest.approx(120 - mean * 2 * math.sqrt(30))
    assert departure(agree, 10.0) == pytest.approx(120 - mean * 2 * math.sqrt(130))
    assert departure(apart, 0.0) == departure(agree, 100.0) == 0
    assert departure(-agree, 1.0) == 0  # whose total is no number of records
    noisy = np.array([[100, -100], [-100, 101]])
    assert departure(noisy, 1.0) == 2  # of the one record that it has
    k = np.arange(-400, 401)
    for scale in (0.4, 3.0):
        law = np.exp(-np.abs(k) / scale)
        assert deviation("laplace", scale) ** 2 == pytest.approx(k**2 @ law / law.sum())
    assert deviation("gaussian", 3.0) == 3.0


def test_what_noise_and_sampling_show_is_not_taken_for_dependence():
    """Of independent columns D would have mean 0, were it not cut off there."""
    rng, found = np.random.default_rng(4), []
    off = 24 * math.sqrt(2 / math.pi * (400 + 250) * 0.625)
    for _ in range(1000):
        counts = rng.multinomial(6000, np.full(24, 1 / 24)).reshape(4, 6)
        noisy = counts + np.rint(rng.normal(0, 20.0, (4, 6))).astype(int)
        found.append(departure(noisy, 20.0))
    # A normal number's mean above 0 is 0.4 of its standard deviation, 0.16 of what is taken off.
    assert np.mean(found) / off == pytest.approx(0.4 * 0.16, abs=0.03)


def test_what_cannot_be_measured_well_is_not_chosen():
    """Of two pairs that are as strong, the one with fewer cells; none beyond the limit."""
    cells = {"a": 2, "b": 2, "c": 40, "d": 2}
    strong = np.array([[500, 0], [0, 500]])
    wide = np.zeros((2, 40), dtype=int)
    wide[0, :20] = wide[1, 20:] = 25
    released = {("a", "b"): strong, ("a", "c"): wide, ("b", "c"): wide, ("a", "d"): strong}
    options = {"number": 2, "noise": "gaussian", "scales": (20.0, 10.0)}
    assert candidates(tuple(released), cells, 159)[4:] == ()
    assert candidates(tuple(released), cells, 160)[4:] == (("a", "b", "c"),)
    found = chosen_marginals(released, cells, most_cells=159, **options)
    assert set(found) == {("a", "b"), ("a", "d")}


def test_what_the_pilot_tells_well_is_not_chosen_before_what_its_noise_hides():
    """And none is chosen for being small alone, though the second round has more noise."""
    cells = {"a": 2, "b": 2, "c": 10, "d": 10, "e": 3, "f": 3}
    told, hidden = np.array([[500, 0], [0, 500]]), np.diag(np.full(10, 200))
    released = {("a", "b"): told, ("e", "f"): np.full((3, 3), 111), ("c", "d"): hidden}
    for scales in ((20.0, 8.0), (5.0, 8.0)):
        found = chosen_marginals(
            released, cells, number=3, noise="gaussian", scales=scales, most_cells=9
        )
        assert found == (("c", "d"), ("a", "b"), ("e", "f"))


@pytest.mark.parametrize("halved", [False, True])
def test_no_transcript_of_two_rounds_costs_more_than_epsilon(halved):
    """All outputs within a window, the choice included: the largest ratio is e^epsilon, exactly.

    Counts that are the same for both neighbours have the same noise for both: of their outputs,
    which the choice depends on, there are two each. A fault, noise of half the scale in the second
    round, is found.
    """
    schema = bdp.Schema({name: {"type": "boolean"} for name in "abc"})
    pilot = [("a", "b"), ("b", "c")]
    made = bdp.TableSynthesizer(schema, epsilon=1.5, marginals=pilot, chosen=1, pilot=0.4)
    (one, two) = made.mechanism(None, 1.5).rounds
    scales = (one.scale, two.scale / 2 if halved else two.scale)

    def log_ratio(z: int, count: int, scale: float) -> float:
        """Log Pr[z | count + 1] / Pr[z | count] of discrete Laplace noise."""
        return (abs(z - count) - abs(z - count - 1)) / scale

    # The neighbour has one record more, in the first cell of all marginals, where there are none.
    window = range(-3, 5)
    second = {  # the largest and the smallest log ratio of the second round, by what is chosen
        part: [f(log_ratio(z, 0, scales[1]) for z in window) for f in (max, min)] for part in pilot
    }
    worst, chosen = 0.0, set()
    cells = dict.fromkeys("abc", 2)
    for x, y in itertools.product(window, repeat=2):
        first = log_ratio(x, 0, scales[0]) + log_ratio(y, 0, scales[0])
        for rest in itertools.product((0, 9), repeat=6):
            released = {
                part: np.array([z, *others]).reshape(2, 2)
                for part, z, others in zip(pilot, (x, y), (rest[:3], rest[3:]), strict=True)
            }
            (part,) = chosen_marginals(
                released, cells, number=1, noise="laplace", scales=scales, most_cells=9
            )
            chosen.add(part)
            worst = max(worst, *(abs(first + each) for each in second[part]))
    assert chosen == set(pilot)
    assert (worst > 1.5 + 0.4) if halved else worst == pytest.approx(1.5, rel=1e-12)
    assert worst <= 1.5 * (1 + 1e-12) or halved


def test_both_rounds_are_paid_for_once_before_either_is_drawn(tmp_path, monkeypatch):
    """And if the process is killed between them, they are paid for all the same."""
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/budget.db")
    account = ledger.create("people", epsilon=5.0, delta=1e-5, neighbours="add_remove")
    cost = MADE.release(people(), ledger=account).guarantee
    (entry,) = account.history()
    assert entry.guarantee.epsilon == cost.epsilon == MADE.guarantee().epsilon

    def killed(*args, **kwargs):
        assert len(account.history()) == 2
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(noisy_table, "chosen_marginals", killed)
        with pytest.raises(KeyboardInterrupt):
            MADE.release(people(), ledger=account)
    assert len(account.history()) == 2

    def unpaid(*args):
        raise AssertionError

    monkeypatch.setattr(noisy_table.NoisyTableMechanism, "draw", unpaid)
    costly = bdp.TableSynthesizer(SCHEMA, epsilon=6.0, delta=1e-6, chosen=3)
    with pytest.raises(BudgetExceeded):
        costly.release(people(), ledger=account)
    with pytest.raises(InvalidInput):
        MADE.release(people().assign(a="w"), ledger=account)
    assert len(account.history()) == 2


def test_files_are_counted_twice_and_persons_up_to_their_limit(tmp_path, monkeypatch):
    frame = people(300)
    frame.to_csv(tmp_path / "people.csv", index=False)
    data = bdp.scan(tmp_path / "people.csv", NAMES, rows=70)
    with bdp.reproducible(2):
        from_file = MADE.release(data)
    with bdp.reproducible(2):
        assert MADE.release(frame) == from_file
    persons = bdp.Schema(SCHEMA.columns, unit={"person": "id", "most": 2})
    made = bdp.TableSynthesizer(persons, epsilon=1e5, chosen=2)
    limited = made.release(frame.assign(id=np.arange(300) // 5))
    last = limited.mechanism.slices[-1]
    assert sum(limited.outputs[0][last]) == 120
    with pytest.raises(InvalidInput, match="can be read once"):
        MADE.release(iter([frame]))
    counted = noisy_table.TableSynthesizer.tally

    def shrinking(self, records):
        return counted(self, records if self.chosen else records[1:])

    monkeypatch.setattr(noisy_table.TableSynthesizer, "tally", shrinking)
    with pytest.raises(InvalidInput, match="data changed between two rounds"):
        MADE.release(frame)


def test_it_is_saved_and_read_as_any_release(tmp_path):
    release = MADE.release(people(50))
    release.save(tmp_path / "r")
    again = bdp.Release.load(tmp_path / "r")
    assert again == release
    assert again.mechanism.rounds[1] == Round(
        MADE.choice(release.outputs[0][:90]), MADE.mechanism(None, 2.0).rounds[1].scale
    )
    view = marginal_choice.candidates(PAIRS, SCHEMA.cells, 10_000)
    assert set(again.mechanism.rounds[1].marginals) <= set(view)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"chosen": 0}, "chosen is 0"),
        ({"chosen": 2.5}, "chosen is 2.5"),
        ({"chosen": 21}, "chosen is 21; there are 20 marginals to choose from"),
        ({"chosen": 1, "marginals": [("a",), ("b", "c", "d")]}, "there are 0 marginals"),
        ({"chosen": 1, "copies": 2}, "copies is 2, but a later round"),
        ({"chosen": 1, "pilot": 1.0}, "pilot is 1.0"),
        ({"pilot": 0}, "pilot is 0"),
        ({"most_cells": 8}, r"'a' x 'b' has 9 cells, and most_cells is 8: .* fewer bins"),
        ({"most_cells": 0}, "most_cells is 0"),
    ],
)
def test_wrong_fields_are_named(wrong, message):
    with pytest.raises(InvalidInput, match=message):
        bdp.TableSynthesizer(SCHEMA, **wrong)


def test_there_is_nothing_to_choose_in_one_round():
    with pytest.raises(InvalidInput, match="chosen is None"):
        bdp.TableSynthesizer(SCHEMA).choice(np.zeros(90, dtype=int))
    with pytest.raises(InvalidInput, match="last axis must hold the 90 counts"):
        MADE.choice([1, 2, 3])
