"""Linear regression from copies whose numbers were drawn by noisy sums: laws, oracles, refusals.

False alarm 1e-6 a statistical test.
"""

import dataclasses
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.core.drawn_moments import DrawnMomentsView
from bayesdp.core.views import view_of
from bayesdp.inference.readers import models_of
from bayesdp.inference.regression.copies_chain import sample_copies
from bayesdp.inference.regression.copies_read import ReadCopies, read_copies
from bayesdp.kernels.regression.copies_law import Copies, copy_density, draw_latents, noisy_matrix
from bayesdp.mechanisms.families.linear_regression_draws import (
    drawn_predictors,
    drawn_regression,
    projected,
)
from bayesdp.mechanisms.families.moments import moments_of
from bayesdp.mechanisms.modips.sequential.counts import drawn_copy
from bayesdp.report.any_family import summarize_posterior
from tests.inference.regression.test_linear_regression import PREDICTORS, PRIOR, simulated

pytestmark = pytest.mark.slow

Numbers = bdp.synthesizers.NumericColumns
Labels = bdp.synthesizers.CategoricalColumns
UNIT = (-1.0, 1.0)
STEP = (0.1, 0.5, 2.0, 0.2)
"""Prior of a step's regressions."""


def mechanism(
    columns: list[list[str]], scale: float, n: int, size: int, noise: str = "laplace"
) -> Any:
    """Steps of columns in [-1, 1], each on all columns of earlier ones."""
    steps: list[Any] = []
    before: list[str] = []
    for names in columns:
        steps.append(Numbers(dict.fromkeys(names, UNIT), on=tuple(before), prior=STEP))
        before += names
    scales = (scale,) * len(steps)
    return bdp.mechanisms.SequentialModipsMechanism(tuple(steps), size, scales, n, noise)


def blurred(
    numbers: np.ndarray, parts: Any, noise: str, rng: np.random.Generator, copies: int
) -> np.ndarray:
    """Numbers with noise, set to the nearest end of their ranges, shape (copies, numbers)."""
    scales = np.array([part.scale for part in parts])
    low, high = np.array([part.bounds for part in parts]).T
    away = rng.laplace if noise == "laplace" else rng.normal
    return np.clip(numbers + away(0.0, scales, (copies, scales.size)), low, high)


def released(made: Any, numbers: Any, rng: np.random.Generator, copies: int = 1) -> bdp.Release:
    """Copies by the mechanism's code, of moments that needn't be of records within the bounds.

    Parameters
    ----------
    numbers : list of ndarray
        The moments of each step.
    """
    outputs = []
    for _ in range(copies):
        noisy = []
        for j, own in enumerate(numbers):
            noisy.append(blurred(own, made.parts(j), made.noise, rng, 1))
        with bdp.reproducible(int(rng.integers(2**31))):
            outputs.append(drawn_copy(made.layouts, noisy, made.size, made.n))
    return bdp.Release.of(made, outputs)


def modips(columns: list[str], scale: float, n: int, size: int, noise: str = "laplace") -> Any:
    """Modips copies of the regression of y on other columns in [-1, 1]; scales differ."""
    p = len(columns) - 1
    prior = STEP if p == 1 else (0.1, (0.5, 0.2, 0.9), *STEP[2:])
    family = bdp.families.LinearRegression(
        dict.fromkeys(columns, UNIT), "y", prior, (0.2, 0.7, p + 1.5, 0.3)
    )
    scales = tuple(scale * (1 + i / 9) for i in range(len(family.numbers(n))))
    return bdp.mechanisms.ModipsSBSMechanism(family, size, scales, n, noise)


def released_modips(
    made: Any, numbers: np.ndarray, rng: np.random.Generator, copies: int = 1
) -> bdp.Release:
    """Copies by the family's code, of moments that needn't be of records within the bounds."""
    noisy = blurred(numbers, made.parts, made.noise, rng, copies)
    with bdp.reproducible(int(rng.integers(2**31))):
        return bdp.Release.of(made, list(made.family.draw(noisy, made)))


def reading(release: bdp.Release, **known: Any) -> ReadCopies:
    asked = {"predictors": None, "prior": PRIOR, "predictors_prior": PREDICTORS, "sizes": None}
    return read_copies(release, response="y", **{**asked, **known})


def moments(z: np.ndarray) -> np.ndarray:
    return np.sum([moments_of(tuple(row)) for row in z], axis=0)


def log_density(given: ReadCopies, sums: np.ndarray, noise: np.ndarray) -> float:
    """Log p(first copy's numbers of the first step | noisy sums)."""
    n, _, steps, copies = given.problem
    moved = np.zeros((*copies[0].shape[:2], copies[0].shape[2] - 1, copies[0].shape[2]))
    matrix = noisy_matrix(sums, noise, n, 0, steps, 0)
    return float(copy_density(matrix, 0, 0, moved, steps, copies))


# The law of a copy given noisy sums.


@pytest.mark.parametrize("indefinite", [False, True])
def test_the_law_of_a_copy_is_the_mean_over_parameters(indefinite):
    """By draws of the parameters as the mechanism draws them, three columns, none at a bound."""
    rng = np.random.default_rng(11)
    made = mechanism([["x0", "x1", "y"]], 0.5, 30, 4)
    true = moments(rng.uniform(-0.8, 0.8, (30, 3)))
    copy = rng.uniform(-0.5, 0.5, (4, 3))
    given = reading(bdp.Release.of(made, [copy]))
    noise = rng.laplace(0, 0.5, (1, 1, 9))
    if indefinite:
        noise[0, 0, 3:5] -= true[3:5] + 1  # squares below 0, set to 0
        noise[0, 0, 6] += 9
    found = log_density(given, true, noise)
    low, high = np.array([part.bounds for part in made.parts(0)]).T
    z = np.clip(true + noise[0, 0], low, high)
    n, mean, rows = projected(np.tile(z, (400_000, 1)), 3, 30)
    log = np.zeros(400_000)
    for j in range(3):
        c0, c, sd = drawn_regression(STEP, n, mean, rows, j, list(range(j)), rng)
        around = c0[:, None] + c @ copy[:, :j].T
        log += stats.norm.logpdf(copy[:, j], around, sd[:, None]).sum(axis=1)
    most = log.max()
    weights = np.exp(log - most)
    error = weights.std() / weights.mean() / math.sqrt(weights.size)
    assert error < 0.02
    assert found == pytest.approx(most + math.log(weights.mean()), abs=5 * error)


def test_the_law_of_a_modips_copy_is_the_mean_over_parameters():
    """Predictors by their joint law, the response between them in the family's order."""
    rng = np.random.default_rng(13)
    made = modips(["x0", "y", "x1"], 0.5, 30, 4)
    family = made.family
    true = moments(rng.uniform(-0.8, 0.8, (30, 3)))
    copy = rng.uniform(-0.5, 0.5, (4, 3))
    given = reading(bdp.Release.of(made, [copy]))
    n, mean, rows = projected(np.tile(true, (400_000, 1)), 3, 30)
    centre, root = drawn_predictors(
        family.predictors_prior, n, mean[:, [0, 2]], rows[..., [0, 2]], rng
    )
    log = np.zeros(400_000)
    for row in copy[:, [0, 2]]:
        first = (row[0] - centre[:, 0]) / root[:, 0, 0]
        second = (row[1] - centre[:, 1] - root[:, 1, 0] * first) / root[:, 1, 1]
        log += stats.norm.logpdf(first) - np.log(root[:, 0, 0])
        log += stats.norm.logpdf(second) - np.log(root[:, 1, 1])
    c0, c, sd = drawn_regression(family.prior, n, mean, rows, 1, [0, 2], rng)
    around = c0[:, None] + c @ copy[:, [0, 2]].T
    log += stats.norm.logpdf(copy[:, 1], around, sd[:, None]).sum(axis=1)
    most = log.max()
    weights = np.exp(log - most)
    error = weights.std() / weights.mean() / math.sqrt(weights.size)
    assert error < 0.02
    order = [0, 2, 1, 3, 5, 4, 7, 6, 8]  # of the model: x0, x1, y
    found = log_density(given, true[order], np.zeros((1, 1, 9)))
    assert found == pytest.approx(most + math.log(weights.mean()), abs=5 * error)
    steps = given.problem[2]
    assert steps.where.tolist() == [list(range(9))]
    np.testing.assert_allclose(steps.scale[0], np.array(made.scales)[order])


def test_one_column_s_law_is_the_integral():
    """By a grid over the mean and the log variance; a second moment of the response."""
    made = mechanism([["y", "x0"]], 0.5, 12, 5)
    true = np.array([1.0, 0.5, 3.0, 2.5, 0.3])  # of x0, y: the model's order
    copy = np.array([[0.1, -0.2], [0.4, 0.3], [-0.3, 0.5], [0.2, 0.1], [-0.5, -0.4]])
    given = reading(bdp.Release.of(made, [copy]))
    found = log_density(given, true, np.zeros((1, 1, 5)))
    m0, k, a, b = STEP

    def normal(total: float, square: float, size: float, mu: Any, log_var: Any) -> Any:
        away = square - 2 * mu * total + size * mu * mu
        return -away / (2 * np.exp(log_var)) - size / 2 * (log_var + math.log(2 * math.pi))

    mu, log_var = np.meshgrid(np.linspace(-2, 2, 2001), np.linspace(-7, 3, 2001))
    prior = -k * (mu - m0) ** 2 / (2 * np.exp(log_var)) - log_var / 2
    prior += -a * log_var - b / np.exp(log_var) + normal(0.5, 2.5, 12, mu, log_var)
    y = copy[:, 0]
    like = normal(y.sum(), (y * y).sum(), 5, mu, log_var)
    first = np.log(np.exp(prior + like).sum() / np.exp(prior).sum())

    # the second, given the first, by the first of the reversed order's joint law
    z = np.array([0.5, 1.0, 2.5, 3.0, 0.3])
    n, mean, rows = projected(np.tile(z, (400_000, 1)), 2, 12)
    c0, c, sd = drawn_regression(STEP, n, mean, rows, 1, [0], np.random.default_rng(1))
    around = c0[:, None] + c @ copy[:, :1].T
    weights = np.exp(stats.norm.logpdf(copy[:, 1], around, sd[:, None]).sum(axis=1))
    error = weights.std() / weights.mean() / math.sqrt(weights.size)
    assert found == pytest.approx(first + math.log(weights.mean()), abs=5 * error)


def test_numbers_beyond_a_bound_are_drawn_from_their_law():
    """By draws of the parameters, weighed by what the copy has."""
    rng = np.random.default_rng(12)
    made = mechanism([["x0", "y"]], 0.5, 30, 6)
    true = moments(rng.uniform(-1, 1, (30, 2)))
    copy = rng.uniform(-0.9, 0.9, (6, 2))
    copy[0], copy[1, 1], copy[2, 0] = (1.0, -1.0), 1.0, -1.0
    release = bdp.Release.of(made, [copy])
    given, copy = reading(release), np.array(release.outputs[0])
    n, _, steps, copies = given.problem
    assert given.clipped == 4
    matrix = noisy_matrix(true, np.zeros((1, 1, 5)), n, 0, steps, 0)
    moved, latent, kept = np.zeros((1, 1, 2, 3)), copies[3].copy(), []
    for _ in range(60_000):
        draw_latents(matrix, 0, 0, latent, moved, steps, copies)
        kept.append(latent.copy())
    found = np.array(kept[100:])

    size, mean, rows = projected(np.tile(true, (400_000, 1)), 2, 30)
    expected = []
    for j in range(2):
        c0, c, sd = drawn_regression(STEP, size, mean, rows, j, list(range(j)), rng)
        around = c0[:, None] + c @ copy[:, :j].T
        z, inside = (copy[:, j] - around) / sd[:, None], np.abs(copy[:, j]) < 1
        log = (stats.norm.logpdf(z) - np.log(sd)[:, None])[:, inside].sum(axis=1)
        side = np.sign(copy[~inside, j])
        least = side * z[:, ~inside]  # of a latent number's distance from its mean, in sd
        log += stats.norm.logsf(least).sum(axis=1)
        weights = np.exp(log - log.max())
        beyond = np.exp(stats.norm.logpdf(least) - stats.norm.logsf(least))
        latents = around[:, ~inside] + side * sd[:, None] * beyond
        expected += np.average(latents, axis=0, weights=weights).tolist()
    assert found.mean(axis=0) == pytest.approx(expected, abs=0.02)


# The posterior.

DRAWS = 400_000


def log_weights(copy: np.ndarray, made: Any, numbers: np.ndarray, rng: Any) -> np.ndarray:
    """Log law of a copy given parameters that are drawn as the mechanism draws them."""
    scales = np.array([part.scale for part in made.parts(0)])
    low, high = np.array([part.bounds for part in made.parts(0)]).T
    away = rng.laplace if made.noise == "laplace" else rng.normal
    z = np.clip(numbers + away(0.0, scales, numbers.shape), low, high)
    n, mean, rows = projected(z, 2, made.n)
    log = np.zeros(len(numbers))
    for j in range(2):
        c0, c, sd = drawn_regression(STEP, n, mean, rows, j, list(range(j)), rng)
        t = (copy[:, j] - (c0[:, None] + c @ copy[:, :j].T)) / sd[:, None]
        inside, side = np.abs(copy[:, j]) < 1, np.sign(copy[:, j])
        seen = stats.norm.logpdf(t) - np.log(sd)[:, None]
        log += np.where(inside, seen, stats.norm.logsf(side * t)).sum(axis=1)
    return log


def furthest(copies: int, change: Any = None) -> float:
    """Largest distance of a posterior probability from weighted draws', in standard errors.

    Parameters, moments, noise and copies' parameters are drawn and weighed by the copies' law. The
    copies have numbers at their bounds, and noise that leaves some matrices indefinite.
    """
    noise, size, seed = {1: ("laplace", 6, 26), 2: ("gaussian", 4, 33)}[copies]
    rng = np.random.default_rng(seed)
    made = mechanism([["x0", "y"]], 3.0, 20, size, noise)
    release = released(made, [simulated(rng, 1, 20)["numbers"][0]], rng, copies)
    assert np.sum(np.abs(np.array(release.outputs)) == 1) >= 3
    drawn, log = simulated(rng, DRAWS, 20), np.zeros(DRAWS)
    for output in release.outputs:
        log += log_weights(np.array(output), made, drawn["numbers"], rng)
    weights = np.exp(log - log.max())
    weights /= weights.sum()
    assert 1 / np.sum(weights**2) > 500

    given = reading(release)
    given = given if change is None else change(given)
    chain = sample_copies(given, draws=4000, chains=4, warmup=600, seed=2)
    rows = chain.rows * np.sqrt(chain.n)[..., None, None]
    fitted = given.coefficients(chain.n, chain.mean, rows, rng)
    import arviz as az

    pairs = [(fitted["beta"][..., j], drawn["c"][:, j]) for j in range(2)]
    pairs.append((fitted["sigma"], drawn["sigma"]))
    found = []
    for ours, theirs in pairs:
        for level in (0.1, 0.5, 0.9):
            cut = np.quantile(ours, level)
            under, below = (ours <= cut).astype(float), theirs <= cut
            share = float(weights @ below)
            error = math.hypot(
                math.sqrt(float(np.sum(weights**2 * (below - share) ** 2))),
                float(az.mcse({"x": under})["x"]),
            )
            found.append(abs(under.mean() - share) / error)
    return float(max(found))


@pytest.mark.parametrize("copies", [1, 2])
def test_it_is_the_posterior_by_weighted_draws_from_the_prior(copies):
    assert furthest(copies) < 5.5  # 18 comparisons: 7e-7


def of_half_the_noise(given: ReadCopies) -> ReadCopies:
    n, whole, steps, copies = given.problem
    steps = steps._replace(scale=steps.scale / 2)
    return dataclasses.replace(given, problem=(n, whole, steps, copies))


def of_bounds_as_numbers(given: ReadCopies) -> ReadCopies:
    n, whole, steps, (gram, first, design, bound) = given.problem
    copies = Copies(gram, np.zeros_like(first), design[:0].copy(), bound[:0].copy())
    return dataclasses.replace(given, problem=(n, whole, steps, copies))


def of_the_first_copy(given: ReadCopies) -> ReadCopies:
    n, whole, steps, (gram, first, design, bound) = given.problem
    last = first[0].max()
    copies = Copies(gram[:1].copy(), first[:1].copy(), design[:last].copy(), bound[:last].copy())
    return dataclasses.replace(given, problem=(n, whole, steps, copies))


def of_the_prior_twice(given: ReadCopies) -> ReadCopies:
    n, (frame, (m0, k, ab, m, rest, psi), other), steps, copies = given.problem
    whole = frame, (m0, 2 * k, 2 * ab, m, 2 * rest, 2 * psi), other
    known, weight, shape, rate = given.prior
    prior = known, 2 * np.asarray(weight), 2 * shape, 2 * rate
    return dataclasses.replace(given, problem=(n, whole, steps, copies), prior=prior)


@pytest.mark.calibrate
@pytest.mark.parametrize(
    ("fault", "copies"),
    [
        (of_half_the_noise, 1),
        (of_bounds_as_numbers, 1),
        (of_the_first_copy, 2),
        (of_the_prior_twice, 2),
    ],
)
def test_the_comparison_convicts(fault, copies):
    """Faults that are planted: each is far from the posterior by weighted draws."""
    assert furthest(copies, fault) > 7


def test_more_copies_and_steps_are_read_where_they_are():
    """Steps on earlier ones, a response between predictors, and columns of labels before them."""
    steps = (
        Labels({"sex": ("f", "m")}),
        Numbers({"a": (0, 10), "y": (0, 4)}),
        Numbers({"c": (-3, 3)}, by=("sex",)),
        Numbers({"b": (5, 7)}, on=("y",), prior=STEP),
    )
    made = bdp.mechanisms.SequentialModipsMechanism(steps, 2, (1.0, 2.0, 3.0, 4.0), 50)
    one = [[0, 5.0, 1.0, 2.0, 6.0], [1, 10.0, 4.0, -3.0, 5.5]]
    two = [[0, 0.0, 3.0, 2.0, 7.0], [1, 2.5, 2.0, 0.0, 5.5]]
    release = bdp.Release.of(made, [np.array(one), np.array(two)])
    view = view_of(made, DrawnMomentsView)
    assert view is not None
    assert dict(view.bounds) == {"a": (0.0, 10.0), "y": (0.0, 4.0), "b": (5.0, 7.0)}
    assert view.left_out == ("sex", "c")
    assert view.numbers(release.outputs[0]).tolist() == [[0.0, -0.5, 0.0], [1.0, 1.0, -0.5]]

    given = reading(release, predictors=["b"])
    assert given.names == ("intercept", "b")
    assert given.ends.tolist() == [[5, 7], [0, 4]]
    assert given.clipped == 4
    _, _, steps, copies = given.problem
    # in the model's order: b, y, a; sums, squares, products by, ba, ya; of a, y, and of y, b
    assert steps.where.tolist() == [[2, 1, 5, 4, 8], [1, 0, 4, 3, 6]]
    assert steps.sizes.tolist() == [[2, 0, 5], [2, 1, 5]]
    m0, k, a, b = STEP
    own = [[k, 0, k * m0], [0, k, k * m0], [k * m0, k * m0, 2 * k * m0**2]]
    np.testing.assert_allclose(steps.products[1, 1], own)
    assert steps.variance[1, 1].tolist() == [a, b]
    assert steps.scale[0] == pytest.approx([4.0, 4.0, 2.0, 2.0, 4.0])
    assert steps.scale[1] == pytest.approx([8.0, 8.0, 4.0, 4.0, 8.0])
    assert steps.ends[1].tolist() == [[-50, -50, 0, 0, -50], [50] * 5]
    assert not steps.gaussian
    assert copies.gram[0, 0].tolist() == [[2, 1, 0.5], [1, 1, 1], [0.5, 1, 1.25]]
    # copies' a and y, then b, which alone its step drew
    assert copies.first.tolist() == [[[0, 1, 2], [2, 2, 2]], [[2, 3, 3], [3, 3, 4]]]
    assert copies.bound.tolist() == [1, 1, -1, 1]
    assert copies.design[:, :2].tolist() == [[1, 1], [1, 1], [1, -1], [1, 0.5]]


def frame(rows: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    made = pd.DataFrame({"x": rng.uniform(1, 9, rows), "sex": rng.choice(["f", "m"], rows)})
    made["y"] = 1 + 0.4 * made["x"] + rng.normal(0, 0.3, rows)
    return made


def copies_of(*steps: Any, **more: Any) -> bdp.Release:
    with bdp.reproducible(3):
        declared = bdp.synthesizers.SequentialModipsSynthesizer(
            steps, **{"epsilon": 20.0, "copies": 2, "clip": True, **more}
        )
        return declared.release(frame())


BOTH = Numbers({"x": (0, 10), "y": (0, 6)})
SEX = Labels({"sex": ("f", "m")})
FEW: dict[str, Any] = {"draws": 800, "warmup": 400, "seed": 1}


def test_it_finds_the_slope_and_says_what_it_leaves_out():
    release = copies_of(SEX, BOTH)
    assert models_of(release.mechanism) == ("LinearRegressionModel", "TableModel")
    fitted = bdp.LinearRegressionModel("y").fit(release, **FEW)
    slope = fitted.posterior["beta"].sel(coefficient="x")
    assert abs(float(slope.mean()) - 0.4) < 5 * float(slope.std())
    assert float(slope.std()) < 0.05
    assert fitted.attrs["left_out"] == "sex"
    left = ("Columns of the copies left out", "sex")
    assert left in summarize_posterior(fitted, release).inferred
    alone = copies_of(BOTH)
    fitted = bdp.LinearRegressionModel("y").fit(alone, **FEW)
    assert "left_out" not in fitted.attrs
    assert summarize_posterior(fitted, alone).inferred == ()


def test_the_naive_posterior_takes_all_copies_for_records():
    release = copies_of(BOTH)
    fitted = bdp.LinearRegressionModel("y").fit_naive(release, draws=4000, seed=1)
    pooled = pd.concat(release.to_frames())
    expected = np.polyfit(pooled["x"], pooled["y"], 1)
    beta = fitted.posterior["beta"].mean(("chain", "draw")).to_numpy()
    assert beta == pytest.approx(expected[::-1], abs=0.02)
    assert fitted.attrs["verdict"].startswith("a naive posterior")


def refusal(release: Any, **known: Any) -> str:
    with pytest.raises(bdp.errors.InvalidInput) as refused:
        bdp.LinearRegressionModel(**{"response": "y", **known}).fit(release, draws=10)
    return str(refused.value)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_modips_copies_of_a_regression_are_read_as_steps_are(noise):
    """The slopes of copies of a family, of which y is the first column, and not the last drawn."""
    rng = np.random.default_rng(6)
    x = rng.uniform(0, 10, (2000, 2))
    y = 1 + 0.4 * x[:, 0] - 0.2 * x[:, 1] + rng.normal(0, 0.5, 2000)
    table = pd.DataFrame({"y": y.clip(-4, 8), "a": x[:, 0], "b": x[:, 1]})
    family = bdp.families.LinearRegression({"y": (-4, 8), "a": (0, 10), "b": (0, 10)}, "y")
    made = bdp.ModipsSynthesizer(
        family, epsilon=20.0, delta=1e-6 if noise == "gaussian" else 0.0, copies=3, noise=noise
    )
    with bdp.reproducible(2):
        release = made.release(table)
    assert models_of(release.mechanism) == ("LinearRegressionModel",)
    more = {**FEW, "draws": 3000}
    fitted = bdp.LinearRegressionModel("y").fit(release, **more)
    beta = fitted.posterior["beta"]
    off = (beta.mean(("chain", "draw")) - [1, 0.4, -0.2]) / beta.std(("chain", "draw"))
    assert list(beta["coefficient"].values) == ["intercept", "a", "b"]
    assert float(np.abs(off).max()) < 5
    assert float(beta.sel(coefficient="a").std()) < 0.05
    one = bdp.LinearRegressionModel("y", predictors=["b"]).fit(release, **more)
    slope = one.posterior["beta"].sel(coefficient="b")
    assert abs(float(slope.mean()) + 0.2) < 5 * float(slope.std())


def test_what_is_refused_says_why_and_what_to_do():
    conditioned = dataclasses.replace(modips(["x0", "y"], 1.0, 40, 20), bounding="truncated")
    unknown = dataclasses.replace(modips(["x0", "y"], 1.0, 40, 20), n=None, scales=(1.0,) * 6)
    rows = np.full((20, 2), 0.5)
    assert "conditioned on their bounds" in refusal(bdp.Release.of(conditioned, [rows]))
    assert "a noisy number of records too" in refusal(bdp.Release.of(unknown, [rows]))
    for made in (conditioned, unknown):
        assert models_of(made) == ()

    by_sex = copies_of(SEX, Numbers({"x": (0, 10), "y": (0, 6)}, by=("sex",)))
    said = refusal(by_sex)
    assert "x, y were drawn in cells of labels" in said
    assert "bdp.combine" in said
    assert "bdp.models.TableModel" in said
    on_labelled = copies_of(
        SEX, Numbers({"x": (0, 10)}, by=("sex",)), Numbers({"y": (0, 6)}, on=("x",))
    )
    assert "or on columns that were" in refusal(on_labelled)
    assert "noisy number of records" in refusal(copies_of(BOTH, public_n=False, size=100))
    assert "no numeric columns" in refusal(copies_of(SEX))

    some = copies_of(SEX, BOTH)
    assert "['sex'] of it are labels" in refusal(some, predictors=["x", "sex"])
    assert "['z'] aren't among" in refusal(some, predictors=["z"])
    assert "['z'] aren't among" in refusal(some, response="z")
    assert "no other column" in refusal(copies_of(Numbers({"y": (0, 6)})))
    assert models_of(copies_of(Numbers({"y": (0, 6)})).mechanism) == ()
    assert "give that release alone" in refusal([some, some])
    assert "the release says n = 200" in refusal(some, n=range(9, 99))
    few = bdp.mechanisms.SequentialModipsMechanism((BOTH,), 5, (1.0,), 2)
    assert "fewer than the 3" in refusal(bdp.Release.of(few, [np.ones((5, 2))]))


@pytest.mark.parametrize("engine", ["hmc", "pymc", "stan", "pathfinder"])
def test_no_other_engine_draws(engine):
    with pytest.raises(bdp.errors.InvalidInput, match=r"'gibbs' alone|engine='auto'"):
        bdp.LinearRegressionModel("y").fit(copies_of(BOTH), engine=engine)


def test_programs_evidence_and_new_outputs_are_refused():
    one, release = bdp.LinearRegressionModel("y"), copies_of(BOTH)
    for asked, lacking in (
        (one.pymc_model, "PyMC program"),
        (one.stan_data, "Stan program"),
        (lambda r: bdp.log_evidence(one, r), "log evidence"),
    ):
        with pytest.raises(bdp.errors.InvalidInput, match=f"no {lacking} here"):
            asked(release)
    moments_alone = bdp.synthesizers.NoisyMomentsSynthesizer(
        {"x": (0, 10), "y": (0, 6)}, epsilon=9.0, clip=True
    )
    with bdp.reproducible(1):
        other = moments_alone.release(frame()[["x", "y"]])
    with pytest.raises(bdp.errors.InvalidInput, match="'hmc', 'pymc' and 'stan' draw"):
        one.fit(other, engine="gibbs")
    with pytest.raises(bdp.errors.InvalidInput, match="give that release alone"):
        one.fit([release, other])


def test_its_prior_is_the_model_s():
    release = copies_of(SEX, BOTH)
    drawn = bdp.prior_predictive(
        bdp.LinearRegressionModel("y", (0.5, 0.2, 3.0, 2.0)), release, outputs=False, draws=4000
    )
    half, found = 3.0, drawn.prior["sigma"].to_numpy()
    assert np.mean(found**2) == pytest.approx(half**2 * 2.0 / 2.0, rel=0.15)
