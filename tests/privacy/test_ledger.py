"""The ledger: what it charges and remembers."""

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import mpmath as mp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.mechanisms import randomness
from bayesdp.privacy.composition import left, total
from tests.privacy.ledgers import promise

RELATIONS = list(bdp.Neighbours)


@pytest.mark.slow
def test_the_example_of_the_documentation(url):
    ledger = bdp.Ledger.open(url)
    ledger.create("survey-2026", epsilon=4.0, delta=1e-6, neighbours="replace_one")
    synthesizer = bdp.BetaBinomialSynthesizer(epsilon=1.5, copies=3)
    release = synthesizer.release([0, 1, 1, 0], ledger=ledger.dataset("survey-2026"))
    cost = release.guarantee.epsilon
    assert 1.4999 < cost <= 1.5
    account = bdp.Ledger.open(url).dataset("survey-2026")
    assert account.remaining() == (left(4.0, [cost]), 5e-7)
    (entry,) = account.history()
    assert (entry.position, entry.epsilon, entry.delta) == (1, cost, 0.0)
    assert entry.guarantee == release.guarantee
    assert entry.released == {
        "copies": 3,
        "mechanisms": [
            {
                "name": "beta_binomial",
                "parameters": {"n": 4, "size": 4, "prior": list(release.mechanism.prior)},
                "groups": 1,
            }
        ],
    }
    assert ledger.verify() == {"survey-2026": entry.hash}
    synthesizer.release([0, 1, 1, 0], ledger=account)
    with pytest.raises(bdp.errors.BudgetExceeded) as caught:
        synthesizer.release([0, 1, 1, 0], ledger=account)
    assert caught.value.epsilon == account.remaining().epsilon == pytest.approx(1.0)
    assert str(caught.value.epsilon) in str(caught.value)
    assert account.spent().epsilon == 2 * cost
    assert account.spent().strength is bdp.Strength.PROVED


def test_nothing_confidential_is_stored(tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/b.db")
    survey = ledger.create("survey", epsilon=9.0, neighbours="replace_one")
    # Of so many digits that no hash or time holds one by chance, but once in a million runs.
    data = {"Reykjavik": bdp.Count(791900171, 1000700071), "Akureyri": bdp.Count(31, 6007000133)}
    synthesizer = bdp.BetaBinomialSynthesizer(
        epsilon=1.0, size=100, public_n=False, groups=["Reykjavik", "Akureyri"]
    )
    synthesizer.release(data, ledger=survey)
    content = (tmp_path / "b.db").read_bytes()
    for secret in (b"791900171", b"1000700071", b"6007000133", b"Reykjavik"):
        assert secret not in content
    assert survey.history()[0].released["mechanisms"][0]["groups"] == 2


def test_the_order_is_check_spend_draw(survey, monkeypatch):
    seen = []
    original = randomness.random_words

    def words(count):
        seen.append(len(survey.history()))
        return original(count)

    monkeypatch.setattr(randomness, "random_words", words)
    bdp.BetaBinomialSynthesizer(epsilon=1.0, copies=1).release([0, 1], ledger=survey)
    assert set(seen) == {1}


@pytest.mark.parametrize(
    "data", [[], [0, 2], [0, None], ["a"], {"x": 3}, bdp.Count(0, 0), [[0, 1]]], ids=str
)
def test_bad_input_spends_and_draws_nothing(survey, monkeypatch, data):
    monkeypatch.setattr(randomness, "random_words", lambda count: pytest.fail("drawn"))
    with pytest.raises(bdp.errors.InvalidInput):
        bdp.BetaBinomialSynthesizer(epsilon=1.0).release(data, ledger=survey)
    with pytest.raises(bdp.errors.InvalidInput):
        bdp.BetaBinomialSynthesizer(epsilon=1.0).release([0, 1], by=[1], ledger=survey)
    assert survey.history() == []


def test_what_is_spent_stays_spent_when_drawing_fails(survey, monkeypatch):
    def broken(count):
        raise OSError("no randomness")

    monkeypatch.setattr(randomness, "random_words", broken)
    with pytest.raises(OSError, match="no randomness"):
        bdp.BetaBinomialSynthesizer(epsilon=1.0).release([0, 1], ledger=survey)
    assert len(survey.history()) == 1


@pytest.mark.parametrize("released", ["discrete_laplace", 3, ["scale"]])
def test_what_is_released_has_names(survey, released):
    with pytest.raises(bdp.errors.InvalidInput, match=r"released is .*; it must be a mapping"):
        survey.spend(promise(0.5), released)
    assert survey.history() == []


def test_seeded_releases_are_refused(survey):
    synthesizer = bdp.BetaBinomialSynthesizer(epsilon=1.0)
    with bdp.reproducible(1), pytest.raises(bdp.errors.InvalidInput, match="seeded"):
        synthesizer.release([0, 1], ledger=survey)
    with bdp.reproducible(1):
        seeded = synthesizer.release([0, 1])
    with pytest.raises(bdp.errors.InvalidInput, match="promises nothing"):
        survey.spend(seeded.guarantee)
    assert survey.history() == []


def test_a_ledger_is_not_a_datasets(url):
    with pytest.raises(bdp.errors.InvalidInput, match=r"ledger\.dataset\(name\)"):
        bdp.BetaBinomialSynthesizer(epsilon=1.0).release([0, 1], ledger=bdp.Ledger.open(url))


def test_strengths(survey):
    survey.spend(promise(1.0, strength="conditional"))
    assert survey.spent().strength is bdp.Strength.CONDITIONAL
    published = promise(1.0, strength="as_published")
    with pytest.raises(bdp.errors.InvalidInput, match="accept_unproved=True"):
        survey.spend(published)
    survey.spend(published, accept_unproved=True)
    survey.spend(promise(0.5))
    strengths = [entry.guarantee.strength.value for entry in survey.history()]
    assert strengths == ["conditional", "as_published", "proved"]
    assert survey.spent().strength is bdp.Strength.AS_PUBLISHED
    assert survey.spent().assumptions == ("Holds.",)


def test_a_handle_may_accept_the_unproved(url):
    ledger = bdp.Ledger.open(url)
    ledger.create("s", epsilon=1.0, neighbours="edge")
    handle = ledger.dataset("s", accept_unproved=True)
    assert handle.spend(promise(1.0, neighbours="edge", strength="as_published")).position == 1


@pytest.mark.parametrize("of", RELATIONS, ids=str)
@pytest.mark.parametrize("spent", RELATIONS, ids=str)
def test_relations_never_mix(tmp_path, of, spent):
    account = bdp.Ledger.open(f"sqlite:///{tmp_path}/b.db").create(
        "s", epsilon=4.0, delta=0.5, neighbours=of
    )
    if of == spent:
        entry = account.spend(promise(0.7, 1e-3, spent))
        assert (entry.epsilon, entry.delta) == (0.7, 1e-3)
    elif (spent, of) == ("add_remove", "replace_one"):
        entry = account.spend(promise(0.7, 1e-3, spent))
        exact = (1 + mp.exp(mp.mpf(0.7))) * mp.mpf(1e-3)
        assert entry.epsilon == 1.4
        assert exact <= mp.mpf(entry.delta) <= exact * (1 + mp.mpf(2) ** -46)
    else:
        with pytest.raises(bdp.errors.InvalidInput, match="says nothing about the other"):
            account.spend(promise(0.7, 1e-3, spent))
        assert account.history() == []


def test_converting_a_huge_promise_never_fits(survey):
    for epsilon, delta in [(1e300, 1e-9), (800.0, 1e-300), (1.0, 0.9)]:
        with pytest.raises(bdp.errors.BudgetExceeded):
            survey.spend(promise(epsilon, delta, "add_remove"))


def test_delta_runs_out_alone(url):
    survey = bdp.Ledger.open(url).create(
        "survey", epsilon=4.0, delta=1e-6, conversion_delta=0.0, neighbours="replace_one"
    )
    survey.spend(promise(0.5, 1e-6))
    with pytest.raises(bdp.errors.BudgetExceeded, match=r"delta = 0\.0 left"):
        survey.spend(promise(0.5, 1e-9))
    survey.spend(promise(3.5))
    assert survey.remaining() == (0.0, 0.0)
    survey.spend(promise(0.0))
    with pytest.raises(bdp.errors.BudgetExceeded):
        survey.spend(promise(5e-324))


floats = st.floats(0, 1e300, allow_subnormal=True)


@given(st.lists(floats, max_size=20), floats)
def test_sums_are_exact_and_rounded_to_the_safe_side(costs, budget):
    exact = sum(map(Fraction, costs), Fraction(0))
    up = total(costs)
    assert Fraction(up) >= exact
    assert up == 0 or Fraction(math.nextafter(up, -math.inf)) < exact
    rest = left(budget, costs)
    assert exact + Fraction(rest) <= budget
    assert exact + Fraction(math.nextafter(rest, math.inf)) > budget


def test_tenths_are_the_binary_numbers_they_are(url):
    """0.1 is a little more than a tenth: ten of them don't fit in 1.0, but the rest does."""
    account = bdp.Ledger.open(url).create("s", epsilon=1.0, neighbours="edge")
    for _ in range(9):
        account.spend(promise(0.1, neighbours="edge"))
    with pytest.raises(bdp.errors.BudgetExceeded):
        account.spend(promise(0.1, neighbours="edge"))
    account.spend(promise(account.remaining().epsilon, neighbours="edge"))
    assert account.remaining().epsilon >= 0
    assert account.spent().epsilon <= 1.0


step = st.tuples(
    st.sampled_from(["a", "b"]),
    st.one_of(st.floats(0, 2), st.sampled_from([0.1, 0.25, 1.0, math.inf])),
    st.one_of(st.just(0.0), st.floats(0, 1e-5), st.just(1.0)),
    st.sampled_from(["proved", "conditional", "as_published"]),
    st.sampled_from(["add_remove", "replace_one", "edge"]),
    st.booleans(),
)


@pytest.mark.slow
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=st.lists(step, max_size=12))
def test_any_sequence_of_spends_against_a_model(
    steps, new_url: Callable[[str], str], tmp_path: Path
):
    """The model: a list of charges per dataset, as fractions; no delta kept for conversion."""
    url = new_url("sqlite")
    ledger = bdp.Ledger.open(url)
    handles = {
        "a": ledger.create(
            "a", epsilon=3.0, delta=1e-5, conversion_delta=0.0, neighbours="replace_one"
        ),
        "b": ledger.create("b", epsilon=1.0, neighbours="add_remove"),
    }
    budgets = {"a": (Fraction(3), Fraction(1e-5)), "b": (Fraction(1), Fraction(0))}
    model: dict[str, list[tuple[Fraction, Fraction]]] = {"a": [], "b": []}
    for name, epsilon, delta, strength, relation, reopen in steps:
        if reopen:
            handles[name] = bdp.Ledger.open(url).dataset(name)
        own = relation == ("replace_one" if name == "a" else "add_remove")
        converts = name == "a" and relation == "add_remove" and not own
        guarantee = promise(epsilon, delta, relation, strength)
        allowed = strength != "as_published" and epsilon < math.inf and delta < 1
        if not allowed or not (own or converts):
            with pytest.raises(bdp.errors.InvalidInput):
                handles[name].spend(guarantee)
            continue
        spent = [sum((c[k] for c in model[name]), Fraction(0)) for k in (0, 1)]
        cost = [Fraction(epsilon), Fraction(delta)]
        if converts:
            grown = (1 + mp.exp(mp.mpf(epsilon))) * mp.mpf(delta)
            cost = [2 * cost[0], Fraction(float(grown * (1 + mp.mpf(2) ** -45)))]
            if abs(spent[1] + cost[1] - budgets[name][1]) < Fraction(1, 10**15):
                continue  # within rounding of the budget: either answer is right
        if all(s + c <= b for s, c, b in zip(spent, cost, budgets[name], strict=True)):
            entry = handles[name].spend(guarantee)
            model[name].append((Fraction(entry.epsilon), Fraction(entry.delta)))
            assert Fraction(entry.epsilon) == cost[0]
        else:
            with pytest.raises(bdp.errors.BudgetExceeded):
                handles[name].spend(guarantee)
    for name in handles:
        again = bdp.Ledger.open(url).dataset(name).history()
        assert [(Fraction(e.epsilon), Fraction(e.delta)) for e in again] == model[name]
        assert again == handles[name].history()
    assert set(ledger.verify()) == {"a", "b"}
