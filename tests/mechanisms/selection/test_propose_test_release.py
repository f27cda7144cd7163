"""Propose-test-release: distance and promise by enumeration, the law, and what is refused."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.selection import propose_test_release
from bayesdp.mechanisms.selection.propose_test_release import Read
from bayesdp.privacy.profile import hockey_stick

Mechanism = bdp.mechanisms.ProposeTestReleaseMechanism
EPSILONS = (0.0, 0.1, 0.4, 0.8, 1.0, 1.2, 1.3, 2.0, 4.0, 9.0, 20.0)


def made(k=6, proposal=1, n=4, probabilities=(0.5,), test=0.7, noise=0.6, threshold=2):
    return Mechanism(range(k + 1), proposal, n, test, noise, threshold, probabilities)


def all_data(n: int, k: int) -> list[tuple[int, ...]]:
    """All data sets of n records in k cells, without their order."""
    return [*itertools.combinations_with_replacement(range(k), n)]


def replaced(data: tuple[int, ...], k: int) -> set[tuple[int, ...]]:
    """All data sets that differ in one record."""
    return {
        tuple(sorted((*data[:i], cell, *data[i + 1 :])))
        for i in range(len(data))
        for cell in range(k)
    } - {data}


def counted(data: tuple[int, ...], k: int) -> np.ndarray:
    return np.bincount(data, minlength=k)


def distances(n: int, k: int, bound: int, rank: int) -> dict[tuple[int, ...], int]:
    """Replacements to a data set where a further one moves the quantile by more than the bound.

    By definition: a search of the graph of all data sets from those where it does.
    """
    data = all_data(n, k)
    unstable = {
        x for x in data if any(abs(x[rank - 1] - y[rank - 1]) > bound for y in replaced(x, k))
    }
    found, edge, steps = dict.fromkeys(unstable, 0), unstable, 0
    while edge:
        steps += 1
        edge = {y for x in edge for y in replaced(x, k)} - set(found)
        found |= dict.fromkeys(edge, steps)
    return found


@pytest.mark.parametrize("probability", [0.001, 0.3, 0.5, 0.75, 0.999])
@pytest.mark.parametrize(("n", "k"), [(1, 5), (2, 6), (3, 6), (4, 5), (5, 4)])
def test_the_distance_is_the_number_of_replacements(n, k, probability):
    for bound in range(1, k - 1):
        mechanism = made(k, bound, n, (probability,))
        (rank,) = mechanism.ranks
        assert rank == math.ceil(Fraction(repr(probability)) * n)
        defined = distances(n, k, bound, rank)
        assert len(defined) == len(all_data(n, k))
        for data, distance in defined.items():
            found = mechanism.read(counted(data, k), rank)
            assert (found.cell, found.distance) == (data[rank - 1], distance)


def excess(mechanism, promised=None) -> float:
    """The most by which neighbours exceed the promised profile: all small data, all neighbours."""
    k, outputs = mechanism.k, mechanism.outputs()
    profile = (promised or mechanism).profile()
    law = {x: mechanism.logp(outputs, counted(x, k)) for x in all_data(mechanism.n, k)}
    pairs = [(law[x], law[y]) for x in law for y in replaced(x, k)]
    pairs += [
        tuple(mechanism.logp(outputs, each) for each in way)
        for one in mechanism.pairs()
        for way in (one, one[::-1])
    ]
    return max(hockey_stick(p, q, at) - profile.delta(at) for p, q in pairs for at in EPSILONS)


CASES = [
    *[{"threshold": t, "proposal": b, "n": n} for t in (1, 3) for b in (1, 2, 4) for n in (1, 4)],
    {"probabilities": (0.2, 0.9), "n": 3, "k": 5},
    {"probabilities": (0.25, 0.5, 0.75), "n": 4, "k": 4},
    {"probabilities": (0.001,), "n": 5, "k": 4, "test": 2.0},
    {"test": 0.3, "noise": 4.0, "n": 3, "threshold": 4},
]


@pytest.mark.slow
@pytest.mark.parametrize("fields", CASES)
def test_the_promise_holds_for_all_small_data(fields):
    """Enumerated: the whole profile, in both directions."""
    assert excess(made(**fields)) <= 1e-12


def test_the_promise_is_attained():
    """In both cases of the proof: a test at a pure epsilon, and a delta of those that pass."""
    mechanism = made(k=300, proposal=8, n=40, threshold=6)
    outputs, both = mechanism.outputs(), mechanism.test_epsilon + mechanism.noise_epsilon
    far, *near = [[mechanism.logp(outputs, x) for x in pair] for pair in mechanism.pairs()]
    assert max(np.abs(p - q).max() for p, q in near) == pytest.approx(both, rel=1e-12)
    assert hockey_stick(*far, both) == pytest.approx(mechanism.passing, rel=0.01)
    assert mechanism.profile().delta(both) == pytest.approx(mechanism.passing)


def halved_bound(patched):
    real = propose_test_release._noise
    patched.setattr(
        propose_test_release,
        "_noise",
        lambda cost, moved, last, n: real(2 * cost if last else cost, moved, last, n),
    )


def halved_sensitivity(patched):
    """Of the distance: noise for one that a record moves by 1/2."""
    real = propose_test_release._noise
    patched.setattr(
        propose_test_release,
        "_noise",
        lambda cost, moved, last, n: real(cost if last else 2 * cost, moved, last, n),
    )


def distance_from_the_bound_doubled(patched):
    """As if records had to move the quantile twice as far: passes where the noise isn't enough."""
    real = Mechanism.read

    def read(self, counts, rank):
        wider = made(self.k, min(2 * self.proposal, self.k - 2), self.n, self.probabilities)
        return Read(real(self, counts, rank).cell, real(wider, counts, rank).distance)

    patched.setattr(Mechanism, "read", read)


def ties_forgotten(patched):
    """A window that lies to one side of the quantile alone."""

    def read(self, counts, rank):
        low = np.minimum(rank, counts.cumsum(axis=-1)[..., : self.k - 1 - self.proposal])
        found = real(self, counts, rank)
        return Read(found.cell, np.maximum(found.distance, (rank - low).min(axis=-1)))

    real = Mechanism.read
    patched.setattr(Mechanism, "read", read)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "fields"),
    [
        (halved_bound, {}),
        (halved_sensitivity, {"test": 2.0, "threshold": 1}),
        (distance_from_the_bound_doubled, {}),
        (ties_forgotten, {}),
    ],
)
def test_the_enumeration_convicts(fault, fields, monkeypatch):
    """Of four faults, each against the promise without it."""
    mechanism = made(**{"k": 6, "proposal": 2, "n": 4, "threshold": 3, **fields})
    profile = mechanism.profile()
    honest = type("Honest", (), {"profile": lambda self: profile})()
    assert excess(mechanism, honest) <= 1e-12
    fault(monkeypatch)
    assert excess(mechanism, honest) > 1e-3


@pytest.mark.slow
def test_a_threshold_that_is_lowered_is_convicted():
    one, lower = made(threshold=3), made(threshold=2)
    assert excess(lower, one) > 0.01
    assert excess(one, lower) <= 1e-12


@pytest.mark.slow
def test_an_audit_acquits_it_and_convicts_a_bound_that_is_halved(monkeypatch):
    mechanism = made(k=20, proposal=3, n=30, threshold=4, noise=2.0)
    delta = 1.001 * mechanism.passing
    with bdp.reproducible(1):
        acquitted = bdp.audit(mechanism, trials=20_000, delta=delta)
        halved_bound(monkeypatch)
        convicted = bdp.audit(mechanism, trials=20_000, delta=delta)
    assert mechanism.guarantee(delta=delta).epsilon == pytest.approx(2.7, rel=0.03)
    assert not acquitted.convicted
    assert convicted.convicted


def test_copies_of_a_quantile_are_all_in_one_case():
    """The joint law of two copies keeps their profile."""
    mechanism = made(k=4, n=2, threshold=2)
    outputs, profile = mechanism.outputs(), mechanism.profile(copies=2)
    for x in all_data(2, 4):
        for y in replaced(x, 4):
            p, q = (mechanism.logp(outputs, counted(each, 4)) for each in (x, y))
            joint = [np.add.outer(law, law) for law in (p, q)]
            for at in EPSILONS:
                assert hockey_stick(*joint, at) <= profile.delta(at) + 1e-12


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("probabilities", [(0.5,), (0.25, 0.5, 0.75)])
def test_a_calibrated_promise_is_kept_by_the_smallest_threshold(probabilities, copies):
    asked = {"epsilon": 2.0, "delta": 1e-6, "copies": copies}
    mechanism = Mechanism.calibrate(
        **asked, edges=range(101), proposal=3, n=10_000, probabilities=probabilities
    )
    found = mechanism.guarantee(copies=copies, delta=1e-6)
    assert 1.99 < found.epsilon <= 2.0
    assert found.delta <= 1e-6
    times = copies * len(probabilities)
    assert times * mechanism.passing <= 1e-6 < times * mechanism.passing_at(mechanism.threshold - 1)


def test_the_law_is_that_of_the_draws():
    """A chi-squared test, with a false alarm of 1e-6, of outputs for two quantiles."""
    mechanism = made(k=4, n=6, probabilities=(0.3, 0.6), threshold=1, test=0.4)
    counts = np.array([1, 1, 4, 0])
    outputs = mechanism.outputs()
    expected = np.exp(mechanism.logp(outputs, counts))
    assert expected.sum() == pytest.approx(1, rel=1e-12)
    with bdp.reproducible(1):
        drawn = mechanism.release(counts, 20_000)
    found = [int(np.all(drawn == z, axis=-1).sum()) for z in outputs]
    assert stats.chisquare(found, 20_000 * expected).pvalue > 1e-6


def test_many_data_sets_at_once():
    mechanism = made(k=5, n=9, probabilities=(0.3, 0.6))
    counts = np.random.default_rng(1).multinomial(9, np.full(5, 0.2), (7, 2))
    drawn = mechanism.release(counts, copies=3)
    assert drawn.shape == (3, 7, 2, 2)
    law = mechanism.logp(drawn, counts)
    alone = [[mechanism.logp(drawn[c, i, 1], counts[i, 1]) for i in range(7)] for c in range(3)]
    assert law[..., 1] == pytest.approx(np.array(alone), rel=1e-13)
    assert mechanism.logp((5, 0), counts[0, 0]) == mechanism.logp((0, -2), counts[0, 0]) == -np.inf


def test_a_stable_median_passes_and_one_that_is_not_is_refused():
    mechanism = Mechanism.calibrate(epsilon=4.0, delta=1e-9, edges=range(11), proposal=1, n=10**6)
    stable, split = np.full(10, 10**5), np.zeros(10, dtype=int)
    split[[0, 9]] = 10**6 // 2
    with bdp.reproducible(1):
        assert np.all(mechanism.release(stable, 100) >= 0)
        assert np.all(mechanism.release(split, 100) == -1)


def test_cells_are_shown_by_their_edges():
    mechanism = Mechanism((0, 1, 3, 7), 1, 9, 1.0, 1.0, 1, (0.5, 0.9))
    assert mechanism.records((1, -1)).dtype.names == ("probability", "from", "to")
    first, second = mechanism.records((1, -1)).tolist()
    assert first == (0.5, 1, 3)
    assert second[0] == 0.9
    assert np.all(np.isnan(second[1:]))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"test": 0}, "test_epsilon is 0"),
        ({"noise": -1}, "noise_epsilon is -1"),
        ({"threshold": 0}, "threshold is 0"),
        ({"k": 2}, "proposal is 1 with 2 cells; take 3 cells or more"),
        ({"proposal": 5}, "it must be from 1 to 4"),
        ({"proposal": 0.5}, "proposal is 0.5"),
        ({"n": 0}, "n is 0"),
        ({"probabilities": (1 / 3,)}, "three decimals"),
    ],
)
def test_bad_parameters_are_named(fields, message):
    with pytest.raises(InvalidInput, match=message):
        made(**fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"delta": 0.0}, "ask for a positive delta"),
        ({"delta": 1e-200}, "more than n = 100"),
        ({"delta": 5e-324}, "more than n = 100"),
        ({"epsilon": 0.01}, "unlikely to be passed"),
        ({"test_share": 1.0}, "test_share is 1.0"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(fields, message):
    with pytest.raises(InvalidInput, match=message):
        Mechanism.calibrate(
            **{"epsilon": 1.0, "delta": 1e-6, "edges": range(9), "proposal": 1, "n": 100, **fields}
        )


def test_another_relation_is_refused():
    with pytest.raises(InvalidInput, match="replace_one"):
        made().guarantee(neighbours="add_remove")


@pytest.mark.parametrize(
    ("counts", "message"),
    [([1, 2, 3], "shape"), ([0.5, 2, 1, 0], "integers"), ([-1, 5, 0, 0], "below 0"),
     ([3, 2, 0, 0], "n = 4"), ([[2, 2, 0, 0], [1, 3, 0, 0]], "one statistic")],
)  # fmt: skip
def test_bad_statistics_are_refused_without_their_values(counts, message):
    with pytest.raises(InvalidInput, match=message) as raised:
        bdp.publish(made(k=4), counts)
    assert "5" not in str(raised.value)
