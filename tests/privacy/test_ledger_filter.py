"""The ledger's filter against the worst adaptive curator, and what it charges and allows."""

import json
import math
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.privacy import ledger_chain
from bayesdp.privacy.conversions import pure_to_zcdp, zcdp_to_epsilon
from bayesdp.privacy.ledger_chain import Budget
from bayesdp.privacy.ledger_filter import Charge, charge, cost, keeps, largest_rho, left

EDGE = bdp.Neighbours.EDGE


def promise(epsilon, delta=0.0, rho=None, neighbours=EDGE):
    return bdp.Guarantee(epsilon, delta, neighbours, bdp.Strength.PROVED, (), "a test", rho)


def budget(epsilon, delta, kept):
    return Budget(epsilon, delta, EDGE, "", kept)


# Releases with few outputs: their charge, and (loss, probability under P) of each output


def response(epsilon):
    p = 1 / (1 + math.exp(-epsilon))
    return charge(promise(epsilon), EDGE), ((epsilon, p), (-epsilon, 1 - p))


def leaky(epsilon, delta):
    """Randomized response that says all with probability delta: the worst of its promise."""
    outputs = tuple((loss, (1 - delta) * p) for loss, p in response(epsilon)[1])
    return charge(promise(epsilon, delta), EDGE), (*outputs, (math.inf, delta))


def lopsided(small, large, share):
    """Two responses, a weak one and now and then a strong one: (epsilon, delta)-DP and zCDP."""
    outputs = [(loss, (1 - share) * p) for loss, p in response(small)[1]]
    outputs += [(loss, share * p) for loss, p in response(large)[1]]
    delta = sum(p * max(0.0, 1 - math.exp(small - loss)) for loss, p in outputs)
    losses, masses = np.array(outputs).T
    orders = 1 + np.geomspace(1e-4, 1e4, 4000)
    divergence = [np.logaddexp.reduce(np.log(masses) + (a - 1) * losses) / (a - 1) for a in orders]
    rho = float(np.max(divergence / orders)) * (1 + 1e-3)
    return charge(promise(small, delta * (1 + 1e-12), rho), EDGE), tuple(outputs)


def worst(budget, releases, allowed, steps):
    """The largest sup_S P(S) - exp(E) Q(S) of any adaptive curator, by dynamic programming.

    What may follow depends on how often each release was made, and the end on the loss: how
    often each output came, net. Over curators it is the largest sum over histories of
    P max(0, 1 - exp(E - loss)).
    """

    @cache
    def value(made, loss):
        ends = 1.0 if loss == math.inf else max(0.0, -math.expm1(budget.epsilon - loss))
        if sum(made) == steps:
            return ends
        for k, (_, outputs) in enumerate(releases):
            after = tuple(n + (i == k) for i, n in enumerate(made))
            if may(after):
                ends = max(ends, sum(p * value(after, round(loss + z, 9)) for z, p in outputs))
        return ends

    @cache
    def may(made):
        return allowed(budget, [releases[k][0] for k, n in enumerate(made) for _ in range(n)])

    return value((0,) * len(releases), 0.0)


CASES = [
    (budget(0.5, 0.2, 0.1), [response(0.1), response(0.25)], 24),
    (budget(1.0, 0.1, 0.09), [response(0.1), response(0.5)], 24),
    (budget(1.0, 0.1, 0.05), [response(0.25), leaky(0.1, 0.02), leaky(0.5, 0.01)], 14),
    (budget(0.3, 0.2, 0.15), [response(0.1), leaky(0.0, 0.05)], 24),
    (budget(1.0, 0.05, 0.03), [lopsided(0.1, 1.0, 0.01), response(0.25)], 14),
    (budget(1.0, 0.05, 0.03), [lopsided(0.05, 2.0, 0.004), leaky(0.25, 0.01)], 14),
    (budget(1.0, 0.1, 0.0), [response(0.25), leaky(0.5, 0.05)], 10),
]


@pytest.mark.parametrize(("of", "releases", "steps"), CASES)
def test_no_curator_gets_more_than_the_budget(of, releases, steps):
    found = worst(of, releases, keeps, steps)
    assert found <= of.delta * (1 + 1e-9)
    assert found > 0 or of.delta == 0


def test_the_search_finds_a_curator_where_there_is_one():
    """Rules that are too lax: twice the rho, and the whole delta on every path."""
    of = budget(0.3, 0.2, 0.15)
    releases = [response(0.1), leaky(0.0, 0.05)]

    def twice(of, events):
        spent = cost(events)
        return spent.delta <= of.delta and spent.rho <= 4 * largest_rho(of)

    assert worst(of, releases, twice, 24) > of.delta


charges = st.lists(
    st.tuples(st.floats(0, 2), st.one_of(st.just(0.0), st.floats(0, 1e-3)), st.floats(0, 0.1)),
    max_size=12,
)


@settings(deadline=None)
@given(charges, st.floats(0.01, 5), st.floats(0, 0.01), st.floats(0, 1))
def test_what_is_left_may_be_spent_and_no_more(spends, epsilon, delta, share):
    of = budget(epsilon, delta, share * delta)
    events = []
    for spend in spends:
        if keeps(of, [*events, Charge(*spend)]):
            events.append(Charge(*spend))
    rest = left(of, events)
    assert rest.epsilon >= 0
    assert rest.delta >= 0
    price = Charge(rest.epsilon, rest.delta, pure_to_zcdp(rest.epsilon))
    assert keeps(of, [*events, price])
    more = math.nextafter(rest.epsilon * (1 + 1e-9) + 1e-12, math.inf)
    assert not keeps(of, [*events, Charge(more, 0.0, pure_to_zcdp(more))])
    assert not keeps(of, [*events, Charge(0.0, math.nextafter(rest.delta, 1.0), 0.0)])


def test_a_release_is_charged_the_smaller_rho():
    assert charge(promise(1.0), EDGE) == (1.0, 0.0, pure_to_zcdp(1.0))
    assert charge(promise(1.0, 1e-9, 0.01), EDGE) == (1.0, 1e-9, 0.01)
    assert charge(promise(1.0, 0.0, 9.0), EDGE).rho == pure_to_zcdp(1.0)
    converted = charge(
        promise(1.0, 0.0, 0.01, bdp.Neighbours.ADD_REMOVE), bdp.Neighbours.REPLACE_ONE
    )
    assert converted == (2.0, 0.0, 0.04)
    with pytest.raises(bdp.errors.InvalidInput, match="promises nothing"):
        charge(promise(1.7e308), EDGE)


def test_many_small_releases_cost_less_than_their_sum(url):
    account = bdp.Ledger.open(url).create("s", epsilon=1.0, delta=1e-6, neighbours="edge")
    assert account.budget.conversion_delta == 5e-7
    for _ in range(114):  # the sums alone would allow 49
        account.spend(promise(0.02))
    with pytest.raises(bdp.errors.BudgetExceeded) as caught:
        account.spend(promise(0.02))
    assert len(account.history()) == 114
    assert caught.value.epsilon == account.remaining().epsilon < 0.02
    assert "delta = 5e-07 that is kept" in str(caught.value)
    assert account.spent().epsilon == pytest.approx(2.28)
    assert account.spent().delta == 0.0
    tight = account.spent(delta=1e-6)
    assert (tight.delta, tight.neighbours) == (1e-6, EDGE)
    assert tight.epsilon == bdp.compose([(promise(0.02), 114)], delta=1e-6).epsilon < 1.0
    assert bdp.Ledger.open(url).verify()
    account.spend(promise(0.5, 4e-7, rho=1e-9))  # its own rho lets it pass
    assert account.remaining().delta == pytest.approx(1e-7)
    assert bdp.Ledger.open(url).dataset("s").history()[-1].guarantee.rho == 1e-9


def test_nothing_was_spent_at_any_delta(url):
    account = bdp.Ledger.open(url).create("s", epsilon=1.0, delta=1e-6, neighbours="edge")
    assert (account.spent(delta=1e-6).epsilon, account.spent(delta=1e-6).delta) == (0.0, 0.0)


def test_gaussian_releases_are_charged_their_rho(url):
    """Ten of them, promised at a delta that costs next to nothing."""
    account = bdp.Ledger.open(url).create("s", epsilon=2.0, delta=1e-6, neighbours="edge")
    mu = 0.11
    gaussian = promise(1.0, 1e-15, rho=mu**2 / 2)
    for _ in range(10):
        account.spend(gaussian)
    assert account.spent().epsilon == 10.0
    assert zcdp_to_epsilon(cost(account.history()).rho, 5e-7) <= 2.0


def test_a_budget_written_before_there_was_rho_reads_as_it_was(tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/b.db")
    old = {"kind": "budget", "dataset": "s", "position": 0, "epsilon": 1.0, "delta": 1e-6,
           "neighbours": "edge", "at": "2026-01-01"}  # fmt: skip
    ledger._store.create("s", ledger_chain.canonical(old))
    account = ledger.dataset("s")
    assert account.budget.conversion_delta == 0
    made = promise(0.25, 1e-6)
    body = json.loads(ledger_chain.Entry(1, 0.25, 1e-6, 0.0, made, {}, "2026-01-01").body("s"))
    del body["rho"], body["guarantee"]["rho"]
    ledger._store.append(account._chain, lambda: ledger_chain.canonical(body))
    (entry,) = ledger.dataset("s").history()
    assert entry.guarantee == made
    assert entry.rho == pure_to_zcdp(0.25)
    assert account.remaining() == (0.75, 0.0)
    account.spend(promise(0.75))
    assert ledger.verify()
    with pytest.raises(bdp.errors.BudgetExceeded):
        account.spend(promise(1e-9))


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(1e-3, 0.3), min_size=1, max_size=60))
def test_all_sums_of_concentrated_spends_verify(epsilons):
    of = budget(0.5, 1e-5, 5e-6)
    events = []
    for epsilon in epsilons:
        price = charge(promise(epsilon), EDGE)
        if keeps(of, [*events, price]):
            events.append(price)
    tight = bdp.compose([promise(event.epsilon) for event in events] or [promise(0.0)], delta=1e-5)
    assert tight.epsilon <= 0.5
    assert tight.rho == cost(events).rho


def test_a_refusal_says_why_it_costs_more_than_was_asked_for(tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/b.db")
    dataset = ledger.create("voters", epsilon=1.0, neighbours="replace_one")
    schema = bdp.Schema({"a": {"type": "boolean"}})
    synthesizer = bdp.TableSynthesizer(schema, epsilon=0.8)
    with pytest.raises(bdp.errors.BudgetExceeded) as caught:
        synthesizer.release(pd.DataFrame({"a": [True, False]}), ledger=dataset)
    said = str(caught.value)
    assert "the release costs epsilon = 1.6 and" in said
    assert "promises under add_remove, epsilon = 0.8, is this much for two of its steps" in said
    assert "neighbours = 'replace_one' may cost less" in said
    direct = bdp.TableSynthesizer(schema, epsilon=0.8, neighbours="replace_one")
    direct.release(pd.DataFrame({"a": [True, False]}), ledger=dataset)
