"""PyMC's models sampled on JAX: right in double precision, seeded, and nothing left on the disk."""

import tempfile
from pathlib import Path
from typing import Any

import arviz as az
import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.engines.pymc import sampling as pymc
from bayesdp.errors import EngineFailed
from tests.conftest import require_jax

TAIL = 5.2  # standard errors: 1e-7 of false alarms


@pytest.fixture(autouse=True)
def _installed() -> None:
    require_jax()


@pytest.fixture
def single() -> Any:
    """JAX as another library may have left it: in single precision."""
    pymc.import_pymc()
    import jax
    import pytensor.link.jax.dispatch  # which turns double precision on, once

    assert pytensor.link.jax.dispatch is not None
    jax.config.update("jax_enable_x64", False)
    yield jax
    assert not jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)


@pytest.mark.slow
def test_draws_are_double_and_of_the_seed(
    single: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pm = pymc.import_pymc()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pm.Model() as model:
        pm.Normal("x", 1e8, 1.0)  # where single precision has steps of 8

    def drawn(seed: int, sampler: Any = "blackjax") -> np.ndarray[Any, Any]:
        options = {"draws": 400, "warmup": 400, "chains": 2, "seed": seed}
        found = pymc.sample(model, variables=["x"], sampler=sampler, **options)
        assert found.posterior["x"].dtype == np.float64
        return found.posterior["x"] - 1e8

    x, other = drawn(1), drawn(2, "numpyro")
    for each in (x, other):
        assert abs(each.mean()) < TAIL * az.mcse(each)
        assert abs((each**2).mean() - 1) < TAIL * az.mcse(each**2)
    assert np.array_equal(x, drawn(1))
    assert not np.array_equal(x, other)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the chains of this fit")
def test_models_agree_with_their_own_engines() -> None:
    noise = bdp.mechanisms.LaplaceMechanism(0.5, 0.1, bdp.Neighbours.REPLACE_ONE, n=20)
    mean = bdp.Release.of(noise, [1.0, 1.5])
    with bdp.reproducible(5):
        counts = {"a": bdp.Count(20, 50), "b": bdp.Count(70, 80), "c": bdp.Count(0, 30)}
        groups = bdp.BetaBinomialSynthesizer(epsilon=3.0, copies=2).release(counts)
    cases = [
        (bdp.GaussianModel(sd=1.0), mean, "blackjax", "exact"),
        (bdp.models.HierarchicalBinomialModel(), groups, "numpyro", "marginal"),
    ]
    for model, release, sampler, own in cases:
        ours = model.fit(release, engine=own, seed=1).posterior
        theirs = model.fit(
            release, engine="pymc", sampler=sampler, draws=500, warmup=500, chains=2, seed=1
        ).posterior
        for name in theirs:
            a, b = theirs[name], ours[name]
            error = np.hypot(az.mcse(a)[name], az.mcse(b)[name])
            away = (a.mean(("chain", "draw")) - b.mean(("chain", "draw"))) / error
            assert float(np.abs(away).max()) < TAIL, name


def test_samplers_start_and_are_threaded_as_told(monkeypatch: pytest.MonkeyPatch) -> None:
    pm = pymc.import_pymc()
    from pymc.sampling import jax as pymc_jax

    with pm.Model() as model:
        pm.Normal("x")
    asked: dict[str, Any] = {}

    def caught(**given: Any) -> None:
        asked.update(given)
        raise RuntimeError("asked")

    for sampler, depth in (("numpyro", "max_tree_depth"), ("blackjax", "max_num_doublings")):
        monkeypatch.setattr(pymc_jax, f"sample_{sampler}_nuts", caught)
        for cores, method in ((None, "parallel"), (4, "parallel"), (1, "vectorized")):
            with pytest.raises(EngineFailed, match="asked"):
                pymc.sample(
                    model, variables=["x"], draws=1, sampler=sampler,  # type: ignore[arg-type]
                    initvals={"x": 2.0}, cores=cores, max_treedepth=3, target_accept=0.9,
                )  # fmt: skip
            assert asked["chain_method"] == method
            assert asked["initvals"] == {"x": 2.0}
            assert asked["nuts_kwargs"] == {depth: 3}
            assert asked["target_accept"] == 0.9


def test_a_model_that_jax_does_not_compile_names_the_samplers_that_do() -> None:
    pm = pymc.import_pymc()
    import pytensor.tensor as pt
    from pytensor.compile.ops import wrap_py

    @wrap_py([pt.dscalar], [pt.dscalar])
    def own(x: Any) -> Any:
        return x

    with pm.Model() as model:
        pm.Potential("p", own(pm.Normal("x")))
    said = r"blackjax can't sample the model.*take sampler='nutpie' or 'pymc'"
    with pytest.raises(EngineFailed, match=said) as failure:
        pymc.sample(model, variables=["x"], draws=10, sampler="blackjax")
    assert "\n" not in str(failure.value)
