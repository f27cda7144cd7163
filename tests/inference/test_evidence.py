"""Log evidences against enumeration, quadrature and simulation; comparisons; what is refused.

Monte Carlo answers are within 5 of their standard errors: a false alarm of 1e-6 each.
"""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, special, stats

import bayesdp as bdp
from bayesdp.engines.bridge import log_integral
from bayesdp.engines.log_linear.evidence import log_prior_density, summed_likelihood
from bayesdp.inference.counts import multinomial_evidence
from bayesdp.inference.counts import multinomial_release as categories
from bayesdp.inference.log_linear import evidence as ways
from bayesdp.inference.log_linear import fit as fits
from bayesdp.mechanisms.counts.cells import Axis
from tests.inference.regression.test_linear_regression import mechanism, model, released, simulated

pytestmark = pytest.mark.slow

FAR = 5.0  # standard errors
REPLACE = bdp.Neighbours.REPLACE_ONE
few = pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")


def near(found, expected):
    assert 0 < found.standard_error < 0.05
    assert abs(found.log_value - expected) < FAR * found.standard_error


# Bridge sampling.


def test_a_bridge_finds_the_integral_of_a_skew_density():
    """Of log gamma variables, correlated, by independent draws and by chains that remember."""
    rng, shape = np.random.default_rng(1), np.array([0.7, 3.0])

    def log_density(x):
        y = np.stack([x[:, 0], x[:, 1] - 0.5 * x[:, 0]], axis=1)
        return np.sum(shape * y - np.exp(y), axis=1)

    def skewed(normal):
        y = np.log(stats.gamma.ppf(special.ndtr(normal), shape))
        return np.stack([y[..., 0], y[..., 1] + 0.5 * y[..., 0]], axis=-1)

    expected = special.gammaln(shape).sum()
    free = rng.standard_normal((4, 3000, 2))
    slow = free.copy()
    for t in range(1, 3000):
        slow[:, t] = 0.9 * slow[:, t - 1] + math.sqrt(1 - 0.81) * free[:, t]
    errors = []
    for normal in (free, slow):
        found = log_integral(log_density, skewed(normal), generator=rng)
        near(found, expected)
        errors.append(found.standard_error)
    assert errors[1] > 1.5 * errors[0]


def test_its_standard_error_is_that_of_replicates():
    rng = np.random.default_rng(2)
    found = [
        log_integral(
            lambda x: -np.sum(np.abs(x) ** 3, axis=1),
            _cubic(rng, (2, 400, 2)),
            generator=rng,
        )
        for _ in range(300)
    ]
    z = np.array([(f.log_value - 2 * math.log(2 * math.gamma(4 / 3))) / f.standard_error
                  for f in found])  # fmt: skip
    # Standard errors of the mean and of the sd of 300 standard normal numbers.
    assert abs(z.mean()) < FAR / math.sqrt(300)
    assert abs(z.std() - 1) < FAR / math.sqrt(600)


def _cubic(rng, shape):
    """Draws in proportion to exp(-|x|^3)."""
    return rng.choice([-1.0, 1.0], shape) * rng.standard_gamma(1 / 3, shape) ** (1 / 3)


def test_a_bridge_says_what_it_cannot_do():
    rng = np.random.default_rng(3)
    with pytest.raises(bdp.errors.EngineFailed, match="too few"):
        log_integral(lambda x: np.zeros(len(x)), rng.standard_normal((1, 4, 3)), generator=rng)
    with pytest.raises(bdp.errors.EngineFailed, match="don't move"):
        log_integral(lambda x: np.zeros(len(x)), np.zeros((2, 50, 2)), generator=rng)
    draws = rng.standard_normal((2, 50, 1))
    with pytest.raises(bdp.errors.EngineFailed, match="isn't a number somewhere"):
        log_integral(lambda x: np.full(len(x), np.nan), draws, generator=rng)
    apart = rng.standard_normal((2, 500, 1)) + np.array([-3.0, 3.0])[:, None, None]
    found = log_integral(
        lambda x: np.logaddexp(-((x[:, 0] - 3) ** 2) / 2, -((x[:, 0] + 3) ** 2) / 2),
        apart,
        generator=rng,
    )
    assert any("R-hat" in problem for problem in found.problems)


# Families. All laws are normalised: the evidences of all outputs sum to one.


def total(made, release_of, outputs):
    return sum(math.exp(bdp.log_evidence(made, release_of(z)).log_value) for z in outputs)


def test_evidences_of_all_outputs_sum_to_one():
    copies = bdp.mechanisms.BetaBinomialMechanism(5, 4, (2.0, 2.0))
    pairs = itertools.product(range(5), repeat=2)
    made = bdp.BinomialModel((0.5, 2.0))
    assert total(made, lambda z: bdp.Release.of(copies, list(z)), pairs) == pytest.approx(1)
    answers = bdp.mechanisms.RandomizedResponseMechanism(((3, 1), (1, 3)), n=4)
    every = list(itertools.product(range(2), repeat=4))
    made = bdp.MultinomialModel((1.0, 2.0))
    assert total(made, lambda z: bdp.Release.of(answers, [z]), every) == pytest.approx(1)
    table = bdp.mechanisms.ConjugateMechanism(
        "categorical", "synthetic_one", 3, (1.0, 2.0, 1.0), size=4
    )
    every = [z for z in itertools.product(range(5), repeat=3) if sum(z) == 4]
    made = bdp.MultinomialModel((1.0, 0.5, 2.0))
    assert total(made, lambda z: bdp.Release.of(table, [z]), every) == pytest.approx(1)
    cells = bdp.mechanisms.DirichletMultinomialMechanism(3, 4, 3, (1.0, 2.0, 1.0))
    assert total(made, lambda z: bdp.Release.of(cells, [z]), every) == pytest.approx(1)
    noise = bdp.mechanisms.LaplaceMechanism(
        1.0, 1.0, REPLACE, n=9, bounds=(-3.0, 3.0), bounding="inflated", granularity=0.125
    )
    made = bdp.GaussianModel((0.3, 2.0), sd=1.5)
    every = np.arange(-24, 25) / 8
    assert total(made, lambda z: bdp.Release.of(noise, [z]), every) == pytest.approx(1, abs=1e-6)


def test_the_families_that_are_exact_say_so():
    release = bdp.Release.of(bdp.mechanisms.BetaBinomialMechanism(100, 100, (15.65, 15.65)), [38])
    found = bdp.log_evidence(bdp.BinomialModel(), release)
    assert found.log_value == bdp.BinomialModel().log_evidence(release)
    assert found.standard_error == 0.0
    assert found.how.startswith("exact")


def of_groups(outputs, n=12):
    made = bdp.mechanisms.BetaBinomialMechanism(n, n, (5.0, 5.0))
    return bdp.Release.of_groups({name: (made, z) for name, z in outputs.items()})


def test_groups_of_one_population_against_quadrature():
    release = of_groups({"a": [3, 4], "b": [10, 9], "c": [6, 6]})
    prior, c = (2.0, 1.5), 4.0
    u, v = np.linspace(-16, 16, 321), np.linspace(-16, 24, 401)
    m, kappa = special.expit(u)[:, None], np.exp(v)[None, :]
    log_p = stats.beta.logpdf(m, *prior) + np.log(m * (1 - m))
    log_p = log_p + math.log(c) + v - 2 * np.log(c + kappa)
    for part in release.parts:
        x = np.arange(13)
        law = part.mechanism.logp(np.array(part.outputs)[:, None], bdp.Count(x, 12)).sum(axis=0)
        alpha, beta = m * kappa, (1 - m) * kappa
        choose = special.gammaln(13) - special.gammaln(x + 1) - special.gammaln(13 - x)
        terms = [
            law[i] + choose[i] + special.betaln(alpha + i, beta + 12 - i)
            - special.betaln(alpha, beta) for i in x
        ]  # fmt: skip
        log_p = log_p + special.logsumexp(terms, axis=0)
    expected = special.logsumexp(log_p) + math.log((u[1] - u[0]) * (v[1] - v[0]))
    made = bdp.models.HierarchicalBinomialModel(prior, c)
    near(bdp.log_evidence(made, release, seed=1), expected)
    # The same release, the same numbers: a model of unrelated groups is normalised likewise.
    table = bdp.compare({"one population": made, "unrelated": bdp.BinomialModel()}, release, seed=1)
    right = expected - bdp.BinomialModel().log_evidence(release)
    error = table["standard_error"].max()
    found = table["log_evidence"].iloc[0] - table["log_evidence"].iloc[1]
    assert abs(found - right) < FAR * error


def test_randomized_responses_against_enumeration():
    response = bdp.mechanisms.RandomizedResponseMechanism(((4, 1, 1), (1, 3, 2), (1, 1, 4)), n=6)
    answers, alpha = [(0, 1, 1, 2, 0, 0), (0, 2, 1, 2, 0, 1)], np.array([1.5, 0.7, 2.0])
    expected = -np.inf
    for truth in itertools.product(range(3), repeat=6):
        x = np.bincount(truth, minlength=3)
        log_p = np.sum([np.log(response.matrix[list(truth), z]).sum() for z in answers])
        log_p += special.gammaln(alpha.sum()) - special.gammaln(alpha.sum() + 6)
        log_p += np.sum(special.gammaln(alpha + x) - special.gammaln(alpha))
        expected = np.logaddexp(expected, log_p)
    release = bdp.Release.of(response, answers)
    made = bdp.MultinomialModel(tuple(alpha))
    near(bdp.log_evidence(made, release, seed=1), expected)
    twice = bdp.Release.of_groups({"a": (response, answers), "b": (response, answers)})
    near(bdp.log_evidence(made, twice, seed=1), 2 * expected)


def test_modips_copies_against_a_list_of_all_counts():
    family = bdp.families.Categorical(3)
    with bdp.reproducible(3):
        made = bdp.ModipsSynthesizer(family=family, epsilon=2.0, copies=2, size=15)
        release = made.release(np.array([0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 0, 1]))
    parts, alpha, sizes = release.parts, (1.0, 0.5, 2.0), [(12, 1.0)]
    expected = categories.listed(parts, alpha, sizes).log_evidence
    mixture = categories.mixed(parts, alpha, sizes)
    options = {"draws": 1000, "chains": 2, "warmup": 100}
    near(multinomial_evidence._of_mixture(mixture, np.random.SeedSequence(1), options), expected)


# Linear regression.


def by_simulation(releases, n):
    """log of the average of the noise's probability over the prior, and its standard error."""
    rng, law = np.random.default_rng(5), np.zeros(400_000)
    numbers = simulated(rng, law.size, n)["numbers"]
    whole = np.concatenate([np.broadcast_to(n, law.size)[:, None], numbers], axis=1)
    for release in releases:
        made = release.mechanism
        for z in np.array(release.outputs):
            for i, part in enumerate(made.parts):
                away = np.abs(z[i] - whole[:, i + (made.n is not None)]) / made.scale
                away = away if made.noise == "laplace" else away**2 / 2
                law += float(part.noise.log_pmf(0)) - away
    weights = np.exp(law - law.max())
    error = weights.std() / weights.mean() / math.sqrt(weights.size)
    return law.max() + math.log(weights.mean()), error


@few
@pytest.mark.parametrize(("noise", "copies"), [("laplace", 2), ("gaussian", 1)])
def test_a_regression_against_simulation(noise, copies):
    rng = np.random.default_rng(6)
    made = mechanism(1, 3.0, 8, noise)
    numbers = simulated(rng, 1, 8)["numbers"][0]
    release = released(made, numbers, rng, copies)
    found = bdp.log_evidence(model(), release, seed=1)
    expected, error = by_simulation([release], 8)
    assert found.standard_error < 0.05
    assert abs(found.log_value - expected) < FAR * math.hypot(found.standard_error, error)
    assert found.of == "the moments of x0, y"


@few
def test_a_regression_of_any_size_against_simulation():
    rng = np.random.default_rng(7)
    made = mechanism(1, 3.0, None)
    numbers = np.append(7.0, simulated(rng, 1, 7)["numbers"][0])
    release = released(made, numbers, rng)
    found = bdp.log_evidence(model(n=range(4, 12)), release, seed=1)
    sizes = np.random.default_rng(8).integers(4, 12, size=400_000)
    expected, error = by_simulation([release], sizes)
    assert abs(found.log_value - expected) < FAR * math.hypot(found.standard_error, error)
    # An n that the analyst knows has its noisy number's probability too.
    alone = [bdp.log_evidence(model(n=range(n, n + 1)), release, seed=1) for n in range(4, 12)]
    mean = special.logsumexp([one.log_value for one in alone]) - math.log(8)
    error = math.hypot(found.standard_error, max(one.standard_error for one in alone))
    assert abs(found.log_value - mean) < FAR * error


@few
@pytest.mark.parametrize("n", [8, None])
def test_several_regressions_against_simulation(n):
    """Of two kinds of noise and scales; where the other says n, a noisy n is only a constant."""
    rng = np.random.default_rng(11)
    numbers = simulated(rng, 1, 8)["numbers"][0]
    first = released(mechanism(1, 3.0, None), np.append(8.0, numbers), rng, copies=2)
    size = [] if n else [8.0]
    second = released(mechanism(1, 2.0, n, "gaussian"), np.append(size, numbers), rng)
    sizes = 8 if n else np.random.default_rng(8).integers(6, 12, size=400_000)
    expected, error = by_simulation([first, second], sizes)
    found = bdp.log_evidence(model(n=None if n else range(6, 12)), [first, second], seed=1)
    assert abs(found.log_value - expected) < FAR * math.hypot(found.standard_error, error)


# Log-linear models.

LINE = (Axis("a", categories=("x", "y")),)
TABLE = (Axis("a", categories=("x", "y")), Axis("b", categories=("p", "q", "r")))


def noisy_table(n=None, outputs=((9, 4, 5, 2, 3, 7),)):
    relation = bdp.Neighbours.ADD_REMOVE if n is None else REPLACE
    return bdp.Release.of(
        bdp.mechanisms.PerturbedHistogramMechanism(1.5, 6, relation, n, TABLE), outputs
    )


def truncated_table(outputs):
    noise = bdp.mechanisms.DiscreteGaussianMechanism(
        1.5, 1.0, dimension=6, bounds=(0, 4), bounding="truncated"
    )
    return bdp.Release.of(noise, outputs, delta=1e-6)


@pytest.mark.parametrize("degrees", [1, 2, 5])
def test_scales_are_integrated_out_of_the_prior(degrees):
    setting = fits.setting_of(bdp.models.LogLinearModel("a*b", scale=0.7), noisy_table(30))
    kernels = setting.problem.model(summed=True)
    own = kernels._replace(
        owners=np.zeros(degrees, dtype=np.int64),
        mean=np.zeros(degrees),
        sd=np.ones(degrees),
        scales=np.array([0.7]),
    )
    u = np.random.default_rng(1).standard_normal(degrees)

    def density(tau):
        return math.exp(stats.norm.logpdf(u, 0, tau).sum()) * stats.halfnorm.pdf(tau, scale=0.7)

    expected = integrate.quad(density, 0, np.inf)[0]
    assert math.exp(log_prior_density(own, u[None])[0]) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("made", [noisy_table, truncated_table])
def test_tables_with_a_total_sum_out(made):
    """Against all tables of 5 records, and of 4 or 5."""
    outputs = ((2, 0, 1, 0, 3, 1), (1, 1, 0, 0, 2, 2))
    plain = made is noisy_table
    release = made(outputs=outputs)
    columns = None if plain else {axis.name: axis.labels for axis in TABLE}
    for sizes in ([0, 0, 0, 0, 0, 1.0], [0, 0, 0, 0, 0.4, 0.6]):
        model = bdp.models.LogLinearModel("a*b", prior=1.0, n=sizes, categories=columns)
        setting = fits.setting_of(model, release)
        kernels = setting.problem.model(summed=True)
        u = np.random.default_rng(2).standard_normal((4, kernels.mean.size)) * 2
        found = summed_likelihood(kernels, setting.problem.released)(u)
        found = found + ways.log_constant_of_table(setting, release.parts)
        for one, value in zip(u, found, strict=True):
            p, terms = special.softmax(kernels.columns.T @ one), []
            for x in itertools.product(range(6), repeat=6):
                if sum(x) < 6 and sizes[sum(x)] and (plain or max(x) < 5):
                    law = release.mechanism.logp(np.array(outputs), np.array(x)).sum()
                    law += stats.multinomial.logpmf(x, sum(x), p) + math.log(sizes[sum(x)])
                    terms.append(law)
            assert value == pytest.approx(special.logsumexp(terms), abs=1e-9)


@few
@pytest.mark.parametrize("n", [None, 30])
def test_a_table_s_evidence_against_quadrature(n):
    """Of a column's effect and, where counts are Poisson, the intercept."""
    relation = bdp.Neighbours.ADD_REMOVE if n is None else REPLACE
    histogram = bdp.mechanisms.PerturbedHistogramMechanism(1.5, 2, relation, n, LINE)
    release = bdp.Release.of(histogram, [(19, 8), (16, 10)])
    made = bdp.models.LogLinearModel("a", prior=0.8, intercept=(1.0, 1.5))
    setting = fits.setting_of(made, release)
    kernels = setting.problem.model(summed=True)
    grids = [np.linspace(-3, 5, 401)] if n is None else []
    grids.append(np.linspace(-4, 4, 401))
    points = np.stack([g.ravel() for g in np.meshgrid(*grids, indexing="ij")], axis=1)
    log_p = summed_likelihood(kernels, setting.problem.released)(points)
    log_p = log_p + log_prior_density(kernels, points)
    step = math.prod(float(g[1] - g[0]) for g in grids)
    expected = (
        special.logsumexp(log_p)
        + math.log(step)
        + ways.log_constant_of_table(setting, release.parts)
    )
    near(bdp.log_evidence(made, release, draws=1000, seed=1), expected)


@few
def test_equal_cells_as_one_family_or_another():
    """Both have all constants."""
    release = noisy_table(3, outputs=[(1, 0, 1, 0, 1, 0)])
    uniform = bdp.models.LogLinearModel("a*b", prior=1e-3)
    fixed = bdp.MultinomialModel((1e6,) * 6)
    found = bdp.log_evidence(uniform, release, draws=1000, seed=1)
    near(found, fixed.log_evidence(release))


# Comparisons.


def test_probabilities_follow_bayes_rule():
    release = bdp.Release.of(bdp.mechanisms.BetaBinomialMechanism(100, 100, (15.65, 15.65)), [38])
    models = [bdp.BinomialModel((500, 500)), bdp.BinomialModel(), bdp.BinomialModel((2, 3))]
    logs = np.array([made.log_evidence(release) for made in models])
    found = bdp.compare(models, release, prior=[3, 1, 1])
    assert found.index.tolist() == [0, 1, 2]
    assert found["log_evidence"].to_numpy() == pytest.approx(logs)
    joint = np.array([3, 1, 1]) * np.exp(logs)
    assert found["probability"].to_numpy() == pytest.approx(joint / joint.sum())
    assert found["bayes_factor"].to_numpy() == pytest.approx(np.exp(logs - logs.max()))
    assert (found["standard_error"] == 0).all()


@few
def test_evidences_of_other_data_are_not_compared():
    rng = np.random.default_rng(9)
    release = released(mechanism(2, 3.0, 30), simulated(rng, 1, 30, 2)["numbers"][0], rng)
    fewer = bdp.LinearRegressionModel("y", predictors=["x0"])
    options = {"draws": 2000, "warmup": 1000, "seed": 1}
    with pytest.raises(bdp.errors.InvalidInput, match="different numbers of the release"):
        bdp.compare([bdp.LinearRegressionModel("y"), fewer], release, **options)
    held = bdp.LinearRegressionModel("y", prior=(0.0, (0.1, 0.1, 1e8), 1.0, 0.1))
    with pytest.warns(UserWarning, match="log evidence can't"):
        bdp.log_evidence(held, release, draws=40, warmup=300, seed=1)
    found = bdp.compare({"both": bdp.LinearRegressionModel("y"), "one": held}, release, **options)
    assert found["probability"].sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (bdp.GaussianModel(sd=1.0), "flat"),
        (bdp.models.ERGMModel("edges", prior=bdp.networks.NormalPrior(0, 1)), "intractable"),
        (bdp.models.NetworkBetaModel(), "hidden graph"),
        (3, "model is a int"),
    ],
)
def test_where_there_is_none_it_says_why(made, message):
    noise = bdp.mechanisms.LaplaceMechanism(0.5, 0.1, REPLACE, n=20)
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.log_evidence(made, bdp.Release.of(noise, [1.0]))


def test_overlapping_marginals_have_none():
    columns = {"a": [0, 1], "b": [0, 1], "c": [0, 1]}
    made = bdp.synthesizers.LogLinearSynthesizer(
        2.0, marginals=[("a", "b"), ("b", "c")], categories=columns
    )
    release = made.release(counts=[10, 2, 3, 5, 1, 8, 2, 9])
    with pytest.raises(bdp.errors.InvalidInput, match="doesn't sum out"):
        bdp.log_evidence(bdp.models.LogLinearModel("a*b + c"), release)


def test_bad_arguments_are_refused():
    release = bdp.Release.of(bdp.mechanisms.BetaBinomialMechanism(10, 10, (5.0, 5.0)), [3])
    one = bdp.BinomialModel()
    with pytest.raises(bdp.errors.InvalidInput, match="draws is 0"):
        bdp.log_evidence(one, release, draws=0)
    with pytest.raises(bdp.errors.InvalidInput, match="release is a int"):
        bdp.log_evidence(one, 3)
    for models in ([one], one, "ab"):
        with pytest.raises(bdp.errors.InvalidInput, match="two or more"):
            bdp.compare(models, release)
    for prior in ([1.0], [1.0, 0.0], [1.0, math.nan], "ab"):
        with pytest.raises(bdp.errors.InvalidInput, match="prior is"):
            bdp.compare([one, one], release, prior=prior)
