"""Additive noise: promises against enumeration, bounds, relations, calibration, wrong inputs."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesdp as bdp

REAL = [bdp.mechanisms.LaplaceMechanism, bdp.mechanisms.GaussianMechanism]
WHOLE = [bdp.mechanisms.DiscreteLaplaceMechanism, bdp.mechanisms.DiscreteGaussianMechanism]
real = pytest.mark.parametrize("kind", REAL, ids=lambda k: k.name)
whole = pytest.mark.parametrize("kind", WHOLE, ids=lambda k: k.name)
every = pytest.mark.parametrize("kind", REAL + WHOLE, ids=lambda k: k.name)


# Relations.


@every
def test_replacing_costs_what_twice_the_sensitivity_does(kind):
    mechanism = kind(4.0, 2.0)
    twice = kind(4.0, 4.0, "replace_one", **_lattice(mechanism))
    promise = mechanism.guarantee(neighbours=bdp.Neighbours.REPLACE_ONE, delta=1e-4)
    assert promise.neighbours is bdp.Neighbours.REPLACE_ONE
    assert promise.epsilon == twice.guarantee(delta=1e-4).epsilon
    assert mechanism.removal_guarantee(delta=1e-4) == mechanism.guarantee(delta=1e-4)
    for wrong in ("add_remove", "edge", "node"):
        with pytest.raises(
            bdp.errors.InvalidInput, match="sensitivity was given under 'replace_one'"
        ):
            twice.guarantee(neighbours=wrong)
    assert kind(4.0, 2.0, "edge").guarantee(delta=1e-4).neighbours is bdp.Neighbours.EDGE
    with pytest.raises(bdp.errors.InvalidInput, match="must be one of"):
        kind(4.0, 2.0, "friends")
    with pytest.raises(bdp.errors.InvalidInput, match=r"public.*add_remove"):
        kind(4.0, 2.0, n=10)
    public = kind(4.0, 2.0, "replace_one", n=10).guarantee(delta=1e-4)
    assert any("number of records is public" in a for a in public.assumptions)


def _lattice(mechanism) -> dict[str, float]:
    return {} if mechanism.whole else {"granularity": mechanism.granularity}


def test_a_histogram_knows_both_relations():
    both = bdp.mechanisms.PerturbedHistogramMechanism(2.0, 3)
    assert both.guarantee(neighbours="replace_one").epsilon == 1.0
    other = bdp.mechanisms.PerturbedHistogramMechanism(2.0, 3, "replace_one")
    assert other.guarantee(neighbours=bdp.Neighbours.ADD_REMOVE).epsilon == 0.5
    assert other.removal_guarantee().epsilon == 0.5
    with pytest.raises(bdp.errors.InvalidInput, match="n is public"):
        bdp.mechanisms.PerturbedHistogramMechanism(2.0, 3, "replace_one", 20).removal_guarantee()
    for arguments in ((2.0, 3, "edge"), (2.0, 3, "add_remove", 20), (2.0, None), (2.0, 0)):
        with pytest.raises(bdp.errors.InvalidInput):
            bdp.mechanisms.PerturbedHistogramMechanism(*arguments)


def test_groups_that_a_record_may_change_are_charged():
    from bayesdp.mechanisms.base import joint_guarantee

    counts = [bdp.mechanisms.PerturbedHistogramMechanism(2.0, 3, "replace_one")] * 2
    assert joint_guarantee(counts, 1).epsilon == pytest.approx(1.0)


# Calibration.

PLACES = [
    {},
    {"dimension": 3},
    {"bounds": (0, 8), "bounding": "truncated"},
    {"bounds": (0, 8), "bounding": "truncated", "dimension": 2},
    {"bounds": (0, None), "bounding": "inflated"},
]


@every
@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize(("epsilon", "delta", "copies"), [(0.7, 0.0, 1), (1.5, 1e-6, 4)])
def test_calibration_inverts_the_promise(kind, place, epsilon, delta, copies):
    asked = {"epsilon": epsilon, "delta": delta, "copies": copies, "sensitivity": 2.0, **place}
    if kind.norm == "L2" and delta == 0 and place.get("bounding") != "truncated":
        with pytest.raises(bdp.errors.InvalidInput, match="ask for a positive delta"):
            kind.calibrate(**asked)
        return
    mechanism = kind.calibrate(**asked)
    assert mechanism.guarantee(copies=copies, delta=delta).epsilon <= epsilon
    narrower = dataclasses.replace(mechanism, scale=mechanism.scale * (1 - 1e-9))
    assert narrower.epsilon(delta, copies=copies) > epsilon


def test_calibration_of_a_histogram():
    assert bdp.mechanisms.PerturbedHistogramMechanism.calibrate(epsilon=0.5, cells=4).scale == 2.0
    assert bdp.mechanisms.PerturbedHistogramMechanism.calibrate(
        epsilon=0.5, copies=3, cells=4, neighbours="replace_one"
    ).scale == pytest.approx(12.0, rel=1e-15)


# Outputs.


@every
def test_half_the_noise_is_convicted(kind):
    mechanism = kind(2.0, 2.0)
    narrow = kind(1.0, 2.0, **_lattice(mechanism))

    class Liar:
        def guarantee(self, *, delta=0.0):
            return mechanism.guarantee(delta=delta)

        def __getattr__(self, name):
            return getattr(narrow, name)

    delta = 0.0 if kind.norm == "L1" else 1e-3
    with bdp.reproducible(1):
        assert bdp.audit(Liar(), trials=100_000, delta=delta).convicted
        assert not bdp.audit(mechanism, trials=100_000, delta=delta).convicted


@real
def test_real_outputs_lie_on_the_lattice_and_law_knows_it(kind):
    mechanism = kind(1.0, 1.0, granularity=2.0**-6)
    drawn = mechanism.release([[0.1, math.pi]], copies=50)
    assert drawn.shape == (50, 1, 2)
    assert np.all(drawn * 64 == np.floor(drawn * 64))
    assert mechanism.logp(0.01, 0.0) == -math.inf
    assert mechanism.logp([0.0, math.nan, math.inf], 0.0)[1:].tolist() == [-math.inf] * 2
    assert mechanism.logp(0.0, [0.001, -0.001, 1.0]).shape == (3,)
    assert mechanism.logp(0.0, 0.001) == mechanism.logp(0.0, -0.001)
    for wrong in (0.01, math.nan, math.inf, True, "a", None, 10**400):
        with pytest.raises(bdp.errors.InvalidInput, match="multiples of"):
            mechanism.check_output(wrong)


@every
def test_default_granularity_costs_next_to_nothing(kind):
    if kind in WHOLE:
        assert not hasattr(kind(1.0, 1.0), "granularity")
        return
    for scale, sensitivity in ((1.0, 1e-3), (1e-4, 5.0), (1e9, 0.3), (3e-200, 1e-200)):
        g = kind(scale, sensitivity).granularity
        assert math.frexp(g)[0] == 0.5
        assert scale / g <= 2**41
        assert g <= max(min(scale, sensitivity) * 2.0**-20, scale * 2.0**-39)


@whole
def test_bounds_keep_outputs_inside_with_their_atoms(kind):
    for bounding in ("truncated", "inflated"):
        mechanism = kind(3.0, 1, bounds=(-2, 5), bounding=bounding)
        drawn = mechanism.release(np.arange(-2, 6), copies=500)
        assert drawn.min() == -2
        assert drawn.max() == 5
        assert mechanism.outputs().tolist() == list(range(-2, 6))
        assert mechanism.logp([-3, 6, 1.5], 0).tolist() == [-math.inf] * 3
    inflated = kind(3.0, 1, bounds=(0, math.inf), bounding="inflated")
    assert inflated.bounds == (0, None)
    assert inflated.outputs() is None
    assert inflated.release(-4, copies=300).min() == 0
    noise = inflated.noise
    assert float(inflated.logp(0, -4)) == pytest.approx(
        math.log(np.sum(np.exp(noise.log_pmf(np.arange(-200, 5)))))
    )
    assert kind(3.0, 1, bounds=(0, 99), bounding="inflated", dimension=4).outputs() is None


@every
def test_vectors_and_their_tables(kind):
    mechanism = kind(2.0, 2.0, dimension=3)
    drawn = mechanism.release([1, 2, 3], copies=4)
    assert drawn.shape == (4, 3)
    assert mechanism.logp(drawn, [1, 2, 3]).shape == (4,)
    outputs = [mechanism.check_output(z) for z in drawn]
    assert all(isinstance(z, tuple) and len(z) == 3 for z in outputs)
    assert mechanism.records(outputs[0]).shape == (3,)
    table = {k: np.asarray(v) for k, v in mechanism.encode(outputs).items()}
    assert mechanism.decode(table) == outputs
    for keep in (slice(1, None), [0, 0, *range(2, 12)], slice(3, None)):
        with pytest.raises(bdp.errors.InvalidInput, match="rows are missing or repeated"):
            mechanism.decode({k: v[keep] for k, v in table.items()})
    for wrong in (1, (1, 2), (1, 2, 3, 4), (1, 2, math.nan)):
        with pytest.raises(bdp.errors.InvalidInput, match="output is"):
            mechanism.check_output(wrong)
    for wrong in (1.0, [1.0, 2.0], [[1.0], [2.0], [3.0]]):
        with pytest.raises(bdp.errors.InvalidInput, match="last axis"):
            mechanism.release(wrong)
        with pytest.raises(bdp.errors.InvalidInput, match="last axis"):
            mechanism.logp(wrong, [1, 2, 3])


@settings(max_examples=30, deadline=None)
@given(st.integers(-30, 30), st.sampled_from(WHOLE), st.sampled_from([None, (-4, 3)]))
def test_where_it_says_log_concave_the_law_is(output, kind, bounds):
    mechanism = kind(2.5, 1, bounds=bounds, bounding=bounds and "inflated")
    assert mechanism.log_concave
    law = mechanism.logp(np.clip(output, *(bounds or (-30, 30))), np.arange(-40, 41))
    assert np.all(np.diff(law, 2) <= 1e-10)
    assert not kind(2.5, 1, bounds=(0, 3), bounding="truncated").log_concave


def test_reproducible_seeds_every_draw():
    def drawn():
        with bdp.reproducible(4):
            return [kind(9.0, 1.0).release(0, copies=20).tolist() for kind in REAL + WHOLE]

    assert drawn() == drawn()


# Wrong inputs.


@every
@pytest.mark.parametrize(
    "wrong",
    [
        {"scale": v}
        for v in (0, -1.0, math.nan, math.inf, True, "1", None, 1e40, 1e-30, 10**400)
    ] + [
        {"sensitivity": v} for v in (0, -1, math.nan, math.inf, False, "1", None)
    ] + [
        {"dimension": v} for v in (0, -1, 1.5, True, "2")
    ] + [
        {"n": v, "neighbours": "replace_one"} for v in (0, 1.5, True, "2")
    ] + [
        {"bounds": v, "bounding": "inflated"}
        for v in ((1, 0), (1, 1), (math.nan, 1), (None, None), (0,), (0, 1, 2), 3, ("a", "b"),
                  (math.inf, None), (0, 1e300), (0, 10**400), None)
    ] + [{"bounds": (0, 1)}, {"bounds": (0, 1), "bounding": "clamped"}],
    ids=str,
)  # fmt: skip
def test_wrong_parameters_are_refused_by_name(kind, wrong):
    if not kind(1.0, 1.0).whole:
        wrong = {"granularity": 2.0**-10, **wrong}
    name = "bound" if "bounding" in wrong or "bounds" in wrong else next(
        k for k in wrong if k != "granularity"
    )  # fmt: skip
    with pytest.raises(bdp.errors.InvalidInput, match=name):
        kind(**{"scale": 1.0, "sensitivity": 1.0, **wrong})


@real
@pytest.mark.parametrize(
    "granularity", [0.3, 0, -0.5, math.nan, math.inf, True, "1", 3, 2.0**-1000]
)
def test_granularity_must_be_a_power_of_two(kind, granularity):
    with pytest.raises(bdp.errors.InvalidInput, match="granularity is"):
        kind(1.0, 1.0, granularity=granularity)


@whole
def test_integers_move_by_whole_numbers(kind):
    for sensitivity in (0.5, 1.5):
        with pytest.raises(bdp.errors.InvalidInput, match="whole numbers"):
            kind(1.0, sensitivity)
    with pytest.raises(bdp.errors.InvalidInput, match="two whole numbers"):
        kind(1.0, 1, bounds=(0, 1.5), bounding="inflated")


@every
@pytest.mark.parametrize("statistic", [math.nan, math.inf, -math.inf, 1.7e308, 8765, "8765", None])
def test_statistics_are_refused_without_being_shown(kind, statistic):
    mechanism = kind(1.0, 1.0, bounds=(0, 10), bounding="truncated")
    for call in (mechanism.release, lambda x: mechanism.logp(1, x)):
        with pytest.raises(bdp.errors.InvalidInput) as error:
            call(statistic)
        assert "8765" not in str(error.value)
        assert "the statistic" in str(error.value)


@whole
def test_integer_mechanisms_refuse_fractions(kind):
    with pytest.raises(bdp.errors.InvalidInput, match="not whole") as error:
        kind(1.0, 1).release(0.123)
    assert "0.123" not in str(error.value)


@every
def test_wrong_promises_are_refused(kind):
    mechanism = kind(1.0, 1.0)
    for copies in (0, 1.5, True):
        with pytest.raises(bdp.errors.InvalidInput, match="copies"):
            mechanism.guarantee(copies=copies, delta=0.1)
        with pytest.raises(bdp.errors.InvalidInput, match="copies"):
            mechanism.release(0, copies=copies)
    with pytest.raises(bdp.errors.InvalidInput, match="delta"):
        mechanism.epsilon(1.0)
    with pytest.raises(bdp.errors.InvalidInput, match="epsilon"):
        mechanism.delta(math.nan)
    with pytest.raises(bdp.errors.InvalidInput, match="sensitivity"):
        kind.calibrate(epsilon=1.0, delta=1e-6, sensitivity=-1.0)
    with pytest.raises(bdp.errors.InvalidInput, match="epsilon"):
        kind.calibrate(epsilon=0.0, delta=1e-6, sensitivity=1.0)


@pytest.mark.parametrize(
    "kind", [bdp.mechanisms.LaplaceMechanism, bdp.mechanisms.GaussianMechanism]
)
def test_a_lattice_as_coarse_as_the_sensitivity_is_warned_of(kind):
    with pytest.warns(UserWarning, match="granularity is 1.0, no finer than the sensitivity, 1.0"):
        made = kind(3.0, 1.0, granularity=1.0)
    below, above = 0.5, np.nextafter(0.5, 0)  # one last digit of a sum, and a step between them
    assert made.logp(1.0, below) != made.logp(1.0, above)
    kind(3.0, 1.0, granularity=0.5)  # which is finer: no warning
