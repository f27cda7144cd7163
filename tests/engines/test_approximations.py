"""Pathfinder and Laplace's method: right where a normal is, and convicted where it isn't."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bayesdp.engines.convergence import verdict_on_approximation
from bayesdp.engines.draws import APPROXIMATE, Draws
from bayesdp.engines.pymc import approximations, pathfinder
from bayesdp.engines.pymc import sampling as pymc
from bayesdp.errors import EngineFailed

TAIL = 5.2  # standard errors: 1e-7 of false alarms
MEAN, COVARIANCE = np.array([3.0, -40.0]), np.array([[4.0, 5.0], [5.0, 9.0]])


def drawn(model: Any, engine: str, *variables: str, **given: Any) -> Draws:
    options = {"draws": 2000, "chains": 4, "seed": 1, **given}
    return pymc.sample(model, variables=variables, sampler=engine, **options)


@pytest.mark.slow
@pytest.mark.parametrize("engine", APPROXIMATE)
def test_a_normal_is_found_and_nothing_is_left_on_the_disk(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    pm = pymc.import_pymc()
    with pm.Model() as model:
        x = pm.MvNormal("x", MEAN, COVARIANCE)
        pm.Deterministic("first", x[0])
    found = drawn(model, engine, "x", "first")
    x = found.posterior["x"]
    assert np.array_equal(found.posterior["first"], x[..., 0])
    assert np.all(np.abs(x.mean((0, 1)) - MEAN) < TAIL * np.sqrt(np.diag(COVARIANCE) / 8000))
    # Of a covariance of n normal draws: variance (s_ij^2 + s_ii s_jj) / n.
    error = np.sqrt((COVARIANCE**2 + np.outer(*[np.diag(COVARIANCE)] * 2)) / 8000)
    assert np.all(np.abs(np.cov(x.reshape(-1, 2).T) - COVARIANCE) < TAIL * error)
    assert float(found.told["importance_ess"]) > 7000
    away = x - MEAN
    lp = -np.einsum("cdi,ij,cdj->cd", away, np.linalg.inv(COVARIANCE), away) / 2
    shift = found.sample_stats["lp"] - lp
    assert np.ptp(shift) < 1e-6
    assert found.sample_stats["approximate"].all()
    assert "not above 0.7" in verdict_on_approximation(found, 1)
    again, other = drawn(model, engine, "x"), drawn(model, engine, "x", seed=2)
    assert np.array_equal(again.posterior["x"], x)
    assert not np.array_equal(other.posterior["x"], x)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("engine", APPROXIMATE)
def test_a_funnel_is_convicted(engine: str) -> None:
    pm = pymc.import_pymc()
    with pm.Model() as model:
        v = pm.Normal("v", 0, 3)
        pm.Normal("x", 0, pm.math.exp(v / 2), shape=5)
    found = drawn(model, engine, "v")
    assert float(found.told["pareto_k"]) > 0.7
    with pytest.warns(UserWarning, match=r"Pareto k is .*above 0\.7.*Take NUTS: engine='pymc'"):
        assert "approximate" in verdict_on_approximation(found, 1)


@pytest.mark.slow
def test_two_modes_are_found_by_paths_and_doubted_by_one_normal() -> None:
    pm = pymc.import_pymc()
    with pm.Model() as model:
        x = pm.Flat("x")
        pm.Potential("p", pm.math.logaddexp(-((x - 9) ** 2) / 2, -((x + 9) ** 2) / 2 - 1))
    share = np.mean(drawn(model, "pathfinder", "x", chains=8).posterior["x"] > 0)
    chance = 1 / (1 + np.exp(-1))
    assert abs(share - chance) < TAIL * np.sqrt(chance * (1 - chance) / 8000)
    one = drawn(model, "laplace", "x", chains=8)
    assert (one.posterior["x"] > 0).all()  # of which no weight tells
    assert float(one.told["pareto_k"]) < 0.7
    assert any("climbs didn't end at the highest mode" in doubt for doubt in one.doubts)


@pytest.mark.slow
def test_no_mode_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    pm = pymc.import_pymc()
    with pm.Model() as model:
        pm.Potential("p", 2 * pm.Flat("x"))  # higher and higher
    with pytest.raises(EngineFailed, match="laplace finds no point at which the posterior curves"):
        drawn(model, "laplace", "x")
    with pm.Model() as model:
        pm.Normal("x")
    monkeypatch.setattr(approximations, "pathfinder", lambda *_: None)
    with pytest.raises(EngineFailed, match=r"pathfinder finds no point.*take NUTS: engine='pymc'"):
        drawn(model, "pathfinder", "x")


def test_steps_estimate_the_inverse_hessian() -> None:
    """The diagonal is that of the BFGS update of a scaled one; H takes each z back to its s."""
    rng = np.random.default_rng(1)
    precision = np.linalg.inv(COVARIANCE)
    alpha, pairs = np.array([0.5, 4.0]), []
    for s in rng.normal(size=(2, 2)):
        z = precision @ s
        b = np.diag((z @ (alpha * z)) / (z @ s) / alpha)
        updated = b - np.outer(b @ s, b @ s) / (s @ b @ s) + np.outer(z, z) / (z @ s)
        assert np.allclose(pathfinder._updated(alpha, s, z), 1 / np.diag(updated))
        pairs.append((s, z))
        assert np.allclose(pathfinder._inverse_hessian(alpha, pairs) @ z, s)


def test_weights_tell_the_shape_of_their_tail() -> None:
    """Ratios 1 / U^k have a Pareto tail of shape k, and are estimated to a tenth or so."""
    u = np.random.default_rng(1).random(40_000)
    for k in (0.3, 0.9):
        weights, found = approximations._smoothed(-k * np.log(u))
        assert abs(found - k) < 0.15
        assert abs(weights.sum() - 1) < 1e-9
    equal, k = approximations._smoothed(np.full(1000, -3.0))
    assert (k, equal.min(), equal.max()) == (0.0, 1e-3, 1e-3)
    refused = np.where(u < 0.5, -np.inf, 0.0) - 0.1 * np.log(u)
    weights, k = approximations._smoothed(refused)
    assert k < 0.7
    assert weights[u < 0.5].sum() < 1e-100


def test_each_draw_is_there_as_often_as_its_weight_says() -> None:
    rng = np.random.default_rng(1)
    weights = rng.dirichlet(np.full(50, 0.3))
    chosen = approximations._resampled(weights, 1000, rng)
    counts = np.bincount(chosen, minlength=50)
    assert np.all(np.abs(counts - 1000 * weights) <= 1)
    assert np.any(np.diff(chosen) < 0)  # in no order
