"""Whole tables whose second round is chosen by the exponential mechanism on confidential counts."""

import itertools

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.engines.table_choices import gaps_of, log_choice, resampled
from bayesdp.errors import BudgetExceeded, InvalidInput
from bayesdp.inference.table.marginal import marginal_parts
from bayesdp.synthesis import noisy_table

NAMES = list("abcd")
COLUMNS = {name: {"type": "category", "labels": ["x", "y", "z"]} for name in NAMES}
SCHEMA = bdp.Schema(COLUMNS)
PAIRS = tuple(itertools.combinations(NAMES, 2))


def made(**fields) -> bdp.TableSynthesizer:
    given = {"schema": SCHEMA, "epsilon": 4.0, "delta": 1e-6, "chosen": 2}
    return bdp.TableSynthesizer(**(given | {"choosing": "exponential"} | fields))


def people(n: int = 1000, seed: int = 1) -> pd.DataFrame:
    """Records of independent columns, but that b and d mostly agree."""
    rng = np.random.default_rng(seed)
    codes = pd.DataFrame(rng.integers(0, 3, (n, len(NAMES))), columns=NAMES)
    codes["d"] = np.where(rng.random(n) < 0.6, codes["b"], codes["d"])
    return pd.DataFrame({name: np.array(["x", "y", "z"])[codes[name]] for name in NAMES})


@pytest.mark.parametrize("fields", [{}, {"delta": 0.0}, {"neighbours": "replace_one"}])
def test_a_release_has_its_choice_and_the_law_of_all_of_it(fields, tmp_path):
    synthesizer = made(**fields)
    with bdp.reproducible(1):
        release = synthesizer.release(people())
    mechanism = release.mechanism
    assert mechanism.rounds[0].marginals == tuple((name,) for name in NAMES)
    assert mechanism.rounds[1].marginals[0] == ("b", "d")  # the related ones
    assert mechanism.choice.candidates == PAIRS
    promised = synthesizer.guarantee(n=mechanism.n)
    assert mechanism.guarantee(delta=synthesizer.delta) == promised
    assert 4 - 1e-5 < promised.epsilon <= 4
    release.save(tmp_path / "release")
    again = bdp.Release.load(tmp_path / "release")
    assert again.mechanism == mechanism
    # Given the records, the law is that of noise and that of the choice, which an analyst reads.
    codes, output = SCHEMA.coded(people()), release.outputs[0]
    statistic = again.mechanism.statistic_of(codes)
    noise = bdp.mechanisms.NoisyTableMechanism(
        SCHEMA, mechanism.rounds, mechanism.noise, mechanism.neighbours, mechanism.n
    )
    problem = bdp.TableModel().read(again)
    choice = log_choice(problem.chosen, gaps_of(problem.chosen, codes.to_numpy()))
    law = noise.logp(output, noise.statistic_of(codes)) + choice
    assert again.mechanism.logp(output, statistic) == pytest.approx(float(law), rel=1e-12)
    assert choice < 0
    assert again.mechanism.logp(np.stack([output] * 2), statistic).shape == (2,)


def test_files_and_persons_are_counted_like_frames(tmp_path):
    frame = people(300)
    frame.to_csv(tmp_path / "people.csv", index=False)
    given = []
    with bdp.reproducible(2):
        given.append(made().release(frame))
    with bdp.reproducible(2):
        given.append(made().release(bdp.scan([tmp_path / "people.csv"], NAMES)))
    assert given[0].outputs == given[1].outputs
    assert given[0].mechanism == given[1].mechanism
    persons = bdp.Schema(COLUMNS, unit={"person": "id", "most": 2})
    of_persons = made(schema=persons)
    release = of_persons.release(frame.assign(id=np.arange(300) // 3))
    totals = [of_persons.mechanism(None, 4.0), made().mechanism(None, 4.0)]
    assert totals[0].choice.rate == pytest.approx(totals[1].choice.rate / 2, rel=0.05)
    assert release.guarantee.epsilon <= 4


def test_the_ledger_is_paid_before_anything_is_drawn(tmp_path, monkeypatch):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/budget.db").create(
        "people", epsilon=4.5, delta=1e-5, neighbours="add_remove"
    )
    made().release(people(50), ledger=ledger)

    def unpaid(*given):
        raise AssertionError("drawn")

    monkeypatch.setattr(noisy_table.NoisyTableMechanism, "draw", unpaid)
    monkeypatch.setattr(noisy_table.NoisyTableMechanism, "choose", unpaid)
    with pytest.raises(BudgetExceeded):
        made().release(people(50), ledger=ledger)


def test_cut_points_may_be_private_too():
    columns = {
        **COLUMNS,
        "age": {"type": "integer", "bounds": (0, 39), "bins": {"private": 4, "share": 0.1}},
    }
    schema = bdp.Schema(columns)
    frame = people(500).assign(age=np.random.default_rng(3).integers(0, 40, 500))
    release = made(schema=schema, epsilon=20.0).release(frame)
    counts = [len(one.marginals) for one in release.mechanism.rounds]
    assert counts == [1, 4, 2]
    assert release.mechanism.offered(release.outputs[0])[3].shape == (3, 4)
    statistic = release.mechanism.statistic_of(release.mechanism.schema.coded(frame))
    assert np.isfinite(release.mechanism.logp(release.outputs[0], statistic))


@pytest.mark.slow
def test_raked_tables_are_weighed_by_the_choices_law():
    with bdp.reproducible(5):
        release = made(chosen=1).release(people(200))
    options = {"draws": 60, "chains": 2, "warmup": 30, "thin": 1, "tables": 60, "seed": 1}
    with pytest.warns(UserWarning, match="chains of this fit"):
        posterior = bdp.TableModel(2).fit(release, **options)
    records = posterior.tables["records"].to_numpy()
    assert records.shape[:2] == (2, 60)
    marginal = list(release.mechanism.rounds[1].marginals[0])
    with pytest.raises(InvalidInput, match="chosen on confidential counts"):
        marginal_parts(release, marginal)


def test_tables_are_drawn_again_by_their_weights():
    rng, log = np.random.default_rng(1), np.log([1.0, 2.0, 3.0, 0.5])
    found = np.zeros(4)
    for _ in range(4000):
        places, effective = resampled(log, rng)
        found += np.bincount(places, minlength=4)
    assert found / 4000 == pytest.approx(4 * np.exp(log) / 6.5, abs=0.04)
    assert effective == pytest.approx(6.5**2 / (1 + 4 + 9 + 0.25))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"choosing": "best"}, "choosing is 'best'"),
        ({"chosen": None}, "chosen is None; give"),
        ({"chosen": 6}, "more than the 6 that are chosen"),
        ({"chosen": 7}, "there are 6 marginals"),
        ({"pilot": 0.5, "choice_share": 0.5}, "must leave a share"),
        ({"copies": 2}, "copies is 2"),
    ],
)
def test_what_cannot_be_chosen_is_named(wrong, message):
    with pytest.raises(InvalidInput, match=message):
        made(**wrong)


def test_its_choice_is_no_function_of_released_counts():
    with pytest.raises(InvalidInput, match="choosing is 'exponential'"):
        made().choice([0] * 12)
