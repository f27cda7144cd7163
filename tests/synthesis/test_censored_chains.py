"""The censored beta posterior by Stan and PyMC: against the exact grid, and what it promises."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.engines.draws import Draws, import_arviz
from bayesdp.engines.pymc import sampling as pymc
from bayesdp.engines.stan import sampling as stan
from bayesdp.synthesis import posterior
from bayesdp.synthesis.censored_beta_law import BetaLaw
from bayesdp.synthesis.censored_chains import Chains
from tests.conftest import require_pystan

Y = stats.beta(0.5, 3).ppf((np.arange(1, 2001) - 0.5) / 2000)  # REFERENCE
BOX = bdp.synthesizers.PublicWeights(2.0, phi=(0.02, 0.5), lam=(1.0, 20.0))
ENGINES = ["stan", "pymc"]


def synthesizer(engine: str, **options: Any) -> bdp.synthesizers.CensoredBetaSynthesizer:
    return bdp.synthesizers.CensoredBetaSynthesizer(
        **({"epsilon": 4.0, "engine": engine} | options)
    )


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Draws without sampling: the last of chain k has phi = (1 + k) / 10 and lambda = 5."""
    seen: dict[str, Any] = {}

    def fake(*where: Any, variables: Any, draws: int, chains: int, **options: Any) -> Draws:
        seen.update(options, where=where, draws=draws, chains=chains)
        phi = np.tile(((1 + np.arange(chains)) / 10)[:, None], (1, 5))
        kept = {name: np.full_like(phi, 5.0) for name in variables} | {"phi": phi}
        return Draws(kept, {}, "stan")

    monkeypatch.setattr(posterior, "sample", fake)
    monkeypatch.setattr(pymc, "sample", fake)
    monkeypatch.setattr(stan, "sample", fake)
    monkeypatch.setattr(stan, "compile_program", lambda name: None)
    monkeypatch.setattr(posterior, "check_converged", lambda draws: None)
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("weights", [None, BOX], ids=["plain", "weighted"])
@pytest.mark.parametrize("engine", ENGINES)
def test_posterior_means_are_the_grids(engine: str, weights: Any):
    """Within 4 Monte Carlo standard errors, clip [-2, 2], at a fixed seed."""
    if engine == "stan":
        require_pystan()
    az = import_arviz()
    exact = synthesizer("grid", weights=weights).pseudo_posterior(Y).summary()
    with bdp.reproducible(11):
        idata = synthesizer(engine, weights=weights).pseudo_posterior(Y)
    assert set(idata.posterior.data_vars) == {"phi", "lambda"}
    assert idata.posterior.sizes == {"chain": 4, "draw": 1000}
    assert idata.attrs["engine"] == engine
    assert not bool(idata.sample_stats["diverging"].all())
    assert idata.constant_data["low"].item() == -2.0
    errors = az.mcse(idata)
    for name in ("phi", "lambda"):
        error = float(errors[name])
        assert error < 0.1 * exact.loc[name, "sd"]
        assert abs(float(idata.posterior[name].mean()) - exact.loc[name, "mean"]) < 4 * error
        assert float(idata.posterior[name].std()) == pytest.approx(exact.loc[name, "sd"], rel=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_release_end_to_end(engine: str, tmp_path: Any):
    if engine == "stan":
        require_pystan()
    weights = np.linspace(0, 1, Y.size)
    made = synthesizer(engine, copies=2, weights=weights)
    release = made.release(Y, size=300, variable="share")
    assert [frame["share"].size for frame in release.to_frames()] == [300, 300]
    assert release.outputs[0] != release.outputs[1]
    release.save(tmp_path / "out")
    assert bdp.Release.load(tmp_path / "out") == release
    assert '"n": null' in (tmp_path / "out" / "manifest.json").read_text()
    mean = synthesizer("grid", epsilon=2.0, weights=weights).pseudo_posterior(Y).summary()
    for frame in release.to_frames():  # 6 standard errors of a mean whose draw varies too
        room = 6 * (frame["share"].std() / math.sqrt(300) + mean.loc["phi", "sd"])
        assert abs(frame["share"].mean() - mean.loc["phi", "mean"]) < room


def run_program(y: np.ndarray, weights: Any, interval: tuple[float, float]) -> Draws:
    """Few draws under a wide prior, every record's log density among them."""
    chains = Chains("stan", 1.0, 1, "add_remove", 0.0, BetaLaw((0.7, 0.8), (0.1, 0.3), 50.0))
    data = chains.stan_data(y, weights)
    data |= {"low": interval[0], "high": interval[1], "log_densities": 1}
    names = ["phi", "lambda", "log_density", "log_lik"]
    return stan.sample("censored_beta", data, variables=names, draws=200, warmup=200, seed=5)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("interval", [(-0.05, 0.05), (-0.3, -0.1), (0.5, 0.6)])
def test_the_stan_program_sums_every_record(interval: tuple[float, float], weighted: bool):
    """Its log density, less the prior and the Jacobian, is the clipped sum and a constant."""
    require_pystan()
    rng = np.random.default_rng(3)
    y = rng.permutation(np.append(rng.beta(0.5, 0.7, 37), [1e-12, 1 - 1e-9, 0.5]))
    w = rng.random(y.size) * 2 if weighted else np.ones(y.size)
    draws = run_program(y, w if weighted else None, interval)
    phi, lam = (draws.posterior[name][..., None] for name in ("phi", "lambda"))
    a, b = lam * phi, lam * (1 - phi)
    kinds = {(bool(p > 1), bool(q > 1)) for p, q in zip(a.ravel(), b.ravel(), strict=True)}
    assert len(kinds) == 4  # hills, bowls, rising and falling
    density = w * ((a - 1) * np.log(y) + (b - 1) * np.log1p(-y) - special.betaln(a, b))
    assert draws.posterior["log_density"] == pytest.approx(density, rel=1e-9, abs=1e-9)
    clipped = np.clip(density, *interval)
    assert draws.posterior["log_lik"] == pytest.approx(clipped, rel=1e-9, abs=1e-9)
    phi, lam = phi[..., 0], lam[..., 0]
    prior = (0.7 - 1) * np.log(phi) + (0.8 - 1) * np.log1p(-phi) - 1.3 * np.log(lam)
    share = (lam - 0.1) / 49.9
    jacobian = np.log(phi) + np.log1p(-phi) + np.log(share) + np.log1p(-share)
    rest = draws.sample_stats["lp"] - clipped.sum(axis=-1) - prior - jacobian
    assert np.ptp(rest) < 1e-7


@pytest.mark.parametrize("engine", ENGINES)
def test_the_promise_is_conditional_and_costs_epsilon(engine: str, quick: dict[str, Any]):
    made = synthesizer(engine, copies=3, weights=lambda y: y)
    release = made.release(Y, size=40)
    assert release.guarantee == made.guarantee()
    assert release.guarantee.strength is bdp.Strength.CONDITIONAL
    assert 4.0 * (1 - 1e-14) <= release.guarantee.epsilon <= 4.0
    assert release.guarantee.neighbours is bdp.Neighbours.ADD_REMOVE
    assert release.mechanism.n is None
    assert release.mechanism.engine == engine
    spoken = " ".join(release.guarantee.assumptions)
    assert "convergence diagnostics are no proof" in spoken
    assert ("31 bits" if engine == "stan" else "64 bits") in spoken
    replaced = synthesizer(engine, neighbours="replace_one", center=1.0)
    release = replaced.release(Y, size=7)
    assert (release.mechanism.lower, release.mechanism.upper) == (0.0, 2.0)
    assert (release.mechanism.n, release.guarantee.epsilon) == (2000, 4.0)
    assert release.guarantee == replaced.guarantee()


@pytest.mark.parametrize("engine", ENGINES)
def test_each_copy_is_the_end_of_a_chain_of_its_own(engine: str, quick: dict[str, Any]):
    with bdp.reproducible(4):
        release = synthesizer(engine, copies=5).release(Y, size=2000)
    assert (quick["chains"], quick["draws"], quick["warmup"]) == (5, 1000, 1000)
    for k, frame in enumerate(release.to_frames()):
        phi = (1 + k) / 10
        room = 6 * math.sqrt(phi * (1 - phi) / 6 / 2000)
        assert abs(frame["value"].mean() - phi) < room


def test_stan_takes_its_seed_from_the_secure_generator(
    quick: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    for word in (0, 1, 2**31 - 1, 2**31, 2**64 - 1):
        monkeypatch.setattr(
            posterior, "random_words", lambda count, word=word: np.array([word], dtype=np.uint64)
        )
        synthesizer("stan").release(Y, size=1)
        assert quick["seed"] == word


@pytest.mark.parametrize("engine", ENGINES)
def test_the_pseudo_posterior_is_drawn_as_it_is_asked_for(engine: str, quick: dict[str, Any]):
    synthesizer(engine).pseudo_posterior(Y, draws=30, chains=3, warmup=40, seed=0)
    assert [quick[name] for name in ("draws", "chains", "warmup", "seed")] == [30, 3, 40, 0]
    for wrong in ({"draws": 0}, {"chains": 1.5}, {"seed": -1}):
        with pytest.raises(bdp.errors.InvalidInput, match=next(iter(wrong))):
            synthesizer(engine).pseudo_posterior(Y, **wrong)
    with pytest.raises(bdp.errors.InvalidInput, match="the grid's law is exact"):
        bdp.synthesizers.CensoredBetaSynthesizer(4.0).pseudo_posterior(Y, seed=1)


@pytest.mark.parametrize("weights", [None, BOX], ids=["plain", "weighted"])
@pytest.mark.parametrize("engine", ENGINES)
def test_records_have_their_log_densities_if_asked(
    engine: str, weights: Any, quick: dict[str, Any]
):
    made = synthesizer(engine, weights=weights, copies=2)
    idata = made.pseudo_posterior(Y, chains=3, seed=0, log_lik=True, max_treedepth=7)
    assert quick["max_treedepth"] == 7
    found = idata.log_likelihood
    assert found["log_lik"].dims == ("chain", "draw", "record")
    law = stats.beta(5 * 0.2, 5 * 0.8)  # chain 1
    weight = 1.0 if weights is None else weights(Y)
    right = weight * law.logpdf(Y)
    assert found["log_lik_noM"][1, 0].to_numpy() == pytest.approx(right, rel=1e-9, abs=1e-9)
    low, high = (idata.constant_data[name].item() for name in ("low", "high"))
    assert (low, high) == (-1.0, 1.0)
    clipped = found["log_lik"].to_numpy()
    assert np.array_equal(clipped, np.clip(found["log_lik_noM"].to_numpy(), low, high))
    assert np.array_equal(idata.constant_data["lipschitz"], np.abs(clipped).max(axis=(0, 1)))
    assert np.array_equal(idata.observed_data["value"], Y)
    assert np.array_equal(idata.constant_data["weight"], np.broadcast_to(weight, Y.size))
    assert "log_likelihood" not in made.pseudo_posterior(Y, chains=3, seed=0).groups()
    assert made.stan_data(Y, log_lik=True)["log_densities"] == 1
    data, untouched = made.stan_data(Y), Y.copy()
    assert (data["n"], data["low"], data["log_densities"]) == (Y.size, -1.0, 0)
    assert np.array_equal(data["y"], untouched)


@pytest.mark.parametrize("engine", ENGINES)
def test_settings_of_the_pseudo_posterior_are_the_engines(engine: str, quick: dict[str, Any]):
    made, other = synthesizer(engine), {"stan": "target_accept", "pymc": "adapt_delta"}[engine]
    for wrong in ({other: 0.9}, {"sampler": "pymc"}, {"max_treedepth": 0}, {"nothing": 1}):
        with pytest.raises(bdp.errors.InvalidInput, match=next(iter(wrong))):
            made.pseudo_posterior(Y, **wrong)
    with pytest.raises(bdp.errors.InvalidInput, match="log_lik asks for 80,000,000 log densities"):
        made.pseudo_posterior(Y, draws=10_000, log_lik=True)
    with pytest.raises(bdp.errors.InvalidInput, match="log_lik"):
        made.pseudo_posterior(Y, log_lik=1)  # type: ignore[arg-type]
    for grid in ({"log_lik": True}, {"target_accept": 0.9}):
        with pytest.raises(bdp.errors.InvalidInput, match="the grid's law is exact"):
            bdp.synthesizers.CensoredBetaSynthesizer(4.0).pseudo_posterior(Y, **grid)
    assert "seed" not in quick


def test_its_programs_are_public() -> None:
    made = synthesizer("grid")
    assert "#include" not in made.stan_code()
    assert "beta_lpdf" in made.stan_code()
    model = made.pymc_model(Y[:20])
    assert {each.name for each in model.free_RVs} == {"phi", "lambda"}
    assert "censored_log_likelihood" in model.named_vars


@pytest.mark.parametrize("call", ["release", "pseudo_posterior", "stan_data", "pymc_model"])
def test_the_records_old_name_works_and_warns(call: str):
    made = bdp.synthesizers.CensoredBetaSynthesizer(4.0, grid=(3, 3), size=2)
    message = rf"{call}: the argument y is deprecated .*; write data"
    with pytest.warns(DeprecationWarning, match=message) as caught:
        getattr(made, call)(y=Y[:9])
    assert caught[0].filename == __file__


def test_unclipped_it_is_the_ordinary_posterior():
    """By quadrature, on the grid; weights and clipping have no part in it."""
    made = synthesizer("grid", weights=BOX, copies=2, center=1.0, neighbours="replace_one")
    summary = made.pseudo_posterior(Y, clipped=False).summary()
    phi, lam = np.linspace(0.1, 0.2, 401)[:, None], np.linspace(2.5, 5, 401)
    a, b = lam * phi, lam * (1 - phi)
    logs = (a - 1) * np.log(Y).sum() + (b - 1) * np.log1p(-Y).sum() - Y.size * special.betaln(a, b)
    weight = special.softmax(logs - 2.5 * np.log(lam))
    for name, values, p in (("phi", phi[:, 0], weight.sum(1)), ("lambda", lam, weight.sum(0))):
        mean = float(p @ values)
        sd = math.sqrt(float(p @ (values - mean) ** 2))
        assert summary.loc[name, "mean"] == pytest.approx(mean, abs=1e-3 * sd)
        assert summary.loc[name, "sd"] == pytest.approx(sd, rel=1e-3)


@pytest.mark.parametrize("engine", ENGINES)
def test_unclipped_chains_clip_and_weigh_nothing(engine: str, quick: dict[str, Any]):
    made = synthesizer(engine, weights=BOX, copies=2, center=1.0, neighbours="replace_one")
    idata = made.pseudo_posterior(Y, seed=0, log_lik=True, clipped=False)
    found = idata.log_likelihood
    assert np.array_equal(found["log_lik"], found["log_lik_noM"])
    right = stats.beta(5 * 0.2, 5 * 0.8).logpdf(Y)  # chain 1
    assert found["log_lik"][1, 0].to_numpy() == pytest.approx(right, rel=1e-9, abs=1e-9)
    assert np.all(idata.constant_data["weight"] == 1)
    if engine == "stan":
        _, data = quick["where"]
        assert (data["weighted"], data["low"] < -1e299, data["high"] > 1e299) == (0, True, True)
        return
    parameters = {"phi": 0.2, "lambda": 5.0}
    (potential,) = quick["where"][0].potentials
    assert potential.eval(parameters_of(quick["where"][0], parameters)) == pytest.approx(
        right.sum(), rel=1e-9
    )
    with pytest.raises(bdp.errors.InvalidInput, match="clipped is 0"):
        made.pseudo_posterior(Y, clipped=0)  # type: ignore[arg-type]


def parameters_of(model: Any, values: dict[str, float]) -> dict[Any, float]:
    return {model[name]: value for name, value in values.items()}


@pytest.fixture
def dataset(tmp_path: Any) -> Any:
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("records", epsilon=5.0, neighbours="add_remove")
    return ledger.dataset("records")


def test_chains_that_do_not_converge_are_refused_after_the_spend(
    dataset: Any, quick: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.undo()
    random = np.random.default_rng(1).random((4, 50))
    apart = {"phi": (random + np.arange(4)[:, None]) / 9, "lambda": 1 + random}
    monkeypatch.setattr(stan, "sample", lambda *_, **__: Draws(apart, {}, "stan"))
    monkeypatch.setattr(stan, "compile_program", lambda name: None)
    with pytest.raises(bdp.errors.EngineFailed, match="clearly not converged"):
        synthesizer("stan").release(Y, ledger=dataset)
    assert dataset.remaining().epsilon == pytest.approx(1.0)
    with pytest.raises(bdp.errors.BudgetExceeded):
        synthesizer("stan").release(Y, ledger=dataset)


def test_without_stan_the_way_out_is_named_and_nothing_is_spent(
    dataset: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(stan, "find_cmdstan", lambda: None)
    monkeypatch.setattr(stan, "pystan_version", lambda: None)
    for attempt in (
        lambda: synthesizer("stan").release(Y, ledger=dataset),
        lambda: synthesizer("stan").pseudo_posterior(Y),
    ):
        with pytest.raises(bdp.errors.MissingDependency, match=r'pip install "bayesdp\[stan\]"'):
            attempt()
    assert dataset.remaining().epsilon == 5.0


@pytest.mark.parametrize(
    ("engine", "data", "options", "message"),
    [
        ("stan", [0.25, 1.0], {}, "at 0 or 1"),
        ("pymc", [0.25, math.nan], {}, "missing"),
        ("stan", [0.25], {"size": 0}, "size is 0"),
        ("pymc", [0.25], {"size": 2.5}, "size is 2.5"),
        ("pymc", [0.25], {"variable": "phi"}, "a parameter's name"),
        ("stan", [0.25], {"variable": "copy"}, "rename"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_spent(engine, data, options, message, dataset):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        synthesizer(engine).release(data, ledger=dataset, **options)
    with pytest.raises(bdp.errors.InvalidInput, match="weights must be"):
        synthesizer(engine, weights=[0.5] * 3).release([0.25], ledger=dataset)
    assert dataset.remaining().epsilon == 5.0


def test_the_parameters_are_those_of_the_program():
    assert BetaLaw.parameters == ("phi", "lambda")
