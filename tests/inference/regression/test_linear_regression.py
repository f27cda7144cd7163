"""Linear regression from noisy moments: the density, oracles, limits, and what is refused.

False alarm 1e-6 a statistical test.
"""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

import bayesdp as bdp
from bayesdp.inference.regression.chain import sample_moments
from bayesdp.inference.regression.linear_release import read
from bayesdp.inference.regression.start import Hidden, white_space
from bayesdp.kernels.regression.coordinates import sampled_density
from bayesdp.mechanisms.families.moments import moments_of

pytestmark = pytest.mark.slow

FALSE_ALARM = 1e-6
PRIOR_DRAWS = 400_000
ANY = "ignore:the chains of this fit"
PRIOR = (0.3, 2.0, 3.0, 0.2)  # m0, k, a, b
PREDICTORS = (0.1, 1.5, 4.0, 0.6)  # m, r, nu, psi


def simulated(rng: np.random.Generator, size: int, n: Any, p: int = 1) -> dict[str, np.ndarray]:
    """Parameters from the prior and moments of n records, `size` of each; n may be an array."""
    m0, k, a, b = PRIOR
    m, r, nu, psi = PREDICTORS
    sigma = np.sqrt(b / rng.standard_gamma(a, size))
    c = m0 + sigma[:, None] * rng.standard_normal((size, p + 1)) / math.sqrt(k)
    spread = stats.invwishart(nu, psi * np.eye(p)).rvs(size, random_state=rng).reshape(size, p, p)
    root = np.linalg.cholesky(spread)
    mu = m + np.einsum("tij,tj->ti", root, rng.standard_normal((size, p))) / math.sqrt(r)
    d, n = p + 1, np.broadcast_to(n, size)
    whole = np.zeros((size, d, d))  # a root of the covariance of (x, y)
    whole[:, :p, :p] = root
    whole[:, p, :p] = np.einsum("ti,tij->tj", c[:, 1:], root)
    whole[:, p, p] = sigma
    centre = np.concatenate([mu, (c[:, :1] + np.sum(c[:, 1:] * mu, axis=1, keepdims=True))], 1)
    step = rng.standard_normal((size, d)) / np.sqrt(n)[:, None]
    mean = centre + np.einsum("tij,tj->ti", whole, step)
    bartlett = np.tril(rng.standard_normal((size, d, d)), -1)
    degrees = n[:, None] - 1 - np.arange(d)
    bartlett[:, range(d), range(d)] = np.sqrt(2 * rng.standard_gamma(degrees / 2))
    rows = whole @ bartlett
    second = rows @ rows.swapaxes(1, 2) + n[:, None, None] * mean[..., None] * mean[:, None]
    i, j = np.triu_indices(d, 1)
    sums = n[:, None] * mean
    squares = second[:, range(d), range(d)]
    numbers = np.concatenate([sums, squares, second[:, i, j]], axis=1)
    return {"c": c, "sigma": sigma, "n": n, "numbers": numbers}


def mechanism(p: int, scale: float, n: int | None, noise: str = "laplace") -> Any:
    names = [*(f"x{j}" for j in range(p)), "y"]
    return bdp.mechanisms.NoisyMomentsMechanism(dict.fromkeys(names, (-1.0, 1.0)), scale, n, noise)


def released(made: Any, numbers: np.ndarray, rng: np.random.Generator, copies: int = 1) -> Any:
    """Noise on moments that needn't be of records within the bounds."""
    shape = (copies, numbers.size)
    away = rng.laplace(size=shape) if made.noise == "laplace" else rng.standard_normal(shape)
    z = np.round((numbers + made.scale * away) / made.granularity) * made.granularity
    if made.n is None:
        z[:, 0] = np.round(z[:, 0])
    return bdp.Release.of(made, [tuple(row) for row in z.tolist()])


def model(**known: Any) -> bdp.LinearRegressionModel:
    return bdp.LinearRegressionModel("y", prior=PRIOR, predictors_prior=PREDICTORS, **known)


def hidden(release: bdp.Release, sizes: range | None = None) -> Hidden:
    return read(
        release, response="y", predictors=None, prior=PRIOR, predictors_prior=None, sizes=sizes
    ).hidden


# The density.


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("n", [30, None])
def test_its_gradient_is_the_density_s(n, noise):
    rng = np.random.default_rng(1)
    made = mechanism(3, 4.0, n, noise)
    numbers = simulated(rng, 1, 30, 3)["numbers"][0]
    numbers = numbers if n else np.append(30.0, numbers)
    space = white_space(hidden(released(made, numbers, rng, copies=2), None if n else range(9, 90)))
    size = space[0].size
    for _ in range(5):
        q, slope, unused = rng.standard_normal(size), np.empty(size), np.empty(size)
        assert math.isfinite(sampled_density(q, slope, space))
        found = optimize.approx_fprime(q, lambda x, u=unused: sampled_density(x, u, space), 1e-6)
        assert slope == pytest.approx(found, rel=1e-3, abs=1e-3)


CELLS = {
    "laplace": (1, 12, 1.5, "laplace", None, 1),
    "gaussian": (1, 9, 3.0, "gaussian", None, 2),
    "fewest records": (1, 3, 1.5, "laplace", None, 1),
    "two predictors": (2, 10, 3.0, "laplace", None, 1),
    "n unknown": (1, None, 1.5, "laplace", range(3, 30), 1),
    "n unknown, gaussian": (1, None, 2.0, "gaussian", range(5, 26), 2),
}


@pytest.mark.parametrize("cell", CELLS)
def test_it_is_the_posterior_by_weighted_draws_from_the_prior(cell):
    """Small data, where draws of parameters and moments can be weighted by the noise.

    Where n is unknown, also the constants of p(moments | n) count.
    """
    p, n, scale, noise, sizes, copies = CELLS[cell]
    rng = np.random.default_rng(len(cell))
    truth = simulated(rng, 1, n or 12, p)["numbers"][0]
    made = mechanism(p, scale, n, noise)
    release = released(made, truth if n else np.append(12.0, truth), rng, copies)
    numbers = n if sizes is None else rng.integers(sizes[0], sizes[-1] + 1, PRIOR_DRAWS)
    drawn = simulated(rng, PRIOR_DRAWS, numbers, p)
    moments = drawn["numbers"]
    if sizes is not None:
        moments = np.column_stack([drawn["n"], moments])
    away = (np.array(release.outputs)[:, None] - moments) / scale
    law = -np.abs(away) if noise == "laplace" else -(away**2) / 2
    log_weights = law.sum(axis=(0, 2))
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    assert 1 / np.sum(weights**2) > 200

    fitted = model(n=sizes).fit(release, draws=3000, seed=2)
    assert "no problem" in fitted.attrs["verdict"]
    import arviz as az

    posterior = fitted.posterior
    pairs = [(posterior["beta"][..., j].to_numpy(), drawn["c"][:, j]) for j in range(p + 1)]
    pairs.append((posterior["sigma"].to_numpy(), drawn["sigma"]))
    if sizes is not None:
        pairs.append((posterior["n"].to_numpy(), drawn["n"]))
    for ours, theirs in pairs:
        for level in (0.1, 0.5, 0.9):
            cut = np.quantile(ours, level)
            under, below = (ours <= cut).astype(float), theirs <= cut
            share = float(weights @ below)
            error = math.hypot(
                math.sqrt(float(np.sum(weights**2 * (below - share) ** 2))),
                float(az.mcse({"x": under})["x"]),
            )
            assert abs(under.mean() - share) < 5.5 * error  # 30 comparisons: 1.1e-6


# Records are simulated beyond the bounds, whose moments no noise so small explains.
@pytest.mark.filterwarnings("ignore:noise hardly explains what was released")
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_without_noise_it_is_the_conjugate_posterior(noise):
    rng = np.random.default_rng(3)
    numbers = simulated(rng, 1, 60, 2)["numbers"][0]
    release = released(mechanism(2, 1e-5, 60, noise), numbers, rng)
    ours = model().fit(release, draws=2000, seed=1).posterior
    exact = model().fit_naive(release, draws=50_000, chains=1, seed=2).posterior
    for name in ("beta", "sigma"):
        one = ours[name].to_numpy()[:, ::4].reshape(2000, -1)
        other = exact[name].to_numpy().reshape(50_000, -1)
        for a, b in zip(one.T, other.T, strict=True):
            assert stats.ks_2samp(a, b).pvalue > FALSE_ALARM


def test_the_naive_posterior_is_the_textbook_s():
    """Of exact moments: ridge-like means, by the records themselves."""
    rng = np.random.default_rng(4)
    z = rng.uniform(-0.9, 0.9, (40, 3))
    numbers = np.sum([moments_of(tuple(row)) for row in z], axis=0)
    release = released(mechanism(2, 1e-6, 40), numbers, rng)
    beta = model().fit_naive(release, draws=40_000, chains=1, seed=1).posterior["beta"][0]
    design = np.column_stack([np.ones(40), z[:, :2]])
    m0, k, a, b = PRIOR
    precision = k * np.eye(3) + design.T @ design
    centre = np.linalg.solve(precision, k * m0 * np.ones(3) + design.T @ z[:, 2])
    rest = z[:, 2] @ z[:, 2] + 3 * k * m0**2 - centre @ precision @ centre
    scale = (b + rest / 2) / (a + 20 - 1) * np.linalg.inv(precision)
    error = np.sqrt(np.diag(scale) / 40_000)
    assert np.all(np.abs(beta.to_numpy().mean(axis=0) - centre) < 5.5 * error)
    assert np.cov(beta.to_numpy().T) == pytest.approx(scale, rel=0.1, abs=0.03 * scale.max())


def test_where_noise_swamps_the_data_the_prior_is_left():
    """No positive matrix, and still a posterior: that of the prior."""
    rng = np.random.default_rng(5)
    numbers = simulated(rng, 1, 50, 2)["numbers"][0]
    made = mechanism(2, 1e5, 50)
    release = released(made, numbers, rng)
    with pytest.raises(bdp.errors.InvalidInput, match="no naive posterior"):
        model().fit_naive(release)
    fitted = model().fit(release, draws=2000, seed=1).posterior
    prior = simulated(rng, 50_000, 50, 2)
    for ours, theirs in (
        (fitted["sigma"].to_numpy(), prior["sigma"]),
        (fitted["beta"].to_numpy()[..., 1], prior["c"][:, 1]),
    ):
        assert stats.ks_2samp(ours[:, ::20].ravel(), theirs).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("p", "n", "scale", "noise"),
    [
        (6, 50, 300.0, "laplace"),
        (6, 10**6, 3.0, "laplace"),
        (6, None, 300.0, "laplace"),
        (3, 60, 100.0, "gaussian"),
        (4, None, 5.0, "gaussian"),
    ],
)
@pytest.mark.filterwarnings(ANY)
def test_chains_mix_from_little_noise_to_much(p, n, scale, noise):
    """All numbers but a confidential n, whose own chain is the slowest where nothing is known."""
    import arviz as az

    rng = np.random.default_rng(6)
    numbers = simulated_within(rng, n or 1000, p)
    release = released(
        mechanism(p, scale, n, noise), numbers if n else np.append(1000.0, numbers), rng
    )
    idata = bdp.LinearRegressionModel("y").fit(release, draws=1000, seed=1)
    found = az.summary(idata, var_names=["beta", "sigma"], round_to=4)
    assert found["r_hat"].max() < 1.02
    assert found["ess_bulk"].min() > 400


def simulated_within(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    x = rng.normal(0, 0.3, (n, p))
    z = np.column_stack([x, 0.2 + x @ np.linspace(-0.5, 0.5, p) + rng.normal(0, 0.1, n)])
    i, j = np.triu_indices(p + 1, 1)
    second = z.T @ z
    return np.concatenate([z.sum(axis=0), np.diag(second), second[i, j]])


# Units, columns, and copies.


def table(n: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    age, dose = rng.uniform(20, 80, n), rng.choice([0.0, 5.0], n)
    pressure = 90 + 0.6 * age - 2.0 * dose + rng.normal(0, 5, n)
    return pd.DataFrame({"age": age, "pressure": pressure.clip(50, 200), "dose": dose})


BOUNDS = {"pressure": (50.0, 200.0), "age": (20.0, 80.0), "dose": (0.0, 5.0)}


def test_coefficients_are_in_the_columns_own_units():
    with bdp.reproducible(1):
        release = bdp.synthesizers.NoisyMomentsSynthesizer(BOUNDS, epsilon=50.0, copies=2).release(
            table()
        )
    for fit in (
        bdp.LinearRegressionModel("pressure").fit,
        bdp.LinearRegressionModel("pressure").fit_naive,
    ):
        posterior = fit(release, seed=1).posterior
        assert posterior["coefficient"].to_numpy().tolist() == ["intercept", "age", "dose"]
        mean = posterior["beta"].mean(("chain", "draw")).to_numpy()
        spread = posterior["beta"].std(("chain", "draw")).to_numpy()
        assert np.all(np.abs(mean - [90, 0.6, -2.0]) < 6 * spread)
        assert np.all(spread < [3, 0.05, 0.5])
        assert float(posterior["sigma"].mean()) == pytest.approx(5, rel=0.1)


def test_predictors_may_be_chosen_and_reordered():
    with bdp.reproducible(2):
        release = bdp.synthesizers.NoisyMomentsSynthesizer(BOUNDS, epsilon=200.0).release(table())
    one = bdp.LinearRegressionModel("pressure", predictors=("dose", "age"))
    two = bdp.LinearRegressionModel("pressure")
    first, second = (
        m.fit_naive(release, draws=20_000, seed=1).posterior["beta"] for m in (one, two)
    )
    means = [x.mean(("chain", "draw")) for x in (first, second)]
    for name in ("intercept", "age", "dose"):
        error = float(first.sel(coefficient=name).std()) / math.sqrt(20_000)
        away = float(means[0].sel(coefficient=name) - means[1].sel(coefficient=name))
        assert abs(away) < 6 * error
    alone = bdp.LinearRegressionModel("dose", predictors=["age"]).fit(release, seed=1).posterior
    assert alone["coefficient"].to_numpy().tolist() == ["intercept", "age"]
    assert abs(float(alone["beta"].sel(coefficient="age").mean())) < 0.02


def test_copies_tell_more_than_one_does():
    with bdp.reproducible(3):
        release = bdp.synthesizers.NoisyMomentsSynthesizer(BOUNDS, epsilon=40.0, copies=4).release(
            table()
        )
    one = bdp.Release.of(release.mechanism, release.outputs[:1])
    spreads = [
        float(bdp.LinearRegressionModel("pressure").fit(r, seed=1).posterior["sigma"].std())
        for r in (one, release)
    ]
    assert spreads[1] < 0.75 * spreads[0]


@pytest.mark.filterwarnings(ANY)  # one trajectory in ten thousand leaves a narrow range
def test_n_is_inferred_where_it_is_confidential():
    with bdp.reproducible(4):
        declared = bdp.synthesizers.NoisyMomentsSynthesizer(
            BOUNDS, epsilon=20.0, neighbours="add_remove"
        )
        release = declared.release(table())
    n = bdp.LinearRegressionModel("pressure").fit(release, seed=1).posterior["n"].to_numpy()
    assert np.all(n == np.round(n))
    assert abs(n.mean() - 3000) < 15
    bounded = bdp.LinearRegressionModel("pressure", n=range(3001, 3011)).fit(release, seed=1)
    n = bounded.posterior["n"].to_numpy()
    assert n.min() >= 3001
    assert n.max() <= 3010


def test_draws_of_moments_are_moments_of_records():
    rng = np.random.default_rng(8)
    release = released(mechanism(2, 20.0, 30), simulated(rng, 1, 30, 2)["numbers"][0], rng)
    found = sample_moments(hidden(release), draws=50, chains=2, warmup=100, seed=1)
    assert found.n.shape == (2, 50)
    assert np.all(found.n == 30)
    assert np.all(np.isfinite(found.rows))
    assert np.all(np.abs(np.linalg.det(found.rows)) > 0)


@pytest.mark.filterwarnings(ANY)
def test_the_shortest_chain_is_a_chain():
    idata = bdp.LinearRegressionModel("pressure").fit(
        moments(), draws=1, chains=1, warmup=1, seed=1
    )
    assert idata.posterior["beta"].shape == (1, 1, 3)
    assert "R-hat" in idata.attrs["verdict"]


# What is refused.


def moments(**known: Any) -> bdp.Release:
    with bdp.reproducible(1):
        return bdp.synthesizers.NoisyMomentsSynthesizer(BOUNDS, epsilon=9.0, **known).release(
            table(100)
        )


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"response": ""}, "response is ''"),
        ({"response": 3}, "response is 3"),
        ({"prior": (0, 0, 1, 1)}, "prior is"),
        ({"prior": (0, 0.1, 0, 0.1)}, "prior is"),
        ({"prior": (0, 0.1, 1, math.nan)}, "prior is"),
        ({"prior": (0, (0.1, 0.2), 1, 0.1), "predictors": ("age", "dose")}, "prior is"),
        ({"prior": None}, "prior is None"),
        ({"predictors_prior": (0, 0.1, -1.0, 0.1)}, "predictors_prior is"),
        ({"predictors_prior": (0, 0.0, 4.0, 0.1)}, "predictors_prior is"),
        ({"predictors": "age"}, "predictors is 'age'"),
        ({"predictors": ()}, "predictors is"),
        ({"predictors": ("age", "age")}, "predictors is"),
        ({"predictors": ("age", "pressure")}, "predictors is"),
        ({"n": 100}, "n is 100"),
        ({"n": range(5)}, "n is range"),
        ({"n": range(5, 5)}, "n is range"),
        ({"n": range(5, 50, 2)}, "n is range"),
    ],
)
def test_bad_models_are_refused(known, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.LinearRegressionModel(**({"response": "pressure"} | known))


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"response": "weight"}, r"response is 'weight'; the release's columns are \['pressure'"),
        ({"response": "age", "predictors": ("height",)}, "height"),
        ({"prior": (0, (0.1, 0.2), 1, 0.1)}, "prior is"),
        ({"predictors_prior": (0, 0.1, 0.5, 0.1)}, "predictors_prior is"),
        ({"n": range(50, 150)}, "leave n out"),
    ],
)
def test_models_that_dont_fit_the_release_are_refused(known, message):
    made = bdp.LinearRegressionModel(**({"response": "pressure"} | known))
    for attempt in (made.fit, made.fit_naive):
        with pytest.raises(bdp.errors.InvalidInput, match=message):
            attempt(moments())


def test_other_releases_are_refused():
    regression = bdp.LinearRegressionModel("pressure")
    family = bdp.families.LinearRegression(BOUNDS, "pressure")
    with bdp.reproducible(1):
        made = bdp.ModipsSynthesizer(family, epsilon=5.0, copies=2, size=100, public_n=False)
        copies = made.release(table(100))
    with pytest.raises(bdp.errors.InvalidInput, match=r"bdp\.combine"):
        regression.fit(copies)
    other = bdp.Release.of(bdp.mechanisms.BetaBinomialMechanism(5, 5, (1.0, 1.0)), [1])
    with pytest.raises(bdp.errors.InvalidInput, match="beta_binomial"):
        regression.fit(other)
    with pytest.raises(bdp.errors.InvalidInput, match="granularity"):
        regression.fit(
            bdp.Release.of(
                bdp.mechanisms.NoisyMomentsMechanism(BOUNDS, 3.0, 50, granularity=0.5), [(0.0,) * 9]
            )
        )
    with pytest.raises(bdp.errors.InvalidInput, match="fewer than the 4"):
        regression.fit(
            bdp.Release.of(bdp.mechanisms.NoisyMomentsMechanism(BOUNDS, 3.0, 3), [(0.0,) * 9])
        )
    few = bdp.Release.of(bdp.mechanisms.NoisyMomentsMechanism(BOUNDS, 3.0), [(0.0,) * 10])
    for sizes in (range(1, 4), range(1, 50)):
        with pytest.raises(bdp.errors.InvalidInput, match="4 records or"):
            bdp.LinearRegressionModel("pressure", n=sizes).fit(few)
    named = {"intercept": (0, 1), "y": (0, 1)}
    with pytest.raises(bdp.errors.InvalidInput, match="called 'intercept'"):
        bdp.LinearRegressionModel("y").fit(
            bdp.Release.of(bdp.mechanisms.NoisyMomentsMechanism(named, 3.0, 9), [(0.0,) * 5])
        )


def test_a_real_regression_is_released_and_refitted():
    """Fair's survey of 6,366 marriages, which ships with statsmodels: what goes with its rating."""
    import statsmodels.api as sm

    data = sm.datasets.fair.load_pandas().data
    bounds = {
        "rate_marriage": (1, 5), "yrs_married": (0.5, 23), "religious": (1, 4), "educ": (9, 20)
    }  # fmt: skip
    with bdp.reproducible(1):
        release = bdp.synthesizers.NoisyMomentsSynthesizer(bounds, epsilon=2.0).release(data)
    fitted = bdp.LinearRegressionModel("rate_marriage").fit(release, seed=1)
    assert "no problem" in fitted.attrs["verdict"]
    design = sm.add_constant(data[["yrs_married", "religious", "educ"]])
    truth = sm.OLS(data["rate_marriage"], design).fit()
    beta = fitted.posterior["beta"]
    away = beta.mean(("chain", "draw")).to_numpy() - truth.params.to_numpy()
    assert np.all(np.abs(away) < 4 * beta.std(("chain", "draw")).to_numpy())
    assert float(np.mean(beta.sel(coefficient="religious") > 0)) > 0.9
    assert float(np.mean(beta.sel(coefficient="yrs_married") < 0)) > 0.9
