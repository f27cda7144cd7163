"""Linear regression from perturbed coefficients: its density, its posterior and its calibration."""

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.inference.regression.linear_release import read
from bayesdp.kernels.regression.coordinates import latent_density
from bayesdp.kernels.regression.moments import moments_density
from tests.inference.log_linear.test_log_linear import close
from tests.statistical.test_models_calibration import check

BOUNDS = {"x": (0.0, 4.0), "y": (-3.0, 3.0)}  # x is 2 + 2 z_x, y is 3 z_y
PRIOR, PREDICTORS = (0.1, 4.0, 5.0, 0.3), (0.0, 2.0, 12.0, 2.0)
PENALTY, N = 4.0, 30


def mechanism(scale=0.1, bounds=BOUNDS, n=N, penalty=PENALTY):
    return bdp.mechanisms.PerturbedCoefficientsMechanism(bounds, "y", penalty, scale, n)


def released(made, outputs) -> bdp.Release:
    step = made.granularity
    return bdp.Release.of(made, [tuple(np.rint(np.array(z) / step) * step) for z in outputs])


def drawn(rng, size):
    """Parameters, and the ridge coefficients of N records given them, from the model."""
    _, k, a, b = PRIOR
    variance = stats.invgamma.rvs(a, scale=b, size=size, random_state=rng)
    c0, c = rng.normal(PRIOR[0], np.sqrt(variance / k), (2, size))
    m, r, nu, psi = PREDICTORS
    spread = stats.invgamma.rvs(nu / 2, scale=psi / 2, size=size, random_state=rng)
    mean_x = rng.normal(rng.normal(m, np.sqrt(spread / r)), np.sqrt(spread / N))
    scatter = spread * rng.chisquare(N - 1, size)
    sd = np.sqrt(variance)
    mean_y = c0 + c * mean_x + rng.normal(0, sd / np.sqrt(N))
    product = c * scatter + rng.normal(0, 1, size) * sd * np.sqrt(scatter)
    first, cross = N + PENALTY, N * mean_x
    second = scatter + N * mean_x**2 + PENALTY
    right = np.stack([N * mean_y, product + N * mean_x * mean_y])
    det = first * second - cross**2
    w = np.stack([second * right[0] - cross * right[1], first * right[1] - cross * right[0]]) / det
    return c0, c, sd, w


def model() -> bdp.LinearRegressionModel:
    return bdp.LinearRegressionModel("y", PRIOR, predictors_prior=PREDICTORS)


@pytest.mark.slow
def test_the_posterior_is_that_of_weighted_draws_from_the_prior():
    """Both have Monte Carlo errors, which add up: 5 of them, a false alarm of 6e-7 a number."""
    outputs = [(0.35, 0.2), (0.2, 0.4)]
    release = released(mechanism(), outputs)
    c0, c, sd, w = drawn(np.random.default_rng(1), 1_000_000)
    z = np.array(release.outputs)
    weights = np.exp(-((z[:, :, None] - w) ** 2).sum(axis=(0, 1)) / (2 * 0.1**2))
    idata = model().fit(release, draws=2500, warmup=600, seed=2)
    assert idata.attrs["engine"] == "hmc"
    slope = 3 * c / 2
    exact = {"intercept": 3 * c0 - slope * 2, "x": slope, "sigma": 3 * sd}
    for name, values in exact.items():
        mean = weights @ values / weights.sum()
        error = np.sqrt(np.sum((weights * (values - mean)) ** 2)) / weights.sum()
        draws = idata.posterior["sigma"] if name == "sigma" else None
        if draws is None:
            draws = idata.posterior["beta"].sel(coefficient=name)
        assert error < 0.01
        variance = np.sqrt(weights @ (values - mean) ** 2 / weights.sum())
        assert abs(float(draws.std()) / variance - 1) < 0.1, name
        # Within its own error of a number that is that far out.
        gap = float(draws.mean()) - mean
        shift = np.sign(gap) * min(abs(gap), 5 * error)
        close(draws, mean + shift, float(np.sqrt(np.mean((draws - mean - shift) ** 2))), name)


def test_the_density_has_its_gradient():
    bounds = {"a": (0, 1), "y": (-1, 1), "b": (0, 5)}
    release = released(mechanism(0.3, bounds), [(0.1, 0.4, -0.2), (0.0, 0.6, 0.1)])
    given = read(
        release, response="y", predictors=None, prior=(0.0, 0.5, 2.0, 0.3),
        predictors_prior=None, sizes=None,
    )  # fmt: skip
    hidden = given.hidden
    rng = np.random.default_rng(1)
    mean, root = rng.uniform(-0.5, 0.5, 3), rng.normal(size=(3, 3))
    scatter = N * (0.2 * np.eye(3) + 0.1 * root @ root.T)

    def density(mean, scatter):
        return moments_density(float(N), mean, scatter, hidden.seen, hidden.prior)

    frame, u = (0.1 * mean, np.linalg.cholesky(scatter / N)), rng.normal(size=9)
    slope, other = np.zeros(9), np.zeros(9)
    latent_density(float(N), u, slope, frame, hidden.seen, hidden.prior)
    for j in range(9):
        step = 1e-6 * np.eye(9)[j]
        ends = [
            latent_density(float(N), u + sign * step, other, frame, hidden.seen, hidden.prior)
            for sign in (1, -1)
        ]
        assert np.isclose((ends[0] - ends[1]) / 2e-6, slope[j], rtol=1e-5, atol=1e-4)
    _, at_mean, at_scatter = density(mean, scatter)
    for j in range(3):
        step = 1e-6 * np.eye(3)[j]
        rise = density(mean + step, scatter)[0] - density(mean - step, scatter)[0]
        assert np.isclose(rise / 2e-6, at_mean[j], rtol=1e-5, atol=1e-5)
        for k in range(j + 1):
            move = np.zeros((3, 3))
            move[j, k] = move[k, j] = 1e-5
            rise = density(mean, scatter + move)[0] - density(mean, scatter - move)[0]
            assert np.isclose(rise / 2, np.sum(at_scatter * move), rtol=1e-5, atol=1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the chains of this fit")  # of one in hundreds
def test_it_is_calibrated():
    """False alarm 1e-6."""
    rng, places, noise = np.random.default_rng(7), [], (0.02, 0.1, 0.4)
    for i in range(90):
        c0, c, _, w = (x[..., 0] for x in drawn(rng, 1))
        made = mechanism(noise[i % 3])
        with bdp.reproducible(i):
            release = bdp.publish(made, w)
        idata = model().fit(release, draws=250, chains=2, warmup=250, seed=i)
        truth = (3 * c0 - 3 * c, 1.5 * c)[i % 2]
        places.append(np.mean(idata.posterior["beta"][..., i % 2].to_numpy() < truth))
    check(places)


def test_much_data_and_little_noise_tell_the_regression():
    rng = np.random.default_rng(5)
    x = rng.uniform(0, 4, 20_000)
    records = np.column_stack([x, -1 + 0.5 * x + rng.normal(0, 0.3, x.size)])
    declared = bdp.synthesizers.PerturbedCoefficientsSynthesizer(BOUNDS, "y", 2000.0, epsilon=5.0)
    with bdp.reproducible(2):
        release = declared.release(records)
    made = bdp.LinearRegressionModel("y", predictors_prior=(0.0, 50.0, 102.0, 33.0))
    idata = made.fit(release, seed=1)
    low, high = np.quantile(idata.posterior["beta"], [0.005, 0.995], axis=(0, 1))
    assert np.all((low < [-1, 0.5]) & (high > [-1, 0.5]))
    shrunk = np.array(release.outputs[0])
    assert shrunk[1] * 3 / 2 < 0.45  # the coefficient itself, released, isn't near 0.5


def test_what_it_refuses():
    release = released(mechanism(), [(0.35, 0.2)])
    with pytest.raises(bdp.errors.InvalidInput, match="of 'y' on"):
        bdp.LinearRegressionModel("x").fit(release)
    with pytest.raises(bdp.errors.InvalidInput, match="tell of no other"):
        bdp.LinearRegressionModel("y", predictors=["z"]).fit(release)
    with pytest.raises(bdp.errors.InvalidInput, match="no naive one"):
        bdp.LinearRegressionModel("y").fit_naive(release)
    with pytest.raises(bdp.errors.InvalidInput, match="says n = 30"):
        bdp.LinearRegressionModel("y", n=range(20, 40)).fit(release)
    coarse = bdp.mechanisms.PerturbedCoefficientsMechanism(
        BOUNDS, "y", 4.0, 2.0, 30, granularity=0.5
    )
    with pytest.raises(bdp.errors.InvalidInput, match="granularity"):
        bdp.LinearRegressionModel("y").fit(bdp.Release.of(coarse, [(0.5, 0.0)]))
