"""The exchange algorithm for a regression of groups against enumeration, at one or two records."""

import math

import arviz as az
import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.core.censored_views import BetaCopiesView
from bayesdp.core.views import view_of
from bayesdp.engines import exchange
from bayesdp.engines import exchange_groups as engine
from bayesdp.kernels.censored import clipped_beta as clipped
from bayesdp.kernels.censored import populations
from bayesdp.kernels.censored import regression as kernels
from tests.inference.records.test_beta import likelihoods, points_of, terms

MANY = 5.0  # standard errors, of a false alarm of 6e-7
ROWS = np.array([[1.0, -1.0], [1.0, 0.0], [1.0, 1.0]])
MEAN, SD, SPREAD = np.array([0.5, -0.3]), np.array([1.2, 1.0]), (4.0, 1.5)
STEP, HALF = 0.2, 22  # of the coefficients' nodes
LAWS = [  # interval, prior of phi, largest lambda and grid
    ((-2.5, 3.5), (1.5, 1.0), 40.0, (2, 3)),
    ((-1.0, 4.0), (1.0, 5.0), 8.0, (3, 2)),
    ((-2.0, 2.0), (6.0, 1.0), 90.0, (2, 2)),
]


def released() -> tuple[list[BetaCopiesView], list[list[np.ndarray]]]:
    """Two copies of each of three groups, by mechanisms that differ in all public numbers."""
    rng, views, outputs = np.random.default_rng(1), [], []
    for (interval, prior, largest, bits), a in zip(LAWS, (8, 4, 1), strict=True):
        made = bdp.mechanisms.CensoredBetaMechanism(
            interval, 9, prior_phi=prior, prior_lambda=(0.5, 0.8), largest=largest, grid=bits
        )
        views.append(view_of(made, BetaCopiesView))
        outputs.append([rng.beta(a, 3, 9), rng.beta(a + 1, 3, 9)])
    return views, outputs


def density(population: str, g: np.ndarray, h: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Density of a record's logit, by SciPy or the definition."""
    if population == "logit_normal":
        return stats.norm.pdf(z, g[:, None], np.exp(h)[:, None])
    a, b = (np.exp(h) * special.expit(s * g) for s in (1, -1))
    logs = np.outer(a, special.log_expit(z)) + np.outer(b, special.log_expit(-z))
    return np.exp(logs - special.betaln(a, b)[:, None])


def log_prior_of_h(population: str, h: np.ndarray) -> np.ndarray:
    if population == "logit_normal":
        return stats.invgamma.logpdf(np.exp(2 * h), SPREAD[0], scale=SPREAD[1]) + 2 * h
    return stats.gamma.logpdf(np.exp(h), SPREAD[0], scale=1 / SPREAD[1]) + h


def given_records(view: BetaCopiesView, copies: list, z: np.ndarray, n: int) -> np.ndarray:
    """Density of all copies of a group given its one or two records, at logits z."""
    phi, lam, weights = points_of(view)
    each = np.exp(terms(view, phi, lam, special.log_expit(z), special.log_expit(-z)))

    def summed(weight: np.ndarray) -> np.ndarray:
        return weight @ each if n == 1 else (each.T * weight) @ each

    law = np.exp(weights)
    parts = [summed(law * one) / summed(law) for one in likelihoods(view, copies)]
    return np.prod(parts, axis=0)


def marginal(population: str, view: BetaCopiesView, copies: list, n: int) -> np.ndarray:
    """Density of a group's copies at nodes of g and h, its records integrated out."""
    z = np.linspace(-30, 30, 301)
    at_g, at_h = nodes()
    g, h = (v.ravel() for v in np.meshgrid(at_g, at_h, indexing="ij"))
    law, given = density(population, g, h, z) * (z[1] - z[0]), given_records(view, copies, z, n)
    found = law @ given if n == 1 else np.sum((law @ given) * law, axis=1)
    return found.reshape(at_g.size, at_h.size)


def nodes() -> tuple[np.ndarray, np.ndarray]:
    """Nodes of g, as far as coefficients of at most HALF steps carry it, and of h."""
    return STEP * np.arange(-2 * HALF, 2 * HALF + 1), np.linspace(-3.0, 3.0, 41)


def enumerated(population: str) -> dict[str, float]:
    """Posterior means, the last group having one record or two, one as probable as the other."""
    views, outputs = released()
    steps, (_, h) = np.arange(-HALF, HALF + 1), nodes()
    one, two = np.meshgrid(steps, steps, indexing="ij")
    log = sum(
        stats.norm.logpdf(STEP * c, m, s)[..., None]
        for c, m, s in zip((one, two), MEAN, SD, strict=True)
    ) + log_prior_of_h(population, h)
    weight, of_two = np.exp(log), 0.0
    for k, (view, copies) in enumerate(zip(views, outputs, strict=True)):
        places = one + int(ROWS[k, 1]) * two + 2 * HALF
        first = marginal(population, view, copies, 1)
        if k == 2:
            second = marginal(population, view, copies, 2)
            of_two = second / (first + second)
            first, of_two = (first + second) / 2, of_two[places]
        weight = weight * first[places]
    weight /= weight.sum()
    a, b = STEP * one[..., None], STEP * two[..., None]
    return {
        **{name: float(np.sum(weight * f(a, b, h))) for name, f in FUNCTIONS.items()},
        "n": 1 + float(np.sum(weight * of_two)),
    }


FUNCTIONS = {
    "intercept": lambda a, b, h: a + 0 * b + 0 * h,
    "slope": lambda a, b, h: b + 0 * a + 0 * h,
    "h": lambda a, b, h: h + 0 * a + 0 * b,
    "product": lambda a, b, h: np.tanh(a - 1) * np.tanh(b) * np.tanh(h - 1),
    "square": lambda a, b, h: np.tanh(b) ** 2 + 0 * a + 0 * h,
}


def scores(kept: np.ndarray, exact: dict[str, float]) -> dict[str, float]:
    """Distances of the chains' means from exact ones, in their standard errors."""
    drawn = {name: f(*np.moveaxis(kept[..., :3], -1, 0)) for name, f in FUNCTIONS.items()}
    made = {}
    for name, values in {**drawn, "n": kept[..., 5]}.items():
        error = values.std() / math.sqrt(float(az.ess(values)))
        made[name] = abs(float(values.mean()) - exact[name]) / error
    return made


def sampled(population: str, draws: int) -> np.ndarray:
    views, outputs = released()
    regression = engine.Regression(ROWS, MEAN, SD, SPREAD, population)
    sizes = [[(1, 1.0)], [(1, 1.0)], [(1, 0.5), (2, 0.5)]]
    target = engine.GroupsPosterior(views, outputs, sizes, regression)
    return engine.sample_groups(target, draws=draws, chains=2, warmup=500, seed=3)


@pytest.mark.slow
@pytest.mark.parametrize("population", ["beta", "logit_normal"])
def test_groups_of_one_record_are_as_enumerated(population):
    """Three groups with laws of their own, two terms, and a size that isn't known."""
    found = scores(sampled(population, 10_000), enumerated(population))
    assert max(found.values()) < MANY, found


@pytest.mark.parametrize("kind", [populations.BETA, populations.LOGIT_NORMAL])
def test_carried_records_come_back(kind):
    """The map and its inverse undo each other, and so do their log ratios."""
    rng = np.random.Generator(np.random.SFC64(1))
    eta, other = np.array([0.4, 1.1]), np.array([-0.3, 0.6])
    old, new, back = ((np.empty(9), np.empty(9)) for _ in range(3))
    populations.draw_records(kind, *old, 0, 9, eta, rng)
    there = populations.carry_records(kind, old, new, 9, eta, other)
    again = populations.carry_records(kind, new, back, 9, other, eta)
    np.testing.assert_allclose(back, old)
    assert there == pytest.approx(-again)
    # The log ratio, from densities of logits by SciPy and the Jacobian of a map of z that is linear
    before, after = old[0] - old[1], new[0] - new[1]
    name = "beta" if kind == populations.BETA else "logit_normal"
    logs = [
        np.log(density(name, e[:1], e[1:], z)).sum() for e, z in ((eta, before), (other, after))
    ]
    slope = np.polyfit(before, after, 1)[0]
    assert there == pytest.approx(logs[1] - logs[0] + 9 * math.log(slope))
    if kind == populations.LOGIT_NORMAL:
        assert there == pytest.approx(0.0, abs=1e-9)


@pytest.mark.slow
def test_points_carried_back_estimate_the_ratio_of_constants():
    """Of the mechanism's constants at two sets of records, by sums over cells: 5 standard errors.

    What belongs to the point carried there is left out of the ratio; the Jacobian is by expit.
    """
    view, copies = (each[0] for each in released())
    law, seen = exchange.law_of(view), exchange.copies_of(copies[:1], view.bounds)
    rng, along, point = np.random.Generator(np.random.SFC64(1)), 1.3, np.array([[0.6, 0.4]])
    records = [np.array([0.3, 0.6, 0.8]), np.array([0.5, 0.8, 0.9])]
    logs = [(np.log(x), np.log1p(-x), 3) for x in records]
    phi, lam, weights = points_of(view)
    old, new = (np.exp(weights + terms(view, phi, lam, *x[:2]).sum(axis=1)).sum() for x in logs)
    carried = special.expit(special.logit(0.6) + along)
    there = math.log(carried * (1 - carried) / 0.24)
    for sign, u, x in ((-1, 0.6, logs[0]), (1, carried, logs[1])):
        at = clipped.score_at(*x, u, 0.4, law) + clipped.prior_at(u, 0.4, law)
        there += sign * (at + clipped.copy_at(seen, 0, u, 0.4, law))
    moved, drawn, work = np.empty((1, 2)), np.empty((1, 2)), np.zeros((clipped.MOST, 7))
    found = np.array([
        kernels.log_carried(*logs, point, moved, (along, 0.0), seen, law, drawn, work, rng)
        for _ in range(20_000)
    ])  # fmt: skip
    ratios = np.exp(found - there)
    assert moved[0].tolist() == pytest.approx([carried, 0.4])
    assert abs(ratios.mean() - old / new) < MANY * ratios.std() / math.sqrt(ratios.size)


def test_moments_of_a_logit():
    for g, h in [(0.3, -2.0), (-1.0, 0.5), (2.0, 4.0)]:
        a, b = math.exp(h) * special.expit(g), math.exp(h) * special.expit(-g)
        mean = special.digamma(a) - special.digamma(b)
        sd = math.sqrt(special.polygamma(1, a) + special.polygamma(1, b))
        found = populations.logit_moments(populations.BETA, g, h)
        assert found == pytest.approx((mean, sd), rel=1e-9)


def test_a_regression_is_the_same_in_other_coefficients():
    """The prior's density at c is beta's, and rows carry c to the same g."""
    regression = engine.Regression(ROWS, MEAN, SD, SPREAD)
    root = regression.root(np.array([3.0, 1.0, 8.0]))
    design, c = regression.design(root), np.array([0.7, -1.9])
    beta = MEAN + root @ c
    np.testing.assert_allclose(design.offset + design.rows @ c, ROWS @ beta)
    np.testing.assert_allclose(design.root @ c, (beta - MEAN) / SD)
    kept = np.array([[*c, 0.2]])
    np.testing.assert_allclose(engine.in_terms(regression, root, kept)[0], [*beta, 0.2])
    assert isinstance(design, kernels.Design)
