"""The Stan programs of normal records: the densities of PyMC's, and the posterior of the others."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bayesdp as bdp
from tests.conftest import require_pystan
from tests.stan_log_density import log_densities

pytestmark = pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")

REPLACE = bdp.Neighbours.REPLACE_ONE
LAPLACE, NORMAL = bdp.mechanisms.LaplaceMechanism, bdp.mechanisms.GaussianMechanism


def noise(kind: type = LAPLACE, n: int = 20, dimension: int | None = None, **more: Any) -> Any:
    return kind(0.3, 0.1, REPLACE, dimension, n=n, **more)


def truncated(*ends: float | None) -> dict[str, Any]:
    return {"bounds": ends, "bounding": "truncated"}


def inflated(*ends: float | None) -> dict[str, Any]:
    return {"bounds": ends, "bounding": "inflated"}


def means() -> bdp.Release:
    """A group of each kind: noise without bounds, within two, and above one."""
    return bdp.Release.of_groups(
        {
            "plain": (noise(), [0.25, 0.75]),
            "normal": (noise(NORMAL, n=5), [-0.5, 0.25]),
            "truncated": (noise(NORMAL, **truncated(-1, 1)), [0.5, 0.0]),
            "open": (noise(**truncated(-1, None)), [0.5, 1.0]),
            "other side": (noise(**truncated(None, 1)), [0.5, 0.75]),
            "inflated": (noise(**inflated(-1, 1)), [1.0, -0.25]),
            "all at an end": (noise(NORMAL, **inflated(0.5, None)), [0.5, 0.5]),
        }
    )


def moments() -> bdp.Release:
    return bdp.Release.of_groups(
        {
            "plain": (noise(dimension=2), [(0.25, 1.0), (0.5, 0.75)]),
            "truncated": (noise(NORMAL, 9, 2, **truncated(-4, 4)), [(0.5, 1.5), (0.25, 2.0)]),
            "open": (noise(dimension=2, **truncated(-2, None)), [(0.25, 0.5), (0.0, 1.0)]),
            "inflated": (noise(dimension=2, **inflated(0, 1)), [(0.0, 1.0), (0.5, 0.25)]),
        }
    )


def sums(dimension: int | None = None) -> bdp.Release:
    z: list[Any] = [(3.0, 21.0), (2.5, 18.0)] if dimension else [3.0, 2.5]
    return bdp.Release.of_groups(
        {
            "plain": (LAPLACE(2.0, 1.0, REPLACE, dimension, n=20), z),
            "normal": (NORMAL(4.0, 1.0, REPLACE, dimension, n=16), z),
        }
    )


FLAT, KNOWN = bdp.GaussianModel(sd=1.25), bdp.GaussianModel((0.1, 1.5), sd=1.25)
UNKNOWN = bdp.GaussianModel((0.1, 0.5, 3.0, 2.0))
POOLED = bdp.models.HierarchicalGaussianModel((0.1, 1.5), spread=0.75, sd=1.25)
POOLED_UNKNOWN = bdp.models.HierarchicalGaussianModel((0.1, 1.5), 0.75, variance=(3.0, 2.0))


def of_sums(model: Any) -> Any:
    return dataclasses.replace(model, statistic="sum")


DENSITIES: dict[str, tuple[Any, Callable[[], bdp.Release]]] = {
    "flat": (FLAT, means),
    "known, sums": (of_sums(KNOWN), sums),
    "known, one": (KNOWN, lambda: means()["truncated"]),
    "unknown": (UNKNOWN, moments),
    "unknown, sums": (of_sums(UNKNOWN), lambda: sums(2)),
    "pooled": (POOLED, means),
    "pooled, unknown": (POOLED_UNKNOWN, moments),
    "pooled, unknown, sums": (of_sums(POOLED_UNKNOWN), lambda: sums(2)),
}
FIRST = {
    "gaussian": ("variance_log__", "mu"),
    "hierarchical_gaussian": ("variance_log__", "mean", "spread_log__", "away"),
}
"""PyMC's names of the parameters in the order of Stan's, those of all groups."""
THEN = ("around_", "mean_", "squares_", "variance_")


@pytest.mark.slow
@pytest.mark.parametrize("case", DENSITIES)
def test_the_two_programs_have_one_density(case):
    """At random points, up to a constant, on the scales without bounds where NUTS moves."""
    require_pystan()
    model, made = DENSITIES[case]
    release = made()
    pm_model = model.pymc_model(release)
    start = pm_model.initial_point()
    latent = [name for name in start if name not in FIRST[model.family]]
    of_group = [
        sorted((n for n in latent if n.startswith(kind)), key=lambda n: int(n.split("_")[1]))
        for kind in THEN
    ]
    order = [n for n in FIRST[model.family] if n in start]
    order += [n for names in of_group for n in names]
    assert sorted(order) == sorted(start)
    rng = np.random.default_rng(4)
    points = [
        {n: rng.normal(0, 0.7, np.shape(value)) for n, value in start.items()} for _ in range(5)
    ]
    logp = pm_model.compile_logp(mode="FAST_COMPILE")
    right = np.array([float(logp(point)) for point in points])
    rows = [np.concatenate([np.ravel(point[n]) for n in order]) for point in points]
    found = log_densities(model.program, model.stan_data(release), rows)
    np.testing.assert_allclose(found - found[0], right - right[0], rtol=1e-10, atol=1e-10)
    assert np.ptp(right) > 0.1


def test_the_programs_say_what_is_of_each_group():
    """Dimensions of the PyMC model itself are those of a fit."""
    for model, release in ((KNOWN, means()), (UNKNOWN, moments()), (POOLED, means())):
        pm_model = model.pymc_model(release)
        assert pm_model.named_vars_to_dims["mu"] == ("group",)
        assert list(pm_model.coords["group"]) == list(release.groups)
    assert UNKNOWN.pymc_model(moments()).named_vars_to_dims["sigma"] == ("group",)
    single = KNOWN.pymc_model(means()["plain"])
    assert single["mu"].ndim == 0
    assert not single.coords


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:under this posterior")
@pytest.mark.parametrize(
    ("model", "made"),
    [
        pytest.param(KNOWN, means, id="known"),
        pytest.param(UNKNOWN, moments, id="unknown"),
        pytest.param(
            of_sums(UNKNOWN), lambda: sums(2), id="unknown, sums", marks=pytest.mark.calibrate
        ),
    ],
)
def test_stan_agrees_with_the_exact_engine(model, made):
    """Means and squares within 5.2 Monte Carlo standard errors: false alarms below 2e-7 each."""
    import arviz as az

    require_pystan()
    release = made()
    idata = model.fit(release, engine="stan", draws=2000, seed=3)
    assert idata.attrs["engine"] == "stan"
    for g in release.groups:
        exact = model.posterior(release[g])
        for i, name in enumerate(model.variables):
            draws = idata.posterior[name].sel(group=g).to_numpy()
            mean, sd = (np.ravel(each)[i] for each in (exact.mean(), exact.sd()))
            assert az.rhat(draws) < 1.02, (g, name)
            assert abs(draws.mean() - mean) < 5.2 * az.mcse(draws), (g, name)
            square = (draws - mean) ** 2
            assert abs(square.mean() - sd**2) < 5.2 * az.mcse(square), (g, name)


def test_what_stan_does_not_read_is_said_before_anything_is_compiled():
    family = bdp.families.Gaussian(bounds=(-2.0, 2.0), sd=1.25)
    with bdp.reproducible(1):
        copies = bdp.ModipsSynthesizer(family=family, epsilon=2.0, copies=2, size=9)
        copied = copies.release(np.linspace(-1, 1, 20))
        whole = bdp.Release.of(bdp.mechanisms.DiscreteLaplaceMechanism(2.0, 1.0, REPLACE, n=5), [3])
    for model, release, message in (
        (KNOWN, copied, "use engine='pymc', which reads them too"),
        (of_sums(KNOWN), whole, "by 'discrete_laplace'; use bdp"),
        (KNOWN, [means(), means()], "takes one release at a time"),
        (
            of_sums(UNKNOWN),
            bdp.Release.of(noise(dimension=2, **truncated(-60, 60)), [(8.0, 30.0)]),
            "engine is 'stan', but the sum of squares was kept in a range",
        ),
    ):
        with pytest.raises(bdp.errors.InvalidInput, match=message):
            model.fit(release, engine="stan")


def test_numbers_at_an_inflated_end_are_counted():
    data = KNOWN.stan_data(means())
    assert data["at_high"] == [0, 0, 0, 0, 0, 1, 0]
    assert data["at_low"] == [0, 0, 0, 0, 0, 0, 2]
    assert data["K"] == len(data["z"]) == 11
    assert list(data["bounded"]) == [3, 4, 5]
    assert data["mean_high"] == [1.0, math.inf, 1.0]
