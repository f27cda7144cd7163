"""The multivariate Gaussian model, against the joint normal law of mean vector and outputs."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.engines.stan import sampling
from tests.conftest import require_pystan
from tests.stan_log_density import log_densities

Model = bdp.models.MultivariateGaussianModel
METHODS = ("parameter_draw", "synthetic_map", "synthetic_one", "synthetic_many")
COVARIANCE = ((1.0, 0.6), (0.6, 2.0))
OTHER = ((1.5, -0.2), (-0.2, 1.0))
OWN = ((0.5, -1.0), ((0.3, -0.1), (-0.1, 0.2)))
PRIOR = ((0.2, 0.4), ((2.0, 0.9), (0.9, 1.0)))
N, SIZE = 8, 3


def mechanism(method: str, **known: Any) -> Any:
    size = SIZE if method.startswith("synthetic") else None
    given = {"n": N, "prior": OWN, "R": 9.0, "covariance": COVARIANCE, "size": size, **known}
    return bdp.mechanisms.ConjugateMechanism("multivariate_gaussian", method, **given)


def released(method: str, copies: int = 2, seed: int = 1, **known: Any) -> bdp.Release:
    made = mechanism(method, **known)
    with bdp.reproducible(seed):
        return bdp.publish(made, (6.0, 3.0), copies=copies, delta=1e-3)


def joint(releases: Any, prior: Any, covariance: Any) -> tuple[np.ndarray, np.ndarray, Any]:
    """Mean and covariance of (mu, all numbers released), and these numbers.

    Of the two normal vectors mu and the records' mean, and everything else given the latter.
    """
    m0, S0, Sigma = (np.array(each) for each in (*prior, covariance))
    latent = np.block([[S0, S0], [S0, S0 + Sigma / N]])
    rows, offsets, own, numbers = [np.eye(2, 4)], [np.zeros(2)], [np.zeros((2, 2))], []
    for release in releases:
        made: Any = release.mechanism
        mean, S, given = (np.array(each) for each in (*made.prior, made.covariance))
        T = np.linalg.inv(np.linalg.inv(S) + N * np.linalg.inv(given))
        shrink = T @ np.linalg.inv(S)
        m = made.size or 1
        common, each = {
            "parameter_draw": (0 * T, T),
            "synthetic_map": (0 * T, given),
            "synthetic_one": (T, given),
            "synthetic_many": (0 * T, given + T),
        }[made.method]
        block = np.kron(np.eye(m), each) + np.kron(np.ones((m, m)), common)
        for z in release.outputs:
            one = np.hstack([np.zeros((2, 2)), np.eye(2) - shrink])
            rows.append(np.tile(one, (m, 1)))
            offsets.append(np.tile(shrink @ mean, m))
            own.append(block)
            numbers.append(np.ravel(z))
    A = np.vstack(rows)
    noise = np.zeros((len(A), len(A)))
    at = 0
    for block in own:
        noise[at : at + len(block), at : at + len(block)] = block
        at += len(block)
    mean = A @ np.tile(m0, 2) + np.concatenate(offsets)
    return mean, A @ latent @ A.T + noise, np.concatenate(numbers)


def conditioned(mean: np.ndarray, whole: np.ndarray, z: np.ndarray) -> tuple[Any, Any]:
    gain = np.linalg.solve(whole[2:, 2:], whole[2:, :2]).T
    return mean[:2] + gain @ (z - mean[2:]), whole[:2, :2] - gain @ whole[2:, :2]


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("covariance", [None, OTHER])
@pytest.mark.parametrize("method", METHODS)
def test_posterior_evidence_and_likelihood_are_those_of_the_joint_law(method, covariance, copies):
    release = released(method, copies)
    model = Model(PRIOR, covariance)
    mean, whole, z = joint([release], PRIOR, covariance or COVARIANCE)
    centre, spread = conditioned(mean, whole, z)
    posterior = model.posterior(release)
    assert posterior.mean == pytest.approx(centre, rel=1e-9)
    assert posterior.covariance == pytest.approx(spread, rel=1e-9)
    law = stats.multivariate_normal(mean[2:], whole[2:, 2:])
    assert model.log_evidence(release) == pytest.approx(law.logpdf(z), rel=1e-9)
    for mu in ((0.0, 0.0), (1.0, -2.0)):  # a prior without a spread
        at = joint([release], (mu, np.zeros((2, 2))), covariance or COVARIANCE)
        given = stats.multivariate_normal(at[0][2:], at[1][2:, 2:])
        found = model.pointwise(release.parts, {"mu": np.array([mu])})
        assert found == pytest.approx(given.logpdf(z), rel=1e-9)
    marginal = posterior.marginal("x2")
    assert marginal.mean() == posterior.marginal(1).mean() == pytest.approx(centre[1])
    assert marginal.sd() == pytest.approx(np.sqrt(spread[1, 1]))


def test_several_releases_of_the_same_records():
    releases = [released("synthetic_one", 2, 3), released("parameter_draw", 1, 4)]
    releases.append(released("synthetic_map", 1, 5, prior=((0.0, 0.0), np.eye(2) / 4)))
    mean, whole, z = joint(releases, PRIOR, COVARIANCE)
    centre, spread = conditioned(mean, whole, z)
    posterior = Model(PRIOR).posterior(releases)
    assert posterior.mean == pytest.approx(centre, rel=1e-9)
    assert posterior.covariance == pytest.approx(spread, rel=1e-9)
    law = stats.multivariate_normal(mean[2:], whole[2:, 2:])
    assert Model(PRIOR).log_evidence(releases) == pytest.approx(law.logpdf(z), rel=1e-9)
    idata = Model(PRIOR).fit(releases, draws=50, chains=2, seed=1)
    assert idata.observed_data["outputs_2"].shape == (1, 2)


def test_a_flat_prior_is_the_limit_of_wide_ones():
    release = released("synthetic_many")
    flat = Model().posterior(release)
    wide = Model(((0.0, 0.0), 1e10 * np.eye(2))).posterior(release)
    assert flat.mean == pytest.approx(wide.mean, rel=1e-7)
    assert flat.covariance == pytest.approx(wide.covariance, rel=1e-7)
    for call in (
        lambda: Model().log_evidence(release),
        lambda: bdp.prior_predictive(Model(), release, draws=5),
    ):
        with pytest.raises(bdp.errors.InvalidInput, match="the prior is flat"):
            call()


@pytest.mark.parametrize("method", METHODS)
def test_one_column_is_the_gaussian_model(method):
    """Where the records' bounds are far, within which that model keeps their mean."""
    size = 4 if method.startswith("synthetic") else None
    known = {"n": N, "size": size, "R": 300.0}
    plain = bdp.mechanisms.ConjugateMechanism("gaussian", method, prior=(0.5, 0.8), sigma=2.0,
                                              **known)  # fmt: skip
    vector = bdp.mechanisms.ConjugateMechanism(
        "multivariate_gaussian", method, prior=((0.5,), ((0.64,),)), covariance=((4.0,),), **known
    )
    with bdp.reproducible(1):
        outputs = plain.release(12.0, 2)
    one = bdp.Release.of(plain, list(outputs), delta=0.5)
    other = bdp.Release.of(vector, list(outputs[..., None]), delta=0.5)
    model, alike = bdp.GaussianModel((0.0, 3.0), 2.0), Model(((0.0,), ((9.0,),)))
    found, expected = alike.posterior(other), model.posterior(one)
    assert found.mean[0] == pytest.approx(expected.mean(), rel=1e-6)
    assert found.marginal(0).sd() == pytest.approx(expected.sd(), rel=1e-6)
    assert alike.log_evidence(other) == pytest.approx(model.log_evidence(one), rel=1e-6)
    naive = alike.naive_posterior(other)
    assert naive.mean[0] == pytest.approx(model.naive_posterior(one).mean())
    assert naive.marginal(0).sd() == pytest.approx(model.naive_posterior(one).sd())


def groups() -> bdp.Release:
    made = {"a": mechanism("synthetic_one"), "b": mechanism("synthetic_one", n=20)}
    with bdp.reproducible(2):
        parts = {label: (one, list(one.release((6.0, 3.0), 2))) for label, one in made.items()}
    return bdp.Release.of_groups(parts, delta=1e-3)


def test_its_draws_are_of_the_posterior():
    release = groups()
    idata = Model(PRIOR).fit(release, draws=5000, chains=2, seed=3)
    mu = idata.posterior["mu"]
    assert mu.dims == ("chain", "draw", "group", "column")
    assert mu["column"].to_numpy().tolist() == ["x1", "x2"]
    lp = 0.0
    for g, label in enumerate(release.groups):
        posterior = Model(PRIOR).posterior(release[label])
        drawn = mu.to_numpy()[:, :, g].reshape(-1, 2)
        root = np.linalg.cholesky(posterior.covariance)
        white = np.linalg.solve(root, (drawn - posterior.mean).T)
        assert stats.kstest(white.ravel(), "norm").pvalue > 1e-6
        assert abs(np.corrcoef(white)[0, 1]) < 0.05
        lp = lp + stats.multivariate_normal(posterior.mean, posterior.covariance).logpdf(drawn)
    assert idata.sample_stats["lp"].to_numpy().ravel() == pytest.approx(lp)
    again = Model(PRIOR).posterior(release["a"]).sample(5, seed=1)
    assert np.array_equal(again, Model(PRIOR).posterior(release["a"]).sample(5, seed=1))


@pytest.mark.parametrize("prior", [None, PRIOR])
@pytest.mark.parametrize("grouped", [False, True])
def test_its_pymc_program_has_the_posterior_s_density(prior, grouped):
    release = groups() if grouped else released("synthetic_one")
    model = Model(prior).pymc_model(release)
    law = model.compile_logp(mode="FAST_COMPILE")
    shape = (2, 2) if grouped else (2,)
    points = np.random.default_rng(1).normal(size=(4, *shape))
    found = np.array([float(law({"mu": mu})) for mu in points])
    parts = [release[label] for label in release.groups] if grouped else [release]
    truth = np.zeros(4)
    for g, part in enumerate(parts):
        posterior = Model(prior).posterior(part)
        at = points[:, g] if grouped else points
        truth += stats.multivariate_normal(posterior.mean, posterior.covariance).logpdf(at)
    assert np.diff(found) == pytest.approx(np.diff(truth), rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("prior", [None, PRIOR])
def test_its_stan_program_has_the_posterior_s_density(prior):
    require_pystan()
    release, model = groups(), Model(prior)
    data = model.stan_data(release)
    z = np.random.default_rng(1).normal(size=(10, 2, 2))
    found = log_densities(model.program, data, [{"z": each} for each in z])
    mu = data["centre"] + np.einsum("gij,kgj->kgi", data["root"], z)
    truth = np.zeros(10)
    for g, label in enumerate(release.groups):
        posterior = model.posterior(release[label])
        law = stats.multivariate_normal(posterior.mean, posterior.covariance)
        truth += law.logpdf(mu[:, g])
    assert np.ptp(truth) > 1
    assert np.diff(found) == pytest.approx(np.diff(truth), rel=1e-8)


@pytest.mark.slow
def test_its_stan_program_generates_the_log_likelihood():
    require_pystan()
    release, model = groups(), Model(PRIOR)
    options = {"draws": 20, "chains": 1, "warmup": 100, "seed": 1, "progress": False}
    drawn = sampling.sample(
        model.program, model.stan_data(release), variables=["mu", "log_lik"], **options
    ).posterior
    for g, part in enumerate(release.parts):
        right = model.pointwise([part], {"mu": drawn["mu"][0, :, g]})
        assert drawn["log_lik"][0, :, g] == pytest.approx(right, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pymc", "stan"])
def test_nuts_samples_the_same_posterior(engine):
    if engine == "stan":
        require_pystan()
    release = released("synthetic_one")
    idata = Model(PRIOR).fit(release, engine=engine, draws=1000, warmup=500, chains=2, seed=1)
    assert idata.posterior["mu"].dims == ("chain", "draw", "column")
    posterior = Model(PRIOR).posterior(release)
    drawn = idata.posterior["mu"].to_numpy().reshape(-1, 2)
    error = np.sqrt(np.diag(posterior.covariance) / 200)  # as if a tenth were independent
    assert np.all(np.abs(drawn.mean(axis=0) - posterior.mean) < 5 * error)
    assert np.cov(drawn.T) == pytest.approx(posterior.covariance, rel=0.5)


@pytest.mark.slow
def test_predicted_outputs_have_all_that_is_random():
    release = released("synthetic_one", 1)
    model = Model(PRIOR)
    idata = model.fit(release, draws=1000, seed=2)
    made = bdp.posterior_predictive(model, idata, release, draws=4000, seed=3)
    z = made.posterior_predictive["outputs"].to_numpy()[0, :, 0].mean(axis=1)
    posterior = model.posterior(release)
    at = joint([release], (posterior.mean, posterior.covariance), COVARIANCE)
    mean = at[0][2:].reshape(SIZE, 2).mean(axis=0)
    spread = at[1][2:, 2:].reshape(SIZE, 2, SIZE, 2).mean(axis=(0, 2))
    white = np.linalg.solve(np.linalg.cholesky(spread), (z - mean).T)
    assert stats.kstest(white.ravel(), "norm").pvalue > 1e-6
    before = bdp.prior_predictive(model, release, draws=4000, seed=4)
    mu = before.prior["mu"].to_numpy().reshape(-1, 2)
    white = np.linalg.solve(np.linalg.cholesky(PRIOR[1]), (mu - np.array(PRIOR[0])).T)
    assert stats.kstest(white.ravel(), "norm").pvalue > 1e-6


def test_records_beyond_the_box_are_warned_of():
    release = released("parameter_draw", R=(9.0, 1.0))
    with pytest.warns(UserWarning, match="would be beyond the public bounds"):
        idata = Model(PRIOR).fit(release, draws=50, seed=1)
    posterior = Model(PRIOR).posterior(release).marginal("x2")
    sd = np.sqrt(posterior.sd() ** 2 + COVARIANCE[1][1])
    share = stats.norm.cdf(-1.0, posterior.mean(), sd) + stats.norm.sf(1.0, posterior.mean(), sd)
    assert float(idata.attrs["expected_share_outside_bounds"]) == pytest.approx(share, rel=0.1)
    wide = Model(PRIOR).fit(released("parameter_draw"), draws=50, seed=1)
    assert float(wide.attrs["expected_share_outside_bounds"]) < 1e-3


def test_what_does_not_fit_is_refused():
    error, release = bdp.errors.InvalidInput, released("parameter_draw")
    mode = mechanism("parameter_map")
    with pytest.raises(error, match="tells the mean of the records exactly"):
        Model().posterior(bdp.Release.of(mode, list(mode.release((1.0, 2.0)))))
    with pytest.raises(error, match="of 1 columns, but the release is of 2"):
        Model(((0.0,), ((1.0,),))).posterior(release)
    with pytest.raises(error, match="of different columns: 3"):
        Model(covariance=np.eye(3)).posterior(release)
    other = released("parameter_draw", covariance=OTHER)
    with pytest.raises(error, match="different covariances"):
        Model().posterior([release, other])
    assert Model(covariance=OTHER).posterior([release, other]).mean.shape == (2,)
    named = released("parameter_draw", columns=("a", "b"))
    with pytest.raises(error, match="of different columns: 2"):
        Model().posterior([release, named])
    with pytest.raises(error, match="doesn't release normal vectors"):
        Model().posterior(bdp.publish(bdp.mechanisms.LaplaceMechanism(1.0, 1.0), 3.0))
    with pytest.raises(error, match="mean and the covariance matrix"):
        Model((0.0, 1.0))
    with pytest.raises(error, match="it must be one of x1, x2, or a number from 0 to 1"):
        Model().posterior(release).marginal(2)
    with pytest.raises(error, match="column is True"):
        Model().posterior(release).marginal(True)
    of = Model().posterior(release).marginal
    assert of(np.int64(1)).mean() == of(1).mean()
    with pytest.raises(error, match="MultivariateGaussianModel"):
        bdp.GaussianModel(sd=1.0).posterior(release)
