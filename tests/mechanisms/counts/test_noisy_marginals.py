"""Noisy marginals: their statistic, sensitivities over all neighbours, and what is refused."""

import itertools
import math

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.mechanisms.counts.cells import Axis

AXES = (
    Axis("a", categories=(0, 1)),
    Axis("b", edges=(0.0, 1.0, 2.0, 5.0)),
    Axis("c", categories=("x", "y")),
)
MODELS = [(("a",),), (("a", "b"), ("c", "b")), ("a", "b", "c"), (("c", "a", "b"), ("a", "c"))]
ADD_REMOVE, REPLACE_ONE = bdp.Neighbours.ADD_REMOVE, bdp.Neighbours.REPLACE_ONE


def records() -> list[np.ndarray]:
    return [np.eye(12, dtype=np.int64)[k] for k in range(12)]


@pytest.mark.parametrize("marginals", MODELS)
def test_no_neighbours_are_further_apart_than_the_sensitivity(marginals):
    """All records added, and all replaced by all others; the largest distance is attained."""
    made = bdp.mechanisms.NoisyMarginalsMechanism(1.0, AXES, marginals)
    vectors = [made.statistic(one) for one in records()]
    for norm, law in ((1, "laplace"), (2, "gaussian")):
        noisy = bdp.mechanisms.NoisyMarginalsMechanism(1.0, AXES, marginals, law)
        added = max(np.linalg.norm(v, norm) for v in vectors)
        replaced = max(np.linalg.norm(v - w, norm) for v, w in itertools.combinations(vectors, 2))
        assert noisy._of(ADD_REMOVE).sensitivity == pytest.approx(added, rel=1e-15)
        assert noisy._of(REPLACE_ONE).sensitivity == pytest.approx(replaced, rel=1e-15)
        assert noisy._of(REPLACE_ONE).sensitivity >= replaced


@pytest.mark.parametrize("marginals", MODELS)
def test_marginals_are_the_tables_own(marginals):
    made = bdp.mechanisms.NoisyMarginalsMechanism(1.0, AXES, marginals)
    counts = np.random.default_rng(1).integers(0, 9, (2, 3, 2))
    tables = made.tables(made.statistic(counts))
    for part, table in zip(made.places, tables, strict=True):
        for bins, count in np.ndenumerate(table):
            place = dict(zip(part, bins, strict=True))
            chosen = tuple(place.get(k, slice(None)) for k in range(3))
            assert count == counts[chosen].sum()


def test_epsilon_is_the_number_of_marginals_over_the_scale():
    made = bdp.mechanisms.NoisyMarginalsMechanism(4.0, AXES, (("a", "b"), ("b", "c")))
    assert made.guarantee().epsilon == 0.5
    assert made.guarantee(neighbours=REPLACE_ONE, copies=2).epsilon == 2.0
    assert made.profile().epsilon(0) == 0.5


@pytest.mark.parametrize(("law", "delta"), [("laplace", 0.0), ("gaussian", 1e-6)])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
def test_calibration_is_tight_and_on_the_safe_side(law, delta, relation):
    fields = {"axes": AXES, "marginals": MODELS[1], "noise": law, "neighbours": relation}
    made = bdp.mechanisms.NoisyMarginalsMechanism.calibrate(
        epsilon=1.0, delta=delta, copies=2, **fields
    )
    assert 1 - 1e-6 < made.guarantee(copies=2, delta=delta).epsilon <= 1
    smaller = bdp.mechanisms.NoisyMarginalsMechanism(scale=made.scale * (1 - 1e-5), **fields)
    assert smaller.guarantee(copies=2, delta=delta).epsilon > 1


def test_the_law_is_the_noises_over_all_counts():
    made = bdp.mechanisms.NoisyMarginalsMechanism(1.5, AXES, (("a",), ("c",)))
    x, z = np.array([3, 4, 5, 2]), np.array([2, 4, 9, 1])
    share = math.exp(-1 / 1.5)
    expected = 4 * math.log((1 - share) / (1 + share)) - np.abs(z - x).sum() / 1.5
    assert made.logp(z, x) == pytest.approx(expected, rel=1e-12)
    assert made.logp(z, np.stack([x, x])).shape == (2,)
    shown = made.records((2, 4, 9, 1))
    assert shown["marginal"].tolist() == ["a", "a", "c", "c"]
    assert shown["cell"].tolist() == ["0", "1", "x", "y"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"scale": 0}, "scale is 0"),
        ({"axes": ()}, "axes is"),
        ({"marginals": ()}, "marginals is"),
        ({"marginals": "a"}, "marginals is"),
        ({"marginals": (("a", "z"),)}, "marginals is"),
        ({"marginals": (("a", "b"), ("b", "a"))}, "marginals is"),
        ({"marginals": (("a", "a"),)}, "marginals is"),
        ({"marginals": (3,)}, "marginals is"),
        ({"marginals": ((["a"],),)}, "marginals is"),
        ({"noise": "normal"}, "noise is 'normal'"),
        ({"neighbours": "edge"}, "neighbours is 'edge'"),
        ({"n": 5}, "n is 5"),
    ],
)
def test_bad_parameters_are_named(wrong, message):
    good = {"scale": 1.0, "axes": AXES, "marginals": (("a", "b"),)}
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.mechanisms.NoisyMarginalsMechanism(**{**good, **wrong})


def test_a_public_n_has_no_added_records():
    made = bdp.mechanisms.NoisyMarginalsMechanism(1.0, AXES, (("a",),), neighbours=REPLACE_ONE, n=5)
    with pytest.raises(bdp.errors.InvalidInput, match="n is public"):
        made.guarantee(neighbours=ADD_REMOVE)


ZEROS = (0, 1, 2, 3, 5, 6, 7)  # of 12 cells; a = 0 then goes with b = 2, c = 'x' alone


@pytest.mark.parametrize("marginals", MODELS)
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_structural_zeros_leave_no_record_that_moves_more(marginals, law):
    """All possible records added and replaced; an addition is as far as the sensitivity says."""
    norm = 1 if law == "laplace" else 2
    made = bdp.mechanisms.NoisyMarginalsMechanism(1.0, AXES, marginals, law, zeros=ZEROS)
    cells = [one for k, one in enumerate(records()) if k not in ZEROS]
    vectors = [made.statistic(one) for one in cells]
    added = {float(np.linalg.norm(v, norm)) for v in vectors}
    replaced = max(np.linalg.norm(v - w, norm) for v, w in itertools.combinations(vectors, 2))
    assert max(added) == pytest.approx(made._of(ADD_REMOVE).sensitivity, rel=1e-15)
    assert replaced <= made._of(REPLACE_ONE).sensitivity
    # What no record moves is 0, has no noise, and an output where it isn't can't be.
    still = ~np.any(vectors, axis=0)
    drawn = made.release(vectors[0], 60)
    assert np.all(drawn[:, still] == 0)
    assert np.all((drawn[:, ~still] != vectors[0][~still]).any(axis=0))
    if still.any():
        bad = drawn[0].copy()
        bad[np.flatnonzero(still)[0]] = 1
        assert made.logp(bad, vectors[0]) == -np.inf
        for attempt in (made.check_output, made.check_statistic):
            with pytest.raises(bdp.errors.InvalidInput, match="of structural zeros alone"):
                attempt(bad)
    one, other = made.pairs()[0]
    assert np.abs(np.subtract(one, other)).sum() == len(marginals)


@pytest.mark.parametrize(
    ("zeros", "message"),
    [((12,), "from 0 to 11"), ((0, 0), "a cell twice"), (tuple(range(11)), "at least 2 cells"),
     ("0", "zeros is '0'")],
)  # fmt: skip
def test_bad_zeros_are_named(zeros, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.mechanisms.NoisyMarginalsMechanism(1.0, AXES, (("a",),), zeros=zeros)
