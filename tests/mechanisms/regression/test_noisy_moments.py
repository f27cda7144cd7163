"""Noisy moments: what a record moves, what it costs, and what is released."""

import dataclasses
import math
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

import bayesdp as bdp
from bayesdp.mechanisms.families.moment_moves import longest_replacement
from bayesdp.privacy.profile import gaussian_divergence

BOUNDS = {"x": (0.0, 2.0), "k": (-1.0, 1.0), "y": (10.0, 20.0)}


def moments(z: np.ndarray) -> np.ndarray:
    pairs = list(combinations(range(z.shape[-1]), 2))
    products = [z[..., j] * z[..., k] for j, k in pairs]
    return np.concatenate([z, z**2, np.stack(products, axis=-1)], axis=-1)


def columns(d: int) -> dict[str, tuple[float, float]]:
    return {f"x{j}": (-1.0, 1.0) for j in range(d)}


# What one record moves in L2 norm.


@pytest.mark.parametrize("d", [2, 3, 4, 5, 6, 9])
def test_the_longest_replacement_is_attained_at_corners(d):
    corner = np.ones(d)
    signs = np.ones(d)
    signs[: (d + 1) // 2] = -1.0
    found = np.sum((moments(corner) - moments(signs)) ** 2)
    assert found == longest_replacement(d)
    apart = 5 * d + 4 * (d * (d - 1) // 2)
    assert apart == 2 * d**2 + 3 * d
    assert longest_replacement(d) < 0.62 * apart


@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_no_replacement_is_longer(d):
    """All pairs of corners and middles, random pairs, and the best of them climbed from."""
    rng, most = np.random.default_rng(d), longest_replacement(d)

    def moved(both: np.ndarray) -> Any:
        z, other = np.split(both, 2, axis=-1)
        return np.sum((moments(z) - moments(other)) ** 2, axis=-1)

    if d <= 4:
        assert moved(np.array(list(product((-1.0, 0.0, 1.0), repeat=2 * d)))).max() == most
    tried = np.clip(rng.uniform(-1.6, 1.6, (40_000, 2 * d)), -1, 1)
    found = moved(tried)
    best = np.argsort(found)[-6:]
    climbed = [
        -optimize.minimize(
            lambda x: -moved(x), tried[i], bounds=[(-1, 1)] * (2 * d), method="L-BFGS-B"
        ).fun
        for i in (*best, *range(10))
    ]
    assert max(*found, *climbed) <= most * (1 + 1e-12)
    assert max(climbed) == pytest.approx(most, rel=1e-6)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(2, 7).flatmap(lambda d: st.lists(st.floats(-1, 1), min_size=2 * d, max_size=2 * d))
)
def test_no_pair_of_records_is_found_further_apart(both):
    z, other = np.split(np.array(both), 2)
    d = z.size
    family = bdp.mechanisms.NoisyMomentsMechanism(columns(d), 1.0, 9).family
    moved = moments(z) - moments(other)
    assert np.sum(moved**2) <= longest_replacement(d) * (1 + 1e-12)
    rates = [Fraction(1, 1 + i % 3) for i in range(moved.size)]
    length = math.sqrt(sum((float(r) * m) ** 2 for r, m in zip(rates, moved, strict=True)))
    assert length <= family.joint_length(rates, 9)


# What it costs.


@pytest.mark.parametrize("p", [1, 2, 5, 10])
def test_laplace_noise_pays_for_what_one_replacement_moves(p):
    """Less than the p^2 + 4 p + 3 in general use."""
    made = bdp.mechanisms.NoisyMomentsMechanism.calibrate(epsilon=1.0, bounds=columns(p + 1), n=100)
    exact = (p + 1) * (p + 3) ** 2 / (2 * (p + 2))
    assert made.scale == pytest.approx(exact, rel=1e-3)  # and the lattice
    assert made.scale < 0.67 * (p * p + 4 * p + 3) * 1.001
    guarantee = made.guarantee()
    assert guarantee.epsilon <= 1.0
    assert guarantee.epsilon == pytest.approx(1.0, rel=1e-3)
    assert guarantee.neighbours is bdp.Neighbours.REPLACE_ONE
    assert guarantee.strength is bdp.Strength.PROVED
    worst = max(np.abs(np.subtract(a, b)).sum() for a, b in made.pairs())
    assert worst == pytest.approx(exact, rel=1e-12)
    assert worst / made.scale <= guarantee.epsilon


@pytest.mark.parametrize("p", [1, 2, 10])
def test_gaussian_noise_pays_for_the_longest_move(p):
    d = p + 1
    made = bdp.mechanisms.NoisyMomentsMechanism.calibrate(
        epsilon=1.0, delta=1e-6, bounds=columns(d), n=100, noise="gaussian"
    )
    shift = math.sqrt(longest_replacement(d)) / made.scale
    assert 0.98e-6 < gaussian_divergence(shift, 1.0) <= 1e-6
    assert made.delta(1.0) <= 1e-6
    assert made.guarantee(delta=1e-6).rho == pytest.approx(shift**2 / 2, rel=1e-2)
    assert made.guarantee(delta=1e-6).rho >= shift**2 / 2
    worst = max(np.sum(np.subtract(a, b) ** 2) for a, b in made.pairs())
    assert worst == pytest.approx(longest_replacement(d))


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_where_n_is_confidential_a_corner_moves_all(noise):
    delta = 0.0 if noise == "laplace" else 1e-6
    made = bdp.mechanisms.NoisyMomentsMechanism.calibrate(
        epsilon=1.0, delta=delta, bounds=columns(3), noise=noise
    )
    assert made.neighbours is bdp.Neighbours.ADD_REMOVE
    ((one, other),) = made.pairs()
    moved = np.abs(np.subtract(one, other))
    assert np.all(moved == 1)
    assert moved.size == 1 + 3 * (3 + 3) / 2
    if noise == "laplace":
        assert made.scale == pytest.approx(moved.size, rel=1e-3)
        both = made.guarantee(neighbours=bdp.Neighbours.REPLACE_ONE)
        assert both.epsilon == pytest.approx(2.0, rel=1e-3)
    else:
        assert gaussian_divergence(math.sqrt(moved.size) / made.scale, 1.0) <= 1e-6
    assert made.release(one, 2).shape == (2, moved.size)


def test_the_joint_length_helps_modips_too():
    family = bdp.families.LinearRegression(columns(4), "x3")
    known: dict[str, Any] = {"family": family, "size": 5, "n": 50, "noise": "gaussian"}
    made = bdp.mechanisms.ModipsSBSMechanism.calibrate(
        epsilon=1.0, delta=1e-6, allocation="communal", **known
    )
    assert gaussian_divergence(math.sqrt(24) / made.scales[0], 1.0) <= 1e-6
    apart = math.sqrt(sum(number.sensitivity**2 for number in made.numbers))
    assert gaussian_divergence(apart / made.scales[0], 1.0) > 1e-6


def test_an_audit_convicts_too_little_noise():
    """Of a mechanism that took half of what a replacement moves."""
    made = bdp.mechanisms.NoisyMomentsMechanism.calibrate(epsilon=4.0, bounds=columns(2), n=9)
    half = dataclasses.replace(made, scale=made.scale / 2)
    with bdp.reproducible(1):
        assert bdp.audit(half, trials=20_000).epsilon_lower > 4.0
        assert not bdp.audit(made, trials=20_000).convicted


# What is released.


def table(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    k = rng.choice([-1.0, 1.0], n)
    return pd.DataFrame({"y": rng.uniform(10, 20, n), "other": "text", "k": k, "x": k + 1})


def test_the_numbers_are_the_rescaled_moments():
    data = table()
    with bdp.reproducible(1):
        release = bdp.synthesizers.NoisyMomentsSynthesizer(
            BOUNDS, epsilon=1e6, neighbours="add_remove"
        ).release(data)
    z = np.column_stack([data["x"] - 1, data["k"], (data["y"] - 15) / 5])
    expected = np.append(200, moments(z).sum(axis=0))
    assert np.array(release.outputs[0]) == pytest.approx(expected, abs=0.01)
    frame = release.to_frames()[0]
    assert frame["number"].tolist()[:3] == ["n", "sum[x]", "sum[k]"]
    assert frame["number"].tolist()[-1] == "sum[k*y]"
    with bdp.reproducible(1):
        public = bdp.synthesizers.NoisyMomentsSynthesizer(BOUNDS, epsilon=1e6).release(data)
    assert public.mechanism.n == 200
    assert np.array(public.outputs[0]) == pytest.approx(expected[1:], abs=0.01)


def test_batches_and_arrays_give_the_same_release():
    data, declared = (
        table(),
        bdp.synthesizers.NoisyMomentsSynthesizer(BOUNDS, epsilon=1.0, copies=2),
    )
    made = []
    for given_as in (
        data,
        data[["x", "k", "y"]].to_numpy(),
        iter(np.array_split(data[["x", "k", "y"]], 7)),
    ):
        with bdp.reproducible(2):
            made.append(declared.release(given_as))
    assert made[0] == made[1] == made[2]
    assert made[0].mechanism.guarantee(copies=2) == declared.guarantee(200)


def test_it_is_paid_for_before_it_is_drawn(tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db")
    account = ledger.create("survey", epsilon=1.5, neighbours="replace_one")
    declared = bdp.synthesizers.NoisyMomentsSynthesizer(BOUNDS, epsilon=1.0)
    release = declared.release(table(), ledger=account)
    assert account.spent().epsilon == pytest.approx(release.guarantee.epsilon)
    with pytest.raises(bdp.errors.BudgetExceeded):
        declared.release(table(), ledger=account)
    with bdp.reproducible(1), pytest.raises(bdp.errors.InvalidInput, match="seeded"):
        declared.release(table(), ledger=account)


def test_records_that_miss_a_value_are_dropped_only_where_n_is_confidential():
    data = table()
    data.loc[::10, "k"] = np.nan
    data.loc[5, "other"] = None  # isn't one of the columns
    with pytest.raises(bdp.errors.InvalidInput, match="column 'k'"):
        bdp.synthesizers.NoisyMomentsSynthesizer(
            BOUNDS, epsilon=1.0, neighbours="add_remove"
        ).release(data)
    with pytest.raises(bdp.errors.InvalidInput, match="complete records changes"):
        bdp.synthesizers.NoisyMomentsSynthesizer(BOUNDS, epsilon=1.0, missing="drop")
    known: dict[str, Any] = {"neighbours": "add_remove", "missing": "drop"}
    declared = bdp.synthesizers.NoisyMomentsSynthesizer(BOUNDS, epsilon=1.0, **known)
    with bdp.reproducible(3):
        dropped = declared.release(data)
    with bdp.reproducible(3):
        complete = declared.release(data.dropna(subset=["k"]))
    with bdp.reproducible(3):
        as_array = declared.release(data[["x", "k", "y"]].to_numpy())
    assert dropped == complete == as_array
    assert dropped.mechanism.missing == "drop"
    assert any("left out" in note for note in declared.guarantee().assumptions)
    with bdp.reproducible(3):
        none = declared.release(data[data["k"].isna()])
    assert none.outputs[0][0] < 200  # no error: that there is no record is confidential too


@pytest.mark.parametrize("data", [3.0, None, np.array(3.0), len])
def test_what_is_no_table_is_refused_as_such(data):
    declared = bdp.synthesizers.NoisyMomentsSynthesizer(BOUNDS, epsilon=1.0)
    with pytest.raises(bdp.errors.InvalidInput, match="it must be a DataFrame with columns"):
        declared.release(data)


def test_values_out_of_bounds_are_refused_or_clipped_and_the_release_says_so():
    data = table()
    data.loc[3, "y"] = 27.5
    declared = bdp.synthesizers.NoisyMomentsSynthesizer(BOUNDS, epsilon=1.0)
    with pytest.raises(bdp.errors.InvalidInput, match="column 'y'") as caught:
        declared.release(data)
    assert "27.5" not in str(caught.value)
    with bdp.reproducible(1):
        clipped = declared.release(data, clip=True)
    data.loc[3, "y"] = 20.0
    with bdp.reproducible(1):
        assert clipped.outputs == declared.release(data).outputs
    assert clipped.mechanism.clip
    assert not any("within" in note for note in clipped.mechanism.guarantee().assumptions)


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"bounds": {"x": (0, 1)}}, "two columns or more"),
        ({"bounds": {"x": (0, 1), "y": (1, 1)}}, "column 'y'"),
        ({"bounds": {"x": (0, math.inf), "y": (1, 2)}}, "column 'x'"),
        ({"epsilon": 0.0}, "epsilon is 0"),
        ({"epsilon": math.nan}, "epsilon is nan"),
        ({"delta": 1.0}, "delta is 1"),
        ({"noise": "cauchy"}, "noise is 'cauchy'"),
        ({"noise": "gaussian"}, "positive delta"),
        ({"copies": 0}, "copies is 0"),
        ({"neighbours": "node"}, "neighbours is 'node'"),
        ({"missing": "impute"}, "missing is 'impute'"),
    ],
)
def test_bad_declarations_are_refused(known, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.synthesizers.NoisyMomentsSynthesizer(**({"bounds": BOUNDS, "epsilon": 1.0} | known))


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"scale": 0.0}, "scale is 0"),
        ({"scale": math.inf}, "scale is inf"),
        ({"n": 0}, "n is 0"),
        ({"n": 2.5}, "n is 2.5"),
        ({"clip": 1}, "clip is 1"),
        ({"granularity": 0.3}, "granularity is 0.3"),
    ],
)
def test_bad_mechanisms_are_refused(known, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.mechanisms.NoisyMomentsMechanism(**({"bounds": BOUNDS, "scale": 1.0} | known))


def test_bad_data_and_outputs_are_refused():
    declared = bdp.synthesizers.NoisyMomentsSynthesizer(BOUNDS, epsilon=1.0)
    for data, message in (
        (table().drop(columns="k"), "no columns"),
        (table(0), "empty"),
        (np.zeros((4, 2)), "shape"),
    ):
        with pytest.raises(bdp.errors.InvalidInput, match=message):
            declared.release(data)
    with pytest.raises(bdp.errors.InvalidInput, match="n is None"):
        declared.guarantee()
    made = bdp.mechanisms.NoisyMomentsMechanism(BOUNDS, 1.0, 9)
    for output in ((1.0,) * 8, (math.nan,) * 9, (math.inf,) * 9, (1 / 3,) * 9, 4.0):
        with pytest.raises(bdp.errors.InvalidInput, match="output"):
            bdp.Release.of(made, [output])
    with pytest.raises(bdp.errors.InvalidInput, match="can't be those"):
        made.check_statistic((10.0,) * 9)
    with pytest.raises(bdp.errors.InvalidInput, match="neighbours is 'add_remove'"):
        made.guarantee(neighbours="add_remove")
