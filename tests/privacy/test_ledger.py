"""The ledger: what it charges, refuses, remembers and notices."""

import math
import sqlite3
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import mpmath as mp
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.mechanisms import randomness
from bayesdp.privacy import ledger_chain, ledger_store
from bayesdp.privacy.composition import left, total

RELATIONS = list(bdp.Neighbours)


def promise(epsilon, delta=0.0, neighbours="replace_one", strength="proved"):
    return bdp.Guarantee(
        epsilon, delta, bdp.Neighbours(neighbours), bdp.Strength(strength), ("Holds.",), "a test"
    )


@pytest.fixture
def survey(url):
    return bdp.Ledger.open(url).create("survey", epsilon=4.0, delta=1e-6, neighbours="replace_one")


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
    with pytest.raises(bdp.BudgetExceeded) as caught:
        synthesizer.release([0, 1, 1, 0], ledger=account)
    assert caught.value.epsilon == account.remaining().epsilon == pytest.approx(1.0)
    assert str(caught.value.epsilon) in str(caught.value)
    assert account.spent().epsilon == 2 * cost
    assert account.spent().strength is bdp.Strength.PROVED


def test_nothing_confidential_is_stored(tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/b.db")
    survey = ledger.create("survey", epsilon=9.0, neighbours="replace_one")
    data = {"Reykjavik": bdp.Count(7919, 10007), "Akureyri": bdp.Count(31, 6007)}
    synthesizer = bdp.BetaBinomialSynthesizer(
        epsilon=1.0, size=100, public_n=False, groups=["Reykjavik", "Akureyri"]
    )
    synthesizer.release(data, ledger=survey)
    content = (tmp_path / "b.db").read_bytes()
    for secret in (b"7919", b"10007", b"6007", b"Reykjavik"):
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
    with pytest.raises(bdp.InvalidInput):
        bdp.BetaBinomialSynthesizer(epsilon=1.0).release(data, ledger=survey)
    with pytest.raises(bdp.InvalidInput):
        bdp.BetaBinomialSynthesizer(epsilon=1.0).release([0, 1], by=[1], ledger=survey)
    assert survey.history() == []


def test_what_is_spent_stays_spent_when_drawing_fails(survey, monkeypatch):
    def broken(count):
        raise OSError("no randomness")

    monkeypatch.setattr(randomness, "random_words", broken)
    with pytest.raises(OSError, match="no randomness"):
        bdp.BetaBinomialSynthesizer(epsilon=1.0).release([0, 1], ledger=survey)
    assert len(survey.history()) == 1


def test_seeded_releases_are_refused(survey):
    synthesizer = bdp.BetaBinomialSynthesizer(epsilon=1.0)
    with bdp.reproducible(1), pytest.raises(bdp.InvalidInput, match="seeded"):
        synthesizer.release([0, 1], ledger=survey)
    with bdp.reproducible(1):
        seeded = synthesizer.release([0, 1])
    with pytest.raises(bdp.InvalidInput, match="promises nothing"):
        survey.spend(seeded.guarantee)
    assert survey.history() == []


def test_a_ledger_is_not_a_datasets(url):
    with pytest.raises(bdp.InvalidInput, match=r"ledger\.dataset\(name\)"):
        bdp.BetaBinomialSynthesizer(epsilon=1.0).release([0, 1], ledger=bdp.Ledger.open(url))


def test_strengths(survey):
    survey.spend(promise(1.0, strength="conditional"))
    assert survey.spent().strength is bdp.Strength.CONDITIONAL
    published = promise(1.0, strength="as_published")
    with pytest.raises(bdp.InvalidInput, match="accept_unproved=True"):
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
        with pytest.raises(bdp.InvalidInput, match="says nothing about the other"):
            account.spend(promise(0.7, 1e-3, spent))
        assert account.history() == []


def test_converting_a_huge_promise_never_fits(survey):
    for epsilon, delta in [(1e300, 1e-9), (800.0, 1e-300), (1.0, 0.9)]:
        with pytest.raises(bdp.BudgetExceeded):
            survey.spend(promise(epsilon, delta, "add_remove"))


def test_delta_runs_out_alone(url):
    survey = bdp.Ledger.open(url).create(
        "survey", epsilon=4.0, delta=1e-6, conversion_delta=0.0, neighbours="replace_one"
    )
    survey.spend(promise(0.5, 1e-6))
    with pytest.raises(bdp.BudgetExceeded, match=r"delta = 0\.0 left"):
        survey.spend(promise(0.5, 1e-9))
    survey.spend(promise(3.5))
    assert survey.remaining() == (0.0, 0.0)
    survey.spend(promise(0.0))
    with pytest.raises(bdp.BudgetExceeded):
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
    with pytest.raises(bdp.BudgetExceeded):
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


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
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
            with pytest.raises(bdp.InvalidInput):
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
            with pytest.raises(bdp.BudgetExceeded):
                handles[name].spend(guarantee)
    for name in handles:
        again = bdp.Ledger.open(url).dataset(name).history()
        assert [(Fraction(e.epsilon), Fraction(e.delta)) for e in again] == model[name]
        assert again == handles[name].history()
    assert set(ledger.verify()) == {"a", "b"}


# Opening, naming and refusing


def test_a_reopened_ledger_is_unchanged(url):
    account = bdp.Ledger.open(url).create("s", epsilon=4.0, neighbours="node")
    made = account.spend(promise(0.1, neighbours="node"), {"name": "laplace", "scale": 0.1})
    ledger = bdp.Ledger.open(url)
    assert ledger.datasets() == ["s"]
    assert ledger.dataset("s").history() == [made]
    assert ledger.dataset("s").budget == account.budget
    assert ledger.verify({"s": made.hash}) == {"s": made.hash}


def test_a_file_appears_with_the_first_budget_and_never_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = bdp.Ledger.open("sqlite:///b.db")
    assert ledger.datasets() == []
    with pytest.raises(bdp.InvalidInput, match="is empty"):
        ledger.dataset("s")
    with pytest.raises(bdp.InvalidInput, match=r"no ledger at sqlite:///b\.db"):
        ledger.verify()
    assert not Path("b.db").exists()
    account = ledger.create("s", epsilon=1.0, neighbours="edge")
    monkeypatch.chdir("/")  # the path was resolved once
    assert account.remaining().epsilon == 1.0
    (tmp_path / "b.db").unlink()
    with pytest.raises(bdp.LedgerUnavailable, match="unable to open"):
        account.spend(promise(0.1, neighbours="edge"))
    assert not (tmp_path / "b.db").exists()


def test_unknown_and_second_datasets(survey, url):
    ledger = bdp.Ledger.open(url)
    with pytest.raises(bdp.InvalidInput, match=r"'surwey', which isn't .*: it has 'survey'"):
        ledger.dataset("surwey")
    survey.spend(promise(3.0))
    with pytest.raises(bdp.InvalidInput, match="exists already"):
        ledger.create("survey", epsilon=100.0, neighbours="edge")
    assert survey.remaining().epsilon == 1.0


BAD_BUDGETS = [
    ({"epsilon": math.nan}, "epsilon is nan"),
    ({"epsilon": -1.0}, "epsilon is -1"),
    ({"epsilon": 0.0}, "epsilon is 0"),
    ({"epsilon": math.inf}, "epsilon is inf"),
    ({"epsilon": "4"}, "epsilon is '4'"),
    ({"delta": math.nan}, "delta is nan"),
    ({"delta": -1e-9}, "delta is -1e-09"),
    ({"delta": 1.0}, "delta is 1.0"),
    ({"delta": True}, "delta is True"),
    ({"conversion_delta": 1e-9}, "conversion_delta is 1e-09; it must be a number from 0 to delta"),
    ({"delta": 0.1, "conversion_delta": 0.2}, "conversion_delta is 0.2"),
    ({"delta": 0.1, "conversion_delta": -0.1}, "conversion_delta is -0.1"),
    ({"delta": 0.1, "conversion_delta": math.nan}, "conversion_delta is nan"),
    ({"delta": 0.1, "conversion_delta": "all"}, "conversion_delta is 'all'"),
    ({"neighbours": "replace"}, "neighbours is 'replace'; it must be one of"),
    ({"dataset": ""}, "dataset is ''"),
    ({"dataset": "a\nb"}, "printable"),
    ({"dataset": "a" * 201}, "1 to 200"),
]


@pytest.mark.parametrize(("bad", "message"), BAD_BUDGETS, ids=str)
def test_bad_budgets(tmp_path, bad, message):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/b.db")
    arguments = {"dataset": "s", "epsilon": 1.0, "delta": 0.0, "neighbours": "edge"} | bad
    with pytest.raises(bdp.InvalidInput, match=message):
        ledger.create(arguments.pop("dataset"), **arguments)
    assert ledger.datasets() == []


def test_bad_spends(survey):
    with pytest.raises(bdp.InvalidInput, match="must be a Guarantee"):
        survey.spend(1.0)
    for bad in ({"f": math.nan}, {"f": object()}):
        with pytest.raises(bdp.InvalidInput, match="released can't be written down"):
            survey.spend(promise(1.0), bad)
    assert survey.history() == []


BAD_URLS = {
    "budget.db": "can't be read",
    "": "can't be read",
    "sqlite://": "must name a file",
    "sqlite:///:memory:": "must name a file",
    "sqlite:///file:b.db?uri=true": "must name a file",
    "mysql://u:secret@h/d": "names the database 'mysql'",
    "sqlite:////nowhere/at/all/b.db": "doesn't exist; create it first",
}


@pytest.mark.parametrize("url", BAD_URLS, ids=str)
def test_bad_urls(url):
    with pytest.raises(bdp.InvalidInput, match=BAD_URLS[url]) as caught:
        bdp.Ledger.open(url)
    assert "secret" not in str(caught.value)


def test_databases_that_cannot_be_used(tmp_path):
    pytest.importorskip("psycopg")
    with pytest.raises(bdp.LedgerUnavailable, match="can't be used") as caught:
        bdp.Ledger.open("postgresql://me:secret@127.0.0.1:1/x")
    assert "secret" not in str(caught.value)
    (tmp_path / "text.db").write_text("This is no database, but a text that is long enough.\n" * 9)
    with pytest.raises(bdp.LedgerUnavailable, match="not a database"):
        bdp.Ledger.open(f"sqlite:///{tmp_path}/text.db")
    with pytest.raises(bdp.LedgerUnavailable):
        bdp.Ledger.open(f"sqlite:///{tmp_path}")


def test_an_unsafe_server_is_refused_and_a_hasty_session_slowed(cluster):
    cluster.sql("CREATE DATABASE hasty")
    cluster.sql("ALTER DATABASE hasty SET synchronous_commit = off")
    cluster.sql("ALTER DATABASE hasty SET default_transaction_isolation = 'serializable'")
    ledger = bdp.Ledger.open(cluster.url("hasty"))
    ledger.create("s", epsilon=1.0, neighbours="edge")
    with ledger._store._database.transaction(write=True) as connection:
        assert connection.execute(sa.text("SHOW synchronous_commit")).scalar() == "on"
    cluster.sql("ALTER SYSTEM SET fsync = off")
    cluster.sql("SELECT pg_reload_conf()")
    try:
        time.sleep(1)  # the server takes a moment to read it
        with pytest.raises(bdp.LedgerUnavailable, match="fsync = off"):
            bdp.Ledger.open(cluster.url("hasty"))
    finally:
        cluster.sql("ALTER SYSTEM RESET fsync")
        cluster.sql("SELECT pg_reload_conf()")


def test_a_newer_ledger_is_refused_and_an_older_one_migrated(url, monkeypatch):
    account = bdp.Ledger.open(url).create("s", epsilon=1.0, neighbours="edge")
    account.spend(promise(0.25, neighbours="edge"))
    before = account.history()
    monkeypatch.setattr(ledger_store, "VERSION", 2)
    moved = []
    monkeypatch.setitem(ledger_store.MIGRATIONS, 1, lambda connection: moved.append(1))
    assert bdp.Ledger.open(url).dataset("s").history() == before
    assert bdp.Ledger.open(url).verify()
    assert moved == [1]
    monkeypatch.setattr(ledger_store, "VERSION", 1)
    with pytest.raises(bdp.InvalidInput, match="version 2, written by a newer bayesdp"):
        bdp.Ledger.open(url)
    with pytest.raises(bdp.InvalidInput, match="version 2, written by a newer bayesdp"):
        account.spend(promise(0.25, neighbours="edge"))


def test_the_clock_means_nothing(survey, url, monkeypatch):
    for year in (2030, 1999, 2026):
        monkeypatch.setattr("bayesdp.privacy.ledger.now", lambda year=year: f"{year}-01-01")
        survey.spend(promise(0.5))
    assert [entry.at[:4] for entry in survey.history()] == ["2030", "1999", "2026"]
    assert bdp.Ledger.open(url).verify()


# Tampering: each kind is found, and the first bad entry named

HASH = "0" * 64
TAMPERINGS = {
    "a changed cost": ("UPDATE bayesdp_entry SET body = replace(body, '0.625', '0.1') "
                       "WHERE position = 2 AND dataset = 's'", 2),
    "a changed parameter": ("UPDATE bayesdp_entry SET body = replace(body, 'laplace', 'gauss') "
                            "WHERE position = 3 AND dataset = 's'", 3),
    "a changed budget": ("UPDATE bayesdp_entry SET body = replace(body, '4.0', '9.0') "
                         "WHERE position = 0 AND dataset = 's'", 0),
    "a changed hash": (f"UPDATE bayesdp_entry SET hash = '{HASH}' "
                       "WHERE position = 2 AND dataset = 's'", 2),
    "a deleted row": ("DELETE FROM bayesdp_entry WHERE position = 2 AND dataset = 's'", 2),
    "a deleted tail": ("DELETE FROM bayesdp_entry WHERE position = 4 AND dataset = 's'", 4),
    "all spends deleted": ("DELETE FROM bayesdp_entry WHERE position > 0 AND dataset = 's'", 1),
    "all rows deleted": ("DELETE FROM bayesdp_entry WHERE dataset = 's'", 0),
    "an inserted tail": ("INSERT INTO bayesdp_entry SELECT dataset, 5, body, hash "
                         "FROM bayesdp_entry WHERE position = 4 AND dataset = 's'", 5),
    "an inserted row": ("UPDATE bayesdp_entry SET position = position + 10 WHERE position > 1 "
                        "AND dataset = 's'; UPDATE bayesdp_entry SET position = position - 9 "
                        "WHERE position > 1 AND dataset = 's'; INSERT INTO bayesdp_entry SELECT "
                        "dataset, 2, body, hash FROM bayesdp_entry WHERE position = 1 "
                        "AND dataset = 's'", 2),
    "two rows swapped": ("UPDATE bayesdp_entry SET position = 9 WHERE position = 2 AND dataset = "
                         "'s'; UPDATE bayesdp_entry SET position = 2 WHERE position = 3 AND "
                         "dataset = 's'; UPDATE bayesdp_entry SET position = 3 "
                         "WHERE position = 9 AND dataset = 's'", 2),
    "a row of another dataset": ("UPDATE bayesdp_entry SET body = (SELECT body FROM bayesdp_entry "
                                 "WHERE dataset = 't' AND position = 1) "
                                 "WHERE position = 1 AND dataset = 's'", 1),
    "a changed count": ("UPDATE bayesdp_dataset SET rows = 4 WHERE name = 's'", 4),
    "a deleted tail, count and head to match": (
        "DELETE FROM bayesdp_entry WHERE position = 4 AND dataset = 's'; UPDATE bayesdp_dataset "
        "SET rows = 4, head = (SELECT hash FROM bayesdp_entry WHERE position = 3 "
        "AND dataset = 's') WHERE name = 's'", None),
    "a changed seal": (f"UPDATE bayesdp_dataset SET seal = '{HASH}' WHERE name = 's'", None),
    "a changed head": (f"UPDATE bayesdp_dataset SET head = '{HASH}' WHERE name = 's'", 4),
}  # fmt: skip

OF_THE_LIST = {
    "a deleted dataset": "DELETE FROM bayesdp_dataset WHERE name = 't'; "
    "DELETE FROM bayesdp_entry WHERE dataset = 't'",
    "a deleted dataset, its entries left": "DELETE FROM bayesdp_dataset WHERE name = 't'",
    "a renumbered dataset": "UPDATE bayesdp_dataset SET number = 7 - number",
    "a changed list": "UPDATE bayesdp_ledger SET datasets = 3",
}


@pytest.fixture
def tamper(url):
    ledger = bdp.Ledger.open(url)
    for name in ("s", "t"):
        account = ledger.create(name, epsilon=4.0, neighbours="edge")
        for k in range(4):
            account.spend(promise(0.5 + k / 8, neighbours="edge"), {"name": "laplace", "k": k})

    def run(statements):
        with ledger._store._database.transaction(write=True) as connection:
            for statement in statements.split("; "):
                connection.exec_driver_sql(statement)
        return ledger

    return run


@pytest.mark.parametrize("kind", TAMPERINGS)
def test_tampering_is_found(tamper, kind):
    statements, position = TAMPERINGS[kind]
    ledger = tamper(statements)
    for look in (
        ledger.verify,
        ledger.dataset("s").history,
        lambda: ledger.dataset("s").spend(promise(0.001, neighbours="edge")),
    ):
        with pytest.raises(bdp.LedgerCorrupted, match="dataset 's'") as caught:
            look()
        assert (caught.value.dataset, caught.value.position) == ("s", position)
    assert len(ledger.dataset("t").history()) == 4


@pytest.mark.parametrize("kind", OF_THE_LIST)
def test_tampering_with_the_list_of_datasets_is_found(tamper, kind):
    ledger = tamper(OF_THE_LIST[kind])
    with pytest.raises(bdp.LedgerCorrupted):
        ledger.verify()


def test_an_old_copy_is_found_by_who_knows_better(tmp_path):
    """By a handle that has read more, and by a hash that was kept elsewhere."""
    path = tmp_path / "b.db"
    ledger = bdp.Ledger.open(f"sqlite:///{path}")
    account = ledger.create("s", epsilon=4.0, neighbours="edge")
    account.spend(promise(1.0, neighbours="edge"))
    old = path.read_bytes()
    account.spend(promise(1.0, neighbours="edge"))
    heads = ledger.verify()
    path.write_bytes(old)
    with pytest.raises(bdp.LedgerCorrupted, match="entry 2: it was there a moment ago"):
        account.spend(promise(1.0, neighbours="edge"))
    assert ledger.verify()  # consistent in itself
    with pytest.raises(bdp.LedgerCorrupted, match="isn't in its history any more"):
        ledger.verify(heads)


def test_a_rewritten_history_must_still_keep_to_its_budget(tmp_path):
    """Whoever recomputes all hashes is found only by what the rows then say."""
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/b.db")
    account = ledger.create("s", epsilon=1.0, neighbours="edge")
    account.spend(promise(1.0, neighbours="edge"))
    first = account._chain.hashes[0]
    forgeries = {
        "more was spent": lambda body: body.replace('"epsilon":1.0', '"epsilon":7.0'),
        "can't be read": lambda body: body.replace('"kind":"spend"', '"kind":"gift"'),
        "another place": lambda body: body.replace('"position":1', '"position":2'),
    }
    with sqlite3.connect(tmp_path / "b.db") as connection:
        (body,) = connection.execute("SELECT body FROM bayesdp_entry WHERE position=1").fetchone()
    for message, forge in forgeries.items():
        head = ledger_chain.link(first, forge(body))
        connection = sqlite3.connect(tmp_path / "b.db", isolation_level=None)
        connection.execute(
            "UPDATE bayesdp_entry SET body=?, hash=? WHERE position=1", (forge(body), head)
        )
        connection.execute(
            "UPDATE bayesdp_dataset SET head=?, seal=?", (head, ledger_chain.seal("s", 2, head))
        )
        connection.close()
        with pytest.raises(bdp.LedgerCorrupted, match=message):
            ledger.verify()
