"""A trimmed mean by propose-test-release: distance and promise by enumeration, and the law."""

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
from tests.mechanisms.selection.test_propose_test_release import (
    EPSILONS,
    all_data,
    counted,
    excess,
    halved_bound,
    halved_sensitivity,
    replaced,
)

Mechanism = bdp.mechanisms.TrimmedMeanMechanism


def made(k=5, proposal=1, n=5, trim=0.2, test=0.7, noise=0.6, threshold=2):
    return Mechanism(range(k + 1), proposal, n, test, noise, threshold, trim)


def trimmed_sum(data: tuple[int, ...], trim: float) -> int:
    """By definition; data are in order."""
    cut = math.floor(Fraction(repr(trim)) * len(data))
    return sum(data[cut : len(data) - cut])


def moves(n: int, k: int, trim: float) -> dict[tuple[int, ...], int]:
    """The most that a replacement changes the sum of each data set."""
    return {
        x: max(abs(trimmed_sum(x, trim) - trimmed_sum(y, trim)) for y in replaced(x, k))
        for x in all_data(n, k)
    }


def distances(most: dict[tuple[int, ...], int], k: int, bound: int) -> dict[tuple[int, ...], int]:
    """Replacements until a further one moves the sum by more than the bound: by a search."""
    edge = {x for x, move in most.items() if move > bound}
    found, steps = dict.fromkeys(edge, 0), 0
    while edge:
        steps += 1
        edge = {y for x in edge for y in replaced(x, k)} - set(found)
        found |= dict.fromkeys(edge, steps)
    return found


@pytest.mark.parametrize("trim", [0.001, 0.2, 0.334, 0.45, 0.499])
@pytest.mark.parametrize(("n", "k"), [(1, 5), (2, 5), (3, 6), (4, 5), (5, 4), (6, 4), (7, 3)])
def test_the_distance_is_the_number_of_replacements(n, k, trim):
    """And the largest move is by an end of the window: for all data sets and replacements."""
    most, cut = moves(n, k, trim), math.floor(Fraction(repr(trim)) * n)
    first, last = cut + 1, n - cut
    for x, move in most.items():
        ranked = {i: x[i - 1] for i in range(1, n + 1)} | {0: 0, n + 1: k - 1}
        ends = ranked[last + 1] - ranked[first], ranked[last] - ranked[first - 1]
        assert move == max(ends) <= k - 1
    for bound in range(1, k - 1):
        mechanism, defined = made(k, bound, n, trim), distances(most, k, bound)
        assert (mechanism.cut, mechanism.width) == (cut, last - cut)
        assert len(defined) == len(most)
        for data, distance in defined.items():
            (found,) = mechanism.reads(counted(data, k))
            assert (found.cell, found.distance) == (trimmed_sum(data, trim), distance)


def test_shares_are_decimals():
    """29% of 100 records are 29, though the nearest binary fraction is less."""
    assert int(0.29 * 100) == 28
    assert made(n=100, trim=0.29).cut == 29


def test_a_window_of_one_is_the_median():
    """The law is then that of the median's release."""
    one = made(k=6, n=5, trim=0.4)
    median = bdp.mechanisms.ProposeTestReleaseMechanism(range(7), 1, 5, 0.7, 0.6, 2)
    assert one.width == 1
    for data in all_data(5, 6):
        counts = counted(data, 6)
        expected = median.logp(median.outputs(), counts)
        assert np.array_equal(one.logp(one.outputs(), counts), expected)


CASES = [
    *[{"threshold": t, "proposal": b} for t in (1, 3) for b in (1, 2, 3)],
    *[{"n": n, "k": 4, "trim": 0.334} for n in (1, 3, 6)],
    {"n": 6, "k": 4, "trim": 0.1, "proposal": 2},
    {"n": 7, "k": 3, "trim": 0.3, "test": 2.0},
    {"test": 0.3, "noise": 4.0, "n": 3, "k": 6, "trim": 0.01, "threshold": 4},
]


@pytest.mark.slow
@pytest.mark.parametrize("fields", CASES)
def test_the_promise_holds_for_all_small_data(fields):
    """Enumerated: the whole profile, in both directions."""
    assert excess(made(**fields)) <= 1e-12


@pytest.mark.parametrize("trim", [0.1, 0.25])
def test_the_promise_is_attained(trim):
    """In both cases of the proof: a test at a pure epsilon, and a delta of those that pass."""
    mechanism = made(k=300, proposal=8, n=40, threshold=4, trim=trim)
    outputs, both = mechanism.outputs(), mechanism.test_epsilon + mechanism.noise_epsilon
    far, *near = [[mechanism.logp(outputs, x) for x in pair] for pair in mechanism.pairs()]
    assert max(np.abs(p - q).max() for p, q in near) == pytest.approx(both, rel=1e-12)
    assert hockey_stick(*far, both) == pytest.approx(mechanism.passing, rel=0.01)
    assert mechanism.profile().delta(both) == pytest.approx(mechanism.passing)


def test_an_audit_proposes_true_neighbours():
    """A record up in the window's reach moves the sum; the distance moves in all but the first."""
    mechanism = made(k=9, proposal=3, n=20, threshold=3)
    for one, other in mechanism.pairs():
        assert np.abs(one - other).sum() == 2
        assert one.min() >= 0 <= other.min()
    reads = [[mechanism.reads(each)[0] for each in pair] for pair in mechanism.pairs()]
    assert [int(after.cell - before.cell) for before, after in reads] == [8, 3, 3]
    assert [(int(p.distance), int(q.distance)) for p, q in reads] == [(0, 0), (0, 1), (2, 3)]


def window_off_by_one(patched):
    """A test of the records one rank within the window, which seem nearer."""

    def reads(self, counts):
        (right,) = real(self, counts)
        wrong = self.read_window(counts, self.cut + 1, self.n - self.cut - 1)
        return [Read(right.cell, wrong.distance)]

    real = Mechanism.reads
    patched.setattr(Mechanism, "reads", reads)


def window_at_one_end(patched):
    """As if records could only come into the window from above."""

    def reads(self, counts):
        (right,) = real(self, counts)
        up_to, last = counts.cumsum(axis=-1), self.n - self.cut
        high = np.maximum(last, up_to[..., self.proposal : self.k - 1] + 1)
        low = np.where(up_to >= self.cut + 1, self.cut + 1, 0)[..., : self.k - 1 - self.proposal]
        distance = np.maximum(0, (high - low).min(axis=-1) - self.width)
        return [Read(right.cell, np.maximum(right.distance, distance))]

    real = Mechanism.reads
    patched.setattr(Mechanism, "reads", reads)


def sum_before_the_cut(patched):
    """The test's window, but the sum of all records: a trimmed mean that isn't trimmed."""

    def reads(self, counts):
        (right,) = real(self, counts)
        return [Read(self.read_window(counts, 1, self.n).cell, right.distance)]

    real = Mechanism.reads
    patched.setattr(Mechanism, "reads", reads)


def noise_cut_about_the_sum(patched):
    """Noise that is drawn again where it is beyond twice the bound, not set to the ends."""
    real = propose_test_release._log_law

    def law(mechanism, test, noise, output, counts):
        found = real(mechanism, test, noise, output, counts)
        z, total = np.asarray(output)[..., 0], mechanism.reads(counts)[0].cell
        kept = (np.abs(z - total) <= 2 * mechanism.proposal) | (z < 0)
        with np.errstate(divide="ignore"):
            return np.where(kept, found, -np.inf) - np.log(np.exp(found[kept]).sum())

    patched.setattr(propose_test_release, "_log_law", law)


def refused_by_the_distance(patched):
    """A refusal that is sure where the distance is 0, and never comes elsewhere."""
    real = propose_test_release._log_law

    def law(mechanism, test, noise, output, counts):
        found = real(mechanism, test, noise, output, counts)
        refused, near = np.asarray(output)[..., 0] == -1, mechanism.reads(counts)[0].distance == 0
        passed = found - np.log(-np.expm1(found[refused]))
        return np.where(refused, 0.0 if near else -np.inf, -np.inf if near else passed)

    patched.setattr(propose_test_release, "_log_law", law)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "fields"),
    [
        (halved_bound, {}),
        (halved_sensitivity, {"test": 2.0, "threshold": 1}),
        (window_off_by_one, {}),
        (window_at_one_end, {}),
        (sum_before_the_cut, {"noise": 2.0}),
        (noise_cut_about_the_sum, {}),
        (refused_by_the_distance, {}),
    ],
)
def test_the_enumeration_convicts(fault, fields, monkeypatch):
    """Of seven faults, each against the promise without it."""
    mechanism = made(**{"k": 5, "proposal": 2, "n": 5, "threshold": 2, **fields})
    profile = mechanism.profile()
    honest = type("Honest", (), {"profile": lambda self: profile})()
    assert excess(mechanism, honest) <= 1e-12
    fault(monkeypatch)
    assert excess(mechanism, honest) > 1e-3


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


def test_copies_of_a_mean_are_all_in_one_case():
    """The joint law of two copies keeps their profile."""
    mechanism = made(k=4, n=3, threshold=2)
    outputs, profile = mechanism.outputs(), mechanism.profile(copies=2)
    for x in all_data(3, 4):
        for y in replaced(x, 4):
            p, q = (mechanism.logp(outputs, counted(each, 4)) for each in (x, y))
            joint = [np.add.outer(law, law) for law in (p, q)]
            for at in EPSILONS:
                assert hockey_stick(*joint, at) <= profile.delta(at) + 1e-12


@pytest.mark.parametrize("copies", [1, 3])
def test_a_calibrated_promise_is_kept_by_the_smallest_threshold(copies):
    asked = {"epsilon": 2.0, "delta": 1e-6, "copies": copies}
    mechanism = Mechanism.calibrate(**asked, edges=range(101), proposal=30, n=10_000, trim=0.25)
    found = mechanism.guarantee(copies=copies, delta=1e-6)
    assert 1.99 < found.epsilon <= 2.0
    assert found.delta <= 1e-6
    passing = copies * mechanism.passing
    assert passing <= 1e-6 < copies * mechanism.passing_at(mechanism.threshold - 1)


def test_the_law_is_that_of_the_draws():
    """A chi-squared test, with a false alarm of 1e-6."""
    mechanism = made(k=4, n=6, trim=0.2, threshold=1, test=0.4)
    counts = np.array([1, 1, 4, 0])
    outputs = mechanism.outputs()
    expected = np.exp(mechanism.logp(outputs, counts))
    assert expected.sum() == pytest.approx(1, rel=1e-12)
    with bdp.reproducible(1):
        drawn = mechanism.release(counts, 20_000)
    found = [int((drawn == z).sum()) for z in outputs]
    assert stats.chisquare(found, 20_000 * expected).pvalue > 1e-6


def test_many_data_sets_at_once():
    mechanism = made(k=5, n=9)
    counts = np.random.default_rng(1).multinomial(9, np.full(5, 0.2), (7, 2))
    drawn = mechanism.release(counts, copies=3)
    assert drawn.shape == (3, 7, 2)
    law = mechanism.logp(drawn, counts)
    alone = [[mechanism.logp(drawn[c, i, 1], counts[i, 1]) for i in range(7)] for c in range(3)]
    assert law[..., 1] == pytest.approx(np.array(alone), rel=1e-13)
    beyond = mechanism.furthest + 1
    assert mechanism.logp(beyond, counts[0, 0]) == mechanism.logp(-2, counts[0, 0]) == -np.inf


def test_a_mean_is_shown_in_the_records_unit():
    """A record in the middle of each cell: the mean of the middle three of five is that of all."""
    mechanism = Mechanism((10, 12, 14, 16, 18, 20), 2, 5, 1.0, 1.0, 1, 0.2)
    total = mechanism.reads(np.ones(5, dtype=int))[0].cell
    assert mechanism.records(int(total))["trimmed_mean"].tolist() == [15.0]
    assert np.isnan(mechanism.records(-1)["trimmed_mean"]).all()
    assert mechanism.values([[3], [-1]]).shape == (2, 1, 1)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"test": 0}, "test_epsilon is 0"),
        ({"threshold": 0}, "threshold is 0"),
        ({"k": 2}, "proposal is 1 with 2 cells"),
        ({"proposal": 4}, "a trimmed mean's sum by more than 4 cells"),
        ({"n": 0}, "n is 0"),
        ({"n": 2**52}, "take fewer cells"),
        *[({"trim": trim}, "trim is") for trim in (0, 0.5, 0.0005, "0.1", math.nan, True)],
    ],
)
def test_bad_parameters_are_named(fields, message):
    with pytest.raises(InvalidInput, match=message):
        made(**fields)


def test_cells_of_other_widths_are_refused():
    with pytest.raises(InvalidInput, match=r"edges is .* equally wide"):
        Mechanism((0, 1, 3, 7), 1, 9, 1.0, 1.0, 1)
    assert Mechanism(np.linspace(1e6, 1e6 + 1, 98), 1, 9, 1.0, 1.0, 1).k == 97


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"delta": 0.0}, "ask for a positive delta"),
        ({"epsilon": 0.5}, "more than n = 100 - 79 = 21, .* fewer copies"),
        ({"test_share": 1.0}, "test_share is 1.0"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(fields, message):
    with pytest.raises(InvalidInput, match=message):
        Mechanism.calibrate(
            **{"epsilon": 2.0, "delta": 1e-6, "edges": range(9), "proposal": 5, "n": 100, **fields}
        )


@pytest.mark.parametrize(
    ("counts", "message"),
    [([1, 2, 3], "shape"), ([0.5, 2, 1, 0], "integers"), ([-1, 5, 0, 0], "below 0"),
     ([3, 2, 0, 0], "n = 4"), ([[2, 2, 0, 0], [1, 3, 0, 0]], "one statistic")],
)  # fmt: skip
def test_bad_statistics_are_refused_without_their_values(counts, message):
    with pytest.raises(InvalidInput, match=message) as raised:
        bdp.publish(made(k=4, n=4), counts)
    assert "5" not in str(raised.value)
