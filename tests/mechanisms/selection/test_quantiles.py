"""Private quantiles: sensitivity and promise by enumeration, the law, and what is refused."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.selection import quantiles
from bayesdp.mechanisms.selection.quantiles import utilities

R, A = bdp.Neighbours.REPLACE_ONE, bdp.Neighbours.ADD_REMOVE
PROBABILITIES = (0.5, 0.1, 0.75, 0.999)
made = bdp.mechanisms.QuantileMechanism


def all_counts(k: int, most: int) -> list[np.ndarray]:
    """All counts of up to that many records in k cells."""
    return [np.array(c) for c in itertools.product(range(most + 1), repeat=k) if sum(c) <= most]


def neighbours(relation: bdp.Neighbours, k: int, most: int) -> list[tuple[np.ndarray, np.ndarray]]:
    one = np.eye(k, dtype=int)
    moves = [*one] if relation is A else [a - b for a in one for b in one if np.any(a != b)]
    pairs = [(c, c + move) for c in all_counts(k, most) for move in moves]
    return [(x, y) for x, y in pairs if np.all(y >= 0)]


def defined(counts: np.ndarray, q: Fraction) -> list[Fraction]:
    """The distance of the target rank from each cell's ranks, by its definition."""
    ends = [0, *itertools.accumulate(counts.tolist())]
    target = q * ends[-1]
    return [max(low - target, target - high, 0) for low, high in itertools.pairwise(ends)]


@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 8), Fraction(7, 10)])
def test_utilities_are_distances_of_ranks(q):
    for counts in all_counts(4, 4):
        scaled = [-q.denominator * distance for distance in defined(counts, q)]
        assert utilities(counts, q).tolist() == scaled


@pytest.mark.parametrize("relation", [A, R])
@pytest.mark.parametrize("probability", PROBABILITIES)
def test_the_sensitivity_is_what_is_proved_and_no_less(relation, probability):
    """The most that any utility moves, and that two move apart, over all small data sets."""
    q = Fraction(repr(probability))
    moved = [utilities(y, q) - utilities(x, q) for x, y in neighbours(relation, 4, 4)]
    sensitivity = quantiles._sensitivity(q, relation)
    assert max(np.abs(d).max() for d in moved) <= sensitivity
    assert max(d.max() - d.min() for d in moved) <= 2 * sensitivity
    attained = [p for one, other in made(1.0, range(6), (probability,), relation).pairs()
                for p in [np.ptp(utilities(other, q) - utilities(one, q))]]  # fmt: skip
    assert max(attained) == 2 * sensitivity


def costs(mechanism: bdp.mechanisms.QuantileMechanism) -> float:
    """The largest log ratio over all small data sets, their neighbours, and the worst pairs."""
    outputs, near = mechanism.outputs(), neighbours(mechanism.neighbours, mechanism.k, 4)
    pairs = [*near, *mechanism.pairs()]
    law = [mechanism.logp(outputs, np.array(each)[:, None]) for each in zip(*pairs, strict=True)]
    return float(np.abs(law[0] - law[1]).max())


CASES = list(itertools.product([A, R], [(0.5,), (0.1,), (0.75, 0.3)], quantiles.CHOICES))


@pytest.mark.parametrize(("relation", "probabilities", "choice"), CASES)
def test_the_promise_holds_for_all_small_data(relation, probabilities, choice):
    mechanism = made(1.3, range(5), probabilities, relation, choice=choice)
    found = costs(mechanism)
    assert 0.5 * mechanism.guarantee().epsilon < found <= mechanism.guarantee().epsilon


@pytest.mark.parametrize(("relation", "probabilities", "choice"), CASES)
def test_a_sensitivity_of_half_is_convicted(relation, probabilities, choice, monkeypatch):
    """Twice the utilities at the same sensitivity."""
    monkeypatch.setattr(quantiles, "utilities", lambda counts, q: 2 * utilities(counts, q))
    cells = 41 if len(probabilities) == 1 else 9
    mechanism = made(1.3, range(cells), probabilities, relation, choice=choice)
    one, other = (np.array(each)[:, None] for each in zip(*mechanism.pairs(), strict=True))
    ratio = mechanism.logp(mechanism.outputs(), one) - mechanism.logp(mechanism.outputs(), other)
    assert np.abs(ratio).max() > 1.01 * mechanism.guarantee().epsilon


@pytest.mark.parametrize("choice", quantiles.CHOICES)
def test_epsilon_is_approached_as_cells_are_many(choice):
    for q in (0.5, 0.1, 0.9):
        mechanism = made(1.0, np.arange(2001), (q,), choice=choice)
        one, other = (mechanism.logp(mechanism.outputs(), pair) for pair in mechanism.pairs()[-1])
        assert 0.999 < np.abs(one - other).max() <= 1


def test_an_audit_acquits():
    with bdp.reproducible(1):
        assert not bdp.audit(made(2.0, range(21), (0.5,)), trials=2000).convicted


def test_the_law_is_that_of_the_definition():
    """Of two quantiles, in exact fractions but for the exponential."""
    mechanism, counts = made(1.0, (0, 1, 3, 4.5), (0.25, 0.6)), np.array([3, 1, 4])
    for output in itertools.product(range(3), repeat=2):
        log = 0.0
        for cell, q in zip(output, mechanism.fractions, strict=True):
            rate = 0.5 / (2 * float(max(q, 1 - q)))  # half of epsilon for each
            weights = [math.exp(-rate * float(d)) for d in defined(counts, q)]
            log += math.log(weights[cell] / math.fsum(weights))
        assert float(mechanism.logp(output, counts)) == pytest.approx(log, rel=1e-13)
    assert mechanism.logp((3, 0), counts) == -math.inf


def test_many_data_sets_at_once():
    mechanism = made(1.0, range(6))
    counts = np.random.default_rng(1).integers(0, 9, (7, 2, 5))
    drawn = mechanism.release(counts, copies=3)
    assert drawn.shape == (3, 7, 2, 3)
    law = mechanism.logp(drawn, counts)
    alone = [[mechanism.logp(drawn[c, i, 1], counts[i, 1]) for i in range(7)] for c in range(3)]
    assert law[..., 1] == pytest.approx(np.array(alone), rel=1e-13)


def test_a_huge_sample_has_its_quantiles():
    counts = np.full(10, 10**11)
    drawn = made(3.0, range(11), (0.105, 0.999)).release(counts, copies=50)
    assert np.unique(drawn, axis=0).tolist() == [[1, 9]]


def test_cells_are_shown_by_their_edges():
    shown = made(1.0, (0, 1, 3), (0.5, 0.9)).records((0, 1))
    assert shown.dtype.names == ("probability", "from", "to")
    assert shown.tolist() == [(0.5, 0, 1), (0.9, 1, 3)]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"epsilon": 0}, "epsilon is 0"),
        ({"edges": (0, 1)}, "all records are in one cell"),
        ({"edges": (0, 2, 1)}, "must be finite numbers that increase"),
        ({"probabilities": (0.5, 0.5)}, "probabilities is"),
        ({"probabilities": (1 / 3,)}, "three decimals"),
        ({"probabilities": ()}, "probabilities is"),
        ({"neighbours": "edge"}, "neighbours is 'edge'"),
        ({"n": 5}, "n is 5, public"),
        ({"choice": "best"}, "choice is 'best'"),
        ({"of_blocks": "no"}, "of_blocks is 'no'"),
        ({"of_blocks": True}, "n is None, but of_blocks is True; give the number of blocks"),
    ],
)
def test_bad_parameters_are_named(fields, message):
    with pytest.raises(InvalidInput, match=message):
        made(**{"epsilon": 1.0, "edges": (0, 1, 2), **fields})


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1, 2, 3], "shape"),
        ([0.5, 2], "integers"),
        ([-1, 5], "below 0"),
        ([2, 1], "n = 4"),
        ([[2, 2], [1, 3]], "one statistic"),
    ],
)
def test_bad_statistics_are_refused_without_their_values(counts, message):
    mechanism = made(1.0, (0, 1, 2), (0.5,), R, 4)
    with pytest.raises(InvalidInput, match=message) as raised:
        bdp.publish(mechanism, counts)
    assert "5" not in str(raised.value)
