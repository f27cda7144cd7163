"""Posteriors with a mode and a plateau as wide as the prior, against quadrature.

Noise could have made all that was released, so that the intercept may be anything below. False
alarm 1e-6 a test.
"""

import dataclasses
import itertools
import warnings

import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.engines.draws import import_arviz
from bayesdp.engines.log_linear import chains as engine
from bayesdp.mechanisms.counts.cells import Axis
from tests.conftest import require_pystan

FALSE_ALARM = 1e-6
TAU = 0.7
AXES = (Axis("a", categories=(0, 1)), Axis("b", categories=(0, 1)))
CELLS = list(itertools.product((1, -1), repeat=2))
SOME = ((5, 2, -1, 3), (0.0, 10.0))
FEW = ((7, 2, -1, 4), (0.0, 3.0))
NONE = ((0, 0, -3, 0), (0.0, 10.0))


def low(intercept):
    return intercept < -2


def oracle(output, prior):
    """E of the intercept, of its square about that, and of whether it is low."""
    wide = np.linspace(prior[0] - 6 * prior[1] - 4, 8, 6001)
    counts = np.arange(150)
    laws = [
        special.logsumexp(
            counts * wide[:, None] - np.exp(wide)[:, None] - special.gammaln(counts + 1.0)
            - abs(z - counts), axis=1,
        )
        for z in output
    ]  # fmt: skip
    intercept = np.concatenate(
        [np.arange(prior[0] - 6 * prior[1], -5, 0.1), np.arange(-5, 5, 0.02)]
    )
    effects = np.linspace(-5 * TAU, 5 * TAU, 61)
    u, a, b = np.meshgrid(intercept, effects, effects, indexing="ij")
    found = stats.norm.logpdf(u, *prior) - (a**2 + b**2) / (2 * TAU**2)
    for (one, other), law in zip(CELLS, laws, strict=True):
        found += np.interp(u + one * a + other * b, wide, law)
    law = special.softmax(special.logsumexp(found, axis=(1, 2)) + np.log(np.gradient(intercept)))
    mean = law @ intercept
    return mean, law @ (intercept - mean) ** 2, law[low(intercept)].sum()


def fitted(case, **options):
    output, prior = case
    made = bdp.mechanisms.NoisyMarginalsMechanism(1.0, AXES, (("a", "b"),))
    model = bdp.models.LogLinearModel("a + b", prior=TAU, intercept=prior)
    return model.fit(bdp.Release.of(made, [output]), cells=False, **options)


def errors(idata, wanted):
    """By how many Monte Carlo standard errors each of `oracle` is missed."""
    intercept = idata.posterior["beta"][..., 0].to_numpy()
    az, found = import_arviz(), []
    each = intercept, (intercept - wanted[0]) ** 2, low(intercept).astype(float)
    for x, want in zip(each, wanted, strict=True):
        size = float(az.ess({"x": x}, method="mean")["x"])
        found.append(abs(x.mean() - want) / (x.std() / size**0.5))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "by"), [(SOME, "hmc"), (SOME, "gibbs"), (FEW, "hmc"), (FEW, "gibbs"), (NONE, "hmc")]
)
def test_the_plateau_is_sampled(case, by):
    """Without a warning, which would be an error here."""
    wanted, seeds = oracle(*case), range(1, 5)
    limit = stats.norm.isf(FALSE_ALARM / 2 / 3 / len(seeds))
    for seed in seeds:
        idata = fitted(case, seed=seed, engine=by)
        assert "no problem found" in idata.attrs["verdict"]
        assert max(errors(idata, wanted)) < limit


@pytest.mark.slow
def test_chains_that_miss_the_plateau_are_convicted(monkeypatch):
    """With leaps that lead nowhere, whose chances are seen all the same."""
    monkeypatch.setattr(engine, "_MOVING", False)
    wanted, convicted = oracle(*FEW), []
    for seed in (1, 2, 8, 10):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            idata = fitted(FEW, seed=seed, engine="hmc")
        good = "no problem found" in idata.attrs["verdict"]
        assert good == (not warned)
        assert not good or max(errors(idata, wanted)) < 4
        convicted.append("is seldom visited" in idata.attrs["verdict"])
    assert convicted[0]


@pytest.mark.slow
@pytest.mark.parametrize("moving", [True, False])
def test_draws_by_nuts_that_miss_the_plateau_are_convicted(moving, monkeypatch):
    """Another engine's draws are doubted by leaps from them, and not where they are right."""
    monkeypatch.setattr(engine, "_MOVING", moving)
    output, prior = FEW
    made = bdp.mechanisms.NoisyMarginalsMechanism(1.0, AXES, (("a", "b"),))
    model = bdp.models.LogLinearModel("a + b", prior=TAU, intercept=prior)
    problem = model.read(bdp.Release.of(made, [output])).problem
    options = {"summed": True, "draws": 1000, "chains": 4, "warmup": 1000, "thin": 2, "seed": 1}
    drawn = dataclasses.replace(engine.sample(problem, **options), doubts=())
    found = engine.doubted(drawn, problem, seed=2)
    assert "u" not in found.posterior
    assert [doubt.split(":")[0] for doubt in found.doubts] == (
        [] if moving else ["a region of the posterior is seldom visited"]
    )


@pytest.mark.slow
def test_nuts_samples_the_plateau():
    require_pystan()
    wanted = oracle(*FEW)
    idata = fitted(FEW, seed=1, engine="stan", draws=4000)
    assert "no problem found" in idata.attrs["verdict"]
    assert max(errors(idata, wanted)) < stats.norm.isf(FALSE_ALARM / 2 / 3)
